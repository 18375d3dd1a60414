// Products of matrices, convolutions, pooling.
#pragma once
#include <limits>

#include "axes.hpp"

namespace onnx {

template <class>
constexpr auto MatMul(const auto& a, const auto& b) {
  return ops::matmul(a, b);
}
template <class Node>
constexpr auto Gemm(const auto& a, const auto& b, const auto&... c) {
  constexpr bool left = whole<Node>("transA", 0) != 0, right = whole<Node>("transB", 0) != 0;
  constexpr float alpha = float(number<Node>("alpha", 1)), beta = float(number<Node>("beta", 1));
  using enum ops::Transposed;
  const auto product = ops::matmul < left && right ? both : left ? first : right ? second : none > (a, b);
  if constexpr (sizeof...(c) == 0) return ops::mul(product, alpha);
  else return ops::add(ops::mul(product, alpha), ops::mul(c, beta)...);
}

/// The padding of a window, from pads or auto_pad: before and after each of the last axes.
template <class Node>
consteval tenon::Padding padding_2d() {
  const List pads = list<Node>("pads", 4, 0);
  return {int(pads[0]), int(pads[2]), int(pads[1]), int(pads[3])};
}
template <class Node, class X, class W>
constexpr auto Conv(const X& x, const W& w, const auto&... bias) {
  constexpr int axes = rank<X> - 2;
  constexpr List strides = list<Node>("strides", axes, 1), dilations = list<Node>("dilations", axes, 1);
  const auto y = [&] {
    if constexpr (axes == 2)
      return ops::conv2d<tenon::Conv2dOptions{.stride = tenon::Pair(int(strides[0]), int(strides[1])),
                                              .pad_mode = tenon::PadMode::pad,
                                              .padding = padding_2d<Node>(),
                                              .dilation = tenon::Pair(int(dilations[0]), int(dilations[1])),
                                              .groups = int(whole<Node>("group", 1))}>(x, w);
  }();
  if constexpr (sizeof...(bias) == 0) return y;
  else
    return ops::add(y,
                    spread<range(1, rank<X> - 1)>([&]<int... axis>() { return ops::expand_dims<axis...>(bias...); }));
}
template <class Node, class X, class W>
constexpr auto ConvTranspose(const X& x, const W& w, const auto&... bias) {
  constexpr int axes = rank<X> - 2;
  constexpr List strides = list<Node>("strides", axes, 1), dilations = list<Node>("dilations", axes, 1),
                 pads = list<Node>("pads", 2 * axes, 0), more = list<Node>("output_padding", axes, 0);
  static_assert(sizeof...(bias) == 0);
  constexpr std::string_view automatic = text<Node>("auto_pad", "NOTSET");
  constexpr auto mode = automatic == "NOTSET" || automatic == "VALID" ? tenon::PadMode::pad : tenon::PadMode::same;
  if constexpr (axes == 1)
    return ops::conv1d_transpose<tenon::Conv1dTransposeOptions{.stride = int(strides[0]),
                                                               .pad_mode = mode,
                                                               .padding = int(pads[0]),
                                                               .output_padding = int(more[0]),
                                                               .dilation = int(dilations[0]),
                                                               .groups = int(whole<Node>("group", 1))}>(
        x, ops::expand_dims<2>(w));
  else if constexpr (axes == 2)
    return ops::conv2d_transpose<tenon::Conv2dTransposeOptions{
        .stride = tenon::Pair(int(strides[0]), int(strides[1])),
        .pad_mode = mode,
        .padding = padding_2d<Node>(),
        .output_padding = tenon::Pair(int(more[0]), int(more[1])),
        .dilation = tenon::Pair(int(dilations[0]), int(dilations[1])),
        .groups = int(whole<Node>("group", 1))}>(x, w);
}
template <class Node, class X>
constexpr auto GlobalAveragePool(const X& x) {
  return spread<range(2, rank<X>)>([&]<int... axis>() { return ops::reduce_mean_keep<axis...>(x); });
}
template <class Node, class X>
constexpr auto GlobalMaxPool(const X& x) {
  return spread<range(2, rank<X>)>([&]<int... axis>() { return ops::reduce_max_keep<axis...>(x); });
}

namespace detail {
/// Where the windows of a pool lie along an axis.
struct Windows {
  int kernel, stride, dilation, before, after, count;
  int beyond;  // what the last window needs behind the padding, in ceil_mode
};
template <class Node, class X>
consteval Windows windows(int k) {
  const int axes = rank<X> - 2, extent = int(type<X>.extent[2 + k]);
  const List kernel = list<Node>("kernel_shape", axes, 1), strides = list<Node>("strides", axes, 1),
             dilations = list<Node>("dilations", axes, 1), pads = list<Node>("pads", 2 * axes, 0);
  const std::string_view automatic = text<Node>("auto_pad", "NOTSET");
  Windows w{int(kernel[k]), int(strides[k]), int(dilations[k]), int(pads[k]), int(pads[axes + k]), 0, 0};
  const int span = (w.kernel - 1) * w.dilation + 1;
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    const int steps = (extent + w.stride - 1) / w.stride, missing = (steps - 1) * w.stride + span - extent,
              all = missing > 0 ? missing : 0, less = all / 2;
    w.before = automatic == "SAME_UPPER" ? less : all - less;
    w.after = all - w.before;
  }
  const int room = extent + w.before + w.after - span;
  w.count = room / w.stride + 1;
  if (whole<Node>("ceil_mode", 0) != 0 && room % w.stride != 0 && w.count * w.stride < extent + w.before) ++w.count;
  w.beyond = (w.count - 1) * w.stride + span - (extent + w.before + w.after);
  if (w.beyond < 0) w.beyond = 0;
  return w;
}
/// x with the padding of the node. Behind it comes what the last windows need beyond, in ceil_mode.
template <class Node, class X>
constexpr auto padded(const auto& x, auto padding, auto beyond) {
  return [&]<std::size_t... k>(std::index_sequence<k...>) {
    const auto inner = ops::pad<tenon::Margin{}, tenon::Margin{},
                                tenon::Margin{windows<Node, X>(k).before, windows<Node, X>(k).after}...>(x, padding);
    return ops::pad<tenon::Margin{}, tenon::Margin{}, tenon::Margin{0, windows<Node, X>(k).beyond}...>(inner, beyond);
  }(std::make_index_sequence<std::size_t(rank<X> - 2)>());
}
/// The places of all windows along an axis that are their k-th, from the last one down to k, joined.
template <int axis, Windows w, int k>
constexpr auto joined(const auto& x, auto join) {
  const auto one =
      ops::slice<axis, tenon::Part{k * w.dilation, k * w.dilation + (w.count - 1) * w.stride + 1, w.stride}>(x);
  if constexpr (k + 1 == w.kernel) return one;
  else return join(one, joined<axis, w, k + 1>(x, join));
}
/// A pool joins axis after axis: for a maximum and for a sum this is the whole window.
template <class Node, class X, int k = 0>
constexpr auto pooled(const auto& x, auto join) {
  if constexpr (k == rank<X> - 2) return x;
  else return pooled<Node, X, k + 1>(joined<2 + k, windows<Node, X>(k), 0>(x, join), join);
}
}  // namespace detail

