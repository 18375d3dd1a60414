// Data sets written into MindRecord files: each column as the field that it becomes, bit by bit, in the order of rows.
// link: sqlite json
#include "support.hpp"

#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/digits/digits.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/mind_record.hpp>
#include <tenon/dataset/operation/filter.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/repeat.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/operation/skip.hpp>
#include <tenon/dataset/operation/take.hpp>
#include <tenon/dataset/source/from_arrays.hpp>
#include <tenon/dataset/source/generator.hpp>
#include <tenon/dataset/source/image_folder.hpp>
#include <tenon/dataset/source/stream.hpp>
#include <tenon/dataset/to_mind_record.hpp>
#include <tenon/io/mind_record.hpp>

using namespace support;
using dataset::any, dataset::as, dataset::Column, dataset::Columns, dataset::Ragged, dataset::to_mind_record;
using Kind = io::MindRecordType;

namespace {

// small pages, so that there are several
constexpr io::MindRecordOptions small(int shards = 1) {
  return {.shards = shards, .header_size = 16384, .page_size = 32768};
}

/// Whether two data sets have the same rows in the same order: extents and bits.
template <class A, class B>
bool same_rows(const A& a, const B& b) {
  auto first = a.open();
  auto second = b.open();
  first.start(0);
  second.start(0);
  while (const auto* const row = first.next()) {
    const auto* const other = second.next();
    if (!other) return false;
    for (int i = 0; i < A::columns::count; ++i) {
      const AnyTensor x = (*row)[i], y = (*other)[i];
      if (x.dtype != y.dtype || !std::ranges::equal(x.shape(), y.shape())) return false;
      if (x.bytes() && std::memcmp(x.data, y.data, x.bytes()) != 0) return false;
    }
  }
  return second.next() == nullptr;
}

/// The types of the fields of a set, by name.
std::string fields_of(const std::string& file) {
  std::string s;
  const io::MindRecordReader reader(file);
  for (const io::MindRecordField& field : reader.schema().fields()) s += field.name + " " + io::type_text(field) + "; ";
  return s;
}

using Label = Column<std::int32_t, Shape<>, "label">;
/// Samples of which each has another size.
/// A source that fills the memory of a ragged column itself, with an axis too many.
struct Flat : dataset::Source<Flat> {
  using columns = Columns<Column<std::uint8_t, Ragged<any>, "a">>;
  long size() const { return 3; }
  void sample(long, void* const* out) const {
    const std::int64_t extents[]{2, 2};
    std::memset(static_cast<dataset::RaggedValue*>(out[0])->resize(extents, 1), 0, 4);
  }
};

auto ragged_set(long size) {
  return dataset::generator<Columns<Column<float, Ragged<any, 3>, "points">, Column<std::uint8_t, Ragged<any>, "jpeg">,
                                    Column<std::int64_t, Ragged<2, any>, "pairs">, Label>>(
      size, [](long index, auto points, auto jpeg, auto pairs, std::span<std::int32_t> label) {
        const long n = 1 + index % 5;
        float* const x = points.resize(n, 3);
        std::uint8_t* const byte = jpeg.resize(100 * n);
        std::int64_t* const pair = pairs.resize(2, n);
        for (long i = 0; i < 3 * n; ++i) x[i] = 1.0f / float(index + i + 1);
        for (long i = 0; i < 100 * n; ++i) byte[i] = std::uint8_t(index * 31 + i);
        for (long i = 0; i < 2 * n; ++i)
          pair[i] = std::int64_t((std::uint64_t(index) << (8 * i % 64)) - std::uint64_t(i));
        label[0] = int(index);
      });
}
constexpr auto ragged_columns = as<Column<float, Ragged<any, 3>, "points">, Column<std::uint8_t, Ragged<any>, "jpeg">,
                                   Column<std::int64_t, Ragged<2, any>, "pairs">, Label>;
}  // namespace

