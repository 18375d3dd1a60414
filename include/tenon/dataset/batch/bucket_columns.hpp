// Rows whose shapes differ from row to row: each row has the columns of one of several buckets.
#pragma once
#include <tuple>
#include <type_traits>

#include <tenon/dataset/stage/column.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The columns of a data set with buckets: a list of Columns for each, with equal dtypes and names.
template <class... List>
struct BucketColumns {
  static constexpr int buckets = sizeof...(List);
  using first = std::tuple_element_t<0, std::tuple<List...>>;
  using last = std::tuple_element_t<sizeof...(List) - 1, std::tuple<List...>>;
  static constexpr int count = first::count;
  static constexpr bool any_ragged = false;
  /// Of each bucket the types of its columns.
  static constexpr const TensorType* types_of[sizeof...(List)]{List::types...};

 private:
  struct Largest {
    TensorType type[std::size_t(count)];
  };
  static constexpr Largest largest = [] {
    Largest most;
    for (int c = 0; c < count; ++c)
      for (int b = 0; b < buckets; ++b)
        if (b == 0 || types_of[b][c].count(1) > most.type[c].count(1)) most.type[c] = types_of[b][c];
    return most;
  }();

 public:
  /// For memory: of each column the largest type.
  static constexpr const TensorType (&types)[std::size_t(count)] = largest.type;
};

namespace detail {
template <int I, class... List>
struct At<BucketColumns<List...>, I> : At<typename BucketColumns<List...>::first, I> {};
}  // namespace detail

/// A row of a data set with buckets. What it has of the compiler's knowledge, visit() tells.
template <class... List>
struct Row<BucketColumns<List...>> {
  static constexpr int count = BucketColumns<List...>::count;
  long n = 0;
  const void* column[std::size_t(count)]{};
  const Storage* owner[std::size_t(count)]{};
  int bucket = 0;

  /// Column i as a run-time view, as of other rows.
  AnyTensor operator[](int i) const {
    return visit([i](const auto& row) { return row[i]; });
  }
  /// Calls f with the row of its bucket, and returns its result, which has one type for all buckets:
  /// `row.visit([&](const auto& one) { use(one.template get<"text">()); })`.
  template <class F>
  auto visit(const F& f) const {
    using Result = std::invoke_result_t<const F&, const Row<typename BucketColumns<List...>::first>&>;
    constexpr bool one_type = (std::is_same_v<std::invoke_result_t<const F&, const Row<List>&>, Result> && ...);
    static_assert(one_type,
                  "what visit() calls, or what model.predict(data) returns, has another type for each bucket: "
                  "go through the batches, for (const auto& row : data) row.visit([&](const auto& one) { ... "
                  "model.predict(one.template get<0>()) ... })");
    if constexpr (one_type) return visit_from<0>(f);
  }
  template <int I>
  auto get() const {
    constexpr bool one_type = count < 0;
    static_assert(one_type, "the batches of a data set with buckets have several types: row.visit([&](const auto& one) "
                            "{ ... one.template get<0>() ... })");
  }

  /// For the memory of a row, once n, column, and owner are known.
  void belongs_to(int which) {
    bucket = which;
    std::apply([this](auto&... one) { (this->copy_to(one), ...); }, rows_);
  }

 private:
  template <int B, class F>
  auto visit_from(const F& f) const {
    if constexpr (B + 1 < int(sizeof...(List)))
      if (bucket != B) return visit_from<B + 1>(f);
    return f(std::get<B>(rows_));
  }
  void copy_to(auto& one) const {
    one.n = n;
    for (std::size_t i = 0; i < std::size_t(count); ++i) one.column[i] = column[i], one.owner[i] = owner[i];
  }
  std::tuple<Row<List>...> rows_;
};

}  // namespace tenon::dataset
