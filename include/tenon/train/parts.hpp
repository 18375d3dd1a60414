// What stands behind a Model's optimizer, sorted.
#pragma once
#include <tuple>

#include <tenon/train/amp.hpp>

namespace tenon::inline TENON_ABI::detail {

template <class Sorted, class... Parts>
struct SortedParts {
  using type = Sorted;
};
template <class... M, class P, class... Parts>
struct SortedParts<std::tuple<M...>, P, Parts...>
    : std::conditional_t<is_precision<P>, SortedParts<std::tuple<M...>, Parts...>,
                         SortedParts<std::tuple<M..., P>, Parts...>> {};
/// The metrics among the parts of a Model, a tuple.
template <class... Parts>
using MetricsAmong = typename SortedParts<std::tuple<>, Parts...>::type;

template <class... Parts>
MetricsAmong<Parts...> metrics_among(Parts... parts) {
  if constexpr (!(is_precision<Parts> || ...)) return {std::move(parts)...};
  else {
    const auto one = []<class P>(P part) {
      if constexpr (is_precision<P>) return std::tuple();
      else return std::tuple(std::move(part));
    };
    return std::tuple_cat(one(std::move(parts))...);
  }
}

}  // namespace tenon::detail
