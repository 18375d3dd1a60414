// Convolutions and their gradients in tiles on the target Cuda: every tile, form of taps, and number of parts against
// plain loops in the order of backend/order.hpp.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <vector>

#include <tenon/ops/ops.hpp>

using namespace tenon;
using namespace tenon::kernel;
using namespace tenon::kernel::cuda;

namespace {
std::vector<float> numbers(long count, unsigned seed) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (float& x : all) x = float(int((seed = seed * 1664525u + 1013904223u) >> 8) - (1 << 23)) * 0x1p-22f;
  return all;
}

/// y from x and w, or with input_gradient dx from dy and w, in plain loops.
std::vector<float> expected(const Conv2dSizes& s, const std::vector<float>& image, const std::vector<float>& w) {
  const ConvSides c = ConvSides::of(s);
  std::vector<float> result;
  const auto at = [](const std::vector<float>& of, long i) { return of[std::size_t(i)]; };
  for (long n = 0; n < s.n; ++n)
    for (long m = 0; m < c.groups * c.results; ++m)
      for (long i = 0; i < c.result_h; ++i)
        for (long j = 0; j < c.result_w; ++j) {
          float total = 0, sum = 0;
          for (long q = 0; q < c.planes; ++q) {
            const long plane = m / c.results * c.planes + q;
            for (long r = 0; r < s.kh; ++r)
              for (long k = 0; k < s.kw; ++k) {
                const long up = s.input_gradient ? i + s.pad_top - r * s.dilation_h
                                                 : i * s.stride_h - s.pad_top + r * s.dilation_h,
                           left = s.input_gradient ? j + s.pad_left - k * s.dilation_w
                                                   : j * s.stride_w - s.pad_left + k * s.dilation_w,
                           step_h = s.input_gradient ? s.stride_h : 1, step_w = s.input_gradient ? s.stride_w : 1;
                if (up < 0 || left < 0 || up % step_h || left % step_w) continue;
                const long y = up / step_h, x = left / step_w;
                if (y >= c.image_h || x >= c.image_w) continue;
                const long weight =
                    s.input_gradient ? (plane * c.results + m % c.results) * s.taps() : (m * c.planes + q) * s.taps();
                sum = std::fma(at(w, weight + r * s.kw + k),
                               at(image, ((n * c.groups * c.planes + plane) * c.image_h + y) * c.image_w + x), sum);
              }
            if ((q + 1) % c.segment && q + 1 < c.planes) continue;
            total = q < c.segment ? sum : total + sum, sum = 0;
          }
          result.push_back(total + 0);
        }
  return result;
}

/// Floats before the operands in their memory: operands may begin inside of a tensor.
long floats_before = 0;
/// Memory of the device, in the default stream.
struct OnDevice {
  void* at = nullptr;
  std::size_t bytes;

