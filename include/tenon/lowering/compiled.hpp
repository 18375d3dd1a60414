// From a trace to a table: the passes, one constexpr variable each, and the instructions that the executor walks.
#pragma once
#include <array>

#include <tenon/core/text/type_name.hpp>
#include <tenon/graph/ir/builder.hpp>
#include <tenon/graph/ir/guard.hpp>
#include <tenon/graph/pass/layout.hpp>
#include <tenon/graph/pass/passes.hpp>
#include <tenon/graph/pass/sample.hpp>
#include <tenon/graph/pass/tile.hpp>
#include <tenon/graph/plan/lift.hpp>
#include <tenon/lowering/index.hpp>
#include <tenon/lowering/kept.hpp>
#include <tenon/lowering/program.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {
/// What of a graph a program has at run time, without the room that its passes needed.
template <int nodes, int outputs, int instructions>
struct Tables {
  Node node[nodes ? nodes : 1]{};
  int output[outputs ? outputs : 1]{};
  Instruction instruction[instructions ? instructions : 1]{};
};
template <int N>
struct Constants {
  std::uint64_t bytes[N + 1]{};
};
constexpr int first_false(const bool* values) {
  int k = 0;
  while (values[k]) ++k;
  return k;
}
template <class Op>
constexpr void write_missing(Sentence& s, const Node& node, const Entry* entries, std::string_view target) {
  if (entries) {
    write_path(s, entries, node.scope, ".", true);
    s << ": ";
  }
  s << node.op->name << " has no kernel on " << target << ": write template <> struct Kernel<tenon::" << target << ", "
    << name_in_tenon<Op>() << "> (target/kernel.hpp), or give the target a Parent that has it";
  Builder::write_place(s, node.location);
}
}  // namespace detail

/// How much room the results of a trace take.
struct TraceSizes {
  int nodes = -1, draws = 0, text_bytes = 0;
};
namespace detail {
template <class Source>
constexpr TraceSizes trace_sizes() {
  const Builder b = Source::trace();
  return {int(b.nodes.size()), int(b.draws.size()), int(b.texts.size())};
}
template <class Source>
std::integral_constant<TraceSizes, trace_sizes<Source>()> find_room(int);
template <class Source>
std::integral_constant<TraceSizes, TraceSizes{}> find_room(long);
}  // namespace detail
/// The room for a trace; -1 nodes if it does not run to its end in constant evaluation: one trace tells both.
template <class Source>
using TraceRoom = decltype(detail::find_room<Source>(0));

/// What the trace of a graph gives.
template <TraceSizes room>
struct Capture {
  Graph<room.nodes> graph{};
  Sentence error{};
  bool asks_values = false, in_one_piece = false, nested_gradient = false, repeatable = false;
  std::array<Draw, std::size_t(room.draws)> draws{};       // the random calls
  std::array<char, std::size_t(room.text_bytes)> texts{};  // the texts of effects on the host
};

