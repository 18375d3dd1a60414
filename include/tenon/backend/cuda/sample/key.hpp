// Names for the graphs of kernels per sample. A kernel must not carry the type of a user's network: nvcc refuses types
// that are local to a function, and those of lambdas, in the name of a kernel.
#pragma once
#include <utility>

#include <tenon/graph/ir/kernel.hpp>
#include <tenon/graph/plan/plan.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// A Compiled graph by its calls, and a hash of how they are connected and where their values are.
template <std::uint64_t Hash, class... Calls>
struct SampleKey;

namespace detail {
/// All that the kernels of a graph depend on besides its calls. No name of a type or a member is a part of it, and so
/// no random stream: nvcc and its host compiler spell them in different ways.
template <class G>
constexpr std::uint64_t hash_of_samples() {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  add(std::uint64_t(G::graph.count)), add(std::uint64_t(G::plan.floor));
  for (int id = 0; id < G::graph.count; ++id) {
    const Node& node = G::graph[id];
    const BufferPlace place = G::plan.at[id];
    add(std::uint64_t(G::kernels.of[id])), add(std::uint64_t(G::groups.of[id]));
    add(std::uint64_t(node.op->leaf) | std::uint64_t(node.op->view) << 1 | std::uint64_t(node.op->part) << 2);
    add(std::uint64_t(node.type.dtype)), add(std::uint64_t(node.type.bytes(1))), add(std::uint64_t(node.type.bytes(2)));
    add(std::uint64_t(place.region)), add(std::uint64_t(place.lift)), add(std::uint64_t(place.offset));
    add(node.op->leaf ? node.immediate : node.immediate != 0), add(std::uint64_t(node.operands));
    for (int k = 0; k < node.operands; ++k) add(std::uint64_t(node.operand[k]));
  }
  for (int k = 0; k < G::graph.outputs; ++k) add(std::uint64_t(G::graph.output[k]));
  return hash;
}
template <class G, int... K>
SampleKey<hash_of_samples<G>(), CallOf<tenon::detail::KeyAt<G, K>>...> sample_key(std::integer_sequence<int, K...>);
}  // namespace detail
template <class G>
using SampleKeyOf = decltype(detail::sample_key<G>(std::make_integer_sequence<int, G::kernels.count>()));

// As OperatorById: a friend function finds the graph of a key. Graphs with equal keys have equal kernels, so the
// function returns the first graph that had the key.
#pragma GCC diagnostic push
#if defined(__CUDACC__)
#pragma nv_diag_suppress 1301
#endif
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
namespace detail {
template <class Key>
struct SampleKeyTag {
  friend constexpr auto graph_of(SampleKeyTag<Key>);
};
template <class G>
inline constexpr bool has_known_key = requires { graph_of(SampleKeyTag<SampleKeyOf<G>>()); };
template <class G, bool is_known = has_known_key<G>>
struct KnownGraph {
  friend constexpr auto graph_of(SampleKeyTag<SampleKeyOf<G>>) { return tenon::detail::Found<G>(); }
};
template <class G>
struct KnownGraph<G, true> {};
}  // namespace detail
#pragma GCC diagnostic pop

/// The graph of a key. KnownGraph<G> must be complete before.
template <class Key>
using GraphOfKey = typename decltype(graph_of(detail::SampleKeyTag<Key>()))::type;

}  // namespace tenon::kernel::cuda
TENON_INT_SIZES_END
