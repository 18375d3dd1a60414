// Activation functions as layers, for SequentialCell; in construct prefer the functions: `relu(fc1(x))`.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/sigmoid.hpp>
#include <tenon/ops/silu.hpp>
#include <tenon/ops/softplus.hpp>
#include <tenon/ops/tanh.hpp>

namespace tenon::inline TENON_ABI::nn {

/// max(x, 0), see ops/relu.hpp.
struct ReLU : Cell<ReLU> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::relu(x); }
};
/// 1 / (1 + exp(-x)), see ops/sigmoid.hpp.
struct Sigmoid : Cell<Sigmoid> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::sigmoid(x); }
};
/// Hyperbolic tangent, see ops/tanh.hpp.
struct Tanh : Cell<Tanh> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::tanh(x); }
};
/// Gaussian error linear unit, tanh form, see ops/gelu.hpp.
struct GELU : Cell<GELU> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::gelu(x); }
};
/// x sigmoid(x), see ops/silu.hpp.
struct SiLU : Cell<SiLU> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::silu(x); }
};
/// log(1 + exp(x)), see ops/softplus.hpp.
struct Softplus : Cell<Softplus> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::softplus(x); }
};

}  // namespace tenon::nn
