// Rows on a Redis server: shared, bounded, and missed without harm when the server is gone.
// link: redis
#include <doctest/doctest.h>
#if __has_include(<hiredis/hiredis.h>)

#include <memory>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>

#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/redis_cache.hpp>

#include "../../support/free_port.hpp"
#include "../../support/logged.hpp"
#include "../../support/skip.hpp"
#include "../support.hpp"
#include "killed.hpp"

extern char** environ;

using namespace tenon;
using namespace tenon::dataset;

namespace {
/// A server of the test's own, which ends with it.
struct Server {
  support::Folder folder;
  int port = support::free_port();
  pid_t process = -1;

  explicit Server(const char* most_memory = "0") {
    std::vector<std::string> words{
        "redis-server", "--port",    std::to_string(port), "--bind",       "127.0.0.1",   "--save",   "",
        "--dir",        folder.path, "--logfile",          folder / "log", "--maxmemory", most_memory};
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    if (::posix_spawnp(&process, "redis-server", nullptr, nullptr, pointers.data(), environ) != 0) process = -1;
    for (int round = 0; runs() && round < 600; ++round) {
      try {
        RedisSessions(host, port);
        return;
      } catch (const RuntimeError&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
    process = -1;
  }
  Server(const Server&) = delete;
  ~Server() { kill(); }

  bool runs() const { return process > 0; }
  void kill() {
    if (!runs()) return;
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    process = -1;
  }
  RedisSessions sessions() const { return {host, port}; }
  RedisCache cache(std::uint32_t id, std::int64_t size = 0) const {
    return {.session_id = id, .size = size, .port = port};
  }
  static constexpr const char* host = "127.0.0.1";
};
bool available() {
  static const bool there = std::system("redis-server --version >/dev/null 2>&1") == 0;
  if (!there) support::say_skipped("redis-server is not installed");
  return there;
}

std::atomic<int> computed{0};
struct Told : Source<Told> {
  static constexpr int dims = 1000;
  using columns = Columns<Column<float, Shape<dims>>>;
  long count;
  explicit Told(long n) : count(n) {}
  long size() const { return count; }
  void describe(auto& d) const { d.add(count); }
  void sample(long index, void* const* out) const {
    ++computed;
    for (int i = 0; i < dims; ++i) static_cast<float*>(out[0])[i] = static_cast<float>(index * 3 + i);
  }
};
/// Whether all rows are right.
template <class D>
bool is_right(const D& data) {
  long index = 0;
  for (const auto& row : data) {
    for (int i = 0; i < Told::dims; ++i)
      if (row.template values<0>()[std::size_t(i)] != static_cast<float>(index * 3 + i)) return false;
    ++index;
  }
  return index == data.size();
}
}  // namespace

TEST_CASE("redis cache: rows are computed once, by this process or another; a dropped session leaves nothing") {
  if (!available()) return;
  const Server server;
  REQUIRE(server.runs());
  auto sessions = server.sessions();
  const std::uint32_t id = sessions.create_session();
  CHECK(sessions.sessions() == std::vector<std::uint32_t>{id});
  const RedisCache cache = server.cache(id);
  const auto data = Told(700) | dataset::cache(cache);
  computed = 0;
  CHECK(is_right(data));
  CHECK(is_right(data));
  CHECK(computed == 700);
  CHECK(cache.get_stat().num_mem_cached == 700);
  CHECK(cache.get_stat().avg_cache_sz == 40 + 4000);
  CHECK(killed::in_child([&] {  // behind fork(), and opened anew
          computed = 0;
          return is_right(data) && is_right(Told(700) | dataset::cache(server.cache(id))) && computed == 0 ? 0 : 1;
        }) == 0);
  CHECK(is_right(data));
  CHECK(sessions.drop_session(id));
  CHECK(!sessions.drop_session(id));
  dataset::detail::RedisConnection connection(Server::host, server.port);
  CHECK(connection.command({"DBSIZE"})->integer == 0);
  const std::string said = support::logged({}, [&] {  // who still has the session computes, and brings nothing back
    const auto data = Told(700) | dataset::cache(cache);
    if (!is_right(data)) ::_exit(1);
    if (cache.get_stat().num_mem_cached != 0) ::_exit(2);
  });
  CHECK(support::has(said, "dropped"));
  CHECK(connection.command({"DBSIZE"})->integer == 0);
}

TEST_CASE("redis cache: a size is held, and so is the server's memory") {
  if (!available()) return;
  const Server server("6mb");
  REQUIRE(server.runs());
  const RedisCache small = server.cache(server.sessions().create_session(), 1);
  CHECK(is_right(Told(700) | dataset::cache(small)));
  const std::int64_t bytes = small.get_stat().num_mem_cached * small.get_stat().avg_cache_sz;
  CHECK(bytes <= 1 << 20);
  CHECK(bytes > (1 << 20) - 5000);
  CHECK(small.num_not_cached() == 700 - small.get_stat().num_mem_cached);

  const RedisCache large = server.cache(server.sessions().create_session());
  const std::string said = support::logged({}, [&] {
    const auto data = Told(5000) | dataset::cache(large);
    if (!is_right(data) || !is_right(data) || large.num_not_cached() == 0) ::_exit(1);
  });
  CHECK(support::has(said, "takes no more rows"));
  CHECK(support::lines_of(said).size() == 1);
  RedisCache spilling = small;
  spilling.spilling = true;
  spilling.use = std::make_shared<dataset::detail::CacheUse<RedisStore>>();
  CHECK(support::has(support::message<ValueError>([&] { spilling.get_stat(); }), "Redis keeps rows in memory only"));
}

TEST_CASE("redis cache: no server, no session, and a server that is killed in an epoch") {
  if (!available()) return;
  Server server;
  REQUIRE(server.runs());
  auto sessions = server.sessions();
  const std::uint32_t id = sessions.create_session();
  CHECK(support::has(support::message<RuntimeError>([&] { server.cache(id == 5 ? 6 : 5).get_stat(); }), "not found"));
  const RedisCache cache = server.cache(id);
  const auto data = Told(700) | dataset::cache(cache);
  CHECK(is_right(data));
  const std::string said = support::logged({}, [&] {
    auto rows = data.open();
    rows.start(0);
    for (int i = 0; i < 100; ++i) rows.next();
    ::kill(server.process, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    while (const auto* row = rows.next())
      if (row->values<0>()[1] != row->values<0>()[0] + 1) ::_exit(1);
    if (!is_right(data)) ::_exit(2);
  });
  CHECK(support::has(said, "is used no more"));
  CHECK(support::lines_of(said).size() == 1);
  server.kill();
  const std::string refused = support::message<RuntimeError>([&] { server.cache(id).get_stat(); });
  CHECK(support::has(refused, "Connection refused"));
  CHECK(support::has(refused, "tenon-cache --backend redis --start"));
}

TEST_CASE("redis cache: kill -9 of programs at random instants") {
  if (!available()) return;
  const Server server;
  REQUIRE(server.runs());
  auto sessions = server.sessions();
  const std::uint32_t id = sessions.create_session();
  Random random(5);
  for (int kills = 0; kills < 20; ++kills) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto data = Told(3000) | dataset::cache(server.cache(id));
      for (;;)
        if (!is_right(data)) ::_exit(3);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(40)));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
  }
  const RedisCache cache = server.cache(id);
  CHECK(is_right(Told(3000) | dataset::cache(cache)));
  CHECK(cache.get_stat().num_mem_cached == 3000);
  dataset::detail::RedisConnection connection(Server::host, server.port);
  const auto caches = connection.command({"SMEMBERS", text("tenon:", id, ":caches")});
  REQUIRE(caches->elements == 1);
  const std::string rows = text("tenon:", id, ":rows:", dataset::detail::words_of(*caches->element[0]));
  CHECK(connection.command({"HLEN", rows})->integer == 3000);
}

#else
#include "../../support/skip.hpp"
TEST_CASE("redis cache") { support::say_skipped("hiredis is not installed"); }
#endif
