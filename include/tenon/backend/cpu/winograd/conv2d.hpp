// Convolution of a 3 x 3 kernel at stride 1, and its gradient for the input, by Winograd's F(4 x 4, 3 x 3).
#pragma once
#include <tenon/backend/cpu/winograd/plan.hpp>
#include <tenon/core/function_ref.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/nchw16n/layout.hpp>
#include <tenon/backend/cpu/winograd/transform.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Items and bytes of scratch per thread, of NCHW16n images or not.
constexpr long winograd_conv2d_items(const Conv2dSizes& s, bool blocks) {
  return detail::winograd_plan(s, blocks).items();
}
constexpr std::size_t winograd_conv2d_workspace(const Conv2dSizes& s, bool blocks) {
  return detail::winograd_scratch(detail::winograd_plan(s, blocks)).total;
}

/// y = x * weight (`from` is x) for a 3 x 3 kernel, stride and dilation 1, one group; of sizes that are for_input() dx
/// from dy. Tile by tile of 4 x 4 results: a value that is not finite reaches all of them. `done` is notified of
/// neighbouring elements that are complete: the place of the first one, its channel, how many.
/// `kept`: the weights are those of keep_winograd_conv2d().
void winograd_conv2d(const Conv2dSizes& s, bool blocks, const float* from, const float* weight, float* to, long begin,
                     long end, void* workspace, FunctionRef<long, long, long> done, bool kept = false);
/// Weights of a convolution of rows in the order in which they become lanes, [vector of channels, plane, tap, channel],
/// for a convolution of rows. They are not transformed: that would be four times as much to read.
constexpr long winograd_conv2d_kept_bytes(const Conv2dSizes& s) {
  return round_up(s.o, long{simd_width<float>}) * s.c * 9 * long(sizeof(float));
}
void keep_winograd_conv2d(const Conv2dSizes& s, const float* weight, float* to);

#if TENON_DEFINES
namespace detail {
// body(first column, columns) for each panel of columns, which lies after those before.
template <class Body>
[[gnu::always_inline]] inline void each_panel(long columns, Body&& body) {
  for (long first = 0, width; first < columns; first += width)
    body(first, width = covered_columns<float>(columns - first));
}

class WinogradConv {
  using Lanes = Simd<float>;
  using Samples = Simd<float, block_width>;
  static constexpr int products = winograd::products, side = winograd::tile;
  static constexpr long kernel = 9L * Lanes::width;

 public:
  WinogradConv(const WinogradPlan& c, const float* x, const float* weight, float* y, void* workspace, bool kept)
      : c_(c), x_(x), weight_(weight), y_(y), kept_(kept), at_(winograd_scratch(c, workspace)) {
    for (int i = 0; i < tile_rows; ++i) row_[i] = std::int32_t(i * c.depth());
  }

  void run(long begin, long end, FunctionRef<long, long, long> done) {
    for (long item = begin; item < end;) {
      const long chunk = item / c_.groups, from = item % c_.groups,
                 to = end - item < c_.groups - from ? from + end - item : c_.groups;
      tile0_ = chunk * c_.chunk, tiles_ = c_.tiles - tile0_ < c_.chunk ? c_.tiles - tile0_ : c_.chunk;
      if (c_.blocks) transform_blocks();
      else each_segment([&](long tile, const Segment& s) { transform_segment(tile, s); });
      for (long group = from; group < to; ++group) {
        channel0_ = group * c_.group, channels_ = c_.rows - channel0_ < c_.group ? c_.rows - channel0_ : c_.group;
        c_.blocks ? multiply_blocks() : multiply_channels();
        if (done) tell(done);
      }
      item += to - from;
    }
  }

 private:
  // Neighbouring tiles of one row of an image, or of one block of them.
  struct Segment {
    long image, y, x, tiles;  // y, x: of the first pixel of the result
  };
  Segment segment_at(long tile) const {
    const long in_image = tile % c_.per_image, column = in_image % c_.across, left = c_.across - column,
               behind = tile0_ + tiles_ - tile;
    return {tile / c_.per_image, in_image / c_.across * side, column * side, behind < left ? behind : left};
  }
  // body(tile, counted from the first of the chunk; segment)
  template <class Body>
  void each_segment(Body&& body) const {
    for (long tile = 0; tile < tiles_;) {
      const Segment s = segment_at(tile0_ + tile);
      body(tile, s);
      tile += s.tiles;
    }
  }
  // Samples of a tile that are computed: where there is but one block of them, vectors without samples are left out.
  long samples() const { return c_.n < block_samples ? block_lanes(c_.n) : block_samples; }
  long columns() const { return c_.blocks ? tiles_ * samples() : round_up(channels_, simd_width<float>); }

