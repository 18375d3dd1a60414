// The gradient of a convolution for its weight: lanes are output channels, so that the image is read where it lies.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/depthwise.hpp>
#include <tenon/backend/cpu/conv/weight_gradient_plan.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/conv/direct.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Independent parts of the weight's gradient: blocks of taps times blocks of output channels.
constexpr long conv2d_backward_weight_items(const Conv2dSizes& s) {
  const detail::WeightPlan p = detail::weight_plan<float>(detail::fewer_lanes(s));
  return s.groups * p.column_blocks * p.row_blocks;
}
/// Bytes of scratch that one thread needs, aligned to 64 bytes.
template <class T>
constexpr std::size_t conv2d_backward_weight_workspace(const Conv2dSizes& s) {
  if (std::is_same_v<T, float> && is_depthwise(s)) return depthwise_backward_weight_workspace(s);
  const Conv2dSizes sizes = detail::fewer_lanes(s);
  return detail::weight_scratch<T>(detail::weight_plan<T>(sizes), sizes).total;
}

/// dw(o, c, r, k) = chain of fmadd over (sample, i, j) ascending, from +0, of x at the tap (zero in the padding) *
/// dy(sample, o, i, j); rounded once to T, of float32 (and of bfloat16, where its sizes let pixels in the padding be
/// left out) + 0. bfloat16 goes over pairs of samples, of which the second comes first at each (i, j). float32: chains
/// over the pixel_segments of dy in each sample, one after the other, then the samples (backend/order.hpp). Computes
/// the parts [begin, end) of conv2d_backward_weight_items; n = 0 gives zeros.
/// `depthwise`: whether the sizes can be those of such a convolution, whose kernel is another one; the compiled part
/// has `true` only.
template <class T, bool depthwise = true>
void conv2d_backward_weight(const Conv2dSizes& sizes, const T* x, const T* dy, T* dw, long begin, long end,
                            void* workspace);

#if TENON_DEFINES
namespace detail {
// to[j * pitch + i] = the pair of first[i * row + j] and second[i * row + j] for i < rows, and zero up to the pitch; no
// second: zero.
[[gnu::noinline]] inline void transpose_pairs(const bfloat16* first, const bfloat16* second, long row, Bfloat16Pair* to,
                                              long pitch, long rows, long columns) {
  constexpr int side = simd_width<float> < 8 ? simd_width<float> : 8;
  long i = 0;
  for (; i + side <= rows; i += side) {
    long j = 0;
    for (; j + side <= columns; j += side) {
      Simd<Bfloat16Pair, side> square[side];
#pragma GCC unroll 8
      for (int s = 0; s < side; ++s)
        square[s] = load_pairs<side>(first + (i + s) * row + j, second ? second + (i + s) * row + j : nullptr);
      transpose_lanes(square);
#pragma GCC unroll 8
      for (int s = 0; s < side; ++s) square[s].store(to + (j + s) * pitch + i);
    }
    for (; j < columns; ++j)
      for (int s = 0; s < side; ++s)
        to[j * pitch + i + s] = one_pair(first + (i + s) * row + j, second ? second + (i + s) * row + j : nullptr);
  }
  for (long j = 0; j < columns; ++j) {
    for (long k = i; k < rows; ++k)
      to[j * pitch + k] = one_pair(first + k * row + j, second ? second + k * row + j : nullptr);
    for (long k = rows; k < pitch; ++k) to[j * pitch + k] = 0;
  }
}

template <class T>
class WeightGradient {
  using A = ProductSum<T>;
  using P = Packed<T>;
  static constexpr long unit = steps_per_unit<T>;  // samples that are taken together

 public:
  WeightGradient(const Conv2dSizes& s, const WeightPlan& plan, const T* dy, void* workspace)
      : s_(s),
        plan_(plan),
        leaves_out_(plan.leaves_out && all_finite(dy, s.n * s.o * s.oh * s.ow)),
        in_place_(plan.in_place || (leaves_out_ && better_in_place<T>(s))),
        lists_(leaves_out_ ? s.taps() : 1),
        at_(weight_scratch<T>(plan, s, workspace)),
        blocks_(weight_levels<A>(s.n) - 1),
        pixels_(at_.image) {}

