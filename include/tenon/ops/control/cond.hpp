// A condition in construct: cond.
#pragma once
#include <tenon/ops/control/branch.hpp>
#include <tenon/ops/control/loop_trace.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {

template <class F, class... X>
constexpr std::vector<int> trace_branch(Builder& b, BodyTrace& body, const F& f, const X&...) {
  const std::tuple<X...> inputs{X(&b, body.input(X::dims))...};
  std::vector<int> outputs;
  const auto returned = tenon::detail::spread(f, inputs);
  if constexpr (any_broken<std::remove_cvref_t<decltype(returned)>>) return outputs;
  else {
    add_ids(outputs, as_tuple(returned));
    return outputs;
  }
}

template <class P, class F, class G, class... X>
constexpr auto trace_cond(Builder& b, const P& p, const F& f, const G& g, const X&... x) {
  using R = std::remove_cvref_t<decltype(f(x...))>;
  using S = std::remove_cvref_t<decltype(g(x...))>;
  BodyTrace first(b);
  const std::vector<int> of_first = trace_branch(b, first, f, x...);
  BodyNode node(b);
  node.c.body = first.end(of_first);
  BodyTrace second(b);
  const std::vector<int> of_second = trace_branch(b, second, g, x...);
  node.c.condition = second.end(of_second);
  node.c.turns = 1, node.c.carried = int(sizeof...(X));
  if constexpr (any_broken<R> || any_broken<S>) return broken_like(b, std::type_identity<R>());
  else if constexpr (!std::is_same_v<AsTuple<R>, AsTuple<S>>) {
    Sentence s = Sentence{} << "cond: both functions must return the same types, got";
    const auto write = [&]<class... V>(std::type_identity<std::tuple<V...>>) {
      ((s << " " << name(V::dims.dtype) << " " << V::dims), ...);
    };
    write(std::type_identity<AsTuple<R>>());
    s << " and";
    write(std::type_identity<AsTuple<S>>());
    b.fail(s);
    return broken_like(b, std::type_identity<R>());
  } else {
    std::vector<int> given;
    (given.push_back(x.id), ...);
    node.take(given);
    node.take(first.captured), node.take(second.captured);
    node.returns(node.c.body, int(of_first.size()));
    node.refuse_effects(node.c.condition);
    node.keep(tenon::detail::branch_shape(node.c, true)), node.keep(tenon::detail::branch_shape(node.c, false));
    const std::vector<int> nodes = node.call<Branch>(p.id);
    return in_form_of<R>([&]<class... V>(std::type_identity<std::tuple<V...>>) {
      return values_at<V...>(b, nodes);
    }(std::type_identity<AsTuple<R>>()));
  }
}

}  // namespace detail

/// A choice of the whole batch: `auto y = cond(reduce_mean(x) > 0.0f, [&](auto v) { return f(v); }, [&](auto v) {
/// return g(v); }, x)`.
///
/// p           one bool, [] or [1], for the whole batch; select() chooses per element
/// f, g        called with x...; they return the same types, a tensor or a std::tuple of tensors. They may use
///             parameters and values from outside, which get gradients
/// result      f(x...) if p, else g(x...): only one of them is computed. A GPU decides without the host
/// derivative  that of the function that ran; zeros for what only the other one uses. It has none of its own. The
///             training step of a Model is compiled in both modes
/// source      jax.lax.cond; MindSpore's control flow, ops.cond
template <Operand P, class F, class G, Operand... X>
constexpr auto cond(const P& p, const F& f, const G& g, const X&... x) {
  if constexpr (is_broken<P> || (is_broken<X> || ...)) return Broken(detail::trace_of(std::tuple(p, x...)));
  else if constexpr (tenon::detail::is_traced<P> || (tenon::detail::is_traced<X> || ...)) {
    Builder& b = *detail::trace_of(std::tuple(p, x...));
    constexpr Sentence refusal = detail::condition_refusal<P>("cond");
    if constexpr (!refusal.empty()) {
      b.fail(refusal);
      return detail::broken_like(b, std::type_identity<std::remove_cvref_t<decltype(f(x...))>>());
    } else return detail::trace_cond(b, p, f, g, x...);
  } else {
    static_assert(detail::condition_refusal<P>("cond").empty(), "cond needs one bool for the whole batch");
    using R = std::remove_cvref_t<decltype(f(x...))>;
    static_assert(std::is_same_v<R, std::remove_cvref_t<decltype(g(x...))>>, "cond: both functions return the same");
    return p.item() ? f(x...) : g(x...);
  }
}

}  // namespace tenon::ops
