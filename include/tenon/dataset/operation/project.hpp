// project<"image", "label">(): some of the columns, in this order.
#pragma once
#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
/// The columns I... of a list; where each bucket has a list, of each.
template <class List, int... I>
struct Chosen {
  using type = Columns<ColumnAt<List, I>...>;
};
template <class... List, int... I>
struct Chosen<BucketColumns<List...>, I...> {
  using type = BucketColumns<typename Chosen<List, I...>::type...>;
};
}  // namespace detail

template <class D, int... I>
struct Projected : RowByRow<Projected<D, I...>, D> {
  using columns = typename detail::Chosen<typename D::columns, I...>::type;
  explicit Projected(const D& rows) : RowByRow<Projected, D>(rows) {}

  void describe(auto& d) const { (d.add(I), ...); }
  long read(Place place, void* const* out, Scratch& scratch) const {
    void* before[D::columns::count]{};
    int next = 0;
    ((before[I] = out[next++]), ...);
    [&]<std::size_t... C>(std::index_sequence<C...>) {
      ((before[C] = before[C] ? before[C] : left_out<int(C)>(scratch)), ...);
    }(std::make_index_sequence<std::size_t(D::columns::count)>{});
    return this->data.read(place, before, scratch);
  }

 private:
  /// Memory for a column that is left out. Where there are buckets, it is enough for the largest.
  template <int C>
  void* left_out(Scratch& scratch) const {
    if constexpr (ColumnAt<typename D::columns, C>::ragged) return &scratch.ragged();
    else return scratch.bytes(std::size_t(D::columns::types[C].bytes(this->max_rows())));
  }
};

template <ColumnKey... Key>
struct ProjectMaker {
  using makes_stage = void;
  template <class D>
  auto applied_to(const D& data) const {
    using List = typename D::columns;
    constexpr bool there = ((column_place<List, Key> >= 0) && ...);
    if constexpr (!there) {
      using Wrong = Mistake<detail::MissingColumn<List, Key...>>;
      return Wrong::corrected;
    } else {
      constexpr bool once = [] {
        int times[List::count]{};
        return ((++times[column_place<List, Key>] == 1) && ...);
      }();
      static_assert(once, "project names a column twice");
      if constexpr (once) return Projected<D, column_place<List, Key>...>(data);
    }
  }
};

/// Keeps these columns, in this order, by name or position: `project<"image", "label">()`, `project<2, 0>()`.
template <ColumnKey... Key>
requires(sizeof...(Key) > 0)
constexpr ProjectMaker<Key...> project() {
  return {};
}

}  // namespace tenon::dataset
