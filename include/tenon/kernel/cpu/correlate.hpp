// What convolution and its gradients share: the sizes, and the correlation of a padded image with the taps of a kernel.
#pragma once
#include <cstddef>

#include <tenon/kernel/cpu/padded.hpp>
#include <tenon/kernel/cpu/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// x [n,c,h,w], weight [o, c/groups, kh, kw], y [n,o,oh,ow]; padding below and to the right follows from oh and ow.
struct Conv2dSizes {
  long n, c, h, w, o, oh, ow;
  int kh, kw, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w, groups;

  constexpr long taps() const { return long(kh) * kw; }
  constexpr long group_inputs() const { return c / groups; }
  constexpr long group_outputs() const { return o / groups; }
};

namespace detail {
/// True if no element is infinite or NaN.
[[gnu::noinline]] inline bool all_finite(const float* x, long count) {
  using V = Simd<float>;
  V sum(0.0f);
  float rest = 0;
  long i = 0;
  for (; i + V::width <= count; i += V::width) sum = sum + V::load(x + i) * V(0.0f);
  for (int lane = 0; lane < V::width; ++lane) rest += sum[lane];
  for (; i < count; ++i) rest += x[i] * 0.0f;
  return rest == 0;
}

inline constexpr long conv_columns = 1024, conv_image_bytes = 512 << 10;

// A convolution and its gradient for the input are the same computation, a correlation:
//   result(row, i * step_h + phase_h, j * step_w + phase_w) = chain over the taps of that phase of weight * image(plane, i + .., j + ..)
// The convolution has one phase and an image sorted by stride; the gradient has stride_h * stride_w phases, so that the
// zeros which a stride puts between the elements of dy are never multiplied.
struct Correlation {
  Padded image;         // planes: input channels of one group
  int step_h, step_w;   // phases of the result
  long height, width;   // of the result
  long grid_h, grid_w;  // of one phase, the larger ones
  long band;            // rows of the grid per pass
  long rows, row_step;  // result channels of one group; distance of their weights
  long steps;           // of all phases together
  long kernel_h, kernel_w;      // taps of a plane, rows by columns; of one phase only
  long first_row, row_distance; // of the padded image that the taps of kernel row 0 meet for row 0 of the result; from there to those of the next
  bool by_rows;                 // a tile for each row of the result
  long row_blocks;      // items per sample and group
};

template <class A>
constexpr void choose_band(Correlation& c, long more_rows) {
  const long row_bytes = c.image.planes * c.image.phases_h * c.image.phases_w * c.image.pitch * long(sizeof(A));
  long band = conv_columns / c.image.pitch;
  const long fitting = conv_image_bytes / row_bytes - more_rows;
  if (band > fitting) band = fitting;
  if (band > c.grid_h) band = c.grid_h;
  c.band = band < 1 ? 1 : band;
  c.image.rows = c.band + more_rows;
}

// Tiles of neighbouring columns go on from row to row, through the columns between rows. Tiles of one row each waste other lanes, but
// leave out the taps that meet only rows of padding. Which of the two is less work?
template <class A>
constexpr void choose_tiles(Correlation& c) {
  constexpr long width = simd_width<A>, step = tile_step<A>;
  if (!std::is_same_v<A, float> || c.grid_w > width || c.image.step_h * c.image.step_w * c.step_h * c.step_w != 1) return;
  if (c.grid_w <= step) return;  // narrow tiles are slow
  const long together = round_up((c.grid_h - 1) * c.image.pitch + c.grid_w, step) * c.kernel_h;
  long met = 0;  // rows of taps that meet the image, for all rows of the result
  for (long r = 0; r < c.kernel_h; ++r) {
    const long first = c.image.top - c.first_row - r * c.row_distance, begin = first > 0 ? first : 0, last = first + c.image.h, end = last < c.grid_h ? last : c.grid_h;
    met += end > begin ? end - begin : 0;
  }
  const long chains = ceil_div(c.rows, c.row_blocks), needed = simd_bytes == 64 ? 4 : 8;  // to hide the latency of an addition
  c.by_rows = width * met * (chains < needed ? needed : chains) < together * chains;
}

// Remainders by the stride that the taps of a kernel meet.
constexpr int phases(int kernel, int stride, int dilation) { return dilation == 1 && kernel < stride ? kernel : stride; }

template <class A>
constexpr Correlation forward(const Conv2dSizes& s) {
  Correlation c{};
  const long reach_h = long(s.kh - 1) * s.dilation_h, reach_w = long(s.kw - 1) * s.dilation_w;
  c.image = {s.group_inputs(),
             s.h,
             s.w,
             s.pad_top,
             s.pad_left,
             s.stride_h,
             s.stride_w,
             phases(s.kh, s.stride_h, s.dilation_h),
             phases(s.kw, s.stride_w, s.dilation_w),
             0,
             s.ow + reach_w / s.stride_w};
  c.step_h = c.step_w = 1;
  c.height = c.grid_h = s.oh, c.width = c.grid_w = s.ow;
  c.rows = s.group_outputs(), c.row_step = s.group_inputs() * s.taps(), c.steps = c.row_step;
  c.row_blocks = ceil_div(c.rows, tile_rows);
  c.kernel_h = s.kh, c.kernel_w = s.kw, c.first_row = 0, c.row_distance = s.dilation_h;
  choose_band<A>(c, reach_h / s.stride_h);
  choose_tiles<A>(c);
  return c;
}

// Tap r of the input's gradient: row i * stride + phase of dx meets row i + (phase + pad - r * dilation) / stride of dy.
struct Reach {
  long before, after;  // zeros needed around dy
};
constexpr Reach reach(int kernel, int stride, int pad, int dilation) {
  const long back = long(kernel - 1) * dilation - pad, ahead = stride - 1 + pad;
  return {back > 0 ? back / stride : 0, ahead > 0 ? ahead / stride : 0};
}

template <class A>
constexpr Correlation backward_input(const Conv2dSizes& s) {
  Correlation c{};
  const Reach h = reach(s.kh, s.stride_h, s.pad_top, s.dilation_h), w = reach(s.kw, s.stride_w, s.pad_left, s.dilation_w);
  c.step_h = s.stride_h, c.step_w = s.stride_w;
  c.height = s.h, c.width = s.w;
  c.grid_h = ceil_div(s.h, s.stride_h), c.grid_w = ceil_div(s.w, s.stride_w);
  c.image = {s.group_outputs(), s.oh, s.ow, h.before, w.before, 1, 1, 1, 1, 0, c.grid_w + w.before + w.after};
  c.rows = s.group_inputs(), c.row_step = s.taps(), c.steps = s.group_outputs() * s.taps();
  c.row_blocks = ceil_div(c.rows, tile_rows);
  c.kernel_h = s.kh, c.kernel_w = s.kw, c.first_row = s.pad_top + h.before, c.row_distance = -s.dilation_h;
  choose_band<A>(c, h.before + h.after);
  choose_tiles<A>(c);
  return c;
}

// Elements that a tile may read beyond the last column, and the columns of the sums of one band.
template <class A>
inline constexpr long conv_slack = tile_columns<A>(1);
template <class A>
constexpr long sums_pitch(const Correlation& c) {
  return round_up((c.band - 1) * c.image.pitch + c.grid_w + simd_width<A>, tile_columns<A>(1));
}

// Parts of the workspace, in bytes from its start. 16-bit floats and integers need their weights widened first.
struct ConvScratch {
  std::size_t starts, list, source, sums, weight, image, total;
};
template <class T>
constexpr ConvScratch conv_scratch(const Correlation& c) {
  using A = Compute<T>;
  constexpr bool widen = !std::is_same_v<A, T>;
  const auto bytes = [](long elements, std::size_t size) { return std::size_t(round_up(elements * long(size), 64)); };
  ConvScratch s{};
  s.starts = bytes(c.steps, sizeof(Tap));
  s.list = s.starts + bytes(long(c.step_h) * c.step_w + 1, sizeof(long));
  s.source = s.list + (c.by_rows ? bytes(c.steps, sizeof(Tap)) : 0);
  s.sums = s.source + (widen ? bytes(c.steps, sizeof(std::int32_t)) : 0);
  s.weight = s.sums + bytes(tile_rows * sums_pitch<A>(c), sizeof(A));
  s.image = s.weight + (widen ? bytes(tile_rows * c.steps, sizeof(A)) : 0);
  s.total = s.image + bytes(c.image.elements() + conv_slack<A>, sizeof(A));
  return s;
}

template <class T>
class Correlator {
  using A = Compute<T>;
  static constexpr bool widen = !std::is_same_v<A, T>;

