// Convolution on blocks of samples: the bits of the row-major kernels, for any shape, batch, weights, and division into
// parts.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>

#include <tenon/backend/cpu/conv/conv2d.hpp>
#include <tenon/backend/cpu/nchw16n/weight_gradient.hpp>

#include "../conv/print_sizes.hpp"
#include "../reference.hpp"
#include "sample_blocks.hpp"

using namespace tenon;
using kernel::Conv2dSizes;

using reference::from_blocks, reference::in_blocks_of;

namespace {
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct Case {
  Conv2dSizes s;
  long in, out;
  std::vector<float> x, weight, dy;
  Case(const Conv2dSizes& s, std::uint64_t seed) : s(s), in(s.c * s.h * s.w), out(s.o * s.oh * s.ow) {
    Random random(seed);
    x = reference::numbers<float>(s.n * in, random);
    weight = reference::numbers<float>(s.o * s.group_inputs() * s.taps(), random);
    dy = reference::numbers<float>(s.n * out, random);
  }

  void check() const {
    CAPTURE(s);
    std::vector<float> y(std::size_t(s.n * out)), dx(std::size_t(s.n * in)), dw(weight.size());
    reference::Workspace forward(kernel::conv2d_workspace<float>(s)),
        input(kernel::conv2d_workspace<float>(s.for_input())),
        gradient(kernel::conv2d_backward_weight_workspace<float>(s));
    kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), forward.data(),
                   [](long, long, long) {});
    kernel::conv2d(s.for_input(), dy.data(), weight.data(), dx.data(), 0, kernel::conv2d_items(s.for_input()),
                   input.data(), [](long, long, long) {});
    kernel::conv2d_backward_weight(s, x.data(), dy.data(), dw.data(), 0, kernel::conv2d_backward_weight_items(s),
                                   gradient.data());

    const std::vector<float> x_blocks = in_blocks_of(x, s.n, in), dy_blocks = in_blocks_of(dy, s.n, out);
    reference::Workspace nchw16n_forward(kernel::nchw16n_conv2d_workspace(s)),
        block_input(kernel::nchw16n_conv2d_workspace(s.for_input())),
        block_gradient(kernel::nchw16n_conv2d_backward_weight_workspace(s));
    for (long parts = 1; parts <= 3; ++parts) {
      std::vector<float> y_blocks(std::size_t(whole_blocks(s.n) * out), 77.0f),
          dx_blocks(std::size_t(whole_blocks(s.n) * in), 77.0f), dw_blocks(dw.size(), 77.0f);
      std::vector<int> done(y_blocks.size()), dx_done(dx_blocks.size());
      const auto count = [&](long first, long, long elements) {
        for (long i = first; i < first + elements; ++i) ++done[std::size_t(i)];
      };
      const auto count_dx = [&](long first, long channel, long elements) {
        CHECK(first / (s.h * s.w * block_samples) % s.c == channel);
        for (long i = first; i < first + elements; ++i) ++dx_done[std::size_t(i)];
      };
      reference::in_parts(kernel::nchw16n_conv2d_items(s), parts, [&](long begin, long end) {
        kernel::nchw16n_conv2d(s, x_blocks.data(), weight.data(), y_blocks.data(), begin, end, nchw16n_forward.data(),
                               count, kernel::nchw16n_tiles<0>());
      });
      reference::in_parts(kernel::nchw16n_conv2d_items(s.for_input()), parts, [&](long begin, long end) {
        kernel::nchw16n_conv2d(s.for_input(), dy_blocks.data(), weight.data(), dx_blocks.data(), begin, end,
                               block_input.data(), count_dx, kernel::nchw16n_tiles<0>());
      });
      reference::in_parts(kernel::nchw16n_conv2d_backward_weight_items(s), parts, [&](long begin, long end) {
        kernel::nchw16n_conv2d_backward_weight(s, x_blocks.data(), dy_blocks.data(), dw_blocks.data(), begin, end,
                                               block_gradient.data(), kernel::nchw16n_weight_tiles<0>());
      });
      CHECK(same(from_blocks(y_blocks, s.n, out), y));
      CHECK(same(from_blocks(dx_blocks, s.n, in), dx));
      CHECK(same(dw_blocks, dw));
      CHECK(done == std::vector<int>(done.size(), 1));
      CHECK(dx_done == std::vector<int>(dx_done.size(), 1));
    }
  }
  // Equal bits; NaN equals NaN, whose sign and payload no instruction set promises.
  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
    return a.size() == b.size();
  }
};

