// From a trace to a table: the passes, one constexpr variable each, and the rows that the executor walks.
#pragma once
#include <array>

#include <tenon/graph/builder.hpp>
#include <tenon/graph/executor.hpp>
#include <tenon/graph/lift.hpp>
#include <tenon/graph/pass/delay.hpp>
#include <tenon/graph/pass/early_update.hpp>
#include <tenon/graph/pass/fold.hpp>
#include <tenon/graph/pass/fuse.hpp>
#include <tenon/graph/pass/fuse_update.hpp>
#include <tenon/graph/pass/layout.hpp>
#include <tenon/graph/pass/prune.hpp>
#include <tenon/graph/pass/recompute.hpp>
#include <tenon/graph/pass/share.hpp>
#include <tenon/graph/pass/simplify.hpp>
#include <tenon/graph/pass/stages.hpp>
#include <tenon/kernel/index.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Which passes run. Switching one off changes speed and memory, never a bit.
struct Passes {
  bool fold = true, simplify = true, share = true, prune = true, fuse = true, fuse_update = true, early_update = true,
       delay = true, recompute = true, in_place = true, layout = true, stages = true;
};
/// Everything off: one kernel per operator as the user wrote them; what dump and Print run on.
inline constexpr Passes no_passes{false, false, false, false, false, false, false, false, false, false, false, false};

namespace detail {
template <int N>
struct Rows {
  KernelRow row[N + 1]{};
  int count = 0;
};
template <int N>
struct Constants {
  std::uint64_t bytes[N + 1]{};
};
}  // namespace detail

/// A graph, compiled. Source has `static constexpr Builder trace()` and `static constexpr const Entry* entries`.
/// Each stage is a variable of its own: compilers bound the work of one constant evaluation, and tests look at each.
template <class Source, Passes passes = Passes{}>
struct Compiled {
  struct Summary {
    int nodes;
    Sentence error;
    bool asks_values;
    int draws;
  };
  static constexpr Summary summarize() {
    Builder b = Source::trace();
    if (int(b.outputs.size()) > max_outputs)
      b.fail(Sentence{} << "a graph has at most " << max_outputs << " outputs, this one " << int(b.outputs.size())
                        << ": return fewer values");
    return {int(b.nodes.size()), b.error, b.asks_values, int(b.draws.size())};
  }
  static constexpr Summary summary = summarize();
  static constexpr const Sentence& sentence = summary.error;
  static constexpr bool ok = summary.error.empty(), asks_values = summary.asks_values;
  static constexpr int N = summary.nodes;

  /// The random calls, for the same step in PyNative mode.
  static constexpr auto make_draws() {
    std::array<Draw, std::size_t(summary.draws)> made{};
    if constexpr (summary.draws > 0) {
      const Builder b = Source::trace();
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = b.draws[i];
    }
    return made;
  }
  static constexpr auto draws = make_draws();

