// Which operands of a compiled graph are kept between calls: those that are parameters, where a kernel says that it
// saves time, in graphs that change nothing.
#pragma once
#include <tenon/lowering/index.hpp>
#include <tenon/lowering/kept_operand.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {
template <class C, class Target>
concept Keeps = HasKernel<C, Target> && requires { requires KernelOf<C, Target>::template keeps_operand<C>(); };

template <class K>
concept KeepsForAll = requires { requires K::kept_for_all; };

template <class C, class K = KernelOf<C>>
inline constexpr KeptEntry kept_entry{K::kept_operand,           &K::template kept_bytes<C>, &K::template keep<C>,
                                      &K::template kept_work<C>, &K::template run_kept<C>,   KeepsForAll<K>};

template <int N>
struct KeptTable {
  KeptOperand operand[N ? N : 1]{};
  int count = 0;
};
// Which operand of each kernel is kept, -1: none.
template <int N>
struct KeptKernels {
  const KeptEntry* entry[N ? N : 1]{};
  int operand[N ? N : 1]{};
};
template <class Tag, std::size_t... K>
constexpr KeptKernels<int(sizeof...(K))> kept_kernels(std::index_sequence<K...>) {
  KeptKernels<int(sizeof...(K))> made;
  [[maybe_unused]] const auto look = [&]<class C>(std::type_identity<C>, std::size_t k) {
    made.operand[k] = -1;
    if constexpr (Keeps<C, Cpu>) made.entry[k] = &kept_entry<C>, made.operand[k] = KernelOf<C>::kept_operand;
  };
  (look(std::type_identity<CallOf<KeyAt<Tag, int(K)>>>(), K), ...);
  return made;
}

template <int N>
constexpr bool has_effects(const Graph<N>& graph) {
  for (int id = 0; id < graph.count; ++id)
    if (graph[id].op->effect && !graph[id].op->host_effect) return true;
  return false;
}
/// The operands that Tag, a Compiled graph, keeps.
template <class Tag>
constexpr auto keep_operands() {
  if constexpr (!Tag::passes.keep || !std::is_same_v<typename Tag::target_type, Cpu> || has_effects(Tag::graph))
    return KeptTable<0>();
  else {
    constexpr auto kernels = kept_kernels<Tag>(std::make_index_sequence<std::size_t(Tag::kernels.count)>{});
    KeptTable<Tag::instructions> made;
    for (int id = 0, instruction = 0; id < Tag::graph.count; ++id) {
      const int kernel = Tag::kernels.of[id];
      if (kernel < 0) continue;
      if (const int operand = kernels.operand[kernel];
          operand >= 0 && Tag::plan.at[Tag::graph[id].operand[operand]].region == Region::parameters)
        made.operand[made.count++] = {kernels.entry[kernel], instruction};
      ++instruction;
    }
    return made;
  }
}
}  // namespace detail

}  // namespace tenon
TENON_INT_SIZES_END