  explicit OnDevice(std::size_t floats) : bytes((floats + 1) * sizeof(float)) {
    check(cudaMallocAsync(&at, bytes, nullptr), "cudaMallocAsync");
    check(cudaMemsetAsync(at, 0xff, bytes, nullptr), "cudaMemsetAsync");
  }
  explicit OnDevice(const std::vector<float>& from) : OnDevice(from.size() + std::size_t(floats_before)) {
    check(cudaMemcpyAsync(operand(), from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice, nullptr),
          "a copy");
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { static_cast<void>(cudaFreeAsync(at, nullptr)); }
  float* operand() const { return static_cast<float*>(at) + floats_before; }
  std::vector<float> values() const {
    std::vector<float> to(bytes / sizeof(float) - 1);
    check(cudaMemcpyAsync(to.data(), at, to.size() * sizeof(float), cudaMemcpyDeviceToHost, nullptr), "a copy");
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    return to;
  }
};

template <class Taps, class Tile>
void check_tile(const Conv2dSizes& s, const std::vector<float>& image, const std::vector<float>& w,
                const std::vector<float>& wanted) {
  const ConvSides sides = ConvSides::of(s);
  const OnDevice images(image), weights(w);
  for (int parts = 1; parts <= 4 && parts <= sides.segments(); ++parts) {
    const ConvPlan plan = conv_plan<Tile>(sides, s.n, parts, parts != 2);
    if (conv_shared_bytes<Tile>(plan) > most_shared_bytes) continue;
    const OnDevice result(wanted.size()),
        workspace(std::size_t(plan.turned()) + std::size_t(plan.slots()) * wanted.size());
    Arguments a;
    a.n = s.n, a.buffer[0] = result.at;
    a.buffer[1] = (s.input_gradient ? weights : images).operand();
    a.buffer[2] = (s.input_gradient ? images : weights).operand();
    a.workspace = static_cast<std::byte*>(workspace.at);
    ConvInTiles<NoSteps<float>>::run_plan<Taps, Tile>(a, plan);
    const std::vector<float> found = result.values();
    CAPTURE(parts);
    CHECK(std::memcmp(found.data(), wanted.data(), wanted.size() * sizeof(float)) == 0);
  }
}
/// x [n, c, h, w], o kernels of kh x kw.
template <int side, int step = 1>
void check_sizes(long n, long c, long h, long w, long o, int kh, int kw, int stride, int pad, int dilation,
                 int groups) {
  const long oh = (h + 2 * pad - (kh - 1) * dilation - 1) / stride + 1,
             ow = (w + 2 * pad - (kw - 1) * dilation - 1) / stride + 1;
  Conv2dSizes s{n, c, h, w, o, oh, ow, kh, kw, stride, stride, pad, pad, dilation, dilation, groups};
  const std::vector<float> weights = numbers(o * c / groups * kh * kw, 3);
  const auto compare = [&]<class Taps>(Taps, const std::vector<float>& image) {
    const std::vector<float> wanted = expected(s, image, weights);
    check_tile<Taps, std::conditional_t<Taps::fourfold, WideFourfoldTile, WideConvTile>>(s, image, weights, wanted);
    check_tile<Taps, std::conditional_t<Taps::fourfold, NarrowFourfoldTile, NarrowConvTile>>(s, image, weights, wanted);
  };
  CAPTURE(c);
  CAPTURE(o);
  CAPTURE(h);
  compare(ConvTaps<side, false, side == 3 ? step : 1>(), numbers(n * c * h * w, 1));
  s = s.for_input();
  compare(ConvTaps<side, (side > 1), (side == 3 ? step : 1)>(), numbers(n * o * oh * ow, 2));
}

/// The gradient for the weight in plain loops.
std::vector<float> expected_weight(const Conv2dSizes& s, const std::vector<float>& x, const std::vector<float>& dy) {
  const PixelSegments segments = pixel_segments(s.oh, s.ow);
  const long inputs = s.group_inputs(), count = s.o * inputs * s.taps();
  std::vector<float> result;
  for (long e = 0; e < count; ++e) {
    const long k = e % s.kw, r = e / s.kw % s.kh, o = e / s.taps() / inputs,
               c = o / s.group_outputs() * inputs + e / s.taps() % inputs;
    float total = 0;
    for (long first = 0; first < s.n; first += 16) {
      float sample[16]{};
      for (long n = first; n < s.n && n < first + 16; ++n)
        for (long segment = 0; segment < segments.count(); ++segment) {
          const long down = segment / segments.side_by_side() * segments.rows,
                     right = segment % segments.side_by_side() * segments.columns;
          float sum = 0;
          for (long i = down; i < s.oh && i < down + segments.rows; ++i)
            for (long j = right; j < s.ow && j < right + segments.columns; ++j) {
              const long up = i * s.stride_h - s.pad_top + r * s.dilation_h,
                         left = j * s.stride_w - s.pad_left + k * s.dilation_w;
              if (up < 0 || left < 0 || up >= s.h || left >= s.w) continue;
              sum = std::fma(x[std::size_t(((n * s.c + c) * s.h + up) * s.w + left)],
                             dy[std::size_t(((n * s.o + o) * s.oh + i) * s.ow + j)], sum);
            }
          sample[n - first] = segment == 0 ? sum : sample[n - first] + sum;
        }
      for (int step = 1; step < 16; step *= 2)
        for (int i = 0; i < 16; i += 2 * step) sample[i] = sample[i] + sample[i + step];
      total = first == 0 ? sample[0] : total + sample[0];
    }
    result.push_back(total + 0);
  }
  return result;
}
template <class Tile>
void check_weight_tile(const Conv2dSizes& s, const std::vector<float>& x, const std::vector<float>& dy,
                       const std::vector<float>& wanted) {
  const OnDevice images(x), gradients(dy), result(wanted.size());
  for (const int together : {0, 1, 2, 4, 8, 16}) {  // 0: segments are apart
    if (!WeightPlanOf<Tile>::takes(s, together)) continue;
    const WeightPlan plan =
        weight_plan<Tile>(s, together > 0 ? together : 1, together == 0, together % 3 == 1 ? 64 : 16);
    if (weight_shared_bytes<Tile>(plan) > most_shared_bytes) continue;
    const OnDevice workspace(std::size_t(plan.slots() * plan.slot()));
    Arguments a;
    a.n = s.n, a.buffer[0] = result.at, a.buffer[1] = images.operand(), a.buffer[2] = gradients.operand();
    a.workspace = static_cast<std::byte*>(workspace.at);
    launch_weight_tiles<Tile>(a, plan);
    launch_weight_sums(a, plan.samples, plan.together, plan.apart ? plan.segments() : 1, plan.count());
    const std::vector<float> found = result.values();
    CAPTURE(together);
    CHECK(std::memcmp(found.data(), wanted.data(), wanted.size() * sizeof(float)) == 0);
  }
}
void check_weight(long n, long c, long h, long w, long o, int kh, int kw, int stride, int pad, int dilation,
                  int groups) {
  const long oh = (h + 2 * pad - (kh - 1) * dilation - 1) / stride + 1,
             ow = (w + 2 * pad - (kw - 1) * dilation - 1) / stride + 1;
  const Conv2dSizes s{n, c, h, w, o, oh, ow, kh, kw, stride, stride, pad, pad, dilation, dilation, groups};
  const std::vector<float> x = numbers(n * c * h * w, 1), dy = numbers(n * o * oh * ow, 2),
                           wanted = expected_weight(s, x, dy);
  CAPTURE(c);
  CAPTURE(o);
  CAPTURE(h);
  check_weight_tile<NarrowWeightTile>(s, x, dy, wanted);
  check_weight_tile<WideWeightTile>(s, x, dy, wanted);
  check_weight_tile<Weight3x3Tile<1, 4, false>>(s, x, dy, wanted);
  check_weight_tile<Weight3x3Tile<1, 2, true>>(s, x, dy, wanted);
  check_weight_tile<Weight3x3Tile<2, 4, false>>(s, x, dy, wanted);
  check_weight_tile<Weight3x3Tile<2, 2, true>>(s, x, dy, wanted);
}
}  // namespace

