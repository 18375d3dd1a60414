// Rows in LMDB: shared by processes, bounded, never wrong, whatever is killed or damaged.
// link: lmdb
#include <doctest/doctest.h>
#if __has_include(<lmdb.h>)

#include <memory>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <tenon/dataset/cache/lmdb_store.hpp>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__x86_64__)
#define KILL_AT_CALLS
#endif
#include "../../support/logged.hpp"
#include "../../support/skip.hpp"
#include "../support.hpp"
#include "killed.hpp"

using namespace tenon;
using namespace tenon::dataset;
namespace fs = std::filesystem;

namespace {
/// The row of a key: 0 to 28,000 bytes that follow from it.
std::string row_of(const RowKey& key) {
  const std::uint64_t seed = hash_number(key.position, hash_number(key.epoch, key.cache));
  std::string row(key.position % 7 == 0 ? 8000 + seed % 20000 : seed % 900, '\0');
  Random random(seed);
  for (char& c : row) c = static_cast<char>(random.word());
  return row;
}
std::span<const std::byte> bytes_of(const std::string& row) { return std::as_bytes(std::span(row)); }
void put(LmdbStore& store, const RowKey& key, CacheLimit limit = {}) { store.put(key, bytes_of(row_of(key)), limit); }
enum class Found { no, right, wrong };
Found look(LmdbStore& store, const RowKey& key) {
  Found found = Found::no;
  const std::string expected = row_of(key);
  store.get(key, [&](std::span<const std::byte> row) {
    const bool same = row.size() == expected.size() && std::equal(row.begin(), row.end(), bytes_of(expected).begin());
    found = same ? Found::right : Found::wrong;
  });
  return found;
}
/// How many of the first rows are there; they must be right, and, if they are all that anybody puts, as many as are
/// counted.
long rows_there(const std::string& session, std::uint64_t cache, std::uint64_t last, bool all = true) {
  LmdbStore store(session);
  long there = 0;
  for (std::uint64_t i = 0; i < last; ++i) {
    const Found found = look(store, {cache, 0, i});
    REQUIRE(found != Found::wrong);
    there += found == Found::right;
  }
  long counted = 0;
  for (const CacheCount& count : store.counts())
    if (count.cache == cache) counted += static_cast<long>(count.in_memory + count.on_disk);
  if (all) REQUIRE(counted == there);
  return there;
}
std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}
const std::set<std::string> session_files{"boot", "data.mdb", "lock.mdb", "opening"};

struct Session {
  support::Folder place;
  CacheFolder folder{place.path};
  std::uint32_t id = folder.create_session();
  std::string path = folder.session_path(id);
};
}  // namespace

TEST_CASE("lmdb store: rows come back as they were put, in this process and in others") {
  Session s;
  LmdbStore store(s.path);
  for (std::uint64_t i = 0; i < 500; ++i) put(store, {1, 0, i});
  put(store, {1, 3, 7});
  put(store, {2, 0, 7});
  for (std::uint64_t i = 0; i < 500; ++i) CHECK(look(store, {1, 0, i}) == Found::right);  // also those not written yet
  CHECK(look(store, {1, 0, 500}) == Found::no);
  CHECK(look(store, {1, 1, 7}) == Found::no);
  CHECK(look(store, {3, 0, 7}) == Found::no);
  store.flush();
  CHECK(killed::in_child([&] { return look(store, {1, 3, 7}) == Found::right ? 0 : 1; }) == 0);  // behind fork()
  CHECK(killed::in_child([&] {
          LmdbStore other(s.path);
          put(other, {2, 0, 8});
          put(other, {2, 0, 7});  // it is there
          other.flush();
          return look(other, {2, 0, 7}) == Found::right ? 0 : 1;
        }) == 0);
  CHECK(look(store, {2, 0, 8}) == Found::right);
  const auto counts = store.counts();
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].in_memory == 501);
  CHECK(counts[1].in_memory == 2);
  CHECK(counts[1].bytes == row_of({2, 0, 7}).size() + row_of({2, 0, 8}).size());
  CHECK(names_in(s.path) == session_files);
}

