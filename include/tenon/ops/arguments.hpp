// Calls with function arguments where Tenon has template arguments, as PyTorch and MindSpore users write: a compile
// error that shows the right call. Shapes are known to the compiler only so.
#pragma once
#include <tenon/core/text/report.hpp>
#include <tenon/core/value.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// "softmax takes its axis as a template argument: softmax<1>(x)"
template <FixedString what, FixedString example, class X>
struct TemplateArgument {
  static constexpr Sentence sentence = Sentence{} << what.view() << " as a template argument: " << example.view();
};
/// "matmul takes 2 operands, got 1: matmul(a, b)"
template <FixedString example, class... X>
struct Operands {
  static constexpr Sentence made() {
    constexpr std::string_view call = example.view();
    Sentence s;
    int wanted = 1;
    for (const char c : call) wanted += c == ',';
    return s << call.substr(0, call.find('(')) << " takes " << wanted << " operands, got " << int(sizeof...(X)) << ": "
             << call;
  }
  static constexpr Sentence sentence = made();
};
template <class X>
struct FlattenedFrom {
  static constexpr Sentence sentence =
      Sentence{} << "flatten takes no axis, it keeps the first: flatten(x); others by reshape<Shape<dyn, 28, 28>>(x)";
};
}  // namespace detail

template <Operand X, std::integral... I>
constexpr auto flatten(const X&, int, I...) {
  using Wrong = Mistake<detail::FlattenedFrom<X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto softmax(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"softmax takes its axis", "softmax<1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto log_softmax(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"log_softmax takes its axis", "log_softmax<1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto reduce_sum(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"reduce_sum takes its axes", "reduce_sum<0, 1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto reduce_mean(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"reduce_mean takes its axes", "reduce_mean<0, 1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto reduce_max(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"reduce_max takes its axes", "reduce_max<1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto reduce_min(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"reduce_min takes its axes", "reduce_min<1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto argmax(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"argmax takes its axis", "argmax<1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto squeeze(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"squeeze takes its axes", "squeeze<1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto expand_dims(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"expand_dims takes its axes", "expand_dims<1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto reshape(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"reshape takes the new shape", "reshape<Shape<dyn, 400>>(x)", X>>;
  return Wrong::corrected;
}
template <Operand X, std::integral... I>
constexpr auto transpose(const X&, int, I...) {
  using Wrong = Mistake<detail::TemplateArgument<"transpose takes the order of the axes", "transpose<0, 2, 1>(x)", X>>;
  return Wrong::corrected;
}
template <Operand A, Operand... B>
constexpr auto concat(const A&, const B&...) {
  using Wrong = Mistake<detail::TemplateArgument<"concat takes its axis", "concat<1>(a, b)", A>>;
  return Wrong::corrected;
}
template <Operand A, Operand... B>
constexpr auto stack(const A&, const B&...) {
  using Wrong = Mistake<detail::TemplateArgument<"stack takes its axis", "stack<0>(a, b)", A>>;
  return Wrong::corrected;
}

// Too few operands.
template <Operand X>
constexpr auto matmul(const X&) {
  using Wrong = Mistake<detail::Operands<"matmul(a, b)", X>>;
  return Wrong::corrected;
}
template <Operand X>
constexpr auto gather(const X&) {
  using Wrong = Mistake<detail::Operands<"gather(table, numbers)", X>>;
  return Wrong::corrected;
}
template <Operand X>
constexpr auto softmax_cross_entropy(const X&) {
  using Wrong = Mistake<detail::Operands<"softmax_cross_entropy(logits, labels)", X>>;
  return Wrong::corrected;
}
template <Operand X, Operand Y>
constexpr auto select(const X&, const Y&) {
  using Wrong = Mistake<detail::Operands<"select(condition, a, b)", X, Y>>;
  return Wrong::corrected;
}
template <Operand X>
constexpr auto layer_norm(const X&) {
  using Wrong = Mistake<detail::Operands<"layer_norm(x, gamma, beta)", X>>;
  return Wrong::corrected;
}
template <Operand X, Operand Y>
constexpr auto layer_norm(const X&, const Y&) {
  using Wrong = Mistake<detail::Operands<"layer_norm(x, gamma, beta)", X, Y>>;
  return Wrong::corrected;
}

}  // namespace tenon::ops
