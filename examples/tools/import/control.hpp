// If, Loop, and Scan: cond, while_loop, and scan with lambdas.
#pragma once
#include "attention.hpp"

namespace importer {

/// Translates the nodes of an inner graph, in translate.hpp.
void translate_nodes(Graph& g, const std::vector<ReadNode>& nodes, const std::string& scope);

class ControlFlow {
 public:
  explicit ControlFlow(const NodeView& node) : n(node), g(node.g) {}

  void branch() {
    const auto known = n.in(0).call < 0 && n.in(0).is_scalar() ? std::optional(n.in(0).scalar() != 0) : std::nullopt;
    if (known) return inlined(*known ? "then_branch" : "else_branch");
    if (n.in(0).type != 9 || !(count_of(n.shape(0)) == Extent(1)) || n.rank(0) > 1)
      n.refuse("its condition must be one bool for the whole batch");
    const int asked = value_of(n.id(0));
    Call c = begin("cond", {"$0", "#0", "#1"});
    c.inputs = {asked};
    for (const char* const name : {"then_branch", "else_branch"}) {
      const ReadGraph& graph = graph_of(name);
      if (graph.outputs.size() != n.node.outputs.size() || !graph.inputs.empty()) n.refuse("its branches are damaged");
      c.lambdas.push_back(lambda(graph, {}, {}));
      const std::vector<int>&first = c.lambdas[0].outputs, &own = c.lambdas.back().outputs;
      for (std::size_t k = 0; k < own.size(); ++k)
        if (!same_type(first[k], own[k])) n.refuse("its branches return values of other shapes or types");
    }
    std::vector<int> results;
    for (std::size_t k = 0; k < n.node.outputs.size(); ++k) results.push_back(result(c.lambdas[0].outputs[k], 0));
    finish(std::move(c), results);
    for (std::size_t k = 0; k < results.size(); ++k) give(k, plain_view(g, results[k]));
  }

  void loop() {
    const ReadGraph& graph = graph_of("body");
    const std::size_t carried = n.ids.size() - std::min<std::size_t>(n.ids.size(), 2);
    if (graph.inputs.size() != carried + 2 || graph.outputs.size() < carried + 1 ||
        graph.outputs.size() - 1 < n.node.outputs.size())
      n.refuse("its body is damaged");
    std::vector<int> first, given{given_value({}, 7), given_value({}, 9)};
    for (std::size_t k = 0; k < carried; ++k) first.push_back(value_of(n.id(k + 2)));
    for (const int id : first) given.push_back(given_value(g[id].shape, g[id].type));
    const bool starts = !n.has(1) || (n.in(1).call < 0 && n.in(1).is_scalar());
    if (starts && n.has(1) && n.in(1).scalar() == 0) n.refuse("its condition never holds");
    Lambda body = lambda(graph, given, {1});
    const int next = body.outputs[0];
    const bool is_counted =
        starts &&
        (next == given[1] || (next < 0 || (g[next].call < 0 && g[next].is_scalar() && g[next].scalar() != 0)));
    const bool is_known = n.has(0) && n.in(0).call < 0 && n.in(0).is_scalar();
    const long most = is_known ? n.in(0).whole_scalar() : 0;
    if (is_known && most < 1) n.refuse("it has no turn");
    body.outputs.erase(body.outputs.begin());
    check_carried(first, body.outputs);
    const bool is_finite = is_known && most < 1l << 31;
    if (is_counted && is_finite) return counted(std::move(body), first, given, most);
    if (body.outputs.size() > carried)
      n.refuse("the number of its results is not known: its end depends on a condition");
    if (is_counted && !n.has(0)) n.refuse("it does not end");
    conditional(std::move(body), first, given, is_finite ? most : 0, is_counted ? -1 : next);
  }

