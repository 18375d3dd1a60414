// Pooling and its gradients against plain loops, bit for bit, for all pad modes and any division into parts.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/backend/cpu/pool/plane_blocks.hpp>
#include <tenon/core/error.hpp>

#include "../../../support/sum_order.hpp"
#include "../reference.hpp"

using namespace tenon;
using kernel::Pool2dSizes;

namespace {
template <class T>
using Value = Compute<T>;

/// Calls body(position in the plane) for the elements of x in window (i, j), row by row.
template <class Body>
void each(const Pool2dSizes& s, long i, long j, Body&& body) {
  for (long r = 0; r < s.kh; ++r)
    for (long k = 0; k < s.kw; ++k) {
      const long y = i * s.stride_h + r - s.pad_top, x = j * s.stride_w + k - s.pad_left;
      if (y >= 0 && y < s.h && x >= 0 && x < s.w) body(y * s.w + x);
    }
}

/// The sum of a large window: each of its rows is a run, or all of them together are one if they are whole rows.
template <class T>
Value<T> large_sum(const Pool2dSizes& s, long i, long j, const T* from) {
  std::vector<std::vector<Value<T>>> runs;
  long row = -1;
  each(s, i, j, [&](long at) {
    if (at / s.w != row) runs.emplace_back(), row = at / s.w;
    runs.back().push_back(Value<T>(from[at]));
  });
  if (long(runs[0].size()) == s.w)
    for (; runs.size() > 1; runs.erase(runs.begin() + 1)) runs[0].insert(runs[0].end(), runs[1].begin(), runs[1].end());
  return support::runs_sum(runs);
}

template <class T>
struct Expected {
  std::vector<T> maximum, average, from_maximum, from_average;