 public:
  Correlator(const Correlation& c, void* workspace) : c_(c), pitch_(sums_pitch<A>(c)) {
    const ConvScratch scratch = conv_scratch<T>(c);
    char* const base = static_cast<char*>(workspace);
    taps_ = reinterpret_cast<Tap*>(base);
    starts_ = reinterpret_cast<long*>(base + scratch.starts);
    list_ = reinterpret_cast<Tap*>(base + scratch.list);
    source_ = reinterpret_cast<std::int32_t*>(base + scratch.source);
    sums_ = reinterpret_cast<A*>(base + scratch.sums);
    weight_ = reinterpret_cast<A*>(base + scratch.weight);
    image_ = reinterpret_cast<A*>(base + scratch.image);
    starts_[0] = 0;
  }

  /// Appends a tap to the phase that is being described: where its weight is, where its pixel is.
  void add(long weight, long pixel) {
    const auto at = std::int32_t(widen ? count_ - starts_[phase_] : weight);
    if (widen) source_[count_] = std::int32_t(weight);
    taps_[count_++] = {at, std::int32_t(pixel)};
  }
  /// Repeats the taps of this phase, which are those of plane 0, for the other planes: divisions are slow, and a tap needs several.
  void repeat_for_planes(long weight_step) {
    const long first = starts_[phase_], each = count_ - first;
    for (long p = 1; p < c_.image.planes; ++p)
      for (long t = first; t < first + each; ++t) add((widen ? source_[t] : taps_[t].a) + p * weight_step, taps_[t].b + p * c_.image.plane());
  }
  void end_phase() { starts_[++phase_] = count_; }
  /// Lets taps that meet only padding be left out: with finite weights they change nothing but the sign of a zero, which the final + 0 clears.
  void leave_out_padding() { finite_ = true; }

