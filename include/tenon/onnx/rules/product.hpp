// Products, convolutions, pooling, attention, and recurrent layers in ONNX.
#pragma once
#include <tenon/more.hpp>
#include <tenon/onnx/node_export.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace rules {
inline std::vector<std::int64_t> with_last_axes_swapped(int rank) {
  std::vector<std::int64_t> order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  std::swap(order[std::size_t(rank) - 1], order[std::size_t(rank) - 2]);
  return order;
}
inline void matmul(NodeExport& call) {
  const auto c = call.config<ops::MatMul>();
  std::string operand[2];
  for (int k = 0; k < 2; ++k) {
    const bool swapped = k ? ops::MatMul::second(c) : ops::MatMul::first(c);
    operand[k] = swapped
                     ? call.make("Transpose", {call.input(k)}, {{"perm", with_last_axes_swapped(call.type(k).rank)}})
                     : call.input(k);
  }
  call.give("MatMul", {operand[0], operand[1]});
}

/// A window along an axis: the padding behind, of which results need what the first ones leave; below 0, what they do
/// not reach.
constexpr int padding_behind(int extent, int results, int kernel, int stride, int dilation, int before) {
  return (results - 1) * stride + (kernel - 1) * dilation + 1 - extent - before;
}
constexpr int at_least_0(int value) { return value < 0 ? 0 : value; }

inline void conv2d(NodeExport& call) {
  const auto c = unpack<ops::Conv2dAttributes>(call.node().attributes);
  const TensorType &x = call.type(0), &w = call.type(1), &y = call.result();
  const int bottom = padding_behind(x[2], y[2], w[2], c.stride_h, c.dilation_h, c.top),
            right = padding_behind(x[3], y[3], w[3], c.stride_w, c.dilation_w, c.left);
  call.give("Conv", {call.input(0), call.input(1)},
            {{"dilations", {c.dilation_h, c.dilation_w}},
             {"group", c.groups},
             {"kernel_shape", {w[2], w[3]}},
             {"pads", {c.top, c.left, at_least_0(bottom), at_least_0(right)}},
             {"strides", {c.stride_h, c.stride_w}}});
}
/// The transposed convolution; operands are weight and x.
inline void conv2d_transpose(NodeExport& call) {
  const auto c = unpack<ops::Conv2dAttributes>(call.node().attributes);
  const TensorType &w = call.type(0), &x = call.type(1), &y = call.result();
  const int bottom = padding_behind(y[2], x[2], w[2], c.stride_h, c.dilation_h, c.top),
            right = padding_behind(y[3], x[3], w[3], c.stride_w, c.dilation_w, c.left);
  call.give("ConvTranspose", {call.input(1), call.input(0)},
            {{"dilations", {c.dilation_h, c.dilation_w}},
             {"group", c.groups},
             {"kernel_shape", {w[2], w[3]}},
             {"output_padding", {at_least_0(-bottom), at_least_0(-right)}},
             {"pads", {c.top, c.left, at_least_0(bottom), at_least_0(right)}},
             {"strides", {c.stride_h, c.stride_w}}});
}
template <FixedString name>
void pool2d(NodeExport& call) {
  const auto c = unpack<ops::Pool2dAttributes>(call.node().attributes);
  const TensorType &x = call.type(0), &y = call.result();
  const int bottom = at_least_0(padding_behind(x[2], y[2], c.kh, c.stride_h, 1, c.top)),
            right = at_least_0(padding_behind(x[3], y[3], c.kw, c.stride_w, 1, c.left));
  const Attribute kernel{"kernel_shape", {c.kh, c.kw}}, strides{"strides", {c.stride_h, c.stride_w}},
      pads{"pads", {c.top, c.left, bottom, right}};
  if constexpr (name.view() == "AveragePool")
    call.give(name.view(), {call.input(0)}, {kernel, strides, pads, {"count_include_pad", c.count_include_pad}});
  else call.give(name.view(), {call.input(0)}, {kernel, strides, pads});
}

