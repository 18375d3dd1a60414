// bucket_batch_by_length: batches of samples of about the same length; each bucket has a separate static shape.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/batch/pad.hpp>
#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct BucketConfig {
  /// The padding value of shorter samples.
  double pad_value = 0;
  /// Drops the short batches at the end of an epoch.
  bool drop_remainder = false;
};

namespace detail {
template <class D, int I, int Length>
using BucketColumns = WithBatch<typename Padded<D, I, Shape<Length>>::columns, dyn>;
}  // namespace detail

/// The batches of bucket_batch_by_length, in the order in which their buckets became full. Its rows have no common
/// type: next(f) calls f with one, so that f is compiled for each bucket.
template <class D, int I, int... Length>
class BucketedRows {
 public:
  static constexpr std::size_t buckets = sizeof...(Length);
  using List = typename D::columns;

  BucketedRows(const D& data, const std::array<long, buckets>& sizes, const BucketConfig& config)
      : state_(std::make_unique<State>(data, sizes, config)) {}

  void start(std::uint64_t epoch, long position = 0) {
    State& s = *state_;
    s.epoch = epoch;
    s.scanned = 0;
    s.ended = false;
    for (auto& open : s.open) open.clear();
    s.position = 0;
    s.scratch.walk = {s.scratch.walk.number + 1, true};
    while (s.position < position && find_batch()) ++s.position;
  }
  /// Of the batch that next() visits.
  long position() const { return state_->position; }
  /// Calls visit with the next batch, a Row whose column is Shape<dyn, Length> of its bucket. False at the end.
  template <class F>
  bool next(const F& visit) {
    if (!find_batch()) return false;
    ++state_->position;
    visit_bucket(visit, std::index_sequence_for<std::integral_constant<int, Length>...>{});
    return true;
  }

 private:
  struct State {
    State(const D& set, const std::array<long, buckets>& batch_sizes, const BucketConfig& how)
        : data(set),
          sizes(batch_sizes),
          config(how),
          sample(1),
          padded{Padded<D, I, Shape<Length>>(set, static_cast<typename ColumnAt<List, I>::type>(how.pad_value))...},
          memory(made(batch_sizes, std::make_index_sequence<buckets>{})) {}
    template <std::size_t... B>
    static auto made(const std::array<long, buckets>& sizes, std::index_sequence<B...>) {
      return std::tuple<detail::RowBuffer<detail::BucketColumns<D, I, Length>>...>(
          detail::RowBuffer<detail::BucketColumns<D, I, Length>>(sizes[B])...);
    }

    D data;
    std::array<long, buckets> sizes;
    BucketConfig config;
    detail::RowBuffer<List> sample;
    std::tuple<Padded<D, I, Shape<Length>>...> padded;
    std::tuple<detail::RowBuffer<detail::BucketColumns<D, I, Length>>...> memory;
    Scratch scratch;
    std::uint64_t epoch = 0;
    long scanned = 0, position = 0;
    bool ended = false;
    std::array<std::vector<long>, buckets> open;  // the samples of each bucket that wait
    std::size_t bucket = 0;                       // of the batch that was found
    std::vector<long> rows;
  };

  /// Reads samples until a bucket is full, then those that are left. Each sample is read again for its batch.
  bool find_batch() {
    State& s = *state_;
    while (!s.ended) {
      if ((D::counted && s.scanned >= s.data.size()) || !s.sample.read(s.data, {s.epoch, s.scanned}, s.scratch)) {
        s.ended = true;
        break;
      }
      const std::size_t bucket = bucket_of(SampleView<ColumnAt<List, I>>(s.sample.row().column[I]).count());
      s.open[bucket].push_back(s.scanned++);
      if (static_cast<long>(s.open[bucket].size()) == s.sizes[bucket]) return take(bucket);
    }
    for (std::size_t bucket = 0; bucket < buckets && !s.config.drop_remainder; ++bucket)
      if (!s.open[bucket].empty()) return take(bucket);
    return false;
  }
  bool take(std::size_t bucket) {
    state_->bucket = bucket;
    state_->rows = std::move(state_->open[bucket]);
    state_->open[bucket].clear();
    return true;
  }
  std::size_t bucket_of(std::int64_t length) const {
    constexpr std::int64_t most[]{Length...};
    for (std::size_t bucket = 0; bucket < buckets; ++bucket)
      if (length <= most[bucket]) return bucket;
    throw_error<ValueError>("bucket_batch_by_length: sample ", state_->scanned, " of epoch ", state_->epoch, " has ",
                            length, " elements, more than the largest bucket, ", most[buckets - 1],
                            "; add a larger one, or leave such samples out with filter.");
  }

