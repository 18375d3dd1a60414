// MindRecord files are written: schemas, values that fit and those that do not, shards, pages, append.
// link: sqlite json
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>
#include <cmath>
#include <memory>

#include "../../dataset/support.hpp"

#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <array>
#include <limits>

#include <tenon/io/mind_record.hpp>

#include "../../support/logged.hpp"

using namespace support;
using io::MindRecordCell;
using io::MindRecordField;
using io::MindRecordReader;
using io::MindRecordRow;
using io::MindRecordSchema;
using io::MindRecordWriter;
using T = io::MindRecordType;

namespace {
constexpr std::uint64_t small_header = 16384, small_page = 32768;
/// What a schema's error says, without its beginning.
std::string fault(std::vector<MindRecordField> fields) {
  return message<ValueError>([&] { MindRecordSchema{std::move(fields)}; });
}
/// What write() says of one value in a field of this type.
std::string fault(const Folder& folder, const MindRecordField& field, const io::MindRecordValue& value) {
  MindRecordWriter writer(folder / "one");
  writer.add_schema({field});
  return message<ValueError>([&] { writer.write({{field.name, value}}); });
}
/// A field's value, written and read.
MindRecordRow round_trip(const MindRecordField& field, const io::MindRecordValue& value) {
  static std::vector<std::unique_ptr<MindRecordReader>> readers;  // rows refer to their schema
  const Folder folder;
  MindRecordWriter writer(folder / "one", {.header_size = small_header, .page_size = small_page << 8});
  writer.add_schema({field});
  writer.write({{field.name, value}});
  writer.commit();
  readers.push_back(std::make_unique<MindRecordReader>(folder / "one"));
  return readers.back()->read(0);
}
std::vector<std::int32_t> numbers_of(const MindRecordReader& reader) {
  std::vector<std::int32_t> numbers;
  for (long i = 0; i < reader.size(); ++i) numbers.push_back(reader.read(i).number<std::int32_t>("k"));
  return numbers;
}
void write_numbers(MindRecordWriter& writer, int first, int last) {
  for (int i = first; i < last; ++i) writer.write({{"k", i}});
}
}  // namespace

TEST_CASE("a schema: names, types, shapes, and how many") {
  CHECK(has(fault({}), "it has no fields"));
  CHECK(has(fault({{"a-b", T::int32}}), "the field 'a-b' should be composed of '0-9' or 'a-z' or 'A-Z' or '_'"));
  CHECK(has(fault({{"", T::int32}}), "the field ''"));
  CHECK(has(fault({{"a", T::bytes, {2}}}), "the field 'a' is bytes, which has no shape"));
  CHECK(has(fault({{"a", T::string, {-1}}}), "the field 'a' is string, which has no shape"));
  CHECK(has(fault({{"a", T::int32, {-1, -1}}}), "[-1, -1], in which only one may be -1"));
  CHECK(has(fault({{"a", T::int32, {2, 0}}}), "[2, 0], in which all must be 1 or more"));
  const std::int64_t large = std::int64_t{1} << 32;  // twice, in 64 bits, 0: nothing to divide by
  CHECK(has(fault({{"a", T::int32, {large, large, -1}}}), "more elements than the most, 4294967296"));
  CHECK(has(fault({{"a", T::int32, {65536, 65537}}}), "more elements than the most"));
  CHECK(fault({{"a", T::int32, {65536, -1, 65536}}}).empty());
  CHECK(has(fault({{"a", T::int32}, {"b", T::int32}, {"a", T::bytes}}), "two fields are called 'a'"));
  std::vector<MindRecordField> many;
  for (int i = 0; i < 100; ++i) many.push_back({"f" + std::to_string(i), T::float64});
  CHECK(fault(many).empty());
  many.push_back({"one_more", T::int32});
  CHECK(has(fault(many), "it has 101 fields, the most are 100"));
}

