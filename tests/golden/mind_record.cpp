// MindRecord files that MindSpore 2.10 wrote: every row is read as MindDataset read it; the same rows, written, give
// the same bytes; damaged files are refused.
// link: sqlite json zlib
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <algorithm>
#include <map>

#include <tenon/io/mind_record.hpp>

#include "../support/json.hpp"
#include "../support/npz.hpp"
#include "../support/peak_memory.hpp"

using namespace support;

namespace {
std::string golden(const std::string& name = "") { return shared_folder() + "/golden/mindrecord" + name; }

std::string_view bytes_of(const AnyTensor& tensor) { return {static_cast<const char*>(tensor.data), tensor.bytes()}; }

/// A row as index.json and the .npz file have it.
void check_row(const io::MindRecordRow& row, const Json& said, const Npz& arrays, const std::string& place) {
  CHECK(row.schema().size() == said.names.size());
  for (const std::string& name : said.names) {
    CAPTURE(place);
    CAPTURE(name);
    const TextOrTensor& value = row[name];
    if (const Json* chars = said[name].find("string")) {
      CHECK(value.text == chars->string());
      continue;
    }
    const NpyArray& array = arrays[place + "/" + name];
    if (said[name].find("bytes")) {
      CHECK(value.text == array.bytes);
      CHECK(value.text.size() == std::size_t(said[name]["bytes"].number()));
      continue;
    }
    REQUIRE(value.is_tensor);
    CHECK(value.tensor.dtype == array.dtype);
    CHECK(std::ranges::equal(value.tensor.shape(), array.shape));
    CHECK(bytes_of(value.tensor) == array.bytes);
  }
}

std::vector<io::MindRecordCell> cells_of(const io::MindRecordRow& row) {
  std::vector<io::MindRecordCell> cells;
  for (std::size_t i = 0; i < row.schema().size(); ++i) {
    const std::string_view name = row.schema()[i].name;
    const TextOrTensor& value = row[i];
    if (!value.is_tensor) cells.emplace_back(name, value.text);
    else if (value.tensor.rank) cells.emplace_back(name, value.tensor);
    else
      io::detail::with_elements(value.tensor.dtype, value.tensor.data,
                                [&](const auto* number) { cells.emplace_back(name, *number); });
  }
  return cells;
}

/// All that a query finds, a line for each row.
std::string found(const std::string& path, const std::string& query) {
  const io::SqliteDatabase database = io::SqliteDatabase::open_to_read(path);
  const io::SqliteStatement statement = database.prepare(query);
  std::string lines;
  while (database.step(statement)) {
    for (int column = 0; column < sqlite3_column_count(statement.get()); ++column) {
      const auto* chars = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), column));
      lines += text(sqlite3_column_type(statement.get(), column), ":", chars ? chars : "", "|");
    }
    lines += "\n";
  }
  return lines;
}

/// The header and the pages without what lies between them.
std::string content(const std::string& path, const std::string& index) {
  const std::string file = io::read_file(path);
  std::string all = file.substr(8, io::detail::little_endian<std::uint64_t>(file));
  for (const io::MindRecordPage& page : io::parse_mind_record_header(all, path).pages)
    all += file.substr(16384 + page.id * 32768, page.used);
  return all + found(index, "SELECT sql FROM sqlite_master ORDER BY name") + found(index, "SELECT * FROM INDEXES") +
         found(index, "SELECT * FROM SHARD_NAME");
}
}  // namespace

TEST_CASE("golden/mindrecord: each row of each file is what MindDataset returned, from all threads, and once more") {
  if (!have_shared("golden/mindrecord")) return;
  const Json all = load_json(golden("/index.json"));
  long rows = 0;
  for (const std::string& name : all["files"].names) {
    CAPTURE(name);
    const Json& said = all["files"][name];
    const bool sharded = said["shards"].number() > 1;
    const io::MindRecordReader reader(golden("/" + name + ".mindrecord"));
    const Json& order = said["rows_in_reader_order"];
    REQUIRE(reader.size() == long(order.items.size()));
    CHECK(reader.shards().size() == std::size_t(said["shards"].number()));
    const Npz arrays = load_npz(golden("/" + name + ".npz"));
    io::MindRecordRow row;
    for (long i = 0; i < reader.size(); ++i) {
      reader.read(i, row);
      check_row(row, order.items[std::size_t(i)], arrays, "row" + std::to_string(i));
      ++rows;
    }
    for (long i = reader.size(); i-- > 0;)
      check_row(reader.read(i), order.items[std::size_t(i)], arrays, "row" + std::to_string(i));
    CHECK(reader.schema() == io::parse_mind_record_schema(io::detail::json_of_schema(reader.schema())));
    if (sharded) CHECK(io::MindRecordReader(golden("/" + name + ".mindrecord2")).size() == reader.size());
  }
  CHECK(rows == 104);
}

