// What the programs of import.sh share: an imported network computes what PyTorch did, in both modes, and is exported
// again.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <tuple>

#include <tenon/io/npz.hpp>
#include <tenon/onnx.hpp>
#include <tenon/train/checkpoint.hpp>

namespace round_trip {
using namespace tenon;

constexpr double tolerance = 1e-5;

template <class T, class S>
Tensor<T, S> input(const io::Npz& arrays, const std::string& name) {
  const AnyTensor& from = *arrays.find(name);
  auto x = Tensor<T, S>::zeros(from.extent[0]);
  if (x.view().bytes() != from.bytes()) throw_error<ValueError>("input ", name, " has another shape.");
  std::memcpy(x.data(), from.data, from.bytes());
  return x;
}

/// The largest difference to PyTorch's result.
double difference(const auto& y, const AnyTensor& wanted) {
  if (!std::ranges::equal(y.view().shape(), wanted.shape())) throw_error<ValueError>("a result has another shape.");
  double most = 0;
  using T = std::remove_cvref_t<decltype(*y.data())>;
  if (wanted.dtype != dtype_of<T>) throw_error<ValueError>("a result has another dtype.");
  for (std::size_t i = 0; i < y.values().size(); ++i) {
    const double far = std::abs(double(y.values()[i]) - double(wanted.as<T>()[i]));
    if (!(far <= most)) most = far;
  }
  return most;
}
auto results_of(const auto& y) {
  if constexpr (requires { std::tuple_size<std::remove_cvref_t<decltype(y)>>::value; }) return y;
  else return std::tuple(y);
}

/// 0 if all is well. `base`: of the files that the importer made; `arrays`: inputs and outputs of PyTorch.
template <class Net>
int run(const std::string& base, const io::Npz& arrays, const auto&... x) {
  Net net;
  load_checkpoint(base + ".safetensors", net);
  const auto graph = results_of(net(x...));
  set_context({.mode = Mode::pynative});
  const auto eager = results_of(net(x...));
  set_context({.mode = Mode::graph});
  double most = 0;
  bool equal = true;
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    equal = (bit_equal(std::get<k>(graph), std::get<k>(eager)) && ...);
    most = std::max({difference(std::get<k>(graph), *arrays.find("y" + std::to_string(k)))...});
  }(std::make_index_sequence<std::tuple_size_v<decltype(graph)>>());
  std::printf("%s: %.2g from PyTorch, the modes are %s\n", base.c_str(), most, equal ? "equal" : "DIFFERENT");
  export_onnx(net, base + "_again.onnx", x...);
  return equal && most <= tolerance ? 0 : 1;
}

}  // namespace round_trip
