// Rows of a session on a Redis server, which several machines can share.
#pragma once
#include <algorithm>
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
#include <vector>

#include <tenon/core/log/log.hpp>
#include <tenon/dataset/cache/basic_dataset_cache.hpp>
#include <tenon/dataset/cache/pending_rows.hpp>
#include <tenon/dataset/cache/per_process.hpp>
#include <tenon/dataset/cache/redis_connection.hpp>
#include <tenon/dataset/cache/redis_sessions.hpp>
#include <tenon/dataset/cache/store.hpp>
#include <tenon/io/bytes/crc32c.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The rows of one session on a Redis server, in its memory: 7.0 and later are tested.
///
/// server    tenon-cache --backend redis --start runs a server for this machine. The `maxmemory-policy` of another
///           server must be `noeviction`, the default: the server then refuses a row that does not fit, and the row is
///           computed each time
/// kill -9   a program writes rows and their count by one script, which happens or does not. Rows that were computed
///           and not sent yet, about 2 MiB and a row of each thread at most, are computed again. When the server dies,
///           its rows and sessions are gone; programs warn once and compute
/// size      of what is stored, without Redis' own needs (about 100 bytes for each row)
/// password  in $REDISCLI_AUTH
/// source    Redis' commands EVAL, HGET, HSETNX; hiredis
class RedisStore {
 public:
  /// For DatasetCache. Throws RuntimeError if there is no server, or no such session.
  static std::shared_ptr<RedisStore> open(const CacheAddress& address, CacheLimit limit) {
    if (limit.spilling)
      throw_error<ValueError>("RedisCache: spilling is true, and Redis keeps rows in memory only. Leave it out, with "
                              "size = 0 for all that the server has room for, or take a DatasetCache.");
    RedisSessions sessions(address.hostname, address.port);
    const auto id = static_cast<std::uint32_t>(address.session_id);
    if (!sessions.has_session(id))
      detail::throw_no_session(address.session_id, text("the Redis server at ", address.hostname, ":", address.port));
    return std::make_shared<RedisStore>(address.hostname, address.port, id);
  }
  RedisStore(const std::string& host, int port, std::uint32_t session)
      : host_(host), port_(port), session_(text(session)), here_(std::make_unique<Here>()) {}
  RedisStore(const RedisStore&) = delete;
  ~RedisStore() {
    if (here_.get_if()) flush();
  }

  bool get(const RowKey& key, UseRow use) {
    Here& here = mine();
    if (here.pending.get(key, use)) return true;
    const std::string rows = name("rows", key.cache), field = field_of(key);
    bool found = false;
    with_connection(here, [&](detail::RedisConnection& server) {
      const auto reply = server.try_command({"HGET", rows, field});
      if (!reply || reply->type == REDIS_REPLY_ERROR) return bool(reply) && stop(detail::complaint_of(*reply));
      const std::string_view value = detail::words_of(*reply);
      found = value.size() >= 4 && checksum(field, value.substr(4)) == value.substr(0, 4);
      if (found) use(std::as_bytes(std::span(value)).subspan(4));
      return true;
    });
    return found;
  }
  void put(const RowKey& key, std::span<const std::byte> row, CacheLimit limit) {
    try {
      if (stopped_ || full_) ++refused_;
      else if (mine().pending.add(key, row, limit)) flush();
    } catch (const std::bad_alloc&) {
      ++refused_;
    }
  }
  void flush() {
    Here& here = mine();
    here.pending.write_all([&](const detail::PendingMap& rows) { write(here, rows); });
  }
  std::vector<CacheCount> counts() {
    flush();
    try {
      return RedisSessions(host_, port_).counts(static_cast<std::uint32_t>(std::stoul(session_)));
    } catch (const std::exception& error) {
      stop(error.what());
      return {};
    }
  }
  std::uint64_t refused() const { return refused_; }

 private:
  struct Here {
    detail::PendingRows pending;
    std::mutex mutex;
    std::vector<std::unique_ptr<detail::RedisConnection>> idle;
  };
  Here& mine() {
    return here_.get([] { return std::make_unique<Here>(); });
  }
  std::string name(std::string_view what, std::uint64_t cache) const {
    return text("tenon:", session_, ":", what, ":", cache);
  }
  static std::string field_of(const RowKey& key) {
    std::string field(16, '\0');
    std::memcpy(field.data(), &key.epoch, 8);
    std::memcpy(field.data() + 8, &key.position, 8);
    return field;
  }
  static std::string checksum(std::string_view field, std::string_view row) {
    const std::uint32_t sum = io::crc32c(row) ^ io::masked_crc32c(field);
    return std::string(reinterpret_cast<const char*>(&sum), 4);
  }

