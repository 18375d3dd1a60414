// Convolution and its gradients against the loops of the contract, bit for bit, for any division into parts.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "conv2d_check.hpp"

using namespace tenon;
using kernel::Conv2dSizes, kernel::ConvWay;
using reference::Case, reference::check, reference::random_shapes, reference::sizes;

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
  check<float>(sizes(1, 3, 64, 65, 17, 7, 7, 2, 2, 1, 1, 1, 3, 3, 3, 3), 12);  // several bands
  check<float>(sizes(1, 33, 9, 9, 70, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 13);   // several blocks of output channels
  // several passes over the taps of the weight
  check<float>(sizes(1, 70, 5, 7, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 14);
  check<float>(sizes(2, 19, 8, 8, 21, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 15);     // pointwise with stride
  check<float>(sizes(2, 13, 40, 41, 13, 3, 3, 1, 1, 1, 1, 13, 1, 1, 1, 1), 16);  // depthwise
  check<float>(sizes(1, 2, 3, 1300, 2, 1, 3, 1, 1, 1, 1, 1, 0, 0, 1, 1), 17);    // a row that is wider than a band
  check<float>(sizes(1, 1, 4, 4, 1, 2, 2, 3, 3, 1, 1, 1, 5, 0, 4, 0), 18);       // more padding than kernel
}

TEST_CASE_TEMPLATE("conv2d: pixels without taps, as stride and dilation have a common divisor", T, float, bfloat16) {
  const auto with_gaps = [](const Conv2dSizes& s, std::uint64_t seed) {
    check<T>(s, seed);
    check<T, ConvWay::pixels>(s, seed);
  };
  const Conv2dSizes both = sizes(2, 40, 9, 70, 32, 2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0);
  CHECK((kernel::detail::conv_plan<float>(both.for_input()).channels_last || simd_bytes == 64));
  with_gaps(both, 240);
  with_gaps(sizes(3, 48, 14, 15, 3, 1, 1, 2, 1, 2, 2, 1, 0, 0, 0, 0), 241);   // of rows only
  with_gaps(sizes(2, 48, 13, 34, 32, 2, 2, 3, 3, 2, 2, 1, 0, 0, 0, 0), 242);  // a stride beyond the kernel
  with_gaps(sizes(1, 17, 12, 41, 21, 3, 2, 4, 2, 2, 1, 1, 1, 2, 1, 0), 243);  // phases with and without
}

TEST_CASE("conv2d: vectors of few channels, the last one alone") {
  const Conv2dSizes s = sizes(4, 64, 8, 9, 17, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1);
  CHECK(kernel::detail::conv_plan<float>(s).channels_last == (simd_bytes < 64));
  check<float>(s, 250);
}

TEST_CASE("conv2d: whole small images, by the way that a program chooses and by the one that any program has") {
  const auto whole = [](const Conv2dSizes& s, std::uint64_t seed) {
    CHECK(kernel::conv2d_way<float>(s.of(1)) == ConvWay::whole_images);
    CHECK(kernel::detail::conv_plan<float>(s).whole_images);
    check<float>(s, seed);
    if (s.groups == 1) check<float, ConvWay::pixels>(s, seed);
  };
  whole(sizes(2, 6, 14, 14, 16, 5, 5, 1, 1, 1, 1, 1, 0, 0, 0, 0), 260);   // LeNet
  whole(sizes(1, 40, 12, 12, 16, 5, 5, 1, 1, 1, 1, 1, 2, 2, 2, 2), 261);  // padding, a chain of several segments
  whole(sizes(3, 5, 19, 19, 16, 5, 5, 2, 2, 1, 1, 1, 2, 2, 2, 2), 262);   // a stride
  whole(sizes(2, 6, 14, 14, 32, 5, 5, 1, 1, 1, 1, 2, 0, 0, 0, 0), 263);   // groups
}

TEST_CASE("conv2d: images that lie there once for each column of taps") {
  const auto copied = [](const Conv2dSizes& s, std::uint64_t seed) {
    CHECK((kernel::detail::conv_plan<float>(s, false).image.copy_step > 0 ||
           kernel::detail::conv_plan<float>(s.for_input(), false).image.copy_step > 0));
    check<float, ConvWay::pixels>(s, seed);
  };
  copied(sizes(2, 33, 4, 4, 34, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 80);
  copied(sizes(3, 40, 8, 8, 41, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 81);
  copied(sizes(2, 34, 8, 7, 68, 5, 3, 1, 3, 2, 2, 2, 4, 4, 2, 1), 82);
  copied(sizes(1, 100, 14, 11, 96, 3, 4, 1, 1, 1, 1, 1, 1, 1, 3, 0), 83);
  copied(sizes(1, 260, 14, 17, 60, 3, 5, 1, 1, 1, 1, 1, 1, 1, 2, 2), 84);  // several bands
  copied(sizes(1, 40, 4, 4, 50, 2, 2, 1, 1, 1, 1, 1, 2, 0, 3, 0), 85);     // more padding than kernel
}

TEST_CASE("conv2d: images that are read where they are") {
  const auto in_place = [](const Conv2dSizes& s, std::uint64_t seed) {
    CHECK(kernel::detail::conv_plan<float>(s, false).in_place);
    check<float, ConvWay::pixels>(s, seed);
    check<float>(s, seed);
  };
  in_place(sizes(2, 9, 7, 9, 19, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 90);
  in_place(sizes(3, 4, 1, 16, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 91);
  in_place(sizes(2, 6, 41, 61, 9, 1, 1, 1, 1, 1, 1, 3, 0, 0, 0, 0), 92);  // several bands
  in_place(sizes(3, 5, 20, 41, 9, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 93);  // segments of pixels
  in_place(sizes(2, 16, 27, 13, 9, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 95);
  in_place(sizes(2, 600, 17, 16, 7, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 96);
  check<float>(sizes(2, 5, 39, 45, 9, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 97);    // of rows
  check<float>(sizes(2, 520, 3, 7, 300, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 98);  // segments of channels
  check<float>(sizes(1, 300, 2, 2, 270, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 99);
  check<float>(sizes(2, 270, 9, 9, 600, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 88);
  check<float>(sizes(1, 620, 9, 9, 14, 1, 1, 1, 1, 1, 1, 2, 0, 0, 0, 0), 89);
  check<float>(sizes(1, 290, 4, 4, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0), 87);  // a chain: taps that meet padding
  in_place(sizes(2, 5, 9, 10, 9, 3, 1, 1, 1, 2, 1, 1, 0, 0, 0, 0), 93);
  check<double>(sizes(2, 5, 9, 10, 9, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 94);
}

// With narrow vectors these are matrix products.
TEST_CASE("conv2d: every pixel meets one tap") {
  const auto pointwise = [](long n, long c, long h, long w, long o, int groups) {
    return sizes(n, c, h, w, o, 1, 1, 1, 1, 1, 1, groups, 0, 0, 0, 0);
  };
  CHECK(kernel::detail::conv_plan<float>(pointwise(2, 9, 7, 9, 19, 1)).product == (simd_bytes < 64));
  check<float>(pointwise(2, 40, 1, 1, 33, 1), 120);  // one pixel: a row of the product, of all channels or a few
  check<float>(pointwise(3, 300, 1, 1, 12, 2), 121);
  check<float>(pointwise(2, 1, 5, 5, 1, 1), 122);
  check<float>(pointwise(2, 14, 6, 7, 14, 14), 123);
  check<float>(pointwise(1, 70, 7, 7, 300, 1), 124);    // channels are the columns of the product
  check<float>(pointwise(1, 30, 40, 61, 140, 1), 125);  // columns, and rows, in several parts
  reference::Random random(7);
  const auto pick = [&](long most) { return 1 + long(random.below(std::uint64_t(most))); };
  for (std::uint64_t i = 0; i < 40; ++i) {
    const int groups = int(pick(3));
    check<float>(pointwise(pick(3), groups * pick(60), pick(12), pick(24), groups * pick(60), groups), 130 + i);
  }
}

TEST_CASE("conv2d: no sum is -0, though products are less than any number") {
  const auto has_no_sign = [](const Conv2dSizes& s) {
    CAPTURE(s);
    std::vector<float> x(size_t(s.n * s.c * s.h * s.w), -1e-30f),
        weight(size_t(s.o * s.group_inputs() * s.taps()), 1e-30f), y(size_t(s.n * s.o * s.oh * s.ow), 5.0f),
        dy(y.size(), -1e-30f), dx(x.size(), 5.0f);
    reference::Workspace forward(kernel::conv2d_workspace<float>(s)),
        input(kernel::conv2d_workspace<float>(s.for_input()));
    kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), forward.data(), {});
    kernel::conv2d(s.for_input(), dy.data(), weight.data(), dx.data(), 0, kernel::conv2d_items(s.for_input()),
                   input.data(), {});
    CHECK(reference::same_bits(y, std::vector<float>(y.size(), 0.0f)));
    CHECK(reference::same_bits(dx, std::vector<float>(dx.size(), 0.0f)));
  };
  for (const long channels : {1, 5, 16, 70, 300})
    for (const long side : {1, 2, 3, 7, 14, 23})
      for (const int kernel : {1, 3})
        has_no_sign(sizes(2, channels, side, side, 40, kernel, kernel, 1, 1, 1, 1, 1, kernel / 2, kernel / 2,
                          kernel / 2, kernel / 2));
}

TEST_CASE("conv2d: layers of bfloat16") {
  check<bfloat16>(sizes(3, 3, 11, 10, 17, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 40);  // odd channels and samples
  check<bfloat16>(sizes(1, 3, 64, 65, 17, 7, 7, 2, 2, 1, 1, 1, 3, 3, 3, 3), 41);  // several bands
  // weights that are packed in several parts
  check<bfloat16>(sizes(2, 1101, 2, 3, 90, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 42);
  check<bfloat16>(sizes(3, 90, 3, 3, 1101, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 43);  // so, for the input's gradient
  // several passes over the taps of the weight
  check<bfloat16>(sizes(5, 70, 5, 7, 41, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 44);
  check<bfloat16>(sizes(2, 20, 8, 8, 21, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 45);     // pointwise with stride
  check<bfloat16>(sizes(2, 13, 10, 11, 13, 3, 3, 1, 1, 1, 1, 13, 1, 1, 1, 1), 46);  // depthwise
  check<bfloat16>(sizes(1, 2, 3, 1300, 2, 1, 3, 1, 1, 1, 1, 1, 0, 0, 1, 1), 47);    // a row that is wider than a band
  check<bfloat16>(sizes(1, 1, 4, 4, 1, 2, 2, 3, 3, 1, 1, 1, 5, 0, 4, 0), 48);
  check<bfloat16>(sizes(3, 37, 4, 4, 131, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 60);  // small images: channels in lanes
  check<bfloat16>(sizes(2, 130, 8, 8, 67, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 61);
  check<bfloat16>(sizes(2, 140, 7, 5, 110, 3, 5, 1, 2, 1, 1, 2, 1, 1, 2, 2), 62);
  check<bfloat16>(sizes(1, 1500, 3, 3, 100, 3, 3, 1, 1, 2, 1, 1, 2, 2, 1, 1), 63);
  // several samples at once
  for (long n : {1, 9, 24, 31})
    check<bfloat16>(sizes(n, 3, 4, 3, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 64 + std::uint64_t(n));
  check<bfloat16>(sizes(3, 70, 5, 4, 270, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 66);  // several blocks of channels at once
  // rows of taps that meet padding alone
  check<bfloat16>(sizes(2, 9, 8, 9, 64, 5, 3, 1, 1, 2, 1, 1, 4, 4, 1, 1), 67);
  check<bfloat16>(sizes(2, 9, 2, 5, 64, 2, 3, 1, 1, 1, 1, 1, 5, 3, 1, 1), 68);
  check<bfloat16>(sizes(2, 40, 12, 12, 40, 5, 5, 1, 1, 1, 1, 1, 2, 2, 2, 2), 69);
  for (long n : {4, 7}) {  // samples that are computed together
    check<bfloat16>(sizes(n, 37, 4, 4, 131, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 120 + std::uint64_t(n));
    check<bfloat16>(sizes(n, 80, 7, 8, 74, 3, 3, 2, 2, 1, 1, 2, 1, 1, 1, 1), 130 + std::uint64_t(n));
    check<bfloat16>(sizes(n, 64, 8, 8, 40, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 140 + std::uint64_t(n));
  }
  check<bfloat16>(sizes(2, 9, 19, 35, 10, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1), 150);  // every second pixel of wide rows
  check<bfloat16>(sizes(2, 9, 20, 36, 10, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1), 151);
  // most pixels of the gradient are zero
  check<bfloat16>(sizes(2, 9, 33, 34, 10, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0, 0), 152);
  check<float>(sizes(2, 9, 33, 34, 10, 1, 2, 2, 3, 1, 1, 1, 0, 0, 0, 0), 153);
  check<bfloat16>(sizes(2, 30, 17, 16, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 65);
  for (long n : {1, 2, 7, 16, 17})
    check<bfloat16>(sizes(n, 2, 5, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 0, 0), 50 + std::uint64_t(n));
  check<float16>(sizes(2, 1101, 2, 3, 90, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 49);
}

TEST_CASE_TEMPLATE("conv2d: the weight's gradient leaves out pixels in the padding", T, float, bfloat16) {
  const auto leaving_out = [](const Conv2dSizes& s, std::uint64_t seed) {
    CHECK(kernel::detail::weight_plan<T>(s).leaves_out);
    check<T>(s, seed);
  };
  leaving_out(sizes(3, 20, 40, 41, 17, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 220);  // several bands
  leaving_out(sizes(35, 70, 4, 4, 19, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 221);   // several passes, groups of samples
  leaving_out(sizes(6, 50, 9, 8, 70, 3, 5, 2, 1, 1, 2, 2, 1, 1, 4, 3), 222);
  leaving_out(sizes(2, 16, 5, 5, 9, 3, 3, 1, 1, 1, 1, 1, 6, 1, 5, 2), 223);  // results that meet nothing but padding
  // planes whole pages apart, which float32 copies without a stride only
  leaving_out(sizes(2, 40, 64, 64, 10, 3, 3, 3, 3, 1, 1, 2, 1, 1, 1, 1), 224);
  leaving_out(sizes(2, 20, 32, 32, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 225);
  leaving_out(sizes(3, 20, 23, 31, 17, 2, 2, 3, 3, 2, 2, 1, 0, 0, 1, 1), 226);  // stride and dilation
}

TEST_CASE("conv2d: the weight's gradient copies no columns of a wide stride, though little padding is met") {
  const Conv2dSizes s = sizes(2, 20, 17, 97, 9, 3, 3, 3, 3, 1, 1, 1, 0, 0, 1, 1);
  CHECK(kernel::detail::weight_plan<float>(s).leaves_out);
  check<float>(s, 227);
}

TEST_CASE_TEMPLATE("conv2d: an infinite gradient meets the padding, too", T, float, bfloat16) {
  const long c = 20, side = 4, taps = 9;
  const Conv2dSizes s = sizes(2, c, side, side, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  CHECK(kernel::detail::weight_plan<T>(s).leaves_out);
  const std::vector<T> x(size_t(2 * c * side * side), T(1.0f));
  std::vector<T> dy(size_t(2 * 3 * side * side), T(1.0f)), dw(size_t(3 * c * taps));
  dy[size_t(side * side)] = T(__builtin_inff());  // the top left pixel of channel 1
  reference::Workspace workspace(kernel::conv2d_backward_weight_workspace<T>(s));
  kernel::conv2d_backward_weight<T>(s, x.data(), dy.data(), dw.data(), 0, kernel::conv2d_backward_weight_items(s),
                                    workspace.data());
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
  for (long n : {4, 5, 7, 8, 11, 15, 16, 17, 31, 32, 37})
    check<float>(sizes(n, 2, 5, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 0, 0), 30 + std::uint64_t(n));
  for (long n : {3, 4, 11, 21})
    check<float>(sizes(n, 40, 16, 15, 56, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 100 + std::uint64_t(n));
  for (long n : {2, 9, 17, 34})
    check<float>(sizes(n, 30, 21, 20, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 130 + std::uint64_t(n));
}

TEST_CASE("conv2d: the weight's gradient has segments of rows, or of the pieces of long rows") {
  check<float>(sizes(2, 3, 41, 40, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 150);
  check<float>(sizes(3, 40, 41, 40, 20, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 151);   // pixels in the padding left out
  check<float>(sizes(2, 70, 60, 61, 70, 2, 2, 1, 1, 1, 1, 1, 0, 1, 0, 0), 152);   // several bands
  check<float>(sizes(2, 4, 2, 700, 5, 1, 3, 1, 1, 1, 1, 1, 0, 0, 1, 1), 153);     // long rows
  check<float>(sizes(2, 40, 3, 520, 9, 2, 5, 1, 1, 1, 1, 1, 1, 0, 300, 2), 154);  // with a piece in the padding
  check<float>(sizes(2, 7, 1, 900, 11, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), 155);
  check<float>(sizes(17, 5, 3, 300, 5, 1, 4, 1, 1, 1, 1, 5, 0, 0, 2, 2), 156);  // depthwise
  check<double>(sizes(2, 3, 2, 300, 5, 1, 3, 1, 1, 1, 1, 1, 0, 0, 1, 1), 157);
}

TEST_CASE("conv2d: the weight's gradient of pointwise convolutions to more channels") {
  for (int groups : {1, 2})
    check<float>(sizes(3, 16 * groups, 5, 7, 21 * groups, 1, 1, 1, 1, 1, 1, groups, 0, 0, 0, 0),
                 110 + std::uint64_t(groups));
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
  kernel::conv2d(batch, data.x.data(), data.weight.data(), y.data(), 0, kernel::conv2d_items(batch), workspace.data(),
                 nothing);
  for (long n = 0; n < batch.n; ++n)
    kernel::conv2d(single, data.x.data() + n * in, data.weight.data(), alone.data() + n * out, 0,
                   kernel::conv2d_items(single), workspace.data(), nothing);
  CHECK(reference::same_bits(y, alone));
}

TEST_CASE("conv2d: a weight's gradient over no samples is zero") {
  Conv2dSizes s = sizes(0, 3, 5, 5, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  std::vector<float> dw(size_t(4 * 3 * 9), 5.0f);
  reference::Workspace workspace(kernel::conv2d_backward_weight_workspace<float>(s));
  kernel::conv2d_backward_weight<float>(s, nullptr, nullptr, dw.data(), 0, kernel::conv2d_backward_weight_items(s),
                                        workspace.data());
  CHECK(reference::same_bits(dw, std::vector<float>(dw.size(), 0.0f)));
  CHECK(kernel::conv2d_items(s) == 0);
}

TEST_CASE("conv2d: an infinity in the image meets all weights, also in columns that no output uses") {
  const Conv2dSizes s = sizes(1, 1, 3, 3, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  std::vector<float> x(9, 1.0f), weight(9, 1.0f), y(9);
  x[0] = __builtin_inff();
  reference::Workspace workspace(kernel::conv2d_workspace<float>(s));
  kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), workspace.data(),
                 [](long, long, long) {});
  for (int i = 0; i < 9; ++i) CHECK((y[size_t(i)] > 100) == (i % 3 < 2 && i / 3 < 2));
}

TEST_CASE("conv2d: an infinite weight of bfloat16 meets the padding, too") {
  const Conv2dSizes s = sizes(1, 2, 4, 4, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  std::vector<bfloat16> x(32, 1.0f), weight(64 * 18, 1.0f), y(64 * 16);
  weight[0] = __builtin_inff();  // top left: NaN where it meets padding, infinite elsewhere
  reference::Workspace workspace(kernel::conv2d_workspace<bfloat16>(s));
  kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), workspace.data(),
                 [](long, long, long) {});
  for (int i = 0; i < 16; ++i) CHECK((float(y[size_t(i)]) > 100) == (i % 4 > 0 && i / 4 > 0));
  CHECK(float(y[16]) == 8);
}