  template <class F, std::size_t... B>
  void visit_bucket(const F& visit, std::index_sequence<B...>) {
    ((state_->bucket == B ? visit(batch<B>()) : void()), ...);
  }
  template <std::size_t B>
  const auto& batch() {
    State& s = *state_;
    auto& memory = std::get<B>(s.memory);
    memory.let_go();
    memory.read(JoinedSamples<B>{std::get<B>(s.padded), s.rows}, {s.epoch, s.position - 1}, s.scratch);
    return memory.row();
  }
  /// Samples by their numbers, as one row.
  template <std::size_t B>
  struct JoinedSamples {
    using From = std::tuple_element_t<B, std::tuple<Padded<D, I, Shape<Length>>...>>;
    const From& samples;
    const std::vector<long>& rows;
    long read(Place place, void* const* out, Scratch& scratch) const {
      void* sample[List::count];
      long n = 0;
      for (const long row : rows) {
        for (int c = 0; c < List::count; ++c)
          sample[c] = static_cast<std::byte*>(out[c]) + n * From::columns::types[c].bytes(1);
        const Scratch::Frame frame(scratch);
        n += samples.read({place.epoch, row}, sample, scratch);
      }
      return n;
    }
  };

  std::unique_ptr<State> state_;
};

/// What bucket_batch_by_length returns.
template <class D, int I, int... Length>
struct Bucketed {
  D data;
  std::array<long, sizeof...(Length)> sizes;
  BucketConfig config;

  BucketedRows<D, I, Length...> open() const { return {data, sizes, config}; }
  /// Calls visit with each batch of an epoch.
  template <class F>
  void each(std::uint64_t epoch, const F& visit) const {
    auto rows = open();
    rows.start(epoch);
    while (rows.next(visit)) continue;
  }
};

/// Batches samples of similar length, which reduces padding. Column Key is Ragged<any>. With lengths 16 and 64, samples
/// of up to 16 elements become batches of Shape<dyn, 16>, and longer ones become batches of Shape<dyn, 64>:
///   const auto batches = bucket_batch_by_length<"text", 16, 64>(data, {32, 8});    // 32 short ones, or 8 long ones
///   batches.each(epoch, [&](const auto& batch) { step(batch.template get<"text">(), ...); });
/// Shapes are known at compile time, so the code that uses a batch is compiled for each bucket. All other columns have
/// samples of one shape. A batch is returned when its bucket is full; short batches follow at the end, in the order of
/// length. Throws ValueError if a batch size is below 1, and when a sample is longer than the last bucket. Source:
/// MindSpore's bucket_batch_by_length, whose last bucket has no bound.
template <ColumnKey Key, int... Length, Indexed D>
auto bucket_batch_by_length(const D& data, const std::array<long, sizeof...(Length)>& batch_sizes,
                            BucketConfig config = {}) {
  using Columns = typename D::columns;
  constexpr int I = column_place<Columns, Key>;
  constexpr bool rising = sizeof...(Length) > 0 && [] {
    constexpr int most[]{Length..., 0};
    return std::is_sorted(most, most + sizeof...(Length)) && most[0] > 0;
  }();
  static_assert(rising, "bucket_batch_by_length<\"text\", 16, 64>: the lengths of the buckets rise");
  detail::check_any_order<D>();
  if constexpr (I < 0) {
    using Wrong = Mistake<detail::MissingColumn<Columns, Key>>;
    return Wrong::corrected;
  } else {
    constexpr bool one_ragged = !D::batched && [] {
      int count = 0;
      for (const bool ragged : Columns::ragged) count += ragged;
      return count == 1 && Columns::ragged[I] && ColumnAt<Columns, I>::shape::rank == 1;
    }();
    static_assert(one_ragged,
                  "bucket_batch_by_length: the column is Ragged<any>, and the only ragged one; before batch");
    for (const long size : batch_sizes)
      detail::check_at_least("bucket_batch_by_length", size, 1, "the batch size of a bucket");
    if constexpr (one_ragged && rising) return Bucketed<D, I, Length...>{data, batch_sizes, config};
  }
}

}  // namespace tenon::dataset
