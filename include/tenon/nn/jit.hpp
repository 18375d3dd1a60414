// jit: a free function compiled to a graph, in either mode.
#pragma once
#include <tuple>

#include <tenon/eager/apply.hpp>
#include <tenon/kernel/compiled.hpp>
#include <tenon/ops/structural.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {

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
    add_outputs(b, F{}(Traced<typename Keys::type, typename Keys::shape>(&b, b.leaf(&info<ops::Input>, Keys::value, I))...));
  }
  template <class V>
  static constexpr void add_outputs(Builder& b, const V& value) {
    if constexpr (is_traced<V>) b.outputs.push_back(value.id);
    else if constexpr (requires { std::tuple_size<V>::value; }) std::apply([&](const auto&... v) { (add_outputs(b, v), ...); }, value);
  }
};

/// The value of output k of a run as a tensor of its own.
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
}  // namespace detail

/// A compiled function: call it with tensors. Made by jit().
template <class F>
struct Jit {
  template <class... X>
  constexpr auto operator()(const X&... x) const {
    if constexpr (!(detail::is_tensor<X> && ...)) return F{}(x...);
    else {
      using Graph = Compiled<detail::FunctionGraph<F, typename detail::KeyFor<X>::type...>>;
      if constexpr (!Graph::ok) return report<Graph>();
      else return run<Graph>(std::make_integer_sequence<int, Graph::graph.outputs>{}, x...);
    }
  }

 private:
  template <class Graph, int... K, class... X>
  static auto run(std::integer_sequence<int, K...>, const X&... x) {
    thread_local Executor executor(Graph::program);
    long n = 1;
    ((n = X::dims.batched() ? x.n() : n), ...);
    const void* inputs[]{x.data()...};
    executor.run(inputs, n);
    if constexpr (sizeof...(K) == 1) return detail::output_tensor<Graph, 0>(executor, n);
    else return std::tuple(detail::output_tensor<Graph, K>(executor, n)...);
  }
};

/// Compiles f, a function object without state (a lambda that captures nothing): `auto fast = jit([](auto x) { ... });`
/// It runs as one graph in both modes and gives the same bits as calling f. No gradient is recorded through it: take
/// jit(grad(f)) instead. Source: MindSpore's ms_function / jit.
template <class F>
constexpr Jit<F> jit(F) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>, "jit needs a function without state: a lambda that captures nothing; pass what it needs as arguments");
  return {};
}

}  // namespace tenon
