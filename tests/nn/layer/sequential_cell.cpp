// SequentialCell: order, names, nesting, training in both modes, wrong shapes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/nn/layer/sequential_cell.hpp>

using namespace cells;
using support::random_tensor;
using support::same_bits;

namespace {

struct Relu : nn::Cell<Relu> {
  constexpr auto construct(const auto& x) const { return relu(x); }
};
using Block = nn::SequentialCell<nn::Dense<12, 16>, Relu, nn::Dense<16, 8>>;
struct Net : nn::Cell<Net> {
  Block body;
  nn::SequentialCell<Relu, nn::SequentialCell<nn::Dense<8, 8>, Relu>, nn::Dense<8, 3>> head;
  constexpr auto construct(auto x) const { return head(body(x)); }
};

}  // namespace

TEST_CASE("SequentialCell: applies its cells in turn, alone and in a network") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Block block;
    const auto x = random_tensor<float, Shape<dyn, 12>>(1);
    const auto y = block(x);
    CHECK(same_bits(y, block.cell<2>()(relu(block.cell<0>()(x)))));
    CHECK(Block::size() == 3);
  }
}

TEST_CASE("SequentialCell: children are numbered, parameters named after them") {
  Net net;
  std::string names;
  for (const auto& [name, parameter] : net.parameters_and_names()) names += name + " ";
  CHECK(names ==
        "body.0.weight body.0.bias body.2.weight body.2.bias head.1.0.weight head.1.0.bias head.2.weight head.2.bias ");
  CHECK(net.body.cell<2>().weight.values().data() == net.parameters_dict()["body.2.weight"].values<float>().data());
}

TEST_CASE("SequentialCell: trains with equal bits in both modes") { check_training<Net, Shape<12>>(20); }

TEST_CASE("SequentialCell: a wrong shape is reported with the number of the cell, and nothing else") {
  using Wrong = nn::SequentialCell<nn::Dense<12, 16>, Relu, nn::Dense<15, 8>, Relu>;
  using Graph = Compiled<detail::Forward<Wrong, TypeKey<Dtype::float32, dyn, 12>>>;
  CHECK(Graph::sentence.view() == "network.2: MatMul got rows of 16 [n,16], its weight [8,15] needs 15");
}
