// Rows of a session in an LMDB file: nothing to start, shared by the processes of one user on one machine.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <errno.h>
#include <lmdb.h>

#include <tenon/core/log/log.hpp>
#include <tenon/dataset/cache/basic_dataset_cache.hpp>
#include <tenon/dataset/cache/lmdb_environment.hpp>
#include <tenon/dataset/cache/lmdb_reason.hpp>
#include <tenon/dataset/cache/pending_rows.hpp>
#include <tenon/dataset/cache/per_process.hpp>
#include <tenon/dataset/cache/store.hpp>
#include <tenon/io/bytes/crc32c.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The rows of one session in LMDB's file.
///
/// sharing  any number of threads and processes of one user; also after fork()
/// memory   the file is mapped: all processes read the same pages of the system's page cache, which it gives up for
///          other needs. Rows are checked (CRC-32C) at each look.
/// damage   a row that is not as it was written is computed again, after one warning. If a page of the file itself is
///          damaged, all rows are: the session begins anew, in another file. Others who have the damaged one open
///          continue with it
/// kill -9  damages nothing, see lmdb_environment.hpp; rows that were computed and not written yet, about 2 MiB and a
///          row of each thread at most, are computed again
/// full     rows beyond a limit are refused or spilled, which is only a count here: the file is on disk in any case. If
///          the disk is nearly full, rows are refused after one warning.
/// source   LMDB 0.9 (Symas), lmdb.h
class LmdbStore {
 public:
  /// For DatasetCache. Throws RuntimeError if there is no such session.
  static std::shared_ptr<LmdbStore> open(const CacheAddress& address, CacheLimit) {
    const CacheFolder folder(address.folder, address.port);
    if (address.hostname != "127.0.0.1" && address.hostname != "localhost")
      throw_error<ValueError>("DatasetCache: hostname is '", address.hostname,
                              "', and LMDB keeps rows on this machine "
                              "only, 127.0.0.1. A cache that machines share is a RedisCache.");
    const auto id = static_cast<std::uint32_t>(address.session_id);
    if (!folder.has_session(id)) detail::throw_no_session(address.session_id, folder.path());
    return std::make_shared<LmdbStore>(folder.session_path(id));
  }
  /// session   the folder of a session, see CacheFolder. Throws RuntimeError if it cannot be opened.
  explicit LmdbStore(const std::string& session) : session_(session), here_(std::make_unique<Here>(session)) {}
  LmdbStore(const LmdbStore&) = delete;
  ~LmdbStore() {
    if (here_.get_if()) flush();
  }

