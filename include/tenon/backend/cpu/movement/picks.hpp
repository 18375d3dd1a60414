// Elements of lines of float32 that are made of few others, picked out of vectors by numbers.
#pragma once
#include <tenon/backend/cpu/movement/taps.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Whether lanes can be picked out of vectors by numbers: those of float32.
#if defined(__AVX2__)
template <class T>
inline constexpr bool has_picks = std::is_same_v<T, float>;
#else
template <class T>
inline constexpr bool has_picks = false;
#endif

/// The lists of elements that are neighbours, for vectors of them. The elements of a slot, at most one of each list,
/// are picked out of up to four vectors of x.
struct Picks {
  static constexpr int width = simd_width<float>;
  static constexpr long most = 8;  // slots; longer lists are walked one by one
  struct Block {
    std::int32_t count, vectors, partial, end;  // slots; vectors of each; whether lists lack one; what is read of x
  };
  Block* block;
  std::int32_t *base, *index;  // [blocks, most]: where the vectors begin; [blocks, most, width]; -1: no element
  float* weight;

  static constexpr long blocks(long lists) { return (lists + width - 1) / width; }
  static constexpr long bytes(long lists) {
    return aligned(blocks(lists) * long(sizeof(Block) + most * sizeof(std::int32_t))) +
           2 * blocks(lists) * most * width * long(sizeof(float));
  }
  Picks(std::byte* room, long lists)
      : block(reinterpret_cast<Block*>(room)),
        base(reinterpret_cast<std::int32_t*>(block + blocks(lists))),
        index(reinterpret_cast<std::int32_t*>(
            room + aligned(blocks(lists) * long(sizeof(Block) + most * sizeof(std::int32_t))))),
        weight(reinterpret_cast<float*>(index + blocks(lists) * most * width)) {}

  /// False if some list is too long, or the elements of a slot are too far from each other.
  [[gnu::noinline]] bool fill(const TapLists<float>& list, long in) {
    for (long b = 0; b < blocks(list.lists); ++b)
      if (!fill(list, in, b, false) && !fill(list, in, b, true)) return false;
    return true;
  }

  /// Whether one vector has all elements of each block.
  bool near(long lists) const {
    for (long b = 0; b < blocks(lists); ++b)
      if (block[b].vectors > 1) return false;
    return true;
  }

 private:
  /// Lists that lack elements have their first ones in the first slots, or their last ones in the last slots.
  bool fill(const TapLists<float>& list, long in, long b, bool from_last) {
    const long first = b * width, lanes = list.lists - first < width ? list.lists - first : width;
    std::int32_t count = 0, least = most;
    for (long l = 0; l < lanes; ++l) {
      const std::int32_t own = std::int32_t(list.count(first + l));
      count = own > count ? own : count, least = own < least ? own : least;
    }
    if (count > most) return false;
    const auto entry = [&](long k, long l) -> long {
      const long own = list.count(first + l), e = from_last ? k - (count - own) : k;
      return e >= 0 && e < own ? list.start[first + l] + e : -1;
    };
    std::int32_t vectors = 1, low[most], end = 0;
    for (long k = 0; k < count; ++k) {
      std::int32_t high = -1;
      low[k] = 0x7fffffff;
      for (long l = 0; l < lanes; ++l)
        if (const long e = entry(k, l); e >= 0) {
          low[k] = list.from[e] < low[k] ? list.from[e] : low[k];
          high = list.from[e] > high ? list.from[e] : high;
        }
      if (high - low[k] >= 4 * width) return false;
      while (high - low[k] >= vectors * width) vectors *= 2;
    }
    for (long k = 0; k < count; ++k) {
      const std::int32_t last = std::int32_t(in) - vectors * width;
      if (low[k] > last) low[k] = last > 0 ? last : 0;
      if (low[k] + vectors * width > end) end = low[k] + vectors * width;
      base[b * most + k] = low[k];
      for (long l = 0; l < width; ++l) {
        const long at = (b * most + k) * width + l, e = l < lanes ? entry(k, l) : -1;
        index[at] = e >= 0 ? list.from[e] - low[k] : l < lanes ? -1 : 0;
        weight[at] = e >= 0 ? list.weight[e] : 0;
      }
    }
    block[b] = {count, vectors, least < count, end};
    return true;
  }
};

