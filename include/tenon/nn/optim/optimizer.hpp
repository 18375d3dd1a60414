// The requirements for an optimizer, and the numbers and groups that all optimizers share.
#pragma once
#include <limits>
#include <optional>

#include <tenon/call/apply.hpp>
#include <tenon/nn/optim/learning_rate.hpp>

namespace tenon::inline TENON_ABI::nn {

inline constexpr int max_numbers = 16, max_slots = 5;  // slots: four moments, and a sum over batches

/// The run-time numbers of one parameter's update in one step; kernels read them from the training state. The first
/// three have the same meaning for every optimizer; the others depend on the optimizer.
struct Numbers {
  float value[max_numbers]{};
  float& learning_rate() { return value[0]; }
  float& weight_decay() { return value[1]; }
  float& gradient_scale() { return value[2]; }  // 1 / loss_scale
};
inline constexpr TensorType numbers_type{{max_numbers}, 1, Dtype::float32};

/// Parameters with a separate learning rate or weight decay; the optimizer's values apply where the group gives none.
struct ParameterGroup {
  std::vector<std::string> params;  // names, or patterns with '*': "conv1.weight", "*.bias"
  std::optional<LearningRate> learning_rate{};
  std::optional<float> weight_decay{};
};

#if defined(TENON_EMBEDDED)
/// No groups, without a heap.
struct ParameterGroups {
  static constexpr std::size_t size() { return 0; }
};
#else
using ParameterGroups = std::vector<ParameterGroup>;
#endif

/// The type of a slot that a parameter does not have.
inline constexpr TensorType no_slot{{0}, 1, Dtype::float32};

/// An optimizer is an aggregate with
///   learning_rate, weight_decay, loss_scale, groups     run-time values; all but groups may change between steps
///   static constexpr std::string_view name              for messages
///   static constexpr int slots                          moments per parameter, each with the parameter's shape,
///                                                       initially 0
///   static constexpr std::string_view slot_names[slots] as checkpoints call the moments: "moment1" gives
///                                                       "moment1.fc.weight"
///   void check() const                                  throws ValueError for its own numbers (value[3] on); it is
///                                                       asked before each step
///   void numbers(long step, Numbers&) const             fills its own numbers for a step counted from 0, and may
///                                                       change the rate; may throw ValueError for that
///   static constexpr void update(Builder&, int parameter, int gradient, const int* slot, int numbers)
///                                                       appends the update; with template <class = void> before it
///                                                       only programs with this optimizer compile its operator
/// and, if it has reason to,
///   float initial(int slot) const                       what the elements of a slot are at first, if not 0
///   static constexpr TensorType slot_type(int slot, const TensorType& parameter)
///                                                       what a slot is, if not a tensor like the parameter; a type of
///                                                       no elements (no_slot): this parameter has no such slot
///   static constexpr bool whole_parameters = true       how an element changes depends on others of its parameter, so
///                                                       that slices of it (nn/parallel) are refused
template <class O>
concept Optimizer = requires(const O& o, Numbers& n) {
  { O::slots } -> std::convertible_to<int>;
  { O::name } -> std::convertible_to<std::string_view>;
  o.check();
  o.numbers(0L, n);
  o.learning_rate.at(0L);
  o.weight_decay + o.loss_scale;
  o.groups.size();
};

namespace detail {
template <FixedString Name>
struct WrongOrder {
  static constexpr Sentence sentence = Sentence{} << "the optimizer comes first, then the number: nn::" << Name.view()
                                                  << "{nn::SGD{.learning_rate = 0.1f}, 1}";
};
/// Stands for an optimizer that is given to another one, Name, after its number.
template <FixedString Name, Optimizer O>
struct OtherOrder : O {
  using Wrong = Mistake<WrongOrder<Name>>;
  static_assert(sizeof(Wrong::corrected) != 0);
};
}  // namespace detail

/// The value of a required number until it is set: with a default of 0, a forgotten value would silently change the
/// training.
inline constexpr float not_given = std::numeric_limits<float>::lowest();

/// Throws ValueError unless `value` is finite and 0 or more; NaN is refused, too.
inline void check_not_negative(std::string_view optimizer, std::string_view number, float value) {
  if (!(value >= 0 && value <= std::numeric_limits<float>::max()))
    throw_error<ValueError>(optimizer, ": ", number, " must be a finite number, 0 or more, got ", value, ".");
}
/// Throws ValueError unless 0 < value < 1.
inline void check_inside_unit(std::string_view optimizer, std::string_view number, float value) {
  if (!(value > 0 && value < 1))
    throw_error<ValueError>(optimizer, ": ", number, " must be between 0 and 1, both excluded, got ", value, ".");
}
/// Throws ValueError unless 0 <= value < 1.
inline void check_below_one(std::string_view optimizer, std::string_view number, float value) {
  if (!(value >= 0 && value < 1))
    throw_error<ValueError>(optimizer, ": ", number, " must be 0 or more and below 1, got ", value, ".");
}
/// Throws ValueError unless `value` is finite and above 0.
inline void check_positive(std::string_view optimizer, std::string_view number, float value) {
  if (!(value > 0 && value <= std::numeric_limits<float>::max()))
    throw_error<ValueError>(optimizer, ": ", number, " must be a finite number above 0, got ", value, ".");
}

}  // namespace tenon::nn