TEST_CASE("lmdb store: many threads, each row once") {
  Session s;
  LmdbStore store(s.path);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const RowKey key{1, 0, (i * 7 + static_cast<std::uint64_t>(t) * 501) % 2000};
        const Found found = look(store, key);
        wrong += found == Found::wrong;
        if (found == Found::no) put(store, key);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  store.flush();
  CHECK(rows_there(s.path, 1, 2000) == 2000);
}

TEST_CASE("lmdb store: a size is held, row by row; spilling goes beyond it") {
  for (const std::size_t row_bytes : {40u, 700u, 3140u, 70000u}) {
    Session s;
    const std::string row(row_bytes, 'x');
    const CacheLimit two_megabytes{2 << 20, false};
    {
      LmdbStore store(s.path);
      const std::uint64_t rows = (std::uint64_t{6} << 20) / row_bytes;
      for (std::uint64_t i = 0; i < rows; ++i) store.put({1, 0, i}, bytes_of(row), two_megabytes);
      const auto counts = store.counts();
      REQUIRE(counts.size() == 1);
      CHECK(counts[0].charged <= std::uint64_t{2} << 20);
      if (row_bytes >= 700) CHECK(counts[0].bytes > (std::uint64_t{2} << 20) * 2 / 5);  // pages are not full
      CHECK(store.refused() + counts[0].in_memory == rows);
      CHECK(counts[0].on_disk == 0);
      INFO(row_bytes);
      CHECK(fs::file_size(s.path + "/data.mdb") <= (2u << 20) + (512u << 10));
    }
    LmdbStore store(s.path);
    for (std::uint64_t i = 0; i < 30; ++i) store.put({1, 1, i}, bytes_of(row), {2 << 20, true});
    const auto counts = store.counts();
    CHECK(counts[0].on_disk + counts[0].in_memory >= 30);
    if (row_bytes > 3000) CHECK(counts[0].on_disk > 0);
    CHECK(store.refused() == 0);
  }
}

TEST_CASE("lmdb store: a pipeline that is full refuses its own rows only, and those of its limit only") {
  Session s;
  LmdbStore store(s.path);
  const std::string row(70000, 'x');
  const CacheLimit megabyte{1 << 20, false};
  for (std::uint64_t i = 0; i < 40; ++i) store.put({1, 0, i}, bytes_of(row), megabyte);
  const std::uint64_t first = store.counts().at(0).in_memory, refused = store.refused();
  CHECK(first + refused == 40);
  REQUIRE(refused > 0);
  for (std::uint64_t i = 0; i < 5; ++i) store.put({2, 0, i}, bytes_of(row), megabyte);
  REQUIRE(store.counts().size() == 2);
  CHECK(store.counts()[1].in_memory == 5);
  store.put({1, 0, 50}, bytes_of(row), {2 << 20, false});
  CHECK(store.counts()[0].in_memory == first + 1);
  CHECK(store.refused() == refused);
}

TEST_CASE("lmdb store: a row that there is no memory for is not kept, nor half of it") {
#if defined(KILL_AT_CALLS)
  Session s;
  CHECK(killed::in_child([&] {
          LmdbStore store(s.path);
          put(store, {1, 0, 1});
          const std::string large(64 << 20, 'x');
          long pages = 0;
          std::ifstream("/proc/self/statm") >> pages;
          const rlim_t now = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE));
          rlimit limit{};
          ::getrlimit(RLIMIT_AS, &limit);
          const rlimit little{now + (16 << 20), limit.rlim_max};
          if (::setrlimit(RLIMIT_AS, &little) != 0) return 1;
          store.put({1, 0, 2}, bytes_of(large), {});
          ::setrlimit(RLIMIT_AS, &limit);
          if (store.refused() != 1) return 2;
          if (look(store, {1, 0, 2}) != Found::no) return 3;
          store.flush();
          if (look(store, {1, 0, 2}) != Found::no) return 4;
          return look(store, {1, 0, 1}) == Found::right ? 0 : 5;
        }) == 0);
#else
  support::say_skipped("a sanitizer ends the program where there is no memory");
#endif
}