TEST_CASE("to_mind_record: arrays without names are column_0, column_1, ..., bit by bit") {
  const Folder folder;
  const std::string file = folder / "a.mindrecord";
  const double nan = std::bit_cast<double>(0x7ff8000000001234);
  const std::vector<float> x{1, -0.0f, 1e-42f, 3, std::bit_cast<float>(0x7fc01234u), 5};
  const std::vector<double> y{nan, -0.0, 5e-324}, z{-0.0, nan, 0.1};
  const std::vector<std::int64_t> labels{1, std::numeric_limits<std::int64_t>::min(), 3};
  const std::vector<float> weight{-0.0f, 1e-42f, std::numeric_limits<float>::infinity()};
  const auto data =
      dataset::from_arrays(dataset::column<Shape<2>>(x), dataset::column<Shape<1>>(y), dataset::column<Shape<>>(z),
                           dataset::column<Shape<>>(labels), dataset::column<Shape<>>(weight));
  CHECK(to_mind_record(data, file, small()) == 3);
  CHECK(fields_of(file) ==
        "column_0 float32[2]; column_1 float64[1]; column_2 float64; column_3 int64; column_4 float32; ");
  CHECK(same_rows(
      data, dataset::MindRecord{file, as<Column<float, Shape<2>, "column_0">, Column<double, Shape<1>, "column_1">,
                                         Column<double, Shape<>, "column_2">, Column<std::int64_t, Shape<>, "column_3">,
                                         Column<float, Shape<>, "column_4">>}));
}

TEST_CASE("to_mind_record: each dtype becomes the smallest type that has it, a number that has none is an error") {
  const Folder folder;
  const std::string file = folder / "a.mindrecord";
  const auto data = dataset::generator<Columns<
      Column<bool, Shape<>, "a">, Column<std::int8_t, Shape<2>, "b">, Column<std::uint8_t, Shape<>, "c">,
      Column<std::uint16_t, Shape<>, "d">, Column<std::uint32_t, Shape<>, "e">, Column<std::uint64_t, Shape<>, "f">,
      Column<float16, Shape<1>, "g">, Column<bfloat16, Shape<>, "h">, Column<std::uint8_t, Shape<2, 2>, "i">,
      Column<std::uint8_t, Ragged<any, 2>, "j">, Column<bool, Shape<2>, "k">>>(
      2, [](long index, auto a, auto b, auto c, auto d, auto e, auto f, auto g, auto h, auto i, auto j, auto k) {
        a[0] = true, b[0] = -128, b[1] = 127, c[0] = 255, d[0] = 65535, e[0] = 4294967295u;
        f[0] = index ? std::uint64_t(1) << 63 : 7;
        g[0] = float16(0.5f), h[0] = bfloat16(-3.0f);
        for (std::size_t n = 0; n < 4; ++n) i[n] = std::uint8_t(250 + n);
        std::uint8_t* const out = j.resize(1, 2);
        out[0] = 1, out[1] = 255, k[0] = true, k[1] = false;
      });
  CHECK(to_mind_record(data | dataset::take(1), file) == 1);
  CHECK(fields_of(file) == "a int32; b int32[2]; c int32; d int32; e int64; f int64; g float32[1]; h float32; i bytes; "
                           "j int32[-1, 2]; k int32[2]; ");
  const io::MindRecordReader reader(file);
  const io::MindRecordRow row = reader.read(0);
  CHECK(row.number<std::int32_t>("a") == 1);
  CHECK(row.array<std::int32_t>("b")[0] == -128);
  CHECK(row.number<std::int32_t>("c") == 255);
  CHECK(row.number<std::int32_t>("d") == 65535);
  CHECK(row.number<std::int64_t>("e") == 4294967295);
  CHECK(row.number<std::int64_t>("f") == 7);
  CHECK(row.array<float>("g")[0] == 0.5f);
  CHECK(row.number<float>("h") == -3);
  CHECK(row.chars("i") == "\xfa\xfb\xfc\xfd");
  CHECK(row.array<std::int32_t>("j")[1] == 255);
  CHECK(row.array<std::int32_t>("k")[0] == 1);

  const std::string other = folder / "b.mindrecord";
  CHECK(has(message<ValueError>([&] { to_mind_record(data, other); }),
            "Row 1 does not fit into '" + other + "': its field 'f' is int64, but its number (uint64) does not fit"));
  CHECK(folder.files() == 2);
  CHECK(to_mind_record(data, other, {.skip_bad_rows = true}) == 1);
}

