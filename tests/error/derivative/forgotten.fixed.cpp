// A gradient for each operand.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Product : ops::Elementwise<Product, "Product"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    return a * b;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<ops::Mul>(d.gradient(), d.operand(1)));
    d.flows_to(1, d.call<ops::Mul>(d.gradient(), d.operand(0)));
  }
};

float f() {
  const auto product = [](auto a, auto b) { return reduce_sum(apply<Product>(std::source_location::current(), a, b)); };
  return jit(grad<1>(product))(Tensor{1.0f, 2.0f}, Tensor{3.0f, 4.0f}).values()[0];
}
