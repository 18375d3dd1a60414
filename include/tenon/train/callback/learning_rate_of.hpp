// The learning rate of the Model that a callback hears of.
#pragma once
#include <string_view>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A run whose Model has an optimizer with a learning rate.
template <class Run>
concept HasOptimizer = requires(Run& run) { run.model.optimizer().learning_rate.at(0L); };

/// The learning rate, a number that callbacks may change. Throws ValueError for a list or a function of the step.
template <class Run>
float fixed_learning_rate(std::string_view caller, Run& run) {
  const auto& rate = run.model.optimizer().learning_rate;
  if (!rate.is_number())
    throw_error<ValueError>(caller, ": the learning rate of the optimizer is a list or a function of the step; give it "
                                    "one number, which a callback can change.");
  return rate.at(0);
}

}  // namespace tenon::detail
