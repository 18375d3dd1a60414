// A loop with a condition in construct: while_loop.
#pragma once
#include <tenon/ops/control/loop_trace.hpp>
#include <tenon/ops/control/turn_random.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {

/// In a graph.
template <int most, class C, class F, class... V>
constexpr auto trace_while(Builder& b, const C& condition, const F& body, const V&... init) {
  BodyNode node(b);
  BodyTrace turn(b);
  const std::tuple<V...> carried{V(&b, turn.input(V::dims))...};
  const auto next = tenon::detail::spread(body, carried);
  std::vector<int> outputs;
  using Next = AsTuple<std::remove_cvref_t<decltype(next)>>;
  constexpr Sentence refusal = [] {
    if constexpr (any_broken<Next>) return Sentence{};
    else return carry_refusal("while_loop", std::type_identity<std::tuple<V...>>(), std::type_identity<Next>());
  }();
  if (!refusal.empty()) b.fail(refusal);
  if constexpr (!any_broken<Next>) add_ids(outputs, as_tuple(next));
  node.c.body = turn.end(outputs);
  BodyTrace asked(b);
  const std::tuple<V...> looked_at{V(&b, asked.input(V::dims))...};
  const auto holds = tenon::detail::spread(condition, looked_at);
  using P = std::remove_cvref_t<decltype(holds)>;
  if constexpr (any_broken<Next> || is_broken<P> || !refusal.empty()) {
    if constexpr (sizeof...(V) == 1) return Broken(&b);
    else return broken_like(b, std::type_identity<std::tuple<V...>>());
  } else {
    if (const Sentence wrong = condition_refusal<P>("while_loop"); !wrong.empty()) b.fail(wrong);
    const std::vector<int> answer(1, holds.id);
    node.c.condition = asked.end(answer);
    node.c.turns = most, node.c.carried = int(sizeof...(V));
    std::vector<int> first;
    (first.push_back(init.id), ...);
    node.take(first);
    node.take(turn.captured), node.take(asked.captured);
    node.returns(node.c.body, node.c.carried);
    if (most) node.keep({node.c.body, most, node.c.carried, 0});
    const std::vector<int> nodes = node.call<Loop>();
    const auto last = values_at<V...>(b, nodes);
    if constexpr (sizeof...(V) == 1) return std::get<0>(last);
    else return last;
  }
}
/// In PyNative mode: a loop that runs operators.
template <int most, class C, class F, class... V>
auto run_while(const C& condition, const F& body, const V&... init) {
  std::tuple<V...> carried(init...);
  TurnRandom random;
  for (long turn = 0; most == 0 || turn < most; ++turn) {
    random.begin(turn);
    if (!tenon::detail::spread(condition, carried).item()) break;
    carried = as_tuple(tenon::detail::spread(body, carried));
  }
  if constexpr (sizeof...(V) == 1) return std::get<0>(carried);
  else return carried;
}

}  // namespace detail

/// A loop as long as a condition holds: `auto root = while_loop([](auto x) { return abs(x * x - 2.0f) > 1e-6f; },
/// [](auto x) { return (x + 2.0f / x) * 0.5f; }, first)`.
///
/// most        at most this many turns; 0 is any number. A derivative needs a number, for it keeps values of each turn
/// condition   called with what is carried; returns one bool for the whole batch
/// body        called with what is carried; returns values of the same types, several as a std::tuple. Both may use
///             parameters and values from outside, which get gradients
/// init        what the first turn gets
/// result      what the last turn returned, several values as a std::tuple; init if there was no turn
/// derivative  with `most` the turns backward, as of scan
/// GPU         a graph starts `most` turns, and the device keeps back those after the last one, so that the host never
///             waits. Without `most` it throws RuntimeError, and so does the derivative of more than 256 turns
/// source      jax.lax.while_loop; MindSpore's WhileLoop
template <int most = 0, class C, class F, Operand... V>
constexpr auto while_loop(const C& condition, const F& body, const V&... init) {
  static_assert(most >= 0 && sizeof...(V) > 0, "while_loop<most>(condition, body, init...) carries at least one value");
  if constexpr ((is_broken<V> || ...)) return Broken(detail::trace_of(std::tuple(init...)));
  else if constexpr ((tenon::detail::is_traced<V> || ...))
    return detail::trace_while<most>(*detail::trace_of(std::tuple(init...)), condition, body, init...);
  else return detail::run_while<most>(condition, body, init...);
}

}  // namespace tenon::ops
