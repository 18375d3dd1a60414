// sample(sampler): which rows an epoch has, and in which order.
#pragma once
#include <concepts>
#include <cstdint>
#include <utility>

#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Used by samplers: the row at a position, and a number that tells it from the same row at another position; 0 where a
/// row comes once at most.
struct Drawn {
  long row = 0;
  std::uint64_t again = 0;
};

/// A sampler that has seen how many rows there are. `rows` is their number in this epoch.
template <class S>
concept Sampler = requires(const S& sampler, long position, long rows, std::uint64_t epoch) {
  { S::reorders } -> std::convertible_to<bool>;  // from epoch to epoch
  { sampler.size(rows) } -> std::convertible_to<long>;
  { sampler.draw(position, rows, epoch) } -> std::convertible_to<Drawn>;
};
/// What sample(...) takes: prepared(rows) checks itself against a number of rows and returns a Sampler.
template <class S>
concept SamplerSettings = requires(const S& settings, long rows) {
  { settings.prepared(rows) } -> Sampler;
};

/// The rows of D that a sampler draws.
template <class D, Sampler S>
struct Sampled : Behind<Sampled<D, S>, D> {
  static constexpr bool moves_samples = true;
  S sampler;

  Sampled(const D& rows, S s) : Behind<Sampled, D>(rows), sampler(std::move(s)) {}

  long size() const { return sampler.size(this->data.size()); }
  long count(std::uint64_t epoch) const requires(!D::counted)
  {
    return sampler.size(this->data.count(epoch));
  }
  void describe(auto& d) const {
    d.add_value(sampler);
    if constexpr (S::reorders && !requires { sampler.describe(d); }) d.each_epoch_differs();
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const long rows = rows_in(this->data, place.epoch);
    if (place.position >= sampler.size(rows)) return 0;
    const Drawn drawn = sampler.draw(place.position, rows, place.epoch);
    const long n = this->data.read({place.epoch, drawn.row}, out, scratch);
    // a row that comes twice is augmented in two ways
    if (drawn.again) scratch.told_apart_by(drawn.again);
    return n;
  }
};

namespace detail {
template <class D, Sampler S>
inline constexpr bool reorders_rows<Sampled<D, S>> = S::reorders;

/// Throws ValueError if num_samples < 0. 0 stands for all, and there are no more than that.
inline long samples_among(const char* sampler, long num_samples, long all) {
  if (num_samples < 0)
    throw_error<ValueError>(sampler, ": num_samples is ", num_samples, "; it must be 1 or more, or 0 for all.");
  return num_samples == 0 || num_samples > all ? all : num_samples;
}
inline std::uint64_t sampler_key(std::uint64_t seed, std::uint64_t epoch) {
  return hash_number(epoch, hash_number(seed, 0));
}

template <class S>
struct SampleMaker {
  using makes_stage = void;
  S settings;
  template <class D>
  auto applied_to(const D& data) const {
    constexpr bool is_counted = D::counted;
    check_any_order<D>();
    static_assert(is_counted, "a sampler needs the number of rows, which filter and flat_map do not know: write it "
                              "before them");
    if constexpr (is_counted) return Sampled(data, settings.prepared(data.size()));
  }
};
}  // namespace detail

/// Selects rows with a sampler: `data | sample(RandomSampler{.replacement = true, .num_samples = 1000})`. Before batch
/// it draws samples, after it batches. If a row is drawn several times in an epoch, its random augmentation differs
/// each time.
template <SamplerSettings S>
auto sample(S sampler) {
  return detail::SampleMaker<S>{std::move(sampler)};
}

}  // namespace tenon::dataset
