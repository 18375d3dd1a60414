// skip(count): without the first rows.
#pragma once
#include <algorithm>
#include <limits>

#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class D>
struct Skipped : Behind<Skipped<D>, D> {
  static constexpr bool moves_samples = true;
  long left_out;

  Skipped(const D& rows, long count) : Behind<Skipped<D>, D>(rows), left_out(count) {}

  long size() const { return behind(this->data.size()); }
  long count(std::uint64_t epoch) const requires(!D::counted)
  {
    return behind(this->data.count(epoch));
  }
  void describe(auto& d) const { d.add(left_out); }
  void expect(Place place) const requires Foresighted<D>
  {
    if (can_be(place)) this->data.expect({place.epoch, place.position + left_out});
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    return can_be(place) ? this->data.read({place.epoch, place.position + left_out}, out, scratch) : 0;
  }

 private:
  // No row is at a position that a long does not hold.
  bool can_be(Place place) const { return place.position <= std::numeric_limits<long>::max() - left_out; }
  long behind(long rows) const { return rows == detail::endless ? rows : std::max(rows - left_out, 0L); }
};

struct SkipMaker {
  using makes_stage = void;
  long count;
  template <class D>
  auto applied_to(const D& data) const {
    constexpr bool same_rows = !detail::reorders<D>();
    static_assert(same_rows,
                  "skip must come before shuffle and random samplers: after them, other rows are left out in each "
                  "epoch, and a take of the same rows would share some with it; split makes disjoint parts");
    return Skipped<D>(data, count);
  }
};

/// All samples except the first count; after batch, all batches except the first count. Throws ValueError if count < 0.
/// After a shuffle or a random sampler it does not compile: each epoch has another order, so `shuffle | skip(n)` and
/// `shuffle | take(n)` would share rows. Source: MindSpore's skip.
inline SkipMaker skip(long count) {
  detail::check_at_least("skip", count, 0, "the number of rows");
  return {count};
}

}  // namespace tenon::dataset
