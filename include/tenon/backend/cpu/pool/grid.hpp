// Pooling with vectors along a plane: a band is copied with padding, its rows sorted by stride (conv/padded.hpp), so
// that each tap of all windows lies in neighbouring elements, across the ends of rows. With a horizontal stride of 2
// even and odd columns are copied apart; with a larger one the windows between are computed for nothing. Floating point
// only.
#pragma once
#include <limits>

#include <tenon/backend/cpu/conv/padded.hpp>
#include <tenon/backend/cpu/pool/window.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {
namespace detail {

/// Bands live on the stack and in the first cache: elements of one, taps of a window.
template <class A>
inline constexpr long grid_cells = 16384 / long(sizeof(A));
inline constexpr long grid_taps = 128;
template <class A>
struct GridCells {
  alignas(64) A cell[grid_cells<A>];
};

/// Columns from which on even and odd ones stand apart: two vectors, which are sorted faster than windows or zeros
/// between them are computed.
inline constexpr long least_split = 16;

/// A band of rows of windows, of several planes if they are small: what was stored is read again later, not at once,
/// which would stall. rows = 0: not even one row of windows fits.
template <class A>
struct PoolGrid {
  Padded image;             // of one part of the columns
  int parts = 1, step = 1;  // windows of a row are `step` elements apart
  long rows = 0, taps = 0, planes = 1, columns = 0, half = 0;
  long tap[grid_taps];  // where tap (r, k) of the windows stands in a band

  explicit PoolGrid(const Pool2dSizes& s, bool sorted = true) {
    const int phases = s.kh < s.stride_h ? s.kh : s.stride_h;
    const long covered = (s.ow - 1) * s.stride_w + s.kw;
    columns = covered - s.pad_left < s.w ? covered - s.pad_left : s.w;
    if (sorted && s.stride_w == 2 && columns >= least_split) parts = 2;
    step = s.stride_w / parts;
    image = {1, s.h, s.w, s.pad_top, s.pad_left, s.stride_h, 1, phases, 1, 0, round_up(covered, s.stride_w) / parts};
    // a window that begins at the last element of a band, rounded up to whole vectors, reads s.kw elements after it
    const long more = (s.kh - 1) / s.stride_h, room = grid_cells<A> / parts - 3 * grid_step<A> - s.kw,
               fitting = room / (phases * image.pitch) - more;
    if (long(s.kh) * s.kw > grid_taps || fitting < 1) return;
    rows = fitting < s.oh ? fitting : s.oh;
    image.rows = rows + more;
    if (rows == s.oh) planes = (room + grid_step<A>) / image.elements();
    half = round_up(planes * image.plane(), simd_width<A>);
    for (long r = 0; r < s.kh; ++r)
      for (long k = 0; k < s.kw; ++k) tap[taps++] = image.offset(0, r, k / parts) + k % parts * half;
  }

  /// Copies what `count` planes have from row `first` of their padded images on.
  template <class T>
  [[gnu::noinline]] void fill(const T* x, long count, long first, A* to) const {
    if (parts == 1) {
      Padded band = image;
      band.planes = count;
      return fill_padded(band, {image.h * image.w}, x, first, to);
    }
    const long lead = image.left, even = lead / 2 + lead % 2 * half, odd = (lead + 1) / 2 + (1 - lead % 2) * half;
    for (; count > 0; --count, x += image.h * image.w)
      for (int phase = 0; phase < image.phases_h; ++phase)
        for (long i = 0; i < image.rows; ++i, to += image.pitch)
          if (const long y = first + i * image.step_h + phase - image.top; y >= 0 && y < image.h)
            split_row(x + y * image.w, to + even, to + odd);
  }