/// The least cost of a plan by this tile.
template <class Tile>
long least_cost(const ConvSides& s, long n) {
  long least = LONG_MAX;
  for (int parts = 1; parts <= 16 && parts <= s.segments(); ++parts)
    for (const bool turns : {false, true})
      if (const ConvPlan plan = conv_plan<Tile>(s, n, parts, turns); conv_shared_bytes<Tile>(plan) <= most_shared_bytes)
        least = std::min(least, conv_cost<Tile>(plan));
  return least;
}
TEST_CASE("wide tiles, which a convolution of few results is compiled without, are never the cheapest there") {
  for (const long n : {1, 3, 16, 32, 100, 256, 1024})
    for (const long results : {4, 16, 31, 32})
      for (const long planes : {1, 6, 64, 512})
        for (const long size : {7, 14, 56, 224})
          for (const int k : {1, 3, 5, 7})
            for (const int stride : {1, 2})
              for (const bool input_gradient : {false, true}) {
                const long c = input_gradient ? results : planes, o = input_gradient ? planes : results,
                           of = (size - 1) / stride + 1;
                Conv2dSizes sizes{n, c, size, size, o, of, of, k, k, stride, stride, k / 2, k / 2, 1, 1, 1};
                sizes.input_gradient = input_gradient;
                const ConvSides s = ConvSides::of(sizes);
                if (!pays_in_tiles(s) || !fits_in_tiles(s)) continue;
                INFO(n, " samples, ", c, " to ", o, " channels of ", size, ", taps ", k, ", stride ", stride);
                CHECK(!may_be_wide(s));
                if (s.is_fourfold()) CHECK(least_cost<NarrowFourfoldTile>(s, n) <= least_cost<WideFourfoldTile>(s, n));
                else CHECK(least_cost<NarrowConvTile>(s, n) <= least_cost<WideConvTile>(s, n));
              }
}
TEST_CASE("the wide tile of a weight's gradient is never the cheapest where a program is compiled without it") {
  for (const long n : {1, 3, 16, 32, 100, 256, 1024})
    for (const long o : {4, 16, 31, 32})
      for (const long c : {1, 6, 64, 512})
        for (const long size : {7, 14, 56, 224})
          for (const int k : {1, 3, 5, 7})
            for (const int stride : {1, 2, 3}) {
              const long of = (size - 1) / stride + 1;
              const Conv2dSizes s{n, c, size, size, o, of, of, k, k, stride, stride, k / 2, k / 2, 1, 1, 1};
              if (!weight_in_tiles(s) || weight_tile_set(s) >= WeightTileSet::of_3x3) continue;
              INFO(n, " samples, ", c, " to ", o, " channels of ", size, ", taps ", k, ", stride ", stride);
              CHECK(weight_tile_set(s) == WeightTileSet::narrow);
              CHECK(WeightWays<WideWeightTile, NarrowWeightTile>::choice(s).second == 1);
            }
  CHECK(weight_tile_set({32, 6, 14, 14, 33, 10, 10, 5, 5, 1, 1, 0, 0, 1, 1, 1}) == WeightTileSet::any_taps);
  CHECK(weight_tile_set({32, 6, 14, 14, 64, 10, 10, 5, 5, 1, 1, 0, 0, 1, 1, 2}) == WeightTileSet::narrow);
}
TEST_CASE("3 x 3: rows and samples of a tile, whole and cut; one segment, two, and a shorter last one") {
  check_sizes<3>(1, 3, 4, 5, 6, 3, 3, 1, 1, 1, 1);
  check_sizes<3>(2, 30, 9, 33, 66, 3, 3, 1, 1, 1, 1);
  check_sizes<3>(11, 57, 4, 4, 29, 3, 3, 1, 1, 1, 1);
  check_sizes<3>(3, 5, 3, 70, 4, 3, 3, 1, 0, 1, 1);
  check_sizes<3>(2, 12, 8, 8, 60, 3, 3, 1, 2, 1, 2);
  check_sizes<3>(2, 5, 8, 32, 67, 3, 3, 1, 1, 1, 1);
  check_sizes<3, 2>(3, 33, 9, 8, 35, 3, 3, 2, 1, 1, 1);
  check_sizes<3, 2>(2, 4, 16, 16, 12, 3, 3, 2, 1, 1, 2);
  check_sizes<3, 2>(5, 70, 8, 8, 130, 3, 3, 2, 1, 1, 1);
}

