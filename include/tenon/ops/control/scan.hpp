// Loops in construct: scan and map.
#pragma once
#include <tenon/ops/control/loop_trace.hpp>
#include <tenon/ops/control/turn_random.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {

/// The slices that turns return, in PyNative mode: one tensor, which has the gradient of all.
template <int turns, class V>
struct Collected {
  using All = Tensor<typename V::type, typename TurnShapes<typename V::shape_type, turns>::WithTurns>;
  All all{};

  void put(const V& y, long turn) {
    if (turn == 0) all = All::empty(y.n());
    const V rows = y.copy();
    TurnRows(V::dims, turns, y.n())
        .template put<Moves<Cpu>>(reinterpret_cast<std::byte*>(all.data()),
                                  reinterpret_cast<const std::byte*>(rows.data()), turn);
    eager::Tape* const tape = eager::Tape::active();
    if (!tape || tape->variable(y) < 0) return;
    using I = tenon::detail::Inference<PutTurn, NoConfig{}, typename tenon::detail::KeyFor<All>::type,
                                       typename tenon::detail::KeyFor<V>::type>;
    const tenon::detail::EagerOperand operand[]{all, y};
    const Arguments a(Arguments::Unset{}, y.n(), std::uint64_t(turn));
    TapeVariable variable;
    tenon::detail::record_call(*tape, tenon::detail::eager_info<I>, operand, nullptr, a, all.storage(), variable);
    all.variable = variable;
  }
};

template <int turns, class... V>
auto collector(const std::tuple<V...>&) {
  return std::tuple<Collected<turns, V>...>();
}

template <class V>
auto slice_of(const std::source_location& at, long turn, const V& all) {
  return apply_with<Turn>(at, std::uint64_t(turn), all);
}

/// The same in PyNative mode: a loop that runs operators.
template <int turns, class F, class Init, class Xs>
auto run_scan(const F& body, const Init& init, const Xs& xs, const std::source_location& at) {
  const auto all = as_tuple(xs);
  TurnRandom random;
  const auto turn_of = [&](const auto& carried, long turn) {
    random.begin(turn);
    if constexpr (std::tuple_size_v<std::remove_cvref_t<decltype(all)>> == 0) return body(carried);
    else
      return body(carried, in_form_of<Xs>(tenon::detail::spread(
                               [&](const auto&... v) { return std::tuple(slice_of(at, turn, v)...); }, all)));
  };
  const auto first = turn_of(init, 0);
  using Carry = std::conditional_t<std::is_same_v<std::remove_cvref_t<decltype(carry_of<Init>(first))>, AsTuple<Init>>,
                                   Init, std::remove_cvref_t<decltype(in_form_of<Init>(carry_of<Init>(first)))>>;
  auto carried = in_form_of<Init>(carry_of<Carry>(first));
  auto collected = collector<turns>(slices_of<Carry>(first));
  const auto collect = [&](const auto& ys, long turn) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (std::get<I>(collected).put(std::get<I>(ys), turn), ...);
    }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(ys)>>>());
  };
  collect(slices_of<Carry>(first), 0);
  for (long turn = 1; turn < turns; ++turn) {
    const auto returned = turn_of(carried, turn);
    carried = in_form_of<Init>(carry_of<Carry>(returned));
    collect(slices_of<Carry>(returned), turn);
  }
  if constexpr (std::tuple_size_v<decltype(collected)> == 0) return carried;
  else {
    const auto ys = tenon::detail::spread([](const auto&... c) { return std::tuple(c.all...); }, collected);
    return std::tuple(carried, in_form_of<std::remove_cvref_t<decltype(std::get<1>(first))>>(ys));
  }
}

}  // namespace detail

/// A loop over the slices of xs: `auto [h, ys] = scan([&](auto h, auto x) { ...; return std::tuple(h, y); }, h0, xs)`.
///
/// body        f(carried, slice), which returns std::tuple(carried, y), or what is carried alone. It may use parameters
///             and values from outside, which get gradients; what it computes leaves it only by what it returns. It has
///             no side effects: a graph runs it once, so a captured variable that it changes has other values there
/// init        what the first turn gets as carried: a tensor, or a std::tuple of tensors; each turn returns the same
///             types
/// xs          [n, T, ...], or [T, ...] without a batch, or a std::tuple of such: turn t gets slice t, [n, ...]
/// result      what the last turn carried on, and the y of all turns, [n, T, ...]
/// derivative  in a graph the turns backward, which read what the forward pass has kept of each turn. It has none of
///             its own. PyNative mode runs the body operator by operator; the training step of a Model is compiled in
///             both modes, after construct has run operator by operator in PyNative mode
/// random      each turn draws other numbers, the same in both modes
/// errors      all floating-point values that the body gets and uses have one dtype
/// source      jax.lax.scan; MindSpore's Scan
template <class F, class Init, class Xs>
constexpr auto scan(const F& body, const Init& init, const Xs& xs,
                    std::source_location at = std::source_location::current()) {
  if constexpr (detail::any_broken<Init> || detail::any_broken<Xs>)
    return Broken(detail::trace_of(std::tuple(init, xs)));
  else {
    constexpr detail::Turns turns = detail::turns_of<Xs>();
    if constexpr (detail::any_traced<Init> || detail::any_traced<Xs>) {
      Builder& b = *detail::trace_of(std::tuple(init, xs));
      b.location = at;
      if constexpr (!turns.error.empty()) b.fail(turns.error);
      if constexpr (!turns.has_slices) return Broken(&b);
      else return detail::trace_scan<turns.count>(b, body, init, xs, at);
    } else {
      static_assert(turns.error.empty(), "scan takes its slices along the first axis of xs that is not the batch");
      return detail::run_scan<turns.count>(body, init, xs, at);
    }
  }
}

/// f of each slice of xs: `auto ys = map([&](auto x) { return dense(x); }, xs)`, a scan that carries nothing.
template <class F, class Xs>
constexpr auto map(const F& f, const Xs& xs, std::source_location at = std::source_location::current()) {
  const auto returned =
      scan([&](const std::tuple<>& none, const auto& x) { return std::tuple(none, f(x)); }, std::tuple<>(), xs, at);
  if constexpr (is_broken<std::remove_cvref_t<decltype(returned)>>) return returned;
  else return std::get<1>(returned);
}

}  // namespace tenon::ops