TEST_CASE("a schema in MindSpore's words") {
  const MindRecordSchema seed = io::parse_mind_record_schema(  // seed 001
      R"({"label": {"type": "int32", "shape": [-1]}, "data": {"type": "bytes"}})");
  CHECK(seed == MindRecordSchema({{"label", T::int32, {-1}}, {"data", T::bytes}}));
  CHECK(io::type_text(seed[1]) == "int32[-1]");
  const auto said = [](const char* json) { return message<Error>([&] { io::parse_mind_record_schema(json); }); };
  CHECK(has(said(R"({"a": {"type": "int7"}})"), "The field 'a' contains the illegal type 'int7'; types are int32"));
  CHECK(has(said(R"({"a": {}})"), "The field 'a' contains the illegal type (none)"));
  CHECK(has(said(R"({"a": {"type": "int32", "shape": []}})"), "is no list of whole numbers"));
  CHECK(has(said(R"({"a": {"type": "int32", "shape": [1.5]}})"), "is no list of whole numbers"));
  CHECK(has(said("[1]"), "A schema is a JSON object"));
  CHECK(has(said("{"), "Cannot read a schema, error:"));
}

TEST_CASE("seed 003: 158400 numbers of int8 do not become 19800") {
  std::vector<std::int8_t> frames(4 * 100 * 132 * 3);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = std::int8_t(i % 251 - 125);
  const std::int64_t shape[]{4, 100, 132, 3};
  const AnyTensor array(Dtype::int8, shape, frames.data());
  const auto equal = [&](auto elements) {
    return std::ranges::equal(elements, frames, {}, [](auto x) { return int(x); });
  };
  const MindRecordRow real = round_trip({"data", T::float64, {-1, 100, 132, 3}}, array);
  CHECK(shape_text(real["data"].tensor.shape()) == "[4, 100, 132, 3]");
  CHECK(equal(real.array<double>("data")));
  CHECK(equal(round_trip({"data", T::int64, {-1}}, frames).array<std::int64_t>("data")));
  CHECK(equal(round_trip({"data", T::int32, {4, 100, 132, 3}}, array).array<std::int32_t>("data")));
  CHECK(equal(round_trip({"data", T::float32, {4, 100, 132, 3}}, frames).array<float>("data")));
  CHECK(round_trip({"data", T::bytes}, array).chars("data").size() == 158400);
  const Folder folder;
  CHECK(has(fault(folder, {"data", T::int64, {-1, 100, 132, 4}}, array),
            "its shape [4, 100, 132, 3] is not [-1, 100, 132, 4]"));
}

TEST_CASE("numbers become those of their field, or are refused") {
  const auto number = [](T type, io::MindRecordValue value) { return round_trip({"x", type}, value); };
  CHECK(number(T::int32, std::uint64_t(7)).number<std::int32_t>("x") == 7);
  CHECK(number(T::int32, 7.0).number<std::int32_t>("x") == 7);
  CHECK(number(T::int64, -7).number<std::int64_t>("x") == -7);
  CHECK(number(T::int64, true).number<std::int64_t>("x") == 1);
  CHECK(number(T::float32, 0.1).number<float>("x") == 0.1f);
  CHECK(number(T::float32, 3).number<float>("x") == 3);
  CHECK(number(T::float64, std::numeric_limits<double>::infinity()).number<double>("x") == HUGE_VAL);
  CHECK(std::isnan(number(T::float32, std::nanf("")).number<float>("x")));
  CHECK(number(T::float32, float16(0.5f)).number<float>("x") == 0.5f);
  CHECK(number(T::float64, -0x1p53).number<double>("x") == -0x1p53);
  CHECK(number(T::int64, std::numeric_limits<std::int64_t>::min()).number<std::int64_t>("x") == INT64_MIN);
  const Folder folder;
  const auto refused = [&](T type, io::MindRecordValue value) { return fault(folder, {"x", type}, value); };
  CHECK(has(refused(T::int32, std::int64_t(1) << 40), "Row 0 does not fit into"));
  CHECK(has(refused(T::int32, std::int64_t(1) << 40), "its field 'x' is int32, but its number (int64) does not fit."));
  CHECK(has(refused(T::int32, 1.5), "(float64) does not fit"));
  CHECK(has(refused(T::int64, 0x1p63), "(float64) does not fit"));
  CHECK(has(refused(T::int64, std::uint64_t(1) << 63), "(uint64) does not fit"));
  CHECK(has(refused(T::int64, std::nan("")), "(float64) does not fit"));
  CHECK(has(refused(T::float32, 1e300), "(float64) does not fit"));
  CHECK(has(refused(T::float32, (1 << 24) + 1), "(int32) does not fit"));
  CHECK(has(refused(T::float64, (std::int64_t(1) << 53) + 1), "(int64) does not fit"));
  CHECK(has(refused(T::float64, std::numeric_limits<std::int64_t>::max()), "(int64) does not fit"));
  CHECK(has(refused(T::int32, "3"), "but it got a text or bytes (1 bytes)"));
  CHECK(has(refused(T::string, 3), "is string, but it got a number (int32)"));
  CHECK(has(refused(T::string, "\xff"), "its text is not in UTF-8"));
  CHECK(has(refused(T::bytes, 3), "is bytes, but it got a number (int32)"));
  CHECK(has(refused(T::bytes, std::vector<float>{1}), "is bytes, but it got an array of float32[1]"));
  CHECK(has(refused(T::bytes, std::array{true, false}), "is bytes, but it got an array of bool[2]"));
  std::uint8_t octets[3]{};
  const std::int64_t three[]{3};
  AnyTensor elsewhere(Dtype::uint8, three, octets);
  elsewhere.device.kind = DeviceKind::gpu;  // its pointer says nothing to the CPU
  CHECK(has(refused(T::bytes, elsewhere), "is bytes, but its array is not on the CPU"));
  CHECK(has(fault(folder, {"x", T::float32, {3}}, elsewhere), "its array is not on the CPU"));
  CHECK(has(fault(folder, {"x", T::int32, {-1}}, 3), "is int32[-1], but it got a number"));
  CHECK(has(fault(folder, {"x", T::int32, {-1}}, std::vector<double>{1, 2, 2.5}),
            "its element 2 (float64) does not fit into int32"));
  CHECK(has(fault(folder, {"x", T::int32, {2, 3}}, std::vector<int>(7)), "its shape [7] is not [2, 3]"));
  CHECK(has(fault(folder, {"x", T::int32, {2, -1}}, std::vector<int>(7)), "its shape [7] is not [2, -1]"));
  CHECK(folder.files() == 0);  // of writers that did not commit
}

