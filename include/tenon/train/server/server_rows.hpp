// Some rows of a table in a message: how many, their numbers in ascending order, and the rows.
#pragma once
#include <cstring>
#include <span>
#include <vector>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/graph/plan/plan.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Rows of a table, of `bytes` each. Row numbers have 32 bits.
struct ServerRows {
  long rows = 0, bytes = 0;

  static long begin_of_rows(std::uint64_t count) { return aligned(long(sizeof count + count * sizeof(std::uint32_t))); }
  long size(std::uint64_t count) const { return begin_of_rows(count) + aligned(long(count) * bytes); }

  /// Appends the rows for which keep(number, row) is true.
  template <class Keep>
  void append(std::vector<std::byte>& to, const std::byte* table, Keep keep) const {
    std::vector<std::uint32_t> numbers;
    for (long i = 0; i < rows; ++i)
      if (keep(i, table + i * bytes)) numbers.push_back(std::uint32_t(i));
    const std::uint64_t count = numbers.size();
    const std::size_t begin = to.size();
    to.resize(begin + std::size_t(size(count)));
    std::memcpy(to.data() + begin, &count, sizeof count);
    if (count > 0) std::memcpy(to.data() + begin + sizeof count, numbers.data(), count * sizeof numbers[0]);
    std::byte* row = to.data() + begin + begin_of_rows(count);
    for (const std::uint32_t number : numbers) {
      std::memcpy(row, table + long(number) * bytes, std::size_t(bytes));
      row += bytes;
    }
  }
  static std::uint64_t count_of(const std::byte* from) {
    std::uint64_t count;
    std::memcpy(&count, from, sizeof count);
    return count;
  }
  /// How many bytes there are of them at the begin of `from`; -1 if it does not begin with rows of such a table.
  long read(std::span<const std::byte> from) const {
    if (from.size() < sizeof(std::uint64_t) || count_of(from.data()) > std::uint64_t(rows)) return -1;
    const std::uint64_t count = count_of(from.data());
    if (size(count) > long(from.size())) return -1;
    long before = -1;
    for (std::uint64_t i = 0; i < count; ++i) {
      const long number = number_of(from.data(), i);
      if (number <= before || number >= rows) return -1;
      before = number;
    }
    return size(count);
  }
  static long number_of(const std::byte* from, std::uint64_t i) {
    std::uint32_t number;
    std::memcpy(&number, from + sizeof(std::uint64_t) + i * sizeof number, sizeof number);
    return long(number);
  }
  /// Calls f(number, row) for each.
  template <class F>
  void each(const std::byte* from, F f) const {
    const std::uint64_t count = count_of(from);
    const std::byte* const row = from + begin_of_rows(count);
    for (std::uint64_t i = 0; i < count; ++i) f(number_of(from, i), row + long(i) * bytes);
  }
  /// The row of this number, or null.
  const std::byte* find(const std::byte* from, long number) const {
    std::uint64_t first = 0, end = count_of(from);
    const std::byte* const row = from + begin_of_rows(end);
    while (first < end) {
      const std::uint64_t middle = (first + end) / 2;
      const long there = number_of(from, middle);
      if (there == number) return row + long(middle) * bytes;
      (there < number ? first : end) = there < number ? middle + 1 : middle;
    }
    return nullptr;
  }
};

/// Whether all bits of a row are 0.
inline bool is_zero_row(const std::byte* row, long bytes) {
  std::uint64_t any = 0, word = 0;
  for (long i = 0; i + 8 <= bytes; i += 8) std::memcpy(&word, row + i, 8), any |= word;
  for (long i = bytes / 8 * 8; i < bytes; ++i) any |= std::uint64_t(row[i]);
  return any == 0;
}

}  // namespace tenon::detail
