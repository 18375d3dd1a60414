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
inline constexpr long conv_columns = 1024, conv_image_bytes = 512 << 10, conv_weight_bytes = 384 << 10;

// A convolution and its gradient for the input are the same computation, a correlation:
//   result(row, i * step_h + phase_h, j * step_w + phase_w) = chain over the taps of that phase of weight * image(plane, i + .., j + ..)
// The convolution has one phase and an image sorted by stride; the gradient has stride_h * stride_w phases, so that the
// zeros which a stride puts between the elements of dy are never multiplied.
struct Correlation {
  Padded image;         // planes: input channels of one group, of bfloat16 pairs of them
  PlaneSource source;   // of these planes
  int step_h, step_w;   // phases of the result
  long height, width;   // of the result
  long grid_h, grid_w;  // of one phase, the larger ones
  long band;            // rows of the grid per pass
  long rows, row_step;  // result channels of one group; distance of their weights
  long plane_step;      // distance of the weights of two input channels
  long steps;           // of all phases together
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

// Remainders by the stride that the taps of a kernel meet.
constexpr int phases(int kernel, int stride, int dilation) { return dilation == 1 && kernel < stride ? kernel : stride; }

// The source of `channels` planes that lie one behind the other, and how many planes they become.
template <class T>
constexpr PlaneSource channel_source(long channels, long plane) {
  return {plane * steps_per_unit<T>, plane, channels / 2};
}
template <class T>
constexpr long channel_planes(long channels) {
  return ceil_div(channels, steps_per_unit<T>);
}

template <class T>
constexpr Correlation forward(const Conv2dSizes& s) {
  Correlation c{};
  const long reach_h = long(s.kh - 1) * s.dilation_h, reach_w = long(s.kw - 1) * s.dilation_w;
  c.image = {channel_planes<T>(s.group_inputs()),
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
  c.source = channel_source<T>(s.group_inputs(), s.h * s.w);
  c.rows = s.group_outputs(), c.row_step = s.group_inputs() * s.taps(), c.plane_step = s.taps(), c.steps = c.image.planes * s.taps();
  c.row_blocks = ceil_div(c.rows, tile_rows);
  choose_band<Compute<T>>(c, reach_h / s.stride_h);
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

template <class T>
constexpr Correlation backward_input(const Conv2dSizes& s) {
  Correlation c{};
  const Reach h = reach(s.kh, s.stride_h, s.pad_top, s.dilation_h), w = reach(s.kw, s.stride_w, s.pad_left, s.dilation_w);
  c.step_h = s.stride_h, c.step_w = s.stride_w;
  c.height = s.h, c.width = s.w;
  c.grid_h = ceil_div(s.h, s.stride_h), c.grid_w = ceil_div(s.w, s.stride_w);
  c.image = {channel_planes<T>(s.group_outputs()), s.oh, s.ow, h.before, w.before, 1, 1, 1, 1, 0, c.grid_w + w.before + w.after};
  c.source = channel_source<T>(s.group_outputs(), s.oh * s.ow);
  c.rows = s.group_inputs(), c.row_step = s.taps(), c.plane_step = c.rows * s.taps(), c.steps = c.image.planes * s.taps();
  c.row_blocks = ceil_div(c.rows, tile_rows);
  choose_band<Compute<T>>(c, h.before + h.after);
  return c;
}

// Elements that a tile may read beyond the last column, and the columns of the sums of one band.
template <class A>
inline constexpr long conv_slack = tile_columns<A>(1);
template <class A>
constexpr long sums_pitch(const Correlation& c) {
  return round_up((c.band - 1) * c.image.pitch + c.grid_w, tile_columns<A>(1));
}

// Row blocks whose weights are packed together, where weights are: 16-bit floats and integers.
constexpr long packed_blocks(const Correlation& c) {
  const long fitting = conv_weight_bytes / long(sizeof(float)) / tile_rows / (c.steps > 0 ? c.steps : 1);
  return fitting < 1 ? 1 : fitting < c.row_blocks ? fitting : c.row_blocks;
}

// Parts of the workspace, in bytes from its start.
struct ConvScratch {
  std::size_t starts, source, sums, weight, image, total;
};
template <class T>
constexpr ConvScratch conv_scratch(const Correlation& c) {
  using A = Compute<T>;
  constexpr bool widen = !std::is_same_v<A, T>;
  const auto bytes = [](long elements, std::size_t size) { return std::size_t(round_up(elements * long(size), 64)); };
  ConvScratch s{};
  s.starts = bytes(c.steps, sizeof(Tap));
  s.source = s.starts + bytes(long(c.step_h) * c.step_w + 1, sizeof(long));
  s.sums = s.source + (widen ? bytes(c.steps, sizeof(std::int32_t)) : 0);
  s.weight = s.sums + bytes(tile_rows * sums_pitch<A>(c), sizeof(A));
  s.image = s.weight + (widen ? bytes(packed_blocks(c) * tile_rows * c.steps, sizeof(A)) : 0);
  s.total = s.image + bytes(c.image.elements() + conv_slack<A>, sizeof(A));
  return s;
}

template <class T>
class Correlator {
  using A = Compute<T>;
  using P = Packed<T>;
  static constexpr long unit = steps_per_unit<T>;

 public:
  static constexpr bool widen = !std::is_same_v<A, T>;

  Correlator(const Correlation& c, void* workspace) : c_(c), pitch_(sums_pitch<A>(c)) {
    const ConvScratch scratch = conv_scratch<T>(c);
    char* const base = static_cast<char*>(workspace);
    taps_ = reinterpret_cast<Tap*>(base);
    starts_ = reinterpret_cast<long*>(base + scratch.starts);
    source_ = reinterpret_cast<std::int32_t*>(base + scratch.source);
    sums_ = reinterpret_cast<A*>(base + scratch.sums);
    weight_ = reinterpret_cast<P*>(base + scratch.weight);
    image_ = reinterpret_cast<P*>(base + scratch.image);
    starts_[0] = 0;
  }

  /// Appends a tap to the phase that is being described: where its weight is, where its pixel is. Planes ascend.
  void add(long weight, long pixel) {
    const auto at = std::int32_t(widen ? count_ - starts_[phase_] : weight);
    if (widen) source_[count_] = std::int32_t(weight);
    taps_[count_++] = {at, std::int32_t(pixel)};
  }
  void end_phase() { starts_[++phase_] = count_; }

  /// Packs the weights of `rows` result channels, which run() then finds `packed` channels behind the first.
  [[gnu::noinline]] void pack(const T* weight, long rows) {
    for (long i = 0; i < rows; ++i, weight += c_.row_step) pack_row(weight, weight_ + i * count_);
  }

  /// Result channels row0 .. row0 + rows - 1 of one sample and group. weight: of row0; from: the group's planes; to: plane of row0.
  [[gnu::noinline]] void run(const T* weight, const T* from, T* to, long rows, [[maybe_unused]] long packed = 0) {
    const long blocks = ceil_div(rows, tile_rows);
    for (long i0 = 0; i0 < c_.grid_h; i0 += c_.band) {
      if (!cleared_ || c_.band < c_.grid_h) clear(image_, c_.image.elements() + conv_slack<A>);
      cleared_ = true;
      fill_padded(c_.image, c_.source, from, i0 * c_.image.step_h, image_);
      for (long block = 0; block < blocks; ++block) {
        const long r = border(rows, blocks, block), count = border(rows, blocks, block + 1) - r;
        const P* operand;
        if constexpr (widen) operand = weight_ + (packed + r) * count_;
        else operand = weight + r * c_.row_step;
        for (int phase = 0; phase < c_.step_h * c_.step_w; ++phase) run_phase(operand, to + r * c_.height * c_.width, int(count), i0, phase);
      }
    }
  }

 private:
  void pack_row(const T* weight, P* to) const {
    if constexpr (unit == 2) {
      const long taps = count_ / c_.image.planes;
      if (phase_ == 1) {  // all taps of a channel follow each other
        for (long p = 0; p < c_.image.planes; ++p, weight += unit * c_.plane_step)
          pack_pairs(weight, p < c_.source.seconds ? weight + c_.plane_step : nullptr, taps, 0, to + p * taps);
        return;
      }
      const long last = c_.source.seconds * unit * c_.plane_step;  // weights from here on have no partner
      for (long t = 0; t < count_; ++t) to[t] = one_pair(weight + source_[t], source_[t] < last ? weight + source_[t] + c_.plane_step : nullptr);
    } else {
      for (long t = 0; t < count_; ++t) to[t] = widened(weight[source_[t]]);
    }
  }

  void run_phase(const P* weight, T* to, int rows, long i0, int phase) {
    const int phase_h = phase / c_.step_w, phase_w = phase % c_.step_w;
    const long grid_h = ceil_div(c_.height - phase_h, c_.step_h), grid_w = ceil_div(c_.width - phase_w, c_.step_w);
    const long band = c_.band < grid_h - i0 ? c_.band : grid_h - i0;
    if (band <= 0 || grid_w <= 0) return;
    const long first = starts_[phase], count = starts_[phase + 1] - first;
    std::int32_t row[tile_rows];
    const P* operand = weight;
    if constexpr (widen) operand += first;
    for (int i = 0; i < tile_rows; ++i) row[i] = std::int32_t(i * (widen ? count_ : c_.row_step));
    const long columns = (band - 1) * c_.image.pitch + grid_w;
    for (long q = 0; q < columns;) q += run_tile(Tile<A, P>{taps_ + first, count, operand, row, image_ + q, sums_ + q, pitch_, false}, rows, columns - q);
    for (int i = 0; i < rows; ++i)
      for (long y = 0; y < band; ++y) {
        T* const out = to + (i * c_.height + (i0 + y) * c_.step_h + phase_h) * c_.width + phase_w;
        const A* const sums = sums_ + i * pitch_ + y * c_.image.pitch;
        if (c_.step_w == 1) copy_sums(sums, out, grid_w);
        else
          for (long x = 0; x < grid_w; ++x) out[x * c_.step_w] = narrowed<T>(plus_zero(sums[x]));
      }
  }

  // float32 ends with + 0, as on blocks of samples: it clears the sign of a zero, which may depend on taps that meet padding.
  template <class V>
  static V plus_zero(V sum) {
    if constexpr (std::is_same_v<T, float>) return sum + V(0.0f);
    else return sum;
  }
  static void copy_sums(const A* sums, T* out, long count) {
    long x = 0;
    if constexpr (std::is_same_v<T, float>) {
      using V = Simd<float>;
      using Half = Simd<float, (V::width < packed_rows ? V::width : packed_rows / 2)>;
      for (; x + V::width <= count; x += V::width) plus_zero(V::load(sums + x)).store(out + x);
      for (; x + Half::width <= count; x += Half::width) plus_zero(Half::load(sums + x)).store(out + x);
      for (; x < count; ++x) out[x] = plus_zero(sums[x]);
    } else {
      round_sums(sums, out, count);
    }
  }

  const Correlation& c_;
  long pitch_, count_ = 0;
  int phase_ = 0;
  bool cleared_ = false;  // the padding stays zero as long as one band holds the whole image
  Tap* taps_;
  long* starts_;
  std::int32_t* source_;
  A* sums_;
  P *weight_, *image_;
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
// The same items where weights are packed: pack(group, row0, rows) for as many rows as fit, then the runs within them of all samples,
// body(sample, group, row0, rows, rows behind the first packed one).
template <class Pack, class Body>
[[gnu::always_inline]] inline void each_packed_run(const Correlation& c, int groups, long begin, long end, Pack&& pack, Body&& body) {
  const long blocks = packed_blocks(c), row_blocks = c.row_blocks;
  for (long group = 0; group < groups; ++group)
    for (long first = 0; first < row_blocks; first += blocks) {
      const long last = first + blocks < row_blocks ? first + blocks : row_blocks;
      const long packed0 = border(c.rows, row_blocks, first);
      bool packed = false;
      for (long plane = begin / row_blocks / groups * groups + group; plane * row_blocks < end; plane += groups) {
        const long at = plane * row_blocks, from = begin > at + first ? begin - at : first, to = end < at + last ? end - at : last;
        if (from >= to) continue;
        if (!packed) pack(group, packed0, border(c.rows, row_blocks, last) - packed0);
        packed = true;
        const long row0 = border(c.rows, row_blocks, from);
        body(plane / groups, group, row0, border(c.rows, row_blocks, to) - row0, row0 - packed0);
      }
    }
}
}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
