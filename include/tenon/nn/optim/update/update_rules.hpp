// Which learning rate and weight decay each parameter gets: an optimizer's groups, matched with the parameters' names.
#pragma once
#include <span>

#include <tenon/core/memory/owned.hpp>
#include <tenon/nn/optim/optimizer.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::nn {

/// True if `name` matches `pattern`, in which '*' matches any text.
[[gnu::cold]] bool matches(std::string_view pattern, std::string_view name);

/// The rules of one optimizer for one network, determined once: a step only computes numbers, and allocates nothing.
///
/// Without groups, weight decay skips parameters with beta or gamma in their names. With groups it applies to all, also
/// to parameters outside of every group, which use the optimizer's own values. Source: MindSpore's Optimizer.
class UpdateRules {
 public:
  /// Throws ValueError for an illegal number; KeyError for a pattern that matches no trainable parameter; RuntimeError
  /// for a parameter in two groups.
  template <Optimizer O>
  [[gnu::cold]] UpdateRules(const O& optimizer, const Entry* entries, int count) : rule_(std::size_t(count), none) {
    check_numbers(optimizer);
    check_groups(O::name, optimizer.groups);
    if constexpr (requires { optimizer.batches; }) batches_ = long(optimizer.batches);
    start(O::name, optimizer.groups, entries, count);
  }

  /// Calls write(entry, numbers) for each trained parameter with its numbers in a step counted from 0. `optimizer` is
  /// the one of the construction; its numbers may have changed. Throws ValueError for an illegal number, RuntimeError
  /// if the number of groups has changed.
  /// `updates`: something is updated with them in this step.
  template <Optimizer O, class Write>
  void each(const O& optimizer, long step, bool updates, Write write) {
    if (optimizer.groups.size() + first_group != rules_)
      throw_error<RuntimeError>(O::name,
                                ": the groups have changed since the Model was made: make a new Model with them.");
    check_numbers(optimizer);
    for (std::size_t r = 0; r < rules_; ++r) {
      const ParameterGroup* group = r >= first_group ? &optimizer.groups[r - first_group] : nullptr;
      Numbers& n = numbers_[r] = Numbers{};
      n.learning_rate() =
          (group && group->learning_rate ? *group->learning_rate : optimizer.learning_rate).at(step, updates);
      rates_[r] = n.learning_rate();
      n.weight_decay() = r == without_decay             ? 0
                         : group && group->weight_decay ? *group->weight_decay
                                                        : optimizer.weight_decay;
      if (group) check_not_negative(O::name, "weight_decay of a group", n.weight_decay());
      n.gradient_scale() = 1 / optimizer.loss_scale;
      optimizer.numbers(step, n);
    }
    for (std::size_t e = 0; e < rule_.size(); ++e)
      if (rule_[e] >= 0) write(int(e), numbers_[std::size_t(rule_[e])]);
  }

  /// Throws RuntimeError if an update is to use the gradients of another number of batches than at the construction.
  void keep_batches(long batches) const {
    if (batches != batches_)
      throw_error<RuntimeError>("AccumulateGradients: batches has changed from ", batches_, " to ", batches,
                                " since the Model was made, which counts its updates by them: make a new Model.");
  }

  /// The learning rates of the last step: the optimizer's, then one for each of its groups.
  const float* rates() const { return rates_.get() + without_decay; }
  /// All numbers of the last step.
  std::span<const Numbers> numbers() const { return {numbers_.get(), rules_}; }

 private:
  static constexpr int none = -1, own = 0, without_decay = 1, first_group = 2;

  template <Optimizer O>
  static void check_numbers(const O& optimizer) {
    check_not_negative(O::name, "weight_decay", optimizer.weight_decay);
    check_positive(O::name, "loss_scale", optimizer.loss_scale);
    optimizer.check();
  }
  using Groups = std::span<const ParameterGroup>;
  [[gnu::cold]] static void check_groups(std::string_view optimizer, Groups groups);
  // Finds the rule of each entry.
  [[gnu::cold]] void start(std::string_view optimizer, Groups groups, const Entry* entries, int count);
  // Puts the parameters that match into group g; `names` are those of the entries with a rule, in their order.
  [[gnu::cold]] void join(std::string_view optimizer, const std::string& pattern, int g,
                          const std::vector<std::string>& names);

  std::vector<int> rule_;                    // of each entry: an index into numbers_
  long batches_ = 1;                         // of an update
  std::size_t rules_ = 0;                    // own values, own values without decay, then those of the groups
  tenon::detail::Owned<Numbers[]> numbers_;  // arrays: vectors that grow would be 1 KB of code
  tenon::detail::Owned<float[]> rates_;      // learning rates, as the optimizer has them
};

#if TENON_DEFINES
TENON_INLINE bool matches(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == pattern.npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  for (std::size_t from = star; from <= name.size(); ++from)
    if (matches(pattern.substr(star + 1), name.substr(from))) return true;
  return false;
}

TENON_INLINE void UpdateRules::check_groups(std::string_view optimizer, Groups groups) {
  long length = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const ParameterGroup& group = groups[g];
    if (group.params.empty())
      throw_error<ValueError>(optimizer, ": group ", g, " has no params: give names, or patterns such as \"*.bias\".");
    if (group.weight_decay) check_not_negative(optimizer, text("weight_decay of group ", g), *group.weight_decay);
    const long own_length = group.learning_rate ? group.learning_rate->length() : 0;
    if (length && own_length && own_length != length)
      throw_error<ValueError>(optimizer, ": the learning rate lists of the groups have ", length, " and ", own_length,
                              " values; they must be equally long.");
    length = own_length ? own_length : length;
  }
}
TENON_INLINE void UpdateRules::start(std::string_view optimizer, Groups groups, const Entry* entries, int count) {
  std::vector<std::string> names;
  for (int e = 0; e < count; ++e) {
    if (!entries[e].parameter || !entries[e].trainable) continue;
    names.push_back(parameter_name(entries, e));
    const bool decays = !groups.empty() || (names.back().find("beta") == std::string::npos &&
                                            names.back().find("gamma") == std::string::npos);
    rule_[std::size_t(e)] = decays ? own : without_decay;
  }
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::string& pattern : groups[g].params) join(optimizer, pattern, int(g), names);
  rules_ = groups.size() + first_group;
  numbers_ = tenon::detail::Owned<Numbers[]>(new Numbers[rules_]());
  rates_ = tenon::detail::Owned<float[]>(new float[rules_]());
}
TENON_INLINE void UpdateRules::join(std::string_view optimizer, const std::string& pattern, int g,
                                    const std::vector<std::string>& names) {
  bool found = false;
  std::size_t next = 0;
  for (int& rule : rule_) {
    if (rule == none) continue;
    const std::string& name = names[next++];
    if (!matches(pattern, name)) continue;
    if (rule >= first_group && rule != g + first_group)
      throw_error<RuntimeError>(optimizer, ": parameter '", name, "' is in the groups ", rule - first_group, " and ", g,
                                "; it may be in one.");
    rule = g + first_group;
    found = true;
  }
  if (found) return;
  const std::string anywhere = text("*.", pattern);
  for (const std::string& name : names)
    if (matches(anywhere, name))
      throw_error<KeyError>(optimizer, ": '", pattern, "' in group ", g,
                            " is no parameter's whole name. Did you mean '", anywhere, "'?");
  throw_error<KeyError>(optimizer, ": '", pattern, "' in group ", g, " matches no trainable parameter of the network.",
                        did_you_mean(pattern, names));
}
#endif  // TENON_DEFINES

}  // namespace tenon::nn
TENON_INT_SIZES_END