TEST_CASE("bytes, texts, arrays: as they were") {
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{255}, std::byte{0}};
  CHECK(round_trip({"b", T::bytes}, bytes).chars("b") == std::string_view("\0\xff\0", 3));
  CHECK(round_trip({"b", T::bytes}, std::vector<std::uint8_t>{1, 0}).chars("b") == std::string_view("\1\0", 2));
  CHECK(round_trip({"b", T::bytes}, "").chars("b").empty());
  CHECK(round_trip({"s", T::string}, std::string("z\0\xc3\xa4", 4)).chars("s") == std::string_view("z\0\xc3\xa4", 4));
  const MindRecordRow open = round_trip({"a", T::float32, {-1, 2}}, std::array{1.f, 2.f, 3.f, 4.f});
  CHECK(shape_text(open["a"].tensor.shape()) == "[2, 2]");
  CHECK(open.array<float>("a")[3] == 4);
  CHECK(round_trip({"a", T::float64, {-1}}, std::vector<double>()).array<double>("a").empty());
  CHECK(round_trip({"a", T::int32, {-1}}, std::vector<int>()).array<std::int32_t>("a").empty());
  CHECK(has(message<KeyError>([&] { open["b"]; }), "There is no field 'b' in this MindRecord file, there are 'a'."));
  CHECK_THROWS_AS(open.number<float>("a"), TypeError);
  CHECK_THROWS_AS(open.array<double>("a"), TypeError);
}

TEST_CASE("integers have as many bytes as they need") {
  std::vector<std::int64_t> values{0, -1, 127, 128, -128, -129, 32767, 32768, -32768, -32769};
  for (int bit = 0; bit < 63; ++bit)
    values.push_back(std::int64_t(1) << bit), values.push_back(-(std::int64_t(1) << bit));
  values.push_back(INT64_MIN), values.push_back(INT64_MAX);
  std::string packed;
  io::append_compressed(std::span<const std::int64_t>(values), packed);
  std::vector<std::int64_t> again(values.size());
  CHECK(io::compressed_count(packed) == long(values.size()));
  CHECK(io::expand_integers(packed, again.data()));
  CHECK(again == values);
  std::vector<std::int32_t> narrow(values.size());
  CHECK_FALSE(io::expand_integers(packed, narrow.data()));  // does not fit
  CHECK_FALSE(io::expand_integers(packed + "x", again.data()));
  CHECK_FALSE(io::expand_integers(std::string_view(packed).substr(0, packed.size() - 1), again.data()));
  CHECK(io::compressed_count(std::string_view("\xff\xff\xff\xff\0\0\0", 7)) == -1);
  packed.clear();
  io::append_compressed(std::span<const std::int64_t>({1, -300, 70000, 1ll << 40, 2}), packed);
  CHECK(packed == std::string("\0\0\0\5\x1b\0\1\xd4\xfe\x70\x11\1\0\0\0\0\0\0\1\0\0\2", 22));
}