/// A graph, compiled. Source has `static constexpr Builder trace()` and `static constexpr const Entry* entries`.
/// What each pass makes is a variable of its own: compilers bound the work of one constant evaluation, and tests look
/// at each. What passes may do with a node is said by its kernel on the target (KernelFacts).
template <class Source, Passes switches = Passes{}, class Target = Cpu>
struct Compiled {
  using target_type = Target;
  using source_type = Source;
  /// The same graph for another target.
  template <class Other>
  using On = Compiled<Source, switches, Other>;
  static constexpr Passes passes = switches;
  static constexpr TraceSizes room = TraceRoom<Source>::value;
  static constexpr int N = room.nodes;
  static constexpr Capture<room> capture() {
    Builder b = Source::trace();
    Capture<room> made;
    Graph<N>& g = made.graph;
    for (int i = 0; i < N; ++i) g[i] = b.nodes[std::size_t(i)], g[i].op = on_target<Target>(g[i].op);
    g.count = N;
    for (int id : b.outputs)
      if (g.outputs < max_outputs) g.output[g.outputs++] = id;
    if (int(b.outputs.size()) > max_outputs)
      b.fail(Sentence{} << "a graph has at most " << max_outputs << " outputs, this one " << int(b.outputs.size())
                        << ": return fewer values");
    made.error = b.error, made.asks_values = b.asks_values, made.in_one_piece = b.inner_gradient || b.has_bodies;
    made.nested_gradient = b.nested_gradient, made.repeatable = b.repeatable;
    // not while an index is below size(): nvcc warns of an unsigned number below 0 where there are none
    std::size_t drawn = 0, letters = 0;
    for (Draw& draw : made.draws) draw = b.draws[drawn++];
    for (char& letter : made.texts) letter = static_cast<char>(b.texts[letters++]);
    return made;
  }
  static constexpr Capture<room> captured = capture();
  // What the first of some targets lacks that lacks something.
  static constexpr const Sentence& missing_on(TargetList<>) { return captured.error; }
  template <class First, class... Rest>
  static constexpr const Sentence& missing_on(TargetList<First, Rest...>) {
    if constexpr (!On<First>::missing.empty()) return On<First>::missing;
    else return missing_on(TargetList<Rest...>());
  }
  static constexpr const Sentence& find_sentence() {
    if constexpr (several_targets && captured.error.empty() && std::is_same_v<Target, Cpu>)
      return missing_on(OtherTargets());
    else return captured.error;
  }
  static constexpr const Sentence& sentence = find_sentence();
  static constexpr bool ok = find_sentence().empty();  // nvcc takes `sentence` for initialized twice if this reads it
  /// Whether a tape cannot run the step with equal bits, and whether it may run forward before.
  static constexpr bool asks_values = captured.asks_values, in_one_piece = captured.in_one_piece,
                        nested_gradient = captured.nested_gradient, repeatable = captured.repeatable;
  // Copies: a program has these at run time, and the rest of the capture is not to be in it.
  static constexpr auto draws = captured.draws;
  static constexpr auto texts = captured.texts;

  /// Whether the last one of this many passes of the list runs.
  template <int count>
  static constexpr bool runs() {
    return passes.*pipeline<N>[count - 1].is_on && pipeline<N>[count - 1].helps(after<count - 1>());
  }
  /// The graph after this many passes of the list. Where a pass is off, or would change nothing, no copy is made.
  template <int count>
  static constexpr const auto& after() {
    if constexpr (count == 0) return captured.graph;
    else if constexpr (runs<count>()) return result<count - 1>;
    else return after<count - 1>();
  }
  template <int pass>
  static constexpr auto result = pipeline<N>[pass].run(after<pass>());
  static constexpr const auto& ordered() { return after<int(pipeline<N>.size())>(); }

  struct Ordered {  // for what is asked of kernels before their order is known
    using target_type = Target;
    static constexpr const auto& graph = ordered();
    static constexpr auto kernels = index_kernels(graph);
  };
  static constexpr Layouts<N> make_choice() {
    if constexpr (passes.layout) return choose_layouts(ordered());
    else return {};
  }
  static constexpr Layouts<N> choice = make_choice();
  static constexpr GroupChoice<N> make_group_choice() {
    if constexpr (passes.tile && choice.conversions > 0) return choose_groups(ordered(), choice);
    else if constexpr (passes.tile && RunsSamples<Target>)
      return choose_samples(ordered(), detail::sample_roles<Target, Ordered>(), PerSample<Target>::most_bytes);
    else return {};
  }
  static constexpr GroupChoice<N> group_choice = make_group_choice();
  static constexpr auto make_tiled() {
    if constexpr (group_choice.count > 0) {
      auto made = tile_groups(ordered(), choice, group_choice);
      made.groups.whole = choice.conversions == 0;
      return made;
    } else return 0;
  }
  static constexpr auto tiled = make_tiled();
  // From here on the capacity counts conversions, too: `auto`, so that it is worked out where a graph is compiled, not
  // where one is checked.
  static constexpr auto make_laid_out() {
    LaidOut<N + choice.conversions> made;
    if constexpr (group_choice.count > 0)
      made = lay_out<N + choice.conversions, Target>(tiled.graph, tiled.layouts, tiled.groups);
    else made = lay_out<N + choice.conversions, Target>(ordered(), choice);
    for (int id = 0; id < made.graph.count; ++id) made.graph[id].op = rules_of(made.graph[id].op).run_time;
    return made;
  }
  static constexpr auto laid_out = make_laid_out();
  static constexpr const auto& graph = laid_out.graph;
  static constexpr const auto& groups = laid_out.groups;

