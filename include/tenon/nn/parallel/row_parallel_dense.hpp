// RowParallelDense: a fully connected layer whose inputs are shared by several ranks.
#pragma once
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/parallel/slice_of.hpp>

namespace tenon::inline TENON_ABI::nn {

struct RowParallelConfig {
  bool has_bias = true;
  bool input_is_slice = true;  // each rank has its slice of x; false: each has all of x
};

/// A Dense of which each of `Slices` ranks multiplies In / Slices inputs; the ranks add up what they get.
///
/// x           [..., In / Slices], the inputs of this rank, as a ColumnParallelDense gives them; without input_is_slice
///             [..., In], equal on all ranks of the group
/// result      [..., Out], with the same bits on all ranks
/// parameters  weight [Out, In / Slices], a slice of that of Dense<In, Out>; bias [Out] on all ranks, absent with
///             has_bias = false; with the same initial bits
/// bits        sums over the inputs are those of the slices, added along the tree over the ranks: they depend on the
///             number of slices. Gradients are those of Dense<In, Out> where x and dy are
/// errors      as ColumnParallelDense
/// source      Megatron-LM's RowParallelLinear; PyTorch's RowwiseParallel
template <int In, int Out, int Slices, FixedString group = "world", RowParallelConfig config = RowParallelConfig{},
          auto weight_init = default_weight, auto bias_init = DefaultBias{float(In)}>
struct RowParallelDense : Cell<RowParallelDense<In, Out, Slices, group, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0 && Slices > 0, "RowParallelDense<In, Out, Slices> needs positive sizes");
  static_assert(In % Slices == 0, "RowParallelDense<In, Out, Slices>: In must be a multiple of Slices");
  Parameter<float, Shape<Out, In / Slices>, slice_of<Slices, 1, group>(weight_init)> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(ops::Operand auto x) const {
    if constexpr (Slices == 1) return add_bias(product(x), bias);
    else if constexpr (config.input_is_slice) return add_bias(ops::sum_slices<group>(product(x)), bias);
    else return add_bias(ops::sum_slices<group>(product(ops::take_slice<Slices, group>(x))), bias);
  }

 private:
  constexpr auto product(const auto& x) const { return ops::matmul<ops::Transposed::second>(x, weight); }
};

}  // namespace tenon::nn