  static constexpr Graph<N> capture() {
    const Builder b = Source::trace();
    Graph<N> g;
    for (int i = 0; i < N; ++i) g[i] = b.nodes[std::size_t(i)];
    g.count = N;
    for (int id : b.outputs)
      if (g.outputs < max_outputs) g.output[g.outputs++] = id;
    return g;
  }
  static constexpr Graph<N> captured = capture();
  static constexpr Graph<N> make_pruned() {
    if constexpr (passes.prune) return prune(captured);
    else return captured;
  }
  static constexpr Graph<N> pruned = make_pruned();
  static constexpr Graph<N> make_folded() {
    if constexpr (passes.fold) return fold(pruned);
    else return pruned;
  }
  static constexpr Graph<N> folded = make_folded();
  static constexpr Graph<N> make_simple() {
    if constexpr (passes.simplify) return simplify(folded);
    else return folded;
  }
  static constexpr Graph<N> simple = make_simple();
  static constexpr Graph<N> make_shared() {
    if constexpr (passes.share) return share_common(simple);
    else return simple;
  }
  static constexpr Graph<N> shared = make_shared();
  static constexpr Graph<N> make_clean() {
    if constexpr (passes.prune) return prune(shared);
    else return shared;
  }
  static constexpr Graph<N> clean = make_clean();
  static constexpr Graph<N> make_fused() {
    if constexpr (passes.fuse) return fuse(clean);
    else return clean;
  }
  static constexpr Graph<N> fused = make_fused();
  static constexpr Graph<N> make_updated() {
    if constexpr (passes.fuse_update) return fuse_update(fused);
    else return fused;
  }
  static constexpr Graph<N> updated = make_updated();
  static constexpr Graph<N> make_delayed() {
    Graph<N> early = updated;
    if constexpr (passes.early_update) early = early_update(updated);
    if constexpr (passes.delay) early = delay(early);
    return early;
  }
  static constexpr Graph<N> delayed = make_delayed();
  static constexpr auto make_again() {
    if constexpr (passes.recompute && any_cheap(delayed)) return recompute(delayed);
    else return 0;
  }
  static constexpr auto again = make_again();
  static constexpr const Graph<N>& ordered() {  // no copy of a graph in which nothing is cheap
    if constexpr (passes.recompute && any_cheap(delayed)) return again;
    else return delayed;
  }
  static constexpr Layouts<N> make_choice() {
    if constexpr (passes.layout) return choose_layouts(ordered());
    else return {};
  }
  static constexpr Layouts<N> choice = make_choice();
  static constexpr StageChoice<N> make_stage_choice() {
    if constexpr (passes.stages && choice.conversions > 0) return choose_stages(ordered(), choice);
    else return {};
  }
  static constexpr StageChoice<N> stage_choice = make_stage_choice();
  static constexpr auto make_staged() {
    if constexpr (stage_choice.count > 0) return make_stages(ordered(), choice, stage_choice);
    else return 0;
  }
  static constexpr auto staged = make_staged();
  // From here on the capacity counts conversions, too: `auto`, so that it is worked out where a graph is compiled, not
  // where one is checked.
  static constexpr auto make_laid_out() {
    LaidOut<N + choice.conversions> made;
    if constexpr (stage_choice.count > 0)
      made = lay_out<N + choice.conversions>(staged.graph, staged.layouts, staged.stages);
    else made = lay_out<N + choice.conversions>(ordered(), choice);
    for (int id = 0; id < made.graph.count; ++id) made.graph[id].op = rules_of(made.graph[id].op).run_time;
    return made;
  }
  static constexpr auto laid_out = make_laid_out();
  static constexpr const auto& graph = laid_out.graph;
  static constexpr const auto& stages = laid_out.stages;

  static constexpr auto lives = lifetimes(graph, stages, passes.in_place);
  struct Nothing {
    static constexpr auto plan = Plan<graph.capacity>{};
  };
  using Fixed = BestPlan<Compiled, Nothing, Region::fixed>;
  using Blocks = BestPlan<Compiled, Fixed, Region::block, stages.count ? 3 : 0>;
  static constexpr auto plan = place_rest(graph, lives, BestJoined<Compiled, Blocks>::plan, Source::entries);

  static constexpr auto kernels = index_kernels(graph);
  static constexpr auto make_rows() {
    detail::Rows<graph.capacity> made;
    for (int id = 0; id < graph.count; ++id) {
      if (kernels.of[id] < 0) continue;
      const Node& node = graph[id];
      KernelRow& row = made.row[made.count++];
      row.kernel = kernel_entries<Compiled>.entry[kernels.of[id]];
      row.node = id;
      row.buffers = node.operands + 1;
      row.blocks = laid_out.layouts.row[id];
      row.guarded = guarded(graph, node);
      row.stage = stages.of[id];
      row.sums = stages.sums[id];
      row.immediate = node.immediate;
      row.buffer[0] = plan.at[id];
      for (int k = 0; k < node.operands; ++k) row.buffer[k + 1] = plan.at[node.operand[k]];
    }
    return made;
  }
  static constexpr auto rows = make_rows();
  static constexpr auto make_constants() {
    detail::Constants<graph.capacity> made;
    for (int id = 0, count = 0; id < graph.count; ++id)
      if (is<ops::Constant>(graph[id])) made.bytes[count++] = graph[id].immediate;
    return made;
  }
  static constexpr auto constants = make_constants();
  static constexpr Program program{rows.row,
                                   rows.count,
                                   graph.node,
                                   graph.count,
                                   plan.at,
                                   plan.floor,
                                   plan.need,
                                   plan.needs,
                                   constants.bytes,
                                   graph.output,
                                   graph.outputs,
                                   Source::entries,
                                   choice.conversions > 0,
                                   plan.size[int(Region::block)]};
};

}  // namespace tenon
TENON_INT_SIZES_END
