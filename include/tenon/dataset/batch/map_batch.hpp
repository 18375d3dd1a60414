// map_batch<"image", "label">(f): a function of whole batches.
#pragma once
#include <span>
#include <type_traits>
#include <utility>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/batch/batch_info.hpp>
#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/stage/seed.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The batches of D, changed where they lie.
template <class D, class F, int... I>
struct BatchMapped : RowByRow<BatchMapped<D, F, I...>, D> {
  F function;
  std::uint64_t seed;

  BatchMapped(const D& rows, F f, std::uint64_t number)
      : RowByRow<BatchMapped, D>(rows), function(std::move(f)), seed(number) {}

  /// The function receives the epoch.
  void describe(auto& d) const {
    (d.add(I), ...);
    d.add(seed);
    d.add_function(function);
    d.each_epoch_differs();
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const long n = this->data.read(place, out, scratch);
    if (n == 0) return 0;
    scratch.operation = "map_batch";
    const BatchInfo info{place.position, place.epoch, n};
    if constexpr (std::is_invocable_v<const F&, const BatchInfo&,
                                      std::span<typename ColumnAt<typename D::columns, I>::type>..., Random&>) {
      Random random(hash_number(static_cast<std::uint64_t>(place.position), hash_number(place.epoch, seed)));
      function(info, values<I>(out, n, scratch.bucket)..., random);
    } else {
      function(info, values<I>(out, n, scratch.bucket)...);
    }
    return n;
  }

 private:
  template <int C>
  static auto values(void* const* out, long n, [[maybe_unused]] int bucket) {
    using Changed = ColumnAt<typename D::columns, C>;
    using T = typename Changed::type;
    long count = Changed::tensor_type.count(n);
    if constexpr (requires { D::columns::types_of; }) count = D::columns::types_of[bucket][C].count(n);
    return std::span<T>(static_cast<T*>(out[C]), static_cast<std::size_t>(count));
  }
};

namespace detail {
template <class F, ColumnKey... Key>
struct BatchMapMaker {
  using makes_stage = void;
  F function;
  std::uint64_t seed;
  template <class D>
  auto applied_to(const D& data) const {
    using List = typename D::columns;
    constexpr bool there = ((column_place<List, Key> >= 0) && ...), batches = D::batched;
    static_assert(batches, "map_batch comes after batch; map is for single samples");
    if constexpr (!there) {
      using Wrong = Mistake<MissingColumn<List, Key...>>;
      return Wrong::corrected;
    } else if constexpr (batches) {
      constexpr bool callable =
          std::is_invocable_v<const F&, const BatchInfo&,
                              std::span<typename ColumnAt<List, column_place<List, Key>>::type>...> ||
          std::is_invocable_v<const F&, const BatchInfo&,
                              std::span<typename ColumnAt<List, column_place<List, Key>>::type>..., Random&>;
      static_assert(callable, "map_batch<\"image\">(f): f takes (BatchInfo, std::span<T>...), a span of all samples of "
                              "each column named, and may take a Random& after them");
      if constexpr (callable)
        return BatchMapped<D, F, column_place<List, Key>...>(data, function, hash_number(stages_before<D>(), seed));
    }
  }
};
}  // namespace detail

/// Changes columns of whole batches in place: `map_batch<"image">([](BatchInfo info, std::span<float> x) { ... })`. If
/// the function has a further parameter Random&, its numbers depend only on the seed, the epoch, and the batch. Source:
/// per_batch_map of MindSpore's batch.
template <ColumnKey... Key, class F>
requires(sizeof...(Key) > 0)
auto map_batch(F function) {
  return detail::BatchMapMaker<F, Key...>{std::move(function), default_seed()};
}

}  // namespace tenon::dataset
