// ColumnParallelDense: a fully connected layer whose outputs are shared by several ranks.
#pragma once
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/parallel/slice_of.hpp>

namespace tenon::inline TENON_ABI::nn {

struct ColumnParallelConfig {
  bool has_bias = true;
  bool gather_output = false;  // all ranks get all outputs, instead of a slice
};

/// A Dense of which each of `Slices` ranks computes Out / Slices outputs. A RowParallelDense may follow, with what is
/// element by element between them.
///
/// x           [..., In], equal on all ranks of the group
/// result      [..., Out / Slices], the outputs of this rank; with gather_output [..., Out] on all
/// parameters  weight [Out / Slices, In];  bias [Out / Slices], absent with has_bias = false: slices of those of
///             Dense<In, Out>, with the same initial bits
/// bits        outputs, and gradients of weight and bias, are those of Dense<In, Out> where x and dy are; the gradient
///             of x is a sum along the tree over the ranks
/// errors      RuntimeError before dist::init, ValueError unless the group has `Slices` ranks. With one slice it is a
///             Dense, and needs no group
/// source      Megatron-LM's ColumnParallelLinear; PyTorch's ColwiseParallel
template <int In, int Out, int Slices, FixedString group = "world",
          ColumnParallelConfig config = ColumnParallelConfig{}, auto weight_init = default_weight,
          auto bias_init = DefaultBias{float(In)}>
struct ColumnParallelDense : Cell<ColumnParallelDense<In, Out, Slices, group, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0 && Slices > 0, "ColumnParallelDense<In, Out, Slices> needs positive sizes");
  static_assert(Out % Slices == 0, "ColumnParallelDense<In, Out, Slices>: Out must be a multiple of Slices");
  Parameter<float, Shape<Out / Slices, In>, slice_of<Slices, 0, group>(weight_init)> weight;
  OptionalParameter<config.has_bias, float, Shape<Out / Slices>, slice_of<Slices, 0, group>(bias_init)> bias;

  constexpr auto construct(ops::Operand auto x) const {
    if constexpr (Slices == 1) return outputs(x);
    else if constexpr (config.gather_output) return ops::gather_slices<Slices, group>(outputs(copied(x)));
    else return outputs(copied(x));
  }

 private:
  static constexpr auto copied(const auto& x) { return ops::copy_to_slices<group>(x); }
  constexpr auto outputs(const auto& x) const {
    return add_bias(ops::matmul<ops::Transposed::second>(x, weight), bias);
  }
};

}  // namespace tenon::nn
