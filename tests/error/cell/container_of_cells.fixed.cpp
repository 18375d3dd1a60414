#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<8, 8> first;
  nn::CellList<nn::Dense<8, 8>, 3> layers;
  constexpr auto construct(auto x) const {
    for (const auto& layer : layers) x = layer(x);
    return first(x);
  }
};

Net net;
