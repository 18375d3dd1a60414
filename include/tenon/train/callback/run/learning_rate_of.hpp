// The learning rates of the Model that a callback is notified of.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/nn/optim/learning_rate.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A run whose Model has an optimizer with a learning rate.
template <class Run>
concept HasOptimizer = requires(Run& run) { run.model.optimizer().learning_rate.at(0L); };

/// Throws ValueError for a list or a function of the step, which no callback can change.
[[gnu::cold]] void check_fixed_rate(std::string_view caller, const nn::LearningRate& rate, const std::string& whose);

/// Replaces each learning rate, the optimizer's and those of groups with one of their own, by what f(rate, whose) makes
/// of it; `whose` is "", or " of group 0". Throws ValueError, before it changes one, unless all are numbers.
template <class Run, class F>
void change_learning_rates(std::string_view caller, Run& run, F f) {
  auto& optimizer = run.model.optimizer();
  const auto each = [&](auto use) {
    use(optimizer.learning_rate, std::string());
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g)
      if (optimizer.groups[g].learning_rate) use(*optimizer.groups[g].learning_rate, text(" of group ", g));
  };
  each([&](nn::LearningRate& rate, const std::string& whose) { check_fixed_rate(caller, rate, whose); });
  each([&](nn::LearningRate& rate, const std::string& whose) {
    const float now = rate.at(0), next = f(now, whose);
    if (next != now) rate = double(next);
  });
}
template <class Run>
void check_learning_rates(std::string_view caller, Run& run) {
  change_learning_rates(caller, run, [](float rate, const std::string&) { return rate; });
}

#if TENON_DEFINES
TENON_INLINE void check_fixed_rate(std::string_view caller, const nn::LearningRate& rate, const std::string& whose) {
  if (!rate.is_number())
    throw_error<ValueError>(caller, ": the learning rate", whose.empty() ? " of the optimizer" : whose,
                            " is a list or a function of the step; give it one number, which a callback can change.");
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
