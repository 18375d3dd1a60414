// Batches of a few numbers, for tests of metrics.
#pragma once
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/core/tensor/any_tensor.hpp>

namespace batches {

/// Numbers with a shape, which own their elements: `Batch<float>{{3, 2}, {0.2f, 0.5f, ...}}.view()`.
template <class T>
struct Batch {
  std::vector<std::int64_t> shape;
  std::vector<T> values;
  tenon::AnyTensor view() { return tenon::AnyTensor(tenon::dtype_of<T>, shape, values.data()); }
};
template <class T>
void update(auto& metric, Batch<T> prediction, auto label) {
  metric.update(prediction.view(), label.view());
}

using Floats = Batch<float>;
using Ints = Batch<std::int32_t>;

// The samples of MindSpore's documentation, whose results are known.
inline Floats two_classes() { return {{3, 2}, {0.2f, 0.5f, 0.3f, 0.1f, 0.9f, 0.6f}}; }
inline Ints two_labels() { return {{3}, {1, 0, 1}}; }
inline Floats three_classes() {
  return {{4, 3}, {0.1f, 0.7f, 0.2f, 0.6f, 0.3f, 0.1f, 0.2f, 0.2f, 0.6f, 0.5f, 0.4f, 0.1f}};
}
inline Ints three_labels() { return {{4}, {1, 0, 1, 2}}; }
inline Ints label_sets() { return {{3, 2}, {0, 1, 1, 1, 1, 1}}; }
inline Ints true_sets() { return {{3, 2}, {0, 1, 1, 0, 1, 1}}; }
inline Ints image() { return {{3, 3}, {3, 0, 1, 1, 3, 0, 1, 0, 2}}; }
inline Ints true_image() { return {{3, 3}, {0, 2, 1, 1, 2, 1, 0, 0, 1}}; }

inline void check_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance = 1e-7) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CAPTURE(found[i]);
    CHECK(std::fabs(found[i] - expected[i]) <= tolerance);
  }
}

}  // namespace batches
