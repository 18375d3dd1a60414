// Convolution and its gradients by the loops of the contract, for tests of their kernels.
#pragma once
#include <doctest/doctest.h>

#include <tenon/backend/cpu/conv/conv2d.hpp>

#include "../reference.hpp"
#include "print_sizes.hpp"

namespace reference {
using namespace tenon;
using kernel::Conv2dSizes;

template <class T>
struct Case {
  Conv2dSizes s;
  std::vector<T> x, weight, dy;
  bool near = true;
  // channels, or samples, that a chain meets at each tap: the last one first
  static constexpr long unit = kernel::steps_per_unit<T>;

  Case(const Conv2dSizes& sizes, std::uint64_t seed) : s(sizes) {
    Random random(seed);
    x = numbers<T>(s.n * s.c * s.h * s.w, random);
    weight = numbers<T>(s.o * s.group_inputs() * s.taps(), random);
    dy = numbers<T>(s.n * s.o * s.oh * s.ow, random);
  }
  long cg() const { return s.group_inputs(); }
  long og() const { return s.group_outputs(); }
  T image(long n, long c, long y, long x1) const {
    return y < 0 || y >= s.h || x1 < 0 || x1 >= s.w ? T(0) : x[size_t(((n * s.c + c) * s.h + y) * s.w + x1)];
  }
  T gradient(long n, long o, long y, long x1) const {
    return y < 0 || y >= s.oh || x1 < 0 || x1 >= s.ow ? T(0) : dy[size_t(((n * s.o + o) * s.oh + y) * s.ow + x1)];
  }
  T tap(long o, long c, long r, long k) const { return weight[size_t(((o * cg() + c) * s.kh + r) * s.kw + k)]; }
  // Sums of float32 are made of segments of whole channels.
  void begin(Chain<T>& chain, long channel, long segment) const {
    if (std::is_same_v<T, float> && channel > 0 && channel % segment == 0) chain.finish(), chain.sum = 0;
  }
  T take(Chain<T>& chain, long steps) {
    if (std::is_same_v<T, float>) chain.finish();
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
            for (long pair = 0; pair < cg(); pair += unit) {
              begin(chain, pair, s.segment());
              for (long r = 0; r < s.kh; ++r)
                for (long k = 0; k < s.kw; ++k)
                  for (long c = pair + unit - 1; c >= pair; --c)
                    if (c < cg())
                      chain.add(tap(o, c, r, k),
                                image(n, o / og() * cg() + c, i * s.stride_h + r * s.dilation_h - s.pad_top,
                                      j * s.stride_w + k * s.dilation_w - s.pad_left));
            }
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
            const long first = c / cg() * og(), end = first + og();
            for (long pair = first; pair < end; pair += unit) {
              begin(chain, pair - first, s.input_segment());
              for (long r = 0; r < s.kh; ++r)
                for (long k = 0; k < s.kw; ++k) {
                  const long y = i + s.pad_top - r * s.dilation_h, x1 = j + s.pad_left - k * s.dilation_w;
                  for (long o = pair + unit - 1; o >= pair; --o)
                    if (o < end && y % s.stride_h == 0 && x1 % s.stride_w == 0)
                      chain.add(tap(o, c % cg(), r, k), gradient(n, o, y / s.stride_h, x1 / s.stride_w));
                }
            }
            dx.push_back(take(chain, og() * s.taps()));
          }
    return dx;
  }
  std::vector<T> backward_weight() {
    std::vector<T> dw;
    const kernel::PixelSegments segment = kernel::pixel_segments(s.oh, s.ow);
    for (long o = 0; o < s.o; ++o)
      for (long c = 0; c < cg(); ++c)
        for (long r = 0; r < s.kh; ++r)
          for (long k = 0; k < s.kw; ++k) {
            Chain<T> chain;
            SumOfSamples samples;
            for (long pair = 0; pair < s.n; pair += unit) {
              Chain<T> sample;
              float sum = 0;
              for (long i = 0; i < s.oh; ++i)
                for (long j = 0; j < s.ow; ++j) {
                  if (i % segment.rows == 0 && j % segment.columns == 0) sum += sample.sum, sample.sum = 0;
                  for (long n = pair + unit - 1; n >= pair; --n) {
                    if (n >= s.n) continue;
                    const T x = image(n, o / og() * cg() + c, i * s.stride_h + r * s.dilation_h - s.pad_top,
                                      j * s.stride_w + k * s.dilation_w - s.pad_left);
                    chain.add(x, gradient(n, o, i, j)), sample.add(x, gradient(n, o, i, j));
                  }
                }
              if constexpr (std::is_same_v<T, float>) samples.add(sum + sample.rounded());
            }
            const T one_chain = take(chain, s.n * s.oh * s.ow);
            if constexpr (std::is_same_v<T, float>) dw.push_back(samples.total());
            else dw.push_back(one_chain);
          }
    return dw;
  }