TEST_CASE("lmdb store: one file is opened once, however its path is spelled") {
  Session s;
  fs::create_directory_symlink(s.place.path, s.place / "link");
  using Lease = dataset::detail::LmdbEnvironments::Lease;
  const Lease plain(s.path), dotted(s.path + "/."), linked(CacheFolder(s.place / "link").session_path(s.id));
  CHECK(&*plain == &*dotted);
  CHECK(&*plain == &*linked);
  const std::uint32_t other = s.folder.create_session();
  const Lease another(s.folder.session_path(other));
  CHECK(&*plain != &*another);
}

TEST_CASE("lmdb store: damaged, foreign, and cut files are thrown away, and what was there is computed again") {
  Session s;
  const auto fill = [&] {
    LmdbStore store(s.path);
    for (std::uint64_t i = 0; i < 300; ++i) put(store, {1, 0, i});
  };
  const std::string data = s.path + "/data.mdb", boot = s.path + "/boot";
  fill();
  REQUIRE(rows_there(s.path, 1, 300) == 300);

  SUBCASE("the file of another boot") {
    io::write_file(boot, text("tenon rows 2\n", "01234567-89ab-cdef-0123-456789abcdef\n"));
    CHECK(rows_there(s.path, 1, 300) == 0);
  }
  SUBCASE("no word of which boot") {
    fs::remove(boot);
    CHECK(rows_there(s.path, 1, 300) == 0);
  }
  SUBCASE("cut short") {
    fs::resize_file(data, fs::file_size(data) / 2);
    CHECK(rows_there(s.path, 1, 300) == 0);
  }
  SUBCASE("empty") {
    fs::resize_file(data, 0);
    CHECK(rows_there(s.path, 1, 300) == 0);
  }
  SUBCASE("something else") {
    io::write_file(data, std::string(100000, 'z'));
    CHECK(rows_there(s.path, 1, 300) == 0);
  }
  SUBCASE("rows with a bit that has changed: only they are computed again") {
    std::string bytes = io::read_file(data);
    const std::string row = row_of({1, 0, 14});
    REQUIRE(row.size() > 8000 - 1);  // on pages of its own
    const std::size_t at = bytes.find(row);
    REQUIRE(at != bytes.npos);
    bytes[at + 4000] ^= 1;
    std::fstream(data, std::ios::in | std::ios::out | std::ios::binary)
        .write(bytes.data(), std::streamsize(bytes.size()));
    LmdbStore store(s.path);
    CHECK(look(store, {1, 0, 14}) == Found::no);
    CHECK(look(store, {1, 0, 15}) == Found::right);
    put(store, {1, 0, 14});
    store.flush();
    CHECK(look(store, {1, 0, 14}) == Found::right);
  }
  fill();
  CHECK(rows_there(s.path, 1, 300) == 300);
  CHECK(names_in(s.path) == session_files);
}

