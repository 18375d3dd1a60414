// Pooling on blocks of samples: the bits of the row-major kernels, for any shape, batch, and division into parts.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>

#include <tenon/backend/cpu/nchw16n/pool2d.hpp>

#include "../reference.hpp"
#include "sample_blocks.hpp"

using namespace tenon;
using kernel::Pool2dSizes;

using reference::in_blocks_of;

namespace {
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Equal bits in the samples that are there; NaN equals NaN.
bool same(const std::vector<float>& blocks, const std::vector<float>& x, long n, long features) {
  for (long s = 0; s < n; ++s)
    for (long f = 0; f < features; ++f) {
      const float a = blocks[std::size_t(nchw16n_place(s, f, features))], b = x[std::size_t(s * features + f)];
      if (std::memcmp(&a, &b, sizeof a) != 0 && !(a != a && b != b)) return false;
    }
  return true;
}

/// Some numbers are ties, zeros of either sign, infinite, or NaN.
void spoil(std::vector<float>& x, Random& random, bool odd) {
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  values[]{0.0f, -0.0f, 0.5f, 0.5f, -infinity, infinity, not_a_number};
  for (float& v : x)
    if (random.below(3) == 0) v = values[random.below(odd ? 7 : 4)];
}

/// s is of one sample of s.planes channels.
void check(long n, const Pool2dSizes& s, bool count_include_pad, bool odd, std::uint64_t seed) {
  CAPTURE(n);
  CAPTURE(s.planes);
  CAPTURE(s.h);
  CAPTURE(s.w);
  CAPTURE(s.oh);
  CAPTURE(s.ow);
  CAPTURE(s.kh);
  CAPTURE(s.kw);
  CAPTURE(s.stride_h);
  CAPTURE(s.stride_w);
  CAPTURE(s.pad_top);
  CAPTURE(s.pad_left);
  Random random(seed);
  const long in = s.planes * s.h * s.w, out = s.planes * s.oh * s.ow, planes = n * s.planes;
  std::vector<float> x = reference::numbers<float>(n * in, random), dy = reference::numbers<float>(n * out, random);
  spoil(x, random, odd);
  std::vector<float> maximum(dy.size()), average(dy.size()), from_maximum(x.size()), from_average(x.size());
  kernel::max_pool2d(s, x.data(), maximum.data(), kernel::no_places, 0, planes);
  kernel::avg_pool2d(s, x.data(), average.data(), count_include_pad, 0, planes);
  std::vector<std::uint8_t> places(dy.size());
  const bool fit = s.kh * s.kw <= 256;  // places, in a byte
  if (fit) kernel::max_pool2d(s, x.data(), maximum.data(), places.data(), 0, planes);
  if (fit) kernel::max_pool2d_backward(s, places.data(), dy.data(), from_maximum.data(), 0, planes, nullptr);
  kernel::avg_pool2d_backward(s, dy.data(), from_average.data(), count_include_pad, 0, planes, nullptr);

  const std::vector<float> xb = in_blocks_of(x, n, in), dyb = in_blocks_of(dy, n, out);
  const long items = whole_blocks(n) / block_samples * s.planes;
  for (long parts = 1; parts <= 3; ++parts) {
    std::vector<float> y(dyb.size(), 77.0f), dx(xb.size(), 77.0f);
    std::vector<std::uint8_t> places_b(dyb.size(), 77);
    reference::in_parts(items, parts, [&](long begin, long end) {
      kernel::nchw16n_max_pool2d(s, xb.data(), y.data(), kernel::no_places, begin, end);
    });
    CHECK(same(y, maximum, n, out));
    reference::in_parts(items, parts, [&](long begin, long end) {
      kernel::nchw16n_avg_pool2d(s, xb.data(), y.data(), count_include_pad, begin, end);
    });
    CHECK(same(y, average, n, out));
    reference::in_parts(items, parts, [&](long begin, long end) {
      kernel::nchw16n_avg_pool2d_backward(s, dyb.data(), dx.data(), count_include_pad, begin, end);
    });
    CHECK(same(dx, from_average, n, in));
    if (!fit) continue;
    reference::in_parts(items, parts, [&](long begin, long end) {
      kernel::nchw16n_max_pool2d(s, xb.data(), y.data(), places_b.data(), begin, end);
    });
    CHECK(same(y, maximum, n, out));
    reference::in_parts(items, parts, [&](long begin, long end) {
      kernel::nchw16n_max_pool2d_backward(s, places_b.data(), dyb.data(), dx.data(), begin, end);
    });
    CHECK(same(dx, from_maximum, n, in));
  }
}
}  // namespace

TEST_CASE("block_pool2d: random shapes") {
  Random random(1);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  for (int i = 0; i < 150; ++i) {
    const int kh = pick(1, 5), kw = pick(1, 5), sh = pick(1, 3), sw = pick(1, 3), top = pick(0, kh / 2),
              left = pick(0, kw / 2);
    const long h = kh + pick(0, 9), w = kw + pick(0, 20);
    const long oh = (h + top + pick(0, kh / 2) - kh) / sh + 1, ow = (w + left + pick(0, kw / 2) - kw) / sw + 1;
    check(pick(1, 35), {pick(1, 4), h, w, oh, ow, kh, kw, sh, sw, top, left}, pick(0, 1) == 1, pick(0, 1) == 1,
          std::uint64_t(i));
  }
}

TEST_CASE("block_pool2d: the layers of networks") {
  check(32, {6, 28, 28, 14, 14, 2, 2, 2, 2, 0, 0}, false, false, 1);
  check(21, {4, 11, 9, 5, 4, 2, 2, 2, 2, 0, 0}, false, true, 5);
  check(19, {3, 9, 10, 5, 5, 2, 2, 2, 2, 0, 0}, false, true, 2);  // "same": the last row of windows hangs over
  check(16, {2, 56, 56, 28, 28, 3, 3, 2, 2, 1, 1}, true, true, 3);
  check(16, {5, 7, 7, 1, 1, 7, 7, 1, 1, 0, 0}, false, true, 4);  // global
  check(10, {2, 13, 112, 13, 112, 5, 5, 1, 1, 2, 2}, true, true, 5);
  check(17, {2, 56, 55, 1, 1, 56, 55, 1, 1, 0, 0}, false, false, 6);  // large windows
  check(32, {2, 32, 32, 2, 2, 16, 16, 16, 16, 0, 0}, true, true, 7);
  check(9, {1, 40, 41, 9, 10, 17, 13, 3, 3, 0, 0}, true, false, 8);
  check(16, {2, 20, 23, 11, 10, 12, 17, 2, 2, 6, 8}, false, false, 9);
  check(16, {1, 150, 5, 2, 5, 140, 1, 9, 1, 0, 0}, false, false, 10);
  check(5, {1, 30, 13, 3, 1, 10, 13, 10, 1, 0, 0}, false, false, 11);
  check(16, {2, 12, 12, 2, 2, 16, 16, 11, 11, 15, 15}, false, false, 12);
}
