// Collectives on memory: what all ranks of a group call together, with equal sizes. The operators are in
// ops/collective.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>

#include <tenon/core/function_ref.hpp>
#include <tenon/dist/collective_call.hpp>
#include <tenon/dist/sum_tree.hpp>

namespace tenon::inline TENON_ABI::dist {

namespace detail {
/// Memory of this thread for parts of other ranks, valid until the next call, which grows to the largest one.
std::span<std::byte> scratch(std::size_t bytes);

/// Throws ValueError unless `whole` bytes are a part of `part` bytes of each rank.
void check_parts(const char* call, const char* name, const Communicator& ranks, std::size_t whole, std::size_t part);

/// place(peer, bytes) sets where something of a peer is.
using PlaceOf = FunctionRef<int, std::span<std::byte>&>;
using PartOf = FunctionRef<int, std::span<const std::byte>&>;
/// Receives the place of each other rank, and sends it its part; meanwhile() runs before the wait.
void exchange(const Communicator& ranks, const Called& called, PartOf part, PlaceOf place, FunctionRef<> meanwhile);
template <class T>
Called reduction(Called::Kind kind, ReduceOp op, std::span<const T> values) {
  return {kind, int(op), int(dtype_of<T>), 0, std::int64_t(values.size_bytes())};
}

/// Calls f with the type of `op`.
template <class F>
void with_op(ReduceOp op, F f) {
  switch (op) {
    case ReduceOp::sum: return f(Add{});
    case ReduceOp::max: return f(Larger{});
    case ReduceOp::min: return f(Smaller{});
    case ReduceOp::prod: return f(Multiply{});
  }
}

/// out = the reduction of the ranks' parts for this rank: part(peer) is what this rank has for a peer. All parts of one
/// receiver have one size.
template <Element T, class Part>
void exchange_and_reduce(const Communicator& ranks, const Called& called, Part part, std::span<T> out) {
  const std::span<std::byte> memory = scratch(out.size_bytes() * std::size_t(ranks.size()));
  const auto place = [&](int peer) { return memory.subspan(out.size_bytes() * std::size_t(peer), out.size_bytes()); };
  exchange(
      ranks, called, [&](int to, std::span<const std::byte>& bytes) { bytes = std::as_bytes(part(to)); },
      [&](int from, std::span<std::byte>& bytes) { bytes = place(from); }, {});
  const auto leaf = [&](int first, int of) -> const T* {
    if (of > 1) return nullptr;
    return first == ranks.rank() ? part(first).data() : reinterpret_cast<const T*>(place(first).data());
  };
  with_op(ReduceOp(called.what), [&]<class Op>(Op) { fold_nodes<Op, T>(ranks.size(), leaf, out); });
}
}  // namespace detail

/// Gives all ranks the root's bytes. Throws ValueError if there is no such rank.
void broadcast(const Communicator& ranks, std::span<std::byte> bytes, int root = 0);

namespace detail {
/// all_gather for another call.
void gather_for(const Communicator& ranks, const Called& called, std::span<const std::byte> mine, PlaceOf place);
/// With parts of one size.
void gather_for(const Communicator& ranks, const Called& called, std::span<const std::byte> mine,
                std::span<std::byte> all);
}  // namespace detail

/// all = the bytes of rank 0, of rank 1, ...: it has size() times as many as `mine`, which may be there already. Throws
/// ValueError if it has not.
void all_gather(const Communicator& ranks, std::span<const std::byte> mine, std::span<std::byte> all);

/// out = the reduction of part rank() of all ranks' `in`, which has size() parts of out.size() elements. Throws
/// ValueError if it has not.
///
/// bits    those of sum_tree over the ranks, by every algorithm here: what travels are the ranks' values, never partial
///         sums, so that 16-bit floats are rounded once
template <Element T>
void reduce_scatter(const Communicator& ranks, ReduceOp op, std::span<const T> in, std::span<T> out) {
  detail::check_parts("reduce_scatter", "in", ranks, in.size_bytes(), out.size_bytes());
  detail::exchange_and_reduce<T>(
      ranks, detail::reduction(detail::Called::reduce_scatter, op, in),
      [&](int rank) { return in.subspan(out.size() * std::size_t(rank), out.size()); }, out);
}

/// Replaces each element by the reduction of the ranks' elements. The bits are the same on all ranks: those of
/// sum_tree.
///
/// source    Rabenseifner, "Optimization of Collective Reduction Operations" (2004): a reduce-scatter and an all-gather
///           move 2 (size - 1) / size of the bytes
template <Element T>
void all_reduce(const Communicator& ranks, ReduceOp op, std::span<T> values) {
  if (ranks.size() == 1) return;
  const detail::Called called = detail::reduction<T>(detail::Called::all_reduce, op, values);
  if (values.size_bytes() * std::size_t(ranks.size()) <= 16384) {  // one exchange takes less time than two
    const std::span<std::byte> memory = detail::scratch(values.size_bytes() * std::size_t(ranks.size()));
    detail::gather_for(ranks, called, std::as_bytes(values), memory);
    const T* const all = reinterpret_cast<const T*>(memory.data());
    const auto leaf = [&](int first, int of) { return of == 1 ? all + values.size() * std::size_t(first) : nullptr; };
    detail::with_op(op, [&]<class Op>(Op) { fold_nodes<Op, T>(ranks.size(), leaf, values); });
    return;
  }
  const auto range = [&](int rank) { return part_of(long(values.size()), ranks.size(), rank); };
  const auto part = [&](int rank) {
    return values.subspan(std::size_t(range(rank).begin), std::size_t(range(rank).size()));
  };
  const std::span<T> mine = part(ranks.rank());
  detail::exchange_and_reduce<T>(ranks, called, part, mine);
  detail::gather_for(ranks, called, std::as_bytes(mine),
                     [&](int rank, std::span<std::byte>& place) { place = std::as_writable_bytes(part(rank)); });
}

/// out part i = the part for this rank of rank i's `in`; both have size() parts of one size. Throws ValueError if they
/// have not.
void all_to_all(const Communicator& ranks, std::span<const std::byte> in, std::span<std::byte> out);

#if TENON_DEFINES
namespace detail {
[[gnu::cold, gnu::noinline]] TENON_INLINE void check_parts(const char* call, const char* name,
                                                           const Communicator& ranks, std::size_t whole,
                                                           std::size_t part) {
  const auto size = std::size_t(ranks.size());
  if (whole % size == 0 && whole / size == part) return;
  throw_error<ValueError>(call, " among ", size, " ranks: `", name, "` has ", whole, " bytes, it needs ", size,
                          " parts of ", part, " bytes.");
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::span<std::byte> scratch(std::size_t bytes) {
  struct Memory {
    tenon::detail::Owned<std::byte[]> first;
    std::size_t bytes = 0;
  };
  thread_local Memory memory;
  if (memory.bytes < bytes) {
    memory.first = tenon::detail::Owned<std::byte[]>(new std::byte[bytes]);
    memory.bytes = bytes;
  }
  return {memory.first.get(), bytes};
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void exchange(const Communicator& ranks, const Called& called, PartOf part,
                                                        PlaceOf place, FunctionRef<> meanwhile) {
  const int size = ranks.size();
  CollectiveCall call(ranks, called);
  for (int step = 1; step < size; ++step) {
    const int from = (ranks.rank() + size - step) % size;
    std::span<std::byte> bytes;
    place(from, bytes);
    call.receive(from, bytes);
  }
  for (int step = 1; step < size; ++step) {
    const int to = (ranks.rank() + step) % size;
    std::span<const std::byte> bytes;
    part(to, bytes);
    call.send(to, bytes);
  }
  if (meanwhile) meanwhile();
  call.wait();
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void gather_for(const Communicator& ranks, const Called& called,
                                                          std::span<const std::byte> mine, PlaceOf place) {
  exchange(
      ranks, called, [&](int, std::span<const std::byte>& part) { part = mine; }, place,
      [&] {
        std::span<std::byte> own;
        place(ranks.rank(), own);
        if (own.data() != mine.data() && !mine.empty()) std::memcpy(own.data(), mine.data(), mine.size());
      });
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void gather_for(const Communicator& ranks, const Called& called,
                                                          std::span<const std::byte> mine, std::span<std::byte> all) {
  gather_for(ranks, called, mine, [&](int rank, std::span<std::byte>& place) {
    place = all.subspan(mine.size() * std::size_t(rank), mine.size());
  });
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void broadcast(const Communicator& ranks, std::span<std::byte> bytes, int root) {
  if (root < 0 || root >= ranks.size())
    throw_error<ValueError>("Broadcast from rank ", root, ": the group has the ranks 0 to ", ranks.size() - 1, ".");
  const int size = ranks.size(), turned = (ranks.rank() + size - root) % size;
  const detail::Called called{detail::Called::broadcast, root, -1, 0, std::int64_t(bytes.size())};
  int distance = 1;
  for (; distance < size; distance *= 2)
    if (turned & distance) {
      detail::CollectiveCall call(ranks, called);
      call.receive((turned - distance + root) % size, bytes);
      call.wait();
      break;
    }
  detail::CollectiveCall call(ranks, called);
  for (distance /= 2; distance > 0; distance /= 2)
    if (turned + distance < size) call.send((turned + distance + root) % size, bytes);
  call.wait();
}

[[gnu::noinline]] TENON_INLINE void all_gather(const Communicator& ranks, std::span<const std::byte> mine,
                                               std::span<std::byte> all) {
  detail::check_parts("all_gather", "all", ranks, all.size(), mine.size());
  detail::gather_for(ranks, {detail::Called::all_gather, 0, -1, 0, std::int64_t(all.size())}, mine, all);
}
[[gnu::noinline]] TENON_INLINE void all_to_all(const Communicator& ranks, std::span<const std::byte> in,
                                               std::span<std::byte> out) {
  const std::size_t bytes = in.size() / std::size_t(ranks.size());
  detail::check_parts("all_to_all", "in", ranks, in.size(), bytes);
  detail::check_parts("all_to_all", "out", ranks, out.size(), bytes);
  detail::exchange(
      ranks, {detail::Called::all_to_all, 0, -1, 0, std::int64_t(in.size())},
      [&](int to, std::span<const std::byte>& part) { part = in.subspan(bytes * std::size_t(to), bytes); },
      [&](int from, std::span<std::byte>& part) { part = out.subspan(bytes * std::size_t(from), bytes); },
      [&] {
        const std::size_t own = bytes * std::size_t(ranks.rank());
        if (bytes > 0) std::memcpy(out.data() + own, in.data() + own, bytes);
      });
}
#endif  // TENON_DEFINES

}  // namespace tenon::dist