namespace {
constexpr std::uint64_t damaged_rows = 150;
constexpr std::size_t page_bytes = 4096;

/// What three epochs do: read all rows, and compute those that are not there. The session may begin anew in the first
/// one, and lack the rows that were read before that; then the second one puts them. 1: a row was wrong, 2: not all are
/// there in the third.
int use_all(const std::string& session) {
  LmdbStore store(session);
  for (const bool last : {false, false, true})
    for (std::uint64_t i = 0; i < damaged_rows; ++i) {
      const Found found = look(store, {1, 0, i});
      if (found == Found::wrong) return 1;
      if (found == Found::no && last) return 2;
      if (found == Found::no) put(store, {1, 0, i});
    }
  return 0;
}
/// Unlike io::write_file without a wait for the disk.
void put_file(const std::string& file, const std::string& bytes) {
  fs::remove(file);
  std::ofstream(file, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}
void damage(const std::string& file, std::size_t at, const std::string& bytes) {
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(std::streamoff(at))
      .write(bytes.data(), std::streamsize(bytes.size()));
}
}  // namespace

TEST_CASE("lmdb store: whichever page is zeroed, randomised, or set to ff, no row is wrong and all are there again") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  Session s;
  const std::string data = s.path + "/data.mdb";
  REQUIRE(killed::in_child([&] { return use_all(s.path); }) == 0);
  const std::string whole = io::read_file(data);
  const std::size_t pages = whole.size() / page_bytes;
  REQUIRE(pages > 50);
  Random random(7);
  std::string noise(page_bytes, '\0');
  for (char& c : noise) c = static_cast<char>(random.word());
  const std::string bad[]{std::string(page_bytes, '\0'), noise, std::string(page_bytes, '\xff')};
  long again = 0;
  for (std::size_t page = 0; page < pages; ++page)
    for (const std::string& bytes : bad) {
      CAPTURE(page);
      put_file(data, whole);
      damage(data, page * page_bytes, bytes);
      // the first one finds it, the next one finds nothing
      REQUIRE(killed::in_child([&] { return use_all(s.path); }) == 0);
      again += io::read_file(data) != whole;
      REQUIRE(killed::in_child([&] { return rows_there(s.path, 1, damaged_rows) == long(damaged_rows) ? 0 : 1; }) == 0);
    }
  CHECK(again > long(pages));
  CHECK(names_in(s.path) == session_files);
}
TEST_CASE("lmdb store: any bit of a page's head or of its nodes") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  Session s;
  const std::string data = s.path + "/data.mdb";
  REQUIRE(killed::in_child([&] { return use_all(s.path); }) == 0);
  const std::string whole = io::read_file(data);
  Random random(8);
  for (int i = 0; i < 400; ++i) {
    const std::size_t page = random.word() % (whole.size() / page_bytes), at = page * page_bytes + random.word() % 200;
    CAPTURE(at);
    put_file(data, whole);
    damage(data, at, std::string(1, static_cast<char>(whole[at] ^ (1 << random.word() % 8))));
    REQUIRE(killed::in_child([&] { return use_all(s.path); }) == 0);
    REQUIRE(killed::in_child([&] { return use_all(s.path); }) == 0);
  }
}
TEST_CASE("lmdb store: a number of a transaction that stands in the wrong one of the first two pages") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  Session s;
  const std::string data = s.path + "/data.mdb";
  REQUIRE(killed::in_child([&] { return use_all(s.path); }) == 0);
  const std::string whole = io::read_file(data);
  constexpr std::size_t number =
      sizeof(dataset::detail::LmdbPageHead) + offsetof(dataset::detail::LmdbMeta, transaction);
  for (const std::size_t page : {0, 1})
    for (const int bit : {0, 1, 7}) {
      CAPTURE(page);
      CAPTURE(bit);
      put_file(data, whole);
      const std::size_t at = page * page_bytes + number;
      damage(data, at, std::string(1, static_cast<char>(whole[at] ^ (1 << bit))));
      REQUIRE(killed::in_child([&] { return ::alarm(60), use_all(s.path); }) == 0);
    }
}
TEST_CASE("lmdb store: a file that there are no addresses for to look through is opened") {
  if (support::sanitized) return support::say_skipped("a sanitizer needs addresses");
  Session s;
  const std::string data = s.path + "/data.mdb";
  REQUIRE(killed::in_child([&] { return use_all(s.path); }) == 0);
  fs::resize_file(data, 3u << 30);  // the file has more pages than it uses
  CHECK(killed::in_child([&] {
          ::alarm(60);
          rlimit most{5ull << 30, 5ull << 30};  // for LMDB's own map, and not for another one
          ::setrlimit(RLIMIT_AS, &most);
          return rows_there(s.path, 1, damaged_rows) == long(damaged_rows) ? 0 : 1;
        }) == 0);
}
TEST_CASE("lmdb store: a damaged file of locks that nobody uses is made anew") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  Session s;
  const std::string locks = s.path + "/lock.mdb";
  REQUIRE(killed::in_child([&] { return use_all(s.path); }) == 0);
  const std::string whole = io::read_file(locks);
  Random random(9);
  std::string noise(whole.size(), '\0');
  for (char& c : noise) c = static_cast<char>(random.word());
  for (const std::string& bytes : {std::string(whole.size(), '\0'), noise, std::string(whole.size(), '\xff'),
                                   whole.substr(0, 100), std::string()}) {
    put_file(locks, bytes);
    REQUIRE(killed::in_child([&] { return rows_there(s.path, 1, damaged_rows) == long(damaged_rows) ? 0 : 1; }) == 0);
  }
}
TEST_CASE("lmdb store: one warning says that a session begins anew, and users of the old file go on") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  Session s;
  const std::string data = s.path + "/data.mdb";
  const auto all = [](LmdbStore& store, Found expected) {
    for (std::uint64_t i = 0; i < damaged_rows; ++i)
      if (look(store, {1, 0, i}) != expected) std::fprintf(stderr, "row %d\n", int(i));
  };
  const std::string said = support::logged({}, [&] {
    LmdbStore before(s.path);
    for (std::uint64_t i = 0; i < damaged_rows; ++i) put(before, {1, 0, i});
    before.flush();
    // in a copy of the file, so that its pages are not those that `before` reads
    std::string bytes = io::read_file(data);
    for (const std::size_t root_place : {std::size_t{128}, page_bytes + 128}) {
      std::uint64_t root;
      std::memcpy(&root, bytes.data() + root_place, 8);
      if (root < bytes.size() / page_bytes) bytes.replace(root * page_bytes, page_bytes, page_bytes, '\xff');
    }
    put_file(data, bytes);
    fs::remove(s.path + "/lock.mdb");
    LmdbStore after(s.path);
    all(after, Found::no);
    for (std::uint64_t i = 0; i < damaged_rows; ++i) put(after, {1, 0, i});
    LmdbStore third(s.path);
    after.flush();
    all(third, Found::right);
    all(before, Found::right);
    put(before, {2, 0, 1});
    before.flush();
    if (look(before, {2, 0, 1}) != Found::right) std::fprintf(stderr, "the old file\n");
  });
  CHECK(support::lines_of(said).size() == 1);
  CHECK(support::has(said, "is damaged (page"));
  CHECK(support::has(said, "begins anew: its rows are computed again"));
  CHECK(rows_there(s.path, 1, damaged_rows) == long(damaged_rows));
}
TEST_CASE("lmdb store: a row whose pages' head is damaged while it is in use makes the session begin anew") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  Session s;
  const std::string data = s.path + "/data.mdb";
  const std::string said = support::logged({}, [&] {
    LmdbStore store(s.path), other(s.path);
    for (std::uint64_t i = 0; i < damaged_rows; ++i) put(store, {1, 0, i});
    store.flush();
    const std::string bytes = io::read_file(data), row = row_of({1, 0, 14});
    const std::size_t page = bytes.find(row) / page_bytes;
    damage(data, page * page_bytes, std::string(100, '\0'));
    // both are in one process, and find it one after the other
    for (LmdbStore* const one : {&store, &other, &store})
      if (look(*one, {1, 0, 14}) == Found::wrong) std::fprintf(stderr, "wrong\n");
    for (std::uint64_t i = 0; i < damaged_rows; ++i) put(other, {1, 0, i});
    other.flush();
    for (std::uint64_t i = 0; i < damaged_rows; ++i)
      if (look(store, {1, 0, i}) != Found::right) std::fprintf(stderr, "row %d\n", int(i));
  });
  CHECK(support::lines_of(said).size() == 1);
  CHECK(support::has(said, "begins anew"));
  CHECK(rows_there(s.path, 1, damaged_rows) == long(damaged_rows));
}

