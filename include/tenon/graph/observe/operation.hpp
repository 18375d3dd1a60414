// Operation: what an observer is told of a call of an operator.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/context.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/structure.hpp>
#if TENON_DEFINES && defined(TENON_OBSERVE)
#include <mutex>
#include <unordered_map>
#endif

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
  int steps = 0;  // fused element-wise ones behind it

  /// Floating-point operations, multiplications and additions counted apart; of an operator that does not say how many
  /// it needs, one per element of the result.
  double flops() const;
  /// Bytes of operands and results, each of them counted once.
  double bytes() const;
};

namespace detail {

/// The name for good.
std::string_view operation_name(const Entry* entries, int scope, const Origin& origin, std::string_view type);
constexpr StepPart part_of(const Entry* entries, int scope, const Origin& origin) {
  if (origin.gradient) return StepPart::gradient;
  return entries && entries[scope].parameter ? StepPart::optimizer : StepPart::forward;
}

#if TENON_DEFINES && defined(TENON_OBSERVE)
/// A text that lives as long as the program, the same one for equal contents.
TENON_INLINE std::string_view interned(std::string text) {
  static std::mutex mutex;
  static auto* const all = new std::unordered_map<std::string, bool>;  // observers may outlive statics
  const std::lock_guard lock(mutex);
  return all->emplace(std::move(text), true).first->first;
}
TENON_INLINE void write_scope(std::string& text, const Entry* entries, int i) {
  if (entries[i].parent >= 0) write_scope(text, entries, entries[i].parent);
  text += '/';
  if (entries[i].index >= 0) text += std::to_string(entries[i].index);
  else text += entries[i].name;
  if (!get_context().reserve_class_name_in_scope) return;
  text += '-';
  text += entries[i].class_name;
}
[[gnu::noinline]] TENON_INLINE std::string_view make_operation_name(const Entry* entries, int scope,
                                                                    const Origin& origin, std::string_view type) {
  std::string text = origin.gradient ? "Gradients/Default" : "Default";
  if (origin.in_loss) text += "/loss";
  else if (part_of(entries, scope, origin) == StepPart::optimizer)
    text += "/optimizer/" + parameter_name(entries, scope);
  else if (entries) write_scope(text, entries, scope);
  if (origin.gradient) text += (origin.sums ? "/Sum_" : "/Grad_") + std::string(origin.of->name);
  text += '/';
  text += type;
  return interned(text + "-op" + std::to_string(origin.number));
}

// What a name is made of. A thread keeps those that it has seen, so that a name is not written for every call.
struct NameKey {
  const Entry* entries;
  const OperatorInfo* of;
  const char* type;
  int scope, number;
  bool in_loss, sums, classes;
  bool operator==(const NameKey&) const = default;
  struct Hash {
    std::size_t operator()(const NameKey& k) const {
      const auto bits = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
      return hash_number(bits(k.type) ^ std::uint64_t(k.scope) << 32 ^ std::uint64_t(k.number) << 8 ^
                             std::uint64_t(k.in_loss) << 2 ^ std::uint64_t(k.classes) << 1 ^ std::uint64_t(k.sums),
                         bits(k.entries) ^ bits(k.of));
    }
  };
};
[[gnu::noinline]] TENON_INLINE std::string_view operation_name(const Entry* entries, int scope, const Origin& origin,
                                                               std::string_view type) {
  static thread_local std::unordered_map<NameKey, std::string_view, NameKey::Hash> seen;
  const bool classes = get_context().reserve_class_name_in_scope;
  std::string_view& name =
      seen[{entries, origin.of, type.data(), scope, origin.number, origin.in_loss, origin.sums, classes}];
  if (name.empty()) name = make_operation_name(entries, scope, origin, type);
  return name;
}
#endif

}  // namespace detail

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE double Operation::flops() const {
  double all = double(result.count(n));
#if defined(TENON_OBSERVE)
  if (op->flops) all = op->flops(operands, result, attributes, n);
#endif
  return all + double(steps) * double(result.count(n));
}
[[gnu::noinline]] TENON_INLINE double Operation::bytes() const {
  double all = op->effect ? 0 : double(result.bytes(n));
  for (int k = 0; k < operands.count; ++k) all += double(operands[k].bytes(n)) * (op->effect && k == 0 ? 2 : 1);
  return all;
}
#endif

}  // namespace tenon