  void scan() {
    const ReadGraph& graph = graph_of("body");
    const long sliced = n.whole("num_scan_inputs", 0), inputs = long(n.ids.size());
    if (sliced < 1 || sliced > inputs || long(graph.inputs.size()) != inputs) n.refuse("its body is damaged");
    const auto carried = std::size_t(inputs - sliced);
    if (graph.outputs.size() != n.node.outputs.size() || graph.outputs.size() < carried)
      n.refuse("its body is damaged");
    const std::size_t ys = graph.outputs.size() - carried;
    const auto from = n.list("scan_input_axes", std::size_t(sliced), 0), to = n.list("scan_output_axes", ys, 0),
               backward = n.list("scan_input_directions", std::size_t(sliced), 0),
               results_backward = n.list("scan_output_directions", ys, 0);
    std::vector<int> first, slices, given;
    for (std::size_t k = 0; k < carried; ++k) first.push_back(value_of(n.id(k)));
    for (const int id : first) given.push_back(given_value(g[id].shape, g[id].type));
    long turns = 0;
    for (std::size_t k = 0; k < std::size_t(sliced); ++k) {
      slices.push_back(with_turns(carried + k, from[k], backward[k] != 0));
      Shape shape = g[slices.back()].shape;
      const std::size_t axis = shape.size() > 1 && shape[0].has_batch() ? 1 : 0;
      if (!shape[axis].is_number() || shape[axis].factor < 1) n.refuse("its number of turns must be a number");
      if (k > 0 && turns != shape[axis].factor) n.refuse("its inputs have different numbers of turns");
      turns = shape[axis].factor;
      shape.erase(shape.begin() + long(axis));
      given.push_back(given_value(shape, g[slices.back()].type));
    }
    Lambda body = lambda(graph, given, {});
    check_carried(first, body.outputs);
    body.groups = {first.size(), slices.size()};
    give_turns(std::move(body), first, slices, turns, "", to, results_backward);
  }

 private:
  const ReadGraph& graph_of(const char* name) const {
    const auto* const a = n.node.find(name);
    if (!a || !a->graph) n.refuse(text("it has no graph '", name, "'"));
    return *a->graph;
  }
  Call begin(std::string head, std::vector<std::string> arguments) const {
    Call c;
    c.scope = n.scope, c.code = std::move(head), c.arguments = std::move(arguments), c.node = n.node.name;
    g.needs_more = true;
    return c;
  }
  bool same_type(int a, int b) const { return g[a].shape == g[b].shape && g[a].type == g[b].type; }
  void check_carried(const std::vector<int>& first, const std::vector<int>& next) const {
    for (std::size_t k = 0; k < first.size(); ++k)
      if (next[k] < 0 || !same_type(first[k], next[k])) n.refuse("a value that it carries changes its shape or type");
  }
  /// A value that a lambda is given.
  int given_value(const Shape& shape, int type) const {
    const int id = g.add_value("");
    Value& v = g[id];
    v.shape = shape, v.has_shape = true, v.type = type, v.scope = n.scope, v.origin = -2;
    v.call = int(g.calls.size());
    Call none;
    none.is_dropped = true;
    g.calls.push_back(std::move(none));
    return id;
  }
  /// A value in code. Numbers that the file knows are written out.
  int value_of(int id) const {
    const Value v = g[id];
    if (v.special == Special::view) return materialized(n, *v.view);
    if (v.special == Special::scores || v.special == Special::attended) return in_code(n, id);
    if (v.call >= 0 || v.origin >= 0) return id;
    if (!v.is_scalar()) return Operands::readable(n, id);
    return equal_elements(n, id);
  }