Conv2dSizes sizes(long n, long c, long h, long w, long o, int kh, int kw, int stride_h, int stride_w, int dilation_h,
                  int dilation_w, int groups, int top, int bottom, int left, int right) {
  const long oh = (h + top + bottom - (kh - 1) * dilation_h - 1) / stride_h + 1,
             ow = (w + left + right - (kw - 1) * dilation_w - 1) / stride_w + 1;
  return {n, c, h, w, o, oh, ow, kh, kw, stride_h, stride_w, top, left, dilation_h, dilation_w, groups};
}
}  // namespace

TEST_CASE("nchw16n_conv2d: random shapes") {
  Random random(1);
  const auto pick = [&](int low, int high) { return low + int(random.below(std::uint64_t(high - low + 1))); };
  for (int i = 0; i < 120; ++i) {
    const int groups = pick(0, 2) ? 1 : pick(2, 3), kh = pick(1, 5), kw = pick(1, 5), dh = pick(1, 2), dw = pick(1, 2),
              top = pick(0, 3), left = pick(0, 3);
    const long h = (kh - 1) * dh + pick(1, 7), w = (kw - 1) * dw + pick(1, 9);
    Case(sizes(pick(1, 35), groups * pick(1, 4), h, w, groups * pick(1, 9), kh, kw, pick(1, 3), pick(1, 3), dh, dw,
               groups, top, pick(0, 2), left, pick(0, 2)),
         std::uint64_t(i))
        .check();
  }
}