template <class Node, class X>
constexpr auto MaxPool(const X& x) {
  if constexpr (Node::outputs == 2) {
    constexpr List kernel = list<Node>("kernel_shape", 2, 1), strides = list<Node>("strides", 2, 1);
    const auto [y, places] =
        ops::max_pool2d_with_indices<tenon::Pool2dOptions{.kernel = tenon::Pair(int(kernel[0]), int(kernel[1])),
                                                          .stride = tenon::Pair(int(strides[0]), int(strides[1])),
                                                          .pad_mode = tenon::PadMode::pad,
                                                          .padding = padding_2d<Node>()}>(x);
    if constexpr (whole<Node>("storage_order", 0) == 0) return std::tuple(y, places);
    else {  // places column by column
      const auto row = ops::floor_div(places, int(type<X>.extent[3]));
      const auto column = ops::sub(places, ops::mul(row, int(type<X>.extent[3])));
      return std::tuple(y, ops::add(ops::mul(column, int(type<X>.extent[2])), row));
    }
  } else {
    constexpr auto lowest = std::numeric_limits<Element<X>>::lowest();
    return detail::pooled<Node, X>(detail::padded<Node, X>(x, lowest, lowest),
                                   [](const auto& a, const auto& b) { return ops::maximum(a, b); });
  }
}
template <class Node, class X>
constexpr auto AveragePool(const X& x) {
  const auto sum = [](const auto& a, const auto& b) { return ops::add(a, b); };
  constexpr int counts = whole<Node>("count_include_pad", 0) != 0;
  return ops::div(detail::pooled<Node, X>(detail::padded<Node, X>(x, 0, 0), sum),
                  detail::pooled<Node, X>(detail::padded<Node, X>(ops::ones_like(x), counts, 0), sum));
}

}  // namespace onnx
