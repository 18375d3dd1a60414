// bucket_batch_by_length: batches of samples of about the same size; each bucket has a separate static shape.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/one_of.hpp>
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/batch/bucket_columns.hpp>
#include <tenon/dataset/batch/pad.hpp>
#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/operation/epoch_lists.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct BucketConfig {
  /// The padding value of columns without a value of their own.
  double pad_value = 0;
  /// Drops the short batches at the end of an epoch.
  bool drop_remainder = false;
};

namespace detail {
/// The extents that vary, of each bucket: Shape<32>, or Shape<24, 32>.
template <class... S>
struct BucketShapes {
  static constexpr std::size_t count = sizeof...(S);
};
template <int... Length>
constexpr BucketShapes<Shape<Length>...> shapes_of(OneOf<Length...>) {
  return {};
}
template <int... Extents>
constexpr BucketShapes<Shape<Extents...>> shapes_of(Shape<Extents...>) {
  return {};
}
template <class... A, class... B>
constexpr BucketShapes<A..., B...> operator+(BucketShapes<A...>, BucketShapes<B...>) {
  return {};
}
template <auto... Bucket>
using BucketsOf = decltype((BucketShapes<>{} + ... + shapes_of(tenon::detail::as_list<Bucket>())));

/// A ragged sample brought to a bucket: its extents that vary become the bucket's, all of them if that has only one.
template <class R, class S>
struct Fitted;
template <int... E, int... B>
struct Fitted<Ragged<E...>, Shape<B...>> {
  static constexpr int varying = ((E == any ? 1 : 0) + ...);
  static constexpr bool possible = sizeof...(B) == 1 || int(sizeof...(B)) == varying;
  static constexpr std::array<int, sizeof...(E)> extents = [] {
    constexpr int bucket[]{B...};
    std::array<int, sizeof...(E)> result{E...};
    std::size_t k = 0;
    for (int& extent : result)
      if (extent == any) extent = bucket[k], k += k + 1 < sizeof...(B);
    return result;
  }();
  template <std::size_t... I>
  static Shape<extents[I]...> shape(std::index_sequence<I...>);
  using type = decltype(shape(std::make_index_sequence<sizeof...(E)>{}));
};
template <class C, class S>
struct FittedColumn {
  using type = C;
};
template <class C, class S>
requires(C::ragged)
struct FittedColumn<C, S> {
  using type = Column<typename C::type, typename Fitted<typename C::shape, S>::type, C::name>;
};
template <class List, class S>
struct FittedColumns;
template <class... C, class S>
struct FittedColumns<Columns<C...>, S> {
  using type = Columns<typename FittedColumn<C, S>::type...>;
};
template <class C, class S>
constexpr bool column_fits() {
  if constexpr (C::ragged) return Fitted<typename C::shape, S>::possible;
  else return true;
}
template <class S, class... C>
constexpr bool all_fit(Columns<C...>) {
  return (column_fits<C, S>() && ...);
}
template <class... S, class List>
constexpr bool are_fitting(BucketShapes<S...>, List columns) {
  return (all_fit<S>(columns) && ...);
}
/// Whether the first shape has room for the second.
constexpr bool has_room(const TensorType& a, const TensorType& b) {
  for (int axis = 0; axis < a.rank; ++axis)
    if (a[axis] < b[axis]) return false;
  return true;
}
template <class... S>
constexpr bool are_buckets(BucketShapes<S...>) {
  constexpr TensorType shape[]{S::dims..., TensorType{}};
  constexpr int count = int(sizeof...(S));
  for (int k = 0; k < count; ++k) {
    if (shape[k].rank != shape[0].rank || shape[k].rank == 0) return false;
    for (int axis = 0; axis < shape[k].rank; ++axis)
      if (shape[k][axis] < 1) return false;
    for (int before = 0; before < k; ++before)
      if (has_room(shape[before], shape[k])) return false;
  }
  return count > 0;
}

/// What an epoch's list knows beside the samples of all batches, one batch after the other.
struct BucketBatches {
  std::vector<long> begin;  // of each batch
  std::vector<int> bucket;
  std::vector<std::vector<long>> open;  // of each bucket the samples that wait
};

/// The element that fills up samples of column C; samples of one shape need none.
template <class C>
std::array<std::byte, 8> fill_of(double value) {
  std::array<std::byte, 8> bytes{};
  if constexpr (C::ragged) {
    const auto element = fill_element<typename C::type>(value, C::name.view());
    std::memcpy(bytes.data(), &element, sizeof element);
  }
  return bytes;
}
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_sample(std::span<const std::int64_t> extents,
                                                                 std::string_view column,
                                                                 std::span<const std::int64_t> bucket, bool decides) {
  if (decides)
    throw_error<ValueError>("bucket_batch_by_length: a sample of ", shape_text(extents),
                            " is larger than the largest bucket, ", shape_text(bucket),
                            ": add a larger bucket, cut the sample, or leave it out with filter");
  throw_error<ValueError>("bucket_batch_by_length: column \"", column, "\" has ", shape_text(extents),
                          ", more than the bucket ", shape_text(bucket),
                          " of its sample: choose the bucket by the longest column");
}
}  // namespace detail