TEST_CASE("lmdb store: a file that others write while it is opened is not taken for damaged") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  Session s;
  const std::string said = support::logged({}, [&] {
    std::vector<pid_t> children;
    for (std::uint64_t child = 0; child < 3; ++child) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      for (std::uint64_t i = 0; i < 60; ++i) {
        LmdbStore store(s.path);
        for (std::uint64_t row = 0; row < 15; ++row) put(store, {1 + child, i, row});
        store.flush();
      }
      ::_exit(0);
    }
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  });
  CHECK(said.empty());
  CHECK(rows_there(s.path, 1, 1, false) == 1);
}

TEST_CASE("lmdb store: a session that is dropped stays readable for those who have it, and leaves nothing") {
  Session s;
  LmdbStore store(s.path);
  for (std::uint64_t i = 0; i < 50; ++i) put(store, {1, 0, i});
  store.flush();
  CHECK(killed::in_child([&] { return s.folder.drop_session(s.id) ? 0 : 1; }) == 0);
  CHECK(!s.folder.drop_session(s.id));
  CHECK(!s.folder.has_session(s.id));
  CHECK(s.place.files() == 0);
  CHECK(look(store, {1, 0, 49}) == Found::right);
  for (std::uint64_t i = 50; i < 90; ++i) put(store, {1, 0, i});
  store.flush();
  CHECK(look(store, {1, 0, 89}) == Found::right);
  CHECK(s.place.files() == 0);
  CHECK_THROWS_AS(LmdbStore{s.path}, RuntimeError);
}