TEST_CASE("a row must have each field once; what does not fit is left out only by request") {
  const Folder folder;
  MindRecordWriter writer(folder / "f", {.header_size = small_header});
  writer.add_schema({{"label", T::int32}, {"data", T::bytes}});
  writer.write({{"data", "x"}, {"label", 1}});
  const auto said = [&](std::vector<MindRecordCell> row) { return message<ValueError>([&] { writer.write(row); }); };
  CHECK(has(said({{"label", 1}}),
            "Row 1 does not fit into '" + folder / "f" + "': its field 'data' (bytes) is missing."));
  CHECK(has(said({{"label", 1}, {"date", "x"}}), "it has a field 'date', the schema has 'data', 'label'"));
  CHECK(has(said({{"label", 1}, {"label", 1}}), "it has the field 'label' twice"));
  writer.write({{"label", 2}, {"data", "y"}});
  writer.commit();
  const MindRecordReader reader(folder / "f");
  CHECK(reader.size() == 2);
  CHECK(reader.read(1).chars("data") == "y");
  CHECK(has(message<ValueError>([&] { writer.commit(); }), "is committed; MindRecordWriter::append adds"));
  CHECK(
      has(message<ValueError>([&] { writer.write({{"label", 2}, {"data", "y"}}); }), "MindRecordWriter::append adds"));

  MindRecordWriter lenient(folder / "g", {.header_size = small_header, .skip_bad_rows = true});
  lenient.add_schema({{"label", T::int32}});
  for (int i = 0; i < 30; ++i) lenient.write({{"label", i % 2 ? double(i) : i + 0.5}});
  lenient.commit();
  CHECK(lenient.rows() == 30);
  CHECK(lenient.skipped() == 15);
  CHECK(MindRecordReader(folder / "g").size() == 15);
}

TEST_CASE("options, index fields, and names that cannot be") {
  const Folder folder;
  const auto said = [&](io::MindRecordOptions options, const char* name = "f") {
    return message<ValueError>([&] { MindRecordWriter(folder / name, options); });
  };
  CHECK(has(said({.shards = 0}), ".shards is 0, it must be in 1 .. 1000"));
  CHECK(has(said({.shards = 1001}), ".shards is 1001"));
  CHECK(has(said({.header_size = 1}), ".header_size is 1, it must be in 16384 .. 134217728 and divisible by 4"));
  CHECK(has(said({.page_size = 32770}), ".page_size is 32770"));
  CHECK(said({.page_size = 40000}).empty());
  CHECK(has(said({}, "f.db"), "a text in UTF-8 of one line that does not end with .db"));
  MindRecordWriter writer(folder / "f", {.header_size = small_header});
  CHECK(has(message<ValueError>([&] { writer.write({}); }), "has no schema"));
  writer.add_schema({{"a", T::int32}, {"v", T::int32, {-1}}});
  CHECK(has(message<ValueError>([&] { writer.add_schema({{"a", T::int32}}); }), "has a schema already"));
  CHECK(has(message<ValueError>([&] { writer.add_index({"b"}); }),
            "The index field 'b' is not in the schema, which has 'a', 'v'"));
  CHECK(has(message<ValueError>([&] { writer.add_index({"v"}); }),
            "'v' is int32[-1]; only a number or a text can be one"));
  CHECK(has(message<ValueError>([&] { writer.commit(); }), "has no rows"));
  CHECK(has(message<RuntimeError>([&] { MindRecordWriter(folder / "no/such/f", {}).append(folder / "no/such/f"); }),
            "No such file"));
}

