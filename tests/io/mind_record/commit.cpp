// A writer of MindRecord files is killed inside of write, fsync, rename, and unlink, and at random times: no wrong row
// is ever read, the next start works, and nothing is left.
// link: sqlite json
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../../dataset/support.hpp"

#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <cstdio>
#include <map>
#include <optional>
#include <random>

#include <signal.h>
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
  std::string set() const { return path / "f"; }
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
  enum Kind { fresh, over, append };
  constexpr const char* kinds[]{"a new set, ", "overwrite, ", "append, "};
  Ledger ledger;
  for (const Kind kind : {fresh, over, append})
    for (const Phase& phase : phases)
      for (long number = 1;; ++number) {
        const QuickFolder folder;
        if (kind != fresh) write_set(folder.set(), 1);
        const bool died = dies({phase.call, phase.moment, number},
                               [&] { kind == append ? append_to_set(folder.set(), 2) : write_set(folder.set(), 2); });
        if (!died) break;  // so many calls there are not
        ++ledger.kills[std::string(kinds[kind]) + phase.name];
        start_again(folder, kind == append, kind != fresh, number % 2, ledger);
      }
  ledger.print();
  CHECK(ledger.all() > 300);
  CHECK(ledger.kills.size() == 3 * std::size(phases));
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
#else
TEST_CASE("mind record") { support::say_skipped("SQLite or nlohmann_json is not installed: nothing was tested"); }
#endif
