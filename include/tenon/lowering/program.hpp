// The table of a compiled graph as data, and the memory that a walk of it takes.
#pragma once
#include <bit>

#include <tenon/core/memory/arena.hpp>
#include <tenon/core/nchw16n.hpp>
#include <tenon/core/simd/simd.hpp>
#include <tenon/graph/ir/kernel_entry.hpp>
#include <tenon/graph/observe/pass_graph.hpp>
#include <tenon/graph/plan/plan.hpp>
#include <tenon/graph/plan/sample_group.hpp>

namespace tenon::inline TENON_ABI {

/// Half a block is a vector of samples, so that it takes half the time.
inline constexpr bool blocks_have_halves = 2 * simd_width<float> == block_samples;

/// How threads share the tiles of samples of a group: `parts` of them take the first `shared` tiles, each that number
/// neighbours as the others if that leaves few. A tile that is left is `halved`, each half for a thread of its own, or
/// they share the work of each instruction for it.
struct TileShares {
  long tiles = 1, shared = 1, parts = 1, halved = 0;

  constexpr long begin(long part) const { return shared * part / parts; }
  /// Who takes a half: there are two for each part at most, and the first ones are the largest.
  constexpr long part_of(long half) const { return half < parts ? half : 2 * parts - 1 - half; }
  /// Sums of tiles and of halves that are added up when all threads are done: all but those of the first one's tiles.
  constexpr long sums() const { return parts == 1 ? 0 : shared - begin(1) + 2 * halved; }
  /// Samples of the first half of this many: the largest subtree of theirs (backend/cpu/nchw16n/layout.hpp).
  static constexpr long first_half(long samples) {
    return samples > 1 ? long(std::bit_floor(std::size_t(samples - 1))) : samples;
  }
};
/// For a batch of n. `halves`: tiles may be halved, if a last one that is not whole is row-major.
[[gnu::noinline, gnu::cold]] constexpr TileShares tile_shares(long n, int threads, bool halves) {
  TileShares s;
  if (n > block_samples) s.tiles = whole_blocks(n) / block_samples;
  long whole = s.tiles;
  if constexpr (blocks_have_halves) {
    halves = halves && threads > 1 && n >= block_samples && (n % block_samples == 0 || !in_nchw16n(n % block_samples));
    if (halves) whole = n / block_samples;
  }
  const long rest = whole % threads;
  const bool together = threads > 1 && 2 * rest <= threads && (halves || s.tiles > threads || s.tiles == 1);
  s.shared = together ? whole - rest : s.tiles;
  s.halved = halves ? s.tiles - s.shared : 0;
  s.parts = s.shared > 2 * s.halved ? s.shared : 2 * s.halved;
  s.parts = s.parts > threads ? threads : s.parts > 1 ? s.parts : 1;
  return s;
}

/// One kernel call of a compiled graph.
struct Instruction {
  const KernelEntry* kernel = nullptr;
  int node = 0, buffers = 0;
  bool nchw16n = false;  // images are NCHW16n if the samples fill the blocks: in_blocks()
  bool by_tile = false;  // of a program whose NCHW16n images live within a tile
  bool guarded = false;  // left out if the training state's overflow flag is set
  bool sums = false;     // what it makes of each tile of a group is added up
  int group = 0;         // instructions of a group run together for one tile after the other; 0: for the whole batch
  // of each buffer of Arguments the node whose value it is, or -1: a result that no node reads
  int value[max_buffers]{};

  /// True if images are NCHW16n for `samples` of a batch of n: each tile chooses for itself where none of its images
  /// leaves it.
  constexpr bool in_blocks(long samples, long n) const { return nchw16n && in_nchw16n(by_tile ? samples : n); }
  /// The work for them.
  [[gnu::noinline, gnu::cold]] constexpr KernelWork work(long samples, long n) const {
    return in_blocks(samples, n) ? kernel->nchw16n_work(samples) : kernel->work(samples);
  }
};

struct KeptOperand;

/// A compiled graph as data; everything points to constants.
struct Program {
  const Instruction* instruction = nullptr;
  int instructions = 0;
  const Node* node = nullptr;
  int nodes = 0;
  const BufferPlace* place = nullptr;  // of each node
  long floor = 0;                      // bytes of scratch below region sample
  const ScratchSize* need = nullptr;
  int needs = 0;
  const std::uint64_t* constant = nullptr;
  const int* output = nullptr;
  int outputs = 0;
  const Entry* entries = nullptr;
  bool nchw16n = false;  // some images are NCHW16n

