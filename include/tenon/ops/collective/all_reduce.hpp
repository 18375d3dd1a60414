// Sums, products, maxima, and minima over ranks: all_reduce.
#pragma once
#include <tenon/ops/collective/collective.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_max.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The product of the other ranks' elements. Not for users.
///
/// derivative  none: all_reduce of products has no second derivative
template <FixedString group>
struct ProductOfOthers : Collective<ProductOfOthers<group>, "ProductOfOthers", group> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    const dist::Communicator& ranks = ProductOfOthers::ranks();
    const auto mine = ProductOfOthers::template operand<Call>(a);
    const auto all = dist::detail::scratch(mine.size_bytes() * std::size_t(ranks.size()));
    dist::all_gather(ranks, std::as_bytes(mine), all);
    T* const first = reinterpret_cast<T*>(all.data());
    std::fill_n(first + mine.size() * std::size_t(ranks.rank()), mine.size(), T(1));
    const auto leaf = [&](int rank, int of) { return of == 1 ? first + mine.size() * std::size_t(rank) : nullptr; };
    dist::fold_nodes<dist::detail::Multiply, T>(ranks.size(), leaf, ProductOfOthers::template result<Call>(a));
  }
};

/// Replaces each element by the sum of the ranks' elements, or by their product, maximum, minimum.
///
/// x           any shape, the same on all ranks; any dtype but bool; integers wrap around
/// result      as x, with the same bits on all ranks
/// derivative  sum: the sum of the ranks' dy. max, min: that to the rank with the extreme, in equal parts if there are
///             several. prod: that times the product of the others, also where elements are 0
/// order       one tree over the ranks (dist/sum_tree.hpp); 16-bit floats are added in float32
/// source      MindSpore's AllReduce, whose product has no derivative
template <FixedString group>
struct AllReduce : Collective<AllReduce<group>, "AllReduce", group> {
  struct Config {
    dist::ReduceOp op = dist::ReduceOp::sum;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    detail::refuse_bool("AllReduce", in[0], error);
    return in[0];
  }
  static constexpr void derivative(Derivative& d) {
    const int gradient = d.call_with<AllReduce>({}, d.gradient()), x = d.operand(0);
    switch (d.config<AllReduce>().op) {
      case dist::ReduceOp::sum: return d.flows_to(0, gradient);
      case dist::ReduceOp::prod: return d.flows_to(0, d.call<Mul>(gradient, d.call<ProductOfOthers<group>>(x)));
      case dist::ReduceOp::max:
      case dist::ReduceOp::min: {
        const int ties = d.call_with<AllReduce>({}, d.call<IsExtreme>(x, d.result()));
        d.flows_to(0, d.call<ExtremeGrad>(x, d.result(), d.call<Div>(gradient, ties)));
      }
    }
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const auto x = AllReduce::template operand<Call>(a);
    const auto y = AllReduce::template result<Call>(a);
    std::copy(x.begin(), x.end(), y.begin());
    dist::all_reduce(AllReduce::ranks(), Call::config().op, y);
  }
};

/// `all_reduce(x)`; `all_reduce<dist::ReduceOp::max>(x)`; in a group `all_reduce<dist::ReduceOp::sum, "half">(x)`.
template <dist::ReduceOp op = dist::ReduceOp::sum, FixedString group = "world">
constexpr auto all_reduce(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<AllReduce<group>, typename AllReduce<group>::Config{op}>(at, x);
}

}  // namespace tenon::ops
