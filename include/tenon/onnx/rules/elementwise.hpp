// Element-wise operators in ONNX.
#pragma once
#include <tenon/more.hpp>
#include <tenon/onnx/node_export.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace rules {
/// An operator that ONNX has under another name.
template <FixedString name>
void same(NodeExport& call) {
  call.operands() == 1   ? call.give(name.view(), {call.input(0)})
  : call.operands() == 2 ? call.give(name.view(), {call.input(0), call.input(1)})
                         : call.give(name.view(), {call.input(0), call.input(1), call.input(2)});
}
/// first(second(x)).
template <FixedString first, FixedString second>
void both(NodeExport& call) {
  call.operands() == 1 ? call.give(first.view(), {call.make(second.view(), {call.input(0)})})
                       : call.give(first.view(), {call.make(second.view(), {call.input(0), call.input(1)})});
}
inline std::string one(NodeExport& call) { return call.number(1, call.type(0).dtype); }
/// log(x) times a number: a logarithm of another base.
inline void log_of_base(NodeExport& call, double base) {
  call.give("Mul", {call.make("Log", {call.input(0)}), call.number(1 / __builtin_log(base), call.type(0).dtype)});
}
/// alpha (exp(x / scale) - 1) where x <= 0, else x
inline void exponential_below(NodeExport& call, const std::string& alpha, const std::string& scaled) {
  const std::string below = call.make("Mul", {alpha, call.make("Sub", {call.make("Exp", {scaled}), one(call)})});
  const std::string is_below = call.make("LessOrEqual", {call.input(0), call.number(0, call.type(0).dtype)});
  call.give("Where", {is_below, below, call.input(0)});
}
inline void gelu(NodeExport& call) {  // x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3)
  const Dtype dtype = call.type(0).dtype;
  const std::string& x = call.input(0);
  const std::string cube = call.make("Mul", {call.make("Mul", {x, x}), x});
  const std::string sum = call.make("Add", {x, call.make("Mul", {cube, call.number(0.044715, dtype)})});
  call.give("Mul", {x, call.make("Sigmoid", {call.make("Mul", {sum, call.number(1.5957691216057308, dtype)})})});
}
inline void gelu_erf(NodeExport& call) {
  const Dtype dtype = call.type(0).dtype;
  const std::string erf =
      call.make("Erf", {call.make("Mul", {call.input(0), call.number(0.70710678118654752, dtype)})});
  const std::string half = call.make("Mul", {call.input(0), call.number(0.5, dtype)});
  call.give("Mul", {half, call.make("Add", {erf, call.number(1, dtype)})});
}
inline void hardtanh(NodeExport& call) {
  if (call.type(1).rank == 0 && call.type(2).rank == 0) return same<"Clip">(call);
  call.give("Min", {call.make("Max", {call.input(0), call.input(1)}), call.input(2)});
}
inline void cast(NodeExport& call) {
  call.give("Cast", {call.input(0)}, {{"to", data_type(call.config<ops::Cast>().dtype)}});
}
inline bool is_unsigned(Dtype dtype) {
  return dtype == Dtype::uint8 || dtype == Dtype::uint16 || dtype == Dtype::uint32 || dtype == Dtype::uint64;
}
/// Neg and Relu of ONNX take no unsigned integers.
inline void neg(NodeExport& call) {
  if (!is_unsigned(call.type(0).dtype)) return same<"Neg">(call);
  call.give("Sub", {call.number(0, call.type(0).dtype), call.input(0)});
}
inline void relu(NodeExport& call) {
  call.give(is_unsigned(call.type(0).dtype) ? "Identity" : "Relu", {call.input(0)});
}
}  // namespace rules

