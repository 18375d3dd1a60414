// take(count): the first rows only.
#pragma once
#include <algorithm>

#include <tenon/dataset/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class D>
struct Taken : Stage<Taken<D>> {
  using columns = typename D::columns;
  static constexpr bool batched = D::batched;
  D data;
  long count;

  Taken(const D& rows, long most) : data(rows), count(most) {}

  long size() const { return std::min(count, data.size()); }
  long max_rows() const { return data.max_rows(); }
  std::size_t scratch_bytes() const { return data.scratch_bytes(); }
  long read(Place place, void* const* out, std::byte* scratch) const { return data.read(place, out, scratch); }
};

struct TakeMaker {
  using makes_stage = void;
  long count;
  template <class D>
  auto applied_to(const D& data) const {
    return Taken<D>(data, count);
  }
};

/// The first count samples, or batches after batch; all of them if there are fewer. After shuffle these are others in
/// each epoch. Throws ValueError if count < 1 (MindSpore's take(-1) is a data set without take).
inline TakeMaker take(long count) {
  detail::check_at_least("take", count, 1, "the number of rows");
  return {count};
}

}  // namespace tenon::dataset