TEST_CASE("to_mind_record: samples of unequal size, in several files in their order, also behind filter and threads") {
  const Folder folder;
  const auto data = ragged_set(1003);
  for (const int shards : {1, 4, 7}) {
    const std::string file = folder / ("r" + std::to_string(shards) + ".mindrecord");
    CHECK(to_mind_record(data | dataset::prefetch(4, {.num_parallel_workers = 2}), file, small(shards)) == 1003);
    const dataset::MindRecord read{file, ragged_columns};
    CHECK(read.size() == 1003);
    CHECK(same_rows(data, read));
    std::vector<long> rows;
    for (const auto& shard : read.reader().shards()) rows.push_back(long(shard.places().size()));
    CHECK(std::ranges::max(rows) - std::ranges::min(rows) <= 1);
    CHECK(std::ranges::is_sorted(rows, std::greater{}));
  }
  CHECK(fields_of(folder / "r1.mindrecord") == "jpeg bytes; label int32; pairs int64[2, -1]; points float32[-1, 3]; ");

  const auto odd = data | dataset::shuffle(50) |
                   dataset::filter<"label">([](std::span<const std::int32_t> label) { return label[0] % 2 == 1; });
  CHECK(to_mind_record(odd, folder / "odd.mindrecord", small(3)) == 501);
  CHECK(same_rows(odd, dataset::MindRecord{folder / "odd.mindrecord", ragged_columns}));

  // fewer rows than files
  const auto two = data | dataset::take(2);
  CHECK(to_mind_record(two, folder / "two.mindrecord", small(4)) == 2);
  CHECK(same_rows(two, dataset::MindRecord{folder / "two.mindrecord", ragged_columns}));
}

TEST_CASE("to_mind_record: images of one size are bytes of which the same column is made again") {
  const Folder folder;
  const auto data = dataset::Digits{} | dataset::take(60);
  CHECK(to_mind_record(data, folder / "digits.mindrecord", {.shards = 4}) == 60);
  using List = decltype(data)::columns;
  const auto again =
      dataset::MindRecord{folder / "digits.mindrecord", as<dataset::ColumnAt<List, 0>, dataset::ColumnAt<List, 1>>};
  CHECK(same_rows(data, again));
  const auto bytes = data | dataset::map<0, Column<std::uint8_t, Shape<28, 28, 1>, "image">>(
                                [](std::span<const float> in, std::span<std::uint8_t> out) {
                                  for (std::size_t i = 0; i < in.size(); ++i) out[i] = std::uint8_t(in[i] * 255);
                                });
  CHECK(to_mind_record(bytes, folder / "bytes.mindrecord") == 60);
  CHECK(same_rows(
      bytes, dataset::MindRecord{folder / "bytes.mindrecord",
                                 as<Column<std::uint8_t, Shape<28, 28, 1>, "image">, dataset::ColumnAt<List, 1>>}));
}

TEST_CASE("to_mind_record: the files of a folder, and random operations as in the first epoch") {
  const Folder folder;
  for (const std::string name : {"cat", "dog"}) {
    std::filesystem::create_directories(folder / ("set/" + name));
    for (int i = 0; i < 5; ++i)
      io::write_file(folder / ("set/" + name + "/" + std::to_string(i) + ".jpg"),
                     name + std::string(std::size_t(i * 7000), char(i)));
  }
  const auto data =
      dataset::ImageFolder{folder / "set"} | dataset::shuffle(10) | dataset::repeat(2) |
      dataset::map<"label", Label>([](std::span<const std::int32_t> in, std::span<std::int32_t> out, Random& random) {
        out[0] = in[0] * 1000 + int(random.below(1000));
      });
  CHECK(to_mind_record(data, folder / "set.mindrecord", small(2)) == 20);
  CHECK(same_rows(
      data, dataset::MindRecord{folder / "set.mindrecord", as<Column<std::uint8_t, Ragged<any>, "image">, Label>}));
}

