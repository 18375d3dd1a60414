// The elements of a tuple as the arguments of a call.
#pragma once
#include <tuple>
#include <utility>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

/// f(get<0>(tuple), get<1>(tuple), ...) like std::apply, which costs the compiler several times as much: it asks for
/// each call whether it can throw.
template <class F, class Tuple>
constexpr decltype(auto) spread(F&& f, Tuple&& tuple) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
    return f(std::get<I>(std::forward<Tuple>(tuple))...);
  }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<Tuple>>>());
}

}  // namespace tenon::detail