TEST_CASE("nchw16n_conv2d: the layers of networks") {
  Case(sizes(16, 1, 28, 28, 6, 5, 5, 1, 1, 1, 1, 1, 2, 2, 2, 2), 1).check();  // LeNet
  Case(sizes(32, 6, 14, 14, 16, 5, 5, 1, 1, 1, 1, 1, 0, 0, 0, 0), 2).check();
  Case(sizes(16, 70, 12, 12, 7, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 3).check();   // several bands
  Case(sizes(16, 90, 10, 11, 8, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 4).check();   // an image larger than the cache
  Case(sizes(16, 16, 5, 5, 20, 5, 5, 1, 1, 1, 1, 1, 0, 0, 0, 0), 5).check();    // one pixel
  Case(sizes(16, 1, 4, 4, 1, 2, 2, 3, 3, 1, 1, 1, 5, 0, 4, 0), 6).check();      // more padding than kernel
  Case(sizes(18, 130, 7, 7, 140, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 7).check();  // planes in several passes
  Case(sizes(16, 260, 4, 4, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 8).check();
  Case(sizes(16, 9, 8, 8, 131, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 9).check();
  Case(sizes(35, 18, 9, 8, 18, 3, 3, 2, 1, 1, 1, 18, 1, 1, 1, 1), 8).check();   // depthwise
  Case(sizes(16, 16, 10, 10, 6, 5, 5, 1, 1, 1, 1, 1, 4, 4, 4, 4), 10).check();  // tiles cut at the borders
  Case(sizes(17, 12, 5, 3, 13, 3, 7, 1, 1, 2, 1, 1, 5, 2, 6, 3), 11).check();
}

TEST_CASE("nchw16n_conv2d: weight gradients of segments") {
  Case(sizes(17, 2, 40, 41, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 1).check();
  Case(sizes(16, 20, 30, 29, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 2).check();   // of planes
  Case(sizes(16, 2, 2, 300, 3, 1, 3, 1, 1, 1, 1, 1, 0, 0, 1, 1), 3).check();    // pieces of a row
  Case(sizes(17, 12, 2, 290, 3, 2, 3, 1, 1, 1, 1, 1, 1, 0, 1, 1), 4).check();   // of planes
  Case(sizes(16, 7, 1, 520, 3, 1, 2, 1, 1, 1, 1, 1, 0, 0, 300, 0), 5).check();  // one of them in the padding
}

TEST_CASE("nchw16n_conv2d: weight gradients of many planes") {
  Case(sizes(19, 20, 18, 17, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 1).check();   // bands of rows
  Case(sizes(16, 30, 33, 30, 22, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 2).check();  // several row blocks share them
  Case(sizes(17, 1, 23, 29, 3, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 7).check();    // segments of pixels
  Case(sizes(16, 4, 37, 35, 6, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 8).check();    // of rows
  Case(sizes(16, 520, 7, 7, 270, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 9).check();  // of planes, in several passes
  Case(sizes(16, 310, 6, 5, 9, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 10).check();
  Case(sizes(31, 15, 21, 19, 6, 3, 5, 2, 3, 2, 1, 1, 3, 1, 2, 2), 3).check();
  Case(sizes(16, 9, 3, 3, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 4).check();
  Case(sizes(16, 40, 2, 2, 10, 5, 5, 1, 1, 1, 1, 2, 4, 4, 4, 4), 5).check();  // taps that meet few pixels, groups
  Case(sizes(16, 10, 4, 4, 3, 3, 3, 1, 1, 4, 4, 1, 4, 4, 4, 4), 6).check();
}

TEST_CASE("nchw16n_conv2d: an infinite weight meets the padding, an infinite pixel stays in its sample") {
  for (const float odd : {std::numeric_limits<float>::infinity(), not_a_number, 1e30f, 1e-41f}) {
    Case c(sizes(19, 2, 6, 5, 3, 3, 3, 1, 2, 1, 1, 1, 1, 1, 1, 1), 7);
    c.weight[4] = odd;
    c.check();
    c.weight[4] = 1;
    c.x[33] = odd, c.dy[17] = -odd;
    c.check();
    Case planes(sizes(19, 20, 4, 4, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 8);
    planes.dy[17] = odd, planes.dy[18 * planes.out + 3] = -odd;  // meets padding
    planes.check();
    planes.x[40] = odd, planes.weight[9] = odd;
    planes.check();
    for (int stride : {1, 2}) {  // tiles that are cut at the borders
      Case cut(sizes(18, 6, 9, 8, 9, 5, 5, stride, stride, 1, 1, 1, 2, 2, 3, 1), 9);
      cut.weight[3 * 150 + 25 + 2] = odd, cut.weight[7 * 150 + 100 + 12] = -odd;
      cut.check();
    }
  }
}

TEST_CASE(
    "nchw16n: channels are cut into blocks of the heights that is_cut_into says, in whatever runs threads take them") {
  for (long most : {4L, 6L})
    for (long channels = 1; channels <= 130; ++channels) {
      const long blocks = kernel::ceil_div(channels, most);
      for (long first = 0; first < blocks; ++first)
        for (long last = first + 1; last <= blocks; ++last) {
          const long rows = kernel::border(channels, blocks, last) - kernel::border(channels, blocks, first),
                     again = kernel::ceil_div(rows, most);
          for (long b = 0; b < again; ++b)
            CHECK(kernel::detail::is_cut_into(channels, most,
                                              kernel::border(rows, again, b + 1) - kernel::border(rows, again, b)));
        }
    }
  CHECK_FALSE(kernel::detail::is_cut_into(16, 6, 4));
  CHECK(kernel::detail::is_cut_into(0, 6, 4));
}
