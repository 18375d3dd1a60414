// Kernels whose shapes compare.py --random draws: each is a type with `make`, which the generated program calls.
#pragma once
#include "convolution.hpp"

namespace benchmark {
using namespace tenon;

/// a @ b of M x N x K.
template <int M, int N, int K, Transposed transposed>
struct Product {
  static constexpr bool first = transposed == Transposed::first, second = transposed == Transposed::second;
  static Work make() {
    using A = Tensor<float, std::conditional_t<first, Shape<K, M>, Shape<M, K>>>;
    using B = Tensor<float, std::conditional_t<second, Shape<N, K>, Shape<K, N>>>;
    return operation([](const auto& a, const auto& b) { return matmul<transposed>(a, b); }, operand<A>(1, 0),
                     operand<B>(1, second_operand));
  }
};
/// A stack of products.
template <int Stack, int M, int N, int K>
struct Products {
  static Work make() {
    return operation([](const auto& a, const auto& b) { return matmul(a, b); },
                     operand<Tensor<float, Shape<Stack, M, K>>>(1, 0),
                     operand<Tensor<float, Shape<Stack, K, N>>>(1, second_operand));
  }
};

/// MaxPool2d as in a training: with the places of the maxima as second result.
struct MaxPoolWithPlaces : Operator<MaxPoolWithPlaces, "MaxPoolWithPlaces"> {
  using Config = ops::Pool2dAttributes;
  static constexpr int returns = 2;
  static constexpr None derivative{};
  static constexpr ResultTypes shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return ops::MaxPool2d::shape(in, c, error);
  }
};
}  // namespace benchmark
template <>
struct tenon::Kernel<tenon::Cpu, benchmark::MaxPoolWithPlaces> : tenon::Kernel<tenon::Cpu, tenon::ops::MaxPool2d> {};
namespace benchmark {

/// Windows of KH x KW on images of C x H x W. What comes twice is vertical, then horizontal.
template <int C, int H, int W, int KH, int KW, int SH, int SW, int PH, int PW>
struct Pool {
  static constexpr Pool2dOptions options{
      .kernel = {KH, KW}, .stride = {SH, SW}, .pad_mode = PadMode::pad, .padding = {PH, PH, PW, PW}};
  using Image = Tensor<float, Shape<dyn, C, H, W>>;
  static constexpr auto attributes = ops::detail::pool_attributes(options, Image::dims);
  static constexpr ops::AvgPool2dGrad::Config gradient{attributes, Image::dims};
  using Result = decltype(max_pool2d<options>(std::declval<Image>()));
  static Work make(const std::string& what, long n) {
    if (what == "max") return operation([](const auto& x) { return max_pool2d<options>(x); }, operand<Image>(n, 0));
    if (what == "avg") return operation([](const auto& x) { return avg_pool2d<options>(x); }, operand<Image>(n, 0));
    if (what == "avg_backward")
      return operation([](const auto& dy) { return apply<ops::AvgPool2dGrad, gradient>({}, dy); },
                       operand<Result>(n, third_operand));
    const auto backward = [](const auto& places, const auto& dy) {
      return apply<ops::MaxPool2dGrad, gradient>({}, places, dy);
    };
    const auto places = [](const auto& x) { return std::get<1>(apply<MaxPoolWithPlaces, attributes>({}, x)); };
    if (what == "max_backward")
      return operation(backward, places(operand<Image>(n, 0)), operand<Result>(n, third_operand));
    return operation([=](const auto& x, const auto& dy) { return backward(places(x), dy); }, operand<Image>(n, 0),
                     operand<Result>(n, third_operand));
  }
};

/// What works on R rows of C elements.
template <int R, int C>
struct Rows {
  static Work make(const std::string& what) {
    const auto x = operand<Tensor<float, Shape<R, C>>>(1, 0);
    if (what == "softmax") return operation([](const auto& x) { return softmax(x); }, x);
    if (what == "log_softmax") return operation([](const auto& x) { return log_softmax(x); }, x);
    return operation([](const auto& x, const auto& gamma,
                        const auto& beta) { return layer_norm<ops::LayerNormAttributes{1e-5f}>(x, gamma, beta); },
                     x, operand<Tensor<float, Shape<C>>>(1, second_operand),
                     operand<Tensor<float, Shape<C>>>(1, third_operand));
  }
};

/// A reduction of A x B x C over one axis.
template <int A, int B, int C, int axis>
struct Reduction {
  static Work make(const std::string& what) {
    const auto x = operand<Tensor<float, Shape<A, B, C>>>(1, 0);
    if (what == "sum") return operation([](const auto& x) { return reduce_sum<axis>(x); }, x);
    if (what == "mean") return operation([](const auto& x) { return reduce_mean<axis>(x); }, x);
    return operation([](const auto& x) { return reduce_max<axis>(x); }, x);
  }
};

}  // namespace benchmark