  /// The order of backend/cpu/nchw16n/layout.hpp: 16 samples as a tree, the blocks one after the other.
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

template <class T, kernel::ConvWay way = kernel::ConvWay::any>
void check(const Conv2dSizes& s, std::uint64_t seed) {
  CAPTURE(s);
  Case<T> data(s, seed);
  const std::vector<T> y_expected = data.forward(), dx_expected = data.backward_input(),
                       dw_expected = data.backward_weight();
  CHECK(data.near);
  Workspace forward(kernel::conv2d_workspace<T>(s)), input(kernel::conv2d_workspace<T>(s.for_input())),
      weight(kernel::conv2d_backward_weight_workspace<T>(s));
  for (long parts = 1; parts <= 3; ++parts) {
    CAPTURE(parts);
    std::vector<T> y(y_expected.size(), T(77)), dx(dx_expected.size(), T(77)), dw(dw_expected.size(), T(77));
    std::vector<int> finished(size_t(s.n * s.o));
    in_parts(kernel::conv2d_items(s), parts, [&](long begin, long end) {
      kernel::conv2d<T, way>(s, data.x.data(), data.weight.data(), y.data(), begin, end, forward.data(),
                             [&](long sample, long o0, long count) {
                               for (long o = o0; o < o0 + count; ++o) ++finished[size_t(sample * s.o + o)];
                             });
    });
    in_parts(kernel::conv2d_items(s.for_input()), parts, [&](long begin, long end) {
      kernel::conv2d<T, way>(s.for_input(), data.dy.data(), data.weight.data(), dx.data(), begin, end, input.data(),
                             [](long, long, long) {});
    });
    in_parts(kernel::conv2d_backward_weight_items(s), parts, [&](long begin, long end) {
      kernel::conv2d_backward_weight(s, data.x.data(), data.dy.data(), dw.data(), begin, end, weight.data());
    });
    CHECK(same_bits(y, y_expected));
    CHECK(same_bits(dx, dx_expected));
    CHECK(same_bits(dw, dw_expected));
    CHECK(finished == std::vector<int>(size_t(s.n * s.o), 1));
  }
}

/// Output extents for padding on four sides.
inline Conv2dSizes sizes(long n, long c, long h, long w, long o, int kh, int kw, int stride_h, int stride_w,
                         int dilation_h, int dilation_w, int groups, int top, int bottom, int left, int right) {
  const long oh = (h + top + bottom - (kh - 1) * dilation_h - 1) / stride_h + 1,
             ow = (w + left + right - (kw - 1) * dilation_w - 1) / stride_w + 1;
  return {n, c, h, w, o, oh, ow, kh, kw, stride_h, stride_w, top, left, dilation_h, dilation_w, groups};
}

template <class T>
void random_shapes(int count, std::uint64_t seed) {
  Random random(seed);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  for (int i = 0; i < count; ++i) {
    const int groups = pick(0, 2) ? 1 : pick(2, 3), kh = pick(1, 5), kw = pick(1, 5), dh = pick(1, 2), dw = pick(1, 2),
              top = pick(0, 3), left = pick(0, 3);
    const long h = (kh - 1) * dh + pick(1, 9), w = (kw - 1) * dw + pick(1, 19);
    check<T>(sizes(pick(1, 3), groups * pick(1, 4), h, w, groups * pick(1, 11), kh, kw, pick(1, 3), pick(1, 3), dh, dw,
                   groups, top, pick(0, 2), left, pick(0, 2)),
             seed + std::uint64_t(i));
  }
}

}  // namespace reference