TEST_CASE("cache folder: sessions are numbers that are found again") {
  support::Folder place;
  const CacheFolder folder(place / "a/b", 2000), other_port(place / "a/b", 2001);
  CHECK(folder.sessions().empty());
  CHECK(!folder.drop_session(1));
  const std::uint32_t a = folder.create_session(), b = folder.create_session();
  CHECK(folder.sessions() == std::vector<std::uint32_t>{std::min(a, b), std::max(a, b)});
  CHECK(other_port.sessions().empty());
  CHECK((fs::status(folder.session_path(a)).permissions() & fs::perms::all) == fs::perms::owner_all);
  CHECK((fs::status(place / "a/b").permissions() & fs::perms::all) == fs::perms::owner_all);
  CHECK(folder.drop_session(a));
  CHECK(folder.sessions() == std::vector<std::uint32_t>{b});
  fs::create_directory(folder.path() + "/dropped_5");  // by a process that was killed
  io::write_file(folder.path() + "/dropped_5/data.mdb", "x");
  CHECK(folder.drop_all() == 1);
  CHECK(names_in(place / "a/b").empty());
}

TEST_CASE("cache folder: a path from the current folder on, also one whose first part is one letter") {
  support::Folder place;
  const fs::path before = fs::current_path();
  fs::current_path(place.path);
  CHECK(CacheFolder("a/b").create_session() > 0);
  CHECK(CacheFolder("c").create_session() > 0);
  CHECK(CacheFolder("./d//e/").create_session() > 0);
  fs::current_path(before);
  CHECK(fs::is_directory(place / "a/b/port_50052"));
  CHECK(fs::is_directory(place / "d/e/port_50052"));
  CHECK((fs::status(place / "a").permissions() & fs::perms::all) == fs::perms::owner_all);
}

TEST_CASE("cache folder: where others may write is refused, so is what belongs to others") {
  support::Folder place;
  fs::permissions(place.path, fs::perms::all);
  CHECK(support::has(support::message<RuntimeError>([&] { CacheFolder(place.path).create_session(); }), "chmod 700"));
  fs::permissions(place.path, fs::perms::owner_all);
  CHECK(CacheFolder(place.path).create_session() > 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown(place.path.c_str(), 4711, 4711) == 0);
    CHECK(support::has(support::message<RuntimeError>([&] { CacheFolder(place.path).create_session(); }),
                       "belongs to user 4711"));
  } else {
    CHECK(
        support::has(support::message<RuntimeError>([&] { CacheFolder("/").create_session(); }), "belongs to user 0"));
  }
}

TEST_CASE("lmdb store: after kill -9 at each call that changes a file the next one goes on") {
#if defined(KILL_AT_CALLS)
  Session s;
  const auto work = [&] {
    LmdbStore store(s.path);
    for (std::uint64_t i = 0; i < 120; ++i) {
      put(store, {1, 0, i});
      if (i % 40 == 39) store.flush();
    }
  };
  int incomplete = 0;
  const auto new_session = [&] {
    s.folder.drop_session(s.id);
    s.id = s.folder.create_session();
    s.path = s.folder.session_path(s.id);
  };
  SUBCASE("nobody else has it open") {
    const int ended = killed::at_each_call(work, [&] {
      incomplete += rows_there(s.path, 1, 120) < 120;
      work();
      CHECK(rows_there(s.path, 1, 120) == 120);
      CHECK(names_in(s.path) == session_files);
      new_session();
    });
    MESSAGE(ended, " children were ended, ", incomplete, " before the last row was there");
    CHECK(incomplete > 10);
    CHECK(incomplete <= ended);
  }
  SUBCASE("this process has it open, and the dead one held LMDB's locks") {
    auto store = std::make_unique<LmdbStore>(s.path);
    const int ended = killed::at_each_call(work, [&] {
      for (std::uint64_t i = 0; i < 120; ++i) {
        const Found found = look(*store, {1, 0, i});
        REQUIRE(found != Found::wrong);
        if (found == Found::no) put(*store, {1, 0, i});
      }
      store->flush();
      CHECK(store->refused() == 0);
      CHECK(rows_there(s.path, 1, 120) == 120);
      store.reset();
      new_session();
      store = std::make_unique<LmdbStore>(s.path);
    });
    CHECK(ended > 10);
  }
#else
  support::say_skipped("a sanitizer has the functions that this test replaces");
#endif
}

