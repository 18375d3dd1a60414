// The user's description of a cache: its session, its size, and, if necessary, its location.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/dataset/cache/store.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// What a cache holds: MindSpore's names.
struct CacheStat {
  std::int64_t avg_cache_sz = 0;     // bytes of a row
  std::int64_t num_mem_cached = 0;   // rows within the cache's size
  std::int64_t num_disk_cached = 0;  // rows beyond it, with spilling
};

/// The location of a session. A store reads the parts that it needs.
struct CacheAddress {
  std::int64_t session_id = 0;
  std::string hostname{};
  int port = 0;
  std::string folder{};
};

namespace detail {
/// The common state of all copies of one DatasetCache: the store, opened at its first use, and the pipelines that use
/// it.
template <class Store>
struct CacheUse {
  std::mutex mutex;
  std::shared_ptr<Store> store;
  std::vector<std::uint64_t> pipelines;
};
}  // namespace detail

/// A cache of rows in a session, which `tenon-cache -g` has created. DatasetCache (dataset/cache.hpp) stores rows with
/// LMDB, RedisCache (dataset/redis_cache.hpp) with Redis. A copy is the same cache.
///
/// session_id  1 .. 4294967295, and there must be such a session
/// size        limit for the rows of one pipeline, in megabytes (2^20 bytes); 0: the free space is the limit
/// spilling    rows beyond the size are stored on disk, instead of computed each time. LMDB always stores rows on disk,
///             so there the option only removes the limit
/// hostname, port  of the server; for LMDB the port is a part of the folder's name, as in tenon-cache
/// folder      for LMDB; "" is default_cache_folder()
/// throws      at its first use: ValueError if a value is outside its range, RuntimeError if there is no such session
/// source      MindSpore's DatasetCache. Its num_connections and prefetch_size have no meaning here; a size above the
///             free memory is no error, as no memory is reserved
template <class Store>
struct BasicDatasetCache {
  std::int64_t session_id = 0;
  std::int64_t size = 0;
  bool spilling = false;
  std::string hostname = "127.0.0.1";
  int port = 50052;
  std::string folder{};
  /// Not for users.
  std::shared_ptr<detail::CacheUse<Store>> use = std::make_shared<detail::CacheUse<Store>>();

  /// The session's rows of the pipelines that use this cache, from all processes.
  CacheStat get_stat() const {
    const auto store = opened();
    const std::lock_guard lock(use->mutex);
    CacheStat stat;
    std::uint64_t bytes = 0;
    for (const CacheCount& count : store->counts()) {
      if (std::find(use->pipelines.begin(), use->pipelines.end(), count.cache) == use->pipelines.end()) continue;
      stat.num_mem_cached += static_cast<std::int64_t>(count.in_memory);
      stat.num_disk_cached += static_cast<std::int64_t>(count.on_disk);
      bytes += count.bytes;
    }
    if (const std::int64_t rows = stat.num_mem_cached + stat.num_disk_cached; rows > 0)
      stat.avg_cache_sz = static_cast<std::int64_t>(bytes / static_cast<std::uint64_t>(rows));
    return stat;
  }
  /// The number of rows that this process computed but did not store, because of the limit or of missing space.
  std::int64_t num_not_cached() const { return static_cast<std::int64_t>(opened()->refused()); }

  /// For cache(): the store, which a pipeline is going to use.
  std::shared_ptr<Store> attach(std::uint64_t pipeline) const {
    auto store = opened();
    const std::lock_guard lock(use->mutex);
    use->pipelines.push_back(pipeline);
    return store;
  }
  CacheLimit limit() const { return {static_cast<std::uint64_t>(size) << 20, spilling}; }

 private:
  std::shared_ptr<Store> opened() const {
    const std::lock_guard lock(use->mutex);
    if (use->store) return use->store;
    if (session_id < 1 || session_id > 4294967295)
      throw_error<ValueError>("DatasetCache: session_id is ", session_id,
                              ", it must be in 1 .. 4294967295: the number ", "that `tenon-cache -g` has printed.");
    if (size < 0 || size > std::int64_t{1} << 40)
      throw_error<ValueError>("DatasetCache: size is ", size, ", it must be 0 (no bound) or more, in megabytes.");
    if (port < 1025 || port > 65535)
      throw_error<ValueError>("DatasetCache: port is ", port, ", it must be in 1025 .. 65535.");
    use->store = Store::open({session_id, hostname, port, folder}, limit());
    return use->store;
  }
};

namespace detail {
[[noreturn, gnu::cold]] inline void throw_no_session(std::int64_t session_id, const std::string& where) {
  throw_error<RuntimeError>("Session id ", session_id, " not found in ", where,
                            ". Create a session with `tenon-cache -g`, and pass the number that it prints.");
}
}  // namespace detail

}  // namespace tenon::dataset
