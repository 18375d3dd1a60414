// The sessions of a Redis server.
//
//   tenon:sessions          set     the sessions' numbers
//   tenon:ID:caches         set     the pipelines of a session, as numbers
//   tenon:ID:rows:CACHE     hash    rows, by epoch and position
//   tenon:ID:count:CACHE    hash    rows, bytes
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/random.h>

#include <tenon/core/error.hpp>
#include <tenon/dataset/cache/redis_connection.hpp>
#include <tenon/dataset/cache/store.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Creates, lists, and drops sessions. All of it throws RuntimeError if there is no server.
class RedisSessions {
 public:
  RedisSessions(const std::string& host, int port) : connection_(host, port) {}

  std::uint32_t create_session() {
    for (;;) {
      std::uint32_t id = 0;
      if (::getentropy(&id, sizeof id) != 0) throw_error<RuntimeError>("Cannot draw a number for a session.");
      if (id != 0 && connection_.command({"SADD", "tenon:sessions", text(id)})->integer == 1) return id;
    }
  }
  bool has_session(std::uint32_t id) {
    return connection_.command({"SISMEMBER", "tenon:sessions", text(id)})->integer == 1;
  }
  /// The numbers of all sessions, in order.
  std::vector<std::uint32_t> sessions() {
    std::vector<std::uint32_t> ids;
    const auto reply = connection_.command({"SMEMBERS", "tenon:sessions"});
    for (std::size_t i = 0; i < reply->elements; ++i)
      ids.push_back(static_cast<std::uint32_t>(detail::number_of(*reply->element[i])));
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  /// Removes a session and its rows, at once; false if there is none. A program that still has it open adds nothing.
  bool drop_session(std::uint32_t id) {
    static constexpr const char* script = R"(
      if redis.call('SREM', KEYS[1], ARGV[1]) == 0 then return 0 end
      local before = 'tenon:' .. ARGV[1]
      for _, cache in ipairs(redis.call('SMEMBERS', before .. ':caches')) do
        redis.call('UNLINK', before .. ':rows:' .. cache, before .. ':count:' .. cache)
      end
      redis.call('UNLINK', before .. ':caches')
      return 1)";
    return connection_.command({"EVAL", script, "1", "tenon:sessions", text(id)})->integer == 1;
  }
  std::vector<CacheCount> counts(std::uint32_t id) {
    std::vector<CacheCount> all;
    const auto caches = connection_.command({"SMEMBERS", text("tenon:", id, ":caches")});
    for (std::size_t i = 0; i < caches->elements; ++i) {
      const std::string_view cache = detail::words_of(*caches->element[i]);
      const auto values = connection_.command({"HMGET", text("tenon:", id, ":count:", cache), "rows", "bytes"});
      if (values->elements != 2) continue;
      CacheCount& count = all.emplace_back();
      count.cache = std::strtoull(std::string(cache).c_str(), nullptr, 10);
      count.in_memory = detail::number_of(*values->element[0]);
      count.bytes = count.charged = detail::number_of(*values->element[1]);
    }
    std::sort(all.begin(), all.end(), [](const CacheCount& a, const CacheCount& b) { return a.cache < b.cache; });
    return all;
  }
  /// Ends the server, with all sessions.
  void shut_down() { connection_.try_command({"SHUTDOWN", "NOSAVE"}); }

 private:
  detail::RedisConnection connection_;
};

}  // namespace tenon::dataset
