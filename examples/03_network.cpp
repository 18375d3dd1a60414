// Lesson 3: a network is a struct; its parameters are named by its members; calling it runs it.
#include <cstdio>

#include <tenon/tenon.hpp>

using namespace tenon;

struct Mlp : nn::Cell<Mlp> {
  nn::Dense<4, 8> hidden;
  nn::Dense<8, 3> output;

  constexpr auto construct(auto x) const { return output(relu(hidden(x))); }
};

int main() {
  set_context({.seed = 7});
  Mlp net;
  const auto x = Tensor<float, Shape<dyn, 4>>::from({1, 2, 3, 4, 5, 6, 7, 8});
  std::printf("%s\n", to_string(net(x)).c_str());  // in graph mode (the default) this call is one compiled graph

  for (const auto& [name, parameter] : net.parameters_and_names())
    std::printf("%-14s %s\n", name.c_str(), shape_text(parameter.view().shape()).c_str());

  // The same call, operator by operator, gives bit-identical results.
  const auto graph = net(x);
  set_context({.mode = Mode::pynative});
  const auto eager = net(x);
  std::printf("equal bits: %s\n", std::memcmp(graph.data(), eager.data(), sizeof(float) * 6) == 0 ? "yes" : "no");
}
