// The files of a node case, and the comparison of what a program computes with them, in both modes.
#pragma once
#include <cmath>
#include <cstdlib>
#include <tuple>

#include <doctest/doctest.h>

#include "messages.hpp"

namespace onnx {

template <class T>
constexpr DataType data_type() {
  using std::is_same_v;
  if constexpr (is_same_v<T, float>) return DataType::float32;
  else if constexpr (is_same_v<T, double>) return DataType::float64;
  else if constexpr (is_same_v<T, tenon::float16>) return DataType::float16;
  else if constexpr (is_same_v<T, tenon::bfloat16>) return DataType::bfloat16;
  else if constexpr (is_same_v<T, bool>) return DataType::boolean;
  else if constexpr (std::is_signed_v<T>)
    return sizeof(T) == 1   ? DataType::int8
           : sizeof(T) == 2 ? DataType::int16
           : sizeof(T) == 4 ? DataType::int32
                            : DataType::int64;
  else
    return sizeof(T) == 1   ? DataType::uint8
           : sizeof(T) == 2 ? DataType::uint16
           : sizeof(T) == 4 ? DataType::uint32
                            : DataType::uint64;
}

/// The folder of all cases: the argument of the program.
inline std::string folder;

class Case {
 public:
  explicit Case(const char* name) : place_(folder + "/" + name + "/test_data_set_0/") {}

  template <class T, class S>
  tenon::Tensor<T, S> input(int k) const {
    const TensorMessage message = read_tensor_file(place_ + "input_" + std::to_string(k) + ".pb");
    REQUIRE(message.type == data_type<T>());
    auto tensor = tenon::Tensor<T, S>::zeros();
    REQUIRE(message.bytes.size() == std::size_t(tensor.count()) * sizeof(T));
    std::memcpy(tensor.data(), message.bytes.data(), message.bytes.size());
    return tensor;
  }

  /// Computes the graph operator by operator, and as one graph: both give the same bits, and the numbers of the files.
  template <class Graph, class... X>
  void check(const X&... x) const {
    const auto eager = Graph{}(x...);
    static constexpr auto compiled = [](const auto&... v) { return Graph{}(v...); };
    const auto graph = tenon::jit(compiled)(x...);
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      (compare(std::get<k>(eager), int(k)), ...);
      if constexpr (sizeof...(k) == 1) same(std::get<0>(eager), graph);
      else (same(std::get<k>(eager), std::get<k>(graph)), ...);
    }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(eager)>>>());
  }

 private:
  std::string place_;

  static void same(const auto& eager, const auto& graph) { CHECK(tenon::bit_equal(eager, graph)); }

  template <class Y>
  void compare(const Y& y, int k) const {
    using T = typename Y::type;
    const TensorMessage wanted = read_tensor_file(place_ + "output_" + std::to_string(k) + ".pb");
    CHECK(wanted.type == data_type<T>());
    REQUIRE(wanted.extents.size() == std::size_t(Y::dims.rank));
    for (int axis = 0; axis < Y::dims.rank; ++axis) CHECK(wanted.extents[std::size_t(axis)] == Y::dims.extent[axis]);
    REQUIRE(wanted.bytes.size() == std::size_t(y.count()) * sizeof(T));
    long wrong = 0, first = -1;
    for (long i = 0; i < y.count(); ++i) {
      T expected;
      std::memcpy(&expected, wanted.bytes.data() + std::size_t(i) * sizeof(T), sizeof(T));
      if (!near_enough(y.data()[i], expected) && wrong++ == 0) first = i;
    }
    if (wrong != 0) MESSAGE(wrong, " of ", y.count(), " elements of output ", k, " differ, the first is ", first);
    CHECK(wrong == 0);
  }
  /// As ONNX's own runner: relative 1e-3, absolute 1e-7 (we allow 1e-5 of values near 0); integers are equal.
  template <class T>
  static bool near_enough(T a, T b) {
    if constexpr (std::is_integral_v<T>) return a == b;
    else {
      const double x = double(float(a)), y = double(float(b));
      if constexpr (std::is_same_v<T, double>) return close(a, b);
      else return close(x, y);
    }
  }
  static bool close(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    return std::abs(a - b) <= 1e-5 + 1e-3 * std::abs(b);
  }
};

}  // namespace onnx
