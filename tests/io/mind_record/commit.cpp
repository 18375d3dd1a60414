// A writer of MindRecord files is killed inside of write, fsync, rename, and unlink, and at random times: no wrong row
// is ever read, the next start works, and nothing is left. Two writers of a set, one of which stops anywhere: the set
// is one's or the other's. What is called like a list and is none stays, and so do the neighbours that it names.
// link: sqlite json
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../../dataset/support.hpp"

#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/io/mind_record.hpp>

#include "../../support/failpoint.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {
constexpr int shards = 3, rows = 20;

/// In memory where that can be had, for what is killed is a process, not a disk.
struct QuickFolder {
  fs::path path = (fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
                  ("tenon_record_" + std::to_string(::getpid()));
  QuickFolder() { fs::remove_all(path), fs::create_directories(path); }
  ~QuickFolder() { fs::remove_all(path); }
  std::string name = "/f";
  std::string set() const { return path.string() + name; }
  long files() const { return std::distance(fs::directory_iterator(path), {}); }
};

void add_rows(io::MindRecordWriter& writer, int generation) {
  for (int i = 0; i < rows; ++i)
    writer.write({{"generation", generation},
                  {"i", i},
                  {"b", std::string(std::size_t(2000 * (generation % 3) + 100 * i), char('a' + generation % 26))}});
}
void write_set(const std::string& set, int generation) {
  io::MindRecordWriter writer(set, {.shards = shards, .header_size = 16384, .page_size = 32768, .overwrite = true});
  writer.add_schema(
      {{"generation", io::MindRecordType::int32}, {"i", io::MindRecordType::int32}, {"b", io::MindRecordType::bytes}});
  add_rows(writer, generation);
  writer.commit();
}
void append_to_set(const std::string& set, int generation) {
  io::MindRecordWriter writer = io::MindRecordWriter::append(set);
  add_rows(writer, generation);
  writer.commit();
}

/// How many rows of each generation, if each is as it was written.
using Census = std::map<int, int>;
void count_rows(const io::MindRecordReader& reader, Census& census) {
  for (long k = 0; k < reader.size(); ++k) {
    const io::MindRecordRow row = reader.read(k);
    const int generation = row.number<std::int32_t>("generation"), i = row.number<std::int32_t>("i");
    if (row.chars("b") != std::string(std::size_t(2000 * (generation % 3) + 100 * i), char('a' + generation % 26)))
      ++census[-1];
    ++census[generation];
  }
}
/// Nothing if there is no complete set.
std::optional<Census> census_of(const std::string& set) {
  try {
    Census census;
    count_rows(io::MindRecordReader(set), census);
    return census;
  } catch (const RuntimeError&) {
    return std::nullopt;
  }
}

struct Ledger {
  std::map<std::string, long> kills;
  long wrong = 0, looks_complete = 0, failed = 0, left_behind = 0;
  long all() const {
    long sum = 0;
    for (const auto& [phase, count] : kills) sum += count;
    return sum;
  }
  void print() const {
    for (const auto& [phase, count] : kills) std::printf("%-32s %5ld kills\n", phase.c_str(), count);
    std::printf(
        "all %ld kills: %ld wrong rows, %ld files look complete and are not, %ld starts failed, %ld files stayed\n",
        all(), wrong, looks_complete, failed, left_behind);
  }
};

/// What a reader that knows nothing of lists sees: a file with an index must be whole.
void look_as_others_do(const fs::path& folder, Ledger& ledger) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path();
    if (!fs::exists(path + ".db")) continue;
    try {
      const io::detail::MindRecordShardFile shard(path);
      io::MindRecordRow row;
      std::map<int, int> generations;
      for (long i = 0; i < shard.rows(); ++i) {
        shard.read(i, shard.header().schema, {}, row);
        ++generations[row.number<std::int32_t>("generation")];
      }
      for (const auto& [generation, count] : generations)
        ledger.looks_complete += count < rows / shards || count > rows / shards + 1;
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
      ++ledger.looks_complete;
    }
  }
}
int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
/// Runs the work in a process that dies there. False if it did not.
template <class Work>
bool dies(const Failpoint& where, Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    failpoint = where;
    try {
      work();
    } catch (...) {
      ::_exit(4);
    }
    ::_exit(0);
  }
  return WIFSIGNALED(wait_for(child));
}
/// The next start: a program that only reads, or one that writes.
void start_again(const QuickFolder& folder, bool append, bool had_old, bool reads_first, Ledger& ledger) {
  look_as_others_do(folder.path, ledger);
  if (reads_first) {
    const std::optional<Census> census = census_of(folder.set());
    if (had_old && !census) ++ledger.failed;
    if (census) {
      const Census older{{1, rows}}, newer = append ? Census{{1, rows}, {2, rows}} : Census{{2, rows}};
      ledger.wrong += *census != newer && (!had_old || *census != older);
    }
  }
  try {
    if (append) {
      append_to_set(folder.set(), 3);
      const Census now = census_of(folder.set()).value_or(Census{});
      ledger.wrong += now != Census{{1, rows}, {3, rows}} && now != Census{{1, rows}, {2, rows}, {3, rows}};
    } else {
      write_set(folder.set(), 3);
      ledger.wrong += census_of(folder.set()) != Census{{3, rows}};
    }
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    ++ledger.failed;
  }
  ledger.left_behind += folder.files() - 2 * shards;
}
}  // namespace

