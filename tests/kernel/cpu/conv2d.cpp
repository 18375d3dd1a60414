// Convolution and its gradients against the loops of the contract, bit for bit, for any division into parts.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/kernel/cpu/conv2d.hpp>

#include "reference.hpp"

using namespace tenon;
using kernel::Conv2dSizes;
using reference::Chain;

namespace {
template <class T>
struct Case {
  Conv2dSizes s;
  std::vector<T> x, weight, dy;
  bool near = true;
  static constexpr long unit = kernel::steps_per_unit<T>;  // channels, or samples, that a chain meets at each tap: the last one first

  Case(const Conv2dSizes& sizes, std::uint64_t seed) : s(sizes) {
    Random random(seed);
    x = reference::numbers<T>(s.n * s.c * s.h * s.w, random);
    weight = reference::numbers<T>(s.o * s.group_inputs() * s.taps(), random);
    dy = reference::numbers<T>(s.n * s.o * s.oh * s.ow, random);
  }
  long cg() const { return s.group_inputs(); }
  long og() const { return s.group_outputs(); }
  T image(long n, long c, long y, long x1) const { return y < 0 || y >= s.h || x1 < 0 || x1 >= s.w ? T(0) : x[size_t(((n * s.c + c) * s.h + y) * s.w + x1)]; }
  T gradient(long n, long o, long y, long x1) const {
    return y < 0 || y >= s.oh || x1 < 0 || x1 >= s.ow ? T(0) : dy[size_t(((n * s.o + o) * s.oh + y) * s.ow + x1)];
  }
  T tap(long o, long c, long r, long k) const { return weight[size_t(((o * cg() + c) * s.kh + r) * s.kw + k)]; }
  T take(const Chain<T>& chain, long steps) {
    near = near && chain.near(chain.rounded(), steps);
    return chain.rounded();
  }

  std::vector<T> forward() {
    std::vector<T> y;
    for (long n = 0; n < s.n; ++n)
      for (long o = 0; o < s.o; ++o)
        for (long i = 0; i < s.oh; ++i)
          for (long j = 0; j < s.ow; ++j) {
            Chain<T> chain;
            for (long pair = 0; pair < cg(); pair += unit)
              for (long r = 0; r < s.kh; ++r)
                for (long k = 0; k < s.kw; ++k)
                  for (long c = pair + unit - 1; c >= pair; --c)
                    if (c < cg())
                      chain.add(tap(o, c, r, k),
                                image(n, o / og() * cg() + c, i * s.stride_h + r * s.dilation_h - s.pad_top, j * s.stride_w + k * s.dilation_w - s.pad_left));
            y.push_back(take(chain, cg() * s.taps()));
          }
    return y;
  }
  std::vector<T> backward_input() {
    std::vector<T> dx;
    for (long n = 0; n < s.n; ++n)
      for (long c = 0; c < s.c; ++c)
        for (long i = 0; i < s.h; ++i)
          for (long j = 0; j < s.w; ++j) {
            Chain<T> chain;
            const long end = (c / cg() + 1) * og();
            for (long pair = c / cg() * og(); pair < end; pair += unit)
              for (long r = 0; r < s.kh; ++r)
                for (long k = 0; k < s.kw; ++k) {
                  const long y = i + s.pad_top - r * s.dilation_h, x1 = j + s.pad_left - k * s.dilation_w;
                  for (long o = pair + unit - 1; o >= pair; --o)
                    if (o < end && y % s.stride_h == 0 && x1 % s.stride_w == 0) chain.add(tap(o, c % cg(), r, k), gradient(n, o, y / s.stride_h, x1 / s.stride_w));
                }
            dx.push_back(take(chain, og() * s.taps()));
          }
    return dx;
  }
  std::vector<T> backward_weight() {
    std::vector<T> dw;
    for (long o = 0; o < s.o; ++o)
      for (long c = 0; c < cg(); ++c)
        for (long r = 0; r < s.kh; ++r)
          for (long k = 0; k < s.kw; ++k) {
            Chain<T> chain;
            SumOfSamples samples;
            for (long pair = 0; pair < s.n; pair += unit) {
              Chain<T> sample;
              for (long i = 0; i < s.oh; ++i)
                for (long j = 0; j < s.ow; ++j)
                  for (long n = pair + unit - 1; n >= pair; --n) {
                    if (n >= s.n) continue;
                    const T x = image(n, o / og() * cg() + c, i * s.stride_h + r * s.dilation_h - s.pad_top, j * s.stride_w + k * s.dilation_w - s.pad_left);
                    chain.add(x, gradient(n, o, i, j)), sample.add(x, gradient(n, o, i, j));
                  }
              if constexpr (std::is_same_v<T, float>) samples.add(sample.rounded());
            }
            const T one_chain = take(chain, s.n * s.oh * s.ow);
            if constexpr (std::is_same_v<T, float>) dw.push_back(samples.total());
            else dw.push_back(one_chain);
          }
    return dw;
  }

