// Series: a curve of a run, thinned so that its memory stays the same however long the run is.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::debug {

/// Numbers over steps. Up to `most` points are kept unchanged. Beyond this number each point becomes the mean of twice
/// as many neighbours. A mean with a number that is not finite is not finite, so that the report shows it.
class Series {
 public:
  struct Point {
    double x = 0, y = 0;
  };
  static constexpr std::size_t most = 1024;

  explicit Series(std::string name) : name_(std::move(name)) {}
  void add(double x, double y) {
    first_ = count_++ ? first_ : y;
    last_ = y;
    if (std::isfinite(y)) least_ = std::min(least_, y), largest_ = std::max(largest_, y);
    sum_.x += x, sum_.y += y;
    if (++in_sum_ < stride_) return;
    points_.push_back({sum_.x / double(stride_), sum_.y / double(stride_)});
    sum_ = {}, in_sum_ = 0;
    if (points_.size() == most) join_neighbours();
  }

  const std::string& name() const { return name_; }
  std::span<const Point> points() const { return {points_.data(), points_.size()}; }
  std::size_t count() const { return count_; }
  double first() const { return first_; }
  double last() const { return last_; }
  /// Of the finite numbers; infinity and minus infinity if there is none.
  double least() const { return least_; }
  double largest() const { return largest_; }

 private:
  void join_neighbours() {
    for (std::size_t i = 0; i < most / 2; ++i) {
      const Point a = points_[2 * i], b = points_[2 * i + 1];
      points_[i] = {(a.x + b.x) / 2, (a.y + b.y) / 2};
    }
    points_.resize(most / 2);
    stride_ *= 2;
  }

  std::string name_;
  std::vector<Point> points_;
  Point sum_;
  std::size_t stride_ = 1, in_sum_ = 0, count_ = 0;
  double first_ = 0, last_ = 0;
  double least_ = std::numeric_limits<double>::infinity(), largest_ = -least_;
};

}  // namespace tenon::debug
