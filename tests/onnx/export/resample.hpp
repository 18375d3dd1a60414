// Images of other sizes, and elements that move, for program.cpp.
#pragma once
#include <tenon/more.hpp>

namespace resampling {
using namespace tenon;

struct Resized : nn::Cell<Resized> {
  constexpr auto construct(auto x) const {
    return std::tuple(interpolate<Pair{13, 40}>(x), interpolate<Pair{45, 20}, Interpolation::linear>(x),
                      interpolate<Pair{45, 20}, Interpolation::linear, Coordinates::align_corners>(x),
                      interpolate<Pair{50, 17}, Interpolation::cubic>(x),
                      interpolate<Pair{7, 40}, Interpolation::area>(x),
                      interpolate<Scale{3, 5}, InterpolateConfig{.mode = Interpolation::cubic, .antialias = true}>(x),
                      interpolate<Scale{2}, Interpolation::nearest, Coordinates::half_pixel>(x));
  }
};
struct Moved : nn::Cell<Moved> {
  constexpr auto construct(auto x) const { return std::tuple(roll<3, 1>(x), flip<2>(x)); }
};

}  // namespace resampling
