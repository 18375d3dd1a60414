// graph_proto: a graph as MindSpore's GraphProto, which MindInsight reads from summaries.
#pragma once
#include <bit>
#include <string>
#include <string_view>

#if __has_include(<protozero/pbf_writer.hpp>)
#include <protozero/pbf_writer.hpp>
#else
#include <Header tenon/debug/graphs/graph_proto.hpp needs protozero. On Debian: apt-get install libprotozero-dev>
#endif

#include <tenon/debug/graphs/step_graph.hpp>

namespace tenon::inline TENON_ABI::debug {

/// The bytes of a GraphProto (package mindspore.irpb, as in MindSpore's anf_ir.proto): a NodeProto per operation, whose
/// full_name is the name that a dump's `kernels` takes; a ParameterProto per input, parameter, and state; constants as
/// const_vals; one OutputProto per result. Shapes have the batch size of the step.
///
/// throws      ValueError if there is no such pass, or it was the same as the one before it
std::string graph_proto(const StepGraph& step, std::string_view pass = "final");
std::string graph_proto(const NamedGraph& graph);

namespace detail {

class GraphProto {
 public:
  explicit GraphProto(const NamedGraph& graph) : graph_(graph) {}

  [[gnu::cold]] std::string bytes() const {
    std::string made;
    protozero::pbf_writer writer(made);
    for (int id = 0; id < graph_.nodes(); ++id)
      if (graph_.is_operation(id)) write_node(writer, id);
    writer.add_string(2, graph_.step_name());
    for (int id = 0; id < graph_.nodes(); ++id) {
      if (graph_.is_operation(id)) continue;
      if (is<ops::Constant>(graph_.node(id))) write_constant(writer, id);
      else write_parameter(writer, id);
    }
    for (int k = 0; k < graph_.graph().outputs; ++k) {
      protozero::pbf_writer output(writer, 4);
      output.add_string(1, key(graph_.graph().output[k]));
      write_type(output, 2, graph_.node(graph_.graph().output[k]).type);
    }
    return made;
  }

 private:
  // Inside of the graph operations are called by their number, all else by its name.
  std::string key(int id) const {
    if (graph_.is_operation(id)) return std::to_string(graph_.number(id));
    return is<ops::Constant>(graph_.node(id)) ? text("cst", id) : std::string(graph_.name(id));
  }
  void write_node(protozero::pbf_writer& graph, int id) const {
    const Node& node = graph_.node(id);
    const std::string_view full = graph_.name(id);
    protozero::pbf_writer writer(graph, 1);
    for (int k = 0; k < node.operands; ++k) {
      protozero::pbf_writer input(writer, 1);
      input.add_string(1, key(node.operand[k]));
      input.add_enum(2, 0);  // DATA
    }
    writer.add_string(2, key(id));
    writer.add_string(3, node.op->name.data(), node.op->name.size());
    const std::string_view scope = full.substr(0, full.rfind('/'));
    writer.add_string(4, scope.data(), scope.size());
    write_attributes(writer, node);
    write_type(writer, 6, node.type);
    writer.add_uint64(7, 0);
    writer.add_string(8, full.data(), full.size());
  }
  static void write_attributes(protozero::pbf_writer& node, const Node& from) {
    for (const AttributeName& a : attribute_names(*from.op)) {
      protozero::pbf_writer attribute(node, 5);
      attribute.add_string(1, a.name.data(), a.name.size());
      protozero::pbf_writer value(attribute, 2);
      value.add_enum(1, a.words > 1 ? type_tuple : a.real ? type_float32 : type_int32);
      for (int k = 0; k < a.words; ++k) {
        const int word = from.attributes.word[a.first + k];
        if (a.words == 1) write_number(value, a.real, word);
        else {
          protozero::pbf_writer element(value, 18);
          element.add_enum(1, a.real ? type_float32 : type_int32);
          write_number(element, a.real, word);
        }
      }
    }
  }
  static void write_number(protozero::pbf_writer& value, bool real, int word) {
    if (real) value.add_float(5, std::bit_cast<float>(word));
    else value.add_int64(3, word);
  }
  void write_parameter(protozero::pbf_writer& graph, int id) const {
    protozero::pbf_writer writer(graph, 3);
    writer.add_string(1, key(id));
    write_type(writer, 2, graph_.node(id).type);
  }
  void write_constant(protozero::pbf_writer& graph, int id) const {
    const Node& node = graph_.node(id);
    protozero::pbf_writer writer(graph, 5);
    writer.add_string(1, key(id));
    protozero::pbf_writer value(writer, 2);
    value.add_enum(1, data_type(node.type.dtype));
    if (is_floating(node.type.dtype)) value.add_double(6, constant_value(node));
    else value.add_int64(3, static_cast<std::int64_t>(node.immediate));
  }
  void write_type(protozero::pbf_writer& parent, std::uint32_t field, const TensorType& of) const {
    protozero::pbf_writer type(parent, field);
    type.add_enum(1, type_tensor);
    protozero::pbf_writer tensor(type, 2);
    tensor.add_enum(1, data_type(of.dtype));
    protozero::pbf_writer shape(tensor, 2);
    for (int axis = 0; axis < of.rank; ++axis) protozero::pbf_writer(shape, 1).add_int64(1, of.size(axis, graph_.n()));
  }

  static constexpr int type_int32 = 4, type_float32 = 11, type_tensor = 14, type_tuple = 31;
  static int data_type(Dtype dtype) {
    switch (dtype) {
      case Dtype::bool_: return 1;
      case Dtype::int8: return 2;
      case Dtype::int16: return 3;
      case Dtype::int32: return 4;
      case Dtype::int64: return 5;
      case Dtype::uint8: return 6;
      case Dtype::uint16: return 7;
      case Dtype::uint32: return 8;
      case Dtype::uint64: return 9;
      case Dtype::float16: return 10;
      case Dtype::float32: return 11;
      case Dtype::float64: return 12;
      default: return 0;  // the enumeration is older than bfloat16
    }
  }

  const NamedGraph& graph_;
};

}  // namespace detail

[[gnu::cold]] inline std::string graph_proto(const NamedGraph& graph) { return detail::GraphProto(graph).bytes(); }
[[gnu::cold]] inline std::string graph_proto(const StepGraph& step, std::string_view pass) {
  return graph_proto(NamedGraph(step, pass));
}

}  // namespace tenon::debug