TEST_CASE("1 x 1") {
  check_sizes<1>(2, 40, 7, 7, 70, 1, 1, 1, 0, 1, 1);
  check_sizes<1>(3, 515, 2, 3, 9, 1, 1, 1, 0, 1, 1);
  check_sizes<1>(1, 6, 3, 3, 4, 1, 1, 1, 1, 1, 2);
  check_sizes<1, 2>(2, 40, 7, 8, 66, 1, 1, 2, 0, 1, 1);
  check_sizes<1, 2>(5, 20, 16, 16, 16, 1, 1, 2, 0, 1, 1);
  check_sizes<1>(2, 40, 8, 8, 64, 1, 1, 1, 0, 1, 1);
}

TEST_CASE("any taps: strides whose phases have no taps, dilations, large kernels, groups") {
  check_sizes<0>(3, 33, 9, 8, 35, 3, 3, 3, 1, 1, 1);
  check_sizes<0>(1, 3, 23, 30, 65, 7, 7, 2, 3, 1, 1);
  check_sizes<0>(9, 6, 14, 14, 16, 5, 5, 1, 0, 1, 1);
  check_sizes<0>(2, 8, 11, 9, 12, 3, 2, 3, 2, 2, 2);
  check_sizes<0>(1, 4, 20, 19, 5, 17, 16, 1, 8, 1, 1);
}

TEST_CASE("weights: segments of rows and of parts of a row, blocks of samples, whole and cut tiles") {
  check_weight(3, 17, 9, 10, 65, 3, 3, 1, 1, 1, 1);
  check_weight(2, 3, 33, 40, 6, 3, 3, 1, 1, 1, 1);
  check_weight(1, 2, 3, 600, 3, 3, 3, 1, 1, 1, 1);
  check_weight(37, 20, 4, 4, 5, 3, 3, 1, 1, 1, 1);
  check_weight(21, 8, 6, 5, 40, 3, 3, 1, 0, 1, 2);
  check_weight(5, 20, 8, 8, 70, 3, 3, 1, 1, 1, 1);
  check_weight(19, 17, 4, 4, 8, 3, 3, 2, 1, 1, 1);
  check_weight(2, 3, 33, 37, 6, 3, 3, 2, 1, 1, 1);
  check_weight(1, 2, 3, 600, 3, 3, 3, 2, 1, 1, 1);
  check_weight(2, 4, 16, 16, 3, 3, 3, 1, 0, 1, 1);
  check_weight(1, 4, 7, 520, 2, 3, 3, 1, 1, 1, 1);
}

TEST_CASE("weights: any taps, strides, dilations, groups") {
  check_weight(3, 1, 28, 28, 6, 5, 5, 1, 2, 1, 1);
  check_weight(2, 70, 9, 9, 35, 1, 1, 2, 0, 1, 1);
  check_weight(1, 3, 40, 38, 33, 7, 7, 2, 3, 1, 1);
  check_weight(18, 8, 11, 9, 12, 3, 2, 3, 2, 2, 2);
  check_weight(2, 130, 7, 7, 9, 1, 1, 1, 0, 1, 1);
}

TEST_CASE("operands that begin inside of a tensor, at no multiple of 16 bytes") {
  for (const long floats : {1, 2}) {
    floats_before = floats;
    check_sizes<3>(2, 5, 8, 8, 12, 3, 3, 1, 1, 1, 1);
    check_sizes<3, 2>(2, 4, 8, 8, 12, 3, 3, 2, 1, 1, 1);
    check_sizes<1>(2, 6, 4, 4, 12, 1, 1, 1, 0, 1, 1);
    check_weight(2, 4, 8, 8, 5, 3, 3, 1, 1, 1, 1);
    check_weight(2, 4, 8, 8, 5, 1, 1, 1, 0, 1, 1);
  }
  floats_before = 0;
}
