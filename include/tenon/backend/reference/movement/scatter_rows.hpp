// Rows and elements by number: other ones in their place, their sums.
#pragma once
#include <tenon/backend/reference/movement/gather.hpp>
#include <tenon/core/math/wrapping.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct FlatNumber;
struct UnsortedSegmentSum;
struct UpdateElements;
struct UpdateRows;
}  // namespace ops

template <>
struct Kernel<Reference, ops::UnsortedSegmentSum> : Kernel<Reference, ops::GatherGrad> {};

template <>
struct Kernel<Reference, ops::FlatNumber> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using I = typename Call::Result;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      I number = a.operand<I>(Call::operands - 1)[i];
      if (number < 0) number += I(Call::config().extent);
      if (Call::operands == 2) number += a.operand<I>(0)[i] * I(Call::config().extent);
      a.result<I>()[i] = number;
    }
  }
};

template <>
struct Kernel<Reference, ops::UpdateRows> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr int update = int(Call::config().update);
    const long rows = Call::result[0], length = Call::result.count(a.n) / rows;
    for (long i = 0; i < Call::result.count(a.n); ++i) a.result<T>()[i] = a.operand<T>(2)[i];
    for (long i = 0; i < Call::operand(1).count(a.n); ++i) {
      long row = static_cast<long>(a.operand<typename Call::template Operand<0>>(0)[i / length]);
      if (row < 0) row += rows;
      T& own = a.result<T>()[row * length + i % length];
      const T given = a.operand<T>(1)[i];
      const auto x = static_cast<Compute<T>>(own), y = static_cast<Compute<T>>(given);
      if (update == 0 || y != y || (update == 1 ? y > x : y < x)) own = given;
    }
  }
};

template <>
struct Kernel<Reference, ops::UpdateElements> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr int axis = normalized_axis(Call::config().axis, Call::result.rank);
    for (long i = 0; i < Call::result.count(a.n); ++i) a.result<T>()[i] = a.operand<T>(2)[i];
    for (long i = 0; i < Call::operand(1).count(a.n); ++i) {
      auto index = kernel::reference::index_of(i, Call::operand(1), a.n);
      long number = static_cast<long>(a.operand<typename Call::template Operand<0>>(0)[i]);
      if (number < 0) number += Call::result[axis];
      index[std::size_t(axis)] = number;
      T& own = a.result<T>()[kernel::reference::place(index, Call::result, a.n)];
      const T given = a.operand<T>(1)[i];
      constexpr int update = Call::config().update;
      if constexpr (update == 3)
        own = static_cast<T>(math::wrapping_multiply(static_cast<Compute<T>>(own), static_cast<Compute<T>>(given)));
      else if (update == 0 || given != given || (update == 1 ? given > own : given < own)) own = given;
    }
  }
};

}  // namespace tenon