inline constexpr Rule elementwise_rules[]{
    {operator_id<ops::Abs>, rules::same<"Abs">},
    {operator_id<ops::Acos>, rules::same<"Acos">},
    {operator_id<ops::Acosh>, rules::same<"Acosh">},
    {operator_id<ops::Add>, rules::same<"Add">},
    {operator_id<ops::Asin>, rules::same<"Asin">},
    {operator_id<ops::Asinh>, rules::same<"Asinh">},
    {operator_id<ops::Atan>, rules::same<"Atan">},
    {operator_id<ops::Atanh>, rules::same<"Atanh">},
    {operator_id<ops::Cast>, rules::cast},
    {operator_id<ops::Ceil>, rules::same<"Ceil">},
    {operator_id<ops::Celu>,
     [](NodeExport& call) {
       rules::exponential_below(call, call.input(1), call.make("Div", {call.input(0), call.input(1)}));
     }},
    {operator_id<ops::Cos>, rules::same<"Cos">},
    {operator_id<ops::Cosh>, rules::same<"Cosh">},
    {operator_id<ops::Div>, rules::same<"Div">},
    {operator_id<ops::Elu>, [](NodeExport& call) { rules::exponential_below(call, call.input(1), call.input(0)); }},
    {operator_id<ops::Equal>, rules::same<"Equal">},
    {operator_id<ops::Erf>, rules::same<"Erf">},
    {operator_id<ops::Erfc>,
     [](NodeExport& call) { call.give("Sub", {rules::one(call), call.make("Erf", {call.input(0)})}); }},
    {operator_id<ops::Exp>, rules::same<"Exp">},
    {operator_id<ops::Exp2>,
     [](NodeExport& call) { call.give("Pow", {call.number(2, call.type(0).dtype), call.input(0)}); }},
    {operator_id<ops::Expm1>,
     [](NodeExport& call) { call.give("Sub", {call.make("Exp", {call.input(0)}), rules::one(call)}); }},
    {operator_id<ops::FastGelu>,
     [](NodeExport& call) {
       const std::string slope = call.make("Mul", {call.input(0), call.number(1.702, call.type(0).dtype)});
       call.give("Mul", {call.input(0), call.make("Sigmoid", {slope})});
     }},
    {operator_id<ops::Floor>, rules::same<"Floor">},
    {operator_id<ops::Gelu>, rules::gelu},
    {operator_id<ops::GeluErf>, rules::gelu_erf},
    {operator_id<ops::Greater>, rules::same<"Greater">},
    {operator_id<ops::GreaterEqual>, rules::same<"GreaterOrEqual">},
    {operator_id<ops::Hardtanh>, rules::hardtanh},
    {operator_id<ops::Hsigmoid>,
     [](NodeExport& call) { call.give("HardSigmoid", {call.input(0)}, {{"alpha", 1 / 6.f}, {"beta", 0.5f}}); }},
    {operator_id<ops::Hswish>, rules::same<"HardSwish">},
    {operator_id<ops::LeakyRelu>, rules::same<"PRelu">},
    {operator_id<ops::Less>, rules::same<"Less">},
    {operator_id<ops::LessEqual>, rules::same<"LessOrEqual">},
    {operator_id<ops::Log>, rules::same<"Log">},
    {operator_id<ops::Log10>, [](NodeExport& call) { rules::log_of_base(call, 10); }},
    {operator_id<ops::Log1p>,
     [](NodeExport& call) { call.give("Log", {call.make("Add", {call.input(0), rules::one(call)})}); }},
    {operator_id<ops::Log2>, [](NodeExport& call) { rules::log_of_base(call, 2); }},
    {operator_id<ops::LogSigmoid>, rules::both<"Log", "Sigmoid">},
    {operator_id<ops::LogicalAnd>, rules::same<"And">},
    {operator_id<ops::LogicalNot>, rules::same<"Not">},
    {operator_id<ops::LogicalOr>, rules::same<"Or">},
    {operator_id<ops::LogicalXor>, rules::same<"Xor">},
    {operator_id<ops::Maximum>, rules::same<"Max">},
    {operator_id<ops::Minimum>, rules::same<"Min">},
    {operator_id<ops::Mish>,
     [](NodeExport& call) {
       call.give("Mul", {call.input(0), call.make("Tanh", {call.make("Softplus", {call.input(0)})})});
     }},
    {operator_id<ops::Mul>, rules::same<"Mul">},
    {operator_id<ops::Neg>, rules::neg},
    {operator_id<ops::NotEqual>, rules::both<"Not", "Equal">},
    {operator_id<ops::Pow>, rules::same<"Pow">},
    {operator_id<ops::Relu>, rules::relu},
    {operator_id<ops::Round>, rules::same<"Round">},
    {operator_id<ops::Rsqrt>, rules::both<"Reciprocal", "Sqrt">},
    {operator_id<ops::SafeSqrt>, rules::same<"Sqrt">},
    {operator_id<ops::Select>, rules::same<"Where">},
    {operator_id<ops::Selu>, rules::same<"Selu">},
    {operator_id<ops::Sigmoid>, rules::same<"Sigmoid">},
    {operator_id<ops::Sign>, rules::same<"Sign">},
    {operator_id<ops::Silu>,
     [](NodeExport& call) { call.give("Mul", {call.input(0), call.make("Sigmoid", {call.input(0)})}); }},
    {operator_id<ops::Sin>, rules::same<"Sin">},
    {operator_id<ops::Sinh>, rules::same<"Sinh">},
    {operator_id<ops::Softplus>, rules::same<"Softplus">},
    {operator_id<ops::Softsign>, rules::same<"Softsign">},
    {operator_id<ops::Sqrt>, rules::same<"Sqrt">},
    {operator_id<ops::Square>, [](NodeExport& call) { call.give("Mul", {call.input(0), call.input(0)}); }},
    {operator_id<ops::Sub>, rules::same<"Sub">},
    {operator_id<ops::Tan>, rules::same<"Tan">},
    {operator_id<ops::Tanh>, rules::same<"Tanh">},
};

}  // namespace tenon::onnx
