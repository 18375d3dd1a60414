// What the function uses is an argument.
#include <tenon/more.hpp>
using namespace tenon;

double f(double k) {
  const auto x = Tensor<double, Shape<>>::full(2), factor = Tensor<double, Shape<>>::full(k);
  const auto [y, slope] =
      jvp<0>([](auto v, auto w) { return v * v * w; }, std::tuple(x, factor), Tensor<double, Shape<>>::full(1));
  return slope.item();
}
