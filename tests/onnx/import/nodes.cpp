// The network that tenon-import makes of nodes.onnx computes what ONNX Runtime does, in both modes: `program FOLDER`.
#include "nodes.hpp"
#include "program.hpp"

using namespace tenon;

int main(int, char** argument) {
  const std::string folder = argument[1];
  const io::Npz arrays(folder + "/nodes.npz");
  using round_trip::input;
  const auto x = input<float, Shape<dyn, 4>>(arrays, "x0");
  const auto image = input<float, Shape<dyn, 8, 4, 6>>(arrays, "x1");
  const auto classes = input<std::int64_t, Shape<dyn, 3>>(arrays, "x2");
  const auto places = input<std::int64_t, Shape<dyn, 3>>(arrays, "x3");
  nodes::Nodes net;
  load_checkpoint(folder + "/nodes.safetensors", net);
  const auto graph = net(x, image, classes, places);
  set_context({.mode = Mode::pynative});
  const auto eager = net(x, image, classes, places);
  int wrong = 0;
  const auto compare = [&](const auto& y, const auto& of_eager, std::size_t k) {
    const double far = round_trip::difference(y, *arrays.find("y" + std::to_string(k)));
    const bool equal = bit_equal(y, of_eager);
    if (equal && far <= round_trip::tolerance) return;
    ++wrong;
    std::printf("output %zu: %.2g from ONNX Runtime, the modes are %s\n", k, far, equal ? "equal" : "DIFFERENT");
  };
  constexpr std::size_t count = std::tuple_size_v<decltype(graph)>;
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    (compare(std::get<k>(graph), std::get<k>(eager), k), ...);
  }(std::make_index_sequence<count>());
  std::printf("%zu outputs, %d of them wrong\n", count, wrong);
  return wrong != 0;
}
