// A recurrent network for trainings on several ranks.
#pragma once
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/recurrent/lstm.hpp>
#include <tenon/ops/reduce_mean.hpp>

namespace shards {

namespace nn = tenon::nn;

/// An LSTM and a classifier of the mean over its steps: sequences [n, steps, In] to 4 logits.
template <int In>
struct Reader : nn::Cell<Reader<In>> {
  nn::LSTM<In, 16> lstm;
  nn::Dense<16, 4> fc;
  constexpr auto construct(auto x) const {
    const auto [all, h, c] = lstm(x);
    return fc(tenon::ops::reduce_mean<1>(all));
  }
};

}  // namespace shards
