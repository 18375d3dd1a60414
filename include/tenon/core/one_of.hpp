// Lists of whole numbers as template arguments: one_of<32, 64, 128>, range<16, 256, 16>.
#pragma once

#include <concepts>
#include <utility>

#include <tenon/core/abi.hpp>

namespace tenon::inline TENON_ABI {

/// The type of a list. It is also a range: `for (const int width : one_of<32, 64>)`.
template <int... Value>
struct OneOf {
  static constexpr int count = sizeof...(Value);
  static constexpr int value[sizeof...(Value) + 1]{Value...};
  constexpr const int* begin() const { return value; }
  constexpr const int* end() const { return value + count; }
};

/// Some numbers: `constexpr auto widths = one_of<64, 128, 256>;`
template <int... Value>
inline constexpr OneOf<Value...> one_of{};

namespace detail {
template <int... A, int... B>
constexpr OneOf<A..., B...> one_list(OneOf<A...>, OneOf<B...>) {
  return {};
}
template <int First, int Step, int... I>
constexpr OneOf<First + I * Step...> multiples(std::integer_sequence<int, I...>) {
  return {};
}
template <auto Item>
constexpr auto as_list() {
  if constexpr (std::integral<decltype(Item)>) return OneOf<int(Item)>{};
  else return Item;
}
template <class... Lists>
struct Joined {
  using type = OneOf<>;
};
template <class First, class... More>
struct Joined<First, More...> {
  using type = decltype(one_list(First{}, typename Joined<More...>::type{}));
};
/// One list of numbers and lists.
template <auto... Item>
using ListOf = typename Joined<decltype(as_list<Item>())...>::type;
}  // namespace detail

/// First, First + Step, ... up to Last, which is included: `range<16, 256, 16>` are 16 numbers.
template <int First, int Last, int Step = 1>
requires(Step > 0 && First <= Last)
inline constexpr auto range =
    detail::multiples<First, Step>(std::make_integer_sequence<int, (Last - First) / Step + 1>{});

}  // namespace tenon
