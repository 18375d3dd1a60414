// print in CUDA source, on the host: both modes print the same.
#include <string>

#include <tenon/ops/print.hpp>
#include <tenon/tenon.hpp>

#include "../../support/printed.hpp"

using namespace tenon;

struct Printing : nn::Cell<Printing> {
  nn::Dense<3, 2> fc;
  constexpr auto construct(auto x) const {
    auto h = fc(x);
    print("x", x, "weight", fc.weight);
    print(h, "behind");
    return relu(h);
  }
};

int main() {
  std::string text[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    Printing net;
    text[mode == Mode::pynative] = support::printed_to(stdout, [&] { net(Tensor<float, Shape<1, 3>>::full(1)); });
  }
  return text[0] == text[1] && text[0].starts_with("x\nTensor(shape=[1, 3], dtype=Float32, value=\n[[ 1.0") ? 0 : 1;
}
