// LazyAdam, which is the same as Adam in Tenon.
#pragma once
#include <tenon/nn/optim/adam.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Adam. MindSpore's LazyAdam differs from Adam only for sparse gradients, for which it updates only the given rows.
/// Tenon's gradients are always dense, also those of embeddings.
template <AdamConfig config>
using LazyAdamWith = AdamWith<config>;
using LazyAdam = Adam;

}  // namespace tenon::nn
