// A function with control flow, as a graph and operator by operator.
#pragma once
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../../support/both_modes.hpp"

namespace control {

using namespace tenon;

/// f(x...) and its gradients as a graph; PyNative mode must give the same bits, and gradients that differ by rounding.
template <class F, class... X>
auto checked(const F& f, const X&... x) {
  using Source = support::detail::FunctionSource<F, typename tenon::detail::KeyFor<X>::type...>;
  using Graph = Compiled<Source>;
  if constexpr (!Graph::ok) tenon::report<Graph>();
  else {
    const auto eager = support::detail::run_eager(f, std::index_sequence_for<X...>(), x...);
    using Result = std::remove_cvref_t<decltype(eager.result)>;
    const Result weight =
        support::random_tensor<typename Result::type, typename Result::shape_type>(815, -1, 1, eager.result.n());
    const auto graph = support::detail::run_graph<Graph>(weight, x...);
    const auto plain = support::detail::run_graph<Compiled<Source, no_passes>>(weight, x...);
    const auto shared = support::detail::run_graph<Graph, &support::detail::run_shared>(weight, x...);
    CHECK(support::same_bits(eager.result, graph.result));
    const auto operands = std::index_sequence_for<X...>();
    CHECK(support::detail::equal_outcomes<support::SameBits>(graph, plain, operands));
    CHECK(support::detail::equal_outcomes<support::SameBits>(graph, shared, operands));
    CHECK(support::detail::equal_outcomes<support::detail::Near>(graph, eager, operands));
#if defined(TENON_TARGET)
    const ContextScope scope({.device_target = OtherTarget::name});
    const auto there = support::detail::run_graph<typename Graph::template On<OtherTarget>>(weight, x...);
    CHECK(support::detail::equal_outcomes<support::detail::Near>(graph, there, operands));
    const auto eager_there = support::detail::run_eager(f, operands, x...);
    CHECK(support::same_bits(eager_there.result, there.result));
#endif
    return graph;
  }
}

}  // namespace control
