// Convolutions with weights that were packed before: the bits of conv2d.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/backend/cpu/conv/kept_conv2d.hpp>

#include "../reference.hpp"
#include "print_sizes.hpp"

using namespace tenon;
using kernel::Conv2dSizes;
using Floats = std::vector<float>;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

// Equal bits; NaN equals NaN, whose sign and payload no instruction set promises.
bool same(const Floats& a, const Floats& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
  return a.size() == b.size();
}

struct Case {
  Conv2dSizes s;
  Floats x, weight;
  Case(const Conv2dSizes& sizes, std::uint64_t seed) : s(sizes) {
    Random random(seed);
    x = reference::numbers<float>(s.n * s.c * s.h * s.w, random);
    weight = reference::numbers<float>(s.o * s.group_inputs() * s.taps(), random);
  }
  long results() const { return s.n * s.o * s.oh * s.ow; }

  Floats expected() const {
    Floats y(std::size_t(results()), 77.0f);
    reference::Workspace workspace(kernel::conv2d_workspace<float>(s));
    kernel::conv2d<float, kernel::ConvWay::pixels>(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s),
                                                   workspace.data(), {});
    for (float& value : y) value *= 2;
    return y;
  }
  // In parts, each of which doubles the channels that it has completed.
  Floats kept(long parts) const {
    Floats y(std::size_t(results()), 77.0f);
    reference::Workspace memory(std::size_t(kernel::conv2d_kept_bytes(s)));
    kernel::keep_conv2d(s, weight.data(), memory.data());
    const KernelWork work = kernel::conv2d_kept_work(s);
    CHECK(work.workspace <= long(kernel::conv2d_workspace<float>(s)));
    reference::Workspace workspace{std::size_t(work.workspace)};
    const auto twice = [&](long sample, long first, long count) {
      for (long i = 0, at = (sample * s.o + first) * s.oh * s.ow; i < count * s.oh * s.ow; ++i)
        y[std::size_t(at + i)] *= 2;
    };
    reference::in_parts(work.items, parts, [&](long begin, long end) {
      kernel::conv2d_kept(s, x.data(), memory.data(), y.data(), begin, end, workspace.data(), twice);
    });
    return y;
  }
  void check() const {
    CAPTURE(s);
    const Floats y = expected();
    for (long parts = 1; parts <= 3; ++parts) CHECK(same(kept(parts), y));
  }
};

Conv2dSizes sizes(long n, long c, long h, long w, long o, int kh, int kw, int stride_h, int stride_w, int dilation_h,
                  int dilation_w, int groups, int top, int bottom, int left, int right) {
  const long oh = (h + top + bottom - (kh - 1) * dilation_h - 1) / stride_h + 1,
             ow = (w + left + right - (kw - 1) * dilation_w - 1) / stride_w + 1;
  return {n, c, h, w, o, oh, ow, kh, kw, stride_h, stride_w, top, left, dilation_h, dilation_w, groups};
}
Conv2dSizes plain(long n, long c, long size, long o, int k, int pad) {
  return sizes(n, c, size, size, o, k, k, 1, 1, 1, 1, 1, pad, pad, pad, pad);
}
bool pays(const Conv2dSizes& s) { return kernel::conv2d_kept_bytes(s) > 0; }
}  // namespace

TEST_CASE("kept_conv2d: random shapes") {
  Random random(1);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  for (int i = 0, cases = 0; cases < 150; ++i) {
    const int groups = pick(0, 2) ? 1 : pick(2, 3), kh = pick(1, 5), kw = pick(1, 5), dh = pick(1, 2), dw = pick(1, 2),
              top = pick(0, 3), left = pick(0, 3);
    const long h = (kh - 1) * dh + pick(1, 14), w = (kw - 1) * dw + pick(1, 20);
    const Conv2dSizes s = sizes(pick(1, 5), groups * pick(1, 4), h, w, groups * 16 * pick(1, 4), kh, kw, pick(1, 3),
                                pick(1, 3), dh, dw, groups, top, pick(0, 2), left, pick(0, 2));
    if (s.oh < 1 || s.ow < 1 || !pays(s)) continue;
    ++cases;
    Case(s, std::uint64_t(i)).check();
  }
}

TEST_CASE("kept_conv2d: for small images with whole vectors of channels") {
  CHECK(pays(plain(1, 6, 14, 16, 5, 0)));
  CHECK_FALSE(pays(plain(1, 1, 28, 6, 5, 2)));      // 6 channels
  CHECK_FALSE(pays(plain(1, 6, 14, 16, 1, 0)));     // a matrix product
  CHECK_FALSE(pays(plain(1, 16, 32, 16, 3, 1)));    // 1024 pixels
  CHECK_FALSE(pays(plain(1, 512, 14, 512, 3, 1)));  // 9 MB of weights
}

TEST_CASE("kept_conv2d: numbers that are not finite meet the padding, and no result is -0") {
  for (const Conv2dSizes& s : {plain(3, 2, 10, 16, 5, 2), plain(2, 6, 14, 32, 5, 0)}) {
    REQUIRE(pays(s));
    Case c(s, 1);
    Random random(5);
    for (int i = 0; i < 20; ++i)
      c.x[random.below(c.x.size())] = i % 3 == 0 ? not_a_number : i % 3 == 1 ? infinity : -infinity;
    c.check();
    c.weight[3] = infinity;
    c.check();
    Case zeros(s, 2);
    for (float& value : zeros.x) value = -0.0f;
    zeros.check();
    for (const float value : zeros.kept(1)) CHECK_FALSE(std::signbit(value));
  }
}