TEST_CASE("to_mind_record: files of MindSpore, read, written, and read") {
  if (!have_shared("golden/mindrecord")) return;
  const Folder folder;
  const auto golden = [](const std::string& name) { return shared_folder() + "/golden/mindrecord/" + name; };
  const auto check = [&](const std::string& name, auto columns, int shards) {
    CAPTURE(name);
    const dataset::MindRecord theirs{golden(name), columns};
    CHECK(to_mind_record(theirs, folder / name, small(shards)) == theirs.size());
    CHECK(same_rows(theirs, dataset::MindRecord{folder / name, columns}));
  };
  using Bytes = Ragged<any>;
  check("all_types.mindrecord",
        as<Column<std::int32_t, Shape<>, "id">, Column<std::int64_t, Shape<>, "big">, Column<float, Shape<>, "f">,
           Column<double, Shape<>, "d">, Column<std::uint8_t, Bytes, "s">, Column<std::uint8_t, Bytes, "b">,
           Column<std::int32_t, Shape<2, 3>, "ai">, Column<std::int64_t, Ragged<any>, "al">,
           Column<float, Ragged<any, 2>, "af">, Column<double, Shape<5>, "ad">>,
        1);
  check("multi_image.mindrecord",
        as<Column<std::int32_t, Shape<>, "id">, Column<std::uint8_t, Bytes, "right">,
           Column<std::uint8_t, Bytes, "left">, Column<std::int32_t, Ragged<any>, "labels">>,
        2);
  check("shards4.mindrecord",
        as<Column<std::int64_t, Shape<>, "id">, Column<std::uint8_t, Bytes, "name">, Column<float, Shape<4>, "vec">>,
        4);
  check("many_pages.mindrecord", as<Column<std::int32_t, Shape<>, "k">, Column<std::uint8_t, Bytes, "blob">>, 3);
  check("int_arrays.mindrecord", as<Column<std::int32_t, Ragged<any>, "a">, Column<std::int64_t, Ragged<any>, "b">>, 1);
  check("empty_values.mindrecord",
        as<Column<std::uint8_t, Bytes, "t">, Column<std::uint8_t, Bytes, "b">, Column<std::int32_t, Shape<>, "n">>, 1);
}

TEST_CASE("to_mind_record: rows that do not fit are left out where they would be, and a file may be empty") {
  const Folder folder;
  const std::string file = folder / "a.mindrecord";
  using Number = Column<std::uint64_t, Shape<>, "number">;
  const auto data = dataset::generator<Columns<Number>>(9, [](long index, std::span<std::uint64_t> number) {
    number[0] = std::uint64_t(index) + (index / 3 == 1 ? std::uint64_t(1) << 63 : 0);
  });
  io::MindRecordOptions options = small(3);
  options.skip_bad_rows = true;
  CHECK(to_mind_record(data, file, options) == 6);
  const io::MindRecordReader reader(file);
  std::vector<long> rows;
  for (const auto& shard : reader.shards()) rows.push_back(long(shard.places().size()));
  CHECK(rows == std::vector<long>{3, 0, 3});
  std::vector<std::int64_t> numbers;
  for (const auto& row : dataset::MindRecord{file, as<Column<std::int64_t, Shape<>, "number">>})
    numbers.push_back(row.values<0>()[0]);
  CHECK(numbers == std::vector<std::int64_t>{0, 1, 2, 6, 7, 8});
}

