// Packing for the matrix product: each step of k becomes one short row, whichever way the operand is stored.
#pragma once
#include <tenon/kernel/cpu/gemm_plan.hpp>
#include <tenon/kernel/cpu/pack.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// Lanes of an operand that are packed together: a panel of columns of B, or the rows of a tile of A. Lanes up to `padded` are written.
template <class T>
struct Strip {
  const T* from;
  long lanes, padded;
};

// Packs `depth` steps of strips: step p of strip s goes to to[s * strip_pitch + p * pitch]. Element (p, j) of a strip is
// from[p * step + j * lane].
template <class T, class A>
[[gnu::noinline]] void pack_strips(const Strip<T>* strips, long count, long step, long lane, long depth, A* to, long pitch, long strip_pitch) {
  if (lane != 1) {
    for (long s = 0; s < count; ++s) copy_matrix(strips[s].from, step, lane, to + s * strip_pitch, pitch, depth, strips[s].lanes, strips[s].padded);
    return;
  }
  // Steps lie in memory one behind the other: all strips of a step are read as they lie. Each step may be a page of its own,
  // which no processor fetches ahead by itself.
  for (long p = 0; p < depth; ++p) {
    const long ahead = at_most(p + 4, depth - 1);
    for (long s = 0; s < count; ++s) {
      const Strip<T>& strip = strips[s];
      for (long j = 0; j < strip.lanes; j += 64 / long(sizeof(T))) __builtin_prefetch(strip.from + ahead * step + j);
      A* const out = to + s * strip_pitch + p * pitch;
      if constexpr (std::is_same_v<A, T>)
        if (strip.lanes == packed_rows) {
          __builtin_memcpy(out, strip.from + p * step, packed_rows * sizeof(A));
          continue;
        }
      copy_row(strip.from + p * step, out, strip.lanes);
      for (long j = strip.lanes; j < strip.padded; ++j) out[j] = A(0);
    }
  }
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