  /// Rows row0 .. row0 + rows - 1 and channels o0 .. o0 + columns - 1 of a group, over all samples.
  [[gnu::noinline]] void run(const T* x, const T* dy, T* dw, long group, long row0, long rows, long o0, long columns,
                             bool swapped) {
    const long first_plane = row0 / s_.taps(), planes = (row0 + rows - 1) / s_.taps() - first_plane + 1;
    Padded image = in_place_ ? unpadded(s_) : plan_.image;
    image.planes = planes;
    const long corner = in_place_ ? s_.pad_top * image.pitch + s_.pad_left : 0;  // of the padding, before the image
    for (long i = 0; i < rows; ++i) {
      if (i >= s_.taps()) {  // the same tap one plane later: divisions are slow
        at_.row[i] = at_.row[i - s_.taps()] + std::int32_t(image.plane());
        continue;
      }
      const long plane = (row0 + i) / s_.taps() - first_plane, tap = (row0 + i) % s_.taps();
      at_.row[i] = std::int32_t(image.offset(plane, tap / s_.kw * s_.dilation_h, tap % s_.kw * s_.dilation_w) - corner);
    }
    const long pitch = round_up(columns, tile_step<A>), o = group * plan_.columns + o0;
    const long pixels = plan_.band * s_.ow, pixel_h = (in_place_ ? s_.stride_h : 1) * image.pitch;
    sort_rows(row0, rows);
    if (s_.n == 0) clear(at_.level[0], rows * pitch);
    listed_ = 0;
    const T* const images = x + (group * s_.group_inputs() + first_plane) * s_.h * s_.w;
    const long visited = unit * plan_.images;  // samples
    for (long sample = 0; sample < s_.n; sample += visited) {
      for (long y = 0; y < s_.oh; y += plan_.band) {
        const long band = plan_.band < s_.oh - y ? plan_.band : s_.oh - y;
        if (!in_place_ && ((sample == 0 && y == 0) || plan_.band < s_.oh))
          clear(at_.image, plan_.images * image.elements());
        if (band != listed_ || (leaves_out_ && plan_.band < s_.oh))
          list_pixels(image.elements(), y, band, pixel_h, pitch);
        long count = 0;
        for (long own = sample; own < sample + visited && own < s_.n; ++count, own += unit) {
          const bool second = own + 1 < s_.n;
          const T* const from = images + own * s_.c * s_.h * s_.w;
          if constexpr (std::is_same_v<T, P>)
            if (count == 0) pixels_ = in_place_ ? from + y * pixel_h : at_.image;
          if (!in_place_)
            fill_padded(image, {s_.h * s_.w, s_.c * s_.h * s_.w, second ? planes : 0}, from, y * image.step_h,
                        at_.image + count * image.elements());
          fill_panel(dy + ((own * s_.o + o) * s_.oh + y) * s_.ow, second, at_.panel + count * pixels * pitch, pitch,
                     band * s_.ow, columns);
        }
        add(count, rows, pitch, y > 0 || (sample > 0 && !std::is_same_v<T, float>));
      }
      if constexpr (std::is_same_v<T, float>) join_sample(sample, sample + visited >= s_.n, rows * pitch);
    }
    if (!std::is_same_v<T, float> && plan_.leaves_out) clear_signs(rows * pitch);
    if (swapped)
      copy_matrix(at_.level[0], pitch, 1, dw + (group * plan_.rows + row0) * plan_.columns + o0, plan_.columns, rows,
                  columns, 0);
    else copy_matrix(at_.level[0], 1, pitch, dw + o * plan_.rows + row0, plan_.rows, columns, rows, 0);
  }