  /// An inner graph as a lambda. Output k of `flags` may be a constant, then it is -1.
  Lambda lambda(const ReadGraph& graph, const std::vector<int>& given, const std::set<std::size_t>& flags) const {
    Lambda l;
    const std::size_t problems = g.problems.size(), first = g.calls.size();
    std::vector<std::string> names = declare(graph, given);
    translate_nodes(g, graph.nodes, n.scope);
    if (g.problems.size() > problems) throw n.node.outputs[0];
    for (const auto& output : graph.outputs) {
      const auto found = g.id_of.find(output.name);
      if (found == g.id_of.end()) n.refuse(text("the output '", output.name, "' of its body is not computed"));
      const bool is_flag = !flags.empty() && l.outputs.empty();
      const Value& v = g[found->second];
      l.outputs.push_back(is_flag && v.call < 0 && v.is_scalar() && v.scalar() != 0 ? -1 : value_of(found->second));
    }
    for (const auto& name : names) g.id_of.erase(name);
    take_calls(l, first);
    l.inputs = given;
    for (const auto& input : graph.inputs) l.hints.push_back(input.name);
    l.groups.assign(given.size(), 1);
    return l;
  }
  /// The calls since `first` are those of the lambda. Parameters are not: others may read them, too.
  void take_calls(Lambda& l, std::size_t first) const {
    for (std::size_t k = first; k < g.calls.size(); ++k) {
      Call& call = g.calls[k];
      if (call.is_inner || call.is_dropped || (call.member && call.code == "@")) continue;
      call.is_inner = true;
      l.calls.push_back(int(k));
    }
  }
  /// The names of an inner graph, which hold in it alone.
  std::vector<std::string> declare(const ReadGraph& graph, const std::vector<int>& given) const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
      if (g.id_of.count(name)) n.refuse(text("'", name, "' is there twice"));
      names.push_back(name);
    };
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) add(graph.inputs[k].name), g.id_of[names.back()] = given[k];
    for (const ReadTensor& t : graph.initializers) {
      add(t.name);
      const int id = g.add_value(t.name);
      g.id_of[t.name] = id;
      describe_constant(g[id], t);
    }
    for (const ReadNode& node : graph.nodes) names.insert(names.end(), node.outputs.begin(), node.outputs.end());
    return names;
  }
  /// A condition that the file knows: the nodes of one branch.
  void inlined(const char* name) const {
    const ReadGraph& graph = graph_of(name);
    if (graph.outputs.size() != n.node.outputs.size() || !graph.inputs.empty()) n.refuse("its branches are damaged");
    const std::vector<std::string> names = declare(graph, {});
    const std::size_t problems = g.problems.size();
    translate_nodes(g, graph.nodes, n.scope);
    if (g.problems.size() > problems) throw n.node.outputs[0];
    std::vector<int> results;
    for (const auto& output : graph.outputs) {
      if (!g.id_of.count(output.name)) n.refuse("a result of its branch is not computed");
      results.push_back(g.id_of[output.name]);
    }
    for (const auto& each : names) g.id_of.erase(each);
    for (std::size_t k = 0; k < results.size(); ++k) n.alias(k, results[k]);
  }

  /// A result of a call: of all turns, if there are any.
  int result(int of, long turns) const {
    const int id = g.add_value(n.node.name);
    Shape shape = g[of].shape;
    if (turns > 0) shape.insert(shape.begin() + (!shape.empty() && shape[0].has_batch() ? 1 : 0), Extent(turns));
    Value& v = g[id];
    v.shape = shape, v.has_shape = true, v.type = g[of].type, v.scope = n.scope, v.origin = -2;
    return id;
  }
  void give(std::size_t k, View v) const {
    if (k < n.node.outputs.size() && !n.node.outputs[k].empty()) give_view(n, k, std::move(v));
  }
  /// Adds the call, with what its lambdas read from outside.
  void finish(Call c, const std::vector<int>& results) const {
    c.explicit_inputs = c.inputs.size();
    std::vector<int> read;
    for (const Lambda& l : c.lambdas) {
      std::set<int> made(l.inputs.begin(), l.inputs.end());
      for (const int call : l.calls) {
        const Call& inner = g.calls[std::size_t(call)];
        read.insert(read.end(), inner.inputs.begin(), inner.inputs.end());
        made.insert(inner.outputs.begin(), inner.outputs.end());
      }
      read.insert(read.end(), l.outputs.begin(), l.outputs.end());
      std::erase_if(read, [&](int id) { return made.count(id) > 0; });
    }
    for (const int id : read)
      if (std::find(c.inputs.begin() + long(c.explicit_inputs), c.inputs.end(), id) == c.inputs.end())
        c.inputs.push_back(id);
    c.outputs = results;
    for (const int id : results) g[id].call = int(g.calls.size());
    g.calls.push_back(std::move(c));
  }
  /// "std::tuple($0, $1)", or "$0"
  static std::string tuple(std::size_t first, std::size_t count) {
    std::string list;
    for (std::size_t k = first; k < first + count; ++k) list += (k > first ? ", $" : "$") + std::to_string(k);
    return count == 1 ? list : "std::tuple(" + list + ")";
  }

  /// A Loop with a number of turns: a scan over their numbers.
  void counted(Lambda body, const std::vector<int>& first, const std::vector<int>& given, long most) const {
    body.inputs.erase(body.inputs.begin(), body.inputs.begin() + 2);
    body.hints.erase(body.hints.begin(), body.hints.begin() + 2);
    body.inputs.push_back(given[0]), body.hints.push_back("turn");
    body.groups = {first.size(), 1};
    const std::size_t ys = body.outputs.size() - first.size();
    const std::vector<long> none(ys, 0);
    give_turns(std::move(body), first, {any_value(n, 7)}, most, "arange<" + std::to_string(most) + ", std::int64_t>",
               none, none);
  }
  void give_turns(Lambda body, std::vector<int> first, const std::vector<int>& slices, long turns,
                  const std::string& numbers, const std::vector<long>& to, const std::vector<long>& backward) const {
    const std::size_t carried = first.size(), ys = body.outputs.size() - carried;
    body.returned = {carried, ys};
    const std::string xs = tuple(carried, slices.size());
    Call c = begin(carried ? "scan" : "map", {"#0"});
    if (carried) c.arguments.push_back(tuple(0, carried));
    c.arguments.push_back(numbers.empty() ? xs : numbers + "(" + xs + ")");
    c.inputs = first;
    c.inputs.insert(c.inputs.end(), slices.begin(), slices.end());
    std::vector<int> results;
    for (std::size_t k = 0; k < body.outputs.size(); ++k)
      results.push_back(result(body.outputs[k], k < carried ? 0 : turns));
    c.lambdas.push_back(std::move(body));
    c.returned = {carried, ys};
    finish(std::move(c), results);
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (k < carried) {
        give(k, plain_view(g, results[k]));
        continue;
      }
      const int made = results[k];
      const std::size_t axis = g[made].shape.size() > 1 && g[made].shape[0].has_batch() ? 1 : 0;
      const int forward =
          backward[k - carried] ? add_call(n, text("flip<", axis, ">($0)"), {made}, g[made].shape) : made;
      View v = plain_view(g, forward);
      const std::size_t wanted = n.axis(to[k - carried], v.dims.size());
      const Pieces own = v.dims[axis];
      v.dims.erase(v.dims.begin() + long(axis));
      v.dims.insert(v.dims.begin() + long(wanted), own);
      give(k, std::move(v));
    }
  }
  /// A loop with a condition, which is carried, and the number of the turn, if the body reads it.
  void conditional(Lambda body, const std::vector<int>& first, const std::vector<int>& given, long most,
                   int next) const {
    const bool has_limit = n.has(0) && most == 0 && !(n.in(0).call < 0 && n.in(0).is_scalar());
    bool reads_turn = has_limit;
    for (const int call : body.calls)
      for (const int id : g.calls[std::size_t(call)].inputs) reads_turn = reads_turn || id == given[0];
    Lambda holds;
    std::vector<int> init, outputs;
    body.inputs.clear();
    std::vector<std::string> hints(body.hints.begin() + 2, body.hints.end());
    body.hints.clear();
    const auto carry = [&](int from, int inside, int to, std::string hint) {
      init.push_back(from), body.inputs.push_back(inside), outputs.push_back(to), body.hints.push_back(hint);
      holds.inputs.push_back(given_value(g[inside].shape, g[inside].type)), holds.hints.push_back(std::move(hint));
    };
    std::vector<int> conditions;
    if (next >= 0) {
      carry(n.has(1) ? value_of(n.id(1)) : constant(1, 9), given[1], next, "goes_on");
      conditions.push_back(holds.inputs.back());
    }
    if (reads_turn) {
      const std::size_t before = g.calls.size();
      const int following = add_call(n, "$0 + 1", {given[0]}, {}, 2);
      take_calls(body, before);
      carry(constant(0, 7), given[0], following, "turn");
      const std::size_t asked = g.calls.size();
      if (has_limit) {
        conditions.push_back(add_call(n, "$0 < $1", {holds.inputs.back(), value_of(n.id(0))}, {}, 3));
        g[conditions.back()].type = 9;
        take_calls(holds, asked);
      }
    }
    for (std::size_t k = 0; k < first.size(); ++k) carry(first[k], given[k + 2], body.outputs[k], hints[k]);
    const std::size_t before = g.calls.size();
    if (conditions.size() == 2) conditions = {add_call(n, "logical_and($0, $1)", conditions, {})};
    take_calls(holds, before);
    holds.outputs = conditions, body.outputs = outputs;
    holds.groups.assign(init.size(), 1), body.groups = holds.groups;
    std::vector<std::string> called;
    if (next >= 0) called.push_back("more");
    if (reads_turn) called.push_back("turns");
    Call c = begin(most ? "while_loop<" + number("Most", most) + ">" : "while_loop", {"#0", "#1"});
    std::vector<int> results;
    for (std::size_t k = 0; k < init.size(); ++k) {
      c.arguments.push_back("$" + std::to_string(k));
      results.push_back(result(outputs[k], 0));
    }
    c.inputs = init, c.lambdas = {std::move(holds), std::move(body)}, c.hints = std::move(called);
    finish(std::move(c), results);
    for (std::size_t k = 0; k < first.size(); ++k) give(k, plain_view(g, results[k + init.size() - first.size()]));
  }
  int constant(long value, int type) const {
    const int id = g.add_value(n.node.name);
    g[id].whole = std::vector<Extent>{Extent(value)}, g[id].type = type, g[id].has_shape = true;
    return value_of(id);
  }
  /// Input k with the turns along its first axis that is not the batch.
  int with_turns(std::size_t k, long from, bool is_backward) const {
    View v = view_of(n, k);
    const std::size_t axis = n.axis(from, v.dims.size());
    if (n.in(k).is_constant() && n.in(k).special != Special::view) v = plain_view(g, value_of(n.id(k)));
    const Pieces turns = v.dims[axis];
    v.dims.erase(v.dims.begin() + long(axis));
    const auto batch = std::find_if(v.dims.begin(), v.dims.end(), [&](const Pieces& pieces) {
      return !pieces.empty() && pieces[0].extent.has_batch();
    });
    const bool has_batch = batch != v.dims.end();
    if (has_batch) std::rotate(v.dims.begin(), batch, batch + 1);
    if (has_batch && batch != v.dims.begin()) n.refuse("the samples must be the first axis of its slices");
    v.dims.insert(v.dims.begin() + has_batch, turns);
    const int made = v.dims == plain_view(g, v.base).dims && v.scale == 1 && v.first == 0 ? v.base : materialized(n, v);
    const Shape shape = g[made].shape;
    return is_backward ? add_call(n, text("flip<", int(has_batch), ">($0)"), {made}, shape) : made;
  }

  const NodeView& n;
  Graph& g;
};

}  // namespace importer
