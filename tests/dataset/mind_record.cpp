// MindRecord files as a data set: columns checked when opened, samples of unequal size, several images in a row.
// link: sqlite json
#include <algorithm>

#include "support.hpp"

#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/mind_record.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/io/mind_record.hpp>

using namespace support;
using dataset::any;
using dataset::as;
using dataset::Column;
using dataset::Ragged;
using T = io::MindRecordType;

namespace {
constexpr int count = 30;
/// Two images of bytes in each row, labels of any number, a text, a vector.
struct Files {
  Folder folder;
  std::string set = folder / "train.mindrecord";
  Files() {
    io::MindRecordWriter writer(set, {.shards = 3, .header_size = 16384, .page_size = 32768});
    writer.add_schema({{"label", T::int32},
                       {"labels", T::int64, {-1}},
                       {"name", T::string},
                       {"vector", T::float32, {2, 2}},
                       {"left", T::bytes},
                       {"right", T::bytes}});
    std::vector<std::vector<std::int64_t>> labels;
    std::vector<std::vector<float>> vectors;
    std::vector<std::string> names, left, right;
    for (int i = 0; i < count; ++i) {
      labels.emplace_back(std::size_t(i % 4), i);
      vectors.push_back({float(i), 1, 2, 3});
      names.push_back("row " + std::to_string(i));
      left.emplace_back(std::size_t(i) + 1, char(i));
      right.emplace_back(6, char(-i));
    }
    std::vector<std::vector<io::MindRecordCell>> rows;
    for (std::size_t i = 0; i < count; ++i)
      rows.push_back({{"label", int(i)},
                      {"labels", labels[i]},
                      {"name", names[i]},
                      {"vector", vectors[i]},
                      {"left", left[i]},
                      {"right", right[i]}});
    writer.write_block(rows);
    writer.commit();
  }
};
}  // namespace

TEST_CASE("MindRecord: each column as it was written, in the order of the files") {
  const Files files;
  const dataset::MindRecord data{
      files.set, as<Column<std::uint8_t, Ragged<any>, "left">, Column<std::int32_t, Shape<>, "label">,
                    Column<std::int64_t, Ragged<any>, "labels">, Column<float, Shape<2, 2>, "vector">,
                    Column<std::uint8_t, Ragged<any>, "name">, Column<std::uint8_t, Shape<2, 3>, "right">>};
  CHECK(data.size() == count);
  int i = 0;
  for (const auto& row : data) {
    CHECK(row.values<"label">()[0] == i);
    const auto left = row.values<"left">();
    CHECK(left.size() == std::size_t(i) + 1);
    CHECK(std::ranges::count(left, i) == i + 1);
    CHECK(row.values<"labels">().size() == std::size_t(i % 4));
    CHECK(std::ranges::count(row.values<"labels">(), i) == i % 4);
    CHECK(row.values<"vector">()[0] == float(i));
    CHECK(row.values<"vector">()[3] == 3);
    const auto name = row.values<"name">();
    CHECK(std::string(name.begin(), name.end()) == "row " + std::to_string(i));
    CHECK(row.values<"right">()[5] == std::uint8_t(-i));
    ++i;
  }
  CHECK(i == count);
  const dataset::MindRecord some{std::vector{files.set + "1"}, as<Column<std::int32_t, Shape<>, "label">>};
  CHECK(some.size() == 10);
}

TEST_CASE("MindRecord: shuffled, in batches, by several threads") {
  const Files files;
  const dataset::MindRecord source{files.set,
                                   as<Column<float, Shape<2, 2>, "vector">, Column<std::int32_t, Shape<>, "label">>};
  const auto data = source | dataset::shuffle(count) | dataset::batch(4);
  std::vector<int> seen;
  for (const auto& [vectors, labels] : data)
    for (long k = 0; k < labels.n(); ++k) {
      seen.push_back(labels.values()[std::size_t(k)]);
      CHECK(vectors.values()[std::size_t(4 * k)] == float(seen.back()));
    }
  CHECK(seen != counted(0, count));
  std::ranges::sort(seen);
  CHECK(seen == counted(0, count));
}

TEST_CASE("MindRecord: a column that is not there, or something else, is one sentence when it is opened") {
  const Files files;
  const auto said = [&]<class C>(dataset::As<C> columns) {
    return message<Error>([&] { dataset::MindRecord{files.set, columns}; });
  };
  CHECK(
      has(said(as<Column<std::int32_t, Shape<>, "lable">>), "has no column 'lable', it has 'label', 'labels', 'left'"));
  CHECK(has(said(as<Column<std::int64_t, Shape<>, "label">>),
            "is int32, expected was int64 Shape<>; write Column<std::int32_t, Shape<>, \"label\">."));
  CHECK(has(said(as<Column<std::int64_t, Shape<>, "labels">>),
            "is int64[-1], expected was int64 Shape<>; write Column<std::int64_t, Ragged<any>, \"labels\">."));
  CHECK(has(said(as<Column<float, Shape<2, 3>, "vector">>),
            "is float32[2, 2], expected was float32 Shape<2, 3>; write Column<float, Shape<2, 2>, \"vector\">."));
  CHECK(has(said(as<Column<float, Ragged<any>, "left">>),
            "is bytes, expected was float32 Ragged<any>; write Column<std::uint8_t, Ragged<any>, \"left\">."));
  CHECK(has(said(as<Column<std::uint8_t, Shape<6>, "name">>), "is string, expected was uint8 Shape<6>"));
  const dataset::MindRecord fixed{files.set, as<Column<std::int64_t, Shape<2>, "labels">>};
  CHECK(has(message<RuntimeError>([&] {
              for (const auto& row : fixed) static_cast<void>(row);
            }),
            "has [0] elements in 'labels', which its column's shape has not"));
}
#else
TEST_CASE("mind record") { support::say_skipped("SQLite or nlohmann_json is not installed: nothing was tested"); }
#endif
