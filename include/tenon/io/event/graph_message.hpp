// Graphs as the messages of both formats of event files hold them. Needs protozero.
#pragma once
#include <string>
#include <string_view>

#include <tenon/io/bytes/protobuf.hpp>
#include <tenon/io/event/event.hpp>
#include <tenon/io/event/mindspore_event.hpp>

namespace tenon::inline TENON_ABI::io {

// MindSpore: GraphProto { repeated NodeProto node = 1; name = 2; repeated ParameterProto parameters = 3;
//                         repeated OutputProto outputs = 4; repeated NamedValueProto const_vals = 5; }
// NodeProto { repeated { name = 1; type = 2; } input = 1; name = 2; op_type = 3; scope = 4; TypeProto output_type = 6;
//             full_name = 8; }
// TypeProto { data_type = 1; tensor_type = 2 { elem_type = 1; shape = 2 { repeated dim = 1 { size = 1; } } } }
// TensorFlow: GraphDef { repeated NodeDef node = 1; } NodeDef { name = 1; op = 2; repeated input = 3; map attr = 5; }

namespace detail {
/// repeated { size = 1; } of a number that the format has. Also the empty one is written: that is a shape, too.
inline std::string shape_message(const EventGraph::Value& value, unsigned number) {
  std::string message;
  protozero::pbf_writer shape(message);
  for (const std::int64_t extent : value.shape) {
    protozero::pbf_writer dimension(shape, number);
    dimension.add_int64(1, extent);
  }
  return message;
}
inline void add_mindspore_type(protozero::pbf_writer& message, unsigned number, const EventGraph::Value& value) {
  constexpr int tensor_type = 14;
  protozero::pbf_writer type(message, number);
  type.add_enum(1, tensor_type);
  protozero::pbf_writer tensor(type, 2);
  tensor.add_enum(1, mindspore_dtype(value.dtype));
  tensor.add_message(2, shape_message(value, 1));
}
inline void add_mindspore_node(protozero::pbf_writer& graph, const EventGraph::Node& node) {
  constexpr int data_edge = 0;
  protozero::pbf_writer message(graph, 1);
  for (const std::string& name : node.inputs) {
    protozero::pbf_writer input(message, 1);
    input.add_string(1, name);
    input.add_enum(2, data_edge);
  }
  message.add_string(2, node.name);
  message.add_string(3, node.type);
  message.add_string(4, node.scope);
  add_mindspore_type(message, 6, node.output);
  message.add_string(8, node.full_name);
}

/// TensorBoard draws the parts of a name between slashes as boxes.
inline void add_tensorboard_node(protozero::pbf_writer& graph, const std::string& name, const std::string& type,
                                 const std::vector<std::string>& inputs, const EventGraph::Value& output) {
  protozero::pbf_writer message(graph, 1);
  message.add_string(1, name);
  message.add_string(2, type);
  for (const std::string& input : inputs) message.add_string(3, input);
  // attr { "_output_shapes": { list { shape { dim { size } } } } }
  protozero::pbf_writer entry(message, 5);
  entry.add_string(1, "_output_shapes");
  protozero::pbf_writer value(entry, 2);
  protozero::pbf_writer list(value, 1);
  list.add_message(7, shape_message(output, 2));
}
}  // namespace detail

/// The GraphProto of MindSpore's event files.
inline std::string mindspore_graph_message(const EventGraph& graph) {
  std::string message;
  protozero::pbf_writer writer(message);
  for (const EventGraph::Node& node : graph.nodes) detail::add_mindspore_node(writer, node);
  writer.add_string(2, graph.name);
  for (const EventGraph::Value& parameter : graph.parameters) {
    protozero::pbf_writer one(writer, 3);
    one.add_string(1, parameter.name);
    detail::add_mindspore_type(one, 2, parameter);
  }
  for (const EventGraph::Value& output : graph.outputs) {
    protozero::pbf_writer one(writer, 4);
    one.add_string(1, output.name);
    detail::add_mindspore_type(one, 2, output);
  }
  for (const EventGraph::Value& constant : graph.constants) {
    protozero::pbf_writer one(writer, 5);
    one.add_string(1, constant.name);
  }
  return message;
}

/// The GraphDef of TensorBoard's event files.
inline std::string tensorboard_graph_message(const EventGraph& graph) {
  std::string message;
  protozero::pbf_writer writer(message);
  // inputs are numbers of nodes in MindSpore's form; here they are names
  const auto name_of = [&](const std::string& input) {
    for (const EventGraph::Node& node : graph.nodes)
      if (node.name == input) return node.full_name;
    return input;
  };
  for (const EventGraph::Value& one : graph.parameters)
    detail::add_tensorboard_node(writer, one.name, "Parameter", {}, one);
  for (const EventGraph::Value& one : graph.constants) detail::add_tensorboard_node(writer, one.name, "Const", {}, one);
  for (const EventGraph::Node& node : graph.nodes) {
    std::vector<std::string> inputs;
    for (const std::string& input : node.inputs) inputs.push_back(name_of(input));
    detail::add_tensorboard_node(writer, node.full_name, node.type, inputs, node.output);
  }
  return message;
}

}  // namespace tenon::io
