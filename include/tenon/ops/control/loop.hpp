// The node of a loop in a graph, and its derivative. Its body is a graph of its own, which the kernel runs once per
// turn (ops/control/loop_kernel.hpp).
#pragma once
#include <tenon/ops/control/body.hpp>
#include <tenon/ops/control/bundle.hpp>
#include <tenon/ops/control/turn.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::ops {

/// A loop as settings. Its operands are bundles, in the order of their kinds: the first values of what is carried from
/// turn to turn, the values of which each turn gets a slice, and what the body uses from outside. So are its results:
/// what is carried out of the last turn, and the slices of all turns. The result after them is what is kept for the
/// derivative.
struct LoopConfig {
  int body = 0, condition = -1;  // numbers of bodies; a loop with a condition ends when that is false
  int turns = 0, carried = 0, sliced = 0;
  int operands = 0;            // bits: the kinds of bundles among the operands
  int result[result_kinds]{};  // elements of each bundle, per sample; 0: there is none
  int kept = 0;                // bytes, per sample
  int types = 0;               // the dtype of floating-point values; then whether bytes and kept depend on n

  constexpr Dtype dtype() const { return static_cast<Dtype>(types & 255); }
  /// The number of the operand, or of the result, that is the bundle of a kind.
  constexpr int operand_of(BundleKind kind) const {
    int at = 0;
    for (int k = 0; k < int(kind); ++k) at += operands >> k & 1;
    return at;
  }
  constexpr bool has_operand(BundleKind kind) const { return operands >> int(kind) & 1; }
  constexpr int result_of(BundleKind kind) const {
    int at = 0;
    for (int k = 0; k < int(kind); ++k) at += result[k] > 0;
    return at;
  }
  constexpr int kept_result() const { return result_of(static_cast<BundleKind>(result_kinds)); }
  constexpr TensorType result_type(BundleKind kind) const {
    const bool batched = kind == BundleKind::batch || (kind == BundleKind::other && types >> 8 & 1);
    return rows(batched, result[int(kind)], kind == BundleKind::other ? Dtype::uint8 : dtype());
  }
  constexpr ResultTypes results() const {
    ResultTypes all = TensorType{};
    all.count = 0;
    for (int k = 0; k < result_kinds; ++k)
      if (result[k]) all.type[all.count++] = result_type(static_cast<BundleKind>(k));
    if (kept) all.type[all.count++] = rows(types >> 9 & 1, kept, Dtype::uint8);
    return all;
  }
  static constexpr TensorType rows(bool batched, int elements, Dtype dtype) {
    TensorType t{{}, 0, dtype};
    if (batched) t.extent[t.rank++] = dyn;
    t.extent[t.rank++] = elements;
    return t;
  }
};

/// The parts of the gradient of a loop: of its bundles of floating-point values.
struct LoopGradConfig {
  int body = 0, turns = 0, carried = 0, sliced = 0, operands = 0, condition = -1;
  int given = 0;                 // bits: the bundles of results that have a gradient, which follow the other operands
  int elements[bundle_kinds]{};  // of the bundles of operands, per sample; 0: no gradient
  int dtype = 0;

  /// The number of the result that is the gradient of a bundle.
  constexpr int result_of(BundleKind kind) const {
    int at = 0;
    for (int k = 0; k < int(kind); ++k) at += elements[k] > 0;
    return at;
  }
  constexpr ResultTypes results() const {
    ResultTypes types = TensorType{};
    types.count = 0;
    for (int k = 0; k < bundle_kinds; ++k)
      if (elements[k])
        types.type[types.count++] =
            LoopConfig::rows(k != int(BundleKind::fixed), elements[k], static_cast<Dtype>(dtype));
    return types;
  }
};

/// The turns backward. Operands: what was kept, the bundles of fixed and of other values, the gradients of results. Not
/// for users.
struct LoopGrad : Operator<LoopGrad, "LoopGrad">, WithBody {
  using Config = LoopGradConfig;
  static constexpr None derivative{};
  static constexpr ResultTypes shape(const OperandTypes&, const Config& c, Sentence&) { return c.results(); }
};

namespace detail {
/// The derivative of a node with bodies. `before`: operands before its bundles.
template <class Grad>
constexpr void flow_through(Derivative& d, const LoopConfig& c, int before) {
  std::vector<int> operands;
  for (int k = 0; k < before; ++k) operands.push_back(d.operand(k));
  operands.push_back(d.result(c.kept_result()));
  for (const BundleKind kind : {BundleKind::fixed, BundleKind::other})
    if (c.has_operand(kind)) operands.push_back(d.operand(before + c.operand_of(kind)));
  LoopGradConfig g{c.body, c.turns, c.carried, c.sliced, c.operands, c.condition, 0, {}, int(c.dtype())};
  for (int k = 0; k < int(BundleKind::other); ++k)
    if (const int result = c.result_of(static_cast<BundleKind>(k)); c.result[k] && d.has_gradient(result))
      g.given |= 1 << k, operands.push_back(d.gradient(result));
  for (int k = 0; k < bundle_kinds; ++k)
    if (const auto kind = static_cast<BundleKind>(k); kind != BundleKind::other && c.has_operand(kind))
      g.elements[k] = int(d.type(before + c.operand_of(kind)).count(1));
  const int call = d.call_list<Grad>(g, operands);
  for (int k = 0; k < bundle_kinds; ++k)
    if (g.elements[k]) {
      const int at = before + c.operand_of(static_cast<BundleKind>(k));
      d.flows_to(at, d.call_with<Reshape>(Reshape::to(d.type(at)),
                                          d.result_of(call, g.result_of(static_cast<BundleKind>(k)))));
    }
}
}  // namespace detail