  /// The order of kernel/cpu/sample_blocks.hpp: 16 samples as a tree, the blocks one after the other.
  struct SumOfSamples {
    std::vector<float> sample;
    void add(float value) { sample.push_back(value); }
    float total() const {
      float sum = 0;
      for (std::size_t first = 0; first < sample.size(); first += 16) {
        float block[16]{};
        for (std::size_t i = first; i < sample.size() && i < first + 16; ++i) block[i - first] = sample[i];
        for (int width = 16; width > 1; width /= 2)
          for (int i = 0; i < width / 2; ++i) block[i] = block[2 * i] + block[2 * i + 1];
        sum += block[0];
      }
      return sum + 0.0f;
    }
  };
};

template <class T, bool lanes = true>
void check(const Conv2dSizes& s, std::uint64_t seed) {
  CAPTURE(s.n);
  CAPTURE(s.c);
  CAPTURE(s.h);
  CAPTURE(s.w);
  CAPTURE(s.o);
  CAPTURE(s.oh);
  CAPTURE(s.ow);
  CAPTURE(s.kh);
  CAPTURE(s.kw);
  CAPTURE(s.stride_h);
  CAPTURE(s.stride_w);
  CAPTURE(s.pad_top);
  CAPTURE(s.pad_left);
  CAPTURE(s.dilation_h);
  CAPTURE(s.dilation_w);
  CAPTURE(s.groups);
  Case<T> data(s, seed);
  const std::vector<T> y_expected = data.forward(), dx_expected = data.backward_input(), dw_expected = data.backward_weight();
  CHECK(data.near);
  reference::Workspace forward(kernel::conv2d_workspace<T>(s)), input(kernel::conv2d_backward_input_workspace<T>(s)),
      weight(kernel::conv2d_backward_weight_workspace<T>(s));
  for (long parts = 1; parts <= 3; ++parts) {
    CAPTURE(parts);
    std::vector<T> y(y_expected.size(), T(77)), dx(dx_expected.size(), T(77)), dw(dw_expected.size(), T(77));
    std::vector<int> finished(size_t(s.n * s.o));
    reference::in_parts(kernel::conv2d_items(s), parts, [&](long begin, long end) {
      kernel::conv2d<T, lanes>(s, data.x.data(), data.weight.data(), y.data(), begin, end, forward.data(), [&](long sample, long o0, long count) {
        for (long o = o0; o < o0 + count; ++o) ++finished[size_t(sample * s.o + o)];
      });
    });
    reference::in_parts(kernel::conv2d_backward_input_items(s), parts, [&](long begin, long end) {
      kernel::conv2d_backward_input<T, lanes>(s, data.weight.data(), data.dy.data(), dx.data(), begin, end, input.data(), [](long, long, long) {});
    });
    reference::in_parts(kernel::conv2d_backward_weight_items(s), parts,
                        [&](long begin, long end) { kernel::conv2d_backward_weight(s, data.x.data(), data.dy.data(), dw.data(), begin, end, weight.data()); });
    CHECK(reference::same_bits(y, y_expected));
    CHECK(reference::same_bits(dx, dx_expected));
    CHECK(reference::same_bits(dw, dw_expected));
    CHECK(finished == std::vector<int>(size_t(s.n * s.o), 1));
  }
}

/// Output extents for padding on four sides.
Conv2dSizes sizes(long n, long c, long h, long w, long o, int kh, int kw, int stride_h, int stride_w, int dilation_h, int dilation_w, int groups, int top,
                  int bottom, int left, int right) {
  const long oh = (h + top + bottom - (kh - 1) * dilation_h - 1) / stride_h + 1, ow = (w + left + right - (kw - 1) * dilation_w - 1) / stride_w + 1;
  return {n, c, h, w, o, oh, ow, kh, kw, stride_h, stride_w, top, left, dilation_h, dilation_w, groups};
}

template <class T>
void random_shapes(int count, std::uint64_t seed) {
  Random random(seed);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  for (int i = 0; i < count; ++i) {
    const int groups = pick(0, 2) ? 1 : pick(2, 3), kh = pick(1, 5), kw = pick(1, 5), dh = pick(1, 2), dw = pick(1, 2), top = pick(0, 3), left = pick(0, 3);
    const long h = (kh - 1) * dh + pick(1, 9), w = (kw - 1) * dw + pick(1, 19);
    check<T>(
        sizes(pick(1, 3), groups * pick(1, 4), h, w, groups * pick(1, 11), kh, kw, pick(1, 3), pick(1, 3), dh, dw, groups, top, pick(0, 2), left, pick(0, 2)),
        seed + std::uint64_t(i));
  }
}
}  // namespace