  [[gnu::noinline]] void transform_blocks() {
    each_panel(columns(), [&](long first, long width) {
      for (long column = first; column < first + width; column += block_width) {
        const Segment s = segment_at(tile0_ + column / samples());
        transform_tile(s, column % samples(), at_.image + first * c_.planes + column - first, width);
      }
    });
  }
  // The tile of all planes, some samples of it.
  void transform_tile(const Segment& s, long lane, float* to, long step) {
    const long y0 = s.y - c_.top, x0 = s.x - c_.left, plane = c_.h * c_.w * block_samples, points = c_.wide_step();
    const bool inside = y0 >= 0 && x0 >= 0 && y0 + winograd::points <= c_.h && x0 + winograd::points <= c_.w;
    const float* const from = x_ + s.image * c_.planes * plane + (y0 * c_.w + x0) * block_samples + lane;
    const auto put_to = [points](float* at) { return winograd::StoreAt{at, winograd::points * points, points}; };
    if (inside) {
      for (long c = 0; c < c_.planes; ++c)
        winograd::both_ways<winograd::OfImage, Samples>(from + c * plane, c_.w * block_samples, block_samples,
                                                        put_to(to + c * step));
      return;
    }
    const auto clipped = [](long v, long most) { return v < 0 ? 0 : v < most ? v : most; };
    const long top = clipped(-y0, winograd::points), bottom = clipped(c_.h - y0, winograd::points);
    const long left = clipped(-x0, winograd::points), right = clipped(c_.w - x0, winograd::points);
    for (int i = 0; i < products; ++i) Samples(0.0f).store(at_.pixels + i * block_width);
    for (long c = 0; c < c_.planes; ++c) {
      for (long i = top; i < bottom; ++i)
        for (long j = left; j < right; ++j)
          Samples::load(from + c * plane + (i * c_.w + j) * block_samples)
              .store(at_.pixels + (i * winograd::points + j) * block_width);
      winograd::both_ways<winograd::OfImage, Samples>(at_.pixels, winograd::points * block_width, block_width,
                                                      put_to(to + c * step));
    }
  }
  // Rows of the image with channels as lanes, then their transforms.
  [[gnu::noinline]] void transform_segment(long tile, const Segment& s) {
    const long depth = c_.depth(), pixels = s.tiles * side + 2, y0 = s.y - c_.top, x0 = s.x - c_.left,
               plane = c_.h * c_.w, points = c_.tall_step();
    const long lanes = round_up(c_.planes, simd_width<float>), first = x0 < 0 ? -x0 : 0,
               last = c_.w - x0 < pixels ? c_.w - x0 : pixels;
    clear(at_.pixels, winograd::points * pixels * depth);
    for (long i = 0; i < winograd::points; ++i)
      if (y0 + i >= 0 && y0 + i < c_.h && first < last)
        copy_matrix(x_ + s.image * c_.planes * plane + (y0 + i) * c_.w + x0 + first, 1, plane,
                    at_.pixels + (i * pixels + first) * depth, depth, last - first, c_.planes, lanes);
    for (long t = 0; t < s.tiles; ++t)
      for (long c = 0; c < lanes; c += simd_width<float>)
        winograd::both_ways<winograd::OfImage, Lanes>(
            at_.pixels + t * side * depth + c, pixels * depth, depth,
            winograd::StoreAt{at_.image + (tile + t) * depth + c, winograd::points * points, points});
  }

