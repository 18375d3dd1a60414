// How many arrays the function of an optimizer's update changes.
#pragma once
#include <type_traits>
#include <utility>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// The largest number of elements, up to `most`, that F takes by reference after `read` others. All are of type C. See
/// ops::MomentUpdate: a function may leave out the last moments.
template <class F, class C, int read, int most>
constexpr int update_arity() {
  constexpr bool fits = []<int... R, int... K>(std::integer_sequence<int, R...>, std::integer_sequence<int, K...>) {
    return std::is_invocable_v<F, decltype(C(R))..., decltype((K, std::declval<C&>()))...>;
  }(std::make_integer_sequence<int, read>(), std::make_integer_sequence<int, most>());
  static_assert(fits || most > 1, "the function of an update is called with a gradient, a parameter, and moments");
  if constexpr (fits || most <= 1) return most;
  else return update_arity<F, C, read, most - 1>();
}

}  // namespace tenon::kernel