  bool get(const RowKey& key, UseRow use) {
    Here* const here = mine();
    if (!here) return false;
    const auto lease = here->lease();
    bool again = false;
    if (const detail::LmdbEnvironment::Reader reader(**lease); reader) {
      std::string_view value;
      const Key name = name_of(key);
      if (reader.get(name.view(), value)) {
        if (is_right(name.view(), value)) return use(std::as_bytes(std::span(value)).subspan(4)), true;
        again = !detail::has_right_head(value);
        if (!again) warn_of_row();
      }
    }
    if (again) begin_anew(*here, lease);
    return here->pending.get(key, use);
  }
  void put(const RowKey& key, std::span<const std::byte> row, CacheLimit limit) {
    try {
      Here* const here = mine();
      if (!here || stopped_ || here->full.refuses(key.cache, limit, row.size())) ++refused_;
      else if (here->pending.add(key, row, limit)) flush();
    } catch (const std::bad_alloc&) {
      ++refused_;
    }
  }
  void flush() {
    if (Here* const here = mine()) here->pending.write_all([&](const detail::PendingMap& rows) { write(*here, rows); });
  }
  /// What the session holds, a line per pipeline.
  std::vector<CacheCount> counts() {
    flush();
    std::vector<CacheCount> all;
    Here* const here = mine();
    if (!here) return all;
    const auto lease = here->lease();
    const detail::LmdbEnvironment::Reader reader(**lease);
    MDB_cursor* cursor = nullptr;
    if (!reader || ::mdb_cursor_open(reader.txn(), (**lease).rows(), &cursor) != 0) return all;
    MDB_val key{1, const_cast<char*>("s")}, value{};
    for (int result = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
         result == 0 && key.mv_size == 9 && *static_cast<char*>(key.mv_data) == 's';
         result = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
      if (CacheCount count; is_count(text_of(key), text_of(value), count)) all.push_back(count);
    ::mdb_cursor_close(cursor);
    return all;
  }
  /// Rows that were not kept, since there was no room.
  std::uint64_t refused() const { return refused_; }
  const std::string& session() const { return session_; }

 private:
  /// "r", then cache, epoch, position; "s", then cache. Numbers begin with their highest byte: neighbours in an epoch
  /// are neighbours in the file.
  struct Key {
    std::array<char, 25> bytes{};
    std::size_t size = 1;
    void add(std::uint64_t number) {
      for (int shift = 56; shift >= 0; shift -= 8) bytes[size++] = static_cast<char>(number >> shift & 255u);
    }
    std::string_view view() const { return {bytes.data(), size}; }
  };
  static Key name_of(const RowKey& key) {
    Key name;
    name.bytes[0] = 'r';
    name.add(key.cache);
    name.add(key.epoch);
    name.add(key.position);
    return name;
  }
  static Key name_of_count(std::uint64_t cache) {
    Key name;
    name.bytes[0] = 's';
    name.add(cache);
    return name;
  }
  /// The checksum of the row and of its key, stored before the row.
  static std::array<char, 4> checksum(std::string_view name, std::string_view row) {
    const std::uint32_t sum = io::crc32c(row) ^ io::masked_crc32c(name);
    std::array<char, 4> bytes;
    std::memcpy(bytes.data(), &sum, 4);
    return bytes;
  }
  static bool is_right(std::string_view name, std::string_view value) {
    return value.size() >= 4 && std::memcmp(checksum(name, value.substr(4)).data(), value.data(), 4) == 0;
  }
  static std::string_view text_of(const MDB_val& value) { return {static_cast<char*>(value.mv_data), value.mv_size}; }
  static bool is_count(std::string_view name, std::string_view value, CacheCount& count) {
    if (value.size() != 4 + sizeof count || !is_right(name, value)) return false;
    std::memcpy(&count, value.data() + 4, sizeof count);
    return true;
  }
  /// What a row takes in the file at most: a large one has pages of its own, small ones fill half of a page.
  static std::uint64_t charge(std::size_t row, unsigned page) {
    const std::uint64_t node = row + 4 + sizeof(Key::bytes) + 10;
    return node > page / 2 - 64 ? (row + 4 + 16 + page - 1) / page * page + 2 * (sizeof(Key::bytes) + 18) : 2 * node;
  }

  /// The pipelines that are full: of each with a limit, the smallest row that did not fit.
  class FullCaches {
   public:
    bool refuses(std::uint64_t cache, CacheLimit limit, std::size_t row) const {
      if (limit.bytes == 0 || limit.spilling) return false;
      const std::lock_guard lock(mutex_);
      const auto found = smallest_.find({cache, limit.bytes});
      return found != smallest_.end() && row >= found->second;
    }
    void add(std::uint64_t cache, CacheLimit limit, std::size_t row) {
      const std::lock_guard lock(mutex_);
      std::size_t& smallest = smallest_.try_emplace({cache, limit.bytes}, row).first->second;
      smallest = std::min(smallest, row);
    }

   private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> smallest_;
  };

  /// A child opens the file anew, and does not write what its parent will.
  struct Here {
    using Lease = detail::LmdbEnvironments::Lease;
    explicit Here(const std::string& session) : environment(std::make_shared<Lease>(session)) {}
    /// The file as long as somebody reads or writes in it: it may be another one at the next call.
    std::shared_ptr<Lease> lease() const {
      const std::lock_guard lock(mutex);
      return environment;
    }
    mutable std::mutex mutex;
    std::shared_ptr<Lease> environment;
    detail::PendingRows pending;
    FullCaches full;
  };
  /// Null if a child cannot open the file.
  Here* mine() {
    if (Here* const here = here_.get_if()) return here;
    if (stopped_) return nullptr;
    try {
      return &here_.get([this] { return std::make_unique<Here>(session_); });
    } catch (const std::exception& error) {
      stop(error.what());
      return nullptr;
    }
  }

  void warn_of_row() {
    if (!warned_.exchange(true))
      logging::warning("The cache in '", session_, "' has a row that is not as it was written. It is computed again. ",
                       "Look at the disk if that comes again.");
  }
  /// Replaces the damaged file by a new one, unless another thread has done so.
  [[gnu::cold]] void begin_anew(Here& here, const std::shared_ptr<Here::Lease>& damaged) {
    try {
      const std::lock_guard lock(here.mutex);
      if (here.environment == damaged) here.environment = std::make_shared<Here::Lease>(session_, &**damaged);
    } catch (const std::exception& error) {
      stop(error.what());
    }
  }

  void write(Here& here, const detail::PendingMap& rows) {
    const auto lease = here.lease();
    detail::LmdbEnvironment& environment = **lease;
    if (stopped_ || (environment.disk_is_nearly_full() && stop("the disk is nearly full"))) {
      refused_ += rows.size();
      return;
    }
    MDB_txn* txn = nullptr;
    int result = ::mdb_txn_begin(environment.env(), nullptr, 0, &txn);
    if (result == 0) {
      try {
        result = put_all(here, environment, txn, rows);
      } catch (const std::bad_alloc&) {
        result = ENOMEM;
      }
      if (result == 0) result = ::mdb_txn_commit(txn);
      else ::mdb_txn_abort(txn);
    }
    if (result != 0) {
      refused_ += rows.size();
      stop(detail::lmdb_reason(result, session_));
    }
  }
  int put_all(Here& here, const detail::LmdbEnvironment& environment, MDB_txn* txn, const detail::PendingMap& rows) {
    MDB_stat stat{};
    int result = ::mdb_stat(txn, environment.rows(), &stat);
    std::map<std::uint64_t, CacheCount> counts;
    std::vector<const detail::PendingMap::value_type*> sorted;
    for (const auto& row : rows) sorted.push_back(&row);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
      return std::tie(a->first.cache, a->first.epoch, a->first.position) <
             std::tie(b->first.cache, b->first.epoch, b->first.position);
    });
    for (const auto* row : sorted) {
      if (result != 0) break;
      const auto [count, unread] = counts.try_emplace(row->first.cache);
      if (unread) result = read_count(environment, txn, row->first.cache, count->second);
      if (result == 0) result = put_one(here, environment.rows(), txn, *row, count->second, stat.ms_psize);
    }
    for (auto& [cache, count] : counts) {
      if (result != 0) break;
      const Key name = name_of_count(cache);
      const std::string_view bytes(reinterpret_cast<const char*>(&count), sizeof count);
      result = put_checked(txn, environment.rows(), name, bytes);
    }
    return result;
  }
  static int read_count(const detail::LmdbEnvironment& environment, MDB_txn* txn, std::uint64_t cache,
                        CacheCount& count) {
    const Key name = name_of_count(cache);
    count.cache = cache;
    MDB_val key{name.size, const_cast<char*>(name.bytes.data())}, value{};
    const int result = ::mdb_get(txn, environment.rows(), &key, &value);
    if (result == MDB_NOTFOUND) return 0;
    if (result == 0) is_count(name.view(), text_of(value), count);
    return result;
  }
  /// After its checksum.
  static int put_checked(MDB_txn* txn, MDB_dbi rows, const Key& name, std::string_view bytes) {
    MDB_val key{name.size, const_cast<char*>(name.bytes.data())}, value{bytes.size() + 4, nullptr};
    if (const int result = ::mdb_put(txn, rows, &key, &value, MDB_RESERVE)) return result;
    std::memcpy(value.mv_data, checksum(name.view(), bytes).data(), 4);
    std::memcpy(static_cast<char*>(value.mv_data) + 4, bytes.data(), bytes.size());
    return 0;
  }
  int put_one(Here& here, MDB_dbi rows, MDB_txn* txn, const detail::PendingMap::value_type& added, CacheCount& count,
              unsigned page) {
    const auto& [row_key, row] = added;
    const Key name = name_of(row_key);
    MDB_val key{name.size, const_cast<char*>(name.bytes.data())}, value{};
    const int known = ::mdb_get(txn, rows, &key, &value);
    const bool damaged = known == 0 && !is_right(name.view(), text_of(value));
    if (known != MDB_NOTFOUND && !damaged) return known;  // of two processes that computed a row the first one keeps it
    if (damaged && !detail::has_right_head(text_of(value))) return 0;
    const std::uint64_t cost = charge(row.row.size(), page);
    const bool fits = row.limit.bytes == 0 || count.charged + cost <= row.limit.bytes;
    if (!fits && !row.limit.spilling) {
      ++refused_;
      here.full.add(row_key.cache, row.limit, row.row.size());
      return 0;
    }
    if (const int result = put_checked(txn, rows, name, row.row)) return result;
    if (damaged) return 0;  // it was counted
    if (row.limit.counted) {
      ++(fits ? count.in_memory : count.on_disk);
      count.bytes += row.row.size();
    }
    if (fits) count.charged += cost;
    return 0;
  }
  /// Nothing more is kept by this process. Returns true.
  bool stop(std::string_view reason) {
    if (!stopped_.exchange(true))
      logging::warning("The cache in '", session_, "' takes no more rows: ", reason, ". Those that are not there are ",
                       "computed each time.");
    return true;
  }

  const std::string session_;
  detail::PerProcess<Here> here_;
  std::atomic<bool> stopped_{false}, warned_{false};
  std::atomic<std::uint64_t> refused_{0};
};
static_assert(CacheStore<LmdbStore>);

}  // namespace tenon::dataset
