// Rows of the table of errors: sums, means, statistics, norms, losses, gradients of biases.
#pragma once
#include <algorithm>
#include <cmath>

#include <tenon/tenon.hpp>

#include "accuracy.hpp"

namespace support::accuracy {

using tenon::dyn;
using tenon::Shape;
using tenon::Tensor;

namespace detail {
inline constexpr int sequences = 4;
inline constexpr unsigned other = 100;  // the first sequence of what a gradient is multiplied by: random data
using Columns = Shape<dyn, sequences>;
template <int H, int W>
using Images = Shape<dyn, 2, H, W>;

/// Sums over one column or channel, and of what each row adds; `at(i)` is element i.
template <class At>
double sum_of(long n, At at) {
  double sum = 0;
  for (long i = 0; i < n; ++i) sum += at(i);
  return sum;
}
struct Moments {
  double mean, variance;
  template <class At>
  Moments(long n, At at)
      : mean(sum_of(n, at) / double(n)),
        variance(sum_of(n, [&](long i) { return (at(i) - mean) * (at(i) - mean); }) / double(n)) {}
};
template <class S>
Tensor<float, S> ones() {
  return Tensor<float, S>::full(1.0f);
}
}  // namespace detail

inline double sum(Data data, long n) {
  Worst worst;
  for (unsigned s = 0; s < detail::sequences; ++s) {
    const auto at = [&](long i) { return double(element(data, s, i)); };
    const auto x = rows<Shape<dyn>>(data, s, n);
    worst.add(tenon::ops::reduce_sum(x).item(), detail::sum_of(n, at),
              detail::sum_of(n, [&](long i) { return std::fabs(at(i)); }));
  }
  return worst.error;
}
inline double mean_of_rows(Data data, long n) {
  Worst worst;
  const auto mean = tenon::ops::reduce_mean<0>(columns<detail::Columns>(data, 0, n));
  for (unsigned s = 0; s < detail::sequences; ++s) {
    const auto at = [&](long i) { return double(element(data, s, i)); };
    worst.add(mean.data()[s], detail::sum_of(n, at) / double(n),
              detail::sum_of(n, [&](long i) { return std::fabs(at(i)); }) / double(n));
  }
  return worst.error;
}
inline double mse_loss(Data data, long n) {
  Worst worst;
  for (unsigned s = 0; s < detail::sequences; ++s) {
    const auto x = rows<Shape<dyn>>(data, s, n), y = rows<Shape<dyn>>(Data::random, detail::other + s, n);
    const double exact = detail::sum_of(n,
                                        [&](long i) {
                                          const double d = double(x.data()[i]) - double(y.data()[i]);
                                          return d * d;
                                        }) /
                         double(n);
    worst.add(tenon::nn::MSELoss{}(x, y).item(), exact, exact);
  }
  return worst.error;
}
/// The gradient of sum((x + bias) dy) for the bias is the sum of dy.
inline double bias_gradient(Data data, long n) {
  Worst worst;
  const auto dy = columns<detail::Columns>(data, 0, n), x = columns<detail::Columns>(Data::random, detail::other, n);
  const auto gradient = tenon::grad([&](const auto& bias) { return tenon::ops::reduce_sum((x + bias) * dy); })(
      detail::ones<Shape<detail::sequences>>());
  for (unsigned s = 0; s < detail::sequences; ++s) {
    const auto at = [&](long i) { return double(element(data, s, i)); };
    worst.add(gradient.data()[s], detail::sum_of(n, at), detail::sum_of(n, [&](long i) { return std::fabs(at(i)); }));
  }
  return worst.error;
}
/// Of a row of the table that all numbers name.
inline double gather_gradient(Data data, long n) {
  Worst worst;
  const auto dy = columns<detail::Columns>(data, 0, n);
  const auto index = Tensor<std::int32_t, Shape<dyn>>::full(1, n);
  const auto gradient = tenon::grad([&](const auto& table) {
    return tenon::ops::reduce_sum(tenon::ops::gather(table, index) * dy);
  })(detail::ones<Shape<3, detail::sequences>>());
  for (unsigned s = 0; s < detail::sequences; ++s) {
    const auto at = [&](long i) { return double(element(data, s, i)); };
    worst.add(gradient.data()[detail::sequences + s], detail::sum_of(n, at),
              detail::sum_of(n, [&](long i) { return std::fabs(at(i)); }));
  }
  return worst.error;
}
template <int H, int W>
double channel_bias_gradient(Data data, long length) {
  Worst worst;
  const long n = length / (H * W);
  const auto dy = images<detail::Images<H, W>>(data, 0, n), x = images<detail::Images<H, W>>(Data::random, 0, n);
  const auto gradient = tenon::grad([&](const auto& bias) { return tenon::ops::reduce_sum((x + bias) * dy); })(
      detail::ones<Shape<2, 1, 1>>());
  for (unsigned s = 0; s < 2; ++s) {
    const auto at = [&](long i) { return double(element(data, s, i)); };
    worst.add(gradient.data()[s], detail::sum_of(length, at),
              detail::sum_of(length, [&](long i) { return std::fabs(at(i)); }));
  }
  return worst.error;
}

namespace detail {
/// The table of a batch normalization, and the gradient of its gamma, for `channels` sequences of `length` elements.
enum class Part { mean, variance, gamma };
template <int rank, int channels, class X>
double batch_norm(Part part, Data data, const X& x, const X& dy, long length) {
  constexpr tenon::ops::BatchNormAttributes attributes{1e-5f, rank};
  const auto at = std::source_location::current();
  const auto beta = Tensor<float, Shape<channels>>::zeros();
  const auto statistics = tenon::apply<tenon::ops::BatchNormStatistics, attributes>(at, x);
  Worst worst;
  const auto gradient = [&] {
    if (part != Part::gamma) return beta;
    return tenon::grad([&](const auto& gamma) {
      return tenon::ops::reduce_sum(tenon::apply<tenon::ops::BatchNorm, attributes>(at, x, statistics, gamma, beta) *
                                    dy);
    })(ones<Shape<channels>>());
  }();
  for (unsigned c = 0; c < unsigned(channels); ++c) {
    const auto value = [&](long i) { return double(element(data, c, i)); };
    const Moments exact(length, value);
    const float* const row = statistics.data() + c;
    if (part == Part::mean)
      worst.add(*row, exact.mean, sum_of(length, [&](long i) { return std::fabs(value(i)); }) / double(length));
    // a constant has none: then in parts of epsilon
    if (part == Part::variance) worst.add(row[channels], exact.variance, exact.variance + 1e-5);
    if (part == Part::gamma) {
      const auto term = [&](long i) {
        return (value(i) - exact.mean) / std::sqrt(exact.variance + 1e-5) * double(element(Data::random, other + c, i));
      };
      worst.add(gradient.data()[c], sum_of(length, term),
                sum_of(length, [&](long i) { return std::fabs(term(i)); }) + 1e-5 * double(length));
    }
  }
  return worst.error;
}
}  // namespace detail
template <detail::Part part, int H, int W>
double batch_norm_2d(Data data, long length) {
  using S = detail::Images<H, W>;
  const long n = length / (H * W);
  return detail::batch_norm<4, 2>(part, data, images<S>(data, 0, n), images<S>(Data::random, detail::other, n), length);
}
template <detail::Part part>
double batch_norm_1d(Data data, long n) {
  using S = detail::Columns;
  return detail::batch_norm<2, detail::sequences>(part, data, columns<S>(data, 0, n),
                                                  columns<S>(Data::random, detail::other, n), n);
}

template <int width>
double layer_norm(Data data, long) {
  using S = Shape<dyn, width>;
  const auto x = rows<S>(data, 0, detail::sequences);
  const auto y = tenon::ops::layer_norm<tenon::ops::LayerNormAttributes{1e-5f}>(x, detail::ones<Shape<width>>(),
                                                                                Tensor<float, Shape<width>>::zeros());
  Worst worst;
  for (long r = 0; r < detail::sequences; ++r) {
    const auto value = [&](long i) { return double(x.data()[r * width + i]); };
    const detail::Moments exact(width, value);
    for (long i = 0; i < width; ++i)
      worst.add(y.data()[r * width + i], (value(i) - exact.mean) / std::sqrt(exact.variance + 1e-5), 1);
  }
  return worst.error;
}
/// Of gamma, summed over n rows of 4.
inline double layer_norm_gradient(Data data, long n) {
  using S = Shape<dyn, 4>;
  const auto x = columns<S>(data, 0, n), dy = columns<S>(Data::random, detail::other, n);
  const auto gradient = tenon::grad([&](const auto& gamma) {
    return tenon::ops::reduce_sum(
        tenon::ops::layer_norm<tenon::ops::LayerNormAttributes{1e-5f}>(x, gamma, Tensor<float, Shape<4>>::zeros()) *
        dy);
  })(detail::ones<Shape<4>>());
  double exact[4]{}, scale[4]{};
  for (long r = 0; r < n; ++r) {
    const auto value = [&](long i) { return double(x.data()[4 * r + i]); };
    const detail::Moments row(4, value);
    for (long i = 0; i < 4; ++i) {
      const double term = (value(i) - row.mean) / std::sqrt(row.variance + 1e-5) * double(dy.data()[4 * r + i]);
      exact[i] += term, scale[i] += std::fabs(term);
    }
  }
  Worst worst;
  for (long i = 0; i < 4; ++i) worst.add(gradient.data()[i], exact[i], scale[i]);
  return worst.error;
}

namespace detail {
/// log(sum(exp(x - largest))) of a row.
template <class At>
double log_sum(long n, double largest, At at) {
  return std::log(sum_of(n, [&](long i) { return std::exp(at(i) - largest); }));
}
}  // namespace detail
template <int width>
double softmax(Data data, long) {
  using S = Shape<dyn, width>;
  const auto x = rows<S>(data, 0, detail::sequences), y = tenon::ops::softmax(x);
  Worst worst;
  for (long r = 0; r < detail::sequences; ++r) {
    const float* const row = x.data() + r * width;
    const double largest = *std::max_element(row, row + width),
                 total = detail::log_sum(width, largest, [&](long i) { return double(row[i]); });
    for (long i = 0; i < width; ++i)
      worst.add(y.data()[r * width + i], std::exp(row[i] - largest - total), std::exp(-total));
  }
  return worst.error;
}
/// Of 4 rows; the label of each is the class of its largest logit, so that the loss is small.
template <int classes>
double cross_entropy(Data data, long) {
  const auto x = rows<Shape<dyn, classes>>(data, 0, detail::sequences);
  auto labels = Tensor<std::int32_t, Shape<dyn>>::zeros(detail::sequences);
  for (long r = 0; r < detail::sequences; ++r) {
    const float* const row = x.data() + r * classes;
    labels.data()[r] = std::int32_t(std::max_element(row, row + classes) - row);
  }
  const auto loss = tenon::ops::softmax_cross_entropy(x, labels);
  Worst worst;
  for (long r = 0; r < detail::sequences; ++r) {
    const float* const row = x.data() + r * classes;
    const double exact = detail::log_sum(classes, row[labels.data()[r]], [&](long i) { return double(row[i]); });
    worst.add(loss.data()[r], exact, exact);
  }
  return worst.error;
}
template <int H, int W>
double average_pool(Data data, long) {
  const auto x = images<Shape<dyn, 2, H, W>>(data, 0, 1);
  const auto y = tenon::ops::avg_pool2d<tenon::Pool2dOptions{.kernel = {H, W}}>(x);
  Worst worst;
  for (unsigned s = 0; s < 2; ++s) {
    const auto at = [&](long i) { return double(element(data, s, i)); };
    worst.add(y.data()[s], detail::sum_of(H * W, at) / (H * W),
              detail::sum_of(H * W, [&](long i) { return std::fabs(at(i)); }) / (H * W));
  }
  return worst.error;
}

inline constexpr Row sums[]{
    {"sum", 10, sum},
    {"sum", 1000, sum},
    {"sum", 1000000, sum},
    {"mean over rows", 10, mean_of_rows},
    {"mean over rows", 1000, mean_of_rows},
    {"mean over rows", 1000000, mean_of_rows},
    {"MSELoss", 10, mse_loss},
    {"MSELoss", 1000, mse_loss},
    {"MSELoss", 1000000, mse_loss},
    {"cross entropy", 10, cross_entropy<10>},
    {"cross entropy", 1000, cross_entropy<1000>},
    {"cross entropy", 1000000, cross_entropy<1000000>},
    {"softmax", 10, softmax<10>},
    {"softmax", 1000, softmax<1000>},
    {"softmax", 1000000, softmax<1000000>},
    {"bias gradient", 10, bias_gradient},
    {"bias gradient", 1000, bias_gradient},
    {"bias gradient", 1000000, bias_gradient},
    {"bias gradient of images", 10, channel_bias_gradient<1, 1>},
    {"bias gradient of images", 1000, channel_bias_gradient<10, 10>},
    {"bias gradient of images", 1000000, channel_bias_gradient<100, 100>},
    {"gather gradient", 1000, gather_gradient},
    {"gather gradient", 1000000, gather_gradient},
    {"BatchNorm1d mean", 1000, batch_norm_1d<detail::Part::mean>},
    {"BatchNorm1d mean", 1000000, batch_norm_1d<detail::Part::mean>},
    {"BatchNorm1d variance", 1000, batch_norm_1d<detail::Part::variance>},
    {"BatchNorm1d variance", 1000000, batch_norm_1d<detail::Part::variance>},
    {"BatchNorm1d gamma gradient", 1000000, batch_norm_1d<detail::Part::gamma>},
    {"BatchNorm2d mean", 1000, batch_norm_2d<detail::Part::mean, 10, 10>},
    {"BatchNorm2d mean", 3211264, batch_norm_2d<detail::Part::mean, 224, 224>},
    {"BatchNorm2d variance", 1000, batch_norm_2d<detail::Part::variance, 10, 10>},
    {"BatchNorm2d variance", 3211264, batch_norm_2d<detail::Part::variance, 224, 224>},
    {"BatchNorm2d gamma gradient", 3211264, batch_norm_2d<detail::Part::gamma, 224, 224>},
    {"LayerNorm", 10, layer_norm<10>},
    {"LayerNorm", 1000, layer_norm<1000>},
    {"LayerNorm", 1000000, layer_norm<1000000>},
    {"LayerNorm gamma gradient", 1000, layer_norm_gradient},
    {"LayerNorm gamma gradient", 1000000, layer_norm_gradient},
    {"average pool", 10, average_pool<2, 5>},
    {"average pool", 1000, average_pool<20, 50>},
    {"average pool", 1000000, average_pool<1000, 1000>},
};

}  // namespace support::accuracy
