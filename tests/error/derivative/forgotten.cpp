// expects: the derivative of Product gives operand 1 no gradient: call d.flows_to(1, ...) in it, or d.no_gradient(1) if
// lines: g++ 12, clang 24, nvcc -
#include <tenon/tenon.hpp>
using namespace tenon;

struct Product : ops::Elementwise<Product, "Product"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    return a * b;
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<ops::Mul>(d.gradient(), d.operand(1))); }
};

float f() {
  const auto product = [](auto a, auto b) { return reduce_sum(apply<Product>(std::source_location::current(), a, b)); };
  return jit(grad<1>(product))(Tensor{1.0f, 2.0f}, Tensor{3.0f, 4.0f}).values()[0];
}