  // `count` times nine weights, `step` floats apart, become lanes, and those 36 vectors at to(0, lane); so do the next
  // ones, `next` floats after, at to(1, lane), and so on. What is contiguous is copied at once.
  template <class To>
  void transform_weights(const float* from, long step, long count, long next, long others, To&& to, long points) {
    const long lanes = round_up(count, simd_width<float>), sign = c_.flipped ? -1 : 1,
               together = next == 9 ? winograd_together : 1;
    for (long first = 0; first < others; first += together) {
      const long own = others - first < together ? others - first : together;
      copy_matrix(from + first * next, 1, step, at_.pixels, lanes, 9 * own, count, lanes);
      for (long k = 0; k < own; ++k)
        for (long lane = 0; lane < lanes; lane += simd_width<float>)
          winograd::both_ways<winograd::OfKernel, Lanes>(
              at_.pixels + (9 * k + (c_.flipped ? 8 : 0)) * lanes + lane, 3 * sign * lanes, sign * lanes,
              winograd::StoreAt{to(first + k, lane), winograd::points * points, points});
    }
  }
  [[gnu::noinline]] void transform_weights_for_samples() {
    transform_weights(
        weight_ + channel0_ * c_.row_step, c_.plane_step, c_.planes, c_.row_step, channels_,
        [&](long row, long lane) { return at_.group + row * c_.depth() + lane; }, c_.tall_step());
  }
  // The weights of `planes` planes of the image, for the channels of one panel.
  [[gnu::noinline]] void transform_weights_for_channels(long first, long width, long plane, long planes, long points) {
    const long channel = channel0_ + first, count = channels_ - first < width ? channels_ - first : width;
    const auto to = [this, width](long k, long lane) { return at_.group + k * width + lane; };
    if (!kept_) {
      const float* const from = weight_ + channel * c_.row_step + plane * c_.plane_step;
      return transform_weights(from, c_.row_step, count, c_.plane_step, planes, to, points);
    }
    const float* from = weight_ + (channel * c_.planes + plane * Lanes::width) * 9;
    for (long k = 0; k < planes; ++k, from += kernel)
      for (long lane = 0; lane < width; lane += Lanes::width) {
        const float* const own = from + lane * c_.planes * 9;
        for (long i = 0; i < kernel; i += 64 / long(sizeof(float)))
          __builtin_prefetch(own + winograd_ahead * kernel + i);
        winograd::both_ways<winograd::OfKernel, Lanes>(
            own, 3 * Lanes::width, Lanes::width, winograd::StoreAt{to(k, lane), winograd::points * points, points});
      }
  }

