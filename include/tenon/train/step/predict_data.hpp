// Predictions for a whole data set.
#pragma once
#include <tuple>
#include <vector>

#include <tenon/core/spread.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::detail {

/// All samples of some tensors, one after the other, as one tensor.
template <class T>
T one_behind_the_other(const std::vector<T>& parts) {
  static_assert(T::dims.batched(), "model.predict(data) joins the predictions of the batches along their batch axis, "
                                   "which an output of this network does not have: predict batch by batch");
  long n = 0;
  for (const T& part : parts) n += part.n();
  T all = T::empty(n);
  auto* to = all.data();
  for (const T& part : parts) {
    const std::size_t count = std::size_t(part.count());
    std::memcpy(to, part.data(), count * sizeof *to);
    to += count;
  }
  return all;
}
template <class... T>
std::tuple<T...> one_behind_the_other(const std::vector<std::tuple<T...>>& parts) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    const auto one = [&]<std::size_t k>() {
      std::vector<std::tuple_element_t<k, std::tuple<T...>>> all;
      for (const auto& part : parts) all.push_back(std::get<k>(part));
      return one_behind_the_other(all);
    };
    return std::tuple<T...>(one.template operator()<K>()...);
  }(std::index_sequence_for<T...>());
}

/// f of the first `count` columns of each row, joined.
template <int count, class Data, class F>
auto predicted_rows(const Data& data, F f) {
  const auto of_columns = [&](const auto& row) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return f(row.template get<int(I)>()...);
    }(std::make_index_sequence<std::size_t(count)>());
  };
  const auto of_row = [&](const auto& row) {
    if constexpr (requires { row.bucket; }) return row.visit(of_columns);
    else return of_columns(row);
  };
  auto rows = data.open();
  rows.start(0);
  const auto* row = rows.next();
  std::vector<decltype(of_row(*row))> parts;
  for (; row; row = rows.next()) parts.push_back(of_row(*row));
  return one_behind_the_other(parts);
}

}  // namespace tenon::inline TENON_ABI::detail
