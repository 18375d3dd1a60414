// concat(a, b): one data set after the other.
#pragma once
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The rows of two data sets with the same columns; the names are those of the first.
template <class A, class B>
struct Concatenated : Behind<Concatenated<A, B>, A> {
  static constexpr bool counted = A::counted && B::counted;
  B second;

  Concatenated(const A& a, const B& b) : Behind<Concatenated, A>(a), second(b) {}

  long size() const { return this->data.size() + second.size(); }
  long count(std::uint64_t epoch) const requires(!counted)
  {
    return rows_in(this->data, epoch) + rows_in(second, epoch);
  }
  long max_rows() const {
    const long a = this->data.max_rows(), b = second.max_rows();
    return a < b ? b : a;
  }
  void describe(auto& d) const { d.add_data(second); }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const long before = rows_in(this->data, place.epoch);
    if (place.position < before) return this->data.read(place, out, scratch);
    place.position -= before;
    const long n = detail::read_if_there(second, place, out, scratch);
    // sample 0 of the second is not that of the first: their random operations differ
    scratch.told_apart_by(detail::stages_before<Concatenated>());
    return n;
  }
};

namespace detail {
template <class A, class B>
inline constexpr bool reorders_rows<Concatenated<A, B>> = reorders<B>();

/// Whether columns are equal but for their names.
template <class A, class B>
inline constexpr bool same_columns = false;
template <class... A, class... B>
requires(sizeof...(A) == sizeof...(B))
inline constexpr bool same_columns<Columns<A...>, Columns<B...>> =
    ((std::is_same_v<typename A::type, typename B::type> && std::is_same_v<typename A::shape, typename B::shape>) &&
     ...);
}  // namespace detail

/// The rows of the first data set, then the rows of the second, and so on: `concat(a, b)`, or `a + b`. They have
/// columns of the same dtypes and shapes. Batched data sets keep their batches: the last batch of the first data set
/// may be short.
template <Indexed A, Indexed B, Indexed... More>
auto concat(const A& a, const B& b, const More&... more) {
  constexpr bool same = detail::same_columns<typename A::columns, typename B::columns> && A::batched == B::batched;
  static_assert(same, "concat: the data sets have columns of different dtypes or shapes; bring them to the same with "
                      "map or project, and batch after concat");
  detail::check_any_order<A>();
  detail::check_any_order<B>();
  if constexpr (same) {
    if constexpr (sizeof...(More) == 0) return Concatenated<A, B>(a, b);
    else return concat(Concatenated<A, B>(a, b), more...);
  }
}
/// One data set after the other, as concat(a, b).
template <Indexed A, Indexed B>
auto operator+(const A& a, const B& b) {
  return concat(a, b);
}

}  // namespace tenon::dataset