  long tile = 0;  // bytes of region tile, per sample
  TargetId target = TargetId::cpu;
  const KeptOperand* kept = nullptr;  // lowering/kept_operand.hpp
  int kept_operands = 0;
  // of each node: whether it is NCHW16n if the batch fills the blocks
  [[no_unique_address]] std::conditional_t<observable, const bool*, NoConfig> in_blocks{};
  const char* texts = nullptr;  // of the effects on the host, whose `immediate` says where theirs begins
  struct NoPasses {};
  [[no_unique_address]] std::conditional_t<observable, const PassGraphs*, NoPasses> passes{};
  [[no_unique_address]] detail::SampleGroupOf sample_group{};  // empty: there is no such group

  /// Where buffer k of an instruction is: its result, its operands, its other results.
  constexpr BufferPlace place_of(const Instruction& r, int k) const {
    return r.value[k] < 0 ? BufferPlace() : place[r.value[k]];
  }
  /// The type of what is there.
  constexpr const TensorType& type_of(const Instruction& r, int k) const {
    return node[r.value[k] < 0 ? r.node : r.value[k]].type;
  }
  constexpr TileShares shares(long n, int threads) const {
    return tile_shares(n, threads, blocks_have_halves && nchw16n && instruction->by_tile);
  }
  /// Samples for which there is memory.
  constexpr long samples(long n) const { return nchw16n && in_nchw16n(n) ? whole_blocks(n) : n; }
  /// Bytes of scratch that a call with a batch of n on `threads` threads takes.
  constexpr long bytes(long n, int threads) const {
    return scratch(n) + thread_bytes(n) * threads + parts_of_sums(n, threads);
  }
  /// About as much, where the exact number may be beyond a long; 0 for an ordinary batch.
  double many_bytes(long n, int threads) const {
    constexpr long many = 1024;
    return n < 2 * many ? 0 : double(bytes(2 * many, threads) - bytes(many, threads)) * (double(n) / many);
  }
  /// The part of it that holds values which more than one group, or the whole batch, needs.
  [[gnu::noinline, gnu::cold]] constexpr long scratch(long n) const {
    long most = 0;
    for (int i = 0; i < needs; ++i) most = need[i].bytes(samples(n)) > most ? need[i].bytes(samples(n)) : most;
    return most;
  }
  /// What each thread needs: for the values of a tile, and for its kernels.
  constexpr long thread_bytes(long n) const { return tile_bytes(n) + workspace(n); }
  constexpr long tile_bytes(long n) const { return tile * tile_of(samples(n)); }
  [[gnu::noinline, gnu::cold]] constexpr long workspace(long n) const {
    long most = 0;
    for (int i = 0; i < instructions; ++i)
      if (const long w = workspace_of(instruction[i], n) +
                         (instruction[i].sums && n > block_samples ? sum_bytes(instruction[i]) : 0);
          w > most)
        most = w;
    if (const long w = aligned(detail::workspace_of(sample_group, n)); w > most) most = w;
    return most;
  }
  /// What the kernel of an instruction needs.
  constexpr long workspace_of(const Instruction& r, long n) const {
    if (!r.group) return r.work(n, n).workspace;
    const long whole = r.work(tile_of(n), n).workspace,
               rest = n > block_samples ? r.work(n % block_samples, n).workspace : 0;
    return whole > rest ? whole : rest;
  }
  /// The sums that threads make of each tile, until they are added up in order; before them those of chains of tiles.
  [[gnu::noinline, gnu::cold]] constexpr long parts_of_sums(long n, int threads) const {
    const TileShares all = shares(n, threads);
    const long parts = all.sums() + chain_levels(all.tiles);
    if (parts == 0) return 0;
    long most = 0, here = 0;
    for (int i = 0; i < instructions; ++i) {
      here = (i && instruction[i].group == instruction[i - 1].group ? here : 0) +
             (instruction[i].sums ? sum_bytes(instruction[i]) : 0);
      most = here > most ? here : most;
    }
    return most * parts;
  }
  /// Levels of the tree of the chains that this many tiles make (backend/cpu/reduce/sum_tree.hpp); the last chain is in
  /// none.
  static constexpr int chain_levels(long tiles) { return int(std::bit_width(std::size_t((tiles - 1) / block_chain))); }
  constexpr long sum_bytes(const Instruction& r) const { return aligned(node[r.node].type.bytes(1)); }
};

}  // namespace tenon
