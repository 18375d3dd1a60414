// A compiled graph of a few small kernels as straight code, where a walk of the table would take longer than the kernels.
#pragma once
#include <tenon/kernel/compiled.hpp>

namespace tenon::inline TENON_ABI {

/// Runs a Compiled graph without effects and states for a batch of one. It calls the kernels that the table has, with the same
/// numbers; scratch memory is on the stack, all addresses and sizes are constants, and the compiler makes one function of all.
template <class Graph>
class Straight {
  static constexpr auto& graph = Graph::graph;
  template <int id> using CallAt = CallOf<detail::KeyAt<Graph, Graph::kernels.of[id]>>;
  static constexpr long small = 64, scratch_bytes = Graph::plan.bytes(1);

  template <int id>
  static constexpr bool is_small() {
    if constexpr (is<ops::StateLeaf>(graph[id]) || graph[id].op->effect) return false;
    else if constexpr (Graph::kernels.of[id] < 0) return true;
    else return graph[id].type.count(1) <= small && kernel_work<CallAt<id>>(1).workspace == 0;
  }
  template <std::size_t... I>
  static constexpr bool all_small(std::index_sequence<I...>) { return (is_small<int(I)>() && ...); }
  static constexpr int most_nodes = 24;
  static constexpr bool decide() {
    if constexpr (!Graph::ok) return false;
    else if constexpr (graph.count > most_nodes || scratch_bytes > 4096) return false;
    else return all_small(std::make_index_sequence<std::size_t(graph.count)>());
  }

  struct Memory {
    std::byte *scratch, *parameters;
    const void* const* inputs;
  };
  template <int id>
  [[gnu::always_inline]] static void* address(const Memory& m) {
    constexpr Place p = Graph::plan.at[id];
    if constexpr (p.region == Region::input) return const_cast<void*>(m.inputs[p.offset]);
    else if constexpr (p.region == Region::constant) return const_cast<std::uint64_t*>(Graph::constants.bytes) + p.offset / 8;
    else if constexpr (p.region == Region::parameters) return m.parameters + p.offset;
    else return m.scratch + p.offset + (p.region == Region::sample ? Graph::plan.floor : p.lift);
  }
  TENON_EXACT_BEGIN
  template <int id>
  [[gnu::always_inline]] static void run_node(const Memory& m) {
    if constexpr (Graph::kernels.of[id] >= 0) {
      using C = CallAt<id>;
      Arguments a;
      a.buffer[0] = address<id>(m);
      [&]<int... K>(std::integer_sequence<int, K...>) { ((a.buffer[K + 1] = address<graph[id].operand[K]>(m)), ...); }(std::make_integer_sequence<int, graph[id].operands>());
      a.immediate = graph[id].immediate;
      C::Op::template run<C>(a, 0, C::Op::template items<C>(1));
    }
  }
  template <int k>
  [[gnu::always_inline]] static void copy_output(const Memory& m, void* result) {
    std::memcpy(result, address<graph.output[k]>(m), std::size_t(graph[graph.output[k]].type.bytes(1)));
  }

 public:
  static constexpr bool possible = decide();

  /// Writes output k of the graph to results[k].
  [[gnu::flatten, gnu::noinline]] static void run(std::byte* parameters, const void* const* inputs, void* const* results) {
    alignas(alignment) std::byte scratch[scratch_bytes ? scratch_bytes : 1];
    const Memory m{scratch, parameters, inputs};
    [&]<std::size_t... I>(std::index_sequence<I...>) { (run_node<int(I)>(m), ...); }(std::make_index_sequence<std::size_t(graph.count)>());
    [&]<int... K>(std::integer_sequence<int, K...>) { (copy_output<K>(m, results[K]), ...); }(std::make_integer_sequence<int, graph.outputs>());
  }
  TENON_EXACT_END
};

}  // namespace tenon
