// Slice and Split take elements out of a tensor; SliceGrad and Pad put them into one that has a fixed value elsewhere.
#pragma once
#include <cstring>

#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Slice;
struct SliceGrad;
struct Split;
struct Pad;
}  // namespace ops

namespace kernel::reference {
/// Where the element at `index` of a part stands in the whole: along each of its axes ops::SliceWindow has a first
/// element, in units of n if it is negative, and a step.
template <class SliceWindow>
constexpr Index in_whole(Index index, const SliceWindow& window, long n) {
  for (int k = 0; k < int(std::size(window.first)); ++k)
    if (window.axis(k) >= 0) {
      long& i = index[std::size_t(window.axis(k))];
      i = (window.first[k] < 0 ? -window.first[k] * n : window.first[k]) + i * window.step[k];
    }
  return index;
}
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::Slice> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const auto from =
          kernel::reference::in_whole(kernel::reference::index_of(i, Call::result, a.n), Call::config(), a.n);
      a.result<T>()[i] = a.operand<T>(0)[kernel::reference::place(from, Call::operand(0), a.n)];
    }
  }
};

template <>
struct Kernel<Reference, ops::SliceGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long i = 0; i < Call::result.count(a.n); ++i) a.result<T>()[i] = T{};
    for (long i = 0; i < Call::operand(0).count(a.n); ++i) {
      const auto to =
          kernel::reference::in_whole(kernel::reference::index_of(i, Call::operand(0), a.n), Call::config(), a.n);
      a.result<T>()[kernel::reference::place(to, Call::result, a.n)] = a.operand<T>(0)[i];
    }
  }
};

template <>
struct Kernel<Reference, ops::Split> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr int axis = normalized_axis(c.axis, Call::result.rank);
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      auto from = kernel::reference::index_of(i, Call::result, a.n);
      from[std::size_t(axis)] += c.pieces ? c.first * Call::result.size(axis, a.n) : c.first;  // a piece or an element
      a.result<T>()[i] = a.operand<T>(0)[kernel::reference::place(from, Call::operand(0), a.n)];
    }
  }
};

template <>
struct Kernel<Reference, ops::Pad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    T border;
    std::memcpy(&border, &a.immediate, sizeof(T));
    for (long i = 0; i < Call::result.count(a.n); ++i) a.result<T>()[i] = border;
    for (long i = 0; i < Call::operand(0).count(a.n); ++i) {
      auto to = kernel::reference::index_of(i, Call::operand(0), a.n);
      for (int k = 0; k < int(std::size(c.before)); ++k)
        if (c.axis(k) >= 0) to[std::size_t(c.axis(k))] += c.before[k];
      a.result<T>()[kernel::reference::place(to, Call::result, a.n)] = a.operand<T>(0)[i];
    }
  }
};

}  // namespace tenon
