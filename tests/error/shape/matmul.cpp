// expects: network: MatMul got rows of 8 [n,8], its weight [4,8] needs 4
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  Parameter<float, Shape<4, 8>, nn::Normal{0.01}> weight;
  constexpr auto construct(auto x) const { return matmul(x, weight); }
};

auto f(Net& net, const Tensor<float, Shape<dyn, 8>>& rows) {
  Model model{net};
  return model.predict(rows);
}
