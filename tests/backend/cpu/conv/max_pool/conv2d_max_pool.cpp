// Convolution with steps and a maximum over windows behind it, and its gradient: the bits of kernels one after the
// other, in both layouts.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>

#include <tenon/backend/cpu/conv/max_pool/conv2d_max_pool.hpp>
#include <tenon/backend/cpu/pool/argmax_gradient.hpp>

#include "../../nchw16n/sample_blocks.hpp"
#include "../../reference.hpp"
#include "../print_sizes.hpp"

using namespace tenon;
using kernel::Conv2dSizes;

using reference::from_blocks, reference::in_blocks_of;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

/// What happens between the convolution and the pool: x + bias of the channel, and with `clips` the larger of it and 0.
template <bool clips>
struct Finish {
  float operator()(float x, float bias) const {
    const float y = x + bias;
    return clips && y < 0 ? 0.0f : y;
  }
};

template <bool clips>
using Steps = kernel::PoolSteps<Finish<clips>, true, true>;

// Equal bits; NaN equals NaN, whose sign and payload no instruction set promises.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
  return a.size() == b.size();
}
/// What comes out, and the gradient that the argmaxes make of dy; empty where rows are too short.
struct Result {
  std::vector<float> y, gradient;
  bool operator==(const Result& other) const { return same(y, other.y) && same(gradient, other.gradient); }
};

struct Case {
  Conv2dSizes s;
  kernel::Pool2dSizes pool;
  long in, out, whole;  // elements of a sample: of x, y, and the convolution's result
  std::vector<float> x, weight, bias, dy;
  Case(const Conv2dSizes& s, std::uint64_t seed)
      : s(s),
        pool{s.n * s.o, s.oh, s.ow, s.oh / 2, s.ow / 2, 2, 2, 2, 2, 0, 0},
        in(s.c * s.h * s.w),
        out(s.o * pool.oh * pool.ow),
        whole(s.o * s.oh * s.ow) {
    Random random(seed);
    x = reference::numbers<float>(s.n * in, random);
    weight = reference::numbers<float>(s.o * s.group_inputs() * s.taps(), random);
    bias = reference::numbers<float>(s.o, random);
    dy = reference::numbers<float>(s.n * out, random);
    dy[0] = -0.0f;
  }
  bool spreads() const { return pool.ow >= kernel::least_spread_windows; }

  template <bool clips>
  Result expected() const {
    Result r{std::vector<float>(std::size_t(s.n * out)), {}};
    std::vector<float> y(std::size_t(s.n * whole));
    reference::Workspace workspace(kernel::conv2d_workspace<float>(s));
    kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), workspace.data(),
                   [](long, long, long) {});
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = Finish<clips>()(y[i], bias[i / std::size_t(s.oh * s.ow) % bias.size()]);
    kernel::max_pool2d(pool, y.data(), r.y.data(), 0, pool.planes);
    if (!spreads()) return r;
    r.gradient.resize(y.size());
    std::vector<std::uint8_t> places(r.y.size());
    kernel::max_pool2d_places(pool, y.data(), r.y.data(), places.data(), 0, pool.planes);
    kernel::max_pool2d_backward(pool, places.data(), dy.data(), r.gradient.data(), 0, pool.planes, nullptr);
    for (std::size_t i = 0; i < y.size(); ++i) r.gradient[i] = y[i] <= 0 ? 0.0f : r.gradient[i];
    return r;
  }
  template <bool clips>
  Result row_major(long parts) const {
    Result r{std::vector<float>(std::size_t(s.n * out), 77.0f), {}};
    std::vector<float> argmaxes(r.y);
    reference::Workspace workspace(kernel::conv2d_max_pool_workspace(s));
    reference::in_parts(kernel::conv2d_max_pool_items(s), parts, [&](long begin, long end) {
      kernel::conv2d_max_pool(s, x.data(), weight.data(), r.y.data(), argmaxes.data(), begin, end, workspace.data(),
                              Steps<clips>{{bias.data()}});
    });
    if (!spreads()) return r;
    r.gradient.assign(std::size_t(s.n * whole), 77.0f);
    kernel::spread_argmaxes(pool, argmaxes.data(), dy.data(), r.gradient.data(), 0, pool.planes);
    return r;
  }
  template <bool clips>
  Result in_nchw16n(long parts) const {
    const long samples = whole_blocks(s.n);
    const std::vector<float> blocks = in_blocks_of(x, s.n, in), dy_blocks = in_blocks_of(dy, s.n, out);
    std::vector<float> y(std::size_t(samples * out), 77.0f), argmaxes(y), gradient(std::size_t(samples * whole), 77.0f);
    reference::Workspace workspace(kernel::nchw16n_conv2d_max_pool_workspace(s));
    reference::in_parts(kernel::nchw16n_conv2d_items(s), parts, [&](long begin, long end) {
      kernel::nchw16n_conv2d_max_pool(s, blocks.data(), weight.data(), y.data(), argmaxes.data(), begin, end,
                                      workspace.data(), Steps<clips>{{bias.data()}}, kernel::nchw16n_tiles<0>());
    });
    if (!spreads()) return {from_blocks(y, s.n, out), {}};
    kernel::nchw16n_spread_argmaxes(pool, argmaxes.data(), dy_blocks.data(), gradient.data(), 0,
                                    samples / block_samples * s.o);
    return {from_blocks(y, s.n, out), from_blocks(gradient, s.n, whole)};
  }

  template <bool clips>
  void check_with() const {
    const Result result = expected<clips>();
    for (long parts = 1; parts <= 3; ++parts) {
      CHECK(row_major<clips>(parts) == result);
      CHECK(in_nchw16n<clips>(parts) == result);
    }
    std::vector<float> y(result.y.size(), 77.0f);  // without argmaxes
    reference::Workspace workspace(kernel::conv2d_max_pool_workspace(s));
    const kernel::PoolSteps<Finish<clips>, false, true> steps{{bias.data()}};
    kernel::conv2d_max_pool(s, x.data(), weight.data(), y.data(), nullptr, 0, kernel::conv2d_max_pool_items(s),
                            workspace.data(), steps);
    CHECK(same(y, result.y));
    check_kept(steps, result.y);
  }
  // With weights packed before, as graphs keep them.
  void check_kept(const kernel::PoolSums& steps, const std::vector<float>& expected) const {
    const long bytes = kernel::conv2d_max_pool_kept_bytes(s);
    if (bytes == 0) return;
    reference::Workspace workspace(kernel::conv2d_max_pool_workspace(s)), kept{std::size_t(bytes)};
    kernel::keep_conv2d_max_pool(s, weight.data(), kept.data());
    std::vector<float> y(expected.size(), 77.0f);
    kernel::conv2d_max_pool_kept(s, x.data(), kept.data(), y.data(), nullptr, 0, kernel::conv2d_max_pool_items(s),
                                 workspace.data(), steps);
    CHECK(same(y, expected));
  }
  void check() const {
    CAPTURE(s);
    check_with<true>();
    check_with<false>();
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
}  // namespace