  /// Result channels row0 .. row0 + rows - 1 of one sample and group. weight: of row0; from: the group's planes; to: plane of row0.
  [[gnu::noinline]] void run(const T* weight, const T* from, T* to, long rows) {
    const long blocks = ceil_div(rows, tile_rows);
    for (long i0 = 0; i0 < c_.grid_h; i0 += c_.band) {
      if (!cleared_ || c_.band < c_.grid_h) clear(image_, c_.image.elements() + conv_slack<A>);
      cleared_ = true;
      fill_padded(c_.image, from, i0 * c_.image.step_h, image_);
      for (long block = 0; block < blocks; ++block) {
        const long r = border(rows, blocks, block), count = border(rows, blocks, block + 1) - r;
        for (int phase = 0; phase < c_.step_h * c_.step_w; ++phase) run_phase(weight + r * c_.row_step, to + r * c_.height * c_.width, int(count), i0, phase);
      }
    }
  }

 private:
  void run_phase(const T* weight, T* to, int rows, long i0, int phase) {
    const int phase_h = phase / c_.step_w, phase_w = phase % c_.step_w;
    const long grid_h = ceil_div(c_.height - phase_h, c_.step_h), grid_w = ceil_div(c_.width - phase_w, c_.step_w);
    const long band = c_.band < grid_h - i0 ? c_.band : grid_h - i0;
    if (band <= 0 || grid_w <= 0) return;
    const long first = starts_[phase], count = starts_[phase + 1] - first;
    std::int32_t row[tile_rows];
    const A* operand = weight_;
    for (int i = 0; i < tile_rows; ++i) row[i] = std::int32_t(widen ? i * count : i * c_.row_step);
    if constexpr (widen) {
      for (int i = 0; i < rows; ++i)
        for (long t = 0; t < count; ++t) weight_[i * count + t] = widened(weight[i * c_.row_step + source_[first + t]]);
    } else {
      operand = weight;
    }
    const long columns = (band - 1) * c_.image.pitch + grid_w;
    if (c_.by_rows) run_rows(Tile<A>{taps_, count, operand, row, image_, sums_, pitch_, false}, rows, i0, band);
    else
      for (long q = 0; q < columns;) q += run_tile(Tile<A>{taps_ + first, count, operand, row, image_ + q, sums_ + q, pitch_, false}, rows, columns - q);
    for (int i = 0; i < rows; ++i)
      for (long y = 0; y < band; ++y) {
        T* const out = to + (i * c_.height + (i0 + y) * c_.step_h + phase_h) * c_.width + phase_w;
        const A* const sums = sums_ + i * pitch_ + y * c_.image.pitch;
        if (c_.step_w == 1) copy_sums(sums, out, grid_w);
        else
          for (long x = 0; x < grid_w; ++x) out[x * c_.step_w] = narrowed<T>(plus_zero(sums[x]));
      }
  }

