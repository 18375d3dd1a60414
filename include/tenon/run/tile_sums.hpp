// Sums over the batch that a group of instructions makes one tile of samples after the other.
#pragma once
#include <tenon/core/nchw16n.hpp>
#include <tenon/lowering/program.hpp>
#if TENON_DEFINES
#include <cstring>

#include <tenon/core/simd/simd.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// Memory after the scratch of all threads: first a level per power of two of complete chains of tiles
/// (backend/cpu/reduce/sum_tree.hpp), then the sums that other threads than the first make of each tile, until they are
/// added up in the order of the tiles.
struct TileSums {
  std::byte* memory = nullptr;
  long bytes = 0;  // of the sums of one tile
  int levels = 0;

  /// `offset` says which of the sums.
  std::byte* chain(long offset, long level) const { return memory + bytes * level + offset; }
  std::byte* part(long offset, long number) const { return chain(offset, levels + number); }
  /// to += from, the sum of tile `tile`: of `count` floats. `chains`: a chain of tiles ends after every block_chain.
  void add(void* to, const void* from, long count, bool chains, long offset, long tile, bool last) const;
  /// to += from
  static void join(const void* from_floats, void* to_floats, long count);
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void TileSums::add(void* to, const void* from, long count, bool chains, long offset,
                                                  long tile, bool last) const {
  if (chains && tile % block_chain == 0) {  // a chain is complete: its sum goes as far up as others wait
    const long before = tile / block_chain - 1;
    int level = 0;
    for (; before >> level & 1; ++level) join(chain(offset, level), to, count);
    std::memcpy(chain(offset, level), to, std::size_t(count) * sizeof(float));
    std::memcpy(to, from, std::size_t(count) * sizeof(float));
  } else {
    join(from, to, count);
  }
  if (!chains || !last) return;
  for (long level = 0, complete = tile / block_chain; complete >> level; ++level)
    if (complete >> level & 1) join(chain(offset, level), to, count);
  for (long i = 0; i < count; ++i) static_cast<float*>(to)[i] += 0;  // no -0, as LongSum
}
[[gnu::noinline]] TENON_INLINE void TileSums::join(const void* from_floats, void* to_floats, long count) {
  float* const to = static_cast<float*>(to_floats);
  const float* const from = static_cast<const float*>(from_floats);
  using V = Simd<float>;
  long i = 0;
  for (; i + V::width <= count; i += V::width) (V::load(from + i) + V::load(to + i)).store(to + i);
  for (; i < count; ++i) to[i] = from[i] + to[i];
}
#endif  // TENON_DEFINES

}  // namespace tenon