  Expected(const Pool2dSizes& s, const std::vector<T>& x, const std::vector<T>& dy, bool count_include_pad) {
    for (long plane = 0; plane < s.planes; ++plane) {
      std::vector<Value<T>> to_maximum(size_t(s.h * s.w)), to_average(to_maximum.size());
      const T* const from = x.data() + plane * s.h * s.w;
      for (long i = 0; i < s.oh; ++i)
        for (long j = 0; j < s.ow; ++j) {
          long best = -1, count = 0;
          Value<T> sum = 0;
          each(s, i, j, [&](long at) {
            const Value<T> value = Value<T>(from[at]);
            if (best < 0 || value > Value<T>(from[best]) || value != value) best = at;
            sum = Value<T>(sum + Value<T>(from[at])), ++count;
          });
          const Value<T> gradient = dy[size_t((plane * s.oh + i) * s.ow + j)],
                         divisor = Value<T>(count_include_pad ? s.kh * s.kw : count);
          maximum.push_back(from[best]);
          if (s.kh * s.kw > 128) sum = large_sum(s, i, j, from);
          average.push_back(T(sum / divisor));
          to_maximum[size_t(best)] = Value<T>(to_maximum[size_t(best)] + gradient);
          each(s, i, j, [&](long at) { to_average[size_t(at)] += gradient / divisor; });
        }
      for (const Value<T>& v : to_maximum) from_maximum.push_back(T(v));
      for (const Value<T>& v : to_average) from_average.push_back(T(v));
    }
  }
};

std::string described(const Pool2dSizes& s) {
  return text(s.planes, " planes ", s.h, "x", s.w, " to ", s.oh, "x", s.ow, ", windows ", s.kh, "x", s.kw, ", strides ",
              s.stride_h, " ", s.stride_w, ", padding ", s.pad_top, " ", s.pad_left);
}

/// Maxima, averages, and gradients of averages by blocks of planes.
void check_blocks(const Pool2dSizes& s, const std::vector<float>& x, const std::vector<float>& dy,
                  bool count_include_pad, const Expected<float>& expected) {
  for (long parts = 1; parts <= 3; ++parts) {
    CAPTURE(parts);
    std::vector<float> maxima(dy.size(), 7), averages(dy.size(), 7), dx(x.size(), 7);
    reference::in_parts(s.planes, parts, [&](long begin, long end) {
      reference::Workspace workspace(size_t(kernel::pool2d_block_bytes(s)));
      void* const scratch = workspace.data();
      const auto in_blocks = [&](bool back, const std::vector<float>& from, std::vector<float>& to, auto pool) {
        const long whole = s.h * s.w, windows = s.oh * s.ow;
        return kernel::pool2d_in_blocks(back ? windows : whole, back ? whole : windows, from.data(), to.data(), begin,
                                        end, scratch, pool);
      };
      long left = in_blocks(false, x, maxima, [&](const float* from, float* to) {
        kernel::nchw16n_max_pool2d(s, from, to, kernel::no_places, 0, 1);
      });
      kernel::max_pool2d(s, x.data(), maxima.data(), kernel::no_places, left, end);
      left = in_blocks(false, x, averages, [&](const float* from, float* to) {
        kernel::nchw16n_avg_pool2d(s, from, to, count_include_pad, 0, 1);
      });
      kernel::avg_pool2d(s, x.data(), averages.data(), count_include_pad, left, end);
      left = in_blocks(true, dy, dx, [&](const float* from, float* to) {
        kernel::nchw16n_avg_pool2d_backward(s, from, to, count_include_pad, 0, 1);
      });
      kernel::avg_pool2d_backward(s, dy.data(), dx.data(), count_include_pad, left, end, scratch);
    });
    CHECK(reference::same_bits(maxima, expected.maximum));
    CHECK(reference::same_bits(averages, expected.average));
    CHECK(reference::same_bits(dx, expected.from_average));
  }
}

/// Maxima whose places are kept, as bytes and as int32, and their gradient.
template <class P, class T>
void check_places_of(const Pool2dSizes& s, const std::vector<T>& x, const std::vector<T>& dy, long parts,
                     const Expected<T>& expected) {
  reference::Workspace workspace(kernel::pool2d_backward_workspace<T>(s));
  std::vector<T> y(dy.size(), T(7)), dx(x.size(), T(7));
  std::vector<P> places(dy.size(), P(77));
  reference::in_parts(s.planes, parts, [&](long begin, long end) {
    kernel::max_pool2d(s, x.data(), y.data(), places.data(), begin, end);
  });
  CHECK(reference::same_bits(y, expected.maximum));
  reference::in_parts(s.planes, parts, [&](long begin, long end) {
    kernel::max_pool2d_backward(s, places.data(), dy.data(), dx.data(), begin, end, workspace.data());
  });
  CHECK(reference::same_bits(dx, expected.from_maximum));
}
template <class T>
void check_places(const Pool2dSizes& s, const std::vector<T>& x, const std::vector<T>& dy, long parts,
                  const Expected<T>& expected) {
  if (s.kh * s.kw <= 256) check_places_of<std::uint8_t>(s, x, dy, parts, expected);
  check_places_of<std::int32_t>(s, x, dy, parts, expected);
}

template <class T>
void check(const Pool2dSizes& s, bool count_include_pad, std::uint64_t seed) {
  CAPTURE(described(s));
  CAPTURE(count_include_pad);
  Random random(seed);
  std::vector<T> x = reference::numbers<T>(s.planes * s.h * s.w, random);
  const std::vector<T> dy = reference::numbers<T>(s.planes * s.oh * s.ow, random);
  for (T& v : x)  // ties, also between zeros of either sign
    if (random.below(3) == 0) v = T(random.below(2) ? -0.0f : 0.0f);
  const Expected<T> expected(s, x, dy, count_include_pad);
  if constexpr (std::is_same_v<T, float>) check_blocks(s, x, dy, count_include_pad, expected);
  [[maybe_unused]] reference::Workspace workspace(kernel::pool2d_backward_workspace<T>(s));
  for (long parts = 1; parts <= 3; ++parts) {
    std::vector<T> y(dy.size(), T(7)), dx(x.size(), T(7));
    reference::in_parts(s.planes, parts, [&](long begin, long end) {
      kernel::max_pool2d(s, x.data(), y.data(), kernel::no_places, begin, end);
    });
    CHECK(reference::same_bits(y, expected.maximum));
    if constexpr (!std::is_integral_v<T>) check_places(s, x, dy, parts, expected);
    if constexpr (!std::is_integral_v<T>) {
      reference::in_parts(s.planes, parts, [&](long begin, long end) {
        kernel::avg_pool2d(s, x.data(), y.data(), count_include_pad, begin, end);
      });
      CHECK(reference::same_bits(y, expected.average));
      reference::in_parts(s.planes, parts, [&](long begin, long end) {
        kernel::avg_pool2d_backward(s, dy.data(), dx.data(), count_include_pad, begin, end, workspace.data());
      });
      CHECK(reference::same_bits(dx, expected.from_average));
    }
  }
}

/// Of many planes at once, of which some hold infinite numbers and NaN: what comes out of maxima.
template <class T>
void check_maxima(const Pool2dSizes& s, std::uint64_t seed) {
  CAPTURE(described(s));
  Random random(seed);
  std::vector<T> x = reference::numbers<T>(s.planes * s.h * s.w, random);
  const std::vector<T> dy = reference::numbers<T>(s.planes * s.oh * s.ow, random);
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  special[]{-infinity, infinity, std::numeric_limits<float>::quiet_NaN(), 0.0f, -0.0f};
  const std::uint64_t rare = 1 + random.below(2000);
  for (T& v : x)
    if (const std::uint64_t drawn = random.below(rare); drawn < 2) v = T(special[random.below(5)]);
    else if (drawn < rare / 2) v = T(0.25f);
  const Expected<T> expected(s, x, dy, true);
  for (long parts = 1; parts <= 3; ++parts) {
    std::vector<T> y(dy.size(), T(7));
    reference::in_parts(s.planes, parts, [&](long begin, long end) {
      kernel::max_pool2d(s, x.data(), y.data(), kernel::no_places, begin, end);
    });
    CHECK(reference::same_bits(y, expected.maximum));
    if constexpr (std::is_same_v<T, float>) {
      std::vector<T> in_blocks(dy.size(), T(7));
      reference::in_parts(s.planes, parts, [&](long begin, long end) {
        reference::Workspace block(size_t(kernel::pool2d_block_bytes(s)));
        begin = kernel::pool2d_in_blocks(
            s.h * s.w, s.oh * s.ow, x.data(), in_blocks.data(), begin, end, block.data(),
            [&](const float* from, float* to) { kernel::nchw16n_max_pool2d(s, from, to, kernel::no_places, 0, 1); });
        kernel::max_pool2d(s, x.data(), in_blocks.data(), kernel::no_places, begin, end);
      });
      CHECK(reference::same_bits(in_blocks, expected.maximum));
    }
    if constexpr (!std::is_integral_v<T>) check_places(s, x, dy, parts, expected);
  }
}

template <class T>
void random_maxima(int count, std::uint64_t seed) {
  Random random(seed);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  for (int i = 0; i < count; ++i) {
    const int most = pick(0, 3) ? 3 : 6, kh = pick(1, most), kw = pick(1, most), sh = pick(1, 3),
              sw = pick(0, 1) ? kw : pick(1, 4), top = pick(0, kh / 2), left = pick(0, kw / 2);
    const long h = kh + pick(0, 60), w = kw + pick(0, pick(0, 1) ? 15 : 90);
    const long oh = (h + top + pick(0, kh / 2) - kh) / sh + 1, ow = (w + left + pick(0, kw / 2) - kw) / sw + 1;
    check_maxima<T>({pick(1, 40), h, w, oh, ow, kh, kw, sh, sw, top, left}, seed + std::uint64_t(i));
  }
}

template <class T>
void random_shapes(int count, std::uint64_t seed, int most_planes = 5, int most_columns = 40) {
  Random random(seed);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  for (int i = 0; i < count; ++i) {
    const int kh = pick(1, 4), kw = pick(1, 4), sh = pick(1, 3), sw = pick(1, 3), top = pick(0, kh / 2),
              left = pick(0, kw / 2);
    const long h = kh + pick(0, 12), w = kw + pick(0, most_columns);
    const long oh = (h + top + pick(0, kh / 2) - kh) / sh + 1, ow = (w + left + pick(0, kw / 2) - kw) / sw + 1;
    check<T>({pick(1, most_planes), h, w, oh, ow, kh, kw, sh, sw, top, left}, pick(0, 1) == 1, seed + std::uint64_t(i));
  }
}

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
}  // namespace

