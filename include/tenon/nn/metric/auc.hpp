// Area under a curve.
#pragma once
#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The area below the lines between points, such as those of a RocCurve: `auc(curve.fpr, curve.tpr)`. With reorder, the
/// points are sorted by x first, equal ones by y.
///
/// throws  ValueError for less than 2 points, for sizes that differ, and for x that has a NaN, or grows and shrinks
/// source  MindSpore nn.auc
inline double auc(std::span<const double> x, std::span<const double> y, bool reorder = false) {
  if (x.size() != y.size() || x.size() < 2)
    throw_error<ValueError>("auc needs 2 or more points, got ", x.size(), " x and ", y.size(), " y.");
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (std::any_of(x.begin(), x.end(), [](double one) { return one != one; }))
    throw_error<ValueError>("auc needs numbers as x, got a NaN.");
  if (reorder)
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return x[a] < x[b] || (x[a] == x[b] && y[a] < y[b]); });
  bool grows = true, shrinks = true;
  double area = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const std::size_t a = order[i - 1], b = order[i];
    grows = grows && x[a] <= x[b];
    shrinks = shrinks && x[a] >= x[b];
    area += (x[b] - x[a]) * (y[a] + y[b]) / 2;
  }
  if (!grows && !shrinks)
    throw_error<ValueError>("auc needs x that only grows or only shrinks: sort the points, or say reorder = true.");
  return grows ? area : -area;
}

}  // namespace tenon::nn
