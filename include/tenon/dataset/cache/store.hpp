// The storage of a cache's rows: LMDB (cache/lmdb_store.hpp), Redis (cache/redis_store.hpp), or another store.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/function_ref.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// What a row of a cache is found by: the pipeline that made it, and the row's place there.
struct RowKey {
  std::uint64_t cache = 0, epoch = 0, position = 0;
  friend bool operator==(const RowKey&, const RowKey&) = default;
};

/// How much a session holds of one pipeline.
struct CacheCount {
  std::uint64_t cache = 0;
  std::uint64_t in_memory = 0, on_disk = 0;  // rows within the cache's size, and beyond it
  std::uint64_t bytes = 0;                   // of these rows, without what the store needs to find them
  std::uint64_t charged = 0;                 // of the rows within the size, with it
};

/// How much a cache may hold.
struct CacheLimit {
  std::uint64_t bytes = 0;  // 0: as much as there is room for
  bool spilling = false;    // rows beyond that are kept on disk, instead of not at all
  bool counted = true;      // false: it is no row, but what a cache notes for itself
};

/// What get() calls with the bytes of a row, which are valid until it returns.
using UseRow = FunctionRef<std::span<const std::byte>>;

/// The rows of one session, for any number of threads and processes. A store never throws in get() and put(): a row
/// that cannot be read or kept is computed again.
///   get    false: there is no such row, or not as it was put
///   put    keeps a copy, if the limit allows it; the row that is there already stays
///   flush  what was put is visible to other processes at its return
template <class S>
concept CacheStore =
    requires(S& store, const RowKey& key, UseRow use, std::span<const std::byte> row, CacheLimit limit) {
      { store.get(key, use) } -> std::same_as<bool>;
      store.put(key, row, limit);
      store.flush();
      { store.counts() } -> std::same_as<std::vector<CacheCount>>;
      { store.refused() } -> std::convertible_to<std::uint64_t>;
    };

}  // namespace tenon::dataset
