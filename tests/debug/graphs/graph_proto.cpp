// link: protozero
// graph_proto: a GraphProto that a reader of its own finds whole, also in a program that cannot be observed.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include <tenon/debug/graphs/graph_proto.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<3, 2> fc;
  constexpr auto construct(auto x) const { return 2 * relu(fc(x)); }
};
}  // namespace

TEST_CASE("nodes with their operands, names, and types; parameters, a constant, an output") {
  Net net;
  const auto step = debug::graph_of(net, Tensor<float, Shape<dyn, 3>>::full(1, 4));
  const std::string bytes = debug::graph_proto(step);
  std::vector<std::string> types, full_names, parameters, constants, outputs;
  std::vector<std::int64_t> shape;
  for (protozero::pbf_reader graph(bytes); graph.next();) switch (graph.tag()) {
      case 1:
        for (protozero::pbf_reader node = graph.get_message(); node.next();) switch (node.tag()) {
            case 3: types.push_back(node.get_string()); break;
            case 8: full_names.push_back(node.get_string()); break;
            case 6:
              shape.clear();
              for (protozero::pbf_reader type = node.get_message(); type.next(2);)
                for (protozero::pbf_reader tensor = type.get_message(); tensor.next(2);)
                  for (protozero::pbf_reader dims = tensor.get_message(); dims.next(1);)
                    for (protozero::pbf_reader dim = dims.get_message(); dim.next(1);) shape.push_back(dim.get_int64());
              break;
            default: node.skip();
          }
        break;
      case 2: CHECK(graph.get_string() == "Net_call"); break;
      case 3:
        for (protozero::pbf_reader one = graph.get_message(); one.next(1);) parameters.push_back(one.get_string());
        break;
      case 5:
        for (protozero::pbf_reader one = graph.get_message(); one.next(1);) constants.push_back(one.get_string());
        break;
      case 4:
        for (protozero::pbf_reader one = graph.get_message(); one.next(1);) outputs.push_back(one.get_string());
        break;
      default: graph.skip();
    }
  REQUIRE(!types.empty());
  CHECK(types[0] == "MatMul");
  CHECK(full_names[0] == "Default/network-Net/fc-Dense/MatMul-op0");
  CHECK(shape == std::vector<std::int64_t>{4, 2});
  CHECK(parameters == std::vector<std::string>{"input0", "fc.weight", "fc.bias"});
  CHECK(constants.size() == 1);
  CHECK(outputs == std::vector<std::string>{std::to_string(types.size() - 1)});
}
