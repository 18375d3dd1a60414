// jit: a free function compiled to a graph, in either mode.
#pragma once
#include <tuple>

#include <tenon/call/apply.hpp>
#include <tenon/call/batch_size.hpp>
#include <tenon/nn/checked_cell.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/run/executor_here.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {

/// Of a function that PyNative mode cannot run operator by operator.
template <class F>
inline constexpr bool only_compiled = false;

/// The graph of a function without state for arguments of given types.
template <class F, class... Keys>
struct FunctionGraph {
  static constexpr const Entry* entries = nullptr;

  static constexpr Builder trace() {
    Builder b;
    trace_arguments(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  template <std::size_t... I>
  static constexpr void trace_arguments(Builder& b, std::index_sequence<I...>) {
    add_outputs(
        b, F{}(Traced<typename Keys::type, typename Keys::shape>(&b, b.leaf(&info<ops::Input>, Keys::value, I))...));
  }
};

/// Nested tuples as one: what a compiled function returns for value_and_grad<0, 1>(f).
template <class V>
auto flat_tuple(const V& v) {
  if constexpr (requires { std::tuple_size<V>::value; })
    return std::apply([](const auto&... one) { return std::tuple_cat(flat_tuple(one)...); }, v);
  else return std::tuple<V>(v);
}
template <class V>
auto flat(const V& v) {
  const auto all = flat_tuple(v);
  if constexpr (std::tuple_size_v<std::remove_cvref_t<decltype(all)>> == 1) return std::get<0>(all);
  else return all;
}

/// True if the graph draws random numbers (the only state that a function can have).
template <int N>
constexpr bool draws(const Graph<N>& graph) {
  for (int id = 0; id < graph.count; ++id)
    if (is<ops::StateLeaf>(graph[id])) return true;
  return false;
}

/// The value of output k of a run as a separate tensor.
template <class Graph, int K>
auto output_tensor(const Executor& executor, long n) {
  constexpr TensorType type = Graph::graph[Graph::graph.output[K]].type;
  return [&]<int... Axis>(std::integer_sequence<int, Axis...>) {
    using Result = Tensor<CppType<type.dtype>, Shape<type.extent[Axis]...>>;
    Result result = Result::empty(n);
    std::memcpy(result.data(), executor.output(K), std::size_t(type.bytes(n)));
    return result;
  }(std::make_integer_sequence<int, type.rank>{});
}

/// All outputs of a run: a tensor, or a tuple of them.
template <class Graph, int... K>
auto results_of(const Executor& executor, long n, std::integer_sequence<int, K...>) {
  if constexpr (sizeof...(K) == 1) return output_tensor<Graph, 0>(executor, n);
  else return std::tuple(output_tensor<Graph, K>(executor, n)...);
}
}  // namespace detail

/// A compiled function: call it with tensors. Made by jit().
template <class F>
struct Jit {
  template <class... X>
  constexpr auto operator()(const X&... x) const {
    if constexpr (!(detail::is_tensor<X> && ...)) return F{}(x...);
    else {
      using Graph = Compiled<detail::FunctionGraph<F, typename detail::KeyFor<X>::type...>>;
      if constexpr (!Graph::ok) {
        using Wrong = Mistake<Graph>;
        return Wrong::corrected;
      } else return compiled_or_not<Graph>(x...);
    }
  }

 private:
  // Inside of a step its numbers are those of the step, and a gradient may have to pass: there f runs operator by
  // operator.
  template <class Graph, class... X>
  static auto compiled_or_not(const X&... x) {
    constexpr auto outputs = std::make_integer_sequence<int, Graph::graph.outputs>{};
    const eager::Tape* tape = eager::Tape::active();
    const bool recorded = tape && ((tape->variable(x) >= 0) || ...);
    if constexpr (detail::only_compiled<F>) {
      if (recorded)
        throw_error<RuntimeError>("A gradient of a gradient cannot be recorded in PyNative mode: put what follows into "
                                  "the function, jit(grad(...)).");
    } else if (recorded || (detail::draws(Graph::graph) ? eager::Frame::of_thread().root != nullptr
                                                        : detail::every_value_observed())) {
      return plain<Graph>(outputs, x...);
    }
    return run<Graph>(outputs, x...);
  }
  template <class Graph, int... K, class... X>
  static auto run(std::integer_sequence<int, K...> outputs, const X&... x) {
    const ExecutorHere here = executor_here<Graph>();
    Executor& executor = *here;
    const long n = detail::common_batch_size("jit", x...);
    if constexpr (detail::draws(Graph::graph)) executor.bind(nullptr, eager::Frame::graph_random_state());
    const void* inputs[]{x.data()...};
    executor.run(inputs, n);
    return detail::results_of<Graph>(executor, n, outputs);
  }
  template <class Graph, class Outputs, class... X>
  static auto plain(Outputs outputs, const X&... x) {
    using Result = decltype(detail::results_of<Graph>(std::declval<const Executor&>(), 1, outputs));
    return Result(detail::flat(F{}(x...)));
  }
};

/// Compiles f, a function object without state (a lambda that captures nothing): `auto fast = jit([](auto x) { ... });`
/// It runs as one graph in both modes and gives the same bits as calling f, except for the second and later random
/// calls of an f outside of a network: run operator by operator, each such call is a separate step. If gradients are
/// recorded for an argument, or if f draws random numbers inside of a Model's step, it runs operator by operator
/// instead. Source: MindSpore's ms_function / jit.
template <class F>
requires(!AnyCell<F>)
constexpr auto jit(F) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "jit needs a function without state: a lambda that captures nothing; pass what it needs as arguments");
  return Jit<F>{};
}
namespace detail {
template <class Net>
struct NetworkInJit {
  static constexpr Sentence sentence =
      Sentence{}
      << "a network needs no jit: in graph mode a call, " << class_name<Net>()
      << " net; net(x), and Model model{net}; model.predict(x) are compiled. jit takes functions that capture "
         "nothing, and training steps: jit(step, net, optimizer)";
};
}  // namespace detail
/// Says what compiles a network.
template <AnyCell Net>
auto jit(const Net&) {
  return report<detail::NetworkInJit<Net>>();
}

}  // namespace tenon
