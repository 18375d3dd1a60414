// cache(...): rows that are computed once, for all epochs and processes of a session.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/dataset/cache/basic_dataset_cache.hpp>
#include <tenon/dataset/cache/packed_row.hpp>
#include <tenon/dataset/cache/pipeline_description.hpp>
#include <tenon/dataset/cache/store.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The rows of a data set, read from a store if it has them. Rows are bit-identical with and without a cache, and so
/// are the random numbers of later operations.
template <class D, class Store>
struct Cached : Behind<Cached<D, Store>, D> {
  std::shared_ptr<Store> store;
  CacheLimit limit;
  std::uint64_t pipeline;
  bool differs_by_epoch;

  Cached(const D& rows, std::shared_ptr<Store> where, CacheLimit most, const PipelineDescription& description,
         std::uint64_t number)
      : Behind<Cached, D>(rows),
        store(std::move(where)),
        limit(most),
        pipeline(number),
        differs_by_epoch(description.differs_by_epoch()) {}

  long size() const {
    if constexpr (D::counted) return this->data.size();
    else return count(0);  // else a caller before the first step, such as a Model, computes what is there
  }
  long count(std::uint64_t epoch) const requires(!D::counted)
  {
    const RowKey key = key_of(epoch, ~std::uint64_t{0});
    detail::PackedHead head;
    if (find(key, head, nullptr)) return static_cast<long>(head.samples);
    head.samples = this->data.count(epoch);
    note(key, head);
    return static_cast<long>(head.samples);
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const RowKey key = key_of(place.epoch, static_cast<std::uint64_t>(place.position));
    detail::PackedHead head;
    if (find(key, head, out)) {
      static_cast<SampleOrigin&>(scratch) = head.origin_in(place.epoch);
      return static_cast<long>(head.samples);
    }
    const long n = this->data.read(place, out, scratch);
    head = detail::PackedHead::of(n, scratch, place.epoch);
    const Scratch::Frame frame(scratch);
    if (n == 0) note(key, head);  // filter reads all that is left to know it
    else store->put(key, detail::packed_row<List>(head, out, scratch), limit);
    return n;
  }
  /// Rows come from the store: nothing is to be fetched from where they would be computed.
  void expect(Place) const = delete;

 private:
  using List = typename D::columns;

  RowKey key_of(std::uint64_t epoch, std::uint64_t position) const {
    return {pipeline, differs_by_epoch ? epoch : 0, position};
  }
  /// Without columns: only the head is there.
  bool find(const RowKey& key, detail::PackedHead& head, void* const* out) const {
    bool found = false;
    store->get(key, [&](std::span<const std::byte> row) {
      found = detail::unpack_row<List>(row, head, out, this->max_rows());
    });
    return found;
  }
  /// What is no row.
  void note(const RowKey& key, const detail::PackedHead& head) const {
    CacheLimit without_count = limit;
    without_count.counted = false;
    store->put(key, std::as_bytes(std::span(&head, 1)), without_count);
  }
};

struct CacheConfig {
  /// A custom key of the rows, in place of the description of the pipeline. It is required after a source without a
  /// description. Change the key whenever you change the rows.
  std::string key{};
  /// With a key: the row at a position differs from epoch to epoch.
  bool each_epoch = false;
};

namespace detail {
template <class D, class Store>
inline constexpr bool passes_rows_on<Cached<D, Store>> = true;

template <class Store>
struct CacheMaker {
  using makes_stage = void;
  BasicDatasetCache<Store> cache;
  CacheConfig config;

  template <class D>
  auto applied_to(const D& data) const {
    check_any_order<D>();
    constexpr bool one_shape = !requires { D::columns::buckets; };
    static_assert(one_shape, "cache keeps rows of one shape: write it before bucket_batch_by_length");
    PipelineDescription description;
    description.add_data(data);
    std::uint64_t number = description.number();
    if (!config.key.empty()) {
      PipelineDescription named;
      named.add(config.key, type_name<typename D::columns>());
      number = named.number();
      if (config.each_epoch) description.each_epoch_differs();
    } else if (!description.unknown().empty()) {
      throw_error<ValueError>("dataset::cache cannot tell the rows of this data set from those of another: it has ",
                              description.unknown(), ". Or name the rows: cache(..., {.key = \"what they are\"}).");
    }
    if (number == 0) number = 1;
    if (description.differs_by_epoch())
      logging::warning("dataset::cache comes after a stage whose rows are others in each epoch (shuffle, or a random "
                       "operation): each epoch is cached by itself, of use to programs with the same seed only. Write "
                       "cache before that stage.");
    return Cached<D, Store>(data, cache.attach(number), cache.limit(), description, number);
  }
};
}  // namespace detail

/// Stores the rows of the data set before it: `Mnist{...} | cache(DatasetCache{.session_id = id}) | shuffle(60000)`. In
/// the second epoch, in the next run, and in other processes with the same session the rows are read instead of
/// computed.
///
/// place    anywhere before prefetch, but not after a stream: after sources, maps, filter, zip, batch. Several caches
///          are allowed, and one DatasetCache in several pipelines. (MindSpore refuses batch, filter, repeat, skip,
///          take, and zip before a cache, most sources, and a second pipeline; Tenon has no reason for this.)
/// key      a description of the pipeline before it (pipeline_description.hpp): its types, parameters, content or time
///          of its files. If any of this changes, rows are computed again. A function of map is identified by the build
///          of its program or library, or by the name in keyed("name", f). A function with captures requires a name. So
///          does a function that reads a global variable or a file, or calls your own shared library: Tenon cannot see
///          these, and returns old rows when they change, unless they are a part of the name
/// random   after random operations (shuffle, a map with a Random&) each epoch and seed is cached separately, after a
///          warning; an epoch never gets the rows of another epoch. (MindSpore refuses random operations.)
/// failures if a store can no longer be read or written, one warning reports this, and rows are computed
/// throws   ValueError if a part of the pipeline has no description; the errors of opening the session
template <class Store>
auto cache(const BasicDatasetCache<Store>& where, CacheConfig config = {}) {
  return detail::CacheMaker<Store>{where, std::move(config)};
}

}  // namespace tenon::dataset
