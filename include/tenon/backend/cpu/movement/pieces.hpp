// Lines that consist of one or two pieces of others, forwards or backwards: copies without a list of places.
#pragma once
#include <algorithm>

#include <tenon/backend/cpu/movement/taps.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Neighbours of a line that are neighbours in another one, too, in this order or in the opposite one: element to + i
/// is element from + i or from - i. They are whole vectors, the last of which may overlap the one before it; a piece
/// that is shorter than a vector has one all the same, and comes before the other piece, which puts things right.
struct Piece {
  long from, to, last;  // last: where the last vector begins, from `to` on
};
/// Lines of fewer elements are short.
template <class T>
inline constexpr long short_line = 512 / long(sizeof(T));

struct Pieces {
  Piece piece[2];
  int count = 0;
  bool backwards = false;
  long low = 0, high = 0;  // what is read of a line, its neighbours included

  /// The pieces of a map whose lists have one element each. False if there are more, or all are too short.
  template <class A>
  bool fill(const TapLists<A>& list, long width) {
    const auto step = [&](long j) { return list.place(j + 1) - list.place(j); };
    if (list.lists < 2 * width) return false;
    backwards = step(0) == -1;
    for (long j = 0, next; j < list.lists; j = next) {
      for (next = j + 1; next < list.lists && step(next - 1) == (backwards ? -1 : 1);) ++next;
      if (count == 2) return false;
      // a short one has its vector inside of the line
      const long own = next - j, to = own < width && j > 0 ? next - width : j;
      piece[count++] = {list.place(j) + (backwards ? j - to : to - j), to, own < width ? 0 : own - width};
      const long first = piece[count - 1].from,
                 far = first + (backwards ? -1 : 1) * (piece[count - 1].last + width - 1);
      low = std::min({low, first, far}), high = std::max({high, first + 1, far + 1});
      if (own < width && count == 2) std::swap(piece[0], piece[1]);
    }
    return true;
  }
};

namespace detail {
template <bool backwards, class T>
[[gnu::always_inline]] inline void copy_vector(const T* from, T* to) {
  constexpr int width = simd_width<T>;
  constexpr auto lane_of = [](int lane) { return width - 1 - lane; };
  auto value = Simd<T, width>::load(from - (backwards ? width - 1 : 0));
  if constexpr (backwards)
    value = tenon::detail::shuffled<Simd<T, width>>(value, value, tenon::detail::Order<width, lane_of>());
  value.store(to);
}
}  // namespace detail

/// Lines begin .. end - 1 of the result.
template <bool backwards, class T>
[[gnu::noinline]] void copy_pieces(const Pieces& pieces, const T* x, T* y, long in, long out, long begin, long end) {
  constexpr long width = simd_width<T>, line = 64 / sizeof(T), ahead = 64 * line, sign = backwards ? -1 : 1;
  // What does not stay in a cache is fetched before it is read or written.
  const bool far = (end - begin) * (in + out) * long(sizeof(T)) > (512 << 10);
  if (out < short_line<T>) {  // a vector of some lines, then the next one: fewer loops than lines have
    for (long o = begin, lines; o < end; o += lines) {
      lines = end - o < 16 ? end - o : 16;
      const T* const from = x + o * in;
      T* const to = y + o * out;
      for (long i = 0; far && i < lines * out; i += line)
        __builtin_prefetch(from + ahead + i), __builtin_prefetch(to + ahead + i, 1);
      for (int p = 0; p < pieces.count; ++p)
        for (long i = 0;; i = i + width < pieces.piece[p].last ? i + width : pieces.piece[p].last) {
          const T* source = from + pieces.piece[p].from + sign * i;
          T* result = to + pieces.piece[p].to + i;
#pragma GCC unroll 4
          for (long l = 0; l < lines; ++l, source += in, result += out) detail::copy_vector<backwards>(source, result);
          if (i == pieces.piece[p].last) break;
        }
    }
    return;
  }
  for (long o = begin; o < end; ++o)
    for (int p = 0; p < pieces.count; ++p) {
      const Piece own = pieces.piece[p];
      const T* const from = x + o * in + own.from;
      T* const to = y + o * out + own.to;
      const auto copy = [=](long i)
                            __attribute__((always_inline)) { detail::copy_vector<backwards>(from + sign * i, to + i); };
      if (far)
        for (long i = 0; i < own.last; i += width) {
          __builtin_prefetch(from + ahead + i), __builtin_prefetch(to + ahead + i, 1);
          copy(i);
        }
      else
        for (long i = 0; i < own.last; i += width) copy(i);
      copy(own.last);
    }
}

/// The same of a map without weights, by its lists, if it consists of pieces. x: how the operand is split.
template <class A, class T>
[[gnu::noinline]] bool copied_in_pieces(const TapLists<A>& list, const T* from, T* to, const AxisSplit& x, long begin,
                                        long end) {
  Pieces pieces;
  if (!pieces.fill(list, simd_width<T>)) return false;
  // Single elements for lines at the ends, where a vector would read what is not there.
  const long before = (x.count - 1 - pieces.low) / x.count, after = (pieces.high - 1) / x.count,
             first = std::clamp(before, begin, end), last = std::clamp(x.outer - after, first, end);
  resample_elements<false>(list, from, to, x.count, begin, first);
  if (pieces.backwards) copy_pieces<true>(pieces, from, to, x.count, list.lists, first, last);
  else copy_pieces<false>(pieces, from, to, x.count, list.lists, first, last);
  resample_elements<false>(list, from, to, x.count, last, end);
  return true;
}

}  // namespace tenon::kernel
TENON_EXACT_END