  // Rows i0 .. i0 + band - 1 of the result, a tile each.
  [[gnu::noinline]] void run_rows(Tile<A> tile, int rows, long i0, long band) {
    const long kh = c_.kernel_h;
    long begin = 0, end = kh;  // rows of taps in the tile's list
    for (long i = i0; i < i0 + band; ++i, tile.b += c_.image.pitch, tile.out += c_.image.pitch) {
      const auto meets = [&](long r) {
        const long y = i + c_.first_row + r * c_.row_distance - c_.image.top;
        return !finite_ || (y >= 0 && y < c_.image.h);
      };
      long from = 0, to = kh;
      while (from < to && !meets(from)) ++from;
      while (from < to && !meets(to - 1)) --to;
      if (from != begin || to != end) list_taps(tile, begin = from, end = to);
      run_tile(tile, rows, c_.grid_w);
    }
  }
  // The taps of kernel rows begin .. end - 1.
  void list_taps(Tile<A>& tile, long begin, long end) {
    const long kh = c_.kernel_h, kw = c_.kernel_w;
    tile.taps = end - begin == kh ? taps_ : list_;
    tile.count = (end - begin) * kw * c_.image.planes;
    if (end - begin == kh) return;
    Tap* to = list_;
    for (long p = 0; p < c_.image.planes; ++p)
      for (const Tap *tap = taps_ + (p * kh + begin) * kw, *last = taps_ + (p * kh + end) * kw; tap != last; ++tap) *to++ = *tap;
  }

  // float32 ends with + 0, as on blocks of samples: it clears the sign of a zero, which may depend on taps that meet padding.
  template <class V>
  [[gnu::always_inline]] static V plus_zero(V sum) {
    if constexpr (std::is_same_v<T, float>) return sum + V(0.0f);
    else return sum;
  }
  static void copy_sums(const A* sums, T* out, long count) {
    if constexpr (std::is_same_v<T, float>) {
      using V = Simd<float>;
      using Half = Simd<float, (V::width < packed_rows ? V::width : packed_rows / 2)>;
      const auto vectors = [&]<class W>(W) __attribute__((always_inline)) {  // the last one overlaps the one before it
        for (long x = 0; x + W::width < count; x += W::width) plus_zero(W::load(sums + x)).store(out + x);
        plus_zero(W::load(sums + count - W::width)).store(out + count - W::width);
      };
      if (count >= V::width) vectors(V());
      else if (count >= Half::width) vectors(Half());
      else
        for (long x = 0; x < count; ++x) out[x] = plus_zero(sums[x]);
    } else {
      kernel::copy_row(sums, out, count);
    }
  }

  const Correlation& c_;
  long pitch_, count_ = 0;
  int phase_ = 0;
  bool cleared_ = false;  // the padding stays zero as long as one band holds the whole image
  bool finite_ = false;
  Tap *taps_, *list_;
  long* starts_;
  std::int32_t* source_;
  A *sums_, *weight_, *image_;
};

// Walks the items [begin, end): neighbouring row blocks of one sample and group go in one call of body(sample, group, row0, rows).
template <class Geometry, class Body>
[[gnu::always_inline]] inline void each_run(const Geometry& c, int groups, long begin, long end, Body&& body) {
  for (long item = begin; item < end;) {
    const long block = item % c.row_blocks, plane = item / c.row_blocks;
    const long left = c.row_blocks - block, run = end - item < left ? end - item : left;
    const long row0 = border(c.rows, c.row_blocks, block);
    body(plane / groups, plane % groups, row0, border(c.rows, c.row_blocks, block + run) - row0);
    item += run;
  }
}
}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