namespace detail {
using Lanes = Simd<float, Picks::width>;
using Indices = Simd<std::int32_t, Picks::width>;

/// Lane l is lane index[l] of the vectors, one after the other; of an index only these bits count.
template <int vectors>
[[gnu::always_inline]] inline Lanes picked(const Lanes* x, Indices index) {
  Lanes result;
  if constexpr (vectors == 1) {
#if defined(__AVX2__)
    asm("vpermps {%1, %2, %0|%0, %2, %1}" : "=v"(result.lanes) : "v"(x[0].lanes), "v"(index.lanes));
#else
    for (int l = 0; l < Picks::width; ++l) result.lanes[l] = x[0][index[l] & (Picks::width - 1)];
#endif
#if defined(__AVX512F__)
  } else if constexpr (vectors == 2) {
    result = x[0];
    asm("vpermt2ps {%2, %1, %0|%0, %1, %2}" : "+v"(result.lanes) : "v"(index.lanes), "v"(x[1].lanes));
#endif
  } else {
    const Lanes low = picked<vectors / 2>(x, index), high = picked<vectors / 2>(x + vectors / 2, index);
    result.lanes = (index.lanes & (vectors / 2 * Picks::width)) != 0 ? high.lanes : low.lanes;
  }
  return result;
}
// Not where it is used: nvcc 13 does not compile a choice of lanes whose types depend on a template.
[[gnu::always_inline]] inline Lanes where_negative(Indices index, Lanes yes, Lanes no) {
  return Lanes(index.lanes < 0 ? yes.lanes : no.lanes);
}
/// Block b of `lines` lines from line o on, side by side: the indices and weights of a slot are read once for all.
template <int vectors, int lines>
[[gnu::always_inline]] inline void add_picks(const Picks& picks, long b, const float* x, float* y, long in, long out,
                                             long o) {
  const Picks::Block own = picks.block[b];
  const std::int32_t *const index = picks.index + b * Picks::most * Picks::width, *const base =
                                                                                      picks.base + b * Picks::most;
  const float* const weight = picks.weight + b * Picks::most * Picks::width;
  x += o * in;
  Lanes sum[lines];
#pragma GCC unroll 4
  for (int l = 0; l < lines; ++l) sum[l] = Lanes(0.0f);
  const auto slots = [&](auto partial) __attribute__((always_inline)) {
    for (long k = 0; k < own.count; ++k) {
      const Indices at = Indices::load(index + k * Picks::width);
      const Lanes factor = Lanes::load(weight + k * Picks::width);
#pragma GCC unroll 4
      for (int l = 0; l < lines; ++l) {
        Lanes value[vectors];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) value[v] = Lanes::load(x + l * in + base[k] + v * Picks::width);
        const Lanes next = fmadd(factor, picked<vectors>(value, at), sum[l]);
        if constexpr (partial) sum[l] = where_negative(at, sum[l], next);
        else sum[l] = next;
      }
    }
  };
  if (own.partial) slots(std::true_type());
  else slots(std::false_type());
#pragma GCC unroll 4
  for (int l = 0; l < lines; ++l) sum[l].store(y + (o + l) * out + b * Picks::width);
}
/// Block b of lines begin .. end - 1.
template <bool weighted, int vectors>
[[gnu::noinline]] void block_by_picks(const Picks& picks, long b, const float* x, float* y, long in, long out,
                                      long begin, long end) {
  if constexpr (weighted) {
    constexpr int lines = 4;
    for (; begin + lines <= end; begin += lines) add_picks<vectors, lines>(picks, b, x, y, in, out, begin);
    for (; begin < end; ++begin) add_picks<vectors, 1>(picks, b, x, y, in, out, begin);
  } else {  // one slot, and no list lacks its element
    const Indices at = Indices::load(picks.index + b * Picks::most * Picks::width);
    const float* const from = x + picks.base[b * Picks::most];
    for (long o = begin; o < end; ++o) {
      Lanes value[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) value[v] = Lanes::load(from + o * in + v * Picks::width);
      picked<vectors>(value, at).store(y + o * out + b * Picks::width);
    }
  }
}
/// Long lines begin .. end - 1, one after the other as memory is fetched, without weights; one vector has all elements
/// of a block. The last block comes first: what it writes after the end of its line is written again.
[[gnu::noinline]] inline void lines_by_picks(const Picks& picks, const float* x, float* y, long in, long out,
                                             long begin, long end) {
  constexpr long ahead = 1024;  // elements
  const long last = Picks::blocks(out) - 1;
  for (long o = begin; o < end; ++o) {
    const float* const from = x + o * in;
    float* const to = y + o * out;
    const auto block = [&](long b) __attribute__((always_inline)) {
      const Lanes value = Lanes::load(from + picks.base[b * Picks::most]);
      picked<1>(&value, Indices::load(picks.index + b * Picks::most * Picks::width)).store(to + b * Picks::width);
    };
    block(last);
    for (long b = 0; b < last; ++b) {
      __builtin_prefetch(from + ahead + b * Picks::width);
      __builtin_prefetch(to + ahead + b * Picks::width, 1);
      block(b);
    }
  }
}
}  // namespace detail

