// The cure of concat.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  constexpr auto construct(auto x) const { return concat<1>(x, x); }
};

auto f(Net& net, const Tensor<float, Shape<dyn, 3>>& rows) {
  Model model{net};
  return model.predict(rows);
}
