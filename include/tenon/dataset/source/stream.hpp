// stream<Columns<...>>(make): rows that can only be read one after the other.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/operation/turns.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class List, class Make>
struct Streamed : Stage<Streamed<List, Make>> {
  using columns = List;
  using Reader = std::invoke_result_t<const Make&>;
  static constexpr bool batched = false, counted = false;
  Make make;
  long most;

  Streamed(Make function, long samples) : make(std::move(function)), most(samples) {}
  long size() const { return most; }
  long max_rows() const { return 1; }
  long count(std::uint64_t) const { return most; }
  long read(Place place, void* const* out, Scratch& scratch) const {
    State& s = *state_;
    detail::Turns::Turn turn(s.turns, place, scratch.walk);
    scratch.operation = nullptr;
    if (turn.begins) {
      s.reader.reset();
      s.reader.reset(new Reader(make()));
    }
    while (!turn.ended() && turn.position() <= place.position) {
      scratch.begins(static_cast<std::uint64_t>(turn.position()), place.epoch);
      turn.advance(turn.position() < most && next(*s.reader, out));
    }
    return turn.position() > place.position ? 1 : 0;
  }
  void abandon(std::uint64_t walk, const std::exception_ptr& failure) const { state_->turns.abandon(walk, failure); }

 private:
  struct State {
    detail::Turns turns;
    std::unique_ptr<Reader> reader;
  };
  static bool next(Reader& reader, void* const* out) {
    return [&]<std::size_t... C>(std::index_sequence<C...>) {
      if (!reader.next(detail::sample_out<ColumnAt<List, int(C)>>(out[C])...)) return false;
      (detail::check_sized<ColumnAt<List, int(C)>>(out[C]), ...);
      return true;
    }(std::make_index_sequence<std::size_t(List::count)>{});
  }
  // each iterator has a copy of the data set, and so a stream of its own
  detail::OfEachCopy<State> state_;
};

namespace detail {
template <class List, class Make>
inline constexpr bool streams_rows<Streamed<List, Make>> = true;

template <class Reader, class List>
inline constexpr bool streams = false;
template <class Reader, class... C>
inline constexpr bool streams<Reader, Columns<C...>> = requires(Reader& reader, void* out) {
  { reader.next(sample_out<C>(out)...) } -> std::convertible_to<bool>;
};
}  // namespace detail

/// A data set of samples that come one after the other, from a socket, a pipe, a simulation:
/// `stream<Columns<Column<float, Shape<2>, "x">>>([] { return Simulation(); })`.
///
/// make()    is called at the beginning of each epoch and returns what has `bool next(std::span<T>... columns)`, which
///           writes a sample into zeros, or returns false at the end. One thread at a time calls it.
/// size      the largest number of samples; without it the stream decides, and size() is the largest long. An endless
///           stream needs a take(...) after it to end epochs
/// stages    map, filter, batch, take, skip, zip, project, rename and prefetch; a stage that reads in another order
///           does not compile
/// memory    only the rows of prefetch: a slow reader makes the stream wait
/// resume    start(epoch, position) reads and skips the samples before it
/// Throws ValueError if size < 1, and while reading if a ragged sample is not resized, or to extents that its column
/// does not have. Source: MindSpore's GeneratorDataset of an iterable.
template <class List, class Make>
auto stream(Make make, long size = detail::endless) {
  constexpr bool callable = std::is_invocable_v<const Make&>;
  static_assert(callable, "stream<Columns<...>>(make): make() returns an object that has bool next(std::span<T>...)");
  if constexpr (callable) {
    constexpr bool has_next = detail::streams<std::invoke_result_t<const Make&>, List>;
    static_assert(has_next, "stream<Columns<...>>(make): what make() returns needs bool next(std::span<T>...), a span "
                            "for each column, or a SampleSlot if it is Ragged");
    detail::check_at_least("stream", size, 1, "the number of samples");
    if constexpr (has_next) return Streamed<List, Make>(std::move(make), size);
  }
}

}  // namespace tenon::dataset