TEST_CASE("killed inside of write, fsync, rename, unlink: the old set or the new one, and the next start works") {
  enum Kind { fresh, over, append, slashes };
  constexpr const char* kinds[]{"a new set, ", "overwrite, ", "append, ", "overwrite //f, "};
  Ledger ledger;
  for (const Kind kind : {fresh, over, append, slashes})
    for (const Phase& phase : phases)
      for (long number = 1;; ++number) {
        QuickFolder folder;
        if (kind == slashes) folder.name = "//f";
        if (kind != fresh) write_set(folder.set(), 1);
        const bool died = dies({phase.call, phase.moment, number},
                               [&] { kind == append ? append_to_set(folder.set(), 2) : write_set(folder.set(), 2); });
        if (!died) break;  // so many calls there are not
        ++ledger.kills[std::string(kinds[kind]) + phase.name];
        start_again(folder, kind == append, kind != fresh, number % 2, ledger);
      }
  ledger.print();
  CHECK(ledger.all() > 300);
  CHECK(ledger.kills.size() == 4 * std::size(phases));
  CHECK(ledger.wrong == 0);
  CHECK(ledger.looks_complete == 0);
  CHECK(ledger.failed == 0);
  CHECK(ledger.left_behind == 0);
}

TEST_CASE("killed at 100 random instants while it writes one set after the other") {
  Ledger ledger;
  std::mt19937 random(1);
  const QuickFolder folder;
  write_set(folder.set(), 1);
  for (int kill = 0; kill < 100; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int generation = 2;; ++generation) {
        try {
          write_set(folder.set(), generation);
        } catch (...) {
          ::_exit(4);
        }
      }
    }
    ::usleep(useconds_t(1000 + random() % 20000));
    ::kill(child, SIGKILL);
    ledger.failed += !WIFSIGNALED(wait_for(child));
    ++ledger.kills["at random"];
    look_as_others_do(folder.path, ledger);
    const std::optional<Census> census = census_of(folder.set());
    ledger.failed += !census;
    ledger.wrong += census && (census->size() != 1 || census->begin()->second != rows || census->begin()->first < 1);
  }
  write_set(folder.set(), 7);
  ledger.left_behind += folder.files() - 2 * shards;
  ledger.print();
  CHECK(ledger.wrong == 0);
  CHECK(ledger.looks_complete == 0);
  CHECK(ledger.failed == 0);
  CHECK(ledger.left_behind == 0);
}

