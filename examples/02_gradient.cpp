// Lesson 2: gradients of functions, operator by operator or compiled, also of second order.
#include <cstdio>

#include <tenon/tenon.hpp>

using namespace tenon;

int main() {
  const auto x = Tensor<double, Shape<>>::full(2.0);
  const auto cube = [](auto v) { return v * v * v; };

  std::printf("f(2)   = %g\n", cube(x).item());
  std::printf("f'(2)  = %g\n", grad(cube)(x).item());
  std::printf("f''(2) = %g\n", grad(grad(cube))(x).item());

  // Value and gradients with respect to two arguments.
  const auto loss = [](auto w, auto v) { return reduce_mean(square(w * v - 1.0)); };
  const auto [value, gradients] = value_and_grad<0, 1>(loss)(x, x);
  std::printf("loss %g, dw %g, dx %g\n", value.item(), std::get<0>(gradients).item(), std::get<1>(gradients).item());

  // The same function as one compiled graph: bit-identical results, without a call per operator.
  const auto compiled = jit(grad(cube));
  std::printf("compiled: %g\n", compiled(x).item());
}