TEST_CASE("cache folder: after kill -9 at each call that changes a file sessions are whole or gone") {
#if defined(KILL_AT_CALLS)
  support::Folder place;
  const CacheFolder folder(place.path);
  const int ended = killed::at_each_call(
      [&] {
        const std::uint32_t id = folder.create_session();
        LmdbStore(folder.session_path(id)).flush();
        folder.drop_session(id);
      },
      [&] {
        for (const std::uint32_t id : folder.sessions()) LmdbStore(folder.session_path(id)).flush();
        folder.drop_all();
        CHECK(place.files() == 0);
      });
  CHECK(ended > 20);
#else
  support::say_skipped("a sanitizer has the functions that this test replaces");
#endif
}

TEST_CASE("lmdb store: kill -9 of writers and readers at 100 random instants") {
  enum Phase { opening, reading, putting, writing, phases };
  Session s;
  auto* const phase =
      static_cast<std::atomic<int>*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(phase != MAP_FAILED);
  constexpr std::uint64_t rows = 4000;
  const auto work = [&](int slot, std::uint64_t seed) {
    Random random(seed);
    for (;;) {
      phase[slot] = opening;
      LmdbStore store(s.path);
      for (int i = 0; i < 400; ++i) {
        const RowKey key{1, 0, random.below(rows)};
        phase[slot] = reading;
        const Found found = look(store, key);
        if (found == Found::wrong) ::_exit(3);
        phase[slot] = putting;
        if (found == Found::no) put(store, key);
        phase[slot] = writing;
        if (i % 16 == 0) store.flush();
      }
      if (store.refused() != 0) ::_exit(4);
    }
  };
  constexpr int workers = 3;
  pid_t child[workers];
  std::uint64_t seed = 1;
  const auto start = [&](int slot) {
    ++seed;
    child[slot] = ::fork();
    REQUIRE(child[slot] >= 0);
    if (child[slot] == 0) {
      work(slot, seed);
      ::_exit(0);
    }
  };
  for (int slot = 0; slot < workers; ++slot) start(slot);
  Random random(7);
  std::map<int, int> in_phase;
  for (int kills = 0; kills < 100; ++kills) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(8000)));
    const int slot = static_cast<int>(random.below(workers));
    ::kill(child[slot], SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child[slot], &status, 0) == child[slot]);
    REQUIRE(WIFSIGNALED(status));  // else it has found a wrong row, or could not write
    REQUIRE(WTERMSIG(status) == SIGKILL);
    ++in_phase[phase[slot]];
    if (kills % 10 == 0) rows_there(s.path, 1, 200, false);
    start(slot);
  }
  for (const pid_t process : child) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  MESSAGE("ended while opening: ", in_phase[opening], ", reading: ", in_phase[reading],
          ", putting: ", in_phase[putting], ", writing: ", in_phase[writing]);
  CHECK(rows_there(s.path, 1, rows) > 0);
  {
    LmdbStore store(s.path);
    for (std::uint64_t i = 0; i < rows; ++i) put(store, {1, 0, i});
  }
  CHECK(rows_there(s.path, 1, rows) == rows);
  CHECK(names_in(s.path) == session_files);
  CHECK(s.folder.drop_session(s.id));
  CHECK(s.place.files() == 0);
  ::munmap(phase, 4096);
}

#else
#include "../../support/skip.hpp"
TEST_CASE("lmdb store") { support::say_skipped("LMDB is not installed"); }
#endif
