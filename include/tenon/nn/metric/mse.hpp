// Mean squared error.
#pragma once
#include <tenon/nn/metric/count/mean_error.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The sum of (prediction - target)² over all elements / the number of samples, as in MindSpore, which is the mean for
/// targets of one number; `MSE{Division::per_element}` is the mean over all elements, as nn::MSELoss.
///
/// prediction, target  [n, ...] of one shape, any dtypes
/// source              MindSpore nn.MSE
struct MSE : detail::MeanError<MSE> {
  using MeanError::MeanError;
  static constexpr std::string_view name = "mse", title = "MSE";
  static constexpr double error(double difference) { return difference * difference; }
};

}  // namespace tenon::nn
