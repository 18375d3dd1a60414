// flags: -O2
// Convolution by Winograd's F(4 x 4, 3 x 3): the bits of its contract written as plain loops, in both layouts, in any
// parts, for any batch; and how far they are from float64.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/backend/cpu/nchw16n/conv2d.hpp>
#include <tenon/backend/cpu/winograd/conv2d.hpp>

#include "../conv/print_sizes.hpp"
#include "../nchw16n/sample_blocks.hpp"
#include "winograd_check.hpp"

using namespace tenon;
using kernel::Conv2dSizes;
using reference::from_blocks, reference::in_blocks_of, reference::pixel, reference::sizes, reference::transformed,
    reference::Deviation, reference::error_of;
namespace winograd = kernel::winograd;

namespace {
struct Case {
  Conv2dSizes s;
  long in, out;
  std::vector<float> x, weight, dy;
  Case(const Conv2dSizes& s, std::uint64_t seed, bool normal = false)
      : s(s), in(s.c * s.h * s.w), out(s.o * s.oh * s.ow) {
    Random random(seed);
    const auto numbers = [&](long count) {
      return normal ? reference::normal_numbers(count, random) : reference::numbers<float>(count, random);
    };
    x = numbers(s.n * in), weight = numbers(s.o * s.c * 9), dy = numbers(s.n * out);
  }

  // A result channel of a sample and the planes it comes from, tile by tile: image(plane, row, column), kernel(plane,
  // row, column).
  template <class Image, class Kernel>
  static void by_tiles(long planes, long height, long width, Image&& image, Kernel&& kernel, float* to) {
    std::vector<std::vector<float>> weights;
    for (long p = 0; p < planes; ++p) {
      std::vector<float> taps;
      for (long i = 0; i < 9; ++i) taps.push_back(kernel(p, i / 3, i % 3));
      weights.push_back(transformed<winograd::OfKernel>(taps));
    }
    for (long y = 0; y < height; y += 4)
      for (long x = 0; x < width; x += 4) {
        std::vector<float> sums(36);
        for (long p = 0; p < planes; ++p) {
          std::vector<float> patch;
          for (long i = 0; i < 36; ++i) patch.push_back(image(p, y + i / 6, x + i % 6));
          const std::vector<float> v = transformed<winograd::OfImage>(patch);
          for (std::size_t i = 0; i < 36; ++i) sums[i] = fmadd(v[i], weights[std::size_t(p)][i], sums[i]);
        }
        const std::vector<float> tile = transformed<winograd::ToTile>(sums);
        for (long i = 0; i < 16; ++i)
          if (y + i / 4 < height && x + i % 4 < width) to[(y + i / 4) * width + x + i % 4] = tile[std::size_t(i)];
      }
  }
  float tap(long o, long c, long r, long k) const { return weight[std::size_t(((o * s.c + c) * 3 + r) * 3 + k)]; }
  std::vector<float> forward() const {
    std::vector<float> y(std::size_t(s.n * out));
    for (long n = 0; n < s.n; ++n)
      for (long o = 0; o < s.o; ++o)
        by_tiles(
            s.c, s.oh, s.ow,
            [&](long c, long i, long j) { return pixel(x, n * s.c + c, i - s.pad_top, j - s.pad_left, s.h, s.w); },
            [&](long c, long r, long k) { return tap(o, c, r, k); }, &y[std::size_t((n * s.o + o) * s.oh * s.ow)]);
    return y;
  }
  std::vector<float> backward_input() const {
    std::vector<float> dx(std::size_t(s.n * in));
    for (long n = 0; n < s.n; ++n)
      for (long c = 0; c < s.c; ++c)
        by_tiles(
            s.o, s.h, s.w,
            [&](long o, long i, long j) {
              return pixel(dy, n * s.o + o, i - 2 + s.pad_top, j - 2 + s.pad_left, s.oh, s.ow);
            },
            [&](long o, long r, long k) { return tap(o, c, 2 - r, 2 - k); },
            &dx[std::size_t((n * s.c + c) * s.h * s.w)]);
    return dx;
  }

