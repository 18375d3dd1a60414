// expects: jvp, and vjp of several results, compile their function, which captures something here: hand that in as a
// lines: g++ 14, clang 24, nvcc -
#include <tenon/more.hpp>
using namespace tenon;

double f(double k) {
  const auto x = Tensor<double, Shape<>>::full(2), factor = Tensor<double, Shape<>>::full(k);
  const auto [y, slope] = jvp([&](auto v) { return v * v * factor; }, x, Tensor<double, Shape<>>::full(1));
  return slope.item();
}