TEST_CASE("pool2d: random shapes, every element type") {
  random_shapes<float>(150, 1);
  random_shapes<double>(100, 2);
  random_shapes<float16>(50, 3);
  random_shapes<bfloat16>(50, 4);
  random_shapes<std::int32_t>(50, 5);
  random_shapes<std::uint8_t>(50, 6);
}

TEST_CASE("pool2d: many planes with short rows") { random_shapes<float>(150, 6, 50, 8); }

TEST_CASE("avg_pool2d_backward: a stride of 2 with every parity of widths and paddings") {
  for (int w = 14; w <= 40; ++w)
    for (int kw = 1; kw <= 5; ++kw)
      for (int left = 0; left <= kw / 2; ++left) {
        const long ow = (w + left - kw) / 2 + 1;
        check<float>({3, 7, w, 3, ow, 3, kw, 2, 2, 0, left}, w % 3 == 0, std::uint64_t(w));
        if (w % 5 == 0) check<double>({2, 7, w, 3, ow, 3, kw, 2, 2, 0, left}, false, std::uint64_t(w));
        if (w % 7 == 0) check<bfloat16>({2, 7, w, 3, ow, 3, kw, 2, 2, 0, left}, true, std::uint64_t(w));
        if (w % 7 == 1) check<float16>({2, 7, w, 3, ow, 3, kw, 2, 2, 0, left}, true, std::uint64_t(w));
      }
}