  std::vector<float> run(bool input, bool blocks, long parts) const {
    const long from = input ? out : in, to = input ? in : out;
    const std::vector<float> image = blocks ? in_blocks_of(input ? dy : x, s.n, from) : input ? dy : x;
    std::vector<float> result(std::size_t((blocks ? whole_blocks(s.n) : s.n) * to), 77.0f);
    std::vector<int> done(result.size());
    const auto count = [&](long first, long channel, long elements) {
      const long plane = input ? s.h * s.w : s.oh * s.ow, channels = input ? s.c : s.o;
      CHECK(first / (plane * (blocks ? block_samples : 1)) % channels == channel);
      for (long i = first; i < first + elements; ++i) ++done[std::size_t(i)];
    };
    const kernel::Conv2dSizes own = input ? s.for_input() : s;
    reference::Workspace scratch(kernel::winograd_conv2d_workspace(own, blocks));
    reference::in_parts(kernel::winograd_conv2d_items(own, blocks), parts, [&](long begin, long end) {
      kernel::winograd_conv2d(own, blocks, image.data(), weight.data(), result.data(), begin, end, scratch.data(),
                              count);
    });
    CHECK(std::vector<int>(done.size(), 1) == done);
    return blocks ? from_blocks(result, s.n, to) : result;
  }
  void check() const {
    CAPTURE(s);
    const std::vector<float> y = forward(), dx = backward_input();
    for (const bool blocks : {false, true})
      for (long parts = 1; parts <= 3; ++parts) {
        CAPTURE(blocks);
        CAPTURE(parts);
        CHECK(reference::same_bits(run(false, blocks, parts), y));
        CHECK(reference::same_bits(run(true, blocks, parts), dx));
      }
  }
};
}  // namespace

TEST_CASE("Winograd: the bits of the contract, for samples of 1 to 7 and extents of all remainders") {
  for (long n = 1; n <= 7; ++n) Case(sizes(n, 5, 3 + n, 9 - n, 3), std::uint64_t(n)).check();
  for (long h = 1; h <= 9; ++h) Case(sizes(2, 3, h, 10 - h, 2), std::uint64_t(h)).check();
}

TEST_CASE("Winograd: more samples than a block, more channels than a vector, prime extents") {
  Case(sizes(17, 19, 7, 5, 23), 1).check();
  Case(sizes(33, 2, 13, 11, 67), 2).check();
  Case(sizes(16, 67, 4, 4, 2), 3).check();
  Case(sizes(3, 33, 29, 31, 37), 4).check();
  Case(sizes(1, 1, 97, 3, 1), 5).check();
  Case(sizes(0, 3, 4, 5, 2), 6).check();
}

TEST_CASE("Winograd: any padding") {
  for (int pad = 0; pad <= 4; ++pad) Case(sizes(2, 4, 6, 7, 5, pad, 4 - pad, 2, 1), std::uint64_t(pad)).check();
  Case(sizes(3, 3, 3, 3, 4, 0, 0, 0, 0), 6).check();
}

TEST_CASE("Winograd: more tiles and channels than are held at a time") {
  Case(sizes(2, 80, 66, 34, 70), 7).check();
  Case(sizes(32, 300, 5, 4, 70), 8).check();
}

TEST_CASE("Winograd: the error of normal numbers, beside that of direct convolution") {
  const Case c(sizes(16, 64, 16, 16, 64), 9, true);
  std::vector<double> y(std::size_t(c.s.n * c.out)), dx(y.size());
  for (long i = 0; i < c.s.n * c.out; ++i) {
    const long column = i % 16, row = i / 16 % 16, own = i / 256 % 64, n = i / 256 / 64;
    for (long k = 0; k < 64 * 9; ++k) {
      const long other = k / 9, r = k / 3 % 3, s = k % 3;
      y[std::size_t(i)] +=
          double(c.tap(own, other, r, s)) * pixel(c.x, n * 64 + other, row - 1 + r, column - 1 + s, 16, 16);
      dx[std::size_t(i)] +=
          double(c.tap(other, own, r, s)) * pixel(c.dy, n * 64 + other, row + 1 - r, column + 1 - s, 16, 16);
    }
  }
  std::vector<float> direct(y.size());
  const std::vector<float> x = in_blocks_of(c.x, 16, c.in), dy = in_blocks_of(c.dy, 16, c.out);
  reference::Workspace forward(kernel::nchw16n_conv2d_workspace(c.s)),
      input(kernel::nchw16n_conv2d_workspace(c.s.for_input()));
  const auto compare = [&](const std::vector<float>& found, const std::vector<double>& exact) {
    const Deviation own = error_of(found, exact), other = error_of(from_blocks(direct, 16, c.out), exact);
    MESSAGE("relative to the root mean square of the results: Winograd "
            << own.rms << ", at most " << own.most << "; direct " << other.rms << ", at most " << other.most);
    // direct convolution adds up segments of channels, Winograd's all channels in one chain
    CHECK(own.rms < 3.5 * other.rms);
    CHECK(own.rms < 8.5e-7);
    CHECK(own.most < 9.5e-6);
  };
  kernel::nchw16n_conv2d(c.s, x.data(), c.weight.data(), direct.data(), 0, kernel::nchw16n_conv2d_items(c.s),
                         forward.data(), {}, kernel::nchw16n_tiles<0>());
  compare(c.run(false, true, 1), y);
  kernel::nchw16n_conv2d(c.s.for_input(), dy.data(), c.weight.data(), direct.data(), 0,
                         kernel::nchw16n_conv2d_items(c.s.for_input()), input.data(), {}, kernel::nchw16n_tiles<0>());
  compare(c.run(true, true, 1), dx);
}