TEST_CASE("names that the index cannot have are refused before the first row") {
  const Folder folder;
  const auto said = [&](std::vector<MindRecordField> fields) {
    MindRecordWriter writer(folder / "f", {.header_size = small_header});
    std::vector<MindRecordCell> row;
    for (const MindRecordField& field : fields) row.push_back({field.name, 1});
    writer.add_schema(fields);
    return message<ValueError>([&] { writer.write(row); });
  };
  CHECK(has(said({{"1a", T::int32}, {"b", T::int32}}), "the index field '1a' can't start with a number"));  // MindSpore
  CHECK(has(said({{"Label", T::int32}, {"label", T::int32}}), "the index fields 'Label' and 'label' differ only by"));
  CHECK(has(said({{"a", T::int32}, {"inc", T::int32}}), "the index field 'inc' has the name of a column"));
  CHECK(has(said({{"1a", T::int32}}), "add_index() names those that are to be in it"));
  CHECK(folder.files() == 0);
  for (const std::vector<std::string>& index : {std::vector<std::string>{"label"}, std::vector<std::string>{}}) {
    MindRecordWriter writer(folder / "g", {.header_size = small_header, .overwrite = true});
    writer.add_schema({{"Label", T::int32}, {"label", T::int32}, {"1a", T::int32}, {"INC", T::int32}});
    writer.add_index(index);
    writer.write({{"Label", 1}, {"label", 2}, {"1a", 3}, {"INC", 4}});
    writer.commit();
    const MindRecordReader reader(folder / "g");
    CHECK(reader.index_fields() == index);
    CHECK(reader.read(0).number<std::int32_t>("label") == 2);
    CHECK(reader.read(0).number<std::int32_t>("1a") == 3);
  }
}

TEST_CASE("what is there stays, unless it is to be overwritten") {
  const Folder folder;
  const auto write = [&](int shards, int first, bool overwrite) {
    MindRecordWriter writer(folder / "f", {.shards = shards, .header_size = small_header, .overwrite = overwrite});
    writer.add_schema({{"k", T::int32}});
    write_numbers(writer, first, first + 5);
    writer.commit();
  };
  write(3, 0, false);
  CHECK(folder.files() == 6);
  CHECK(has(message<RuntimeError>([&] { write(3, 5, false); }),
            "mindrecord files already exist. Please check file path: '" + folder / "f0'"));
  CHECK(numbers_of(MindRecordReader(folder / "f")) == std::vector<std::int32_t>{0, 3, 1, 4, 2});
  write(2, 5, true);
  CHECK(folder.files() == 4);  // not the third file, which the new set lacks
  CHECK(numbers_of(MindRecordReader(folder / "f1")) == std::vector<std::int32_t>{5, 7, 9, 6, 8});
}

TEST_CASE("shards: as many rows in each, in the order of a block, named with as many digits") {
  const Folder folder;
  for (const int shards : {2, 10, 11}) {
    const std::string set = folder / ("f" + std::to_string(shards) + "_");
    MindRecordWriter writer(set, {.shards = shards, .header_size = small_header});
    writer.add_schema({{"k", T::int32}});
    std::vector<std::vector<MindRecordCell>> block;
    for (int i = 0; i < 25; ++i) block.push_back({{"k", i}});
    writer.write_block(block);
    writer.commit();
    const MindRecordReader reader(set);
    CHECK(numbers_of(reader) == counted(0, 25));
    CHECK(reader.shards().size() == std::size_t(shards));
    CHECK(reader.shards().back().path() == set + (shards == 2 ? "1" : shards == 10 ? "9" : "10"));
    for (const auto& shard : reader.shards()) CHECK(std::abs(double(shard.rows()) - 25. / shards) < 1);
    // exactly these
    CHECK(MindRecordReader(std::vector{reader.shards()[1].path()}).size() == reader.shards()[1].rows());
  }
}

TEST_CASE("pages: blobs one after the other, numbers and texts behind them, large rows refused") {
  const Folder folder;
  MindRecordWriter writer(folder / "f", {.header_size = 4 * small_header, .page_size = small_page});
  writer.add_schema({{"k", T::int32}, {"s", T::string}, {"b", T::bytes}});
  const std::string large(small_page - 8, 'x');
  CHECK(has(message<ValueError>([&] { writer.write({{"k", 1}, {"s", ""}, {"b", large + "y"}}); }),
            "has 15 bytes of numbers and texts and 32769 of bytes and arrays, a page has 32768; set .page_size"));
  for (int i = 0; i < 200; ++i) {
    const std::string text(std::size_t(i % 7) * 1000, 's'), blob(std::size_t(i % 13) * 2500, char('a' + i % 26));
    writer.write({{"k", i}, {"s", text}, {"b", blob}});
  }
  writer.write({{"k", 200}, {"s", ""}, {"b", large}});
  writer.commit();
  const MindRecordReader reader(folder / "f");
  CHECK(reader.size() == 201);
  CHECK(reader.shards()[0].header().pages.size() > 50);
  for (int i = 0; i < 200; ++i) {
    const MindRecordRow row = reader.read(i);
    CHECK(row.number<std::int32_t>("k") == i);
    CHECK(row.chars("s") == std::string(std::size_t(i % 7) * 1000, 's'));
    CHECK(row.chars("b") == std::string(std::size_t(i % 13) * 2500, char('a' + i % 26)));
  }
  CHECK(reader.read(200).chars("b") == large);

  {
    MindRecordWriter many(folder / "g", {.header_size = small_header, .page_size = small_page});
    many.add_schema({{"b", T::bytes}});
    for (int i = 0; i < 200; ++i) many.write({{"b", large}});
    CHECK(has(message<RuntimeError>([&] { many.commit(); }), "bytes, the header's size is 16384; set .header_size"));
    CHECK(has(message<ValueError>([&] { many.commit(); }), "could not be committed"));
  }
  CHECK(folder.files() == 2);
}

