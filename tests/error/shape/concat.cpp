// expects: network: Concat along axis 1 of [n,3] and [n,3,1]: the other extents must agree
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  constexpr auto construct(auto x) const { return concat<1>(x, expand_dims<2>(x)); }
};

auto f(Net& net, const Tensor<float, Shape<dyn, 3>>& rows) {
  Model model{net};
  return model.predict(rows);
}
