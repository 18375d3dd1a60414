// recompute: a cell whose values are computed again for the backward pass, not kept.
#pragma once
#include <tenon/call/recomputation.hpp>
#include <tenon/nn/cell.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
/// Not for users: x, as what is computed again reads it. A view.
struct Again : Operator<Again, "Again"> {
  static constexpr bool view = true;
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.gradient()); }
};
}  // namespace ops

template <>
struct Kernel<Cpu, ops::Again> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};  // no kernel runs: the layout is that of x
};

/// A call of a cell that is recomputed. Made by recompute().
template <class C>
struct Recomputed {
  const C& cell;
  std::source_location at;  // the same in both modes: random streams depend on it

  template <class... X>
  constexpr auto operator()(const X&... x) const {
    if constexpr ((detail::holds_traced<X> || ...)) {
      Builder& b = *detail::builder_among(x...);
      const int begin = int(b.nodes.size());
      const auto result = cell(x..., at);
      while (!b.recomputed.empty() && b.recomputed.back().begin >= begin) b.recomputed.pop_back();
      b.recomputed.push_back({begin, int(b.nodes.size()), &info<ops::Again>});
      return result;
    } else if constexpr ((detail::is_tensor<X> && ...)) {
      return eager(x...);
    } else return cell(x..., at);
  }

 private:
  template <class... X>
  struct Rerun {
    const C* cell;
    std::source_location at;
    std::tuple<X...> x;
    bool watched[sizeof...(X)];
    eager::Surroundings surroundings{};

    static void run(void* self, eager::Tape& tape) {
      Rerun& rerun = *static_cast<Rerun*>(self);
      rerun.surroundings.enter([&] {
        std::apply(
            [&](const auto&... given) {
              int k = 0;
              (..., (given.variable = TapeVariable(), rerun.watched[k++] ? tape.watch(given) : void()));
              static_cast<void>((*rerun.cell)(given..., rerun.at));
            },
            rerun.x);
      });
    }
    static void destroy(void* self) { delete static_cast<Rerun*>(self); }
  };
  template <class... X>
  auto eager(const X&... x) const {
    eager::Tape* const tape = eager::Tape::active();
    if (!tape || !eager::Frame::of_thread().root || eager::runs_again()) return cell(x..., at);
    auto* const rerun = new Rerun<X...>{&cell, at, {x...}, {tape->variable(x) >= 0 ...}};
    const std::size_t first = eager::Recomputation::records(*tape);
    auto result = cell(x..., at);
    eager::Recomputation::drop(*tape, first, {&Rerun<X...>::run, &Rerun<X...>::destroy, rerun});
    return result;
  }
};

/// Calls a cell whose values are not kept for the backward pass, which computes them again from the arguments:
///
///     constexpr auto construct(auto x) const { return head(recompute(block2)(recompute(block1)(x))); }
///
/// It saves the memory of the values inside of the cell, for the time of one more forward pass of it. All bits are
/// those without: dropout draws the same masks, effects such as the moving statistics of a batch norm happen once. In
/// PyNative mode it has an effect inside of a network that a tape records. A recomputed cell inside of another one is
/// part of that. In a loop (scan, while_loop) nothing is recomputed. Source: MindSpore's recompute(); PyTorch's
/// checkpoint
template <AnyCell C>
constexpr Recomputed<C> recompute(const C& cell, std::source_location at = std::source_location::current()) {
  return {cell, at};
}

}  // namespace tenon
