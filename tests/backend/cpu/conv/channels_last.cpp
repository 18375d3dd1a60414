// Convolutions whose tiles have channels as lanes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "conv2d_check.hpp"

using namespace tenon;
using kernel::Conv2dSizes;
using reference::check, reference::sizes;

TEST_CASE_TEMPLATE("conv2d: channels as lanes", T, float, bfloat16) {
  int others = 0;  // what pays depends on the instruction set: a few shapes may be computed otherwise
  const auto in_lanes = [&](const Conv2dSizes& s, std::uint64_t seed) {
    others +=
        !kernel::detail::conv_plan<T>(s).channels_last && !kernel::detail::conv_plan<T>(s.for_input()).channels_last;
    check<T>(s, seed);
  };
  in_lanes(sizes(9, 37, 4, 4, 131, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 200);  // samples together, tiles of two widths
  in_lanes(sizes(5, 70, 7, 7, 203, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 201);  // planes in several parts
  in_lanes(sizes(4, 33, 14, 14, 72, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), 202);
  in_lanes(sizes(4, 96, 13, 11, 80, 5, 5, 1, 1, 1, 1, 1, 2, 2, 2, 2), 203);
  // rows of pixels go together, columns do not
  in_lanes(sizes(4, 40, 7, 7, 56, 7, 7, 1, 1, 1, 1, 1, 3, 3, 3, 3), 204);
  in_lanes(sizes(6, 42, 11, 9, 35, 11, 9, 1, 1, 1, 1, 1, 5, 5, 4, 4), 205);  // more parts than are told apart
  in_lanes(sizes(8, 64, 9, 8, 68, 3, 5, 2, 1, 1, 1, 1, 1, 1, 2, 2), 206);
  in_lanes(sizes(8, 64, 9, 8, 66, 3, 3, 1, 3, 1, 1, 1, 1, 1, 1, 1), 207);
  in_lanes(sizes(8, 64, 9, 9, 64, 2, 2, 3, 3, 1, 1, 1, 0, 0, 0, 0), 208);  // pixels that no tap meets
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
  CHECK((kernel::detail::conv_plan<T>(s).channels_last && kernel::detail::conv_plan<T>(s.for_input()).channels_last));
  const std::vector<T> x(size_t(n * c * side * side), T(1.0f));
  std::vector<T> weight(size_t(o * c * 9), T(1.0f)), y(x.size()), dx(x.size());
  weight[size_t((5 * c + 3) * 9)] = T(__builtin_inff());  // top left: NaN where it meets padding, infinite elsewhere
  reference::Workspace forward(kernel::conv2d_workspace<T>(s)), input(kernel::conv2d_workspace<T>(s.for_input()));
  kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), forward.data(), {});
  kernel::conv2d(s.for_input(), x.data(), weight.data(), dx.data(), 0, kernel::conv2d_items(s.for_input()),
                 input.data(), {});
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
