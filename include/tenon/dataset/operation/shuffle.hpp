// shuffle(buffer_size): a different order of the rows in each epoch.
#pragma once

#include <tenon/core/math/min_max.hpp>
#include <tenon/dataset/sampler/permutation.hpp>
#include <tenon/dataset/stage/seed.hpp>
#include <tenon/dataset/stage/stage.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::dataset {

template <class D>
struct Shuffled : Behind<Shuffled<D>, D> {
  static constexpr bool moves_samples = true;
  long window;
  std::uint64_t seed;

  Shuffled(const D& rows, long among, std::uint64_t number)
      : Behind<Shuffled<D>, D>(rows), window(among), seed(number) {}

  void describe(auto& d) const {
    d.add(window, seed);
    d.each_epoch_differs();
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const long all = rows_in(this->data, place.epoch);
    if (place.position >= all) return 0;
    return this->data.read(origin(place, all), out, scratch);
  }
  void expect(Place place) const requires(Foresighted<D> && D::counted)
  {
    const long all = rows_in(this->data, place.epoch);
    if (place.position < all) this->data.expect(origin(place, all));
  }

 private:
  /// The row before shuffling, of `all` in this epoch.
  Place origin(Place place, long all) const {
    const long number = place.position / window, first = number * window;
    const std::uint64_t key =
        hash_number(static_cast<std::uint64_t>(number), hash_number(place.epoch, hash_number(seed, 0)));
    const Permutation order(math::min(window, all - first), key);
    return {place.epoch, first + order(place.position - first)};
  }
};

namespace detail {
template <class D>
inline constexpr bool reorders_rows<Shuffled<D>> = true;
}  // namespace detail

struct ShuffleMaker {
  using makes_stage = void;
  long window;
  std::uint64_t seed;
  template <class D>
  auto applied_to(const D& data) const {
    detail::check_any_order<D>();
    return Shuffled<D>(data, window, seed);
  }
};

/// Shuffles the rows, in an order that depends only on (seed, epoch).
///
/// buffer_size >= size   a permutation of all rows
/// buffer_size < size    rows are permuted inside consecutive windows of buffer_size rows and do not leave them
///                       (MindSpore draws from a sliding buffer, in which a row can stay for any time)
/// after batch           whole batches change places, their content stays
/// seed                  by default the seed of dataset::set_seed, else the context's, at the time of this call
/// throws                ValueError if buffer_size < 1
inline ShuffleMaker shuffle(long buffer_size, std::uint64_t seed = default_seed()) {
  detail::check_at_least("shuffle", buffer_size, 1, "the buffer size");
  return {buffer_size, seed};
}

namespace detail {
template <class... A>
struct WrongShuffle {
  static constexpr Sentence sentence = Sentence{}
                                       << "shuffle takes the number of rows that it mixes: dataset::shuffle(1000)";
};
}  // namespace detail
template <class... A>
requires(sizeof...(A) == 0 || sizeof...(A) > 2 || !(std::convertible_to<A, long> && ...))
auto shuffle(const A&...) {
  using Wrong = Mistake<detail::WrongShuffle<A...>>;
  return Wrong::corrected;
}
template <Dataset D>
auto operator|(const D&, ShuffleMaker (*)(long, std::uint64_t)) {
  using Wrong = Mistake<detail::StageNotCalled<D>>;
  return Wrong::corrected;
}

}  // namespace tenon::dataset
TENON_INT_SIZES_END
