// Errors of long float32 computations against float64, on data that benchmarks/accuracy.py makes in the same way for
// PyTorch.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <tenon/core/tensor.hpp>

namespace support::accuracy {

enum class Data { constant, random, alternating, offset };
inline constexpr const char* data_name[]{"constant", "random", "alternating", "offset"};

/// Number i of a sequence: a uniform number in [0, 1) with 24 bits.
inline double uniform(unsigned sequence, long i) {
  std::uint64_t x = (std::uint64_t(i) + std::uint64_t(sequence) * 1000003u + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
  return double((x ^ x >> 32) >> 40) / (1 << 24);
}
/// Element i of a sequence: a constant, numbers in [-1, 1), 1 + u and -1 - u in turns, or 1000 + u.
inline float element(Data data, unsigned sequence, long i) {
  switch (data) {
    case Data::constant: return float(0.1 * (sequence % 8 + 1));
    case Data::random: return float(2 * uniform(sequence, i) - 1);
    case Data::alternating: return float((i % 2 ? -1 : 1) * (1 + uniform(sequence, i)));
    default: return float(1000 + uniform(sequence, i));
  }
}

/// The largest error of some results, each as a part of its `scale`.
struct Worst {
  double error = 0;
  void add(double got, double exact, double scale) {
    const double own = std::fabs(got - exact) / scale;
    if (!(own <= error)) error = own == own ? own : std::numeric_limits<double>::infinity();
  }
};

/// A computation of some length: error(data, length) runs it and its counterpart in float64.
struct Row {
  const char* name;
  long length;
  double (*error)(Data, long);
};

/// x[i][c] = element i of sequence first + c, for columns c.
template <class S>
tenon::Tensor<float, S> columns(Data data, unsigned first, long n) {
  auto x = tenon::Tensor<float, S>::zeros(n);
  const long count = S::dims.rank > 1 ? S::dims[1] : 1;
  for (long i = 0; i < x.count(); ++i) x.data()[i] = element(data, first + unsigned(i % count), i / count);
  return x;
}
/// x[r][i] = element i of sequence first + r, for rows r.
template <class S>
tenon::Tensor<float, S> rows(Data data, unsigned first, long n = 1) {
  auto x = tenon::Tensor<float, S>::zeros(n);
  const long width = S::dims.rank > 1 ? S::dims.last() : n;
  for (long i = 0; i < x.count(); ++i) x.data()[i] = element(data, first + unsigned(i / width), i % width);
  return x;
}
/// x[s][c][p] = element s pixels + p of sequence first + c, for channels c.
template <class S>
tenon::Tensor<float, S> images(Data data, unsigned first, long n) {
  auto x = tenon::Tensor<float, S>::zeros(n);
  const long pixels = S::dims.span(2, 4), channels = S::dims[1];
  for (long i = 0; i < x.count(); ++i)
    x.data()[i] = element(data, first + unsigned(i / pixels % channels), i / (pixels * channels) * pixels + i % pixels);
  return x;
}

}  // namespace support::accuracy
