// batch(64, f): batches whose sizes a function gives.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/batch/batch_info.hpp>
#include <tenon/dataset/operation/epoch_lists.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Batches of D of as many samples as a function says, batch_size at most. The begin of a batch is the sum of the sizes
/// before it, which is computed while the epoch is read, once for all threads.
template <class D, class F>
struct BatchedOfSize : Behind<BatchedOfSize<D, F>, D> {
  using columns = WithBatch<typename D::columns, dyn>;
  static constexpr bool batched = true, counted = false;  // each epoch may have other sizes
  long batch_size;
  F function;
  std::shared_ptr<detail::EpochLists> lists = std::make_shared<detail::EpochLists>();  // where batches begin

  BatchedOfSize(const D& samples, long most, F f)
      : Behind<BatchedOfSize, D>(samples), batch_size(most), function(std::move(f)) {
    if (D::counted && samples.size() == 0) detail::refuse_batch(batch_size, 0);
  }

  long max_rows() const { return D::counted ? std::min(batch_size, this->data.size()) : batch_size; }
  /// The function receives the epoch.
  void describe(auto& d) const {
    d.add(batch_size);
    d.add_function(function);
    d.each_epoch_differs();
  }
  long size() const { return count(0); }
  /// Asks for all sizes of the epoch; of a stream, which has no end yet, it is the number of samples.
  long count(std::uint64_t epoch) const {
    const long samples = rows_in(this->data, epoch);
    if (detail::in_order<D>()) return samples;
    if (const auto known = lists->length(epoch)) return *known;
    long batches = 0;
    while (span_of({epoch, batches}, samples).second > 0) ++batches;
    lists->set_length(epoch, batches);
    return batches;
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    scratch.begins(Scratch::no_sample, place.epoch);
    scratch.operation = "batch";
    const auto [first, n] = span_of(place, D::counted ? this->data.size() : detail::endless);
    return detail::read_samples(this->data, {place.epoch, first}, n, out, scratch);
  }

 private:
  /// The first sample of a batch, and how many it has: 0 after `end`. Others wait while the function is asked.
  std::pair<long, long> span_of(Place place, long end) const {
    const auto list = lists->of(place.epoch);
    const std::lock_guard lock(list->mutex);
    auto& begins = list->numbers;
    if (begins.empty()) begins.push_back(0);
    const std::size_t batch = static_cast<std::size_t>(place.position);
    while (begins.size() <= batch + 1 && begins.back() < end)
      begins.push_back(begins.back() + asked_size(static_cast<long>(begins.size()) - 1, place.epoch));
    if (begins.size() <= batch + 1 || begins[batch] >= end) return {end, 0};
    return {begins[batch], begins[batch + 1] - begins[batch]};
  }
  long asked_size(long batch, std::uint64_t epoch) const {
    const long n = static_cast<long>(function(BatchInfo{batch, epoch, batch_size}));
    if (n < 1 || n > batch_size)
      throw_error<ValueError>("batch(", batch_size, ", f): f gives batch ", batch, " of epoch ", epoch, " a size of ",
                              n, "; 1 to ", batch_size, " samples are possible.");
    return n;
  }
};

namespace detail {
template <class F>
struct BatchOfSizeMaker {
  using makes_stage = void;
  long batch_size;
  F function;
  template <class D>
  auto applied_to(const D& data) const {
    using Usual = decltype(BatchMaker<dyn>{}.applied_to(data));  // says what is wrong with the data
    if constexpr (!std::is_void_v<Usual>) return BatchedOfSize<D, F>(data, batch_size, function);
  }
};
template <class F>
concept GivesSize =
    std::is_invocable_v<const F&, const BatchInfo&> && std::integral<std::invoke_result_t<const F&, const BatchInfo&>>;
template <std::convertible_to<long> N, GivesSize F>
inline constexpr bool is_batch_call<N, F> = true;
}  // namespace detail

/// Batches whose size a function returns, from 1 to `most`; the last batch has the remaining samples: `batch(64,
/// [](const BatchInfo& info) { return info.batch_num < 100 ? 16 : 64; })`. Shape<...> becomes Shape<dyn, ...>, as with
/// batch(n).
///
/// f        is called once per batch and kept epoch, one thread at a time, with batch_num, epoch_num, and n = most; the
///          same numbers must give the same size. Of a stream or after filter it may be asked for batches after the
///          end, too
/// rows     as many as the sizes give: size() asks for those of epoch 0; so do repeat, shuffle, and shard after it,
///          for each epoch
/// memory   for batches of `most` samples, and 8 bytes per batch of an epoch
/// Throws ValueError if most < 1, and at the batch whose size is not in 1 .. most.
/// Source: MindSpore's batch with a function of BatchInfo, which sets no most.
template <detail::GivesSize F>
auto batch(long most, F f) {
  detail::check_at_least("batch", most, 1, "the batch size");
  return detail::BatchOfSizeMaker<F>{most, std::move(f)};
}

}  // namespace tenon::dataset