/// The batches of D, whose column I decides about the bucket. S... are the buckets.
template <class D, int I, class... S>
struct Bucketed : Behind<Bucketed<D, I, S...>, D> {
  using From = typename D::columns;
  using columns = BucketColumns<WithBatch<typename detail::FittedColumns<From, S>::type, dyn>...>;
  static constexpr bool batched = true, counted = false;  // only the samples' lengths say how many batches there are
  static constexpr std::size_t buckets = sizeof...(S);
  using Fills = std::array<std::array<std::byte, 8>, std::size_t(From::count)>;

  std::array<long, buckets> sizes;
  bool drop_remainder;
  Fills fills;
  using Lists = detail::EpochListsWith<detail::BucketBatches>;
  std::shared_ptr<Lists> lists = std::make_shared<Lists>();

  Bucketed(const D& samples, const std::array<long, buckets>& together, bool drop, const Fills& values)
      : Behind<Bucketed, D>(samples), sizes(together), drop_remainder(drop), fills(values) {}

  long max_rows() const {
    long most = 0;
    for (const long size : sizes) most = size > most ? size : most;
    return most;
  }
  void describe(auto& d) const {
    for (const long size : sizes) d.add(size);
    for (const auto& fill : fills) d.add_content(fill.data(), fill.size());
    d.add(I, drop_remainder);
  }
  long size() const { return count(0); }
  long count(std::uint64_t epoch) const {
    if (const auto known = lists->length(epoch)) return *known;
    Scratch scratch;
    const auto list = lists->of(epoch);
    const std::lock_guard lock(list->mutex);
    try {
      while (find_more(*list, epoch, scratch)) continue;
    } catch (...) {
      detail::rethrow_with_place({epoch, list->scanned}, scratch);
    }
    return static_cast<long>(list->bucket.size());
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const std::size_t batch = static_cast<std::size_t>(place.position);
    const auto list = lists->of(place.epoch);
    std::span<long> samples;
    {
      const std::lock_guard lock(list->mutex);
      while (list->bucket.size() <= batch)
        if (!find_more(*list, place.epoch, scratch)) return 0;
      const long begin = list->begin[batch];
      const std::size_t count = static_cast<std::size_t>(
          (batch + 1 < list->begin.size() ? list->begin[batch + 1] : static_cast<long>(list->numbers.size())) - begin);
      samples = {reinterpret_cast<long*>(scratch.bytes(count * sizeof(long))), count};
      std::memcpy(samples.data(), list->numbers.data() + begin, count * sizeof(long));
      scratch.bucket = list->bucket[batch];
    }
    for (std::size_t k = 0; k < samples.size(); ++k) read_sample({place.epoch, samples[k]}, long(k), out, scratch);
    return static_cast<long>(samples.size());
  }

 private:
  using Extents = std::span<const std::int64_t>;
  template <int c, class B>
  static constexpr Extents extents_in() {
    return {detail::DeclaredExtents<typename detail::FittedColumn<ColumnAt<From, c>, B>::type::shape>::value,
            std::size_t(ColumnAt<From, c>::shape::rank)};
  }
  template <int c>
  static Extents extents_of(int bucket) {
    static constexpr Extents all[]{extents_in<c, S>()...};
    return all[bucket];
  }

