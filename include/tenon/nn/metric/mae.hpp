// Mean absolute error.
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/nn/metric/count/mean_error.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The sum of |prediction - target| over all elements / the number of samples, as in MindSpore, which is the mean error
/// for targets of one number; `MAE{Division::per_element}` is the mean over all elements.
///
/// prediction, target  [n, ...] of one shape, any dtypes
/// source              MindSpore nn.MAE
struct MAE : detail::MeanError<MAE> {
  using MeanError::MeanError;
  static constexpr std::string_view name = "mae", title = "MAE";
  static double error(double difference) { return tenon::detail::libm::abs(difference); }
};

}  // namespace tenon::nn
