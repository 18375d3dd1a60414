// Rows of the table of errors: matrix products, convolutions, attention. An error is a part of the sum of the sizes of
// the products that make a result.
#pragma once
#include <cmath>

#include <tenon/tenon.hpp>

#include "accuracy.hpp"

namespace support::accuracy {

namespace detail {
/// What data are multiplied by: alone the alternating ones would be added up without a change of sign.
constexpr Data partner(Data data) { return data == Data::alternating ? Data::random : data; }
constexpr unsigned second = 50;  // the first sequence of the second operand

struct ExactSum {
  double sum = 0, sizes = 0;
  void add(double a, double b) { sum += a * b, sizes += std::fabs(a * b); }
};
}  // namespace detail

/// Columns times columns, over n rows: the gradient of a dense layer's weight.
inline double matmul_of_columns(Data data, long n) {
  constexpr int m = 8, k = 16;
  const auto a = columns<tenon::Shape<tenon::dyn, m>>(data, 0, n);
  const auto b = columns<tenon::Shape<tenon::dyn, k>>(detail::partner(data), detail::second, n);
  const auto c = tenon::ops::matmul<tenon::Transposed::first>(a, b);
  Worst worst;
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < k; ++j) {
      detail::ExactSum exact;
      for (long p = 0; p < n; ++p) exact.add(double(a.data()[p * m + i]), double(b.data()[p * k + j]));
      worst.add(c.data()[i * k + j], exact.sum, exact.sizes);
    }
  return worst.error;
}
/// Rows times one row, over 4096 elements: a dense layer for a batch of one.
inline double matmul_of_a_row(Data data, long) {
  constexpr int length = 4096, outputs = 40;
  const auto x = rows<tenon::Shape<1, length>>(data, 0);
  const auto w = rows<tenon::Shape<outputs, length>>(detail::partner(data), detail::second);
  const auto y = tenon::ops::matmul<tenon::Transposed::second>(x, w);
  Worst worst;
  for (long j = 0; j < outputs; ++j) {
    detail::ExactSum exact;
    for (long p = 0; p < length; ++p) exact.add(double(x.data()[p]), double(w.data()[j * length + p]));
    worst.add(y.data()[j], exact.sum, exact.sizes);
  }
  return worst.error;
}
/// A 1 x 1 convolution of 2048 channels, 4 x 4 pixels.
inline double pointwise_conv2d(Data data, long) {
  constexpr int channels = 2048, outputs = 24, side = 4, pixels = side * side;
  const auto x = columns<tenon::Shape<channels, pixels>>(data, 0, 1);
  const auto w = rows<tenon::Shape<outputs, channels>>(detail::partner(data), detail::second);
  const auto y = tenon::ops::conv2d(tenon::ops::reshape<tenon::Shape<1, channels, side, side>>(x),
                                    tenon::ops::reshape<tenon::Shape<outputs, channels, 1, 1>>(w));
  Worst worst;
  for (long o = 0; o < outputs; ++o)
    for (long p = 0; p < pixels; ++p) {
      detail::ExactSum exact;
      for (long c = 0; c < channels; ++c)
        exact.add(double(x.data()[c * pixels + p]), double(w.data()[o * channels + c]));
      worst.add(y.data()[o * pixels + p], exact.sum, exact.sizes);
    }
  return worst.error;
}
/// A 3 x 3 convolution of 512 channels at one pixel.
inline double conv2d_of_channels(Data data, long) {
  constexpr int channels = 512, outputs = 24, length = 9 * channels;
  const auto x = rows<tenon::Shape<1, length>>(data, 0);
  const auto w = rows<tenon::Shape<outputs, length>>(detail::partner(data), detail::second);
  const auto y = tenon::ops::conv2d<tenon::Conv2dOptions{.pad_mode = tenon::PadMode::valid}>(
      tenon::ops::reshape<tenon::Shape<1, channels, 3, 3>>(x),
      tenon::ops::reshape<tenon::Shape<outputs, channels, 3, 3>>(w));
  Worst worst;
  for (long o = 0; o < outputs; ++o) {
    detail::ExactSum exact;
    for (long p = 0; p < length; ++p) exact.add(double(x.data()[p]), double(w.data()[o * length + p]));
    worst.add(y.data()[o], exact.sum, exact.sizes);
  }
  return worst.error;
}
/// The gradient of the weight of a convolution, over all pixels of n images.
template <int channels, int side, int kernel>
double conv2d_weight(Data data, long length) {
  constexpr int pad = kernel / 2;
  const long n = length / (side * side);
  using Images = tenon::Shape<tenon::dyn, channels, side, side>;
  const auto x = images<Images>(data, 0, n), dy = images<Images>(detail::partner(data), detail::second, n);
  const auto dw = tenon::grad([&](const auto& w) { return tenon::ops::reduce_sum(tenon::ops::conv2d(x, w) * dy); })(
      tenon::Tensor<float, tenon::Shape<channels, channels, kernel, kernel>>::full(1.0f));
  Worst worst;
  for (long o = 0, at = 0; o < channels; ++o)
    for (long c = 0; c < channels; ++c)
      for (long r = -pad; r <= pad; ++r)
        for (long k = -pad; k <= pad; ++k, ++at) {
          detail::ExactSum exact;
          for (long s = 0; s < n; ++s)
            for (long i = r < 0 ? -r : 0; i < side - (r > 0 ? r : 0); ++i)
              for (long j = k < 0 ? -k : 0; j < side - (k > 0 ? k : 0); ++j)
                exact.add(double(x.data()[((s * channels + c) * side + i + r) * side + j + k]),
                          double(dy.data()[((s * channels + o) * side + i) * side + j]));
          worst.add(dw.data()[at], exact.sum, exact.sizes);
        }
  return worst.error;
}

inline constexpr Row products[]{
    {"matmul of columns", 1000, matmul_of_columns},
    {"matmul of columns", 100000, matmul_of_columns},
    {"matmul of columns", 1000000, matmul_of_columns},
    {"matmul of a row", 4096, matmul_of_a_row},
    {"conv2d 1x1, channels", 2048, pointwise_conv2d},
    {"conv2d 3x3, channels", 4608, conv2d_of_channels},
    {"conv2d 1x1, gradient of weight", 50176, conv2d_weight<16, 56, 1>},
    {"conv2d 3x3, gradient of weight", 50176, conv2d_weight<2, 224, 3>},
    {"conv2d 3x3, gradient of weight", 1003520, conv2d_weight<2, 112, 3>},
};

}  // namespace support::accuracy
