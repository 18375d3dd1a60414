// CellList: indexing, loops, calls, names, blocks that change the shape, wrong shapes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/nn/layer/cell_list.hpp>
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/ops/reshape.hpp>

using namespace cells;
using support::random_tensor;
using support::same_bits;

namespace {

struct Block : nn::Cell<Block> {
  nn::Dense<12, 12> fc;
  constexpr auto construct(auto x) const { return relu(fc(x)) + x; }
};
struct Looped : nn::Cell<Looped> {
  nn::CellList<Block, 3> blocks;
  nn::Dense<12, 3> fc;
  constexpr auto construct(auto x) const {
    for (const auto& block : blocks) x = block(x);
    return fc(x);
  }
};
struct Called : nn::Cell<Called> {
  nn::CellList<Block, 3> blocks;
  nn::Dense<12, 3> fc;
  constexpr auto construct(auto x) const { return fc(blocks(x)); }
};
// Every block halves the image.
using Halving = nn::CellList<nn::Conv2d<2, 2, 3, nn::Conv2dConfig{.stride = 2}>, 3>;
struct Images : nn::Cell<Images> {
  Halving blocks;
  nn::Dense<8, 3> fc;
  constexpr auto construct(auto x) const { return fc(flatten(blocks(x))); }
};

}  // namespace

TEST_CASE("CellList: index, size, and range") {
  nn::CellList<Block, 3> blocks;
  CHECK(blocks.size() == 3);
  int count = 0;
  for (const Block& block : blocks) CHECK(&block == &blocks[count++]);
  CHECK(count == 3);
}

TEST_CASE("CellList: a call applies the blocks in turn, as a loop does") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Called called;
    const auto x = random_tensor<float, Shape<dyn, 12>>(1);
    const auto y = called(x);
    CHECK(same_bits(y, called.fc(called.blocks[2](called.blocks[1](called.blocks[0](x))))));
    CHECK(!same_bits(called.blocks[0](x), called.blocks[1](x)));  // they start from different weights
  }
}

TEST_CASE("CellList: parameters are named by number") {
  Called net;
  std::string names;
  for (const auto& [name, parameter] : net.parameters_and_names()) names += name + " ";
  CHECK(names == "blocks.0.fc.weight blocks.0.fc.bias blocks.1.fc.weight blocks.1.fc.bias blocks.2.fc.weight "
                 "blocks.2.fc.bias fc.weight fc.bias ");
}

TEST_CASE("CellList: trains with equal bits in both modes; loop and call are one network") {
  const Trained looped = check_training<Looped, Shape<12>>(8);
  CHECK(looped == trained<Called, Shape<12>>(Mode::graph, 8));
}

TEST_CASE("CellList: blocks that change the shape") {
  Images net;
  const auto y = net.blocks(random_tensor<float, Shape<dyn, 2, 16, 16>>(1));
  CHECK(std::is_same_v<decltype(y)::shape_type, Shape<dyn, 2, 2, 2>>);
  check_training<Images, Shape<2, 16, 16>>(10);
}

TEST_CASE("CellList: a wrong shape is reported with the number of the block") {
  using Graph = Compiled<detail::Forward<Halving, TypeKey<Dtype::float32, dyn, 3, 16, 16>>>;
  CHECK(Graph::sentence.view() ==
        "network.0: Conv2d got an input of 3 channels [n,3,16,16], its weight [2,2,3,3] needs 2");
  using LoopedGraph = Compiled<detail::Forward<Called, TypeKey<Dtype::float32, dyn, 11>>>;
  CHECK(LoopedGraph::sentence.view() ==
        "network.blocks.0.fc: MatMul got rows of 11 [n,11], its weight [12,12] needs 12 (cell_list.cpp:17)");
}

TEST_CASE("CellList: an index that is none is refused at run time") {
  const nn::CellList<Block, 3> blocks;
  CHECK_THROWS_WITH_AS(static_cast<void>(blocks[3]), "CellList: index 3 is outside of 0 .. 2.", ValueError);
  CHECK_THROWS_AS(static_cast<void>(blocks[-1]), ValueError);
}
