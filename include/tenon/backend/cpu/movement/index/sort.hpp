// Sort and topk: keys in the order of the elements, sorted by their digits, or by insertion where few are wanted.
#pragma once
#include <bit>
#include <cstdint>

#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI::kernel {

template <class T>
using OrderNumber = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// An unsigned number per element, in the order of the elements: a NaN is the largest, -0 and +0 are equal.
template <class T>
TENON_DEVICE constexpr OrderNumber<T> order_of(T value) {
  using U = OrderNumber<T>;
  if constexpr (is_floating(dtype_of<T>)) {
    const Compute<T> number = static_cast<Compute<T>>(value);
    constexpr U sign = U(1) << (8 * sizeof(U) - 1);
    const U bits = number == 0 ? U(0) : std::bit_cast<U>(number);
    return number != number ? ~U(0) : bits & sign ? U(~bits) : U(bits | sign);
  } else {
    constexpr U sign = std::is_signed_v<T> ? U(1) << (8 * sizeof(U) - 1) : U(0);
    return static_cast<U>(value) ^ sign;  // which keeps the sign of small integers
  }
}

/// An element's number in the order that is asked for, and its place. All differ.
template <class T>
struct SortKey {
  OrderNumber<T> order;
  std::int32_t place;
  TENON_DEVICE friend constexpr bool operator<(const SortKey& a, const SortKey& b) {
    return a.order != b.order ? a.order < b.order : a.place < b.place;
  }
};
template <class T>
TENON_DEVICE constexpr SortKey<T> sort_key(T value, long place, bool descending) {
  const auto order = order_of(value);
  return {descending ? OrderNumber<T>(~order) : order, std::int32_t(place)};
}

/// Most keys that are sorted by insertion, and most results that are kept in order while the others are compared with
/// the last one.
inline constexpr long most_inserted = 48, most_kept = 64;

/// Puts a key where it belongs among the first `kept`; equal ones by place. Keys at `kept` and after may be lost.
template <class Key>
inline void insert_key(Key* keys, long kept, const Key& key) {
  long to = kept;
  for (; to > 0 && key.order < keys[to - 1].order; --to) keys[to] = keys[to - 1];
  keys[to] = key;
}
template <class Key>
inline void insert_keys(Key* keys, long count) {
  for (long i = 1; i < count; ++i) {
    const Key key = keys[i];
    insert_key(keys, i, key);
  }
}

/// Sorts by digits of 8 bits, the lowest first; `other` has room for as many keys. Returns where the result is.
template <class Key>
[[gnu::noinline]] Key* sort_by_digits(Key* keys, Key* other, long count) {
  constexpr int digits = int(sizeof(Key::order)), values = 256;
  std::int32_t first[std::size_t(digits)][values]{};
  for (long i = 0; i < count; ++i)
#pragma GCC unroll 8
    for (int d = 0; d < digits; ++d) ++first[d][keys[i].order >> 8 * d & (values - 1)];
  for (int d = 0; d < digits; ++d) {
    if (first[d][keys[0].order >> 8 * d & (values - 1)] == count) continue;  // all have this digit
    std::int32_t next = 0;
    for (std::int32_t& place : first[d]) {
      const std::int32_t own = place;
      place = next, next += own;
    }
    for (long i = 0; i < count; ++i) other[first[d][keys[i].order >> 8 * d & (values - 1)]++] = keys[i];
    Key* const sorted = other;
    other = keys, keys = sorted;
  }
  return keys;
}

/// A line of x, and the order that is asked for.
template <class T>
struct SortLine {
  const T* x;
  long count, step;
  bool descending;

  SortKey<T> key(long i) const { return sort_key(x[i * step], i, descending); }
  /// Calls take(key) for each element from `i` on that comes before `limit`, which take may lower.
  template <class Take>
  void each_before(long i, const OrderNumber<T>& limit, Take take) const {
    constexpr long block = 16;
    for (; step == 1 && i + block <= count; i += block) {
      const OrderNumber<T> most = limit, flipped = descending ? ~OrderNumber<T>(0) : OrderNumber<T>(0);
      int any = 0;
      for (long l = 0; l < block; ++l) any |= (order_of(x[i + l]) ^ flipped) < most;
      for (long l = 0; any && l < block; ++l)
        if (const SortKey<T> own = key(i + l); own.order < limit) take(own);
    }
    for (; i < count; ++i)
      if (const SortKey<T> own = key(i); own.order < limit) take(own);
  }
};
/// The keys of a line in order, at least the `wanted` first. `keys` has room for two per element.
template <class T>
[[gnu::noinline]] const SortKey<T>* sorted_line(const SortLine<T>& line, long wanted, SortKey<T>* keys) {
  SortKey<T>* const other = keys + line.count;
  const bool few = wanted <= most_kept && wanted < line.count, many = !few && 2 * wanted < line.count;
  long filled = few || many ? wanted : line.count;
  for (long i = 0; i < filled; ++i) keys[i] = line.key(i);
  if (few || filled <= most_inserted) insert_keys(keys, filled);
  if (!few && !many) return filled <= most_inserted ? keys : sort_by_digits(keys, other, filled);
  const auto keep_first = [&] {
    const SortKey<T>* const sorted = sort_by_digits(keys, other, filled);
    for (long i = 0; i < wanted && sorted != keys; ++i) keys[i] = sorted[i];
    filled = wanted;
  };
  if (many) keep_first();
  OrderNumber<T> limit = keys[wanted - 1].order;
  line.each_before(wanted, limit, [&](const SortKey<T>& key) {
    if (few) insert_key(keys, wanted - 1, key);
    else if (keys[filled++] = key; filled == 2 * wanted) keep_first();
    else return;
    limit = keys[wanted - 1].order;
  });
  if (many) keep_first();
  return keys;
}

}  // namespace tenon::kernel

namespace tenon::inline TENON_ABI {

namespace ops {
struct Sort;
}

template <>
struct Kernel<Cpu, ops::Sort> {
  template <class Call>
  static constexpr kernel::AxisSplit split(long n) {
    return kernel::axis_split(Call::operand(0), normalized_axis(Call::config().axis, Call::operand(0).rank), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return split<Call>(n).outer * split<Call>(n).inner;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    return 2 * split<Call>(n).count * long(sizeof(kernel::SortKey<typename Call::Result>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::AxisSplit s = split<Call>(a.n);
    const long wanted = Call::config().count ? Call::config().count : s.count;
    for (long line = begin; line < end; ++line) {
      const long outer = line / s.inner, column = line % s.inner;
      const T* const x = a.operand<T>(0) + outer * s.count * s.inner + column;
      const auto* const keys =
          kernel::sorted_line(kernel::SortLine<T>{x, s.count, s.inner, Call::config().descending != 0}, wanted,
                              reinterpret_cast<kernel::SortKey<T>*>(a.workspace));
      const long to = outer * wanted * s.inner + column;
      for (long j = 0; j < wanted; ++j) {
        a.result<T>()[to + j * s.inner] = x[keys[j].place * s.inner];
        if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[to + j * s.inner] = keys[j].place;
      }
    }
  }
};

}  // namespace tenon
