// flags: -O2
// The gradient for a kernel by Winograd's F(3 x 3, 4 x 4): the bits of its contract written as plain loops, in both
// layouts, in any parts; and how far they are from float64.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/backend/cpu/nchw16n/weight_gradient.hpp>
#include <tenon/backend/cpu/winograd/weight_gradient.hpp>

#include "../conv/print_sizes.hpp"
#include "../nchw16n/sample_blocks.hpp"
#include "winograd_check.hpp"

using namespace tenon;
using kernel::Conv2dSizes;
using reference::in_blocks_of, reference::pixel, reference::sizes, reference::transformed, reference::Deviation,
    reference::error_of;
namespace winograd = kernel::winograd;

namespace {
struct Case {
  Conv2dSizes s;
  std::vector<float> x, dy;
  Case(const Conv2dSizes& s, std::uint64_t seed, bool normal = false) : s(s) {
    Random random(seed);
    const auto numbers = [&](long count) {
      return normal ? reference::normal_numbers(count, random) : reference::numbers<float>(count, random);
    };
    x = numbers(s.n * s.c * s.h * s.w), dy = numbers(s.n * s.o * s.oh * s.ow);
  }
  float image(long n, long c, long y, long x0) const {
    return pixel(x, n * s.c + c, y - s.pad_top, x0 - s.pad_left, s.h, s.w);
  }
  float gradient(long n, long o, long y, long x0) const { return pixel(dy, n * s.o + o, y, x0, s.oh, s.ow); }

  std::vector<float> expected() const {
    std::vector<float> dw;
    for (long o = 0; o < s.o; ++o)
      for (long c = 0; c < s.c; ++c) {
        std::vector<float> sums(36), chain(36);
        long tiles = 0;
        const long most = s.n >= 16 ? 4 : s.n > 0 ? (64 + s.n - 1) / s.n : 1;  // of a chain
        const auto end_chain = [&] {
          for (std::size_t i = 0; i < 36; ++i) sums[i] = tiles <= most ? chain[i] : sums[i] + chain[i], chain[i] = 0;
        };
        for (long block = 0; block < s.n; block += block_samples)
          for (long y = 0; y < s.oh; y += 4)
            for (long x0 = 0; x0 < s.ow; x0 += 4) {
              for (long n = block; n < s.n && n < block + block_samples; ++n) {
                std::vector<float> patch, tile;
                for (long i = 0; i < 36; ++i) patch.push_back(image(n, c, y + i / 6, x0 + i % 6));
                for (long i = 0; i < 16; ++i) tile.push_back(gradient(n, o, y + i / 4, x0 + i % 4));
                const std::vector<float> a = transformed<winograd::OfImage>(patch),
                                         b = transformed<winograd::OfGradient>(tile);
                for (std::size_t i = 0; i < 36; ++i) chain[i] = fmadd(a[i], b[i], chain[i]);
              }
              if (++tiles % most == 0) end_chain();
            }
        if (tiles % most != 0) end_chain();
        for (const float value : transformed<winograd::ToKernel>(sums)) dw.push_back(value);
      }
    return dw;
  }
  std::vector<float> run(bool blocks, long parts) const {
    const std::vector<float> from = blocks ? in_blocks_of(x, s.n, s.c * s.h * s.w) : x,
                             to = blocks ? in_blocks_of(dy, s.n, s.o * s.oh * s.ow) : dy;
    std::vector<float> dw(std::size_t(s.o * s.c * 9), 77.0f);
    reference::Workspace scratch(kernel::winograd_conv2d_weight_workspace(s, blocks));
    reference::in_parts(kernel::winograd_conv2d_weight_items(s, blocks), parts, [&](long begin, long end) {
      kernel::winograd_conv2d_weight(s, blocks, from.data(), to.data(), dw.data(), begin, end, scratch.data());
    });
    return dw;
  }
  void check() const {
    CAPTURE(s);
    const std::vector<float> dw = expected();
    for (const bool blocks : {false, true})
      for (long parts = 1; parts <= 3; ++parts) {
        CAPTURE(blocks);
        CAPTURE(parts);
        CHECK(reference::same_bits(run(blocks, parts), dw));
      }
  }
};
}  // namespace

TEST_CASE(
    "Winograd's gradient for a kernel: the bits of the contract, for samples of 1 to 7 and extents of all remainders") {
  for (long n = 1; n <= 7; ++n) Case(sizes(n, 5, 3 + n, 9 - n, 3), std::uint64_t(n)).check();
  for (long h = 1; h <= 9; ++h) Case(sizes(2, 3, h, 10 - h, 2), std::uint64_t(h)).check();
}

TEST_CASE("Winograd's gradient for a kernel: more samples than a block, more channels than a vector, prime extents, "
          "any padding") {
  Case(sizes(17, 19, 7, 5, 23), 1).check();
  Case(sizes(33, 2, 13, 11, 67), 2).check();
  Case(sizes(16, 67, 4, 4, 2), 3).check();
  Case(sizes(3, 33, 29, 31, 7), 4).check();
  for (int pad = 0; pad <= 4; ++pad) Case(sizes(2, 4, 6, 7, 5, pad, 4 - pad, 2, 1), std::uint64_t(pad)).check();
}

TEST_CASE("Winograd's gradient for a kernel: more tiles and rows than are held at a time") {
  Case(sizes(16, 130, 22, 4, 20), 7).check();
  Case(sizes(5, 400, 4, 6, 70), 8).check();
  Case(sizes(20, 300, 8, 9, 65), 9).check();
}

TEST_CASE("Winograd's gradient for a kernel: no sample, no gradient") {
  Case none(sizes(0, 3, 4, 5, 2), 1);
  none.check();
}

TEST_CASE("Winograd's gradient for a kernel: the error of normal numbers, beside that of the direct one") {
  const Case c(sizes(32, 8, 32, 32, 8), 9, true);
  std::vector<double> exact;
  for (long i = 0; i < 8 * 8 * 9; ++i) {
    double sum = 0;
    for (long n = 0; n < 32; ++n)
      for (long p = 0; p < 1024; ++p)
        sum +=
            double(c.gradient(n, i / 72, p / 32, p % 32)) * c.image(n, i / 9 % 8, p / 32 + i / 3 % 3, p % 32 + i % 3);
    exact.push_back(sum);
  }
  std::vector<float> direct(exact.size());
  reference::Workspace scratch(kernel::nchw16n_conv2d_backward_weight_workspace(c.s));
  kernel::nchw16n_conv2d_backward_weight(
      c.s, in_blocks_of(c.x, 32, 8 * 1024).data(), in_blocks_of(c.dy, 32, 8 * 1024).data(), direct.data(), 0,
      kernel::nchw16n_conv2d_backward_weight_items(c.s), scratch.data(), kernel::nchw16n_weight_tiles<0>());
  const Deviation own = error_of(c.run(true, 1), exact), other = error_of(direct, exact);
  MESSAGE("relative to the root mean square of the results: Winograd "
          << own.rms << ", at most " << own.most << "; direct " << other.rms << ", at most " << other.most);
  // the direct gradient adds up segments of pixels, Winograd's all of a sample in one chain
  CHECK(own.rms < 3.5 * other.rms);
  CHECK(own.rms < 9.5e-7);
  CHECK(own.most < 3.4e-6);
}