  /// Calls act(connection), which returns false if the connection has failed.
  template <class Act>
  void with_connection(Here& here, Act act) {
    if (stopped_) return;
    std::unique_ptr<detail::RedisConnection> connection;
    {
      const std::lock_guard lock(here.mutex);
      if (!here.idle.empty()) {
        connection = std::move(here.idle.back());
        here.idle.pop_back();
      }
    }
    try {
      if (!connection) connection = std::make_unique<detail::RedisConnection>(host_, port_);
    } catch (const RuntimeError& error) {
      stop(error.what());
      return;
    }
    if (!act(*connection)) {
      stop(connection->error());
      return;
    }
    const std::lock_guard lock(here.mutex);
    here.idle.push_back(std::move(connection));
  }

  /// Rows that one script writes: of one pipeline, with one limit, counted or not.
  using Group = std::tuple<std::uint64_t, std::uint64_t, bool>;

  void write(Here& here, const detail::PendingMap& rows) {
    std::map<Group, std::vector<const detail::PendingMap::value_type*>> groups;
    for (const auto& row : rows)
      groups[{row.first.cache, row.second.limit.bytes, row.second.limit.counted}].push_back(&row);
    for (const auto& [group, members] : groups) {
      long kept = 0;
      with_connection(here, [&](detail::RedisConnection& server) {
        const auto reply = put_all(server, group, members);
        if (!reply) return false;
        if (reply->type == REDIS_REPLY_INTEGER) kept = static_cast<long>(reply->integer);
        else is_full(detail::complaint_of(*reply));
        return true;
      });
      if (kept < 0) stop("the session has been dropped");
      refused_ += members.size() - static_cast<std::size_t>(std::max(kept, 0L));
    }
  }
  /// The number of rows that are there afterwards, -1 if the session is not.
  detail::RedisConnection::Reply put_all(detail::RedisConnection& server, const Group& group,
                                         const std::vector<const detail::PendingMap::value_type*>& rows) const {
    static constexpr const char* script = R"(
      if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then return -1 end
      redis.call('SADD', KEYS[2], ARGV[2])
      local limit = tonumber(ARGV[3])
      local count = redis.call('HMGET', KEYS[4], 'rows', 'bytes')
      local rows, bytes, there = tonumber(count[1] or 0), tonumber(count[2] or 0), 0
      for i = 5, #ARGV, 2 do
        local size = #ARGV[i + 1] - 4
        if redis.call('HEXISTS', KEYS[3], ARGV[i]) == 1 then there = there + 1
        elseif limit == 0 or bytes + size <= limit then
          redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1])
          rows, bytes, there = rows + ARGV[4], bytes + size * ARGV[4], there + 1
        end
      end
      redis.call('HSET', KEYS[4], 'rows', string.format('%.0f', rows), 'bytes', string.format('%.0f', bytes))
      return there)";
    const auto [cache, limit, counted] = group;
    const std::string caches = text("tenon:", session_, ":caches"), number = text(cache), most = text(limit),
                      names[]{name("rows", cache), name("count", cache)};
    std::vector<std::string> words;
    words.reserve(2 * rows.size());
    for (const auto* row : rows) {
      words.push_back(field_of(row->first));
      words.push_back(checksum(words.back(), row->second.row) + row->second.row);
    }
    std::vector<std::string_view> command{"EVAL",   script, "4",  "tenon:sessions",   caches, names[0], names[1],
                                          session_, number, most, counted ? "1" : "0"};
    command.insert(command.end(), words.begin(), words.end());
    return server.try_command(command);
  }

  /// Nothing more is kept or read by this process. Returns true.
  bool stop(std::string_view reason) {
    if (!stopped_.exchange(true))
      logging::warning("The cache of session ", session_, " on the Redis server at ", host_, ":", port_,
                       " is used no more: ", reason, ". Rows are computed each time.");
    return true;
  }
  void is_full(std::string_view reason) {
    if (!full_.exchange(true))
      logging::warning("The Redis server at ", host_, ":", port_, " takes no more rows for session ", session_, ": ",
                       reason, " Those that are not there are computed each time.");
  }

  const std::string host_;
  const int port_;
  const std::string session_;
  detail::PerProcess<Here> here_;
  std::atomic<bool> stopped_{false}, full_{false};
  std::atomic<std::uint64_t> refused_{0};
};
static_assert(CacheStore<RedisStore>);

}  // namespace tenon::dataset
