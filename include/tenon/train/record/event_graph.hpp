// A compiled graph as event files hold it.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/graph/ir/leaf.hpp>
#include <tenon/graph/observe/operation_name.hpp>
#include <tenon/io/event/event.hpp>
#include <tenon/lowering/program.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
inline io::EventGraph::Value event_graph_value(std::string name, const TensorType& type) {
  io::EventGraph::Value value{std::move(name), type.dtype, {}};
  for (int axis = 0; axis < type.rank; ++axis) value.shape.push_back(type.extent[axis] == dyn ? -1 : type.extent[axis]);
  return value;
}

/// Names the nodes of a program, and lists them.
class EventGraphMaker {
 public:
  explicit EventGraphMaker(const Program& program) : program_(program), names_(std::size_t(program.nodes)) {}

  io::EventGraph make() {
    graph_.name = "train_network";
    for (int id = 0; id < program_.nodes; ++id) {
      if (program_.node[id].op->leaf) add_leaf(id);
      else add_node(id);
    }
    for (int k = 0; k < program_.outputs; ++k) {
      const int id = program_.output[k];
      graph_.outputs.push_back(event_graph_value(names_[std::size_t(id)], program_.node[id].type));
    }
    return std::move(graph_);
  }

 private:
  void add_leaf(int id) {
    const Node& node = program_.node[id];
    std::string& name = names_[std::size_t(id)];
    const bool constant = is<ops::Constant>(node);
    if (is<ops::ParameterLeaf>(node)) name = parameter_name(program_.entries, int(node.immediate));
    else if (is<ops::Input>(node)) name = text("inputs", node.immediate);
    else if (is<ops::StateLeaf>(node)) name = text("state", ++states_);
    else name = text("cst", graph_.constants.size() + 1);
    (constant ? graph_.constants : graph_.parameters).push_back(event_graph_value(name, node.type));
  }
  void add_node(int id) {
    const Node& node = program_.node[id];
    io::EventGraph::Node made;
    made.name = names_[std::size_t(id)] = std::to_string(graph_.nodes.size() + 1);
    made.type = node.op->name;
    made.full_name = operation_name(program_.entries, node.scope, origin(node), node.op->name);
    made.scope = made.full_name.substr(0, made.full_name.rfind('/'));
    for (int k = 0; k < node.operands; ++k) made.inputs.push_back(names_[std::size_t(node.operand[k])]);
    made.output = event_graph_value({}, node.op->effect ? program_.node[node.operand[0]].type : node.type);
    graph_.nodes.push_back(std::move(made));
  }
  // Different nodes of one name, as passes make them, get numbers that are free. Without observers no numbers are kept.
  template <class N>
  Origin origin(const N& node) {
    Origin result;
    if constexpr (observable) {
      result = node.origin;
      while (!taken_.insert(operation_name(program_.entries, node.scope, result, node.op->name)).second)
        ++result.number;
    } else result.number = calls_[{node.scope, node.op->name}]++;
    return result;
  }

  const Program& program_;
  std::vector<std::string> names_;  // by which nodes refer to each other
  std::set<std::string_view> taken_;
  std::map<std::pair<int, std::string_view>, int> calls_;  // of an operator in a cell
  io::EventGraph graph_;
  long states_ = 0;
};
}  // namespace detail

/// The nodes of a compiled graph, after all passes, with names of MindSpore's form. In a program that is not compiled
/// with -DTENON_OBSERVE operators of derivatives stand in the cell whose gradient they compute.
inline io::EventGraph event_graph(const Program& program) { return detail::EventGraphMaker(program).make(); }

}  // namespace tenon