namespace {
/// A writer of a set with its rows, before its commit.
io::MindRecordWriter begun(const std::string& set, int generation, bool overwrite = true) {
  io::MindRecordWriter writer(set,
                              {.shards = shards, .header_size = 16384, .page_size = 32768, .overwrite = overwrite});
  writer.add_schema(
      {{"generation", io::MindRecordType::int32}, {"i", io::MindRecordType::int32}, {"b", io::MindRecordType::bytes}});
  add_rows(writer, generation);
  return writer;
}
/// What a forked writer does: status 0, or 4 with the error's text.
[[noreturn]] void write_and_exit(const std::string& set, int generation) {
  try {
    write_set(set, generation);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    std::fflush(stdout);
    ::_exit(4);
  }
  ::_exit(0);
}
/// The process of a writer that stops at a place; 0 if it is done without having been there.
pid_t stopped(Failpoint where, const std::string& set, int generation) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    where.signal = SIGSTOP;
    failpoint = where;
    write_and_exit(set, generation);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  return WIFSTOPPED(status) ? child : 0;
}
/// Waits a little for a process that may have to wait for another. True if it is done.
bool is_done(pid_t child, int& status) {
  for (int i = 0; i < 30; ++i, ::usleep(1000))
    if (::waitpid(child, &status, WNOHANG) == child) return true;
  return false;
}
}  // namespace

TEST_CASE(
    "a writer stops anywhere, another one writes the set, the first goes on or is killed: one's set or the other's") {
  long places = 0, mixed = 0, failed = 0, left = 0, waited = 0;
  for (const bool killed : {false, true})
    for (const Phase& phase : phases)
      for (long number = 1; phase.call != SystemCall::write; ++number) {
        const QuickFolder folder;
        write_set(folder.set(), 1);
        const pid_t first = stopped({phase.call, phase.moment, number}, folder.set(), 2);
        if (!first) break;
        ++places;
        const pid_t second = ::fork();
        if (second == 0) write_and_exit(folder.set(), 3);
        int status = 0;
        const bool done = is_done(second, status);
        waited += !done;
        ::kill(first, killed ? SIGKILL : SIGCONT);
        const int ended = wait_for(first);
        if (!done) status = wait_for(second);
        failed += status != 0 || (!killed && ended != 0);
        const std::optional<Census> now = census_of(folder.set());
        const Census one{{2, rows}}, other{{3, rows}};
        mixed += !now || (*now != one && *now != other) || (killed && *now != other);
        io::detail::remove_abandoned_files(folder.path);  // as the next writer does
        left += folder.files() - 2 * shards;
      }
  std::printf("%ld places, at %ld of them the second writer waited: %ld mixed, %ld failed, %ld files stayed\n", places,
              waited, mixed, failed, left);
  CHECK(places > 100);
  CHECK(waited > 10);
  CHECK(mixed == 0);
  CHECK(failed == 0);
  CHECK(left == 0);
}

TEST_CASE("a writer begins while another one commits: what that one has put on the disk stays") {
  const QuickFolder folder;
  write_set(folder.set(), 1);
  const pid_t first = stopped({SystemCall::rename, Moment::behind, 2}, folder.set(), 2);
  REQUIRE(first);
  CHECK(fs::exists(folder.set() + "0.unfinished"));
  {
    const io::MindRecordWriter second = begun(folder.set(), 3);
    CHECK(fs::exists(folder.set() + "0.unfinished"));
    CHECK(census_of(folder.set()) == Census{{1, rows}});  // a reader does not wait
  }
  ::kill(first, SIGCONT);
  CHECK(wait_for(first) == 0);
  CHECK(census_of(folder.set()) == Census{{2, rows}});
  CHECK(folder.files() == 2 * shards);
}