/// Lines begin .. end - 1 of the result: `lines` of x have `in` elements each.
template <bool weighted>
[[gnu::noinline]] void resample_by_picks(const Picks& picks, const TapLists<float>& list, const float* x, float* y,
                                         long lines, long in, long begin, long end) {
  constexpr long width = Picks::width, together = 16;  // lines that stay in the cache from block to block
  const long out = list.lists, blocks = Picks::blocks(out);
  // Single elements for lines at the end, after which x lacks what a vector reads, or y has no room for one.
  long fast = end;
  for (long b = 0; b < blocks; ++b) {
    const long readable = lines * in - picks.block[b].end, room = end * out - (b + 1) * width,
               fitting = readable < 0 || room < 0 ? 0 : (readable / in < room / out ? readable / in : room / out) + 1;
    fast = fitting < fast ? fitting : fast;
  }
  fast = fast < begin ? begin : fast;
  // What does not stay in a cache is fetched before it is read or written.
  const bool far = (fast - begin) * (in + out) * long(sizeof(float)) > (512 << 10), longer = in + out > 256;
  if constexpr (!weighted)
    if (far && longer && picks.near(out)) {
      detail::lines_by_picks(picks, x, y, in, out, begin, fast);
      return resample_elements<weighted>(list, x, y, in, fast, end);
    }
  for (long o = begin; o < fast; o += together) {
    if (far && !longer) {
      for (long i = 0; i < together * in; i += 16) __builtin_prefetch(x + (o + together) * in + i);
      for (long i = 0; i < together * out; i += 16) __builtin_prefetch(y + (o + together) * out + i, 1);
    }
    for (long b = blocks, last = o + together < fast ? o + together : fast; b-- > 0;) {
      // From the last block on: what a vector writes after the end of its line is written again.
      const auto run = [&]<int vectors>(std::integral_constant<int, vectors>) {
        detail::block_by_picks<weighted, vectors>(picks, b, x, y, in, out, o, last);
      };
      if (picks.block[b].vectors == 1) run(std::integral_constant<int, 1>());
      else if (picks.block[b].vectors == 2) run(std::integral_constant<int, 2>());
      else run(std::integral_constant<int, 4>());
    }
  }
  resample_elements<weighted>(list, x, y, in, fast, end);
}

}  // namespace tenon::kernel
TENON_EXACT_END
