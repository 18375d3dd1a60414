// What is done with the members of an aggregate once they are bound to names: a call for each, their types, an address.
#pragma once
#include <tuple>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
template <class F, class... M>
constexpr void each(F& f, M&... m) {
  int index = 0;
  (f(m, index++), ...);
}
}  // namespace detail

/// The types of an aggregate's members: `decltype(for_each_member(std::declval<T&>(), MemberTypesOf{}))`, which needs
/// no object of T.
template <class... M>
struct MemberTypes {};
struct MemberTypesOf {};
namespace detail {
template <class... M>
constexpr MemberTypes<M...> each(MemberTypesOf&, M&...) {
  return {};
}
/// As f of for_each_member it gives the address of member I.
template <int I>
struct PointerTo {};
template <int I, class... M>
constexpr auto each(PointerTo<I>&, M&... m) {
  return &std::get<I>(std::tie(m...));
}
}  // namespace detail

}  // namespace tenon