  /// Reads samples until more batches are known; false if the epoch has no others. The list is locked.
  bool find_more(typename Lists::List& list, std::uint64_t epoch, Scratch& scratch) const {
    list.open.resize(buckets);
    while (!list.complete) {
      const Scratch::Frame frame(scratch);
      void* row[From::count];
      each_column([&]<int c>(std::integral_constant<int, c>) {
        row[c] = detail::memory_between<ColumnAt<From, c>>(scratch, 1);
      });
      if (detail::read_if_there(this->data, {epoch, list.scanned}, row, scratch) == 0) {
        const std::size_t before = list.bucket.size();
        for (std::size_t bucket = 0; bucket < buckets && !drop_remainder; ++bucket)
          if (!list.open[bucket].empty()) close(list, bucket);
        list.complete = true;
        lists->set_length(epoch, static_cast<long>(list.bucket.size()));
        return list.bucket.size() > before;
      }
      const std::size_t bucket = bucket_of(SampleView<ColumnAt<From, I>>(row[I]).extents(), scratch);
      list.open[bucket].push_back(list.scanned++);
      if (static_cast<long>(list.open[bucket].size()) < sizes[bucket]) continue;
      close(list, bucket);
      return true;
    }
    return false;
  }
  static void close(typename Lists::List& list, std::size_t bucket) {
    list.begin.push_back(static_cast<long>(list.numbers.size()));
    list.bucket.push_back(static_cast<int>(bucket));
    list.numbers.insert(list.numbers.end(), list.open[bucket].begin(), list.open[bucket].end());
    list.open[bucket].clear();
  }
  static bool fits(Extents sample, Extents bucket) {
    for (std::size_t axis = 0; axis < sample.size(); ++axis)
      if (sample[axis] > bucket[axis]) return false;
    return true;
  }
  std::size_t bucket_of(Extents sample, Scratch& scratch) const {
    for (std::size_t bucket = 0; bucket < buckets; ++bucket)
      if (fits(sample, extents_of<I>(int(bucket)))) return bucket;
    scratch.operation = "bucket_batch_by_length";
    detail::refuse_sample(sample, ColumnAt<From, I>::name.view(), extents_of<I>(int(buckets) - 1), true);
  }
  /// Sample k of a batch, padded to the bucket of the scratch.
  void read_sample(Place place, long k, void* const* out, Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    void* sample[From::count];
    each_column([&]<int c>(std::integral_constant<int, c>) {
      using C = ColumnAt<From, c>;
      if constexpr (C::ragged) sample[c] = &scratch.ragged();
      else sample[c] = static_cast<std::byte*>(out[c]) + k * C::tensor_type.bytes(1);
    });
    this->data.read(place, sample, scratch);
    scratch.operation = "bucket_batch_by_length";
    each_column([&]<int c>(std::integral_constant<int, c>) {
      using C = ColumnAt<From, c>;
      if constexpr (C::ragged) {
        const RaggedValue& value = *static_cast<const RaggedValue*>(sample[c]);
        const Extents extents = extents_of<c>(scratch.bucket);
        if (!fits(value.extents(), extents)) detail::refuse_sample(value.extents(), C::name.view(), extents, false);
        std::int64_t bytes = sizeof(typename C::type);
        for (const std::int64_t extent : extents) bytes *= extent;
        detail::pad_sample(value.data(), value.extents(), static_cast<std::byte*>(out[c]) + k * bytes, extents,
                           fills[c].data(), sizeof(typename C::type));
      }
    });
  }
  template <class F>
  static void each_column(F f) {
    [&]<int... C>(std::integer_sequence<int, C...>) {
      (f(std::integral_constant<int, C>{}), ...);
    }(std::make_integer_sequence<int, From::count>{});
  }
};

/// The batch size of each bucket, or one for all: `{64, 32, 16}`, `32`.
template <std::size_t buckets>
struct BatchSizes {
  std::array<long, buckets> of{};
  template <std::convertible_to<long>... N>
  requires(sizeof...(N) > 0)
  BatchSizes(N... size) {
    constexpr bool one_or_each = sizeof...(N) == 1 || sizeof...(N) == buckets;
    static_assert(one_or_each, "bucket_batch_by_length takes a batch size for each bucket, {64, 32, 16}, or one for "
                               "all of them, 32");
    const long all[]{static_cast<long>(size)...};
    for (std::size_t k = 0; k < buckets; ++k) of[k] = all[k < sizeof...(N) ? k : 0];
    for (const long one : all) detail::check_at_least("bucket_batch_by_length", one, 1, "the batch size of a bucket");
  }
};

namespace detail {
template <ColumnKey Key, class Shapes, class... P>
struct BucketMaker {
  using makes_stage = void;
  std::array<long, Shapes::count> sizes;
  BucketConfig config;
  std::tuple<P...> pads;