  static constexpr auto lives =
      lifetimes(graph, groups, passes.in_place && !groups.whole, detail::memory_rests<Target>());
  struct Nothing {
    static constexpr auto plan = Plan<graph.capacity>{};
  };
  using Fixed = BestPlan<Compiled, Nothing, Region::fixed>;
  using Tiles = BestPlan<Compiled, Fixed, Region::tile, groups.count ? 3 : 0>;
  static constexpr auto plan = place_rest(graph, lives, BestJoined<Compiled, Tiles>::plan, Source::entries);

  static constexpr auto kernels = index_kernels(graph);
  /// Whether kernel K runs only where a step is not computed sample by sample although the target has a kernel for it:
  /// for an observer, a library's products, or a device with too little fast memory.
  template <int K>
  static constexpr bool is_rare() {
    bool rare = groups.whole;
    for (int id = 0; rare && id < graph.count; ++id) rare = kernels.of[id] != K || groups.of[id];
    return rare;
  }
  /// The first operator that has no kernel on the target: "network.act: ReLU has no kernel on Reference (net.cpp:7)".
  template <std::size_t... K>
  static constexpr Sentence find_missing(std::index_sequence<K...>) {
    constexpr bool has[]{HasKernel<CallOf<detail::KeyAt<Compiled, int(K)>>, Target>..., false};
    constexpr int first = detail::first_false(has);
    Sentence s;
    if constexpr (first < kernels.count)
      detail::write_missing<typename CallOf<detail::KeyAt<Compiled, first>>::Op>(s, graph[kernels.node[first]],
                                                                                 Source::entries, Target::name);
    return s;
  }
  static constexpr Sentence make_missing() {
    if constexpr (!captured.error.empty()) return captured.error;
    else return find_missing(std::make_index_sequence<std::size_t(kernels.count)>{});
  }
  static constexpr Sentence missing = make_missing();

