// A row as bytes: what a store keeps.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <tenon/dataset/stage/column.hpp>
#include <tenon/dataset/stage/scratch.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// The header before the columns. A random operation after the cache draws by the origin of the sample, as it would
/// without the cache. The origin's epoch is that of a row in epoch 0: others are `passes` later each.
struct PackedHead {
  std::int64_t samples = 0;
  SampleOrigin origin{};

  /// Of a row that was read in an epoch, and back.
  static PackedHead of(long n, const SampleOrigin& read, std::uint64_t epoch) {
    PackedHead head{n, read};
    head.origin.epoch -= read.passes * epoch;
    return head;
  }
  SampleOrigin origin_in(std::uint64_t epoch) const {
    SampleOrigin there = origin;
    there.epoch += there.passes * epoch;
    return there;
  }
};
static_assert(sizeof(PackedHead) == 40);  // no padding

/// Bytes of column i of a row of n samples: its elements, after the rank and the extents if it is ragged.
template <class List>
std::size_t packed_bytes(int i, const void* column, long n) {
  if (!List::ragged[i]) return static_cast<std::size_t>(List::types[i].bytes(n));
  const RaggedValue& value = *static_cast<const RaggedValue*>(column);
  return (1 + value.extents().size()) * sizeof(std::int64_t) +
         static_cast<std::size_t>(value.count()) * size_of(List::types[i].dtype);
}

/// The row in memory of the scratch's.
template <class List>
std::span<const std::byte> packed_row(const PackedHead& head, void* const* column, Scratch& scratch) {
  std::size_t bytes = sizeof head;
  for (int i = 0; i < List::count; ++i) bytes += packed_bytes<List>(i, column[i], head.samples);
  std::byte* const begin = scratch.bytes(bytes);
  std::byte* to = begin;
  const auto add = [&to](const void* from, std::size_t count) {
    if (count > 0) std::memcpy(to, from, count);
    to += count;
  };
  add(&head, sizeof head);
  for (int i = 0; i < List::count; ++i) {
    std::size_t count = packed_bytes<List>(i, column[i], head.samples);
    const void* elements = column[i];
    if (List::ragged[i]) {
      const RaggedValue& value = *static_cast<const RaggedValue*>(column[i]);
      const std::int64_t rank = static_cast<std::int64_t>(value.extents().size());
      add(&rank, sizeof rank);
      add(value.extents().data(), value.extents().size_bytes());
      count -= sizeof rank + value.extents().size_bytes();
      elements = value.data();
    }
    add(elements, count);
  }
  return {begin, bytes};
}

/// Fills a ragged sample and moves after it in the bytes; false if they are none.
inline bool unpack_ragged(std::span<const std::byte>& bytes, RaggedValue& value, std::size_t element) {
  std::int64_t rank = 0, extent[AnyTensor::max_axes]{};
  if (bytes.size() < sizeof rank) return false;
  std::memcpy(&rank, bytes.data(), sizeof rank);
  bytes = bytes.subspan(sizeof rank);
  if (rank < 0 || rank > std::int64_t{AnyTensor::max_axes}) return false;
  const std::size_t axes = static_cast<std::size_t>(rank);
  if (bytes.size() < axes * sizeof rank) return false;
  if (axes > 0) std::memcpy(extent, bytes.data(), axes * sizeof rank);
  bytes = bytes.subspan(axes * sizeof rank);
  const std::int64_t product = RaggedValue::bytes_of({extent, axes}, element);
  const std::size_t count = static_cast<std::size_t>(product);
  if (product < 0 || count > bytes.size()) return false;
  void* const to = value.resize({extent, axes}, element);
  if (count > 0) std::memcpy(to, bytes.data(), count);
  bytes = bytes.subspan(count);
  return true;
}

/// Fills the columns, each with memory for max_rows samples; none if there are no samples, or no columns are given.
/// Returns false, with anything in the columns, if the bytes
/// are no such row.
template <class List>
bool unpack_row(std::span<const std::byte> bytes, PackedHead& head, void* const* column, long max_rows) {
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes = bytes.subspan(sizeof head);
  if (!column || head.samples == 0) return head.samples >= 0 && bytes.empty();
  if (head.samples < 1 || head.samples > max_rows) return false;
  for (int i = 0; i < List::count; ++i) {
    if (List::ragged[i]) {
      if (!unpack_ragged(bytes, *static_cast<RaggedValue*>(column[i]), size_of(List::types[i].dtype))) return false;
    } else {
      const std::size_t count = static_cast<std::size_t>(List::types[i].bytes(head.samples));
      if (bytes.size() < count) return false;
      if (count > 0) std::memcpy(column[i], bytes.data(), count);
      bytes = bytes.subspan(count);
    }
  }
  return bytes.empty();
}

}  // namespace tenon::dataset::detail