TEST_CASE("conv2d_max_pool: random shapes") {
  Random random(1);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  int cases = 0;
  for (int i = 0; cases < 150; ++i) {
    const int groups = pick(0, 2) ? 1 : pick(2, 3), kh = pick(1, 5), kw = pick(1, 5), dh = pick(1, 2), dw = pick(1, 2),
              top = pick(0, 3), left = pick(0, 3);
    const long h = (kh - 1) * dh + pick(1, 14), w = (kw - 1) * dw + pick(1, 20);
    const Conv2dSizes s = sizes(pick(1, 18), groups * pick(1, 4), h, w, groups * (i % 3 ? pick(1, 9) : 16 * pick(1, 4)),
                                kh, kw, pick(1, 3), pick(1, 3), dh, dw, groups, top, pick(0, 2), left, pick(0, 2));
    if (s.oh < 2 || s.ow < 2) continue;
    ++cases;
    Case(s, std::uint64_t(i)).check();
  }
}

TEST_CASE("conv2d_max_pool: the layers of networks, and what is cut in bands") {
  Case(plain(17, 1, 28, 6, 5, 2), 1).check();  // LeNet
  Case(plain(17, 6, 14, 16, 5, 0), 2).check();
  Case(plain(2, 3, 41, 8, 3, 1), 3).check();   // several bands of a wide image
  Case(plain(1, 64, 57, 5, 3, 1), 4).check();  // bands of few rows, since there are many channels
  Case(plain(16, 70, 13, 7, 3, 1), 5).check();
  Case(plain(1, 2, 300, 3, 3, 0), 6).check();
  Case(sizes(1, 2, 2, 1300, 3, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 7).check();  // a row as long as a band
  // only the row that no window has meets padding: still one chain, not the segments of a 1 x 1 kernel without padding
  Case(sizes(2, 300, 8, 8, 16, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1), 8).check();
}

TEST_CASE("conv2d_max_pool: channels as lanes, whose weights are kept, where the image would be copied per column") {
  CHECK(kernel::conv2d_max_pool_kept_bytes(plain(1, 6, 14, 16, 5, 0)) > 0);
  CHECK(kernel::conv2d_max_pool_kept_bytes(plain(1, 1, 28, 6, 5, 2)) == 0);
}

TEST_CASE("conv2d_max_pool: a NaN is the maximum, weights that are not finite meet the padding") {
  for (const Conv2dSizes& s : {plain(3, 2, 9, 5, 3, 1), plain(3, 2, 10, 16, 3, 1), plain(2, 1, 28, 6, 5, 2)}) {
    Case c(s, 1);
    Random random(5);
    for (int i = 0; i < 20; ++i)
      c.x[random.below(c.x.size())] = i % 3 == 0 ? not_a_number : i % 3 == 1 ? infinity : -infinity;
    c.check();
    c.weight[3] = infinity;
    c.bias[1] = not_a_number;
    c.check();
  }
}
