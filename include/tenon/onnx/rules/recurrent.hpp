// Recurrent layers in ONNX, whose sequences have the steps first, and other orders of gates.
#pragma once
#include <tenon/more.hpp>
#include <tenon/onnx/node_export.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace rules {
/// The operands of a time loop that some calls leave out.
struct RecurrentOperands {
  int bias = -1, state = -1, lengths = -1;  // numbers of operands, or -1
  RecurrentOperands(const NodeExport& call, int weights) {
    int k = weights;
    if (k < call.operands() && call.type(k).rank == 1 && is_floating(call.type(k).dtype)) bias = k++;
    if (k < call.operands() && call.type(k).rank == 3) state = k++;
    if (k < call.operands()) lengths = k++;
  }
};
/// Rows of a weight or a bias, [gates * H, ...], in another order of gates: [1, gates * H, ...].
inline std::string gates_in_order(NodeExport& call, const std::string& weight, const TensorType& type,
                                  const std::vector<std::int64_t>& order) {
  const auto gates = std::int64_t(order.size()), hidden = type[0] / gates;
  std::vector<std::int64_t> cut{gates, hidden}, whole{1, type[0]};
  if (type.rank == 2) cut.push_back(type[1]), whole.push_back(type[1]);
  const std::string rows = call.make("Reshape", {weight, call.whole_numbers(cut)});
  return call.make("Reshape",
                   {call.make("Gather", {rows, call.whole_numbers(order)}, {{"axis", 0}}), call.whole_numbers(whole)});
}
inline std::string zeros(NodeExport& call, std::int64_t count, Dtype dtype) {
  return call.make("Expand", {call.number(0, dtype), call.whole_numbers({1, count})});
}
inline std::string swap_steps_and_samples(NodeExport& call, const std::string& x) {
  return call.make("Transpose", {x}, {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
}
/// One of the first states, [n, k, H], as ONNX has them: [1, n, H].
inline std::string first_state(NodeExport& call, int operand, std::int64_t k) {
  if (operand < 0) return "";
  return swap_steps_and_samples(call, call.make("Slice", {call.input(operand), call.whole_numbers({k}),
                                                          call.whole_numbers({k + 1}), call.whole_numbers({1})}));
}
/// Names the results: h of all steps, from [T, 1, n, H], and the last states, each [1, n, H], along axis 1.
inline void give_steps(NodeExport& call, const std::string& steps) {
  const std::string own = call.make("Squeeze", {steps, call.whole_numbers({1})});
  call.give("Transpose", {own}, {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
}

inline void lstm(NodeExport& call) {
  const RecurrentOperands at(call, 3);
  const TensorType &x = call.type(0), &w = call.type(2);
  const std::vector<std::int64_t> order{0, 3, 1, 2};  // i, f, g, o -> i, o, f, g
  const std::string no_bias = zeros(call, w[0], x.dtype);
  const std::string bias = at.bias < 0 ? no_bias : gates_in_order(call, call.input(at.bias), call.type(at.bias), order);
  const std::string h = call.output() + "_h", c = call.output() + "_c", steps = call.output() + "_steps";
  call.give_all(
      "LSTM",
      {swap_steps_and_samples(call, call.input(0)), gates_in_order(call, call.input(1), call.type(1), order),
       gates_in_order(call, call.input(2), w, order), call.make("Concat", {bias, no_bias}, {{"axis", 1}}),
       at.lengths < 0 ? "" : call.input(at.lengths), first_state(call, at.state, 0), first_state(call, at.state, 1)},
      {steps, h, c}, {{"hidden_size", w[1]}, {"direction", call.config<ops::Lstm>().reverse ? "reverse" : "forward"}});
  give_steps(call, steps);
  if (call.node().parts >> 1 & 1)
    call.give_as(call.output(1), "Transpose", {call.make("Concat", {h, c}, {{"axis", 0}})},
                 {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
}
/// Its input is projected already: the weight of the input is the identity.
inline void gru(NodeExport& call) {
  const RecurrentOperands at(call, 2);
  const TensorType &x = call.type(0), &w = call.type(1);
  const std::vector<std::int64_t> order{1, 0, 2};  // r, z, m -> z, r, m
  const std::string no_bias = zeros(call, w[0], x.dtype);
  const std::string bias = at.bias < 0 ? no_bias : gates_in_order(call, call.input(at.bias), call.type(at.bias), order);
  const std::string square = call.make("Expand", {call.number(0, x.dtype), call.whole_numbers({w[0], w[0]})});
  const std::string identity = call.make("EyeLike", {square});
  const std::string h = call.output() + "_h", steps = call.output() + "_steps";
  call.give_all("GRU",
                {swap_steps_and_samples(call, call.input(0)), gates_in_order(call, identity, {{w[0], w[0]}, 2}, order),
                 gates_in_order(call, call.input(1), w, order), call.make("Concat", {no_bias, bias}, {{"axis", 1}}),
                 at.lengths < 0 ? "" : call.input(at.lengths), first_state(call, at.state, 0)},
                {steps, h},
                {{"hidden_size", w[1]},
                 {"linear_before_reset", 1},
                 {"direction", call.config<ops::Gru>().reverse ? "reverse" : "forward"}});
  give_steps(call, steps);
  if (call.node().parts >> 1 & 1)
    call.give_as(call.output(1), "Transpose", {h}, {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
}
}  // namespace rules

inline constexpr Rule recurrent_rules[]{
    {operator_id<ops::Gru>, rules::gru},
    {operator_id<ops::Lstm>, rules::lstm},
};

}  // namespace tenon::onnx
