// What a generated program says of a node: its attributes, and the inputs that are small, as constants.
#pragma once
#include <array>
#include <string_view>

namespace onnx {

struct Setting {
  std::string_view name{}, text{};
  int count = 0;
  long whole[12]{};
  int numbers = 0;
  double number[12]{};
};
struct Constant {
  int input;
  int count;
  long whole[16];
  double number[16];
};

/// In place of an input that a node leaves out.
struct Absent {};
inline constexpr Absent absent{};
template <class T>
inline constexpr bool is_absent = std::is_same_v<std::remove_cvref_t<T>, Absent>;

/// A list of a node's attribute or of a constant input.
struct List {
  int count = 0;
  long value[16]{};
  constexpr long operator[](int i) const { return value[i]; }
};

template <class Node>
consteval Setting setting(std::string_view name) {
  for (const Setting& s : Node::settings)
    if (!s.name.empty() && s.name == name) return s;
  return {};
}
template <class Node>
consteval bool has(std::string_view name) {
  return !setting<Node>(name).name.empty();
}
/// The attribute's whole number, or what ONNX takes without it.
template <class Node>
consteval long whole(std::string_view name, long without) {
  return has<Node>(name) ? setting<Node>(name).whole[0] : without;
}
template <class Node>
consteval double number(std::string_view name, double without) {
  return has<Node>(name) ? setting<Node>(name).number[0] : without;
}
template <class Node>
consteval std::string_view text(std::string_view name, std::string_view without) {
  return has<Node>(name) ? setting<Node>(name).text : without;
}
/// The attribute's list; without it `count` times `without`.
template <class Node>
consteval List list(std::string_view name, int count, long without) {
  List result;
  if (has<Node>(name)) {
    const Setting s = setting<Node>(name);
    result.count = s.count > 12 ? 12 : s.count;
    for (int i = 0; i < result.count; ++i) result.value[i] = s.whole[i];
  } else {
    result.count = count;
    for (int i = 0; i < count; ++i) result.value[i] = without;
  }
  return result;
}
/// Input k as whole numbers that the program knows.
template <class Node>
consteval List constant(int input) {
  List result;
  for (const Constant& c : Node::constants)
    if (c.input == input) {
      result.count = c.count;
      for (int i = 0; i < c.count; ++i) result.value[i] = c.whole[i];
    }
  return result;
}
template <class Node>
consteval double constant_at(int input, int place) {
  for (const Constant& c : Node::constants)
    if (c.input == input) return c.number[place];
  return 0;
}
template <class Node>
consteval double constant_number(int input) {
  return constant_at<Node>(input, 0);
}

/// An axis that may count from the end.
constexpr int axis_of(long axis, int rank) { return int(axis < 0 ? axis + rank : axis); }

/// Result k of what a function returned.
template <std::size_t k, class R>
constexpr auto nth(const R& results) {
  if constexpr (requires { std::tuple_size<R>::value; }) return std::get<k>(results);
  else return results;
}

}  // namespace onnx
