// Packing for the matrix product: each step of k becomes one short row, whichever way the operand is stored.
#pragma once
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/backend/cpu/gemm/plan.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// Lanes of an operand that are packed together: a panel of columns of B, or the rows of a tile of A. Lanes up to
// `padded` are written.
template <class T>
struct Strip {
  const T* from;
  long lanes, padded;
};

// pack_pairs for four strips of eight lanes that lie side by side: one vector of each row.
inline void pack_pairs_of_four(const bfloat16* first, const bfloat16* second, Bfloat16Pair* to, long strip_pitch) {
  using Bits = Simd<std::uint16_t, 32>;
  using Pairs = Simd<Bfloat16Pair, 16>;
  const Bits a = tenon::detail::load_bits<32>(first),
             b = second ? tenon::detail::load_bits<32>(second) : Bits(std::uint16_t(0));
  const Pairs low = tenon::detail::same_lanes<Pairs>(interleaved(a, b, false)),
              high = tenon::detail::same_lanes<Pairs>(interleaved(a, b, true));
  lower_half(low).store(to);
  upper_half(low).store(to + strip_pitch);
  lower_half(high).store(to + 2 * strip_pitch);
  upper_half(high).store(to + 3 * strip_pitch);
}
// pack_strips for pairs of steps.
[[gnu::noinline]] inline void pack_strips(const Strip<bfloat16>* strips, long count, long step, long lane, long depth,
                                          Bfloat16Pair* to, long pitch, long strip_pitch) {
  if (lane == 1) {
    bool four = count == 4 && simd_bytes == 64;
    for (long s = 0; s < count; ++s)
      four = four && strips[s].lanes == packed_rows && strips[s].from == strips[0].from + s * packed_rows;
    for (long p = 0; p < depth; p += 2) {
      if (four) {
        const bfloat16* const row = strips[0].from + p * step;
        for (long next = at_most(p + 8, depth - 2); next < at_most(p + 10, depth); ++next)
          __builtin_prefetch(strips[0].from + next * step);
        pack_pairs_of_four(row, p + 1 < depth ? row + step : nullptr, to + p / 2 * pitch, strip_pitch);
        continue;
      }
      const long ahead = at_most(p + 4, depth - 2);
      for (long s = 0; s < count; ++s) {
        const Strip<bfloat16>& strip = strips[s];
        const bfloat16* const row = strip.from + p * step;
        if (ahead > 0)
          for (long j = 0; j < strip.lanes; j += 64 / long(sizeof(bfloat16))) {
            __builtin_prefetch(strip.from + ahead * step + j);
            __builtin_prefetch(strip.from + (ahead + 1) * step + j);
          }
        pack_pairs(row, p + 1 < depth ? row + step : nullptr, strip.lanes, strip.padded,
                   to + s * strip_pitch + p / 2 * pitch);
      }
    }
    return;
  }
  for (long s = 0; s < count; ++s) {
    const Strip<bfloat16>& strip = strips[s];
    Bfloat16Pair* const out = to + s * strip_pitch;
    long p = 0;
    if (step == 1)
      transpose_copy(strip.from, lane, out, pitch, strip.lanes, depth / 2, strip.padded), p = depth - depth % 2;
    for (; p < depth; p += 2)
      for (long j = 0; j < strip.padded || j < strip.lanes; ++j) {
        const bfloat16* const from = strip.from + p * step + j * lane;
        out[p / 2 * pitch + j] =
            j >= strip.lanes ? 0
                             : Bfloat16Pair(from[0].bits) | (p + 1 < depth ? Bfloat16Pair(from[step].bits) << 16 : 0);
      }
  }
}

// Packs `depth` steps of strips: step p of strip s goes to to[s * strip_pitch + p * pitch]. Element (p, j) of a strip
// is from[p * step + j * lane].
template <class T, class A>
[[gnu::noinline]] void pack_strips(const Strip<T>* strips, long count, long step, long lane, long depth, A* to,
                                   long pitch, long strip_pitch) {
  if (lane != 1) {
    for (long s = 0; s < count; ++s)
      copy_matrix(strips[s].from, step, lane, to + s * strip_pitch, pitch, depth, strips[s].lanes, strips[s].padded);
    return;
  }
  // Steps lie in memory one after the other: all strips of a step are read as they lie. Each step may be a page of its
  // own, which no processor fetches ahead by itself.
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