TEST_CASE("max_pool2d: many planes, numbers that are not finite") {
  random_maxima<float>(120, 7);
  random_maxima<double>(40, 8);
  random_maxima<float16>(40, 9);
  random_maxima<bfloat16>(40, 10);
  check_maxima<float>({9, 5, 5000, 2, 1666, 3, 3, 2, 3, 0, 1}, 11);  // rows that no band holds
  check_maxima<float>({9, 40, 300, 13, 100, 3, 3, 3, 3, 0, 0}, 12);  // planes that no band holds
}

TEST_CASE("pool2d: the layers of networks") {
  check<float>({12, 28, 28, 14, 14, 2, 2, 2, 2, 0, 0}, false, 10);
  check<float>({12, 10, 10, 5, 5, 2, 2, 2, 2, 0, 0}, false, 11);
  check<float>({3, 112, 112, 56, 56, 3, 3, 2, 2, 1, 1}, true, 12);
  check<float>({8, 9, 10, 5, 5, 2, 2, 2, 2, 0, 0}, false, 13);     // "same": the last row of windows hangs over
  check<float>({5, 7, 7, 1, 1, 7, 7, 1, 1, 0, 0}, false, 14);      // global
  check<float>({3, 20, 30, 2, 2, 19, 29, 1, 1, 0, 0}, false, 23);  // more places than a byte has
  check<float>({2, 61, 97, 12, 19, 5, 5, 5, 5, 0, 0}, true, 15);   // side by side: one sum for the rows of a window
  check<float>({3, 29, 97, 29, 33, 1, 3, 1, 3, 0, 1}, true, 16);
  check<float>({2, 40, 101, 10, 34, 2, 2, 4, 3, 0, 0}, false, 17);  // with gaps
  check<double>({2, 40, 101, 19, 25, 3, 4, 2, 4, 0, 0}, false, 18);
  check<float>({19, 31, 31, 14, 14, 5, 5, 2, 2, 0, 0}, true, 19);  // even and odd columns apart, some of no window
  check<float>({7, 56, 56, 28, 28, 3, 3, 2, 2, 1, 1}, false, 20);
  check<float>({2, 9, 701, 5, 351, 3, 3, 2, 2, 1, 1}, false, 21);   // planes that no band holds
  check<bfloat16>({3, 17, 33, 9, 17, 4, 1, 2, 2, 2, 0}, true, 22);  // windows of one column
}

