// filter<"label">(predicate): the rows that pass.
#pragma once
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/operation/epoch_lists.hpp>
#include <tenon/dataset/operation/turns.hpp>
#include <tenon/dataset/stage/rows.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The rows of D whose columns I... pass. The list of these rows is built while the epoch is read, once for all
/// threads.
template <class D, class F, int... I>
struct Filtered : Behind<Filtered<D, F, I...>, D> {
  static constexpr bool counted = false;
  F predicate;
  std::shared_ptr<detail::EpochLists> lists = std::make_shared<detail::EpochLists>();

  Filtered(const D& rows, F f) : Behind<Filtered, D>(rows), predicate(std::move(f)) {}

  void describe(auto& d) const {
    (d.add(I), ...);
    d.add_function(predicate);
  }
  long size() const { return count(0); }
  long count(std::uint64_t epoch) const {
    if (const auto known = lists->length(epoch)) return *known;
    Scratch scratch;
    const Scratch::Frame frame(scratch);
    void* row[D::columns::count];
    [&]<std::size_t... C>(std::index_sequence<C...>) {
      ((row[C] = detail::memory_between<ColumnAt<typename D::columns, int(C)>>(scratch, 1)), ...);
    }(std::make_index_sequence<std::size_t(D::columns::count)>{});
    const auto list = lists->of(epoch);
    const std::lock_guard lock(list->mutex);
    try {
      while (find_next(*list, epoch, row, scratch)) continue;
    } catch (...) {
      detail::rethrow_with_place({epoch, list->scanned}, scratch);
    }
    return static_cast<long>(list->numbers.size());
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const auto list = lists->of(place.epoch);
    {
      const std::lock_guard lock(list->mutex);
      if (place.position >= static_cast<long>(list->numbers.size())) {
        while (find_next(*list, place.epoch, out, scratch))
          if (place.position < static_cast<long>(list->numbers.size())) return 1;  // out holds it
        return 0;
      }
      place.position = list->numbers[static_cast<std::size_t>(place.position)];
    }
    return this->data.read(place, out, scratch);
  }

 private:
  /// Reads rows into out until one passes. The list is locked: threads that ask after it wait for what they need.
  bool find_next(detail::EpochLists::List& list, std::uint64_t epoch, void* const* out, Scratch& scratch) const {
    while (!list.complete) {
      const Scratch::Frame frame(scratch);
      if (detail::read_if_there(this->data, {epoch, list.scanned}, out, scratch) == 0) {
        list.complete = true;
        lists->set_length(epoch, static_cast<long>(list.numbers.size()));
        return false;
      }
      scratch.operation = "filter";
      const bool good = predicate(detail::sample_in<ColumnAt<typename D::columns, I>>(out[I])...);
      if (good) list.numbers.push_back(list.scanned);
      ++list.scanned;
      if (good) return true;
    }
    return false;
  }
};

/// The same of what comes in order only: nothing is remembered.
template <class D, class F, int... I>
struct FilteredInOrder : Behind<FilteredInOrder<D, F, I...>, D> {
  static constexpr bool counted = false;
  F predicate;
  struct State {
    detail::Turns turns;
    long scanned = 0;
  };
  detail::OfEachCopy<State> state;

  FilteredInOrder(const D& rows, F f) : Behind<FilteredInOrder, D>(rows), predicate(std::move(f)) {}

  long count(std::uint64_t epoch) const { return rows_in(this->data, epoch); }  // at most
  long read(Place place, void* const* out, Scratch& scratch) const {
    State& s = *state;
    detail::Turns::Turn turn(s.turns, place, scratch.walk);
    if (turn.begins) s.scanned = 0;
    while (!turn.ended() && turn.position() <= place.position) {
      const Scratch::Frame frame(scratch);
      const bool there = detail::read_if_there(this->data, {place.epoch, s.scanned}, out, scratch) > 0;
      ++s.scanned;
      scratch.operation = "filter";
      if (!there || predicate(detail::sample_in<ColumnAt<typename D::columns, I>>(out[I])...)) turn.advance(there);
    }
    return turn.position() > place.position ? 1 : 0;
  }
  void abandon(std::uint64_t walk, const std::exception_ptr& failure) const { state->turns.abandon(walk, failure); }
};

namespace detail {
template <class F, ColumnKey... Key>
struct FilterMaker {
  using makes_stage = void;
  F predicate;
  template <class D>
  auto applied_to(const D& data) const {
    using List = typename D::columns;
    constexpr bool there = ((column_place<List, Key> >= 0) && ...);
    if constexpr (!there) {
      using Wrong = Mistake<MissingColumn<List, Key...>>;
      return Wrong::corrected;
    } else {
      constexpr bool single = !D::batched;
      constexpr bool callable =
          std::is_invocable_r_v<bool, const F&,
                                decltype(sample_in<ColumnAt<List, column_place<List, Key>>>(nullptr))...>;
      static_assert(single, "filter looks at one sample at a time: write it before batch");
      static_assert(callable,
                    "filter<\"label\">(f): f takes a std::span<const T> of each column named, one sample, and "
                    "returns whether it stays");
      if constexpr (single && callable) {
        if constexpr (in_order<D>()) return FilteredInOrder<D, F, column_place<List, Key>...>(data, predicate);
        else return Filtered<D, F, column_place<List, Key>...>(data, predicate);
      }
    }
  }
};
}  // namespace detail

/// Keeps the samples for which a predicate of some columns holds: `filter<"label">([](std::span<const int> label) {
/// return label[0] < 5; })`. Before batch.
///
/// rows            the rows that pass. size(), which Model.train calls, reads all rows of epoch 0 once; repeat,
///                 shuffle, shard, and concat after it do so for each epoch. Walking alone does not
/// threads         one thread at a time searches for the next row that passes; decode after filter, not before it
/// several times   a sample that passes may be read again: functions before filter must not depend on the number of
///                 calls
template <ColumnKey... Key, class F>
requires(sizeof...(Key) > 0)
auto filter(F predicate) {
  return detail::FilterMaker<F, Key...>{std::move(predicate)};
}

}  // namespace tenon::dataset
