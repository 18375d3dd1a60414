// Local response normalization across channels.
#pragma once
#include <tenon/ops/add.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/square.hpp>

namespace tenon::inline TENON_ABI {

/// Settings of LRN, with MindSpore's defaults. PyTorch's LocalResponseNorm of size 2 r + 1 divides alpha by its size.
struct LRNConfig {
  int depth_radius = 5;
  float bias = 1, alpha = 1, beta = 0.5f;
};

namespace ops {

/// Local response normalization:  y = x / (bias + alpha · sum of x² over 2 depth_radius + 1 channels)^beta
///
/// x           [n, C, H, W]; floating-point
/// result      shape of x; channels beyond the borders count as 0
/// source      Krizhevsky and others 2012; MindSpore's LRN with ACROSS_CHANNELS
template <LRNConfig config = LRNConfig{}, Operand X>
constexpr auto lrn(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(config.depth_radius >= 0, "lrn needs a depth_radius of 0 or more");
  return where_fits<InputRule<"LRN", "[n,C,H,W]", 4>>(at, x, [&](const auto& v) {
    constexpr TensorType t = X::dims;
    constexpr int r = config.depth_radius < t[1] ? config.depth_radius : t[1] - 1, window = 2 * r + 1;
    constexpr TensorType planes{{t[0], 1, t[1], t[2] * t[3]}, 4, t.dtype};
    const auto squares = apply<Reshape, Reshape::to(planes)>(at, square(v, at));
    const auto mean = avg_pool2d<Pool2dOptions{
        .kernel = Pair(window, 1), .stride = 1, .pad_mode = PadMode::pad, .padding = Padding(r, r, 0, 0)}>(squares, at);
    const auto scale =
        add(mul(apply<Reshape, Reshape::to(t)>(at, mean), config.alpha * float(window), at), config.bias, at);
    return mul(v, exp(mul(log(scale, at), -config.beta, at), at), at);  // vectors, where pow takes number by number
  });
}

}  // namespace ops
}  // namespace tenon
