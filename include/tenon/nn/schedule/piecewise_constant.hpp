// A learning rate that is constant between given steps.
#pragma once
#include <vector>

#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A list of one value per step: learning_rates[0] in the steps before milestone[0], learning_rates[1] in those before
/// milestone[1], and so on; it has milestone.back() values. Throws ValueError for empty lists or lists of different
/// lengths, milestones that are below 1 or decrease, and rates that are not above 0. Source: MindSpore
/// nn.piecewise_constant_lr, which since 2.x requires strictly ascending milestones; here they may be equal.
inline std::vector<double> piecewise_constant_lr(const std::vector<long>& milestone,
                                                 const std::vector<double>& learning_rates) {
  if (milestone.empty() || milestone.size() != learning_rates.size())
    throw_error<ValueError>("piecewise_constant_lr: there must be as many milestones as learning rates, at least one, "
                            "got ",
                            milestone.size(), " and ", learning_rates.size(), ".");
  std::vector<double> values;
  for (std::size_t i = 0; i < milestone.size(); ++i) {
    detail::check_count("piecewise_constant_lr", "milestone", milestone[i]);
    detail::check_above_zero("piecewise_constant_lr", "learning_rates", learning_rates[i]);
    if (milestone[i] < long(values.size()))
      throw_error<ValueError>("piecewise_constant_lr: milestones must not decrease, got ", milestone[i], " after ",
                              values.size(), ".");
    values.resize(std::size_t(milestone[i]), learning_rates[i]);
  }
  return values;
}

}  // namespace tenon::nn
