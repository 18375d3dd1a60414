// Rows that were computed and are not in the store yet; the store writes many rows at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/cache/store.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// A row on its way. The limit is that of the cache which it belongs to.
struct PendingRow {
  std::string row;
  CacheLimit limit;
};
struct RowKeyHash {
  std::size_t operator()(const RowKey& key) const {
    return static_cast<std::size_t>(hash_number(key.position, hash_number(key.epoch, key.cache)));
  }
};
using PendingMap = std::unordered_map<RowKey, PendingRow, RowKeyHash>;

/// Collects rows from any thread. Whoever adds the one that makes them enough writes them, while others continue, until
/// there are enough again: then they wait. So twice as many are on their way at most, and a row of each thread.
class PendingRows {
 public:
  static constexpr std::size_t enough_bytes = 1 << 20, enough_rows = 256;

  /// True: the caller must take and write them. Throws bad_alloc, and has added nothing then.
  bool add(const RowKey& key, std::span<const std::byte> row, CacheLimit limit) {
    PendingRow copy{std::string(reinterpret_cast<const char*>(row.data()), row.size()), limit};
    const std::lock_guard lock(mutex_);
    if (!waiting_.try_emplace(key, std::move(copy)).second) return false;
    bytes_ += row.size();
    return bytes_ >= enough_bytes || waiting_.size() >= enough_rows;
  }
  /// Calls use(row) if the row is here.
  bool get(const RowKey& key, UseRow use) const {
    const std::lock_guard lock(mutex_);
    for (const PendingMap* map : {&waiting_, &in_writing_})
      if (const auto found = map->find(key); found != map->end()) {
        use(std::as_bytes(std::span(found->second.row)));
        return true;
      }
    return false;
  }
  /// Writes all that is here by `write(rows)`. One at a time; returns when those of before are written, too.
  template <class Write>
  void write_all(Write write) {
    const std::lock_guard one_at_a_time(writing_);
    {
      const std::lock_guard lock(mutex_);
      in_writing_.swap(waiting_);
      bytes_ = 0;
    }
    if (in_writing_.empty()) return;
    write(std::as_const(in_writing_));  // others read it meanwhile, none changes it
    const std::lock_guard lock(mutex_);
    in_writing_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::mutex writing_;
  PendingMap waiting_, in_writing_;
  std::size_t bytes_ = 0;
};

}  // namespace tenon::dataset::detail
