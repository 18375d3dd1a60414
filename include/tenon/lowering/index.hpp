// The distinct kernels of a graph: only they are instantiated, however deep the model is.
#pragma once
#include <tenon/backend/backends.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Every distinct kernel of a graph once. Tag has `static constexpr Graph<N> graph`.
template <int N>
struct KernelIndex {
  short node[N + 1]{};  // a node that has the kernel
  short of[N + 1]{};    // kernel of a node, -1: none runs
  int count = 0;
};
template <int N>
constexpr KernelIndex<N> index_kernels(const Graph<N>& graph) {
  constexpr int slots = N < 200 ? 512 : N < 2000 ? 8192 : 65536;
  KernelIndex<N> index;
  short table[slots]{};
  std::uint64_t hash[N + 1]{};
  for (int id = 0; id < graph.count; ++id) {
    index.of[id] = -1;
    const OperatorInfo& op = *graph[id].op;
    if (op.leaf || op.view || op.part) continue;
    const std::uint64_t h = kernel_key(graph, id).hash();
    unsigned slot = static_cast<unsigned>(h ^ h >> 32) % slots;
    const auto same = [&](int kernel) { return hash[kernel] == h && same_kernel(graph, index.node[kernel], id); };
    while (table[slot] && !same(table[slot] - 1)) slot = (slot + 1) % slots;
    if (!table[slot]) {
      hash[index.count] = h;
      index.node[index.count] = static_cast<short>(id);
      table[slot] = static_cast<short>(++index.count);
    }
    index.of[id] = static_cast<short>(table[slot] - 1);
  }
  return index;
}

namespace detail {
template <class Tag>
struct TargetOf {
  using type = Cpu;
};
template <class Tag>
requires requires { typename Tag::target_type; }
struct TargetOf<Tag> {
  using type = typename Tag::target_type;
};
template <int N>
struct EntryTable {
  const KernelEntry* entry[N ? N : 1]{};
};
/// A call of an operator with bodies.
template <class C, class Tag>
struct CallInGraph : C {
  using Graph = Tag;
};
template <class C, class Tag>
using CallIn = std::conditional_t<__is_base_of(WithBody, typename C::Op), CallInGraph<C, Tag>, C>;
template <class C, class Target>
concept HasRareKernel = requires { requires KernelOf<C, Target>::template runs_rarely<C>(); };
template <class Tag, int K, class C, class Target>
constexpr KernelUse kernel_use() {
  if constexpr (!requires { typename Tag::target_type; }) return KernelUse::anywhere;
  else if constexpr (HasRareKernel<C, Target>)
    return Tag::template is_rare<K>() ? KernelUse::rarely : KernelUse::in_graph;
  else return KernelUse::in_graph;
}
template <class Tag, int K>
constexpr const KernelEntry* entry_at() {
  using C = CallIn<CallOf<KeyAt<Tag, K>>, Tag>;
  using Target = typename TargetOf<Tag>::type;
  return entry_on<C, Target, kernel_use<Tag, K, C, Target>()>();
}
template <class Tag, std::size_t... K>
constexpr EntryTable<int(sizeof...(K))> entry_table(std::index_sequence<K...>) {
  if constexpr (several_targets) return {{entry_at<Tag, int(K)>()...}};
  else return {{entry_on<CallIn<CallOf<KeyAt<Tag, int(K)>>, Tag>, typename TargetOf<Tag>::type>()...}};
}
}  // namespace detail

/// The entries of Tag::kernels, which is index_kernels(Tag::graph).
template <class Tag>
inline constexpr auto kernel_entries =
    detail::entry_table<Tag>(std::make_index_sequence<std::size_t(Tag::kernels.count)>{});

}  // namespace tenon
TENON_INT_SIZES_END
