// StepGraph: which graph of a program is meant, and one of its passes with the names of its nodes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <tenon/run/executor_here.hpp>
#include <tenon/tenon.hpp>

#include <tenon/debug/graphs/attribute_names.hpp>
#include <tenon/graph/observe/operation_name.hpp>
#if TENON_DEFINES
#include <set>
#endif

namespace tenon::inline TENON_ABI::debug {

/// The graph of a step: what graph_text, graph_dot, and graph_proto show.
struct StepGraph {
  const Program* program = nullptr;
  std::string name;  // "LeNet_train"
  long n = 1;        // the batch size for which bytes are counted
};

/// The graph of a step that is about to run; without a program if the network has none, as one of a Model that is
/// pinned to PyNative mode.
StepGraph graph_of(const NetworkStep& step);

/// The graph of a call: `graph_of(net, x)`. The values of x do not matter, nothing runs.
template <class Net, class... X>
requires std::is_base_of_v<nn::Cell<Net>, Net>
StepGraph graph_of(const Net&, const X&... x) {
  using Graph = Compiled<tenon::detail::Forward<Net, typename tenon::detail::KeyFor<X>::type...>>;
  if constexpr (!Graph::ok) return report<Graph>();
  else
    return {&program_here<Graph>(), text(class_name<Net>(), "_call"),
            tenon::detail::common_batch_size("graph_of", x...)};
}

namespace detail {
template <class Runner, class... C>
const Program& train_program(dataset::Columns<C...>) {
  return program_here<typename Runner::template TrainGraph<C...>>();
}
template <class Runner, class... C>
const Program& eval_program(dataset::Columns<C...>) {
  return program_here<typename Runner::template EvalGraph<C...>>();
}
// Of several buckets: of the last one.
template <class Runner, class... L>
const Program& train_program(dataset::BucketColumns<L...>) {
  return train_program<Runner>(typename dataset::BucketColumns<L...>::last{});
}
template <class Runner, class... L>
const Program& eval_program(dataset::BucketColumns<L...>) {
  return eval_program<Runner>(typename dataset::BucketColumns<L...>::last{});
}
}  // namespace detail

/// The graph of a Model's step on a data set: `graph_of<StepKind::train>(model, data)`, or StepKind::eval.
template <StepKind kind, class Model, dataset::Dataset Data>
StepGraph graph_of(const Model&, const Data&, long n = 1) {
  static_assert(kind == StepKind::train || kind == StepKind::eval,
                "a data set is for StepKind::train or StepKind::eval");
  using Runner = typename Model::runner_type;
  const std::string net(class_name<typename Model::network_type>());
  if constexpr (kind == StepKind::train)
    return {&detail::train_program<Runner>(typename Data::columns{}), net + "_train", n};
  else return {&detail::eval_program<Runner>(typename Data::columns{}), net + "_eval", n};
}

/// The passes of which there is a graph, in their order: "captured", "prune", ..., "final". A program that is compiled
/// without -DTENON_OBSERVE has the final one alone.
std::vector<PassGraph> passes_of(const Program& program);

/// A pass of a graph for people: what is read from it, and how its nodes are called.
class NamedGraph {
 public:
  /// Throws ValueError with the names of all passes if there is no such pass.
  NamedGraph(const StepGraph& step, std::string_view pass);
  NamedGraph(const StepGraph& step, const PassGraph& graph);

  const Program& program() const { return *step_.program; }
  const std::string& step_name() const { return step_.name; }
  long n() const { return step_.n; }
  const PassGraph& graph() const { return graph_; }
  int nodes() const { return graph_.nodes; }
  const Node& node(int id) const { return graph_.node[id]; }
  bool is_operation(int id) const { return !node(id).op->leaf; }
  int operations() const { return operations_; }
  /// Whether it is what runs, of which there is a plan.
  bool is_final() const { return graph_.node == step_.program->node; }
  const Entry* entries() const { return step_.program->entries; }