TEST_CASE("a set whose name begins with another one's is not that one: not read, not appended to, not removed") {
  const Folder folder;
  const auto write = [&](const std::string& set, int shards, int first) {
    MindRecordWriter writer(
        folder / set, {.shards = shards, .header_size = small_header, .page_size = small_page, .overwrite = true});
    writer.add_schema({{"k", T::int32}, {"b", T::bytes}});
    for (int i = first; i < first + 12; ++i) writer.write({{"k", i}, {"b", std::string("b")}});
    writer.commit();
  };
  write("part10", 1, 100), write("a", 11, 200);  // files part10, a00 .. a10
  for (const std::string other : {"part1", "part", "a0", "a1"}) {
    CAPTURE(other);
    const long files = folder.files();
    CHECK(has(message<RuntimeError>([&] { MindRecordReader{folder / other}; }), "No such file"));
    CHECK(has(message<RuntimeError>([&] { MindRecordWriter::append(folder / other); }), "No such file"));
    write(other, 1, 300);
    CHECK(numbers_of(MindRecordReader(folder / other)) == counted(300, 312));
    write(other, 1, 400);
    CHECK(folder.files() == files + 2);
    CHECK(numbers_of(MindRecordReader(folder / "part10")) == counted(100, 112));
    CHECK(numbers_of(MindRecordReader(folder / "a")).size() == 12);
  }
  write("part1", 100, 500);  // files part100 .. part199, and part1 goes
  std::filesystem::remove(folder / "part"), std::filesystem::remove(folder / "part.db");
  CHECK(MindRecordReader(folder / "part1").shards().size() == 100);
  CHECK(numbers_of(MindRecordReader(folder / "part10")) == counted(100, 112));
  write("part1", 1, 600);
  CHECK(numbers_of(MindRecordReader(folder / "part1")).size() == 12);
  CHECK_FALSE(std::filesystem::exists(folder / "part199"));
  CHECK(numbers_of(MindRecordReader(folder / "part10")) == counted(100, 112));
}

TEST_CASE("append: rows behind those of a set, whose files stay until the commit") {
  const Folder folder;
  for (const int shards : {1, 3}) {
    const std::string set = folder / ("f" + std::to_string(shards) + "_");
    {
      MindRecordWriter writer(set, {.shards = shards, .header_size = small_header, .page_size = small_page});
      writer.add_schema({{"k", T::int32}, {"labels", T::int64, {-1}}, {"b", T::bytes}}, "words");
      writer.add_index({"k"});
      for (int i = 0; i < 40; ++i)
        writer.write({{"k", i}, {"labels", std::vector{i, -i}}, {"b", std::string(5000, 'b')}});
      writer.commit();
    }
    const long files = folder.files();
    for (int round = 1; round < 4; ++round) {
      MindRecordWriter more = MindRecordWriter::append(shards == 1 ? set : set + "1");
      CHECK(MindRecordReader(set).size() == 40 * round);
      for (int i = 0; i < 40; ++i)
        more.write({{"k", 40 * round + i}, {"labels", std::vector{i}}, {"b", std::string(std::size_t(i) * 100, 'c')}});
      CHECK(MindRecordReader(set).size() == 40 * round);
      more.commit();
      const MindRecordReader reader(set);
      CHECK(reader.size() == 40 * (round + 1));
      CHECK(reader.index_fields() == std::vector<std::string>{"k"});
      CHECK(reader.schema().description() == "words");
      std::vector<int> seen;
      for (long i = 0; i < reader.size(); ++i) {
        const MindRecordRow row = reader.read(i);
        const int k = row.number<std::int32_t>("k");
        seen.push_back(k);
        CHECK(row.array<std::int64_t>("labels")[0] == k % 40);
        CHECK(row.chars("b").size() == (k < 40 ? 5000u : 100u * unsigned(k % 40)));
      }
      std::ranges::sort(seen);
      CHECK(seen == counted(0, int(reader.size())));
    }
    CHECK(folder.files() == files);
  }
}