/// [..., T, heads * D] as [leading, heads, T, D], or with the last two axes swapped.
inline std::string heads_first(NodeExport& call, const std::string& x, int steps, int heads, int features,
                               bool swapped) {
  const std::string cut = call.make("Reshape", {x, call.whole_numbers({-1, steps, heads, features})});
  return call.make("Transpose", {cut},
                   {{"perm", swapped ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3}}});
}
/// The causal mask: 0 up to the diagonal, -inf above it.
inline std::string causal_mask(NodeExport& call, int steps, Dtype dtype) {
  std::string bytes;
  for (int row = 0; row < steps; ++row)
    for (int column = 0; column < steps; ++column) {
      const std::uint64_t value = constant_bytes(dtype, column > row ? -__builtin_inf() : 0.0);
      bytes.append(reinterpret_cast<const char*>(&value), std::size_t(TensorType{{}, 0, dtype}.bytes(1)));
    }
  return call.constant(dtype, {steps, steps}, bytes);
}
inline void attention(NodeExport& call) {
  const auto c = call.config<ops::Attention>();
  const TensorType& y = call.result();
  const bool packed = call.operands() == 1;
  const Dtype dtype = y.dtype;
  const int steps = y[y.rank - 2], keys = packed ? steps : call.type(1)[y.rank - 2], features = y.last() / c.heads;
  std::string part[3];
  for (int k = 0; k < 3; ++k) {
    part[k] = packed ? call.make("Slice", {call.input(0), call.whole_numbers({k * y.last()}),
                                           call.whole_numbers({(k + 1) * y.last()}), call.whole_numbers({y.rank - 1})})
                     : call.input(k);
    part[k] = heads_first(call, part[k], k ? keys : steps, c.heads, features, k == 1);
  }
  const double scale = c.scale != 0 ? double(c.scale) : 1 / __builtin_sqrt(double(features));
  std::string scores = call.make("Mul", {call.make("MatMul", {part[0], part[1]}), call.number(scale, dtype)});
  if (c.causal) scores = call.make("Add", {scores, causal_mask(call, steps, dtype)});
  const std::string mixed = call.make("MatMul", {call.make("Softmax", {scores}, {{"axis", -1}}), part[2]});
  const std::string joined = call.make("Transpose", {mixed}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  call.give("Reshape", {joined, call.shape_of(y)});
}
/// Pairs (a, b) of features of a head, turned by the angle of their row: (a cos - b sin, b cos + a sin).
inline void rotary_embedding(NodeExport& call) {
  const auto c = call.config<ops::RotaryEmbedding>();
  const TensorType &x = call.type(0), &table = call.type(1);
  const bool is_half = c.form == RotaryForm::half;
  const int steps = x[x.rank - 2], pairs = table[1] / 2, heads = x.last() / table[1], axis = is_half ? 3 : 4;
  std::string rows, cut = call.input(0);
  if (call.operands() == 2)
    rows = call.make("Slice", {call.input(1), call.whole_numbers({0}), call.whole_numbers({steps})});
  else {  // those from the position of each sequence on
    const std::string first = call.make("Unsqueeze", {call.input(2), call.whole_numbers({1})});
    const Dtype dtype = call.type(2).dtype;
    const std::string places =
        call.make("Range", {call.number(0, dtype), call.number(steps, dtype), call.number(1, dtype)});
    rows = call.make("Gather", {call.input(1), call.make("Add", {first, places})}, {{"axis", 0}});
  }
  const auto function = [&](int which) {  // cosines, then sines
    const std::string own = call.make("Slice", {rows, call.whole_numbers({which * pairs}),
                                                call.whole_numbers({(which + 1) * pairs}), call.whole_numbers({-1})});
    return call.make("Reshape", {own, is_half ? call.whole_numbers({-1, steps, 1, 1, pairs})
                                              : call.whole_numbers({-1, steps, 1, pairs, 1})});
  };
  if (x.dtype != table.dtype) cut = call.make("Cast", {cut}, {{"to", data_type(table.dtype)}});
  cut = call.make("Reshape", {cut, is_half ? call.whole_numbers({-1, steps, heads, 2, pairs})
                                           : call.whole_numbers({-1, steps, heads, pairs, 2})});
  const auto member = [&](std::int64_t k) {
    return call.make("Slice", {cut, call.whole_numbers({k}), call.whole_numbers({k + 1}), call.whole_numbers({axis})});
  };
  const std::string a = member(0), b = member(1), cosine = function(0);
  const std::string sine = c.inverse ? call.make("Neg", {function(1)}) : function(1);
  const auto product = [&](const std::string& of, const std::string& with) { return call.make("Mul", {of, with}); };
  std::string turned = call.make("Concat",
                                 {call.make("Sub", {product(a, cosine), product(b, sine)}),
                                  call.make("Add", {product(b, cosine), product(a, sine)})},
                                 {{"axis", axis}});
  if (x.dtype != table.dtype) turned = call.make("Cast", {turned}, {{"to", data_type(x.dtype)}});
  call.give("Reshape", {turned, call.shape_of(call.result())});
}
}  // namespace rules

inline constexpr Rule product_rules[]{
    {operator_id<ops::Attention>, rules::attention},
    {operator_id<ops::AvgPool2d>, rules::pool2d<"AveragePool">},
    {operator_id<ops::Conv2d>, rules::conv2d},
    {operator_id<ops::Conv2dBackwardInput>, rules::conv2d_transpose},
    {operator_id<ops::MatMul>, rules::matmul},
    {operator_id<ops::MaxPool2d>, rules::pool2d<"MaxPool">},
    {operator_id<ops::WinogradConv2d>, rules::conv2d},
    {operator_id<ops::RotaryEmbedding>, rules::rotary_embedding},
    {operator_id<ops::Determinant>, [](NodeExport& call) { call.give("Det", {call.input(0)}); }},
};

}  // namespace tenon::onnx