  /// Of an operation: as dump's `kernels` takes it; of a leaf "conv1.weight", "input0", "state.conv1.weight.2", or the
  /// number that a constant is.
  std::string_view name(int id) const { return name_[std::size_t(id)]; }
  /// Its number among the operations, or among the inputs, parameters, and states, from 1 on.
  int number(int id) const { return number_[std::size_t(id)]; }
  StepPart part(int id) const { return part_[std::size_t(id)]; }
  Origin origin(int id) const {
#if defined(TENON_OBSERVE)
    return node(id).origin;
#else
    return static_cast<void>(id), Origin{};
#endif
  }
  /// "conv1", "blocks.0.attention"; the network's own class for what stands in no cell of it.
  std::string cell(int id) const;
  /// The operators that a node's kernel applies after its own, such as "ReLU", each with its operands.
  struct FusedStep {
    std::string_view op;
    std::string operands;
  };
  /// `value` writes operand k of the node.
  template <class F>
  std::vector<FusedStep> fused_steps(int id, F&& value) const;

 private:
  void name_nodes();
  StepPart find_part(int id) const;
  std::string leaf_name(int id) const;
  std::string state_name(const Node& state) const;
  std::string_view operator_name(int id) const;

  StepGraph step_;
  PassGraph graph_;
  std::vector<std::string_view> name_;
  std::vector<StepPart> part_;
  std::vector<int> number_;
  int operations_ = 0;
};

/// "[n, 6, 28, 28]".
std::string shape_of(const TensorType& type);
/// A setting of an operator: its name, empty if that is not known, and its value as MindSpore writes it: "I64(2)",
/// "(0, 2, 1)", "F32(0.9)".
struct NamedAttribute {
  std::string name, value;
};
std::vector<NamedAttribute> attributes_of(const Node& node);
/// The number that a constant is.
std::string constant_text(const Node& node);

template <class F>
std::vector<NamedGraph::FusedStep> NamedGraph::fused_steps(int id, F&& value) const {
  const Node& node = this->node(id);
  std::vector<FusedStep> made;
  if (!graph_.step) return made;
  const auto step = [&](int i) {
    const int* const word = graph_.step + node.program + 2 * i;
    return Step::unpack(word[0], word[1]);
  };
  // an epilogue counts the product as 0, and its operands from those on that the product itself does not have
  const bool chain = is<ops::Fused>(node);
  int own = 0;
  for (int i = 0; i < node.steps && !chain; ++i)
    for (const int source : step(i).source)
      if (source < step_result && source > own) own = source;
  own = node.operands - own - 1;
  for (int i = 0; i < node.steps; ++i) {
    FusedStep one{operator_name(step(i).op), ""};
    for (const int source : step(i).source) {
      if (source == no_source) continue;
      if (!one.operands.empty()) one.operands += ", ";
      if (source >= step_result) one.operands += text("s", source - step_result);
      else if (!chain && source == 0) one.operands += node.op->name;
      else one.operands += value(chain ? source : source + own);
    }
    made.push_back(std::move(one));
  }
  return made;
}

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE StepGraph graph_of(const NetworkStep& step) {
  return {step.program, text(step.network, "_", name(step.kind)), step.n};
}
[[gnu::noinline]] TENON_INLINE std::vector<PassGraph> passes_of(const Program& program) {
  std::vector<PassGraph> made;
#if defined(TENON_OBSERVE)
  const PassGraphs& all = *program.passes;
  for (int i = 0; i < all.count; ++i)
    if (all.graph[i].node) made.push_back(all.graph[i]);
#else
  made.push_back({"final", program.node, program.nodes, program.output, program.outputs});
#endif
  return made;
}
namespace detail {
[[gnu::cold, gnu::noinline]] inline PassGraph pass_named(const Program& program, std::string_view name) {
  std::vector<std::string> known;
  for (const PassGraph& pass : passes_of(program)) {
    if (pass.pass == name) return pass;
    known.emplace_back(pass.pass);
  }
  throw_error<ValueError>("This graph has no pass '", name, "' that has changed it.", did_you_mean(name, known),
                          " There are ", quoted_list(known), ".");
}
}  // namespace detail
TENON_INLINE_CONSTRUCTOR NamedGraph::NamedGraph(const StepGraph& step, std::string_view pass)
    : NamedGraph(step, detail::pass_named(*step.program, pass)) {}
TENON_INLINE_CONSTRUCTOR NamedGraph::NamedGraph(const StepGraph& step, const PassGraph& graph)
    : step_(step), graph_(graph) {
  name_nodes();
}
// As name_operations of graph_observer.hpp, of any pass.
[[gnu::noinline]] TENON_INLINE void NamedGraph::name_nodes() {
  std::set<std::string_view> taken;
  int leaves = 0;
  for (int id = 0; id < nodes(); ++id) {
    part_.push_back(find_part(id));
    if (node(id).op->leaf) {
      name_.push_back(tenon::detail::interned(leaf_name(id)));
      number_.push_back(is<ops::Constant>(node(id)) ? 0 : ++leaves);
      continue;
    }
    Origin origin = this->origin(id);
    std::string_view name;
    do name = tenon::detail::operation_name(entries(), node(id).scope, origin, node(id).op->name);
    while (++origin.number, !taken.insert(name).second);
    name_.push_back(name);
    number_.push_back(operations_++);
  }
}
/// What is made of a gradient is one, too: also the view that makes it a parameter's.
TENON_INLINE StepPart NamedGraph::find_part(int id) const {
  StepPart part = tenon::detail::part_of(entries(), node(id).scope, origin(id));
  for (int k = 0; k < node(id).operands && part == StepPart::forward; ++k)
    if (this->part(node(id).operand[k]) == StepPart::gradient) part = StepPart::gradient;
  return part;
}
TENON_INLINE std::string NamedGraph::leaf_name(int id) const {
  const Node& leaf = node(id);
  if (is<ops::Constant>(leaf)) return constant_text(leaf);
  if (is<ops::Input>(leaf)) return text("input", leaf.immediate);
  if (is<ops::ParameterLeaf>(leaf)) return parameter_name(entries(), int(leaf.immediate));
  return state_name(leaf);
}
/// After the parameter whose update reads it in the source, or the place that it has in the state.
[[gnu::noinline]] TENON_INLINE std::string NamedGraph::state_name(const Node& state) const {
  const PassGraph captured = passes_of(program()).front();
  for (int i = 0; i < captured.nodes; ++i) {
    const Node& reader = captured.node[i];
    for (int k = 0; k < reader.operands; ++k) {
      const Node& leaf = captured.node[reader.operand[k]];
      if (is<ops::StateLeaf>(leaf) && leaf.immediate == state.immediate && entries() &&
          entries()[reader.scope].parameter)
        return text("state.", parameter_name(entries(), reader.scope), ".", k);
    }
  }
  return text("state.", state.immediate);
}
TENON_INLINE std::string NamedGraph::cell(int id) const {
  const int scope = node(id).scope;
  if (origin(id).in_loss) return "loss";
  if (!entries()) return "";
  const std::string name = parameter_name(entries(), scope);
  return name.empty() ? std::string(entries()[scope].class_name) : name;
}
/// A step says which operator it was by its id: one that the graph had before.
TENON_INLINE std::string_view NamedGraph::operator_name(int id) const {
  for (const PassGraph& pass : passes_of(program()))
    for (int i = 0; i < pass.nodes; ++i)
      if (pass.node[i].op->id == id) return pass.node[i].op->name;
  return "Operator";
}

[[gnu::noinline]] TENON_INLINE std::string shape_of(const TensorType& type) {
  std::string made = "[";
  for (int axis = 0; axis < type.rank; ++axis) {
    if (axis) made += ", ";
    if (type[axis] >= 0) made += std::to_string(type[axis]);
    else made += type[axis] == dyn ? "n" : text(-type[axis], "n");
  }
  return made + "]";
}
TENON_INLINE std::string constant_text(const Node& node) {
  const double value = constant_value(node);
  const auto whole = static_cast<long>(value);
  const std::string digits = double(whole) == value ? std::to_string(whole) : text(float(value));
  return digits;
}
[[gnu::noinline]] TENON_INLINE std::vector<NamedAttribute> attributes_of(const Node& node) {
  std::vector<NamedAttribute> made;
  for (const AttributeName& a : attribute_names(*node.op)) {
    std::string value;
    for (int k = 0; k < a.words; ++k) {
      const int word = node.attributes.word[a.first + k];
      const std::string one = a.real ? text(std::bit_cast<float>(word)) : std::to_string(word);
      value += (k ? ", " : "") + one;
    }
    made.push_back({std::string(a.name), a.words > 1 ? "(" + value + ")" : text(a.real ? "F32(" : "I64(", value, ")")});
  }
  return made;
}
#endif  // TENON_DEFINES

}  // namespace tenon::debug