TEST_CASE("what a writer has put on the disk vanishes: an error, and the old set") {
  const QuickFolder folder;
  write_set(folder.set(), 1);
  for (const char* const name : {"f0.unfinished", "f.commit"}) {
    const pid_t first = stopped({SystemCall::rename, Moment::behind, 2}, folder.set(), 2);
    REQUIRE(first);
    CHECK(fs::remove(folder.path / name));
    ::kill(first, SIGCONT);
    CHECK(WEXITSTATUS(wait_for(first)) == 4);
    CHECK(census_of(folder.set()) == Census{{1, rows}});
    for (int i = 0; i < shards; ++i)  // without a list nobody knows whose they are
      for (const char* const end : {".unfinished", ".db.unfinished"})
        fs::remove(folder.set() + std::to_string(i) + end);
    CHECK(folder.files() == 2 * shards);
  }
}

TEST_CASE("two writers of a set in one process: one after the other, or a refusal that changes nothing") {
  const QuickFolder folder;
  {
    io::MindRecordWriter a = begun(folder.set(), 1, false), b = begun(folder.set(), 2, false),
                         c = begun(folder.set(), 3);
    a.commit();
    CHECK(has(message<RuntimeError>([&] { b.commit(); }), "mindrecord files already exist"));
    CHECK(census_of(folder.set()) == Census{{1, rows}});
    c.commit();
    CHECK(census_of(folder.set()) == Census{{3, rows}});
    for (int i = 0; i < shards; ++i)
      for (const char* const end : {"", ".db"}) fs::remove(folder.set() + std::to_string(i) + end);
    b.commit();  // it has its rows still
    CHECK(census_of(folder.set()) == Census{{2, rows}});
  }
  {
    io::MindRecordWriter a = io::MindRecordWriter::append(folder.set()), b = io::MindRecordWriter::append(folder.set());
    add_rows(a, 4), add_rows(b, 5);
    a.commit();
    CHECK(has(message<RuntimeError>([&] { b.commit(); }), "the set has been written anew since append() read it"));
  }
  CHECK(census_of(folder.set()) == Census{{2, rows}, {4, rows}});
  CHECK(folder.files() == 2 * shards);
}

TEST_CASE("two writers and a reader at the same time: every set that is read is one's or the other's") {
  const QuickFolder folder;
  write_set(folder.set(), 1);
  std::atomic<int> writing{2}, failed{0};
  long read = 0, mixed = 0;
  {
    std::vector<std::jthread> writers;
    for (int first = 2; first < 4; ++first)
      writers.emplace_back([&, first] {
        for (int round = 0; round < 40; ++round)
          failed += !message<Error>([&] { write_set(folder.set(), first + 2 * round); }).empty();
        --writing;
      });
    while (writing) {
      Census census;
      const std::string error = message<Error>([&] { count_rows(io::MindRecordReader(folder.set()), census); });
      const bool again = error.find("another set takes its place again and again") != error.npos;
      if (!error.empty() && !again) std::printf("%s\n", error.c_str());
      read += !again;
      mixed += !again && (census.size() != 1 || census.begin()->first < 1 || census.begin()->second != rows);
    }
  }
  CHECK(read > 0);
  CHECK(failed == 0);
  CHECK(mixed == 0);
  CHECK(folder.files() == 2 * shards);
}

namespace {
void put(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }
/// What stands at a set's list is somebody's: readers read, writers refuse, and all stays.
void check_left_alone(const QuickFolder& folder, const char* what) {
  CAPTURE(what);
  const long files = folder.files();
  const fs::file_status before = fs::symlink_status(folder.set() + ".commit");
  CHECK(census_of(folder.set()) == Census{{1, rows}});
  CHECK(has(message<RuntimeError>([&] { write_set(folder.set(), 2); }), "f.commit', which its writer needs, is there"));
  CHECK(has(message<RuntimeError>([&] { append_to_set(folder.set(), 2); }), "move it away"));
  CHECK(fs::symlink_status(folder.set() + ".commit") == before);
  CHECK(census_of(folder.set()) == Census{{1, rows}});
  CHECK(folder.files() == files);
}
}  // namespace

