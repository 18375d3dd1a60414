// Where chains end: the functions of backend/order.hpp against counting, and what they say of known layers.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <vector>

#include <tenon/backend/order.hpp>

using namespace tenon::kernel;

static_assert(conv_segment(64, 9) == 22 && conv_segment(512, 9) == 27 && conv_segment(3, 49) == 3);
static_assert(conv_segment(2048, 1) == 256 && conv_segment(5, 400) == 1);
static_assert(pixel_segments(28, 28).rows == 7 && pixel_segments(28, 28).count() == 4);
static_assert(!pixel_segments(16, 16).several() && pixel_segments(2, 1000).columns == 250);

TEST_CASE("even_piece: the fewest pieces of at most so much, of which only the last one is smaller") {
  for (long extent = 1; extent <= 300; ++extent)
    for (long most = 1; most <= 40; ++most) {
      const long piece = even_piece(extent, most), pieces = (extent + piece - 1) / piece;
      CHECK(piece <= most);
      CHECK(pieces == (extent + most - 1) / most);
    }
}

TEST_CASE("input_taps: the most taps that any pixel of the gradient meets along an axis") {
  for (long kernel = 1; kernel <= 9; ++kernel)
    for (long stride = 1; stride <= 6; ++stride)
      for (long dilation = 1; dilation <= 4; ++dilation) {
        long most = 0;
        for (long phase = 0; phase < stride; ++phase) {
          long taps = 0;
          for (long k = 0; k < kernel; ++k) taps += k * dilation % stride == phase;
          most = taps > most ? taps : most;
        }
        CHECK(input_taps(kernel, stride, dilation) == most);
      }
}

TEST_CASE("conv_segment: at most 256 steps of whole channels, or one channel") {
  for (long channels = 1; channels <= 600; channels += 7)
    for (long taps = 1; taps <= 300; taps += taps < 30 ? 1 : 9) {
      const long segment = conv_segment(channels, taps);
      CHECK((segment * taps <= 256 || segment == 1));
    }
}

TEST_CASE("pixel_segments: whole rows, or pieces of one row, in the order of the pixels") {
  for (const long height : {1L, 2L, 7L, 28L, 56L, 300L})
    for (const long width : {1L, 5L, 28L, 100L, 256L, 257L, 1000L}) {
      const PixelSegments segments = pixel_segments(height, width);
      std::vector<long> ends;
      for (long pixel = 0; pixel < height * width; pixel = ends.back()) ends.push_back(segments.end(pixel));
      CHECK(ends.back() == height * width);
      CHECK(long(ends.size()) == segments.count());
      CHECK(segments.several() == (ends.size() > 1));
      long begin = 0;
      for (const long end : ends) {
        CHECK(end - begin <= 256);
        CHECK((begin % width == 0 && end % width == 0) == (width <= 256));
        for (long pixel = begin; pixel < end; ++pixel) CHECK(segments.end(pixel) == end);
        begin = end;
      }
    }
}
