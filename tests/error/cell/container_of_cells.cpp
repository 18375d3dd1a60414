// expects: Net.layers is of type vector, which a graph would not see: for cells use nn::CellList<Block, 3>
// lines: g++ 8, clang 16, nvcc 8
#include <tenon/tenon.hpp>
#include <vector>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<8, 8> first;
  std::vector<nn::Dense<8, 8>> layers;
  constexpr auto construct(auto x) const {
    for (const auto& layer : layers) x = layer(x);
    return first(x);
  }
};

Net net;