TEST_CASE("a file that is called like a list and is none of ours stays, and what it names") {
  const std::string title(io::detail::commit_title), other = title.substr(0, 20);
  for (const std::string& list : {std::string("epoch 3\n"), std::string(), other, title, title + "-other.txt\n",
                                  title + "-f0\n-../other.txt\n", title + "+f1234\n", title + "+f0.db.db\n",
                                  title + "-f0\n-f1", title + "f0\n", title + "-f0\n\n", "x" + title + "-f0\n"}) {
    const QuickFolder folder;
    write_set(folder.set(), 1);
    for (const char* const name : {"other.txt", "f1234", "f1234.unfinished", "f0.db.db.unfinished"})
      put(folder.path / name, "mine");
    put(folder.set() + ".commit", list);
    check_left_alone(folder, list.c_str());
    CHECK(io::read_file(folder.set() + ".commit") == list);
    CHECK(io::read_file(folder.path / "other.txt") == "mine");
  }
}

TEST_CASE("a list that is a link, a pipe, or a folder is none") {
  const QuickFolder folder;
  write_set(folder.set(), 1);
  const std::string path = folder.set() + ".commit";
  put(folder.path / "list", std::string(io::detail::commit_title) + "-f0\n");
  fs::create_symlink("list", path);
  check_left_alone(folder, "link");
  fs::remove(path), fs::create_symlink("nowhere", path);
  check_left_alone(folder, "link that leads nowhere");
  fs::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
  check_left_alone(folder, "pipe");
  fs::remove(path), fs::create_directory(path);
  check_left_alone(folder, "folder");
}

namespace {
/// What a reader finds that may not write in the folder, or why there is no set. As root it becomes another user;
/// nothing if it may not, or if others may not enter the folders above.
std::optional<std::string> read_without_permission(const QuickFolder& folder, int generation) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  fs::permissions(folder.path, fs::perms(0555));
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0))
      ::_exit(4);
    if (::access(folder.path.c_str(), R_OK | X_OK) != 0) ::_exit(4);
    std::string found;
    try {
      Census census;
      count_rows(io::MindRecordReader(folder.set()), census);
      found = census == Census{{generation, rows}} ? "as expected" : "other rows";
    } catch (const std::exception& error) {
      found = error.what();
    }
    ::_exit(::write(ends[1], found.data(), found.size()) != ssize_t(found.size()));
  }
  std::string found(4000, '\0');
  ::close(ends[1]);
  found.resize(std::size_t(std::max(::read(ends[0], found.data(), found.size()), ssize_t(0))));
  ::close(ends[0]);
  const int status = wait_for(child);
  fs::permissions(folder.path, fs::perms(0755));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 4) return std::nullopt;
  return found;
}
}  // namespace

TEST_CASE("a reader that may not write in the folder: it reads a set whose files all have their names") {
  const QuickFolder folder;
  const std::string list = folder.set() + ".commit";
  const auto check = [&](int generation, const char* what) {
    CAPTURE(what);
    const std::optional<std::string> found = read_without_permission(folder, generation);
    if (!found) support::say_skipped("this process may not become another user who may read here");
    else CHECK(*found == "as expected");
    CHECK(fs::exists(list));
  };
  write_set(folder.set(), 1);
  put(list, "private");
  fs::permissions(list, fs::perms(::geteuid() == 0 ? 0600 : 0));
  check(1, "somebody's private file");
  fs::remove(list);
  const mode_t mask = ::umask(077);
  CHECK(dies({SystemCall::rename, Moment::behind, 2}, [&] { write_set(folder.set(), 2); }));
  ::umask(mask);
  if (::geteuid() != 0) fs::permissions(list, fs::perms(0));
  check(1, "a private list of files being written");
  if (::geteuid() != 0) fs::permissions(list, fs::perms(0600));
  CHECK(dies({SystemCall::rename, Moment::behind, 4 * shards + 1}, [&] { write_set(folder.set(), 3); }));
  CHECK(folder.files() == 2 * shards + 1);
  check(3, "a list that says nothing any more");
  CHECK(census_of(folder.set()) == Census{{3, rows}});
  CHECK(folder.files() == 2 * shards);
}