/// A loop in a graph: scan() and while_loop().
///
/// derivative  the turns backward, from what the forward pass kept of each. Contributions of the turns to the gradient
///             of a value from outside are added one after the other from the last turn on, in segments of 256
struct Loop : Operator<Loop, "Loop">, WithBody {
  using Config = LoopConfig;
  static constexpr ResultTypes shape(const OperandTypes&, const Config& c, Sentence&) { return c.results(); }
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<Loop>();
    if (c.kept) return detail::flow_through<LoopGrad>(d, c, 0);
    const BodyGradient body = differentiate(d.builder(), c.body);
    d.builder().fail(
        body.builder.error.empty()
            ? Sentence{} << "while_loop has a derivative only if it is given the most turns that it takes: "
                            "while_loop<100>(condition, body, ...)"
            : body.builder.error);
  }
};

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {

/// What a value is to a body.
enum class BodyRole : signed char { carried, sliced, captured, random };

/// An input or an output of a body, and where it is outside.
struct BodyValue {
  TensorType type{};  // in a turn
  BodyRole role = BodyRole::captured;
  ops::BundleKind kind = ops::BundleKind::batch;
  ops::BundlePlace place{};  // in its bundle
  bool kept = false;         // for the derivative
  ops::BundlePlace where{};  // among what is kept
};

/// What is kept: a head, values that are kept once, then the values of each turn.
struct KeptPlan {
  static constexpr int head = int(alignment);  // the number of turns
  ops::BundlePlace once{0, head}, turn{};
  bool batched = false;

  constexpr ops::BundlePlace add(const TensorType& type, bool each_turn) {
    ops::BundlePlace& end = each_turn ? turn : once;
    const ops::BundlePlace place = end;
    (type.batched() ? end.batched : end.fixed) += int(aligned(type.bytes(1)));
    batched |= type.batched();
    return place;
  }
  constexpr long begin(const BodyValue& v, long turn_number, long n) const {
    if (v.role == BodyRole::captured) return v.where.bytes(n);
    return once.bytes(n) + turn_number * turn.bytes(n) + v.where.bytes(n);
  }
  constexpr long bytes(long turns) const { return once.bytes(1) + turns * turn.bytes(1); }
};

/// All about the values of a body of a loop: a table that its kernels read.
template <int inputs, int outputs, int inner>
struct LoopTable {
  BodyValue input[inputs + 1]{}, output[outputs + 1]{};
  BodyValue kept[inner + 1]{};  // values that the body computes
  KeptPlan plan{};
};

namespace detail {
/// What decides where the values of a body are.
struct LoopShape {
  int body = 0, turns = 1, carried = 0, sliced = 0;
  int before = -1;      // a body whose captured values come before those of this one in the bundles; -1: none
  bool branch = false;  // it runs once, and its inputs are no turn's
};

/// Describes a body. Returns how many values that it computes are kept.
template <class Table>
constexpr int describe_loop(const Builder& b, const LoopShape& shape, const BodyGradient* gradient, Table& table) {
  const Body body = body_of(b, shape.body);
  ops::BundleSize in[ops::bundle_kinds], out[ops::result_kinds];
  for (int i = 0; i < body.inputs(); ++i) {
    if (i == body.given && shape.before >= 0) {
      const Body other = body_of(b, shape.before);
      for (int k = other.given; k < other.inputs(); ++k)
        in[int(ops::bundle_kind(other.node[k].type))].add(other.node[k].type);
    }
    BodyValue& v = table.input[std::size_t(i)];
    v.type = body.node[i].type;
    if (shape.branch) v.role = BodyRole::captured;
    else
      v.role = i < shape.carried                  ? BodyRole::carried
               : i < shape.carried + shape.sliced ? BodyRole::sliced
               : i == body.random                 ? BodyRole::random
                                                  : BodyRole::captured;
    const bool sliced = v.role == BodyRole::sliced;
    v.kind = ops::bundle_kind(v.type, sliced);
    v.place = in[int(v.kind)].add(sliced ? ops::detail::with_turns(v.type, shape.turns) : v.type);
    const bool from_operand = v.kind == ops::BundleKind::fixed || v.kind == ops::BundleKind::other;
    if (!gradient || !gradient->read[std::size_t(i)] || (v.role != BodyRole::carried && from_operand)) continue;
    v.kept = true;
    v.where = table.plan.add(v.type, v.role != BodyRole::captured);
  }
  for (int k = 0; k < body.outputs; ++k) {
    BodyValue& v = table.output[std::size_t(k)];
    v.type = body.node[body.output[k]].type;
    v.role = shape.branch ? BodyRole::captured : k < shape.carried ? BodyRole::carried : BodyRole::sliced;
    v.kind = ops::bundle_kind(v.type);
    v.place = out[int(v.kind)].add(v.role == BodyRole::sliced ? ops::detail::with_turns(v.type, shape.turns) : v.type);
  }
  if (!gradient) return 0;
  int count = 0;
  for (const int id : gradient->kept()) {
    BodyValue& v = table.kept[std::size_t(count++)];
    v.type = gradient->builder.nodes[std::size_t(id)].type;
    v.role = BodyRole::sliced;
    v.where = table.plan.add(v.type, true);
  }
  return count;
}
}  // namespace detail

}  // namespace tenon
TENON_INT_SIZES_END