 private:
  void fill_panel(const T* from, [[maybe_unused]] bool second, P* to, long pitch, long pixels, long columns) const {
    if constexpr (unit == 2)
      transpose_pairs(from, second ? from + s_.o * s_.oh * s_.ow : nullptr, s_.oh * s_.ow, to, pitch, columns, pixels);
    else copy_matrix(from, 1, s_.oh * s_.ow, to, pitch, pixels, columns, pitch);
  }
  // Joins sums[0], the part number `index` of a block of samples, with those before it, in the order of
  // backend/cpu/nchw16n/layout.hpp: sums[1 + l] holds 2^l parts until their neighbours are there as well.
  static void join(A** sums, long index, bool last, long count) {
    int level = 0;
    for (long bits = index; bits & 1; bits >>= 1) add_sums(sums[++level], sums[0], count);
    if (!last) return std::swap(sums[0], sums[level + 1]);
    for (long bits = index >> level >> 1; bits; bits >>= 1)
      if (++level; bits & 1) add_sums(sums[level + 1], sums[0], count);
  }
  [[gnu::noinline]] static void add_sums(const A* from, A* to, long count) {
    using V = Simd<A, tile_step<A>>;
    for (long i = 0; i < count; i += V::width) (V::load(from + i) + V::load(to + i)).store(to + i);
  }
  // The sums of a sample are complete.
  void join_sample(long sample, bool last, long count) {
    const long index = sample % block_samples;
    const bool whole = last || index == block_samples - 1;
    join(at_.level, index, whole, count);
    if (!whole) return;
    if (sample >= block_samples) add_sums(at_.level[blocks_], at_.level[0], count);
    if (!last) return std::swap(at_.level[0], at_.level[blocks_]);
    clear_signs(count);
  }
  // + 0, which clears the sign of a zero: it may depend on pixels that are left out.
  void clear_signs(long count) {
    using V = Simd<A, tile_step<A>>;
    for (long i = 0; i < count; i += V::width) (V::load(at_.level[0] + i) + V(A(0))).store(at_.level[0] + i);
  }
  // Rows sorted by their tap, if those of a tap go together.
  void sort_rows(long row0, long rows) {
    row0_ = row0;
    std::int32_t* to = sorted_ = leaves_out_ ? at_.row + plan_.pass * tile_rows : at_.row;
    for (long list = 0; list < lists_ && leaves_out_; ++list)
      for (long i = first_row(list); i < rows; i += lists_) *to++ = at_.row[i];
  }
  // The first row of a list; those of a list are lists_ apart if there are several.
  long first_row(long list) const { return leaves_out_ ? (list + lists_ - row0_ % lists_) % lists_ : 0; }
  // The pixels of rows y0 .. y0 + band - 1 of the result, those of several images one after the other: all, or for
  // each tap those for which it meets no padding.
  [[gnu::noinline]] void list_pixels(long image, long y0, long band, long pixel_h, long pitch) {
    listed_ = band;
    const long pixels = band * s_.ow, pixel_w = in_place_ ? s_.stride_w : 1;
    for (long list = 0; list < lists_; ++list) {
      Tap *const begin = pixels_of(list), *to = begin;
      std::int32_t* border = borders_of(list);
      const long row = list / s_.kw * s_.dilation_h - s_.pad_top, column = list % s_.kw * s_.dilation_w - s_.pad_left;
      const auto meets = [](long at, long extent) { return at >= 0 && at < extent; };
      for (long k = 0; k < plan_.images; ++k) {
        for (long y = 0; y < band; ++y)
          for (long x = 0; x < s_.ow; ++x) {
            if (plan_.segments && y % plan_.segment.rows == 0 && x % plan_.segment.columns == 0)
              *border++ = std::int32_t(to - begin);
            if (!leaves_out_ || (meets((y0 + y) * s_.stride_h + row, s_.h) && meets(x * s_.stride_w + column, s_.w)))
              *to++ = {std::int32_t(k * image + y * pixel_h + x * pixel_w),
                       std::int32_t((k * pixels + y * s_.ow + x) * pitch)};
          }
        if (k == 0) each_[list] = to - begin;
      }
      if (plan_.segments) *border = std::int32_t(to - begin);
    }
  }
  Tap* pixels_of(long list) const { return at_.taps + list * plan_.images * plan_.band * s_.ow; }
  std::int32_t* borders_of(long list) const { return at_.border + list * weight_borders(plan_); }
  // A tile of the pixels of a list, chain after chain. `add`: the first one, too, is added to what is there.
  long run_chains(Tile<A, P> tile, long list, int rows, long columns) const {
    const std::int32_t* border = borders_of(list);
    const Tap* const pixels = tile.taps;
    for (long left = ceil_div(listed_, plan_.segment.rows) * plan_.segment.side_by_side();; ++border, tile.add = true) {
      tile.taps = pixels + border[0], tile.count = border[1] - border[0];
      const long covered = run_tile(tile, rows, columns);
      if (--left == 0) return covered;
    }
  }
  // Calls body(list, rows' pixels, first row, rows, distance of rows) for each tile.
  template <class Body>
  void each_tile(long rows, Body&& body) const {
    const std::int32_t* row = sorted_;
    const long apart = leaves_out_ ? lists_ : 1;
    for (long list = 0; list < lists_; ++list) {
      const long first = first_row(list), of_list = first < rows ? ceil_div(rows - first, apart) : 0,
                 blocks = ceil_div(of_list, tile_rows);
      for (long block = 0; block < blocks; ++block) {
        const long i = border(of_list, blocks, block), own = border(of_list, blocks, block + 1) - i;
        body(list, row + i, first + i * apart, own, apart);
      }
      row += of_list;
    }
  }
  // The sums of `count` images.
  void add(long count, long rows, long pitch, bool resume) {
    each_tile(rows, [&](long list, const std::int32_t* row, long i, long own, long apart) {
      for (long j = 0; j < pitch;) {
        const Tile<A, P> tile{
            pixels_of(list),         count * each_[list],          pixels_,       row,
            at_.panel + j,           at_.level[0] + i * pitch + j, apart * pitch, resume && !plan_.segments,
            resume && plan_.segments};
        const long width = filled_columns<A>(pitch - j);
        j += plan_.segments ? run_chains(tile, list, int(own), width) : run_tile(tile, int(own), width);
      }
    });
  }

