// What an optimizer is, and the numbers and groups that all of them share.
#pragma once
#include <tenon/eager/apply.hpp>
#include <tenon/nn/optim/learning_rate.hpp>

namespace tenon::inline TENON_ABI::nn {

inline constexpr int max_numbers = 8, max_slots = 3;

/// The run-time numbers of one parameter's update in one step; kernels read them from the training state. The first three
/// mean the same for every optimizer, the others are the optimizer's own.
struct Numbers {
  float value[max_numbers]{};
  float& learning_rate() { return value[0]; }
  float& weight_decay() { return value[1]; }
  float& gradient_scale() { return value[2]; }  // 1 / loss_scale
};
inline constexpr TensorType numbers_type{{max_numbers}, 1, Dtype::float32};

/// Parameters with a learning rate or weight decay of their own.
struct ParameterGroup {
  std::vector<std::string> params;  // names, or patterns with '*': "conv1.weight", "*.bias"
  std::optional<LearningRate> learning_rate{};
  std::optional<float> weight_decay{};
};

/// True if `name` matches `pattern`, in which '*' stands for any text.
inline bool matches(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == pattern.npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  for (std::size_t from = star; from <= name.size(); ++from)
    if (matches(pattern.substr(star + 1), name.substr(from))) return true;
  return false;
}

/// An optimizer is an aggregate with
///   learning_rate, weight_decay, loss_scale, groups     run-time values
///   static constexpr int slots                          moments per parameter, each with the parameter's shape, initially 0
///   void numbers(long step, Numbers&) const             fills its own numbers (value[3] on) for a step counted from 0, and may change the rate
///   static constexpr void update(Builder&, int parameter, int gradient, const int* slot, int numbers)   appends the update
template <class O>
concept Optimizer = requires(const O& o, Numbers& n) {
  { O::slots } -> std::convertible_to<int>;
  o.numbers(0L, n);
  o.learning_rate.at(0L);
};

}  // namespace tenon::nn