  static constexpr int instructions = [] {
    int count = 0;
    for (int id = 0; id < graph.count; ++id) count += kernels.of[id] >= 0;
    return count;
  }();
  static constexpr bool by_tile = [] {
    for (int id = 0; id < graph.count; ++id)
      if (laid_out.layouts.value[id] && plan.at[id].region != Region::tile) return false;
    return true;
  }();
  static constexpr auto make_tables() {
    detail::Tables<graph.count, graph.outputs, instructions> made;
    for (int k = 0; k < graph.outputs; ++k) made.output[k] = graph.output[k];
    for (int id = 0, count = 0; id < graph.count; ++id) {
      const Node& node = made.node[id] = graph[id];
      if (kernels.of[id] < 0) continue;
      Instruction& instruction = made.instruction[count++];
      instruction.kernel = kernel_entries<Compiled>.entry[kernels.of[id]];
      instruction.node = id;
      instruction.buffers = node.operands + 1;
      for (int parts = node.parts; parts; parts >>= 1) instruction.buffers += parts > 1;
      instruction.nchw16n = laid_out.layouts.kernel[id];
      instruction.by_tile = by_tile;
      instruction.guarded = guarded(graph, node);
      if (!groups.whole) instruction.group = groups.of[id], instruction.sums = groups.sums[id];
      for (int& value : instruction.value) value = -1;
      instruction.value[0] = id;
      for (int k = 0; k < node.operands; ++k) instruction.value[k + 1] = node.operand[k];
      each_part(graph, id, [&](int part, int k) { instruction.value[node.operands + k] = part; });
    }
    return made;
  }
  static constexpr auto tables = make_tables();
  static constexpr auto make_constants() {
    detail::Constants<graph.capacity> made;
    for (int id = 0, count = 0; id < graph.count; ++id)
      if (is<ops::Constant>(graph[id])) made.bytes[count++] = graph[id].immediate;
    return made;
  }
  static constexpr auto constants = make_constants();
  static constexpr auto kept = detail::keep_operands<Compiled>();
  static constexpr std::conditional_t<observable, const bool*, NoConfig> find_blocks() {
    if constexpr (observable) return laid_out.layouts.value;
    else return {};
  }
  // What saved graphs show of the passes; a program that cannot be observed has none of it.
  template <int count>
  static constexpr bool is_shown() {
    if constexpr (count == 0) return true;
    else if constexpr (!runs<count>()) return false;
    else return !detail::same_graph(after<count>(), after<count - 1>());
  }
  template <int count>
  static constexpr auto shown =
      detail::pass_table<after<count>().count, after<count>().outputs, after<count>().program_length>(after<count>());
  template <int count>
  static constexpr PassGraph pass_graph() {
    const char* const name = count == 0 ? "captured" : pipeline<N>[count ? count - 1 : 0].name;
    if constexpr (!is_shown<count>()) return {name};
    else {
      const auto& table = shown<count>;
      return {name, table.node, after<count>().count, table.output, after<count>().outputs, table.step};
    }
  }
  static constexpr auto make_final_steps() {
    detail::StepTable<graph.program_length> made;
    for (int k = 0; k < graph.program_length; ++k) made.word[k] = graph.program[k];
    return made;
  }
  struct FinalSteps {
    static constexpr auto table = make_final_steps();
  };
  template <int... count>
  static constexpr auto make_pass_graphs(std::integer_sequence<int, count...>) {
    return std::to_array<PassGraph>(
        {pass_graph<count>()...,
         {"final", tables.node, graph.count, tables.output, graph.outputs, FinalSteps::table.word}});
  }
  struct Shown {
    static constexpr auto graphs = make_pass_graphs(std::make_integer_sequence<int, int(pipeline<N>.size()) + 1>());
    static constexpr PassGraphs list{graphs.data(), int(graphs.size()), lives.root, lives.first, lives.last};
  };
  static constexpr auto find_passes() {
    if constexpr (observable) return &Shown::list;
    else return Program::NoPasses{};
  }
  // The instructions that are a kernel per sample, and the sums and updates after it.
  static constexpr detail::SampleGroupOf find_samples() {
    if constexpr (several_targets && groups.whole) {
      int begin = 0, end = 0;
      for (int k = 0; k < instructions; ++k) {
        const bool inside = groups.of[tables.instruction[k].node];
        begin += !inside && end == 0, end = inside ? k + 1 : end;
      }
      return PerSample<Target>::template group<Compiled>(begin, end);
    } else return {};
  }
  static constexpr Program program{tables.instruction,
                                   instructions,
                                   tables.node,
                                   graph.count,
                                   plan.at,
                                   plan.floor,
                                   plan.need,
                                   plan.needs,
                                   constants.bytes,
                                   tables.output,
                                   graph.outputs,
                                   Source::entries,
                                   choice.conversions > 0,
                                   plan.size[int(Region::tile)],
                                   target_id<Target>,
                                   kept.operand,
                                   kept.count,
                                   find_blocks(),
                                   texts.data(),
                                   find_passes(),
                                   find_samples()};
};

}  // namespace tenon
TENON_INT_SIZES_END