  const Conv2dSizes& s_;
  const WeightPlan& plan_;
  bool leaves_out_;  // with finite dy pixels in the padding change nothing but the sign of a zero
  bool in_place_;    // no tap meets padding, or pixels for which it does are left out
  long lists_, row0_ = 0, each_[most_lists]{};  // lists of pixels: one, or one per tap; their steps per image
  long listed_ = 0;                             // rows that they are for: where they begin matters to padding only
  WeightScratch<T> at_;                         // its levels change places
  std::int32_t* sorted_ = nullptr;
  int blocks_;       // the level of all blocks
  const P* pixels_;  // in the image, or in x itself
};
}  // namespace detail

namespace detail {
// As conv2d_backward_weight, of fewer_lanes() and their plan. swapped: x and dy have changed places.
template <class T>
[[gnu::always_inline]] inline void weight_by(const Conv2dSizes& s, const WeightPlan& plan, bool swapped, const T* x,
                                             const T* dy, T* dw, long begin, long end, void* workspace) {
  WeightGradient<T> gradient(s, plan, dy, workspace);
  for (long item = begin; item < end;) {
    const long block = item % plan.row_blocks, rest = item / plan.row_blocks, left = plan.row_blocks - block,
               column = rest % plan.column_blocks;
    // Several blocks of columns together, if all of their rows are to be computed, or those of one.
    long together = block > 0 ? 1 : (end - item) / plan.row_blocks;
    together = together < plan.together ? together : plan.together;
    together = together < plan.column_blocks - column ? together : plan.column_blocks - column;
    const long all = together > 1 ? plan.row_blocks : end - item < left ? end - item : left;
    const long o0 = border(plan.columns, plan.column_blocks, column),
               o1 = border(plan.columns, plan.column_blocks, column + (together > 1 ? together : 1));
    for (long first = block, run; first < block + all; first += run) {
      run = block + all - first < plan.pass ? block + all - first : plan.pass;
      const long row0 = border(plan.rows, plan.row_blocks, first),
                 rows = border(plan.rows, plan.row_blocks, first + run) - row0;
      gradient.run(x, dy, dw, rest / plan.column_blocks, row0, rows, o0, o1 - o0, swapped);
    }
    item += together > 1 ? together * plan.row_blocks : all;
  }
}
}  // namespace detail

template <class T, bool depthwise>
void conv2d_backward_weight(const Conv2dSizes& sizes, const T* x, const T* dy, T* dw, long begin, long end,
                            void* workspace) {
  const Conv2dSizes s = detail::fewer_lanes(sizes);
  const bool swapped = s.c != sizes.c;
  if (swapped) std::swap(x, dy);
  const detail::WeightPlan plan = detail::weight_plan<T>(s);
  if constexpr (depthwise && std::is_same_v<T, float>)
    if (is_depthwise(s)) {  // a channel belongs to its first part
      const long parts = plan.column_blocks * plan.row_blocks;
      return depthwise_backward_weight(s, x, dy, dw, ceil_div(begin, parts), ceil_div(end, parts), workspace);
    }
  detail::weight_by(s, plan, swapped, x, dy, dw, begin, end, workspace);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
