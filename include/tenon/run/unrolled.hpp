// A compiled graph of a few small kernels as unrolled code, where a walk of the table would take longer than the
// kernels.
#pragma once
#include <tenon/graph/ir/guard.hpp>
#include <tenon/graph/ir/index/indices.hpp>
#include <tenon/lowering/compiled.hpp>
#include <tenon/run/executor.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// Bytes of scratch memory that unrolled code may take.
inline constexpr long unrolled_bytes = 4096;

/// A Compiled graph for a batch of one. Its kernels are those of the table, with the same numbers, but all sizes and
/// the distances between addresses are constants, and the compiler makes one function of them all. `scratch` is aligned
/// to 64 bytes; nothing may be frozen.
template <class Graph>
class Unrolled {
  static constexpr auto& graph = Graph::graph;
  template <int id>
  using CallAt = UnrolledCall<CallOf<detail::KeyAt<Graph, Graph::kernels.of[id]>>>;
  static constexpr int most_nodes = 64;
  static constexpr long most_elements = 64;  // of a kernel's result

  static constexpr bool has_large() {
    for (int id = 0; id < graph.count; ++id)
      if (Graph::kernels.of[id] >= 0 && graph[id].type.count(1) > most_elements) return true;
    return false;
  }
  // Guarded instructions, effects on the host, and calls with several results are the executor's.
  static constexpr bool needs_executor() {
    for (int id = 0; id < graph.count; ++id)
      if (is<ops::Guard>(graph[id]) || graph[id].op->host_effect || graph[id].op->part) return true;
    return false;
  }
  template <int... Kernel>
  static constexpr bool has_workspace(std::integer_sequence<int, Kernel...>) {
    return ((kernel_work<CallOf<detail::KeyAt<Graph, Kernel>>>(1).workspace > 0) || ...);
  }
  // What needs no kernel is asked first: most graphs are large.
  static constexpr bool decide() {
    if constexpr (needs_executor() || Graph::choice.conversions > 0 || graph.count > most_nodes ||
                  Graph::plan.bytes(1) > unrolled_bytes || has_large())
      return false;
    else return !has_workspace(std::make_integer_sequence<int, Graph::kernels.count>());
  }

 public:
  static constexpr bool possible = decide();
  /// Does it change parameters or states?
  static constexpr bool changes = [] {
    for (int id = 0; id < graph.count; ++id)
      if (graph[id].op->effect) return true;
    return false;
  }();

  /// Base addresses. They are passed one by one, because a copy of the whole would wait for its parts to be stored.
  struct Memory {
    std::byte *scratch, *parameters, *state;
    const void* const* inputs;
  };
  /// Address of output k of the last run.
  template <int k>
  static void* output(const Memory& m) {
    return address<graph.output[k]>(m);
  }

  /// Runs the graph.
  static void run(const Memory& m) { run_at(m.scratch, m.parameters, m.state, m.inputs); }
  /// Runs the graph with scratch memory of its own, and writes output k to results[k].
  [[gnu::flatten, gnu::noinline]] static void run_into(void* const* results, std::byte* parameters, std::byte* state,
                                                       const void* const* inputs) {
    alignas(alignment) std::byte scratch[unrolled_bytes];
    const Memory m{scratch, parameters, state, inputs};
    run_all(m);
    copy_outputs(results, m, std::make_integer_sequence<int, graph.outputs>());
  }

 private:
  template <int id>
  [[gnu::always_inline]] static void* address(const Memory& m) {
    constexpr BufferPlace p = Graph::plan.at[id];
    if constexpr (p.region == Region::input) return const_cast<void*>(m.inputs[p.offset]);
    else if constexpr (p.region == Region::constant)
      return const_cast<std::uint64_t*>(Graph::constants.bytes) + p.offset / 8;
    else if constexpr (p.region == Region::parameters) return m.parameters + p.offset;
    else if constexpr (p.region == Region::state) return m.state + p.offset;
    else return m.scratch + p.offset + (p.region == Region::sample ? Graph::plan.floor : p.lift);
  }
  template <class C>
  [[gnu::always_inline]] static void look_at_indices(const Arguments& a) {
    constexpr IndexRange range = call_indices<C>;
    if constexpr (range.any()) {
      constexpr const TensorType& among = range.among_result() ? C::result : C::operand(range.among);
      detail::check_indices(C::Op::name, call_indices<C>, C::operand(range.operand), among,
                            a.buffer[Arguments::operand_at(range.operand)], 1);
    }
  }
  template <int id, class Policy>
  [[gnu::always_inline]] static void run_node(const Memory& m, const Policy& policy) {
    if constexpr (Graph::kernels.of[id] >= 0) {
      using C = CallAt<id>;
      Arguments a;
      a.buffer[Arguments::result_at] = address<id>(m);
      [&]<int... K>(std::integer_sequence<int, K...>) {
        ((a.buffer[Arguments::operand_at(K)] = address<graph[id].operand[K]>(m)), ...);
      }(std::make_integer_sequence<int, graph[id].operands>());
      a.immediate = graph[id].immediate;
      if constexpr (tenon::detail::HasIndices<typename C::Op>) look_at_indices<C>(a);
      if constexpr (tenon::detail::LimitsBatch<typename C::Op>)
        if constexpr (call_least_batch<C>.n > 1) detail::refuse_batch(call_least_batch<C>, 1);
      policy.before(Graph::program.node[id], a);
      Kernel<Cpu, typename C::Op>::template run<C>(a, 0, std::integral_constant<long, kernel_work<C>(1).items>::value);
      policy.after(Graph::program.node[id], a);
    }
  }
  template <class Policy, int... Id>
  [[gnu::always_inline]] static void run_nodes(const Memory& m, std::integer_sequence<int, Id...>,
                                               const Policy& policy) {
    (run_node<Id>(m, policy), ...);
  }
  [[gnu::always_inline]] static void run_all(const Memory& m) {
    constexpr auto nodes = std::make_integer_sequence<int, graph.count>();
    if constexpr (observable)
      if (detail::Observation* const innermost = detail::observation())
        return run_nodes(m, nodes, detail::GraphObserver(*innermost, Graph::program, m.parameters, 1));
    run_nodes(m, nodes, NoPolicy{});
  }
  template <int... K>
  [[gnu::always_inline]] static void copy_outputs(void* const* results, const Memory& m,
                                                  std::integer_sequence<int, K...>) {
    (std::memcpy(results[K], output<K>(m), std::size_t(graph[graph.output[K]].type.bytes(1))), ...);
  }
  [[gnu::flatten, gnu::noinline]] static void run_at(std::byte* scratch, std::byte* parameters, std::byte* state,
                                                     const void* const* inputs) {
    run_all({scratch, parameters, state, inputs});
  }
};

}  // namespace tenon
TENON_EXACT_END