TEST_CASE("conv2d: random shapes, every element type") {
  random_shapes<float>(60, 1);
  random_shapes<double>(30, 2);
  random_shapes<float16>(20, 3);
  random_shapes<bfloat16>(20, 4);
  random_shapes<std::int32_t>(20, 5);
}

TEST_CASE("conv2d: the layers of networks") {
  check<float>(sizes(2, 1, 28, 28, 6, 5, 5, 1, 1, 1, 1, 1, 2, 2, 2, 2), 10);  // LeNet
  check<float>(sizes(3, 6, 14, 14, 16, 5, 5, 1, 1, 1, 1, 1, 0, 0, 0, 0), 11);
  check<float>(sizes(1, 3, 64, 65, 17, 7, 7, 2, 2, 1, 1, 1, 3, 3, 3, 3), 12);    // several bands
  check<float>(sizes(1, 33, 9, 9, 70, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 13);     // several blocks of output channels
  check<float>(sizes(1, 70, 5, 7, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 14);      // several passes over the taps of the weight
  check<float>(sizes(2, 19, 8, 8, 21, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 15);     // pointwise with stride
  check<float>(sizes(2, 13, 40, 41, 13, 3, 3, 1, 1, 1, 1, 13, 1, 1, 1, 1), 16);  // depthwise
  check<float>(sizes(1, 2, 3, 1300, 2, 1, 3, 1, 1, 1, 1, 1, 0, 0, 1, 1), 17);    // a row that is wider than a band
  check<float>(sizes(1, 1, 4, 4, 1, 2, 2, 3, 3, 1, 1, 1, 5, 0, 4, 0), 18);       // more padding than kernel
}

TEST_CASE("conv2d: images that lie there once for each column of taps") {
  const auto copied = [](const Conv2dSizes& s, std::uint64_t seed) {
    CHECK((kernel::detail::forward<float>(s, false).image.copy_step > 0 || kernel::detail::backward_input<float>(s, false).image.copy_step > 0));
    check<float, false>(s, seed);
  };
  copied(sizes(2, 33, 4, 4, 34, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 80);
  copied(sizes(3, 40, 8, 8, 41, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 81);
  copied(sizes(2, 34, 8, 7, 68, 5, 3, 1, 3, 2, 2, 2, 4, 4, 2, 1), 82);
  copied(sizes(1, 100, 14, 11, 96, 3, 4, 1, 1, 1, 1, 1, 1, 1, 3, 0), 83);
  copied(sizes(1, 260, 14, 17, 60, 3, 5, 1, 1, 1, 1, 1, 1, 1, 2, 2), 84);  // several bands
  copied(sizes(1, 40, 4, 4, 50, 2, 2, 1, 1, 1, 1, 1, 2, 0, 3, 0), 85);    // more padding than kernel
}

TEST_CASE("conv2d: images that are read where they are") {
  const auto in_place = [](const Conv2dSizes& s, std::uint64_t seed) {
    CHECK(kernel::detail::forward<float>(s).in_place);
    check<float>(s, seed);
  };
  in_place(sizes(2, 9, 7, 9, 19, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 90);
  in_place(sizes(3, 4, 1, 16, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 91);
  in_place(sizes(2, 6, 41, 61, 9, 1, 1, 1, 1, 1, 1, 3, 0, 0, 0, 0), 92);  // several bands
  in_place(sizes(2, 5, 9, 10, 9, 3, 1, 1, 1, 2, 1, 1, 0, 0, 0, 0), 93);
  check<double>(sizes(2, 5, 9, 10, 9, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 94);
}

TEST_CASE("conv2d: layers of bfloat16") {
  check<bfloat16>(sizes(3, 3, 11, 10, 17, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 40);    // odd channels and samples
  check<bfloat16>(sizes(1, 3, 64, 65, 17, 7, 7, 2, 2, 1, 1, 1, 3, 3, 3, 3), 41);    // several bands
  check<bfloat16>(sizes(2, 1101, 2, 3, 90, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 42);   // weights that are packed in several parts
  check<bfloat16>(sizes(3, 90, 3, 3, 1101, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 43);   // so, for the input's gradient
  check<bfloat16>(sizes(5, 70, 5, 7, 41, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 44);     // several passes over the taps of the weight
  check<bfloat16>(sizes(2, 20, 8, 8, 21, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 45);     // pointwise with stride
  check<bfloat16>(sizes(2, 13, 10, 11, 13, 3, 3, 1, 1, 1, 1, 13, 1, 1, 1, 1), 46);  // depthwise
  check<bfloat16>(sizes(1, 2, 3, 1300, 2, 1, 3, 1, 1, 1, 1, 1, 0, 0, 1, 1), 47);    // a row that is wider than a band
  check<bfloat16>(sizes(1, 1, 4, 4, 1, 2, 2, 3, 3, 1, 1, 1, 5, 0, 4, 0), 48);
  check<bfloat16>(sizes(3, 37, 4, 4, 131, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 60);   // small images: channels in lanes
  check<bfloat16>(sizes(2, 130, 8, 8, 67, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 61);
  check<bfloat16>(sizes(2, 140, 7, 5, 110, 3, 5, 1, 2, 1, 1, 2, 1, 1, 2, 2), 62);
  check<bfloat16>(sizes(1, 1500, 3, 3, 100, 3, 3, 1, 1, 2, 1, 1, 2, 2, 1, 1), 63);
  for (long n : {1, 9, 24, 31}) check<bfloat16>(sizes(n, 3, 4, 3, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 64 + std::uint64_t(n));  // several samples at once
  check<bfloat16>(sizes(3, 70, 5, 4, 270, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 66);  // several blocks of channels at once
  check<bfloat16>(sizes(2, 9, 8, 9, 64, 5, 3, 1, 1, 2, 1, 1, 4, 4, 1, 1), 67);     // rows of taps that meet padding alone
  check<bfloat16>(sizes(2, 9, 2, 5, 64, 2, 3, 1, 1, 1, 1, 1, 5, 3, 1, 1), 68);
  check<bfloat16>(sizes(2, 40, 12, 12, 40, 5, 5, 1, 1, 1, 1, 1, 2, 2, 2, 2), 69);
  for (long n : {4, 7}) {  // samples that are computed together
    check<bfloat16>(sizes(n, 37, 4, 4, 131, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 120 + std::uint64_t(n));
    check<bfloat16>(sizes(n, 80, 7, 8, 74, 3, 3, 2, 2, 1, 1, 2, 1, 1, 1, 1), 130 + std::uint64_t(n));
    check<bfloat16>(sizes(n, 64, 8, 8, 40, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 140 + std::uint64_t(n));
  }
  check<bfloat16>(sizes(2, 9, 19, 35, 10, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 150);  // every second pixel of wide rows
  check<bfloat16>(sizes(2, 9, 20, 36, 10, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1), 151);
  check<bfloat16>(sizes(2, 9, 33, 34, 10, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 152);  // most pixels of the gradient are zero
  check<float>(sizes(2, 9, 33, 34, 10, 1, 2, 2, 3, 1, 1, 1, 0, 0, 0, 0), 153);
  check<bfloat16>(sizes(2, 30, 17, 16, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 65);
  for (long n : {1, 2, 7, 16, 17}) check<bfloat16>(sizes(n, 2, 5, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 0, 0), 50 + std::uint64_t(n));
  check<float16>(sizes(2, 1101, 2, 3, 90, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 49);
}

TEST_CASE_TEMPLATE("conv2d: channels as lanes", T, float, bfloat16) {
  int others = 0;  // what pays depends on the instruction set: a few shapes may be computed otherwise
  const auto in_lanes = [&](const Conv2dSizes& s, std::uint64_t seed) {
    others += !kernel::detail::forward<T>(s).lanes && !kernel::detail::backward_input<T>(s).lanes;
    check<T>(s, seed);
  };
  in_lanes(sizes(9, 37, 4, 4, 131, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 200);   // samples together, tiles of two widths
  in_lanes(sizes(5, 70, 7, 7, 203, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 201);   // planes in several parts
  in_lanes(sizes(4, 33, 14, 14, 72, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 202);
  in_lanes(sizes(4, 96, 13, 11, 80, 5, 5, 1, 1, 1, 1, 1, 2, 2, 2, 2), 203);
  in_lanes(sizes(4, 40, 7, 7, 56, 7, 7, 1, 1, 1, 1, 1, 3, 3, 3, 3), 204);    // rows of pixels go together, columns do not
  in_lanes(sizes(6, 42, 11, 9, 35, 11, 9, 1, 1, 1, 1, 1, 5, 5, 4, 4), 205);  // more parts than are told apart
  in_lanes(sizes(8, 64, 9, 8, 68, 3, 5, 2, 1, 1, 1, 1, 1, 1, 2, 2), 206);
  in_lanes(sizes(8, 64, 9, 8, 66, 3, 3, 1, 3, 1, 1, 1, 1, 1, 1, 1), 207);
  in_lanes(sizes(8, 64, 9, 9, 64, 2, 2, 3, 3, 1, 1, 1, 0, 0, 0, 0), 208);    // pixels that no tap meets
  in_lanes(sizes(8, 64, 7, 7, 70, 3, 3, 1, 1, 3, 2, 1, 3, 3, 2, 2), 209);
  in_lanes(sizes(8, 128, 7, 5, 140, 3, 5, 1, 1, 1, 1, 2, 1, 1, 2, 2), 210);
  in_lanes(sizes(8, 130, 7, 7, 67, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 211);
  in_lanes(sizes(8, 40, 5, 5, 40, 3, 3, 1, 1, 1, 1, 1, 6, 1, 5, 2), 212);    // results that meet nothing but padding
  in_lanes(sizes(2, 5, 31, 33, 144, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 214);  // several bands
  in_lanes(sizes(2, 33, 28, 35, 48, 7, 5, 1, 1, 1, 1, 1, 3, 3, 2, 2), 215);
  in_lanes(sizes(9, 1500, 3, 3, 100, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 213);
  CHECK(others <= (simd_bytes == 64 ? 0 : 3));
}

TEST_CASE_TEMPLATE("conv2d: with channels as lanes, infinite weights meet the padding, too", T, float, bfloat16) {
  const long n = 8, c = 64, o = 64, side = 4;
  const Conv2dSizes s = sizes(n, c, side, side, o, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  CHECK((kernel::detail::forward<T>(s).lanes && kernel::detail::backward_input<T>(s).lanes));
  const std::vector<T> x(size_t(n * c * side * side), T(1.0f));
  std::vector<T> weight(size_t(o * c * 9), T(1.0f)), y(x.size()), dx(x.size());
  weight[size_t((5 * c + 3) * 9)] = T(__builtin_inff());  // top left: NaN where it meets padding, infinite elsewhere
  reference::Workspace forward(kernel::conv2d_workspace<T>(s)), input(kernel::conv2d_backward_input_workspace<T>(s));
  kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), forward.data(), {});
  kernel::conv2d_backward_input(s, weight.data(), x.data(), dx.data(), 0, kernel::conv2d_backward_input_items(s), input.data(), {});
  const auto expected = [&](const std::vector<T>& result, long plane, long met, bool nan_first) {
    for (long k = 0; k < n; ++k)
      for (long p = 0; p < o; ++p)
        for (long i = 0; i < side * side; ++i) {
          const long row = i / side, column = i % side, edge = nan_first ? 0 : side - 1;
          const float own = static_cast<float>(result[size_t((k * o + p) * side * side + i)]);
          const long taps = (row % (side - 1) ? 3 : 2) * (column % (side - 1) ? 3 : 2);
          if (p != plane) CHECK(own == float(taps * met));
          else if (row == edge || column == edge) CHECK(own != own);
          else CHECK(own > 1e30f);
        }
  };
  expected(y, 5, c, true);
  expected(dx, 3, o, false);
}

TEST_CASE_TEMPLATE("conv2d: the weight's gradient leaves out pixels in the padding", T, float, bfloat16) {
  const auto leaving_out = [](const Conv2dSizes& s, std::uint64_t seed) {
    CHECK(kernel::detail::weight_plan<T>(s).leaves_out);
    check<T>(s, seed);
  };
  leaving_out(sizes(3, 20, 40, 41, 17, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 220);  // several bands
  leaving_out(sizes(35, 70, 4, 4, 19, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 221);   // several passes, groups of samples
  leaving_out(sizes(6, 50, 9, 8, 70, 3, 5, 2, 1, 1, 2, 2, 1, 1, 4, 3), 222);
  leaving_out(sizes(2, 16, 5, 5, 9, 3, 3, 1, 1, 1, 1, 1, 6, 1, 5, 2), 223);     // results that meet nothing but padding
}

TEST_CASE_TEMPLATE("conv2d: an infinite gradient meets the padding, too", T, float, bfloat16) {
  const long c = 20, side = 4, taps = 9;
  const Conv2dSizes s = sizes(2, c, side, side, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  CHECK(kernel::detail::weight_plan<T>(s).leaves_out);
  const std::vector<T> x(size_t(2 * c * side * side), T(1.0f));
  std::vector<T> dy(size_t(2 * 3 * side * side), T(1.0f)), dw(size_t(3 * c * taps));
  dy[size_t(side * side)] = T(__builtin_inff());  // the top left pixel of channel 1
  reference::Workspace workspace(kernel::conv2d_backward_weight_workspace<T>(s));
  kernel::conv2d_backward_weight<T>(s, x.data(), dy.data(), dw.data(), 0, kernel::conv2d_backward_weight_items(s), workspace.data());
  for (long i = 0; i < 3 * c * taps; ++i) {
    const long o = i / (c * taps), r = i % taps / 3, k = i % 3;
    const float own = static_cast<float>(dw[size_t(i)]);
    if (o != 1) CHECK(own == float(2 * (r == 1 ? 4 : 3) * (k == 1 ? 4 : 3)));
    else if (r == 0 || k == 0) CHECK(own != own);
    else CHECK(own > 1e30f);
  }
}

TEST_CASE("conv2d: depthwise, several vectors of channels, samples, tiles of taps, and bands") {
  check<float>(sizes(19, 18, 6, 7, 18, 3, 3, 1, 1, 1, 1, 18, 1, 1, 1, 1), 70);
  check<float>(sizes(3, 35, 12, 11, 35, 5, 4, 2, 3, 1, 2, 35, 3, 2, 2, 3), 71);
  check<float>(sizes(2, 3, 70, 90, 3, 3, 3, 1, 1, 1, 1, 3, 1, 1, 1, 1), 72);
  check<float>(sizes(2, 16, 4, 4, 16, 2, 2, 3, 3, 1, 1, 16, 5, 0, 4, 0), 73);
  check<double>(sizes(2, 5, 6, 7, 5, 3, 3, 1, 1, 1, 1, 5, 1, 1, 1, 1), 74);
}

TEST_CASE("conv2d: the weight's gradient adds up samples as blocks of 16") {
  for (long n : {4, 5, 7, 8, 11, 15, 16, 17, 31, 32, 37}) check<float>(sizes(n, 2, 5, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 0, 0), 30 + std::uint64_t(n));
  const auto in_groups = [](const Conv2dSizes& s, std::uint64_t seed) {  // of samples, as many as fit
    const long group = kernel::detail::weight_plan<float>(s).group;
    CHECK((group > 1 && group < 16));
    check<float>(s, seed);
  };
  for (long n : {3, 4, 11, 21}) in_groups(sizes(n, 40, 16, 15, 56, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 100 + std::uint64_t(n));
  for (long n : {2, 9, 17, 34}) in_groups(sizes(n, 30, 21, 20, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 130 + std::uint64_t(n));
}

TEST_CASE("conv2d: the weight's gradient of pointwise convolutions to more channels") {
  for (int groups : {1, 2}) check<float>(sizes(3, 16 * groups, 5, 7, 21 * groups, 1, 1, 1, 1, 1, 1, groups, 0, 0, 0, 0), 110 + std::uint64_t(groups));
  check<float>(sizes(17, 64, 4, 3, 130, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 113);
  check<bfloat16>(sizes(3, 32, 5, 7, 41, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 114);
}

TEST_CASE_TEMPLATE("conv2d: a sample alone and in a batch has the same bits", T, float, bfloat16) {
  const Conv2dSizes batch = sizes(5, 3, 11, 13, 7, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1);
  Conv2dSizes single = batch;
  single.n = 1;
  Case<T> data(batch, 20);
  reference::Workspace workspace(kernel::conv2d_workspace<T>(batch));
  const long in = batch.c * batch.h * batch.w, out = batch.o * batch.oh * batch.ow;
  std::vector<T> y(size_t(batch.n * out)), alone(y.size());
  const auto nothing = [](long, long, long) {};
  kernel::conv2d(batch, data.x.data(), data.weight.data(), y.data(), 0, kernel::conv2d_items(batch), workspace.data(), nothing);
  for (long n = 0; n < batch.n; ++n)
    kernel::conv2d(single, data.x.data() + n * in, data.weight.data(), alone.data() + n * out, 0, kernel::conv2d_items(single), workspace.data(), nothing);
  CHECK(reference::same_bits(y, alone));
}

TEST_CASE("conv2d: a weight's gradient over no samples is zero") {
  Conv2dSizes s = sizes(0, 3, 5, 5, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  std::vector<float> dw(size_t(4 * 3 * 9), 5.0f);
  reference::Workspace workspace(kernel::conv2d_backward_weight_workspace<float>(s));
  kernel::conv2d_backward_weight<float>(s, nullptr, nullptr, dw.data(), 0, kernel::conv2d_backward_weight_items(s), workspace.data());
  CHECK(reference::same_bits(dw, std::vector<float>(dw.size(), 0.0f)));
  CHECK(kernel::conv2d_items(s) == 0);
}

TEST_CASE("conv2d: an infinity in the image meets all weights, also in columns that no output uses") {
  const Conv2dSizes s = sizes(1, 1, 3, 3, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  std::vector<float> x(9, 1.0f), weight(9, 1.0f), y(9);
  x[0] = __builtin_inff();
  reference::Workspace workspace(kernel::conv2d_workspace<float>(s));
  kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), workspace.data(), [](long, long, long) {});
  for (int i = 0; i < 9; ++i) CHECK((y[size_t(i)] > 100) == (i % 3 < 2 && i / 3 < 2));
}

TEST_CASE("conv2d: an infinite weight of bfloat16 meets the padding, too") {
  const Conv2dSizes s = sizes(1, 2, 4, 4, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  std::vector<bfloat16> x(32, 1.0f), weight(64 * 18, 1.0f), y(64 * 16);
  weight[0] = __builtin_inff();  // top left: NaN where it meets padding, infinite elsewhere
  reference::Workspace workspace(kernel::conv2d_workspace<bfloat16>(s));
  kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), workspace.data(), [](long, long, long) {});
  for (int i = 0; i < 16; ++i) CHECK((float(y[size_t(i)]) > 100) == (i % 4 > 0 && i / 4 > 0));
  CHECK(float(y[16]) == 8);
}
