// Padding: the image that a convolution reads: zeros around it, and with a stride its rows and columns sorted by
// remainder, so that the neighbours of an output pixel always lie in neighbouring elements.
#pragma once
#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/gemm/pack.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Some rows of all planes of an image [planes, h, w], padded and sorted by phase. A pixel (y, x) in padded
/// coordinates, counted from the first row that is held, is element offset(plane, y, x); pixel (y, x + step_w) is the
/// next element. Instead of phases of columns there may be copies: copy k begins at column k * copy_step, and x is
/// that.
struct Padded {
  long planes, h, w, top, left;            // top, left: zeros before the first row and column
  int step_h, step_w, phases_h, phases_w;  // only the first phases_* of the step_* remainders are kept
  long rows, pitch;                        // of one phase
  long copy_step = 0;                      // 0: phases_w phases, otherwise as many copies

  constexpr long plane() const { return rows * pitch * phases_h * phases_w; }
  constexpr long elements() const { return planes * plane(); }
  constexpr long offset(long p, long y, long x) const {
    const long place = copy_step ? x / copy_step * rows * pitch : x % step_w * rows * pitch + x / step_w;
    return p * plane() + (y % step_h * phases_w * rows + y / step_h) * pitch + place;
  }
};

/// Where the planes of an image come from: plane p from element p * step on. Of pairs, the second ones lie `distance`
/// further; the first `seconds` planes have such, the others 0 instead.
struct PlaneSource {
  long step, distance = 0, seconds = 0;
};

/// Copies the rows from padded row `first` (a multiple of step_h) into `to`, widened or in pairs. Writes nothing where
/// the padding is: the caller has cleared it, once if the same rows are filled again and again. Leaves out the planes
/// before plane0 and from plane1 on.
template <class T, class To>
[[gnu::noinline]] void fill_padded(const Padded& s, const PlaneSource& source, const T* from, long first, To* to,
                                   long plane0, long plane1);
template <class T, class To>
void fill_padded(const Padded& s, const PlaneSource& source, const T* from, long first, To* to) {
  fill_padded(s, source, from, first, to, 0, s.planes);
}

#if TENON_DEFINES
namespace detail {
// to[j] = from[j * step]. `after`: the element after the last one may be read.
template <class T, class To>
inline void copy_strided(const T* from, long step, To* to, long n, [[maybe_unused]] bool after) {
  long j = 0;
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<T, To>) {
    const long whole = after ? n : n - 1;
    const auto vectors = [&]<int width>(std::integral_constant<int, width>) __attribute__((always_inline)) {
      using V = Simd<T, width>;
      const auto one = [&](long i) __attribute__((always_inline)) {
        every_second(V::load(from + 2 * i), V::load(from + 2 * i + width), 0).store(to + i);
      };
      for (; j + width < whole; j += width) one(j);
      one(whole - width), j = whole;  // overlaps the one before
    };
    constexpr int width = simd_width<T>;
    if (step == 2 && whole >= width) vectors(std::integral_constant<int, width>());
    else if (step == 2 && whole >= 4) vectors(std::integral_constant<int, (width < 4 ? width : 4)>());
  }
  for (; j < n; ++j) to[j] = widened(from[j * step]);
}
// Rows of `count` elements each.
template <class T, class To>
inline void copy_rows_apart(const T* from, long from_step, To* to, long to_step, long rows, long count) {
  for (long i = 0; i < rows; ++i, from += from_step, to += to_step) copy_row(from, to, count);
}
}  // namespace detail

template <class T, class To>
void fill_padded(const Padded& s, const PlaneSource& source, const T* from, long first, To* to, long plane0,
                 long plane1) {
  const auto steps = [](long pixels, long step) { return step == 1 ? pixels : ceil_div(pixels, step); };
  to += plane0 * s.plane();
  for (long p = plane0; p < plane1; ++p)
    for (int ph = 0; ph < s.phases_h; ++ph)
      for (int pw = 0; pw < s.phases_w; ++pw) {
        // columns j with 0 <= j * step_w - lead < w
        const long lead = s.left - pw * (s.copy_step ? s.copy_step : 1), begin = lead > 0 ? steps(lead, s.step_w) : 0;
        const long count = lead + s.w > 0 ? steps(lead + s.w, s.step_w) : 0, end = count < s.pitch ? count : s.pitch;
        // rows i with 0 <= above + i * step_h < h
        const long above = first + ph - s.top, top = above < 0 ? steps(-above, s.step_h) : 0,
                   held = above < s.h && begin < end ? steps(s.h - above, s.step_h) : 0,
                   bottom = held < s.rows ? held : s.rows;
        if constexpr (elements_per_lane<T, To> == 1)
          if (s.step_w == 1) {
            detail::copy_rows_apart(from + p * source.step + (above + top * s.step_h) * s.w - lead + begin,
                                    s.step_h * s.w, to + top * s.pitch + begin, s.pitch, bottom - top, end - begin);
            to += s.rows * s.pitch;
            continue;
          }
        for (long i = 0; i < s.rows; ++i, to += s.pitch) {
          const long y = above + i * s.step_h;
          if (i < top || i >= bottom) continue;
          const T* const row = from + p * source.step + y * s.w - lead;
          if constexpr (elements_per_lane<T, To> == 2) {
            const T* const second = p < source.seconds ? row + source.distance : nullptr;
            if (s.step_w == 1)
              pack_short_pairs(row + begin, second ? second + begin : nullptr, end - begin, to + begin);
            else if (s.step_w == 2)
              pack_every_second(row + 2 * begin, second ? second + 2 * begin : nullptr, end - begin, 2 * begin > lead,
                                2 * end - 1 - lead < s.w, to + begin);
            else
              for (long j = begin; j < end; ++j)
                to[j] = one_pair(row + j * s.step_w, second ? second + j * s.step_w : nullptr);
          } else
            detail::copy_strided(row + begin * s.step_w, s.step_w, to + begin, end - begin, 2 * end - 1 - lead < s.w);
        }
      }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