  template <class D>
  auto applied_to(const D& data) const {
    using List = typename D::columns;
    constexpr int I = column_place<List, Key>;
    check_any_order<D>();
    if constexpr (I < 0) {
      using Wrong = Mistake<MissingColumn<List, Key>>;
      return Wrong::corrected;
    } else if constexpr (((column_place<List, P::key> < 0) || ...)) {
      using Wrong = Mistake<MissingColumn<List, P::key...>>;
      return Wrong::corrected;
    } else {
      constexpr bool single = !D::batched, varies = single && ColumnAt<List, I>::ragged;
      static_assert(single, "this data set is batched already: bucket_batch_by_length is in place of batch");
      static_assert(!single || varies, "bucket_batch_by_length<\"text\", 32, 64>: samples of this column must vary in "
                                       "size, so it is Ragged<any>, or Ragged<any, any, 3>; batch has equal ones");
      constexpr bool fit = !varies || are_fitting(Shapes{}, List{});
      static_assert(fit, "a bucket of bucket_batch_by_length has one extent, or as many as vary in each ragged column: "
                         "bucket_batch_by_length<\"image\", Shape<24, 32>{}, Shape<48, 64>{}> for Ragged<any, any, 3>");
      if constexpr (varies && fit) return made<I>(data, Shapes{});
    }
  }

 private:
  template <int I, class D, class... S>
  auto made(const D& data, BucketShapes<S...>) const {
    return Bucketed<D, I, S...>(data, sizes, config.drop_remainder, fills(typename D::columns{}));
  }
  template <class... C>
  std::array<std::array<std::byte, 8>, sizeof...(C)> fills(Columns<C...>) const {
    double value[sizeof...(C)];
    for (double& v : value) v = config.pad_value;
    ((value[column_place<Columns<C...>, P::key>] = std::get<P>(pads).value), ...);
    std::size_t k = 0;
    return {fill_of<C>(value[k++])...};
  }
};
template <ColumnKey Key, auto... Bucket, class... P>
auto bucket_maker(const auto& sizes, BucketConfig config, P... pads) {
  using Shapes = BucketsOf<Bucket...>;
  constexpr bool rising = are_buckets(Shapes{});
  static_assert(rising, "bucket_batch_by_length<\"text\", 32, 64, 128>: lengths rise, and no bucket fits into one "
                        "before it");
  return BucketMaker<Key, Shapes, P...>{sizes.of, config, {pads...}};
}
template <auto... Bucket>
using SizesFor = BatchSizes<BucketsOf<Bucket...>::count>;
template <class P>
concept PadsByBucket = requires(const P& p) {
  P::key;
  { p.value } -> std::convertible_to<double>;
};
}  // namespace detail

/// Batches of samples of about the same length, each batch with the shape of its bucket. Column Key, Ragged<any>,
/// decides: a sample goes to the first bucket that has room for it.
///
///     data | dataset::bucket_batch_by_length<"text", 32, 64, 128>({64, 32, 16}, dataset::pad<"next">(-100))
///
/// buckets      lengths that rise, lists of them (`range<16, 256, 16>`), or shapes of the extents that vary, as
///              `Shape<24, 32>{}, Shape<48, 64>{}` of images Ragged<any, any, 3>
/// batch_sizes  one for each bucket, or one for all
/// padding      all ragged columns of a sample are filled up at the end of each axis: with the value that
///              pad<"column">(value) gives, else with config.pad_value. No other column than Key may be longer
/// result       columns of Shape<dyn, 32>, or Shape<dyn, 64>, ...: Model trains and evaluates with a graph for each
///              bucket; `for (const auto& row : data) row.visit(f)` calls f, compiled for each, with a batch
/// order        a batch comes when its bucket is full; short ones come at the end, in the order of the buckets
/// cost         lengths are read from the samples, so that each sample is read twice: cache before it what is slow.
///              size(), which Model.train calls, reads all samples of epoch 0 once
/// throws       ValueError if a batch size is below 1, for a sample that is larger than the last bucket, and for a
///              padding that a column's dtype does not have
/// source       MindSpore's bucket_batch_by_length with pad_to_bucket_boundary, TensorFlow's bucket_by_sequence_length
template <ColumnKey Key, auto... Bucket, detail::PadsByBucket... P>
auto bucket_batch_by_length(detail::SizesFor<Bucket...> batch_sizes, P... pads) {
  return detail::bucket_maker<Key, Bucket...>(batch_sizes, BucketConfig{}, pads...);
}
template <ColumnKey Key, auto... Bucket, detail::PadsByBucket... P>
auto bucket_batch_by_length(detail::SizesFor<Bucket...> batch_sizes, BucketConfig config, P... pads) {
  return detail::bucket_maker<Key, Bucket...>(batch_sizes, config, pads...);
}

}  // namespace tenon::dataset
