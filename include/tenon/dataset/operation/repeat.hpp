// repeat(count): repeats the data set within one epoch.
#pragma once
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class D>
struct Repeated : Behind<Repeated<D>, D> {
  static constexpr bool moves_samples = true;
  long passes;

  Repeated(const D& rows, long times) : Behind<Repeated<D>, D>(rows), passes(times) {
    long product = 0;
    if (D::counted && __builtin_mul_overflow(rows.size(), passes, &product))
      throw_error<ValueError>("repeat(", passes, ") of ", rows.size(),
                              " rows makes more rows than can be counted; use fewer.");
  }

  long size() const {
    if constexpr (D::counted) return passes * this->data.size();
    else return count(0);
  }
  long count(std::uint64_t epoch) const requires(!D::counted)
  {
    long rows = 0;
    for (long pass = 0; pass < passes; ++pass) rows += this->data.count(inner_epoch(epoch, pass));
    return rows;
  }
  void describe(auto& d) const { d.add(passes); }
  /// For the stages before it each pass is a separate epoch, so a shuffle gives a new order.
  long read(Place place, void* const* out, Scratch& scratch) const {
    long pass = 0, position = place.position;
    if constexpr (D::counted) {
      pass = position / this->data.size();
      position -= pass * this->data.size();
    } else {
      long rows = 0;
      while (pass < passes && position >= (rows = this->data.count(inner_epoch(place.epoch, pass)))) {
        position -= rows;
        ++pass;
      }
    }
    if (pass >= passes) return 0;
    const long n = this->data.read({inner_epoch(place.epoch, pass), position}, out, scratch);
    scratch.passes *= static_cast<std::uint64_t>(passes);
    return n;
  }

 private:
  std::uint64_t inner_epoch(std::uint64_t epoch, long pass) const {
    return epoch * static_cast<std::uint64_t>(passes) + static_cast<std::uint64_t>(pass);
  }
};

namespace detail {
template <class D>
inline constexpr bool is_repeated = false;
template <class D>
inline constexpr bool is_repeated<Repeated<D>> = true;
}  // namespace detail

struct RepeatMaker {
  using makes_stage = void;
  long count;
  template <class D>
  auto applied_to(const D& data) const {
    detail::check_any_order<D>();
    return Repeated<D>(data, count);
  }
};

/// Repeats the data set count times; a shuffle before it gives a different order each time. A batch after it crosses
/// the seams. Throws ValueError if count < 1.
inline RepeatMaker repeat(long count) {
  detail::check_at_least("repeat", count, 1, "the number of passes");
  return {count};
}

}  // namespace tenon::dataset
