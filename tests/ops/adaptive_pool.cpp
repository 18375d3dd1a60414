// Convolution and pooling of sequences, and pooling to a given size.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"

using namespace tenon;
using namespace support;

namespace {
// The windows of adaptive pooling as PyTorch's documentation has them.
template <int OH, int OW, class X>
std::vector<double> adaptive(const X& x, bool largest) {
  const long planes = x.n() * X::dims[1], h = X::dims[2], w = X::dims[3];
  std::vector<double> y;
  for (long p = 0; p < planes; ++p)
    for (long i = 0; i < OH; ++i)
      for (long j = 0; j < OW; ++j) {
        double sum = 0, most = -1e30;
        const long top = i * h / OH, bottom = ((i + 1) * h + OH - 1) / OH, left = j * w / OW,
                   right = ((j + 1) * w + OW - 1) / OW;
        for (long r = top; r < bottom; ++r)
          for (long k = left; k < right; ++k) {
            const double v = double(x.data()[(p * h + r) * w + k]);
            sum += v, most = std::fmax(most, v);
          }
        y.push_back(largest ? most : sum / double((bottom - top) * (right - left)));
      }
  return y;
}
template <class Y>
void check_values(const Y& y, const std::vector<double>& wanted) {
  REQUIRE(y.count() == long(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(double(y.data()[i]) == doctest::Approx(wanted[i]));
}
}  // namespace

TEST_CASE("adaptive pooling: windows of one size, of two sizes, and more windows than elements") {
  const auto x = random_tensor<float, Shape<dyn, 2, 9, 10>>(1);
  check_values(both_modes([](const auto& v) { return adaptive_avg_pool2d<Pair(3, 5)>(v); }, x).result,
               adaptive<3, 5>(x, false));
  check_values(both_modes([](const auto& v) { return adaptive_avg_pool2d<Pair(4, 7)>(v); }, x).result,
               adaptive<4, 7>(x, false));
  check_values(both_modes([](const auto& v) { return adaptive_max_pool2d<Pair(7, 3)>(v); }, x).result,
               adaptive<7, 3>(x, true));
  check_values(adaptive_avg_pool2d<Pair(12, 1)>(x), adaptive<12, 1>(x, false));
  check_values(adaptive_max_pool2d<Pair(1)>(x), adaptive<1, 1>(x, true));
}

TEST_CASE("adaptive maximum pooling: dtypes, narrow, wide, and few images") {
  both_modes([](const auto& v) { return adaptive_max_pool2d<Pair(5, 7)>(v); },
             random_tensor<float, Shape<dyn, 3, 28, 28>>(1));
  both_modes([](const auto& v) { return adaptive_max_pool2d<Pair(5, 64)>(v); },
             random_tensor<double, Shape<dyn, 2, 3, 1500>>(2, -3, 3, 2));
  both_modes([](const auto& v) { return adaptive_max_pool2d<Pair(70, 50)>(v); },
             random_tensor<float, Shape<dyn, 1, 3, 3>>(2, -3, 3, 2));  // sums of up to 400 terms
  both_modes([](const auto& v) { return adaptive_max_pool2d<Pair(4, 1)>(v); },
             random_tensor<bfloat16, Shape<dyn, 2, 9, 1>>(3, -3, 3, 0));
  both_modes([](const auto& v) { return adaptive_max_pool2d<Pair(3, 4)>(v); },
             random_tensor<float16, Shape<dyn, 2, 7, 13>>(4));
  const auto whole = random_tensor<std::int16_t, Shape<dyn, 2, 8, 11>>(5, -4, 4);
  check_values(both_modes([](const auto& v) { return adaptive_max_pool2d<Pair(3, 4)>(v); }, whole).result,
               adaptive<3, 4>(whole, true));
}

TEST_CASE("adaptive maximum pooling: the first of equal elements in row-major order gets the gradient") {
  const auto x = Tensor<float, Shape<1, 1, 3, 3>>::from({0, 0, 7, 0, 7, 0, 0, 0, 0});
  eager::Tape tape;
  tape.watch(x);
  tape.backward(reduce_sum(adaptive_max_pool2d<Pair(2)>(x)));
  const auto g = tape.gradient(x);
  tape.pause();
  // windows [0,1] x [0,1], [0,1] x [1,2], [1,2] x [0,1], [1,2] x [1,2]
  CHECK(same_bits(g, Tensor<float, Shape<1, 1, 3, 3>>::from({0, 0, 1, 0, 3, 0, 0, 0, 0})));
}

TEST_CASE("sequences: conv1d and pooling are those of images of height 1") {
  const auto x = random_tensor<float, Shape<dyn, 4, 11>>(2);
  const auto w = random_tensor<float, Shape<6, 2, 1, 3>>(3);
  const auto y = both_modes(
      [](const auto& v, const auto& weight) {
        return conv1d<Conv1dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = Padding1d(1, 2), .groups = 2}>(
            v, weight);
      },
      x, w);
  static_assert(std::is_same_v<decltype(y.result), Tensor<float, Shape<dyn, 6, 6>>>);
  for (int o : {0, 5})
    for (int m : {0, 3, 5}) {
      double sum = 0;
      for (int c = 0; c < 2; ++c)
        for (int k = 0; k < 3; ++k) {
          const int at = m * 2 - 1 + k;
          if (at >= 0 && at < 11)
            sum += double(x.data()[((o / 3) * 2 + c) * 11 + at]) * double(w.data()[(o * 2 + c) * 3 + k]);
        }
      CHECK(double(y.result.data()[o * 6 + m]) == doctest::Approx(sum));
    }
  CHECK(same_bits(both_modes([](const auto& v) { return max_pool1d<3>(v); }, x).result,
                  squeeze<2>(max_pool2d<Pool2dOptions{.kernel = Pair(1, 3)}>(expand_dims<2>(x)))));
  CHECK(same_bits(both_modes([](const auto& v) { return avg_pool1d<3, 2>(v); }, x).result,
                  squeeze<2>(avg_pool2d<Pool2dOptions{.kernel = Pair(1, 3), .stride = 2}>(expand_dims<2>(x)))));
  CHECK(both_modes([](const auto& v) { return adaptive_avg_pool1d<3>(v); }, x).result.count() == 3 * 4 * 3);
  CHECK(both_modes([](const auto& v) { return adaptive_max_pool1d<4>(v); }, x).result.count() == 3 * 4 * 4);
}

TEST_CASE("gradients against central differences") {
  const auto x = random_tensor<double, Shape<2, 2, 5, 7>>(4);
  check_gradients([](const auto& v) { return adaptive_avg_pool2d<Pair(3, 4)>(v); }, x);
  check_gradients([](const auto& v) { return adaptive_max_pool2d<Pair(3, 4)>(v); }, x);
}

TEST_CASE("layers of sequences: MindSpore's defaults, trained, and sentences for shapes that do not fit") {
  const auto x = random_tensor<float, Shape<dyn, 4, 10>>(5);
  nn::Conv1d<4, 6, 3> conv;  // same padding, stride 1
  CHECK(conv(x).count() == 3 * 6 * 10);
  CHECK(same_bits(nn::MaxPool1d<2>{}(x), max_pool1d<2, 1>(x)));
  CHECK(same_bits(nn::AvgPool1d<2, nn::Pool1dConfig{.stride = 0}>{}(x), avg_pool1d<2>(x)));
  CHECK(same_bits(nn::AdaptiveAvgPool1d<5>{}(x), adaptive_avg_pool1d<5>(x)));
  const auto said = []<class Cell, class Key>(Cell, Key) {
    return Compiled<tenon::detail::Forward<Cell, Key>>::sentence.view();
  };
  CHECK((said(nn::Conv1d<3, 6, 3>{}, TypeKey<Dtype::float32, dyn, 4, 10>{}) ==
         "network: Conv1d needs an input [n,C,L] of rank 3 with 3 channels, got [n,4,10]"));
  CHECK((said(nn::AdaptiveAvgPool2d<Pair(3, 2)>{}, TypeKey<Dtype::float32, dyn, 4, 10>{}) ==
         "network: adaptive pooling to [3,2] needs an input [n,C,H,W] of rank 4, got [n,4,10]"));
}
