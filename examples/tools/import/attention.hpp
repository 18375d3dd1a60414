// Attention as files have it: products of views with the heads among their axes, and a softmax between them.
#pragma once
#include "selection.hpp"
#include "views.hpp"

namespace importer {

/// The axes of an attention's operand, [n, heads, T, D] or [n heads, T, D]; of keys with the last two swapped. Between
/// the samples and the steps may be further axes, such as windows of an image.
struct HeadsOf {
  long heads = 0, features = 0;
  std::vector<Pieces> leading;
  bool found = false;

  HeadsOf(const Graph& g, const View& v, bool swapped) {
    const Shape& base = g[v.base].shape;
    const std::size_t rank = v.dims.size(), back = base.size() - 1;
    if (base.size() < 3 || rank < 3) return;
    const Pieces& last = v.dims[swapped ? rank - 2 : rank - 1];
    leading.assign(v.dims.begin(), v.dims.end() - 2);
    if (!is_whole(g, v, swapped ? rank - 1 : rank - 2, back - 1) || !base[back].is_number() || v.width < 1) return;
    const bool is_one = last.size() == 1 && last[0].axis == back && last[0].inner == 1 && last[0].extent.is_number();
    features = is_one ? last[0].extent.factor : v.width == 1 && last.empty() ? 1 : 0;
    if (features < 1 || v.width % features != 0) return;
    heads = v.width / features;
    Pieces others, wanted;
    for (const Pieces& pieces : leading) others.insert(others.end(), pieces.begin(), pieces.end());
    const auto head = std::find(others.begin(), others.end(), Piece{back, features, Extent(heads)});
    if (head != others.end()) others.erase(head);
    else if (heads > 1) return;
    for (std::size_t axis = 0; axis + 1 < back; ++axis)
      if (!(base[axis] == Extent(1))) wanted.push_back({axis, 1, base[axis]});
    found = others == wanted;
  }
  bool operator==(const HeadsOf&) const = default;
};

inline View view_of(const NodeView& n, std::size_t k) {
  return n.in(k).view && n.in(k).special == Special::view ? *n.in(k).view : plain_view(n.g, n.id(k));
}
/// Queries times keys. Whether the node is that.
inline bool find_scores(const NodeView& n) {
  for (std::size_t k = 0; k < 2; ++k)
    if (n.in(k).is_constant() || n.rank(k) < 3) return false;
  const View q = view_of(n, 0), k = view_of(n, 1);
  const HeadsOf of_q(n.g, q, false), of_k(n.g, k, true);
  if (!of_q.found || !(of_q == of_k)) return false;
  Shape shape = n.shape(0);
  shape.back() = n.shape(1).back();
  Value& v = n.out(0, shape, n.in(0).type);
  v.special = Special::scores, v.origin = n.g[q.base].origin;
  v.scores = std::make_shared<Scores>(Scores{q, k, of_q.heads, of_q.features, 1});
  return true;
}
/// Whether an operand hides keys from queries, [T, S] or [n, 1, T, S], with or without extents of 1.
inline bool is_mask(const NodeView& n, std::size_t scores, std::size_t mask) {
  const Value& v = n.in(mask);
  if (!v.has_shape || v.special != Special::none || v.type != (n.node.operation == "Where" ? 9 : 1)) return false;
  if (v.is_scalar() || (v.is_constant() && v.call < 0 && !v.tensor && !v.repeated)) return false;
  const Shape &m = v.shape, &s = n.shape(scores);
  if (s.size() != 4 || (m.size() != 2 && m.size() != 4)) return false;
  for (std::size_t back = 1; back <= m.size(); ++back)
    if (const Extent& extent = m[m.size() - back]; !(extent == Extent(1)) && !(extent == s[4 - back])) return false;
  return true;
}
inline bool is_triangle(const Value& v) { return v.special == Special::hidden || v.special == Special::nearly_hidden; }
/// What is computed of scores: a factor, a mask, the softmax. Whether the node does that.
inline bool change_scores(const NodeView& n, std::size_t k) {
  const std::string& op = n.node.operation;
  Scores changed = *n.in(k).scores;
  const std::size_t other = op == "Where" ? 0 : 1 - k;
  Special to = Special::scores;
  if (op == "Softmax") {
    if (n.axis(n.whole("axis", -1), n.rank(0)) + 1 != n.rank(0)) return false;
    to = Special::attended;
  } else if ((op == "Mul" || (op == "Div" && k == 0)) && n.in(1 - k).is_scalar() && !changed.is_causal &&
             changed.mask < 0) {
    const double factor = n.in(1 - k).scalar();
    changed.scale *= op == "Mul" ? factor : 1 / factor;
  } else if (op == "Add" && is_triangle(n.in(1 - k)) && hides(n, 1 - k, k)) {
    changed.is_causal = true;
  } else if (op == "Where" && k == 2 && n.in(0).special == Special::above && hides(n, 0, 2) &&
             (is_minus_infinity(n.in(1)) || is_least(n.in(1)))) {
    changed.is_causal = true;
  } else if (op == "Where" && k == 1 && n.in(0).special == Special::lower && hides(n, 0, 1) &&
             (is_minus_infinity(n.in(2)) || is_least(n.in(2)))) {
    changed.is_causal = true;
  } else if (changed.mask < 0 && (op == "Add" || (op == "Where" && k == 2 && is_minus_infinity(n.in(1)))) &&
             is_mask(n, k, other)) {
    changed.mask = Operands::readable(n, n.id(other));
  } else return false;
  const Shape shape = n.shape(k);
  Value& v = n.out(0, shape, 1);
  v.special = to, v.scores = std::make_shared<Scores>(std::move(changed));
  return true;
}
/// Scores, or their softmax, in code: something else than an attention reads them.
inline int in_code(const NodeView& n, int id) {
  const Scores s = *n.g[id].scores;
  const bool is_attended = n.g[id].special == Special::attended;
  const Shape shape = n.g[id].shape;
  int made = add_call(n, "matmul($0, $1)", {materialized(n, s.queries), materialized(n, s.keys)}, shape);
  if (s.scale != 1) made = add_call(n, "$0" + factor_text(s.scale), {made}, shape, 1);
  if (s.is_causal) made = add_call(n, "causal_mask($0)", {made}, shape);
  if (s.mask >= 0 && n.g[s.mask].type == 9)
    made = add_call(n, "select($0, " + real_text(-INFINITY) + ", $1)", {s.mask, made}, shape);
  else if (s.mask >= 0) made = add_call(n, "$0 + $1", {made, s.mask}, shape, 2);
  return is_attended ? add_call(n, "softmax($0)", {made}, shape) : made;
}
/// The operand of attention that a view is: all of a value, or a part of its last axis.
inline int operand_of(const NodeView& n, const View& v) {
  View part = v;
  part.scale = 1;
  return of_all(n, part).base;
}
/// The value that a split cut into queries, keys, and values, or -1.
inline int thirds_of(const Graph& g, const View& q, const View& k, const View& v) {
  const int call = g[q.base].call;
  if (call < 0) return -1;
  const Call& split = g.calls[std::size_t(call)];
  const std::size_t back = g[q.base].shape.size() - 1;
  const bool fits = split.code == "split<" + std::to_string(back) + ", 3>($0)" &&
                    split.outputs == std::vector<int>{q.base, k.base, v.base};
  for (const View* const each : {&q, &k, &v})
    if (!fits || each->width != g[each->base].shape[back].factor) return -1;
  return split.inputs[0];
}
/// A value as sequences, [samples, T, C]: axes before the steps are one.
inline int as_sequences(const NodeView& n, int id) {
  const Shape shape = n.g[id].shape;
  return reshaped(n, id, {count_of(Shape(shape.begin(), shape.end() - 2)), shape.end()[-2], shape.back()});
}
/// Keys and values before their heads were repeated for those of queries that share them (shared_heads.hpp).
inline std::array<int, 2> before_repeats(const NodeView& n, std::array<int, 2> ids) {
  const auto input = [&](int id, std::string_view code) {
    const int call = id < 0 ? -1 : n.g[id].call;
    return call >= 0 && n.g.calls[std::size_t(call)].code.starts_with(code) ? n.g.calls[std::size_t(call)].inputs[0]
                                                                            : -1;
  };
  std::array<int, 2> before;
  for (std::size_t k = 0; k < 2; ++k) {
    before[k] = input(input(ids[k], "reshape<"), "repeat_interleave<");
    if (before[k] < 0 || !(n.g[before[k]].shape == n.g[before[0]].shape)) return ids;
  }
  Shape shape = n.g[before[0]].shape;
  const Extent features = shape.back();
  shape.pop_back();
  shape.back() = shape.back() * features;
  return {reshaped(n, before[0], shape), reshaped(n, before[1], shape)};
}
/// The weights times the values. Whether the node is that.
inline bool attend(const NodeView& n) {
  if (n.in(0).special != Special::attended || n.in(1).is_constant() || n.rank(1) < 3) return false;
  const Scores s = *n.in(0).scores;
  const View values = view_of(n, 1);
  const HeadsOf of_values(n.g, values, false);
  if (s.mask >= 0 && n.g[s.queries.base].shape.size() != 3) return false;
  if (!of_values.found || !(of_values == HeadsOf(n.g, s.queries, false)) ||
      !(n.shape(0).back() == n.shape(1)[n.rank(1) - 2]))
    return false;
  const double scale = s.scale * s.queries.scale * s.keys.scale * values.scale;
  const bool is_usual = std::abs(scale * std::sqrt(double(s.features)) - 1) < 1e-5;
  if (values.scale != 1 || !(scale > 0)) return false;
  Settings settings;
  settings.add("heads", number("Heads", s.heads));
  if (s.is_causal) settings.add("causal", "true");
  if (!is_usual) settings.add("scale", real_text(scale));
  Shape shape = n.g[s.queries.base].shape;
  const std::size_t back = shape.size() - 1;
  const long width = s.heads * s.features;
  shape[back] = Extent(width);
  const bool is_packed = s.queries.base == s.keys.base && s.keys.base == values.base && s.queries.first == 0 &&
                         s.keys.first == width && values.first == 2 * width &&
                         n.g[values.base].shape[back] == Extent(3 * width);
  const auto three = [&] {
    const auto [keys, own_values] = before_repeats(n, {operand_of(n, s.keys), operand_of(n, values)});
    return std::vector<int>{operand_of(n, s.queries), keys, own_values};
  };
  std::vector<int> inputs{s.queries.base};
  const int whole = thirds_of(n.g, s.queries, s.keys, values);
  if (whole >= 0) inputs = {whole};
  else if (!is_packed) inputs = three();
  const Shape sequences{count_of(Shape(shape.begin(), shape.end() - 2)), shape[back - 1], shape[back]};
  const std::string config = "<AttentionConfig{" + settings.text() + "}>(";
  int made = -1;
  if (s.mask >= 0) {
    inputs = three();
    inputs.push_back(s.mask);
    made = add_call(n, "std::get<0>(masked_attention" + config + "$0, $1, $2, $3))", inputs, shape);
    n.g.needs_more = true;
  } else {
    for (int& id : inputs) id = as_sequences(n, id);
    made = add_call(n, "attention" + config + (inputs.size() == 1 ? "$0)" : "$0, $1, $2)"), inputs, sequences);
    n.g.calls.back().attention = Attention{s.queries, s.keys, values, s.heads, s.features, s.is_causal, is_usual};
  }
  View y = s.queries;
  y.base = reshaped(n, made, shape), y.first = 0, y.width = width, y.scale = 1;
  give_view(n, 0, std::move(y));
  return true;
}

/// A Dense cell, or nothing.
inline const Call* dense_of(const Graph& g, int value) {
  if (value < 0 || g[value].call < 0) return nullptr;
  const Call& call = g.calls[std::size_t(g[value].call)];
  return call.member && call.code == "@($0)" && call.member->type.starts_with("nn::Dense<") ? &call : nullptr;
}
/// The rows of the weights and biases of some Dense cells, one below the other.
struct Rows {
  std::string weight, bias;
  bool has_bias = false;

