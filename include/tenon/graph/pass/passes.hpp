// The pass pipeline: a list of what happens to a captured graph before it gets layouts and a plan.
#pragma once
#include <array>

#include <tenon/graph/pass/early_update.hpp>
#include <tenon/graph/pass/fold.hpp>
#include <tenon/graph/pass/fuse.hpp>
#include <tenon/graph/pass/fuse_update.hpp>
#include <tenon/graph/pass/list_maxima.hpp>
#include <tenon/graph/pass/prune.hpp>
#include <tenon/graph/pass/rematerialise.hpp>
#include <tenon/graph/pass/share.hpp>
#include <tenon/graph/pass/simplify.hpp>
#include <tenon/graph/pass/sink.hpp>

namespace tenon::inline TENON_ABI {

/// Which passes run. Switching one off changes speed and memory, never a bit.
struct Passes {
  // those of the pipeline
  bool fold = true, simplify = true, share = true, prune = true, fuse = true, fuse_update = true, early_update = true,
       sink = true, list_maxima = true, rematerialise = true;
  // what comes after it: graph/plan/plan.hpp, graph/pass/layout.hpp, graph/pass/tile.hpp, lowering/kept.hpp
  bool in_place = true, layout = true, tile = true, keep = true;
};
/// Everything off: one kernel per operator as the user wrote them; what dump and Print run on.
inline constexpr Passes no_passes{.fold = false,
                                  .simplify = false,
                                  .share = false,
                                  .prune = false,
                                  .fuse = false,
                                  .fuse_update = false,
                                  .early_update = false,
                                  .sink = false,
                                  .list_maxima = false,
                                  .rematerialise = false,
                                  .in_place = false,
                                  .layout = false,
                                  .tile = false,
                                  .keep = false};

/// A pass in the list.
template <int N>
struct Pass {
  const char* name;
  bool Passes::* is_on;
  Graph<N> (*run)(const Graph<N>&);
  // False for each node of a graph that the pass would not change.
  bool (*is_for)(const Graph<N>&, const Node&) = [](const Graph<N>&, const Node&) { return true; };

  constexpr bool helps(const Graph<N>& graph) const {
    for (int id = 0; id < graph.count; ++id)
      if (is_for(graph, graph[id])) return true;
    return false;
  }
};

/// The passes in the order in which they run.
template <int N>
inline constexpr auto pipeline = std::to_array<Pass<N>>({
    {"prune", &Passes::prune, prune},
    {"fold", &Passes::fold, fold, is_foldable},
    {"simplify", &Passes::simplify, simplify, may_go},
    {"share", &Passes::share, share_common},
    {"prune", &Passes::prune, prune},
    {"fuse", &Passes::fuse, fuse},
    {"fuse_update", &Passes::fuse_update, fuse_update, is_fusible_update},
    {"early_update", &Passes::early_update, early_update},
    {"sink", &Passes::sink, sink},
    {"list_maxima", &Passes::list_maxima, list_maxima, has_maxima},
    {"rematerialise", &Passes::rematerialise, rematerialise, is_cheap},
});

}  // namespace tenon
