// Reductions, softmax, and norms in ONNX.
#pragma once
#include <tenon/more.hpp>
#include <tenon/onnx/node_export.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace rules {
template <FixedString name, class Op>
void reduce(NodeExport& call) {
  const auto c = call.config<Op>();
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < call.type(0).rank; ++axis)
    if (c.mask >> axis & 1) axes.push_back(axis);
  if (axes.empty()) return call.give("Identity", {call.input(0)});
  if constexpr (std::is_same_v<Op, ops::ReduceSum>)
    call.give(name.view(), {call.input(0), call.whole_numbers(axes)}, {{"keepdims", c.keep_dims}});
  else call.give(name.view(), {call.input(0)}, {{"axes", axes}, {"keepdims", c.keep_dims}});
}
inline void argmax(NodeExport& call) {
  const auto c = call.config<ops::ArgMax>();
  const std::string place =
      call.make(c.smallest ? "ArgMin" : "ArgMax", {call.input(0)}, {{"axis", c.axis}, {"keepdims", c.keep_dims}});
  call.give("Cast", {place}, {{"to", data_type(Dtype::int32)}});
}
inline void cumsum(NodeExport& call) {
  const auto c = call.config<ops::CumSum>();
  call.give("CumSum", {call.input(0), call.number(normalized_axis(c.axis, call.type(0).rank), Dtype::int64)},
            {{"exclusive", c.exclusive}, {"reverse", c.reverse}});
}
template <FixedString name, class Op>
void along_axis(NodeExport& call) {
  call.give(name.view(), {call.input(0)}, {{"axis", call.config<Op>().axis}});
}
inline void layer_norm(NodeExport& call) {
  call.give("LayerNormalization", {call.input(0), call.input(1), call.input(2)},
            {{"axis", call.type(0).rank - call.type(1).rank}, {"epsilon", call.config<ops::LayerNorm>().epsilon}});
}
/// Mean and 1 / sqrt(variance + epsilon) of groups of channels, [n, groups, 2].
inline void group_norm_moments(NodeExport& call) {
  const auto c = call.config<ops::GroupNormMoments>();
  const Dtype dtype = call.type(0).dtype;
  const std::vector<std::int64_t> last{2};
  const std::string x = call.make("Reshape", {call.input(0), call.whole_numbers({0, c.groups, -1})});
  const std::string mean = call.make("ReduceMean", {x}, {{"axes", last}});
  const std::string rest = call.make("Sub", {x, mean});
  const std::string variance = call.make("ReduceMean", {call.make("Mul", {rest, rest})}, {{"axes", last}});
  const std::string sum = call.make("Add", {variance, call.number(double(c.epsilon), dtype)});
  call.give("Concat", {mean, call.make("Reciprocal", {call.make("Sqrt", {sum})})}, {{"axis", 2}});
}
/// (x - mean) inverse gamma + beta; operands: x, gamma, beta, moments
inline void group_norm(NodeExport& call) {
  const TensorType& x = call.type(0);
  const std::int64_t groups = call.type(3)[1];
  std::vector<std::int64_t> per_channel{-1};
  for (int axis = 2; axis < x.rank; ++axis) per_channel.push_back(1);
  const auto moment = [&](std::int64_t k) {
    return call.make("Slice",
                     {call.input(3), call.whole_numbers({k}), call.whole_numbers({k + 1}), call.whole_numbers({2})});
  };
  const std::string cut = call.make("Reshape", {call.input(0), call.whole_numbers({0, groups, -1})});
  const std::string centred = call.make("Sub", {cut, moment(0)});
  const std::string normal = call.make("Reshape", {call.make("Mul", {centred, moment(1)}), call.shape_of(x)});
  const std::string gamma = call.make("Reshape", {call.input(1), call.whole_numbers(per_channel)});
  const std::string beta = call.make("Reshape", {call.input(2), call.whole_numbers(per_channel)});
  call.give("Add", {call.make("Mul", {normal, gamma}), beta});
}
/// gamma / sqrt(variance + epsilon)
inline void batch_norm_scale(NodeExport& call) {
  const double epsilon = double(call.config<ops::BatchNormScale>().epsilon);
  const std::string sum = call.make("Add", {call.input(1), call.number(epsilon, call.type(1).dtype)});
  call.give("Div", {call.input(0), call.make("Sqrt", {sum})});
}
}  // namespace rules

inline constexpr Rule reduce_rules[]{
    {operator_id<ops::ArgMax>, rules::argmax},
    {operator_id<ops::BatchNormScale>, rules::batch_norm_scale},
    {operator_id<ops::CumSum>, rules::cumsum},
    {operator_id<ops::GroupNorm>, rules::group_norm},
    {operator_id<ops::GroupNormMoments>, rules::group_norm_moments},
    {operator_id<ops::LayerNorm>, rules::layer_norm},
    {operator_id<ops::LogSoftmax>, rules::along_axis<"LogSoftmax", ops::LogSoftmax>},
    {operator_id<ops::ReduceMax>, rules::reduce<"ReduceMax", ops::ReduceMax>},
    {operator_id<ops::ReduceMean>, rules::reduce<"ReduceMean", ops::ReduceMean>},
    {operator_id<ops::ReduceMin>, rules::reduce<"ReduceMin", ops::ReduceMin>},
    {operator_id<ops::ReduceProd>, rules::reduce<"ReduceProd", ops::ReduceProd>},
    {operator_id<ops::ReduceSum>, rules::reduce<"ReduceSum", ops::ReduceSum>},
    {operator_id<ops::ReduceSumSquare>, rules::reduce<"ReduceSumSquare", ops::ReduceSumSquare>},
    {operator_id<ops::Softmax>, rules::along_axis<"Softmax", ops::Softmax>},
};

}  // namespace tenon::onnx