  void add(const Call& dense, long first, long rows, long columns) {
    const auto part = [&](const ReadTensor& t, long width) {
      return t.bytes.substr(std::size_t(first * width) * sizeof(float), std::size_t(rows * width) * sizeof(float));
    };
    weight += part(dense.member->weights[0].tensor, columns);
    const bool has_own = dense.member->weights.size() > 1;
    bias += has_own ? part(dense.member->weights[1].tensor, 1) : std::string(std::size_t(rows) * sizeof(float), '\0');
    has_bias = has_bias || has_own;
  }
};
/// An attention between Dense cells of the same module is one cell.
inline void join_attention(Graph& g, Call& output) {
  if (!output.member || output.code != "@($0)" || !output.member->type.starts_with("nn::Dense<")) return;
  const int from = g[output.inputs[0]].call;
  if (from < 0 || !g.calls[std::size_t(from)].attention) return;
  const Call& middle = g.calls[std::size_t(from)];
  const Attention& a = *middle.attention;
  const long width = a.heads * a.features;
  const std::vector<std::int64_t> square{width, width};
  if (!a.has_usual_scale || middle.scope != output.scope || output.member->weights[0].tensor.extents != square) return;
  Rows rows, out;
  std::vector<int> inputs;
  for (const View* const each : {&a.queries, &a.keys, &a.values}) {
    const Call* const dense = dense_of(g, each->base);
    if (!dense || g[each->base].shape.size() != 3 || dense->scope != output.scope ||
        dense->member->weights[0].tensor.extents[1] != width)
      return;
    rows.add(*dense, each->first, width, width);
    inputs.push_back(dense->inputs[0]);
  }
  out.add(output, 0, width, width);
  const bool has_bias = rows.has_bias || out.has_bias;
  Settings settings;
  if (a.is_causal) settings.add("causal", "true");
  if (!has_bias) settings.add("has_bias", "false");
  Member member{"attention",
                "nn::MultiHeadAttention<" + number("Width", width) + ", " + number("Heads", a.heads) +
                    settings.after_comma("nn::MultiHeadAttentionConfig") + ">",
                {},
                ""};
  member.weights.push_back({"in_proj_weight", {"", 1, {3 * width, width}, rows.weight}});
  if (has_bias) member.weights.push_back({"in_proj_bias", {"", 1, {3 * width}, rows.bias}});
  member.weights.push_back({"out_proj.weight", {"", 1, square, out.weight}});
  if (has_bias) member.weights.push_back({"out_proj.bias", {"", 1, {width}, out.bias}});
  const bool is_self = inputs[0] == inputs[1] && inputs[1] == inputs[2];
  output.code = is_self ? "@($0)" : inputs[1] == inputs[2] ? "@($0, $1, $1)" : "@($0, $1, $2)";
  if (is_self) inputs = {inputs[0]};
  else if (inputs[1] == inputs[2]) inputs.pop_back();
  output.inputs = std::move(inputs);
  output.member = std::move(member);
  output.name.clear();
}
/// Joins attentions, and drops what nothing reads.
inline void join_attentions(Graph& g) {
  for (Call& call : g.calls) join_attention(g, call);
  std::set<int> read(g.outputs.begin(), g.outputs.end());
  for (std::size_t k = g.calls.size(); k-- > 0;) {
    Call& call = g.calls[k];
    if (std::none_of(call.outputs.begin(), call.outputs.end(), [&](int id) { return read.count(id) > 0; }))
      call.is_dropped = true;
    if (call.is_dropped) continue;
    read.insert(call.inputs.begin(), call.inputs.end());
    for (const Lambda& l : call.lambdas) read.insert(l.outputs.begin(), l.outputs.end());
  }
}

}  // namespace importer
