// The weights of a mean over an evaluation: samples or batches.
#pragma once
#include <tenon/nn/metric/metric.hpp>

namespace tenon::inline TENON_ABI::nn {

/// samples: the weight of a batch is its number of samples. batches: all batches have the same weight, also a short
/// last batch.
enum class MeanOver { samples, batches };

namespace detail {
/// Gives a metric of the loss that of a batch, whose size is that of the labels.
template <LossMetric M>
void update_loss(M& metric, const AnyTensor& loss, const AnyTensor& label) {
  if constexpr (requires { metric.update(loss, label.extent[0]); })
    metric.update(loss, label.rank ? label.extent[0] : 0);
  else metric.update(loss);
}
}  // namespace detail

}  // namespace tenon::nn
