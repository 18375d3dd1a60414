// flat_map<"file">(f): each row becomes the rows of a data set.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/operation/epoch_lists.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The rows of the data sets E that a function makes of the rows of D.
template <class D, class E, class F, int... I>
struct FlatMapped : Behind<FlatMapped<D, E, F, I...>, D> {
  using columns = typename E::columns;
  static constexpr bool counted = false, batched = E::batched;
  F function;
  struct State {
    detail::EpochLists ends;  // of the rows before: how many rows come of those up to it
    std::mutex mutex;
    std::uint64_t epoch = 0;
    long row = -1;
    std::shared_ptr<const E> last;  // made of that row
  };
  std::shared_ptr<State> state = std::make_shared<State>();

  FlatMapped(const D& rows, F f) : Behind<FlatMapped, D>(rows), function(std::move(f)) {}

  long size() const { return count(0); }
  long max_rows() const { return 1; }
  long count(std::uint64_t epoch) const {
    if (const auto known = state->ends.length(epoch)) return *known;
    Scratch scratch;
    const auto list = state->ends.of(epoch);
    const std::lock_guard lock(list->mutex);
    try {
      while (extend(*list, epoch, scratch)) continue;
    } catch (...) {
      detail::rethrow_with_place({epoch, list->scanned}, scratch);
    }
    return list->numbers.empty() ? 0 : list->numbers.back();
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const auto list = state->ends.of(place.epoch);
    long row = 0;
    {
      const std::lock_guard lock(list->mutex);
      const std::vector<long>& ends = list->numbers;
      while (ends.empty() || place.position >= ends.back())
        if (!extend(*list, place.epoch, scratch)) return 0;
      row = std::upper_bound(ends.begin(), ends.end(), place.position) - ends.begin();
      if (row > 0) place.position -= ends[static_cast<std::size_t>(row - 1)];
    }
    const auto inner = made_of(place.epoch, row, scratch);
    const long n = inner->read(place, out, scratch);
    scratch.told_apart_by(static_cast<std::uint64_t>(row));  // sample 0 comes of each row
    return n;
  }

 private:
  bool extend(detail::EpochLists::List& list, std::uint64_t epoch, Scratch& scratch) const {
    if (list.complete) return false;
    const auto inner = made_of(epoch, list.scanned, scratch);
    const long before = list.numbers.empty() ? 0 : list.numbers.back();
    if (inner) {
      list.numbers.push_back(before + rows_in(*inner, epoch));
      ++list.scanned;
    } else {
      list.complete = true;
      state->ends.set_length(epoch, before);
    }
    return !list.complete;
  }
  /// The data set of a row, which is asked for again and again.
  std::shared_ptr<const E> made_of(std::uint64_t epoch, long row, Scratch& scratch) const {
    const std::lock_guard lock(state->mutex);
    if (state->last && state->epoch == epoch && state->row == row) return state->last;
    const Scratch::Frame frame(scratch);
    void* before[D::columns::count];
    [&]<std::size_t... C>(std::index_sequence<C...>) {
      ((before[C] = detail::memory_between<ColumnAt<typename D::columns, int(C)>>(scratch, 1)), ...);
    }(std::make_index_sequence<std::size_t(D::columns::count)>{});
    if (detail::read_if_there(this->data, {epoch, row}, before, scratch) == 0) return nullptr;
    scratch.operation = "flat_map";
    state->last =
        std::make_shared<const E>(function(detail::sample_in<ColumnAt<typename D::columns, I>>(before[I])...));
    state->epoch = epoch;
    state->row = row;
    return state->last;
  }
};

namespace detail {
template <class F, ColumnKey... Key>
struct FlatMapMaker {
  using makes_stage = void;
  F function;
  template <class D>
  auto applied_to(const D& data) const {
    using List = typename D::columns;
    constexpr bool there = ((column_place<List, Key> >= 0) && ...), single = !D::batched;
    static_assert(single, "flat_map looks at one sample at a time: write it before batch");
    check_any_order<D>();
    if constexpr (!there) {
      using Wrong = Mistake<MissingColumn<List, Key...>>;
      return Wrong::corrected;
    } else if constexpr (single) {
      constexpr bool callable =
          std::is_invocable_v<const F&, decltype(sample_in<ColumnAt<List, column_place<List, Key>>>(nullptr))...>;
      static_assert(callable, "flat_map<\"file\">(f): f takes a std::span<const T> of each column named, one sample, "
                              "and returns a data set");
      if constexpr (callable) {
        using E = std::remove_cvref_t<
            std::invoke_result_t<const F&, decltype(sample_in<ColumnAt<List, column_place<List, Key>>>(nullptr))...>>;
        constexpr bool makes_samples = Indexed<E>;
        static_assert(makes_samples, "flat_map<\"file\">(f): f returns a data set, without prefetch");
        if constexpr (makes_samples) {
          check_any_order<E>();
          static_assert(!E::batched, "flat_map<\"file\">(f): f returns a data set of samples; batch after flat_map");
          return FlatMapped<D, E, F, column_place<List, Key>...>(data, function);
        }
      }
    }
  }
};
}  // namespace detail

/// Makes a data set of each sample and joins their rows: `flat_map<"file">([](std::span<const char> path) { return
/// dataset::...; })`. All of these data sets have the same type. Before batch. The function is called again when a row
/// is read that is not close to the last row, so opening the data set should be cheap.
template <ColumnKey... Key, class F>
requires(sizeof...(Key) > 0)
auto flat_map(F function) {
  return detail::FlatMapMaker<F, Key...>{std::move(function)};
}

}  // namespace tenon::dataset
