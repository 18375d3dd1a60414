// zip(a, b): joins the columns of two data sets.
#pragma once
#include <algorithm>

#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
template <class A, class B>
struct Joined;
template <class... A, class... B>
struct Joined<Columns<A...>, Columns<B...>> {
  using type = Columns<A..., B...>;
  template <class C>
  static constexpr bool taken = ((!C::name.view().empty() && C::name.view() == A::name.view()) || ...);
  static constexpr bool distinct = !(taken<B> || ...);
  static constexpr Sentence sentence = [] {
    Sentence s;
    s << "zip: both data sets have a column";
    ((taken<B> ? void(s << " \"" << B::name.view() << "\"") : void()), ...);
    s << ": give it another name in one of them, dataset::rename<\"old\", \"new\">()";
    return s;
  }();
};
}  // namespace detail

/// Row i of A and row i of B as one row.
template <class A, class B>
struct Zipped : Behind<Zipped<A, B>, A> {
  using columns = typename detail::Joined<typename A::columns, typename B::columns>::type;
  static constexpr bool counted = A::counted && B::counted;
  B second;

  Zipped(const A& a, const B& b) : Behind<Zipped, A>(a), second(b) {}

  long size() const { return std::min(this->data.size(), second.size()); }
  long count(std::uint64_t epoch) const requires(!counted)
  {
    return std::min(rows_in(this->data, epoch), rows_in(second, epoch));
  }
  long max_rows() const { return std::max(this->data.max_rows(), second.max_rows()); }
  void describe(auto& d) const { d.add_data(second); }
  long read(Place place, void* const* out, Scratch& scratch) const {
    if (behind_end(this->data, place) || behind_end(second, place)) return 0;
    const long n = this->data.read(place, out, scratch);
    const SampleOrigin origin = scratch;
    const long m = n > 0 ? second.read(place, out + A::columns::count, scratch) : 0;
    if (n > 0 && m > 0 && n != m)
      throw_error<ValueError>("zip: row ", place.position, " of epoch ", place.epoch, " has ", n,
                              " samples in one data set and ", m, " in the other; batch after zip.");
    static_cast<SampleOrigin&>(scratch) = origin;  // random operations after draw by the first one's
    return std::min(n, m);
  }
  void abandon(std::uint64_t walk, const std::exception_ptr& failure) const { detail::abandon(second, walk, failure); }

 private:
  template <class D>
  static bool behind_end([[maybe_unused]] const D& rows, [[maybe_unused]] const Place& place) {
    if constexpr (D::counted) return place.position >= rows.size();
    else return false;
  }
};

namespace detail {
template <class A, class B>
inline constexpr bool streams_rows<Zipped<A, B>> = in_order<B>();
template <class A, class B>
inline constexpr bool reorders_rows<Zipped<A, B>> = reorders<B>();
}  // namespace detail

/// Joins the columns of data sets, row by row, up to the end of the shortest one: `zip(images, labels)`. No two columns
/// may have the same name. Random transforms with as many stages before them, in pipelines of one seed, draw the same
/// numbers for the samples of one number: an image and its mask are transformed alike. For two different views of an
/// image, create one of the pipelines after `dataset::set_seed(other)`.
template <Indexed A, Indexed B, Indexed... More>
auto zip(const A& a, const B& b, const More&... more) {
  using Both = detail::Joined<typename A::columns, typename B::columns>;
  constexpr bool alike = A::batched == B::batched;
  static_assert(alike, "zip: one data set is batched and the other is not; batch after zip");
  if constexpr (!Both::distinct) {
    using Wrong = Mistake<Both>;
    return Wrong::corrected;
  } else if constexpr (alike) {
    if constexpr (sizeof...(More) == 0) return Zipped<A, B>(a, b);
    else return zip(Zipped<A, B>(a, b), more...);
  }
}

}  // namespace tenon::dataset
