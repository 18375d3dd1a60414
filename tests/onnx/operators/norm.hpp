// Normalisations and dropout in evaluation.
#pragma once
#include "axes.hpp"

namespace onnx {

template <class Node, class X>
constexpr auto LayerNormalization(const X& x, const auto& scale, const auto& bias) {
  constexpr int axis = axis_of(whole<Node>("axis", -1), rank<X>);
  constexpr float epsilon = float(number<Node>("epsilon", 1e-5f));
  return spread<range(axis, rank<X>)>([&]<int... axes>() {
    const auto mean = ops::reduce_mean_keep<axes...>(x), centred = ops::sub(x, mean);
    const auto deviation = ops::rsqrt(ops::add(ops::reduce_mean_keep<axes...>(ops::square(centred)), epsilon));
    return std::tuple(ops::add(ops::mul(ops::mul(centred, deviation), scale), bias), mean, deviation);
  });
}
template <class Node, class X>
constexpr auto RMSNormalization(const X& x, const auto& scale) {
  constexpr int axis = axis_of(whole<Node>("axis", -1), rank<X>);
  constexpr float epsilon = float(number<Node>("epsilon", 1e-5f));
  return spread<range(axis, rank<X>)>([&]<int... axes>() {
    const auto square = ops::reduce_mean_keep<axes...>(ops::square(x));
    return ops::mul(ops::mul(x, ops::rsqrt(ops::add(square, epsilon))), scale);
  });
}
template <class Node, class X>
constexpr auto BatchNormalization(const X& x, const auto& scale, const auto& bias, const auto& mean,
                                  const auto& variance) {
  constexpr float epsilon = float(number<Node>("epsilon", 1e-5f));
  return spread<range(1, rank<X> - 1)>([&]<int... axes>() {
    const auto channels = [](const auto& v) { return ops::expand_dims<axes...>(v); };
    const auto factor = channels(ops::mul(scale, ops::rsqrt(ops::add(variance, epsilon))));
    return ops::add(ops::mul(ops::sub(x, channels(mean)), factor), channels(bias));
  });
}
template <class Node, class X>
constexpr auto Dropout(const X& x, const auto&...) {
  if constexpr (Node::outputs == 1) return ops::identity(x);
  else return std::tuple(ops::identity(x), ops::cast<bool>(ops::ones_like(x)));
}

template <class Node, class X>
constexpr auto LRN(const X& x) {
  // PyTorch and MindSpore divide alpha as ONNX does, by the size
  constexpr int size = int(whole<Node>("size", 1));
  return ops::lrn<tenon::LRNConfig{.depth_radius = size / 2,
                                   .bias = float(number<Node>("bias", 1)),
                                   .alpha = float(number<Node>("alpha", 1e-4)) / float(size),
                                   .beta = float(number<Node>("beta", 0.75))}>(x);
}

}  // namespace onnx
