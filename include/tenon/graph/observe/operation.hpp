// Operation: what an observer is told of a call of an operator.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/context.hpp>
#include <tenon/graph/ir/node.hpp>
#include <tenon/graph/ir/structure.hpp>

namespace tenon::inline TENON_ABI {

/// The part of a training step in which an operation stands.
enum class StepPart : signed char { forward, gradient, optimizer };
constexpr std::string_view name(StepPart part) {
  return part == StepPart::forward ? "forward" : part == StepPart::gradient ? "gradient" : "optimizer";
}

/// One call of an operator while it runs.
struct Operation {
  /// Unique within a step of a network (an operator outside of one always has the number 0), and the same in both modes
  /// and from step to step: "Default/network-LeNet/conv1-Conv2d/Conv2D-op0", ".../relu-ReLU/ReLU-op2" for the third
  /// call in a cell. What a derivative computes stands under "Gradients/", in "Grad_Conv2D"; sums of gradients in
  /// "Sum_Conv2D"; what an optimizer does in "Default/optimizer/conv1.weight". What graph mode has made of several
  /// operators has the name of the product whose block they change (`steps` counts them), else of the last one with the
  /// type of what it became, such as "Fused". Calls of one operator in one expression, such as f(x) + f(y), are
  /// numbered as the compiler takes them, which it may do in another order in a graph. Source: MindSpore's full scope
  /// names; with reserve_class_name_in_scope = false in the context without the classes of cells. It stays where it is
  /// until the program ends.
  std::string_view name;
  std::string_view type;  // the operator: "Conv2D"
  StepPart part = StepPart::forward;
  Location location{};  // the line of the user's source that calls it, or its cell; line 0: none does
  OperandTypes operands{};
  TensorType result{};
  long n = 1;  // the batch size; of a tile of samples: how many they are
  const OperatorInfo* op = nullptr;
  Attributes attributes{};
  int steps = 0;  // fused element-wise ones after it

  /// Floating-point operations, multiplications and additions counted apart; of an operator that does not say how many
  /// it needs, one per element of the result.
  double flops() const;
  /// Bytes of operands and results, each of them counted once.
  double bytes() const;
};

namespace detail {

/// The name for good. Defined in graph/observe/operation_name.hpp.
std::string_view operation_name(const Entry* entries, int scope, const Origin& origin, std::string_view type);
constexpr StepPart part_of(const Entry* entries, int scope, const Origin& origin) {
  if (origin.gradient) return StepPart::gradient;
  return entries && entries[scope].parameter ? StepPart::optimizer : StepPart::forward;
}

}  // namespace detail

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE double Operation::flops() const {
  if (op->host_effect) return 0;
  double all = double(result.count(n));
#if defined(TENON_OBSERVE)
  if (op->flops) all = op->flops(operands, result, attributes, n);
#endif
  return all + double(steps) * double(result.count(n));
}
[[gnu::noinline]] TENON_INLINE double Operation::bytes() const {
  const bool writes_operand = op->effect && !op->host_effect;
  double all = op->effect ? 0 : double(result.bytes(n));
  for (int k = 0; k < operands.count; ++k) all += double(operands[k].bytes(n)) * (writes_operand && k == 0 ? 2 : 1);
  return all;
}
#endif

}  // namespace tenon
#if defined(TENON_OBSERVE)
#include <tenon/graph/observe/operation_name.hpp>
#endif
