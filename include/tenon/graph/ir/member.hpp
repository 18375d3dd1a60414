// Members of a cell that are neither cells nor parameters: which there may be, and how two of one are compared.
#pragma once
#include <cstring>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/arena.hpp>
#include <tenon/core/reflect.hpp>
#include <tenon/core/text/sentence.hpp>
#include <tenon/core/text/type_name.hpp>

namespace tenon::inline TENON_ABI {

namespace nn {
template <class Self>
struct Cell;
}
namespace detail {
// What Tenon asks of a class of the user's is found by its type alone. A member may have any name: `bool frozen` is the
// user's own.
template <class Self>
std::type_identity<Self> cell_of(const nn::Cell<Self>*);
/// The argument of a cell's base.
template <class T>
using CellOf = typename decltype(cell_of(static_cast<const T*>(nullptr)))::type;

/// How the children of a cell are found.
enum class Children {
  members,          // they are its members
  named,            // each_child() gives them, with names
  numbered,         // each_child() gives them, with numbers
  of_inner,         // they are those of its member `cell`, and this one adds no name
  stands_for_inner  // its member `cell` is in the table in place of it
};
template <class C>
inline constexpr Children children_of = Children::members;
/// Whether training leaves the parameters of a cell alone.
template <class C>
inline constexpr bool is_frozen = false;
/// How many results a cell has, so that `auto [a, b, c] = cell(x);` does not fail once more after an error.
template <class C>
inline constexpr int result_count = 1;
}  // namespace detail

template <class T>
concept AnyCell = requires { typename detail::CellOf<T>; };
/// Whether a cell stands in the argument of its own base: `struct Net : nn::Cell<Net>`.
template <class T>
inline constexpr bool is_own_cell = true;
template <AnyCell T>
inline constexpr bool is_own_cell<T> = std::is_same_v<detail::CellOf<T>, T>;
template <class T>
concept AnyParameter = std::is_base_of_v<ParameterHandle, T>;

/// A number among the members of a cell, or a value of another type that copies as its bytes and compares by ==. Graphs
/// are traced with its initial value.
struct FixedMember {
  const void* address = nullptr;  // inside prototype<Net>
  std::string_view name;
  std::string_view owner;  // the class of the cell
  int cell = 0;            // its entry, or that of a transparent cell around it
  bool (*equal)(const void* mine, const void* initial) = nullptr;
  // "[1] is 3, its initial value is 2"
  std::string (*difference)(const void* mine, const void* initial) = nullptr;
  bool number = false;  // a nn::Setting could stand for it
};

namespace detail {

/// Whether there is nothing to find in a member of type M besides its value.
template <class M>
constexpr bool is_plain() {
  if constexpr (std::is_arithmetic_v<M> || std::is_enum_v<M> || std::is_empty_v<M>) return true;
  else if constexpr (std::is_class_v<M> && std::is_trivially_copyable_v<M>)
    return requires(const M& a, const M& b) { bool(a == b); };
  else return false;
}
template <class M>
inline constexpr bool is_part = AnyCell<M> || AnyParameter<M>;
template <class M, class E = std::remove_all_extents_t<M>>
inline constexpr bool can_be_member = (is_part<E> || is_plain<E>()) && is_own_cell<E>;

// Of numbers, NaNs are equal and zeros of two signs are not: what counts is what a formula makes of them. A class says
// it itself, but for equal bytes.
template <class M>
constexpr bool equal_values(const M& a, const M& b) {
  if constexpr (std::is_array_v<M>) {
    for (std::size_t i = 0; i < std::extent_v<M>; ++i)
      if (!equal_values(a[i], b[i])) return false;
    return true;
  } else if constexpr (std::is_floating_point_v<M>) {
    return (a == b && __builtin_signbit(a) == __builtin_signbit(b)) || (a != a && b != b);
  } else if constexpr (std::is_empty_v<M>) return true;
  else return bool(a == b);
}
template <class M>
[[gnu::cold]] std::string value_text(const M& value) {
  if constexpr (std::is_same_v<M, bool>) return value ? "true" : "false";
  else if constexpr (std::is_enum_v<M>) return text(static_cast<long long>(value));
  else if constexpr (std::is_arithmetic_v<M>) return text(value);
  else return {};
}
template <class M>
[[gnu::cold]] std::string difference_text(const M& mine, const M& initial) {
  if constexpr (std::is_array_v<M>) {
    for (std::size_t i = 0; i < std::extent_v<M>; ++i)
      if (!equal_values(mine[i], initial[i])) return text("[", i, "]", difference_text(mine[i], initial[i]));
    return {};
  } else if constexpr (std::is_arithmetic_v<M> || std::is_enum_v<M>)
    return text(" is ", value_text(mine), ", its initial value is ", value_text(initial));
  else return " has another value than at first";
}

/// The record of a member of Owner.
template <class Owner, class M>
constexpr FixedMember fixed_member(const M& member, std::string_view name, int cell) {
  FixedMember record{&member, name, tenon::class_name<Owner>(), cell};
  record.equal = [](const void* a, const void* b) {
    return std::memcmp(a, b, sizeof(M)) == 0 || equal_values(*static_cast<const M*>(a), *static_cast<const M*>(b));
  };
  record.difference = [](const void* a, const void* b) {
    return difference_text(*static_cast<const M*>(a), *static_cast<const M*>(b));
  };
  using E = std::remove_all_extents_t<M>;
  record.number = std::is_arithmetic_v<E> && !std::is_same_v<E, bool>;
  return record;
}

/// The first member of a cell that cannot be one: its position, -1 if all can.
template <class... M>
constexpr int wrong_member(MemberTypes<M...>) {
  int position = 0, wrong = -1;
  ((!can_be_member<M> && wrong < 0 ? void(wrong = position) : void(), ++position), ...);
  return wrong;
}
/// The types of a cell's members. None for a cell that hands out its children itself.
template <class Self>
constexpr auto members_of() {
  if constexpr (std::is_empty_v<Self> || children_of<Self> == Children::named ||
                children_of<Self> == Children::numbered)
    return MemberTypes<>{};
  else return decltype(for_each_member(std::declval<Self&>(), MemberTypesOf{})){};
}

template <class M>
constexpr std::string_view kind_of_member() {
  if constexpr (std::is_pointer_v<M>) return "pointer";
  else return class_name<M>();
}
/// "the base of Block is nn::Cell<Net>, write struct Block : nn::Cell<Block>"
template <class Wrong>
constexpr Sentence wrong_base_sentence() {
  return Sentence{} << "the base of " << class_name<Wrong>() << " is nn::Cell<" << class_name<CellOf<Wrong>>()
                    << ">, write struct " << class_name<Wrong>() << " : nn::Cell<" << class_name<Wrong>() << ">";
}
/// "Net.layers is of type vector, which a graph would not see: ..."
template <class Self, int position, class... M>
constexpr Sentence wrong_member_sentence(MemberTypes<M...>) {
  using Wrong = std::remove_all_extents_t<std::tuple_element_t<std::size_t(position), std::tuple<M...>>>;
  if constexpr (!is_own_cell<Wrong>) return wrong_base_sentence<Wrong>();
  constexpr std::string_view kinds[]{kind_of_member<std::remove_all_extents_t<M>>()...};
  return Sentence{}
         << class_name<Self>() << "." << external_member_name<Self, position>() << " is of type " << kinds[position]
         << ", which a graph would not see: for cells use nn::CellList<Block, 3>, nn::SequentialCell<...>, or "
            "an array, for tensors Parameter, for options numbers, or a struct of numbers with operator==";
}

}  // namespace detail
}  // namespace tenon
