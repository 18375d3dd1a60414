// LSTM and GRU of ONNX, which take sequences with the steps first: those of Tenon take the samples first.
#pragma once
#include "cells.hpp"
#include "views.hpp"

namespace importer {

struct RecurrentSizes {
  bool is_lstm;
  long before, hidden, directions;
  bool has_bias;
  long gates() const { return is_lstm ? 4 : 3; }
  const char* cell() const { return is_lstm ? "LSTM" : "GRU"; }
};

/// The rows of ONNX's gates, i, o, f, c or z, r, h, in PyTorch's order, i, f, c, o or r, z, h.
inline ReadTensor gates_in_order(const ReadTensor& t, const RecurrentSizes& s) {
  const auto gates = std::size_t(s.gates());
  const std::size_t part = t.bytes.size() / gates;
  ReadTensor result = t;
  result.name.clear();
  constexpr std::size_t lstm[]{0, 2, 3, 1}, gru[]{1, 0, 2};
  for (std::size_t k = 0; k < gates; ++k)
    std::memcpy(result.bytes.data() + k * part, t.bytes.data() + (s.is_lstm ? lstm : gru)[k] * part, part);
  return result;
}

inline RecurrentSizes sizes_of(const NodeView& n, bool is_lstm) {
  const ReadTensor &w = constant_tensor(n, 1), &r = constant_tensor(n, 2);
  const std::string direction = n.word("direction", "forward");
  if (direction != "forward" && direction != "bidirectional")
    n.refuse("its direction must be forward or bidirectional");
  if (n.node.find("activations") || n.node.find("clip") || n.whole("input_forget", 0) || n.whole("layout", 0) ||
      n.has(4) || n.has(7))
    n.refuse("only PyTorch's form without lengths is in scope");
  if (!is_lstm && !n.whole("linear_before_reset", 0)) n.refuse("linear_before_reset must be 1, as PyTorch has it");
  RecurrentSizes s{is_lstm, 0, n.whole("hidden_size", 0), direction == "forward" ? 1 : 2, n.has(3)};
  if (w.extents.size() != 3 || r.extents.size() != 3) n.refuse("its weights are damaged");
  s.before = long(w.extents[2]);
  const long rows = s.gates() * std::clamp(s.hidden, 0l, 1l << 30);
  if (s.hidden < 1 || s.hidden > 1 << 30 || s.before < 1 || w.extents[0] != s.directions || w.extents[1] != rows ||
      r.extents[0] != s.directions || r.extents[1] != rows || r.extents[2] != s.hidden)
    n.refuse("its weights are damaged");
  if (s.has_bias && constant_tensor(n, 3).count() != s.directions * 2 * rows) n.refuse("its bias is damaged");
  for (const std::size_t k : {std::size_t(5), std::size_t(6)})
    if (n.has(k) && !(n.in(k).filled && *n.in(k).filled == 0)) n.refuse("its first states must be zeros");
  return s;
}
inline void add_layer(const NodeView& n, const RecurrentSizes& s, Member& member, long layer) {
  const auto h = s.hidden, rows = s.gates() * h;
  for (long d = 0; d < s.directions; ++d) {
    const std::string end = "_l" + std::to_string(layer) + (d ? "_reverse" : "");
    const auto take = [&](const char* name, std::size_t k, std::vector<std::int64_t> extents, long first) {
      member.weights.push_back(
          {name + end, gates_in_order(part_of(constant_tensor(n, k), std::move(extents), std::size_t(first)), s)});
    };
    take("weight_ih", 1, {rows, s.before}, d * rows * s.before);
    take("weight_hh", 2, {rows, h}, d * rows * h);
    if (s.has_bias) take("bias_ih", 3, {rows}, d * 2 * rows), take("bias_hh", 3, {rows}, (2 * d + 1) * rows);
  }
}
inline std::string recurrent_type(const RecurrentSizes& s, long before, long layers) {
  Settings settings;
  if (layers > 1) settings.add("num_layers", number("Layers", layers));
  if (!s.has_bias) settings.add("has_bias", "false");
  if (s.directions == 2) settings.add("bidirectional", "true");
  const std::string cell = std::string("nn::") + s.cell();
  return cell + "<" + number("In", before) + ", " + number("Hidden", s.hidden) + settings.after_comma(cell + "Config") +
         ">";
}

inline void recurrent(const NodeView& n, bool is_lstm) {
  const RecurrentSizes s = sizes_of(n, is_lstm);
  const std::string kind = is_lstm ? "lstm" : "gru";
  const Value& x = n.in(0);
  if (!is_steps_first(n.g, x)) n.refuse("its input must have the samples first before the transpose");
  const int samples = x.view->base;
  const Shape shape = n.g[samples].shape;
  if (shape.size() != 3 || !(shape[2] == Extent(s.before))) n.refuse("its weights do not fit its input");
  // the next layer of the same?
  const int before = n.g[samples].call;
  Call* const under = before >= 0 ? &n.g.calls[std::size_t(before)] : nullptr;
  const bool is_next = under && under->member && under->member->kind == kind && under->scope == n.scope &&
                       under->outputs[0] == samples && n.uses(0) == 1 && s.before == s.directions * s.hidden;
  long place = 0;
  const Shape y_shape{shape[0], shape[1], Extent(s.directions * s.hidden)};
  if (is_next) {
    Member& member = *under->member;
    const long parts = s.directions * (s.has_bias ? 4 : 2), layers = long(member.weights.size()) / parts;
    const long first = long(member.weights[0].tensor.extents[1]);
    if (long(member.weights[1].tensor.extents[1]) != s.hidden || long(member.weights.size()) % parts != 0 ||
        !(n.g[under->outputs[1]].shape[1] == Extent(s.directions * layers)))
      n.refuse("its layers have different sizes");
    add_layer(n, s, member, layers);
    place = s.directions * layers;
    member.type = recurrent_type(s, first, layers + 1);
    const Extent states(s.directions * (layers + 1));
    for (std::size_t k = 1; k < under->outputs.size(); ++k) n.g[under->outputs[k]].shape[1] = states;
  } else {
    Member member{kind, recurrent_type(s, s.before, 1), {}, ""};
    add_layer(n, s, member, 0);
    Call call;
    call.scope = n.scope, call.code = "@($0)", call.inputs = {samples}, call.node = n.node.name;
    for (int k = 0; k < (is_lstm ? 3 : 2); ++k) {
      const int id = n.g.add_value(n.node.name + " " + std::to_string(k));
      n.g[id].shape = k == 0 ? y_shape : Shape{shape[0], Extent(s.directions), Extent(s.hidden)};
      n.g[id].has_shape = true, n.g[id].type = 1, n.g[id].scope = n.scope, n.g[id].call = int(n.g.calls.size());
      call.outputs.push_back(id);
    }
    call.member = std::move(member);
    n.g.calls.push_back(std::move(call));
  }
  const Call& call = is_next ? n.g.calls[std::size_t(before)] : n.g.calls.back();
  const std::vector<int> results = call.outputs;
  const Extent directions(s.directions), hidden(s.hidden);
  for (std::size_t k = 0; k < n.node.outputs.size() && k < results.size(); ++k) {
    if (n.node.outputs[k].empty()) continue;
    Value& v =
        n.out(k, k == 0 ? Shape{shape[1], directions, shape[0], hidden} : Shape{directions, shape[0], hidden}, 1);
    v.special = k == 0 ? Special::all_states : Special::last_states;
    v.of = results[k], v.place = place;
  }
}

/// What a node does to the steps of a sequence or to the last states. Whether it did.
inline bool moves_steps(const NodeView& n) {
  const std::string& op = n.node.operation;
  if (n.ids.empty() || n.ids[0] < 0) return false;
  const Special from = n.in(0).special;
  const int of = n.in(0).of;
  const auto steps_first = [&](int samples) {
    View v = plain_view(n.g, samples);
    std::swap(v.dims[0], v.dims[1]);
    give_view(n, 0, std::move(v));
    return true;
  };
  if (from == Special::all_states && op == "Squeeze" && n.shape(0)[1] == Extent(1) &&
      n.plain_numbers("axes", 1) == std::vector<long>{1})
    return steps_first(of);
  if (from == Special::all_states && op == "Transpose" && n.list("perm", 0, 0) == std::vector<long>{0, 2, 1, 3}) {
    const Shape s = n.shape(0);
    Value& v = n.out(0, {s[0], s[2], s[1], s[3]}, 1);
    v.special = Special::states_moved, v.of = of;
    return true;
  }
  if (from == Special::states_moved && op == "Reshape" && n.in(1).whole && n.in(1).whole->size() == 3)
    return steps_first(of);
  if (from == Special::last_states && op == "Concat" && n.whole("axis", 0) == 0) {
    Shape shape = n.shape(0);
    for (std::size_t k = 1; k < n.ids.size(); ++k) {  // the layers, one after the other
      const Value& next = n.in(k);
      if (next.special != from || next.of != of || next.place != n.in(0).place + shape[0].factor) return false;
      shape[0].factor += next.shape[0].factor;
    }
    const long place = n.in(0).place;
    Value& v = n.out(0, shape, 1);
    v.special = from, v.of = of, v.place = place;
    return true;
  }
  if (from == Special::last_states && (op == "Gather" || op == "Squeeze")) {
    const auto places =
        op == "Gather" && n.in(1).whole && n.rank(1) == 0 ? *n.in(1).whole : std::vector<Extent>{Extent(0)};
    if (op == "Gather" && (n.whole("axis", 0) != 0 || n.rank(1) != 0)) return false;
    if (op == "Squeeze" && !(n.shape(0)[0] == Extent(1))) return false;
    const Shape s = n.shape(0), states = n.g[of].shape;
    if (!states[1].is_number() || !s[0].is_number()) return false;
    const long place = n.in(0).place + long(n.axis(places[0].factor, std::size_t(s[0].factor)));
    n.out(0, {s[1], s[2]}, 1);
    if (states[1] == Extent(1)) n.call("flatten($0)", {of});
    else
      n.call("squeeze<1>(slice<1, Part{" + number("First", place) + ", " + number("End", place + 1) + "}>($0))", {of});
    return true;
  }
  return false;
}

}  // namespace importer
