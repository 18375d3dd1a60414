// Structural similarity of images as layers: SSIM, MSSSIM.
#pragma once
#include <tuple>

#include <tenon/nn/cell.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/pow.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of SSIM and MSSSIM, with MindSpore's defaults.
struct SsimConfig {
  float max_val = 1;  // the largest difference that pixels can have
  int filter_size = 11;
  float filter_sigma = 1.5f, k1 = 0.01f, k2 = 0.03f;
};

namespace detail {
/// e^-t for 0 <= t, by the series of e^t.
constexpr double exp_of_minus(double t) {
  double sum = 1, term = 1;
  for (int k = 1; term > sum * 1e-20; ++k) sum += term *= t / k;
  return 1 / sum;
}
/// Weight k of a Gaussian window; the sum of all is 1.
constexpr double gaussian_weight(const SsimConfig& c, int k) {
  double sum = 0, own = 0;
  for (int i = 0; i < c.filter_size; ++i) {
    const double x = (i - (c.filter_size - 1) / 2.0) / double(c.filter_sigma), weight = exp_of_minus(x * x / 2);
    sum += weight;
    if (i == k) own = weight;
  }
  return own / sum;
}
/// A Gaussian window as a column or a row.
template <class T, SsimConfig c, bool column, class Places = std::make_integer_sequence<int, c.filter_size>>
struct Gaussian;
template <class T, SsimConfig c, bool column, int... K>
struct Gaussian<T, c, column, std::integer_sequence<int, K...>> {
  using shape = std::conditional_t<column, Shape<1, 1, c.filter_size, 1>, Shape<1, 1, 1, c.filter_size>>;
  static constexpr T values[]{T(gaussian_weight(c, K))...};
};
/// Weighted means of the windows of each channel.
template <SsimConfig c, ops::Operand X>
constexpr auto window_means(const X& x) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr TensorType t = X::dims;
    using T = typename X::type;
    constexpr int h = t[2] - c.filter_size + 1, w = t[3] - c.filter_size + 1;
    static_assert(h > 0 && w > 0, "SSIM needs images as large as its filter: give a smaller filter_size");
    const auto planes = ops::reshape<Shape<t[0] * t[1], 1, t[2], t[3]>>(x);
    constexpr Conv2dOptions valid{.pad_mode = PadMode::valid};
    const auto rows = ops::conv2d<valid>(planes, ops::constant<Gaussian<T, c, true>>(planes));
    const auto all = ops::conv2d<valid>(rows, ops::constant<Gaussian<T, c, false>>(rows));
    return ops::reshape<Shape<t[0], t[1], h, w>>(all);
  }
}
/// The means per image of the similarity, and of its part without the luminance.
template <SsimConfig c>
constexpr auto similarity(const ops::Operand auto& x, const ops::Operand auto& y) {
  using namespace ops;
  constexpr float c1 = c.k1 * c.max_val * (c.k1 * c.max_val), c2 = c.k2 * c.max_val * (c.k2 * c.max_val);
  const auto mean_x = window_means<c>(x), mean_y = window_means<c>(y);
  const auto product = mul(mul(mean_x, mean_y), 2);
  const auto squares = add(square(mean_x), square(mean_y));
  const auto luminance = div(add(product, c1), add(squares, c1));
  const auto mixed = mul(window_means<c>(mul(x, y)), 2);
  const auto own = window_means<c>(add(square(x), square(y)));
  const auto structure = div(add(sub(mixed, product), c2), add(sub(own, squares), c2));
  return std::tuple{reduce_mean<-3, -2, -1>(mul(luminance, structure)), reduce_mean<-3, -2, -1>(structure)};
}
}  // namespace detail

/// Structural similarity of images: 1 for equal ones.
///
/// x, y        [n, C, H, W] of one shape; floating-point
/// result      [n], the mean over all windows and channels
/// source      Wang et al. 2004, "Image quality assessment"; MindSpore nn.SSIM
template <SsimConfig c = SsimConfig{}>
struct SSIM : Cell<SSIM<c>> {
  constexpr auto construct(const ops::Operand auto& x, const ops::Operand auto& y) const {
    return std::get<0>(detail::similarity<c>(x, y));
  }
};

/// Structural similarity at several sizes, each half of the one before: the product of the powers of its parts.
///
/// x, y        [n, C, H, W] of one shape, in which the filter fits at the smallest size; floating-point
/// result      [n]
/// source      Wang et al. 2003, "Multiscale structural similarity"; MindSpore nn.MSSSIM with its power_factors
template <SsimConfig c = SsimConfig{}>
struct MSSSIM : Cell<MSSSIM<c>> {
  static constexpr int levels = 5;
  static constexpr float power[levels]{0.0448f, 0.2856f, 0.3001f, 0.2363f, 0.1333f};

  constexpr auto construct(const ops::Operand auto& x, const ops::Operand auto& y) const { return at_level<0>(x, y); }

 private:
  template <int level>
  static constexpr auto at_level(const ops::Operand auto& x, const ops::Operand auto& y) {
    using namespace ops;
    const auto [all, structure] = detail::similarity<c>(x, y);
    if constexpr (level + 1 == levels) return pow(relu(all), power[level]);
    else return mul(pow(relu(structure), power[level]), at_level<level + 1>(avg_pool2d<2>(x), avg_pool2d<2>(y)));
  }
};

}  // namespace tenon::nn
