// Winograd's minimal filtering: 4 x 4 results of a 3 x 3 kernel, or 3 x 3 of one of 4 x 4, by 36 products instead of
// 144. The points at which it evaluates, and what follows from them.
#pragma once
#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::winograd {

// A correlation of 6 numbers with 3 (or 4) is evaluated at the points 0, +-a, +-b, and infinity, multiplied there, and
// interpolated. 5/8 and 3/2 are exact with their squares and cubes, and round far less than the usual 1 and 2: the
// error of a convolution of normal numbers is 1.7 times that of a direct one instead of 4.1 times.
inline constexpr float a = 0.625f, b = 1.5f, a2 = a * a, b2 = b * b, a3 = a2 * a, b3 = b2 * b;
inline constexpr int points = 6, products = points * points, tile = 4, kernel = 3;
inline constexpr double scale_0 = 1 / (double(a2) * b2), scale_a = 1 / (2.0 * a2 * (a2 - b2)),
                        scale_b = 1 / (2.0 * b2 * (b2 - a2));

}  // namespace tenon::kernel::winograd
TENON_EXACT_END