TEST_CASE("to_mind_record: over the set that it reads") {
  const Folder folder;
  const std::string file = folder / "a.mindrecord";
  to_mind_record(ragged_set(40), file, small(4));
  CHECK(has(message<RuntimeError>([&] { to_mind_record(ragged_set(40), file, small(4)); }), "files already exist"));
  const dataset::MindRecord old{file, ragged_columns};
  io::MindRecordOptions options = small(2);
  options.overwrite = true;
  CHECK(to_mind_record(old | dataset::take(30), file, options) == 30);
  CHECK(folder.files() == 4);
  CHECK(same_rows(ragged_set(30), dataset::MindRecord{file, ragged_columns}));
}

TEST_CASE("to_mind_record: what goes wrong leaves no file") {
  const Folder folder;
  const std::string file = folder / "a.mindrecord";
  const auto fails = [&](const auto& data) {
    const std::string said = message<Error>([&] { to_mind_record(data, file, small(3)); });
    CHECK(folder.files() == 0);
    return said;
  };
  const auto data = ragged_set(100);
  const auto broken = data | dataset::map<"label">([](std::int32_t label) {
                        return label == 57 ? throw_error<ValueError>("57 is broken."), 0 : label;
                      });
  CHECK(has(fails(broken), "57 is broken. (data set: row 57 of epoch 0"));
  CHECK(has(fails(broken | dataset::prefetch()), "57 is broken."));
  const auto none = data | dataset::filter<"label">([](std::span<const std::int32_t>) { return false; });
  CHECK(fails(none) == "to_mind_record: '" + file +
                           "' is not written, as the data set has no rows; a set of MindRecord files has one or more.");
  CHECK(has(fails(Flat()), "a sample of the column 'a' has the shape [2, 2], which is not that of the column"));
  const auto same_name =
      dataset::generator<Columns<Label, Label>>(3, [](long, std::span<std::int32_t>, std::span<std::int32_t>) {});
  CHECK(has(fails(same_name), "two fields are called 'label'"));
}

namespace {
struct Counter {
  long next_number = 0;
  bool next(std::span<std::int32_t> label) {
    label[0] = int(next_number);
    return next_number++ < 100;
  }
};
}  // namespace

TEST_CASE("to_mind_record: a stream needs an end; its rows are dealt to the files") {
  const Folder folder;
  const auto data = dataset::stream<Columns<Label>>([] { return Counter{}; });
  CHECK(has(message<ValueError>([&] { to_mind_record(data, folder / "a.mindrecord"); }),
            "nothing says where the rows for '" + folder.path + "/a.mindrecord' end; write"));
  CHECK(has(message<ValueError>([&] { to_mind_record(data | dataset::skip(5), folder / "a.mindrecord"); }),
            "nothing says where the rows"));
  CHECK(folder.files() == 0);
  CHECK(to_mind_record(data | dataset::take(1000), folder / "a.mindrecord") == 100);
  CHECK(same_rows(data, dataset::MindRecord{folder / "a.mindrecord", as<Label>}));
  CHECK(to_mind_record(data | dataset::take(10), folder / "b.mindrecord", small(3)) == 10);
  std::vector<int> labels;
  for (const auto& row : dataset::MindRecord{folder / "b.mindrecord", as<Label>}) labels.push_back(row.values<0>()[0]);
  CHECK(labels == std::vector<int>{0, 3, 6, 9, 1, 4, 7, 2, 5, 8});
}

TEST_CASE("MindRecordWriter: write_to names a file that there is") {
  const Folder folder;
  io::MindRecordWriter writer(folder / "a", small(2));
  writer.add_schema({{"label", Kind::int32}});
  const io::MindRecordCell row[]{{"label", 3}};
  CHECK(has(message<ValueError>([&] { writer.write_to(2, row); }), "has no file 2 to write to; it has 0 .. 1."));
  CHECK(has(message<ValueError>([&] { writer.write_to(-1, row); }), "has no file -1"));
}
#else
TEST_CASE("to mind record") { support::say_skipped("SQLite or nlohmann_json is not installed: nothing was tested"); }
#endif
