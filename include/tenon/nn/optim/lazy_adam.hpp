// LazyAdam: Adam, which leaves the unused rows of tables alone.
#pragma once
#include <tenon/nn/optim/adam.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Adam, but of the table of an nn::EmbeddingLookup it changes only the rows that have a gradient other than 0 in this
/// step, and their moments. In other rows neither moments decay nor the weight. For all other parameters, also those of
/// an nn::Embedding, it is Adam. Source: MindSpore nn.LazyAdam, whose sparse gradients are those of EmbeddingLookup.
template <AdamConfig config>
using LazyAdamWith = AdamWith<config, true>;
using LazyAdam = LazyAdamWith<AdamConfig{}>;

}  // namespace tenon::nn
