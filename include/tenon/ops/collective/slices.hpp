// Tensors in slices, one on each rank of a group that computes one loss together: copy_to_slices, sum_slices,
// gather_slices, take_slice.
#pragma once
#include <cstring>

#include <tenon/ops/collective/all_to_all.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Settings of what cuts or joins: the number of ranks in the group, since it changes the shape.
struct SlicesConfig {
  int slices = 1;
};
template <FixedString group>
struct SumSlices;
template <FixedString group>
struct TakeSlice;

/// Base of the operators below. Their gradients are those of one loss that all ranks of the group have alike, not those
/// of the sum of the ranks' losses as with the other collectives.
template <class Op, FixedString Name, FixedString group>
struct Sliced : Collective<Op, Name, group> {
 protected:
  /// The sentence for a last axis that there is not, or that is the batch.
  static constexpr bool has_last(const TensorType& x, Sentence& error) {
    if (x.rank > 0 && x.last() >= 0) return true;
    error << Op::name << " needs a last axis of a fixed extent, got " << x;
    return false;
  }
};

/// x itself, from where each rank goes on with its slice of the work. No kernel runs.
///
/// x           any shape, equal on all ranks; floats
/// derivative  the sum of the ranks' dy, along one tree over the ranks
/// source      f of Megatron-LM (arXiv 1909.08053): copy_to_tensor_model_parallel_region
template <FixedString group>
struct CopyToSlices : Sliced<CopyToSlices<group>, "CopyToSlices", group> {
  static constexpr bool view = true;
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<SumSlices<group>>(d.gradient())); }
};

/// The sum of what the ranks have computed from their slices.
///
/// x           any shape, the same on all ranks; any dtype but bool; integers wrap around
/// result      as x, with the same bits on all ranks
/// derivative  dy itself
/// order       one tree over the ranks (dist/sum_tree.hpp); 16-bit floats are added in float32
/// source      g of Megatron-LM: reduce_from_tensor_model_parallel_region
template <FixedString group>
struct SumSlices : Sliced<SumSlices<group>, "SumSlices", group> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    detail::refuse_bool("SumSlices", in[0], error);
    return in[0];
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<CopyToSlices<group>>(d.gradient())); }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const auto x = SumSlices::template operand<Call>(a);
    const auto y = SumSlices::template result<Call>(a);
    std::copy(x.begin(), x.end(), y.begin());
    dist::all_reduce(SumSlices::ranks(), dist::ReduceOp::sum, y);
  }
};

/// The ranks' slices, joined along the last axis.
///
/// x           [..., C], the same shape on all ranks; any dtype
/// result      [..., slices C], with the same bits on all ranks
/// derivative  the rank's own slice of dy
/// errors      ValueError when it runs, unless the group has `slices` ranks
/// source      Megatron-LM's gather_from_tensor_model_parallel_region
template <FixedString group>
struct GatherSlices : Sliced<GatherSlices<group>, "GatherSlices", group> {
  using Config = SlicesConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0];
    if (GatherSlices::has_last(y, error)) y.extent[y.rank - 1] *= c.slices;
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<TakeSlice<group>>(d.config<GatherSlices>(), d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr int slices = Call::config().slices;
    const auto x = std::as_bytes(GatherSlices::template operand<Call>(a));
    const auto y = std::as_writable_bytes(GatherSlices::template result<Call>(a));
    const auto all = dist::detail::scratch(y.size());
    dist::all_gather(GatherSlices::ranks(slices), x, all);
    constexpr std::size_t row = std::size_t(Call::operand(0).last()) * sizeof(typename Call::Result);
    if (row > 0) detail::copy_parts(all.data(), y.data(), long(x.size() / row), slices, row, true);
  }
};

/// The rank's own slice of the last axis.
///
/// x           [..., C] with C a multiple of `slices`, equal on all ranks; any dtype
/// result      [..., C / slices]
/// derivative  the ranks' dy, joined along the last axis
/// errors      ValueError when it runs, unless the group has `slices` ranks
/// source      Megatron-LM's scatter_to_tensor_model_parallel_region
template <FixedString group>
struct TakeSlice : Sliced<TakeSlice<group>, "TakeSlice", group> {
  using Config = SlicesConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0];
    if (!TakeSlice::has_last(y, error)) return y;
    if (y.last() % c.slices != 0)
      error << "TakeSlice of " << c.slices << " slices needs a last extent that is a multiple of it, got " << y;
    else y.extent[y.rank - 1] /= c.slices;
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<GatherSlices<group>>(d.config<TakeSlice>(), d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const int own = TakeSlice::ranks(Call::config().slices).rank();
    const auto y = TakeSlice::template result<Call>(a);
    const typename Call::Result* x = TakeSlice::template operand<Call>(a).data();
    constexpr long row = Call::result.last(), all = Call::operand(0).last();
    for (std::size_t at = 0; at < y.size(); at += std::size_t(row), x += all)
      std::memcpy(y.data() + at, x + own * row, std::size_t(row) * sizeof *x);
  }
};

/// A flag of the training state (operand 0) that is set on one rank is set on all. Not for users.
template <FixedString group>
struct AgreeOnFlag : Collective<AgreeOnFlag<group>, "AgreeOnFlag", group> {
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    dist::all_reduce(AgreeOnFlag::ranks(), dist::ReduceOp::max, std::span<std::int32_t>(a.changed<std::int32_t>(0), 1));
  }
};

/// Where the work on x goes on in slices: `copy_to_slices(x)`; in a group `copy_to_slices<"slices">(x)`.
template <FixedString group = "world">
constexpr auto copy_to_slices(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<CopyToSlices<group>>(at, x);
}
/// `sum_slices(x)`; in a group `sum_slices<"slices">(x)`.
template <FixedString group = "world">
constexpr auto sum_slices(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<SumSlices<group>>(at, x);
}
/// `gather_slices<4>(x)` from 4 ranks; in a group `gather_slices<2, "slices">(x)`.
template <int slices, FixedString group = "world">
constexpr auto gather_slices(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(slices > 0, "gather_slices<slices> needs 1 slice or more");
  return apply<GatherSlices<group>, SlicesConfig{slices}>(at, x);
}
/// `take_slice<4>(x)` among 4 ranks; in a group `take_slice<2, "slices">(x)`.
template <int slices, FixedString group = "world">
constexpr auto take_slice(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(slices > 0, "take_slice<slices> needs 1 slice or more");
  return apply<TakeSlice<group>, SlicesConfig{slices}>(at, x);
}

}  // namespace tenon::ops
