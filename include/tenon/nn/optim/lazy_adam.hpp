// LazyAdam, which is the same as Adam in Tenon.
#pragma once
#include <tenon/nn/optim/adam.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Adam. MindSpore's LazyAdam differs for sparse gradients alone, of which it updates the rows that are there; Tenon's
/// gradients are dense, those of embeddings, too, and MindSpore updates with dense ones as Adam does.
template <AdamConfig config>
using LazyAdamWith = AdamWith<config>;
using LazyAdam = Adam;

}  // namespace tenon::nn