TEST_CASE("a reader that may not write in the folder: it says who can end a commit that was interrupted") {
  for (const int renamed : {0, 1, 2 * shards - 1}) {
    const QuickFolder folder;
    write_set(folder.set(), 1);
    CHECK(dies({SystemCall::rename, Moment::behind, 2 * shards + 1 + renamed}, [&] { write_set(folder.set(), 2); }));
    const std::optional<std::string> found = read_without_permission(folder, 2);
    if (!found) support::say_skipped("this process may not become another user who may read here");
    else {
      CHECK(has(*found, "f' cannot be read: the commit that '"));
      CHECK(has(*found, "f.commit' lists was interrupted and has to be ended by somebody who may write there"));
      CHECK(has(*found, "Permission denied"));
    }
    CHECK(census_of(folder.set()) == Census{{2, rows}});
    CHECK(folder.files() == 2 * shards);
  }
}

TEST_CASE("append in a folder whose path has two slashes") {
  QuickFolder folder;
  write_set(folder.set(), 1);
  folder.name = "//f";
  append_to_set(folder.set(), 2);
  append_to_set(folder.set() + "1", 3);
  CHECK(census_of(folder.set()) == Census{{1, rows}, {2, rows}, {3, rows}});
}

TEST_CASE("a list that has a file with both signs: it is the new set's") {
  for (const int renamed : {1, shards, 2 * shards - 1}) {
    const QuickFolder folder;
    write_set(folder.set(), 1);
    CHECK(dies({SystemCall::rename, Moment::behind, 2 * shards + 1 + renamed}, [&] { write_set(folder.set(), 2); }));
    std::string list = io::read_file(folder.set() + ".commit");
    list.insert(io::detail::commit_title.size(), "-f0.db\n-f0\n-f1.db\n-f1\n");
    put(folder.set() + ".commit", list);
    CHECK(census_of(folder.set()) == Census{{2, rows}});
    CHECK(folder.files() == 2 * shards);
  }
}

TEST_CASE("a file that has the name that a commit needs stays") {
  const QuickFolder folder;
  io::MindRecordWriter writer = begun(folder.set(), 1);
  put(folder.set() + "1.unfinished", "mine");
  CHECK(has(message<RuntimeError>([&] { writer.commit(); }), "move it away, and call commit() again"));
  CHECK(io::read_file(folder.set() + "1.unfinished") == "mine");
  fs::remove(folder.set() + "1.unfinished");
  writer.commit();
  CHECK(census_of(folder.set()) == Census{{1, rows}});
  CHECK(folder.files() == 2 * shards);
}

TEST_CASE("a set is read through links, to its files or its folder, and a commit there is ended") {
  const QuickFolder folder;
  const fs::path there = folder.path / "there", here = folder.path / "here";
  fs::create_directories(there), fs::create_directories(here);
  write_set(there / "f", 1);
  for (const auto& entry : fs::directory_iterator(there))
    fs::create_symlink(fs::path("../there") / entry.path().filename(), here / entry.path().filename());
  fs::create_directory_symlink("there", folder.path / "link");
  CHECK(census_of(here / "f") == Census{{1, rows}});
  CHECK(census_of(here / "f0") == Census{{1, rows}});
  CHECK(census_of(folder.path / "link" / "f") == Census{{1, rows}});
  // killed when its list is complete, and the first files are renamed
  CHECK(dies({SystemCall::rename, Moment::behind, 2 * shards + 2}, [&] { write_set(there / "f", 2); }));
  CHECK(fs::exists(there / "f.commit"));
  CHECK(census_of(here / "f") == Census{{2, rows}});
  CHECK_FALSE(fs::exists(there / "f.commit"));
  CHECK(census_of(folder.path / "link" / "f") == Census{{2, rows}});
}
#else
TEST_CASE("mind record") { support::say_skipped("SQLite or nlohmann_json is not installed: nothing was tested"); }
#endif
