// MindRecord files are read: by several threads, damaged at any byte, cut at any place, with files that are missing.
// link: sqlite json
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../../dataset/support.hpp"

#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

#include <tenon/io/mind_record.hpp>

#include "../../support/peak_memory.hpp"

namespace support {
/// A file that changes whenever somebody looks for its set's list.
inline std::string restless;
}  // namespace support
/// In place of the C library's.
extern "C" int lstat(const char* path, struct stat* status) noexcept {
  static long times = 0;
  if (!support::restless.empty() && path == support::restless + ".commit") {
    const timespec time[]{{++times, 0}, {times, 0}};
    ::utimensat(AT_FDCWD, support::restless.c_str(), time, 0);
  }
  return ::fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

using namespace support;
using io::MindRecordReader;
using io::MindRecordRow;
using T = io::MindRecordType;

namespace {
constexpr int rows = 60;
void write_set(const std::string& set, int shards, const char* field = "k") {
  io::MindRecordWriter writer(set, {.shards = shards, .header_size = 16384, .page_size = 32768, .overwrite = true});
  writer.add_schema({{field, T::int32}, {"labels", T::int64, {-1}}, {"b", T::bytes}, {"s", T::string}});
  for (int i = 0; i < rows; ++i)
    writer.write({{field, i},
                  {"labels", std::vector{i, 1000 * i, -i}},
                  {"b", std::string(std::size_t(100 * i), char(i))},
                  {"s", std::to_string(i)}});
  writer.commit();
}
bool is_right(const MindRecordRow& row) {
  const int k = row.number<std::int32_t>("k");
  return row.array<std::int64_t>("labels")[1] == 1000 * k && row.chars("s") == std::to_string(k) &&
         row.chars("b") == std::string(std::size_t(100 * k), char(k));
}
/// Reads all; "" if nothing is refused.
std::string read_all(const std::string& path) {
  return message<RuntimeError>([&] {
    const MindRecordReader reader(path);
    MindRecordRow row;
    for (long i = 0; i < reader.size(); ++i) reader.read(i, row);
  });
}
void put(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }
}  // namespace

TEST_CASE("several threads read at once, each into its own row") {
  const Folder folder;
  write_set(folder / "f", 3);
  const MindRecordReader reader(folder / "f");
  CHECK(reader.size() == rows);
  std::atomic<int> wrong{0}, seen{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        MindRecordRow row;
        for (int round = 0; round < 20; ++round)
          for (int i = 0; i < rows; ++i) {
            reader.read((7 * i + 13 * t) % rows, row);
            wrong += !is_right(row);
            ++seen;
          }
      });
  }
  CHECK(seen == 4 * 20 * rows);
  CHECK(wrong == 0);
  CHECK(has(message<ValueError>([&] { reader.read(rows); }), "There is no row 60 in"));
  CHECK_THROWS_AS(reader.read(-1), ValueError);
  MindRecordRow moved = reader.read(3);
  const MindRecordRow kept = std::move(moved);
  CHECK(is_right(kept));
}

TEST_CASE("only what is wanted of a row is read") {
  const Folder folder;
  write_set(folder / "f", 1);
  const MindRecordReader reader(folder / "f");
  MindRecordRow row;
  std::vector<bool> wanted(4);
  wanted[reader.schema().find("s")] = true;
  reader.read(5, row, wanted);
  CHECK(row.chars("s") == "5");
  CHECK(row.chars("b").empty());
  CHECK_FALSE(row["labels"].is_tensor);
}

TEST_CASE("a set that lacks a file, or has one of another set, and lists of files") {
  const Folder folder;
  write_set(folder / "f", 3);
  write_set(folder / "g", 2, "other");
  std::filesystem::rename(folder / "f1", folder / "elsewhere");
  CHECK(has(read_all(folder / "f0"), "it is one of 3 MindRecord files, of which '" + folder / "f1" + "' is missing"));
  CHECK(MindRecordReader(std::vector{folder / "f0", folder / "f2"}).size() == 40);
  std::filesystem::rename(folder / "elsewhere", folder / "f1");
  CHECK(has(message<RuntimeError>([&] { MindRecordReader{std::vector{folder / "f0", folder / "g1"}}; }),
            "g1' as a MindRecord file: its schema is not the one of '" + folder / "f0'"));
  std::filesystem::rename(folder / "f1.db", folder / "f2.db");
  CHECK(has(read_all(folder / "f0"), "its index '" + folder / "f1.db' does not exist. Both are needed"));
  std::filesystem::copy(folder / "f2.db", folder / "f1.db");
  CHECK(has(read_all(folder / "f0"), "f2' as a MindRecord file: its index is the one of 'f1'"));
  CHECK(has(message<ValueError>([&] { MindRecordReader{std::vector<std::string>()}; }), "is empty"));
  CHECK(has(read_all(folder / "none"), "No such file"));
  CHECK(has(read_all(folder.path), "it is a directory"));
}

