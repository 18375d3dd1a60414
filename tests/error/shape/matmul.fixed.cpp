// The cure of matmul.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  Parameter<float, Shape<4, 8>, nn::Normal{0.01}> weight;
  constexpr auto construct(auto x) const { return matmul<Transposed::second>(x, weight); }
};

auto f(Net& net, const Tensor<float, Shape<dyn, 8>>& rows) {
  Model model{net};
  return model.predict(rows);
}
