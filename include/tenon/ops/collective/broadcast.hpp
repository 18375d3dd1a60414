// From one rank to all, and back: broadcast, reduce_to.
#pragma once
#include <tenon/ops/collective/collective.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Settings of both.
struct RootConfig {
  int root = 0;
};
template <FixedString group>
struct ReduceTo;

/// The root's tensor on all ranks.
///
/// x           any shape, the same on all ranks; any dtype
/// derivative  the sum of the ranks' dy to the root, zeros to the others
/// errors      ValueError when it runs, if the group has no such rank
/// source      MindSpore's Broadcast
template <FixedString group>
struct Broadcast : Collective<Broadcast<group>, "Broadcast", group> {
  using Config = RootConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<ReduceTo<group>>(d.config<Broadcast>(), d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const auto x = Broadcast::template operand<Call>(a);
    const auto y = Broadcast::template result<Call>(a);
    std::copy(x.begin(), x.end(), y.begin());
    dist::broadcast(Broadcast::ranks(), std::as_writable_bytes(y), Call::config().root);
  }
};

/// The sum of the ranks' tensors on the root, zeros on the others.
///
/// x           any shape, the same on all ranks; any dtype but bool
/// derivative  the root's dy to all
/// errors      ValueError when it runs, if the group has no such rank
/// order       one tree over the ranks (dist/sum_tree.hpp); 16-bit floats are added in float32
/// source      MindSpore's Reduce, whose other ranks keep what they have
template <FixedString group>
struct ReduceTo : Collective<ReduceTo<group>, "ReduceTo", group> {
  using Config = RootConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    detail::refuse_bool("ReduceTo", in[0], error);
    return in[0];
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<Broadcast<group>>(d.config<ReduceTo>(), d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    if (const int size = ReduceTo::ranks().size(); Call::config().root >= size)
      throw_error<ValueError>("ReduceTo rank ", Call::config().root, ": the group has the ranks 0 to ", size - 1, ".");
    const auto x = ReduceTo::template operand<Call>(a);
    const auto y = ReduceTo::template result<Call>(a);
    std::copy(x.begin(), x.end(), y.begin());
    dist::all_reduce(ReduceTo::ranks(), dist::ReduceOp::sum, y);
    if (ReduceTo::ranks().rank() != Call::config().root) std::fill(y.begin(), y.end(), T(0));
  }
};

/// `broadcast<0>(x)`; in a group `broadcast<1, "half">(x)`, where 1 is a rank of the group.
template <int root, FixedString group = "world">
constexpr auto broadcast(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(root >= 0, "broadcast<root>: ranks count from 0");
  return apply<Broadcast<group>, RootConfig{root}>(at, x);
}
/// `reduce_to<0>(x)`; in a group `reduce_to<1, "half">(x)`.
template <int root, FixedString group = "world">
constexpr auto reduce_to(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(root >= 0, "reduce_to<root>: ranks count from 0");
  return apply<ReduceTo<group>, RootConfig{root}>(at, x);
}

}  // namespace tenon::ops