namespace {
/// As MindSpore's files may be: the page of numbers and texts, the last one, moves behind the first page.
void move_raw_page(const std::string& path) {
  std::string file = io::read_file(path);
  const std::string json = file.substr(8, io::detail::little_endian<std::uint64_t>(file));
  io::MindRecordHeader header = io::parse_mind_record_header(json, path);
  std::vector<io::MindRecordPage> pages = std::move(header.pages);
  std::ranges::rotate(pages.begin() + 1, pages.end() - 1, pages.end());
  std::vector<std::uint32_t> id(pages.size());
  std::string moved(small_header + pages.size() * small_page, '\0');
  for (std::uint32_t i = 0; i < pages.size(); ++i) {
    moved.replace(header.place_of(i), pages[i].used, file, header.place_of(pages[i].id), pages[i].used);
    id[pages[i].id] = i;
    pages[i].id = i;
  }
  header.pages = pages;
  const std::string changed = io::mind_record_header_json(header);
  std::string length;
  io::detail::append_little_endian(length, std::uint64_t{changed.size()});
  moved.replace(0, 8, length).replace(8, changed.size(), changed);
  const io::MindRecordIndex old = io::read_mind_record_index(path + ".db");
  const MindRecordReader reader(path);
  std::filesystem::remove(path + ".db");
  io::write_file(path, moved);
  io::write_file(path + ".db", "");
  io::MindRecordIndexWriter index(path + ".db", old.name, header);
  std::vector<io::MindRecordScalar> scalars(header.schema.size());
  for (io::MindRecordRowPlace row : old.rows) {
    row.raw_page = id[row.raw_page], row.blob_page = id[row.blob_page];
    index.add(row, scalars);
  }
  index.finish();
}
}  // namespace

TEST_CASE("append: pages have no gaps, also behind a file whose numbers and texts are not in the last page") {
  const Folder folder;
  const std::string path = folder / "f";
  const auto add = [](MindRecordWriter& writer, int first, std::size_t text) {
    for (int i = first; i < first + 40; ++i)
      writer.write({{"k", i}, {"s", std::string(text, 's')}, {"b", std::string(5000, char('a' + i % 26))}});
    writer.commit();
  };
  for (const std::size_t text : {0, 3000}) {  // the page may get full
    {
      MindRecordWriter writer(path, {.header_size = small_header, .page_size = small_page, .overwrite = true});
      writer.add_schema({{"k", T::int32}, {"s", T::string}, {"b", T::bytes}});
      add(writer, 0, 0);
    }
    move_raw_page(path);
    CHECK_FALSE(MindRecordReader(path).shards()[0].header().pages[1].blob);
    for (int round = 1; round < 4; ++round) {
      MindRecordWriter more = MindRecordWriter::append(path);
      add(more, 40 * round, text);
      const std::string file = io::read_file(path);
      std::size_t at = 0, pages = 0;
      for (; file.find("\"page_id\":", at) != file.npos; ++pages) {  // MindSpore takes a page by its place in the list
        at = file.find("\"page_id\":", at) + 10;
        CHECK(std::stoul(file.substr(at, 8)) == pages);
      }
      const MindRecordReader reader(path);
      CHECK(reader.shards()[0].header().pages.size() == pages);
      CHECK(reader.shards()[0].header().pages[1].blob == false);
      CHECK(numbers_of(reader) == counted(0, 40 * (round + 1)));
      for (int i = 0; i < reader.size(); ++i) {
        CHECK(reader.read(i).chars("b") == std::string(5000, char('a' + i % 26)));
        CHECK(reader.read(i).chars("s").size() == (i < 40 ? 0 : text));
      }
    }
  }
}
#else
TEST_CASE("mind record") { support::say_skipped("SQLite or nlohmann_json is not installed: nothing was tested"); }
#endif