TEST_CASE_TEMPLATE("pool2d: large windows are sums of rows", T, float, double, float16, bfloat16) {
  check<T>({3, 28, 28, 1, 1, 28, 28, 1, 1, 0, 0}, false, 24);    // global
  check<T>({2, 56, 55, 1, 1, 56, 55, 1, 1, 0, 0}, false, 25);    // of many chains
  check<T>({5, 32, 32, 2, 2, 16, 16, 16, 16, 0, 0}, true, 26);   // whole lanes
  check<T>({2, 40, 41, 9, 10, 17, 13, 3, 3, 0, 0}, true, 27);    // with a rest
  check<T>({3, 20, 23, 11, 10, 12, 17, 2, 2, 6, 8}, false, 28);  // cut by the padding
  check<T>({3, 20, 23, 11, 10, 12, 17, 2, 2, 6, 8}, true, 29);
  check<T>({2, 150, 5, 2, 5, 140, 1, 9, 1, 0, 0}, false, 30);      // of one column
  check<T>({2, 4, 300, 4, 3, 1, 140, 1, 80, 0, 0}, false, 31);     // of one row
  check<T>({2, 30, 13, 3, 1, 10, 13, 10, 1, 0, 0}, false, 32);     // of whole rows
  check<T>({2, 12, 12, 2, 2, 16, 16, 11, 11, 15, 15}, false, 33);  // one pixel of which meets the image
}

TEST_CASE("pool2d: wide windows, in bands that are full (with a sanitizer: nothing is read behind them)") {
  for (int stride = 1; stride <= 2; ++stride)
    for (long h = 4; h <= 30; h += 3)
      for (long w = 41 + h % 2; w <= 130; w += 11) {
        const Pool2dSizes s{8, h, w, (h - 3) / stride + 1, (w - 40) / stride + 1, 3, 40, stride, stride, 0, 0};
        check<float>(s, true, std::uint64_t(h * w));
      }
}

TEST_CASE("max_pool2d: the first maximum of a window gets the gradient") {
  const Pool2dSizes s{1, 2, 4, 1, 2, 2, 2, 2, 2, 0, 0};
  const float x[]{1, 3, 5, 5, 3, 3, 5, 5}, dy[]{10, 20};
  float y[2], dx[8];
  std::uint8_t places[2];
  kernel::max_pool2d(s, x, y, places, 0, 1);
  kernel::max_pool2d_backward(s, places, dy, dx, 0, 1, nullptr);
  CHECK(int(places[0]) == 1);
  CHECK(int(places[1]) == 0);
  CHECK(y[0] == 3);
  CHECK(y[1] == 5);
  const float expected[]{0, 10, 20, 0, 0, 0, 0, 0};
  for (int i = 0; i < 8; ++i) CHECK(dx[i] == expected[i]);
}

TEST_CASE("max_pool2d: a NaN is the maximum of each window that holds it, in vectors and at borders alike") {
  for (int stride = 1; stride <= 3; ++stride)
    for (long w : {2L, 9L, 40L}) {
      const Pool2dSizes s{1, 1, w, 1, (w - 2) / stride + 1, 1, 2, 1, stride, 0, 0};
      for (long at = 0; at < w; ++at) {
        std::vector<float> x(size_t(w), 1.0f), y(size_t(s.ow));
        x[size_t(at)] = not_a_number;
        kernel::max_pool2d(s, x.data(), y.data(), kernel::no_places, 0, 1);
        for (long j = 0; j < s.ow; ++j) CHECK(std::isnan(y[size_t(j)]) == (j * stride <= at && at < j * stride + 2));
      }
    }
}

TEST_CASE("avg_pool2d: what the divisor counts") {
  const Pool2dSizes s{1, 1, 2, 1, 3, 1, 2, 1, 1, 0, 1};
  const float x[]{4, 8};
  float y[3];
  kernel::avg_pool2d(s, x, y, true, 0, 1);
  CHECK(y[0] == 2);
  CHECK(y[1] == 6);
  CHECK(y[2] == 4);
  kernel::avg_pool2d(s, x, y, false, 0, 1);
  CHECK(y[0] == 4);
  CHECK(y[1] == 6);
  CHECK(y[2] == 8);
}