TEST_CASE("golden/mindrecord: the same rows, written, have the same header, pages, and index") {
  if (!have_shared("golden/mindrecord")) return;
  const Json all = load_json(golden("/index.json"));
  for (const std::string& name : all["files"].names) {
    CAPTURE(name);
    const Folder folder;
    const io::MindRecordReader reader(golden("/" + name + ".mindrecord"));
    const int shards = int(reader.shards().size());
    io::MindRecordWriter writer(folder / (name + ".mindrecord"),
                                {.shards = shards, .header_size = 16384, .page_size = 32768});
    writer.set_schema(reader.schema());
    writer.add_index(reader.index_fields());
    std::vector<io::MindRecordRow> rows;
    std::vector<std::vector<io::MindRecordCell>> cells;
    for (long i = 0; i < reader.size(); ++i) cells.push_back(cells_of(rows.emplace_back(reader.read(i))));
    writer.write_block(cells);
    CHECK(folder.files() == shards);  // of names that nobody reads
    writer.commit();
    CHECK(folder.files() == 2 * shards);
    for (const auto& shard : reader.shards()) {
      const std::string file = shard.path().substr(golden("/").size());
      if (shards > 1) continue;  // MindSpore gives the remainder to files by chance
      CHECK(content(folder / file, folder / (file + ".db")) == content(shard.path(), shard.path() + ".db"));
    }
    const io::MindRecordReader again(folder / (name + ".mindrecord"));
    const Npz arrays = load_npz(golden("/" + name + ".npz"));
    for (long i = 0; i < again.size(); ++i)
      check_row(again.read(i), all["files"][name]["rows_in_reader_order"].items[std::size_t(i)], arrays,
                "row" + std::to_string(i));
  }
}

TEST_CASE("golden/mindrecord/refuse: each damaged file is refused with a sentence, and little memory") {
  if (!have_shared("golden/mindrecord")) return;
  // as they lie there, and under the name that they were written as
  const std::map<std::string, std::pair<std::string, std::string>> sentences{
      {"renamed", {"it was written as 'image_label.mindrecord' and cannot be renamed", ""}},
      {"no_db", {"it was written as 'image_label.mindrecord'", "image_label.mindrecord.db' does not exist. Both are"}},
      {"truncated_page", {"it has 25076 bytes, page 0 needs 34321: it is cut off", "it is cut off"}},
      {"truncated_header", {"it has 3000 bytes, page 0 needs 34321", "it is cut off"}},
      {"header_length_huge", {"it announces a header of 1099511627776 bytes", "it announces a header of"}},
      {"header_not_json", {"its header is no JSON, error:[json.exception.parse_error.101]", "its header is no JSON"}},
      {"empty", {"it has 0 bytes, the least are 8", "it has 0 bytes"}},
      {"db_garbage", {"it has 20000 bytes, page 0 needs 34321", "it is cut off"}},
      {"wrong_version", {"its version is '9.0', known are '2.0' and '3.0'", "its version is"}},
      {"row_length_huge", {"it was written as", "Cannot read row 0 of"}}};
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden("/refuse"))) {
    const std::string name = entry.path().filename(), path = entry.path().string() + "/f.mindrecord";
    CAPTURE(name);
    REQUIRE(sentences.contains(name));
    const auto& [as_it_lies, renamed] = sentences.at(name);
    std::string said;
    const long peak = peak_of([&] { said = message<RuntimeError>([&] { io::MindRecordReader{path}; }); });
    CHECK(peak < 400'000);
    CHECK(has(said, as_it_lies));
    const Folder folder;
    const std::string copy = folder / "image_label.mindrecord";
    std::filesystem::copy(path, copy);
    if (std::filesystem::exists(path + ".db")) std::filesystem::copy(path + ".db", copy + ".db");
    said = message<RuntimeError>([&] {
      const io::MindRecordReader reader(copy);
      for (long i = 0; i < reader.size(); ++i) reader.read(i);
    });
    if (renamed.empty()) CHECK(said.empty());
    else CHECK(has(said, renamed));
    ++seen;
  }
  CHECK(seen == sentences.size());
}

TEST_CASE("golden/mindrecord: an index that is none") {
  if (!have_shared("golden/mindrecord")) return;
  const Folder folder;
  std::filesystem::copy(golden("/image_label.mindrecord"), folder / "image_label.mindrecord");
  std::filesystem::copy(golden("/refuse/db_garbage/f.mindrecord.db"), folder / "image_label.mindrecord.db");
  CHECK(has(message<RuntimeError>([&] { io::MindRecordReader{folder / "image_label.mindrecord"}; }),
            "image_label.mindrecord.db': file is not a database"));
}
#else
TEST_CASE("mind record") { support::say_skipped("SQLite or nlohmann_json is not installed: nothing was tested"); }
#endif