TEST_CASE("what SQLite and the parser of JSON quote of a damaged file is UTF-8 in the message") {
  const Folder folder;
  write_set(folder / "f", 1);
  std::string index = io::read_file(folder / "f.db");
  const std::size_t at = index.find("CREATE TABLE");
  REQUIRE(at != index.npos);
  index[at + 3] = '\xff', index[at + 4] = '\x1b';
  put(folder / "f.db", index);
  const std::string said = read_all(folder / "f");
  CHECK(has(said, "f.db"));
  CHECK(io::find_bad_utf8(said) == said.npos);
  CHECK(said.find('\x1b') == said.npos);
  for (const char* json : {"{\"a\": \"\xff\"}", "\xff\xfe", "{\"a\": \x1b}"}) {
    const std::string refusal = message<RuntimeError>([&] { io::parse_json(json, "It"); });
    CHECK(has(refusal, "It"));
    CHECK(io::find_bad_utf8(refusal) == refusal.npos);
    CHECK(refusal.find('\x1b') == refusal.npos);
  }
  CHECK(io::printable_sentence("a \xc3\xa9 b\xff\n") == "a \xc3\xa9 b??");
}

TEST_CASE("an index with a journal beside it was not finished") {
  const Folder folder;
  write_set(folder / "f", 1);
  put(folder / "f.db-journal", "x");
  CHECK(has(read_all(folder / "f"), "the program that wrote its index was killed"));
}

TEST_CASE("a file that cannot be read, and changes each time: that is what the error says") {
  const Folder folder;
  write_set(folder / "f", 1);
  std::filesystem::remove(folder / "f.db");
  restless = folder / "f";
  CHECK(has(read_all(folder / "f"), "f': another set takes its place again and again"));
  restless.clear();
  CHECK(has(read_all(folder / "f"), "f.db' does not exist"));
}

TEST_CASE("any byte may be wrong, and the file may end anywhere: an error, or other values, and little memory") {
  const Folder folder;
  const std::string path = folder / "f";
  write_set(path, 1);
  const std::string file = io::read_file(path), index = io::read_file(path + ".db");
  const auto header = io::detail::little_endian<std::uint64_t>(file);
  long refused = 0, peak = 0;
  const auto try_bytes = [&](const std::string& target, const std::string& bytes) {
    put(target, bytes);
    std::string said;
    peak = std::max(peak, peak_of([&] { said = read_all(path); }));
    refused += !said.empty();
    CHECK(io::find_bad_utf8(said) == said.npos);  // SQLite quotes what it cannot read
  };
  const auto damage = [&](const std::string& target, const std::string& bytes, std::size_t from, std::size_t to,
                          std::size_t step) {
    for (std::size_t i = from; i < to; i += step) {
      std::string wrong = bytes;
      wrong[i] = char(wrong[i] ^ (i % 3 ? 0x81 : 0x7f));
      try_bytes(target, wrong);
    }
    put(target, bytes);
  };
  damage(path, file, 0, header + 8, 3);
  damage(path, file, 16384, 16384 + 4000, 13);
  const io::MindRecordHeader parsed = io::parse_mind_record_header(file.substr(8, header), path);
  const std::size_t raw = parsed.place_of(parsed.pages.back().id);
  damage(path, file, raw, raw + 400, 1);
  damage(path + ".db", index, 0, index.size(), 37);
  for (std::size_t size = 0; size < file.size(); size += 2711) try_bytes(path, file.substr(0, size));
  put(path, file);
  for (std::size_t size = 0; size < index.size(); size += 1033) try_bytes(path + ".db", index.substr(0, size));
  put(path + ".db", index);
  CHECK(read_all(path).empty());
  CHECK(refused > 500);
  CHECK(peak < 2'000'000);
}

TEST_CASE("a header that claims what it does not have") {
  const Folder folder;
  const std::string path = folder / "f";
  write_set(path, 1);
  const std::string file = io::read_file(path);
  const std::string json = file.substr(8, io::detail::little_endian<std::uint64_t>(file));
  const auto said = [&](std::string_view from, std::string_view to) {
    std::string other = json;
    REQUIRE(other.find(from) != other.npos);
    other.replace(other.find(from), from.size(), to);
    return message<RuntimeError>([&] { io::parse_mind_record_header(other, path); });
  };
  CHECK(
      has(said("\"header_size\":16384", "\"header_size\":-1"), "'header_size' in its header is -1, which must be in"));
  CHECK(has(said("\"page_size\":32768", "\"page_size\":1e9"), "lacks 'page_size', or it has another type"));
  CHECK(has(said("\"shard_id\":0,\"statistics\"", "\"shard_id\":1,\"statistics\""), "'shard_id' in its header is 1"));
  CHECK(has(said("[\"f\"]", "[\"..\"]"), "'shard_addresses' has the name '..'"));
  CHECK(has(said("[\"f\"]", "[]"), "has 0 names"));
  CHECK(has(said("\"page_id\":1", "\"page_id\":0"), "it has the page 0 twice"));
  CHECK(has(said("BLOB_DATA", "BLUB_DATA"), "a page has the type 'BLUB_DATA'"));
  CHECK(has(said("\"blob_fields\":[\"b\",", "\"blob_fields\":["), "'blob_fields' in its header are not"));
  CHECK(has(said("\"type\":\"int64\"", "\"type\":\"int63\""), "contains the illegal type 'int63'"));
  CHECK(has(said("\"index_field\":\"k\"", "\"index_field\":\"b\""), "its index has the field 'b'"));
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  CHECK(has(message<RuntimeError>([&] { io::parse_mind_record_header(deep, path); }), "nested deeper than 8 levels"));
}
#else
TEST_CASE("mind record") { support::say_skipped("SQLite or nlohmann_json is not installed: nothing was tested"); }
#endif
