// expects: Sign declares no derivative: write `static constexpr void derivative(Derivative&)` or `static constexpr None
// derivative{};`
#include <tenon/tenon.hpp>
using namespace tenon;

TENON_EXACT_BEGIN
struct Sign : ops::Elementwise<Sign, "Sign"> {
  template <class V>
  static constexpr V eval(V x) {
    return x > V(0) ? V(1) : V(-1);
  }
};
TENON_EXACT_END

auto f(const Tensor<float, Shape<3>>& x) { return apply<Sign>({}, x); }
