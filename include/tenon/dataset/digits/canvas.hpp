// A 28 x 28 picture of lines: the distance from each pixel to the nearest line, and ink by that distance.
#pragma once
#include <cstdint>

#include <tenon/core/math/libm.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/digits/digit_strokes.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

// Only + - * / and square roots, each rounded once: the same bytes on every machine.
TENON_EXACT_BEGIN

class Canvas {
 public:
  static constexpr int side = 28;

  /// Lines are seen up to `reach` pixels away.
  explicit Canvas(float reach) : reach_(reach) {
    for (float& d : square_) d = 1e6f;
  }

  /// A straight line between two points in pixels.
  void line(Point a, Point b) {
    const float dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy, inverse = 1.0f / (length + 1e-9f);
    const int left = pixel((a.x < b.x ? a.x : b.x) - reach_), right = pixel((a.x < b.x ? b.x : a.x) + reach_ + 1);
    const int top = pixel((a.y < b.y ? a.y : b.y) - reach_), bottom = pixel((a.y < b.y ? b.y : a.y) + reach_ + 1);
    for (int row = top; row < bottom; ++row) {
      const float y = static_cast<float>(row) - a.y, along_y = y * dy;
      for (int column = left; column < right; ++column) {
        const float x = static_cast<float>(column) - a.x;
        float t = (x * dx + along_y) * inverse;
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        const float ex = x - t * dx, ey = y - t * dy, d = ex * ex + ey * ey;
        float& least = square_[row * side + column];
        least = d < least ? d : least;
      }
    }
  }

  /// A smooth line through points: Catmull and Rom's curve, in three straight pieces between each two points.
  void curve(const Point* point, int count) {
    if (count == 2) return line(point[0], point[1]);
    Point last = point[0];
    for (int i = 0; i + 1 < count; ++i) {
      const Point before = point[i > 0 ? i - 1 : 0], from = point[i], to = point[i + 1],
                  after = point[i + 2 < count ? i + 2 : count - 1];
      for (int piece = 1; piece <= 3; ++piece) {
        const float t = static_cast<float>(piece) / 3.0f;
        const Point next{spline(before.x, from.x, to.x, after.x, t), spline(before.y, from.y, to.y, after.y, t)};
        line(last, next);
        last = next;
      }
    }
  }

  /// The picture in bytes: ink fades over one pixel at `radius` from the lines; each pixel gets noise in 0 .. noise -
  /// 1.
  void print(float radius, float ink, std::uint32_t noise, std::uint64_t key, std::uint8_t* out) const {
    for (int block = 0; block < side * side; block += 16) {
      const Philox4 random = philox(key, static_cast<std::uint64_t>(block));
      for (int i = 0; i < 16; ++i) {
        const float cover = radius + 0.5f - tenon::detail::libm::sqrt(square_[block + i]), clamped = cover < 0 ? 0
                                                                                                     : cover > 1
                                                                                                         ? 1
                                                                                                         : cover;
        const std::uint32_t grain = (random.word[i / 4] >> 8 * (i % 4) & 255u) * noise >> 8;
        const std::uint32_t value = static_cast<std::uint32_t>(clamped * ink * 255.0f + 0.5f) + grain;
        out[block + i] = static_cast<std::uint8_t>(value > 255u ? 255u : value);
      }
    }
  }

 private:
  static int pixel(float x) { return x < 0 ? 0 : x > side ? side : static_cast<int>(x); }
  static float spline(float a, float b, float c, float d, float t) {
    return b + 0.5f * t * (c - a + t * (2.0f * a - 5.0f * b + 4.0f * c - d + t * (3.0f * (b - c) + d - a)));
  }

  float reach_;
  float square_[side * side];
};

TENON_EXACT_END

}  // namespace tenon::dataset::detail