  // Rows of images with channels as lanes: if there are sums for all of them, the weights of some planes are
  // transformed and used before those of the next ones, so that they are still in the cache.
  [[gnu::noinline]] void multiply_channels() {
    const bool near = tiles_ <= winograd_rows;
    each_panel(columns(), [&](long first, long width) {
      const long fitting = c_.near_bytes / (products * width * long(sizeof(float))),
                 some = near && fitting < c_.planes ? fitting : c_.planes, points = some * width + winograd_gap;
      for (long plane = 0, planes; plane < c_.planes; plane += planes) {
        planes = c_.planes - plane < some ? c_.planes - plane : some;
        transform_weights_for_channels(first, width, plane, planes, points);
        fill_taps(planes, width);
        for (long row = 0; row < tiles_; row += winograd_rows) {
          const long count = tiles_ - row < winograd_rows ? tiles_ - row : winograd_rows;
          multiply(at_.image + plane + row * c_.depth(), count, at_.group, points, width, planes, plane > 0);
          if (plane + planes == c_.planes) store_pixels(row, count, first, width);
        }
      }
    });
  }
  [[gnu::noinline]] void multiply_blocks() {
    transform_weights_for_samples();
    each_panel(columns(), [&](long first, long width) {
      fill_taps(c_.planes, width);
      for (long row = 0; row < channels_; row += winograd_rows) {
        const long count = channels_ - row < winograd_rows ? channels_ - row : winograd_rows;
        multiply(at_.group + row * c_.depth(), count, at_.image + first * c_.planes, c_.wide_step(), width, c_.planes,
                 false);
        store_blocks(row, count, first, width);
      }
    });
  }
  void fill_taps(long planes, long width) {
    for (long k = 0; k < planes; ++k) at_.taps[k] = {std::int32_t(k), std::int32_t(k * width)};
  }
  // sums = the products of `count` rows of `tall` with a panel of `wide`, over some planes, or sums + that.
  void multiply(const float* tall, long count, const float* wide, long wide_step, long width, long planes,
                bool resume) {
    for (long p = 0; p < products; ++p)
      for (long i = 0; i < count; i += tile_rows) {
        float* const sums = at_.sums + (p * winograd_rows + i) * width;
        const Tile<float> tile{
            at_.taps, planes, tall + p * c_.tall_step() + i * c_.depth(), row_, wide + p * wide_step, sums,
            width,    resume};
        run_tile(tile, int(count - i < tile_rows ? count - i : tile_rows), width);
      }
  }
  // Result channels `row` .. of the samples that are the columns.
  void store_blocks(long row, long count, long first, long width) {
    const long plane = c_.height * c_.width * block_samples, points = winograd_rows * width;
    for (long column = 0; column < width; column += block_width) {
      const Segment s = segment_at(tile0_ + (first + column) / samples());
      const long height = c_.height - s.y, across = c_.width - s.x, pitch = c_.width * block_samples;
      float* to = y_ + (s.image * c_.rows + channel0_ + row) * plane + (s.y * c_.width + s.x) * block_samples +
                  (first + column) % samples();
      for (long r = 0; r < count; ++r, to += plane)
        winograd::both_ways<winograd::ToTile, Samples>(at_.sums + r * width + column, winograd::points * points, points,
                                                       [=](int i, int j, Samples v) __attribute__((always_inline)) {
                                                         if (i < height && j < across)
                                                           v.store(to + i * pitch + j * block_samples);
                                                       });
    }
  }
  // Tiles `row` .. of the result channels that are the columns.
  void store_pixels(long row, long count, long first, long width) {
    const long points = winograd_rows * width, pitch = winograd_rows * side * width, plane = c_.height * c_.width;
    const long own = channels_ - first < width ? channels_ - first : width;
    for (long r = 0; r < count; ++r)
      for (long column = 0; column < width; column += simd_width<float>)
        winograd::both_ways<winograd::ToTile, Lanes>(
            at_.sums + r * width + column, winograd::points * points, points,
            winograd::StoreAt{at_.pixels + r * side * width + column, pitch, width});
    for (long tile = row; tile < row + count;) {
      const Segment s = segment_at(tile0_ + tile);
      const long tiles = s.tiles < row + count - tile ? s.tiles : row + count - tile,
                 pixels = tiles * side < c_.width - s.x ? tiles * side : c_.width - s.x;
      for (long i = 0; i < side && s.y + i < c_.height; ++i)
        copy_matrix(at_.pixels + i * pitch + (tile - row) * side * width, 1, width,
                    y_ + (s.image * c_.rows + channel0_ + first) * plane + (s.y + i) * c_.width + s.x, plane, own,
                    pixels, 0);
      tile += tiles;
    }
  }
  void tell(FunctionRef<long, long, long> done) const {
    const long pixel = c_.blocks ? block_samples : 1;
    each_segment([&](long, const Segment& s) {
      const long pixels = s.tiles * side < c_.width - s.x ? s.tiles * side : c_.width - s.x;
      for (long o = channel0_; o < channel0_ + channels_; ++o)
        for (long i = 0; i < side && s.y + i < c_.height; ++i)
          done((((s.image * c_.rows + o) * c_.height + s.y + i) * c_.width + s.x) * pixel, o, pixels * pixel);
    });
  }

  const WinogradPlan& c_;
  const float *x_, *weight_;
  float* y_;
  bool kept_;
  const WinogradScratch at_;
  long tile0_ = 0, tiles_ = 0, channel0_ = 0, channels_ = 0;
  std::int32_t row_[tile_rows];
};
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void winograd_conv2d(const Conv2dSizes& s, bool blocks, const float* from,
                                                    const float* weight, float* to, long begin, long end,
                                                    void* workspace, FunctionRef<long, long, long> done, bool kept) {
  const detail::WinogradPlan c = detail::winograd_plan(s, blocks);
  detail::WinogradConv(c, from, weight, to, workspace, kept).run(begin, end, done);
}
[[gnu::noinline]] TENON_INLINE void keep_winograd_conv2d(const Conv2dSizes& s, const float* weight, float* to) {
  constexpr long width = simd_width<float>;
  for (long o = 0, step = s.c * 9; o < s.o; o += width)
    copy_matrix(weight + o * step, 1, step, to + o * step, width, step, s.o - o < width ? s.o - o : width, width);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
