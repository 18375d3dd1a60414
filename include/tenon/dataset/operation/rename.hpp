// rename<"old", "new">(): another name for a column.
#pragma once
#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class D, int I, FixedString Name>
struct Renamed : RowByRow<Renamed<D, I, Name>, D> {
  using Old = ColumnAt<typename D::columns, I>;
  using columns = WithColumn<typename D::columns, I, Column<typename Old::type, typename Old::shape, Name>>;
  static constexpr bool moves_samples = true;
  explicit Renamed(const D& rows) : RowByRow<Renamed, D>(rows) {}
  void describe(auto& d) const { d.add(I); }
};

namespace detail {
template <FixedString Name>
struct NameTaken {
  static constexpr Sentence sentence = Sentence{} << "rename: the data set already has a column \"" << Name.view()
                                                  << "\"; rename that one first";
};
}  // namespace detail

template <ColumnKey Key, FixedString Name>
struct RenameMaker {
  using makes_stage = void;
  template <class D>
  auto applied_to(const D& data) const {
    using List = typename D::columns;
    constexpr int I = column_place<List, Key>;
    constexpr int taken = column_place<List, ColumnKey(Name.text)>;
    if constexpr (I < 0) {
      using Wrong = Mistake<detail::MissingColumn<List, Key>>;
      return Wrong::corrected;
    } else if constexpr (taken >= 0 && taken != I) {
      using Wrong = Mistake<detail::NameTaken<Name>>;
      return Wrong::corrected;
    } else {
      return Renamed<D, I, Name>(data);
    }
  }
};

/// Gives a column another name: `rename<"image", "picture">()`, or `rename<0, "image">()` for one without a name.
template <ColumnKey Old, FixedString New>
constexpr RenameMaker<Old, New> rename() {
  return {};
}

}  // namespace tenon::dataset
