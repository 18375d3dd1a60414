// Parts that ranks have, for all of them, and back: all_gather, reduce_scatter.
#pragma once
#include <tenon/ops/collective/collective.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Settings of both: the number of ranks in the group, since it changes the shape.
struct RanksConfig {
  int ranks = 1;
};
template <FixedString group>
struct ReduceScatter;

/// The ranks' tensors, one after the other along the first axis.
///
/// x           any shape of rank 1 or more, the same on all ranks; any dtype
/// result      as x, with `ranks` times its first extent
/// derivative  to each rank the sum of the ranks' dy for its part
/// source      MindSpore's AllGather
template <FixedString group>
struct AllGather : Collective<AllGather<group>, "AllGather", group> {
  using Config = RanksConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0];
    if (y.rank == 0) error << "AllGather needs a first axis, got " << y;
    else y.extent[0] *= c.ranks;
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<ReduceScatter<group>>(d.config<AllGather>(), d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    dist::all_gather(AllGather::ranks(Call::config().ranks), std::as_bytes(AllGather::template operand<Call>(a)),
                     std::as_writable_bytes(AllGather::template result<Call>(a)));
  }
};

/// Of the sum over ranks, one part along the first axis for each rank.
///
/// x           any shape of rank 1 or more, whose first extent (for each n) is a multiple of `ranks`; any dtype except
///             bool
/// result      as x, with the first extent divided by `ranks`
/// derivative  the ranks' dy, one after the other
/// order       one tree over the ranks (dist/sum_tree.hpp); 16-bit floats are added in float32
/// source      MindSpore's ReduceScatter with ReduceOp.SUM
template <FixedString group>
struct ReduceScatter : Collective<ReduceScatter<group>, "ReduceScatter", group> {
  using Config = RanksConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0];
    detail::refuse_bool("ReduceScatter", y, error);
    if (y.rank == 0 || y.extent[0] % c.ranks != 0)
      error << "ReduceScatter over " << c.ranks << " ranks needs a first extent that is a multiple of it, got " << y;
    else y.extent[0] /= c.ranks;
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<AllGather<group>>(d.config<ReduceScatter>(), d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    dist::reduce_scatter(ReduceScatter::ranks(Call::config().ranks), dist::ReduceOp::sum,
                         ReduceScatter::template operand<Call>(a), ReduceScatter::template result<Call>(a));
  }
};

/// `all_gather<4>(x)` among 4 ranks; in a group `all_gather<2, "half">(x)`.
template <int ranks, FixedString group = "world">
constexpr auto all_gather(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(ranks > 0, "all_gather<ranks> needs 1 rank or more");
  return apply<AllGather<group>, RanksConfig{ranks}>(at, x);
}
/// `reduce_scatter<4>(x)` among 4 ranks; in a group `reduce_scatter<2, "half">(x)`.
template <int ranks, FixedString group = "world">
constexpr auto reduce_scatter(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(ranks > 0, "reduce_scatter<ranks> needs 1 rank or more");
  return apply<ReduceScatter<group>, RanksConfig{ranks}>(at, x);
}

}  // namespace tenon::ops
