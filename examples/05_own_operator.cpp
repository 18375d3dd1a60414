// Lesson 5: a custom operator with its derivative, in a separate namespace, without a change of Tenon.
#include <cstdio>

#include <tenon/tenon.hpp>

namespace mine {

TENON_EXACT_BEGIN
/// dy where |x| < 1, else 0.
struct ClipGrad : tenon::ops::Elementwise<ClipGrad, "mine.ClipGrad"> {
  template <class V>
  static constexpr V eval(V x, V gradient) {
    return x > V(-1) && x < V(1) ? gradient : V(0);
  }
  static constexpr tenon::None derivative{};  // states explicitly that no gradient flows through it
};

/// x, limited to -1 .. 1.
struct Clip : tenon::ops::Elementwise<Clip, "mine.Clip"> {
  template <class V>
  static constexpr V eval(V x) {
    return x > V(1) ? V(1) : x < V(-1) ? V(-1) : x;
  }
  static constexpr void derivative(tenon::Derivative& d) {
    d.flows_to(0, d.call<ClipGrad>(d.operand(0), d.gradient()));
  }
};
TENON_EXACT_END

constexpr auto clip(const tenon::ops::Operand auto& x, std::source_location at = std::source_location::current()) {
  return tenon::apply<Clip>(at, x);
}

struct Net : tenon::nn::Cell<Net> {
  tenon::nn::Dense<3, 2> dense;
  constexpr auto construct(auto x) const { return clip(dense(x)); }
};

}  // namespace mine

int main() {
  using namespace tenon;
  const auto x = Tensor<float, Shape<3>>::from({-2, 0.5f, 3});
  std::printf("%s\n", to_string(mine::clip(x)).c_str());
  std::printf("%s\n", to_string(grad([](auto v) { return mine::clip(v); })(x)).c_str());

  mine::Net net;  // in graph mode it is fused into the matrix product
  std::printf("%s\n", to_string(net(Tensor<float, Shape<dyn, 3>>::from({1, 2, 3}))).c_str());
}
