// What document 001 says of the cache server, in C++: what it needs, what it cleans up, and what is left when it was
// killed. There it is shared memory, a socket, and files, to be found and removed by hand; here it is nothing.
// link: lmdb
#include <doctest/doctest.h>
#if __has_include(<lmdb.h>)

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <tenon/dataset/cache.hpp>
#include <tenon/dataset/digits/digits.hpp>
#include <tenon/dataset/operation/take.hpp>

#include "../dataset/support.hpp"

using namespace tenon;
namespace fs = std::filesystem;

namespace {
/// The cache of the document's users: a session that `tenon-cache -g` has created, on the default port.
struct CacheServer {
  support::Folder place;
  dataset::CacheFolder folder{place.path};
  std::uint32_t session_id = folder.create_session();
  dataset::DatasetCache some_cache(std::int64_t size = 0, bool spilling = false) const {
    return {.session_id = session_id, .size = size, .spilling = spilling, .folder = place.path};
  }
};
auto digits() { return dataset::Digits{.size = 500}; }
template <class D>
double sum_of(const D& data) {
  double sum = 0;
  for (const auto& row : data)
    for (const float pixel : row.template values<0>()) sum += pixel;
  return sum;
}
/// Reads rows through a cache in another process, which is killed in the midst of it.
void kill_a_program(const CacheServer& server, std::int64_t size = 0, bool spilling = false) {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto cache = server.some_cache(size, spilling);
    const auto data = digits() | dataset::cache(cache);
    auto rows = data.open();
    rows.start(0);
    for (int i = 0; i < 400; ++i) rows.next();
    cache.get_stat();  // what was computed is written
    if (::write(ready[1], "1", 1) != 1) ::_exit(1);
    for (;;) sum_of(data);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  REQUIRE(::kill(child, SIGKILL) == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  ::close(ready[0]);
  ::close(ready[1]);
}
/// What `ipcs` shows of this user, and the files of POSIX' shared memory.
std::set<std::string> shared_memory() {
  std::set<std::string> segments;
  for (const char* kind : {"shm", "msg", "sem"}) {
    std::ifstream table(std::string("/proc/sysvipc/") + kind);
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string key, id;
      words >> key >> id;
      segments.insert(std::string(kind) + " " + key + " " + id);
    }
  }
  return segments;
}
long segments_of(const std::set<std::string>& before) {
  long count = 0;
  for (const std::string& segment : shared_memory()) count += !before.contains(segment);
  return count;
}
}  // namespace

TEST_CASE("the cache needs no server to be started, and so no library of an interpreter") {
  const CacheServer server;  // nothing but a folder
  const auto data = digits() | dataset::cache(server.some_cache());
  CHECK(sum_of(data) == sum_of(digits()));
  std::ifstream maps("/proc/self/maps");
  const std::string mapped((std::istreambuf_iterator<char>(maps)), {});
  CHECK(mapped.find("libpython") == mapped.npos);
}

TEST_CASE("a cache that is stopped leaves no shared memory, no socket, and no file") {
  const auto before = shared_memory();
  const CacheServer server;
  const auto data = digits() | dataset::cache(server.some_cache(1, true));
  CHECK(sum_of(data) == sum_of(data));
  CHECK(server.folder.drop_all() == 1);  // cache_admin --stop
  CHECK(server.place.files() == 0);
  CHECK(segments_of(before) == 0);
}

TEST_CASE("after a program with a cache was killed the next one goes on with its rows, nothing is cleaned up") {
  const CacheServer server;
  for (int i = 0; i < 3; ++i) {
    kill_a_program(server);
    const auto cache = server.some_cache();
    const auto data = digits() | dataset::cache(cache);
    if (i == 0) CHECK(cache.get_stat().num_mem_cached >= 400);  // those of the one that was killed
    CHECK(sum_of(data) == sum_of(digits()));
    CHECK(cache.get_stat().num_mem_cached == 500);
  }
}

TEST_CASE("a killed cache leaves no segment of shared memory to be found by ipcs and removed by ipcrm") {
  const auto before = shared_memory();
  const CacheServer server;
  kill_a_program(server);
  CHECK(segments_of(before) == 0);
}

TEST_CASE("a killed cache leaves no socket") {
  const CacheServer server;
  kill_a_program(server);
  long files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(server.place.path)) {
    CHECK(!entry.is_socket());
    files += entry.is_regular_file();
  }
  CHECK(files == 4);
}

TEST_CASE("rows that did not fit lie in the session's folder, also of one that was killed, and go with the session") {
  const CacheServer server;
  kill_a_program(server, 1, true);
  const auto cache = server.some_cache(1, true);
  const auto data = digits() | dataset::cache(cache);
  CHECK(sum_of(data) == sum_of(digits()));
  CHECK(cache.get_stat().num_disk_cached > 200);
  CHECK(cache.get_stat().num_mem_cached + cache.get_stat().num_disk_cached == 500);
  CHECK(server.folder.drop_session(server.session_id));  // cache_admin -d
  CHECK(server.place.files() == 0);
}

#else
#include "../support/skip.hpp"
TEST_CASE("the cache needs no server to be started, and so no library of an interpreter") {
  support::say_skipped("LMDB is not installed");
}
#endif
