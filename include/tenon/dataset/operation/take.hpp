// take(count): only the first rows.
#pragma once

#include <tenon/core/math/min_max.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class D>
struct Taken : RowByRow<Taken<D>, D> {
  static constexpr bool moves_samples = true;
  long most;

  Taken(const D& rows, long count) : RowByRow<Taken<D>, D>(rows), most(count) {}

  long size() const { return math::min(most, this->data.size()); }
  long count(std::uint64_t epoch) const requires(!D::counted)
  {
    return math::min(most, this->data.count(epoch));
  }
  void describe(auto& d) const { d.add(most); }
  long read(Place place, void* const* out, Scratch& scratch) const {
    return place.position < most ? this->data.read(place, out, scratch) : 0;
  }
};

struct TakeMaker {
  using makes_stage = void;
  long count;
  template <class D>
  auto applied_to(const D& data) const {
    return Taken<D>(data, count);
  }
};

/// The first count samples; after batch, the first count batches; all of them if there are fewer. After shuffle these
/// samples differ in each epoch, so the remaining rows are no separate test set; use split to make one. Throws
/// ValueError if count < 1 (MindSpore's take(-1) is a data set without take).
inline TakeMaker take(long count) {
  detail::check_at_least("take", count, 1, "the number of rows");
  return {count};
}

}  // namespace tenon::dataset