 private:
  template <class T>
  [[gnu::always_inline]] void split_row(const T* x, A* even, A* odd) const {
    constexpr int width = simd_width<A> < 8 ? simd_width<A> : 8;
    const long pairs = columns / 2;
    for (long c = 0;; c += width) {
      if (c + width > pairs) c = pairs - width;  // overlaps the one before
      const auto a = load_lanes<width, A>(x + 2 * c), b = load_lanes<width, A>(x + 2 * c + width);
      every_second(a, b, 0).store(even + c), every_second(a, b, 1).store(odd + c);
      if (c + width >= pairs) break;
    }
    if (columns % 2) even[pairs] = static_cast<A>(x[columns - 1]);
  }
};

/// True if it is less work to fold the rows of windows first, which windows share, then the columns of these.
template <class A>
bool folds_by_rows(const Pool2dSizes& s, const PoolGrid<A>& grid) {
  return grid.step == 1 && grid.image.phases_h * s.kw + s.kh + 1 < s.kh * s.kw;
}

/// cells[q] = cells[q * stride]: of the results of a band those that are windows.
template <class A>
[[gnu::noinline]] void pick_windows(A* cells, long count, int stride) {
  using V = Simd<A>;
  if (stride == 1) return;
  if (stride == 2)
    for (long q = 0; q < count; q += V::width)
      every_second(V::load(cells + 2 * q), V::load(cells + 2 * q + V::width), 0).store(cells + q);
  else if (stride == 3)
    for (long q = 0; q < count; q += V::width) {
      constexpr auto of_two = [](int lane) { return 3 * lane < 2 * V::width ? 3 * lane : 0; };
      constexpr auto of_third = [](int lane) { return 3 * lane < 2 * V::width ? lane : 3 * lane - V::width; };
      const V two = tenon::detail::shuffled<V>(V::load(cells + 3 * q), V::load(cells + 3 * q + V::width),
                                               tenon::detail::Order<V::width, of_two>());
      tenon::detail::shuffled<V>(two, V::load(cells + 3 * q + 2 * V::width), tenon::detail::Order<V::width, of_third>())
          .store(cells + q);
    }
  else
    for (long q = 0; q < count; ++q) cells[q] = cells[q * stride];
}

/// Calls body(plane, planes, first row of windows, rows, cells) for all bands of the planes [begin, end); `padding`
/// surrounds x.
template <class A, class T, class Body>
[[gnu::always_inline]] inline void each_band(const Pool2dSizes& s, const PoolGrid<A>& grid, const T* x, A padding,
                                             long begin, long end, Body body) {
  GridCells<A> band;
  const long used = grid.parts * grid.half + grid_step<A>;
  for (long plane = begin; plane < end; plane += grid.planes) {
    const long planes = grid.planes < end - plane ? grid.planes : end - plane;
    for (long i = 0; i < s.oh; i += grid.rows) {
      if (grid.rows < s.oh || plane == begin)
        for (long c = 0; c < used; c += simd_width<A>) Simd<A>(padding).store(band.cell + c);
      grid.fill(x + plane * s.h * s.w, planes, i * s.stride_h, band.cell);
      body(plane, planes, i, grid.rows < s.oh - i ? grid.rows : s.oh - i, static_cast<const A*>(band.cell));
    }
  }
}

/// to[q] = the fold of window q's taps, beginning with Fold::first. Two vectors at a time.
template <class Fold, class A>
[[gnu::noinline]] void fold_grid(const long* tap, long taps, const A* from, A* to, long columns) {
  using V = Simd<A>;
  for (long q = 0; q < columns; q += grid_step<A>, from += grid_step<A>) {
    V a = Fold::first(V::load(from + *tap)), b = Fold::first(V::load(from + *tap + V::width));
    for (long t = 1; t < taps; ++t) {
      const A* const at = from + tap[t];
      a = Fold::next(a, V::load(at)), b = Fold::next(b, V::load(at + V::width));
    }
    a.store(to + q), b.store(to + q + V::width);
  }
}

/// to[q] = the maximum of window q's taps, place[q] = the number of the first tap that has it. No element is NaN.
template <class A>
[[gnu::noinline]] void fold_places(const long* tap, long taps, const A* from, A* to, PoolPlace<A>* place,
                                   long columns) {
  using V = Simd<A>;
  using I = Simd<PoolPlace<A>, V::width>;
  const I one(1);
  for (long q = 0; q < columns; q += grid_step<A>, from += grid_step<A>) {
    V a = V::load(from + *tap), b = V::load(from + *tap + V::width);
    I at_a(0), at_b(0), number(0);
    for (long t = 1; t < taps; ++t) {
      const A* const at = from + tap[t];
      const V next_a = V::load(at), next_b = V::load(at + V::width), before_a = a, before_b = b;
      number = number + one;
      a = max(next_a, a), b = max(next_b, b);
      // compared with itself: the chain of maxima need not wait for it
      at_a = I(a.lanes > before_a.lanes ? number.lanes : at_a.lanes);
      at_b = I(b.lanes > before_b.lanes ? number.lanes : at_b.lanes);
    }
    a.store(to + q), b.store(to + q + V::width);
    at_a.store(place + q), at_b.store(place + q + V::width);
  }
}

/// to[i * to_row + q] = the fold of the window that begins at column q of row i of windows, which begins at from + i *
/// from_row. Two vectors at a time, of which the last two overlap those before.
template <class Fold, class A>
[[gnu::noinline]] void fold_rows(const Pool2dSizes& s, const A* from, long from_row, A* to, long to_row, long rows) {
  using V = Simd<A>;
  const long last = (s.ow - 1) * s.stride_w + 1 - grid_step<A>;
  for (; rows > 0; --rows, from += from_row, to += to_row)
    for (long q = 0;; q = q + grid_step<A> < last ? q + grid_step<A> : last) {
      V a, b;
      for (long r = 0; r < s.kh; ++r)
        for (long k = 0; k < s.kw; ++k) {
          const A* const at = from + q + r * s.w + k;
          const V u = V::load(at), v = V::load(at + V::width);
          a = r + k == 0 ? Fold::first(u) : Fold::next(a, u), b = r + k == 0 ? Fold::first(v) : Fold::next(b, v);
        }
      a.store(to + q), b.store(to + q + V::width);
      if (q == last) break;
    }
}

/// True if all windows divide by the same number.
constexpr bool one_divisor(const Pool2dSizes& s, bool count_include_pad) {
  return count_include_pad || (s.pad_top == 0 && s.pad_left == 0 && (s.ow - 1) * s.stride_w + s.kw <= s.w &&
                               (s.oh - 1) * s.stride_h + s.kh <= s.h);
}
/// cells[q] = cells[q] / by.
template <class A>
[[gnu::noinline]] void divide_cells(A* cells, long count, A by) {
  for (long q = 0; q < count; q += simd_width<A>) (Simd<A>::load(cells + q) / Simd<A>(by)).store(cells + q);
}

/// to[j * step] = from[j] / divisor(i, j) for row i of windows; between them may come zeros.
template <class From, class To>
[[gnu::noinline]] void divide_row(const Pool2dSizes& s, long i, const From* from, To* to, int step,
                                  bool count_include_pad) {
  using A = PoolValue<To>;
  const auto edge = [&](long j) {
    to[j * step] =
        static_cast<To>(static_cast<A>(from[j]) / static_cast<A>(divisor(s, window(s, i, j), count_include_pad)));
  };
  const bool same = one_divisor(s, count_include_pad);
  const long first = same ? 0 : whole_begin(s), last = same ? s.ow : whole_end(s), begin = first < s.ow ? first : s.ow,
             end = last > begin ? last : begin;
  for (long j = 0; j < begin; ++j) edge(j);
  if (begin < end) {
    const A whole = static_cast<A>(divisor(s, window(s, i, begin), count_include_pad));
    long j = begin;
    if constexpr (std::is_same_v<From, To> && std::is_same_v<To, A>) {
      using V = Simd<A, (simd_width<A> < 8 ? simd_width<A> : 8)>;
      while (end - begin >= V::width && j < end) {
        if (j + V::width > end) j = end - V::width;  // overlaps the one before
        const V share = V::load(from + j) / V(whole);
        if (step == 1) share.store(to + j);
        else if (step == 2)  // the zero after the last one comes before the next row
          for (int half = 0; half < 2; ++half) interleaved(share, V(A(0)), half).store(to + 2 * j + half * V::width);
        else
#pragma GCC unroll 8
          for (int lane = 0; lane < V::width; ++lane) to[(j + lane) * step] = share[lane];
        j += V::width;
      }
    }
    for (; j < end; ++j) to[j * step] = static_cast<To>(static_cast<A>(from[j]) / whole);
  }
  for (long j = end; j < s.ow; ++j) edge(j);
}

/// to = even[0], odd[0], even[1], odd[1], ..., from number `first` on, `count` of them.
template <class A, class T>
[[gnu::always_inline]] inline void interleave_row(const A* even, const A* odd, long first, T* to, long count) {
  const bool swapped = first % 2 != 0;
  const A* const of_even = (swapped ? odd : even) + first / 2;
  const A* const of_odd = (swapped ? even + 1 : odd) + first / 2;
  long c = 0;
  if constexpr (std::is_same_v<A, T>) {
    using V = Simd<A, (simd_width<A> < 8 ? simd_width<A> : 8)>;
    while (count >= 2 * V::width && c + 1 < count) {
      if (c + 2 * V::width > count) c = count / 2 * 2 - 2 * V::width;  // overlaps the one before
      for (int half = 0; half < 2; ++half, c += V::width)
        interleaved(V::load(of_even + c / 2 - half * V::width / 2), V::load(of_odd + c / 2 - half * V::width / 2), half)
            .store(to + c);
    }
  }
  for (; c + 1 < count; c += 2) to[c] = static_cast<T>(of_even[c / 2]), to[c + 1] = static_cast<T>(of_odd[c / 2]);
  if (c < count) to[c] = static_cast<T>(of_even[c / 2]);
}

/// Where the windows that hold a pixel have their shares, from `first` rows above on: of columns number `of` of
/// `parts`. `last`: the place of the window that begins at the pixel. Returns how many they are.
inline long list_shares(const Pool2dSizes& s, long first, long last, long pitch, int of, int parts,
                        long (&tap)[grid_taps]) {
  long taps = 0;
  for (long d = first; d >= 0; --d)
    for (long k = s.kw - 1; k >= 0; --k)
      if (k % parts == of) tap[taps++] = last - d * pitch - k / parts;
  return taps;
}

/// The gradient of the average: dx as a sum over the windows that hold it. A row of dx is a phase of stride_h; its taps
/// are the windows from the first that holds it, each with its share where it begins, zeros between and around them.
/// With a horizontal stride of 2 no zeros are between, but where rows are short: even and odd columns of the padded dx
/// are sums of their own. Returns false if they do not fit.
template <class T>
[[gnu::noinline]] bool gather_averages(const Pool2dSizes& s, const T* dy, T* dx, bool count_include_pad, long begin,
                                       long end) {
  using A = PoolValue<T>;
  const bool split = s.stride_w == 2 && s.w >= least_split;
  const int parts = split ? 2 : 1;
  const long above = (s.kh - 1) / s.stride_h, left = (s.kw - 1) / parts,
             grid_h = (s.pad_top + s.h - 1) / s.stride_h + 1, pitch = (split ? (s.pad_left + s.w + 1) / 2 : s.w) + left,
             room = grid_cells<A> - 2 * grid_step<A>;
  const long fitting = room / (parts * pitch) - above, rows = fitting < grid_h ? fitting : grid_h;
  if (rows < 1 || (above + 1) * s.kw > grid_taps) return false;
  const long cells = (rows + above) * pitch, together = rows < grid_h ? 1 : room / (parts * cells);
  GridCells<A> share, sums;
  for (long plane = begin; plane < end; plane += together)
    for (long a0 = 0; a0 < grid_h; a0 += rows) {
      const long band = rows < grid_h - a0 ? rows : grid_h - a0,
                 planes = together < end - plane ? together : end - plane, part = band * pitch;
      if (plane == begin || rows < grid_h) clear(share.cell, together * cells + grid_step<A>);
      for (long p = 0; p < planes; ++p)
        for (long i = a0 > above ? a0 - above : 0; i < a0 + band && i < s.oh; ++i)
          divide_row(s, i, dy + ((plane + p) * s.oh + i) * s.ow,
                     share.cell + p * cells + (i - a0 + above) * pitch + left - (split ? 0 : s.pad_left),
                     split ? 1 : s.stride_w, count_include_pad);
      long summed = -2;
      for (int phase = 0; phase < s.stride_h; ++phase) {
        const long first = phase < s.kh ? (s.kh - 1 - phase) / s.stride_h : -1;
        // else the same windows hold this row and the one above
        for (int of = 0; of < parts && first != summed; ++of) {
          long tap[grid_taps];
          const long taps = list_shares(s, first, above * pitch + left, pitch, of, parts, tap);
          for (long p = 0; p < planes; ++p)
            if (A* const to = sums.cell + (of * planes + p) * part; taps > 0)
              fold_grid<Sum>(tap, taps, share.cell + p * cells, to, part - left);
            else clear(to, part);
        }
        summed = first;
        for (long p = 0; p < planes; ++p)
          for (long a = a0; a < a0 + band; ++a)
            if (const long y = a * s.stride_h + phase - s.pad_top; y >= 0 && y < s.h) {
              const A* const from = sums.cell + p * part + (a - a0) * pitch;
              T* const to = dx + ((plane + p) * s.h + y) * s.w;
              if (split) interleave_row(from, from + planes * part, s.pad_left, to, s.w);
              else copy_row(from, to, s.w);
            }
      }
    }
  return true;
}

}  // namespace detail
}  // namespace tenon::kernel
TENON_EXACT_END
