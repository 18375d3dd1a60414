// repeat(count): the data set several times in one epoch.
#pragma once
#include <tenon/dataset/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class D>
struct Repeated : Stage<Repeated<D>> {
  using columns = typename D::columns;
  static constexpr bool batched = D::batched;
  D data;
  long count;

  Repeated(const D& rows, long times) : data(rows), count(times) {
    long product = 0;
    if (__builtin_mul_overflow(data.size(), count, &product))
      throw_error<ValueError>("repeat(", count, ") of ", data.size(),
                              " rows makes more rows than can be counted; use fewer.");
  }

  long size() const { return count * data.size(); }
  long max_rows() const { return data.max_rows(); }
  std::size_t scratch_bytes() const { return data.scratch_bytes(); }
  /// Each pass is an epoch of its own to the stages before, so that they shuffle anew.
  long read(Place place, void* const* out, std::byte* scratch) const {
    const long pass = place.position / data.size();
    const std::uint64_t epoch = place.epoch * static_cast<std::uint64_t>(count) + static_cast<std::uint64_t>(pass);
    return data.read({epoch, place.position - pass * data.size()}, out, scratch);
  }
};

struct RepeatMaker {
  using makes_stage = void;
  long count;
  template <class D>
  auto applied_to(const D& data) const {
    return Repeated<D>(data, count);
  }
};

/// The data set count times; a shuffle before it gives another order each time. A batch after it crosses the seams.
/// Throws ValueError if count < 1.
inline RepeatMaker repeat(long count) {
  detail::check_at_least("repeat", count, 1, "the number of passes");
  return {count};
}

}  // namespace tenon::dataset
