// What the tests of Winograd's convolutions share: sizes, transforms of one square in plain loops, numbers, and
// distances from float64.
#pragma once
#include <cmath>
#include <vector>

#include <tenon/backend/cpu/conv/plan.hpp>
#include <tenon/backend/cpu/winograd/transform.hpp>

#include "../reference.hpp"

namespace reference {
using namespace tenon;
using kernel::Conv2dSizes;

inline Conv2dSizes sizes(long n, long c, long h, long w, long o, int top = 1, int left = 1, int bottom = 1,
                         int right = 1) {
  return {n, c, h, w, o, h + top + bottom - 2, w + left + right - 2, 3, 3, 1, 1, top, left, 1, 1, 1};
}

// An In x In square at the points, or back: along columns, then along rows.
template <class Transform>
std::vector<float> transformed(const std::vector<float>& from) {
  constexpr int in = Transform::in, out = Transform::out;
  float line[in], result[out], middle[out][in];
  std::vector<float> to(std::size_t(out * out));
  for (int j = 0; j < in; ++j) {
    for (int i = 0; i < in; ++i) line[i] = from[std::size_t(i * in + j)];
    Transform::line(line, result);
    for (int i = 0; i < out; ++i) middle[i][j] = result[i];
  }
  for (int i = 0; i < out; ++i) {
    Transform::line(middle[i], result);
    for (int j = 0; j < out; ++j) to[std::size_t(i * out + j)] = result[j];
  }
  return to;
}

/// Pseudo-random numbers of a normal distribution.
inline std::vector<float> normal_numbers(long count, Random& random) {
  std::vector<float> v;
  while (long(v.size()) < count)
    v.push_back(float(std::sqrt(-2 * std::log(1 - double(random.uniform(0, 1)))) *
                      std::cos(6.283185307179586 * double(random.uniform(0, 1)))));
  return v;
}

/// Element (y, x) of a plane, 0 outside.
inline float pixel(const std::vector<float>& v, long plane, long y, long x, long h, long w) {
  return y < 0 || y >= h || x < 0 || x >= w ? 0.0f : v[std::size_t((plane * h + y) * w + x)];
}

struct Deviation {
  double rms = 0, most = 0;  // relative to the root mean square of the results
};
inline Deviation error_of(const std::vector<float>& found, const std::vector<double>& exact) {
  double square = 0, sum = 0, most = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double d = std::fabs(found[i] - exact[i]);
    square += exact[i] * exact[i], sum += d * d, most = d > most ? d : most;
  }
  return {std::sqrt(sum / square), most / std::sqrt(square / double(exact.size()))};
}

}  // namespace reference
