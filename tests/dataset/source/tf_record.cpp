// TFRecord files of tf.train.Example: records written by another hand (struct and a CRC-32C bit by bit, in Python), and
// every way in which they can be wrong.
// link: protozero
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "../support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/cache/pipeline_description.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/source/tf_record.hpp>

using namespace support;
using dataset::any, dataset::as, dataset::Column, dataset::Ragged, dataset::TfRecord;

namespace {
// image: the bytes ff d8 'a' 'b'; label: 7; box: 1.5, -2; tags: 3, -1
const std::string first("S\000\000\000\000\000\000\000\015}N\221\012Q\012\021\012\005image\022\010\012\006\012"
                        "\004\377\330ab\012\016\012\005label\022\005\032\003\012\001\007\012\023\012\003box\022"
                        "\014\022\012\012\010\000\000\300\077\000\000\000\300\012\027\012\004tags\022\017\032\015"
                        "\012\013\003\377\377\377\377\377\377\377\377\377\0016\003\330\242",
                        99);
// numbers that are not packed: label: -5, box: 0.25, 4; image: no byte; tags: no list
const std::string second("H\000\000\000\000\000\000\000\376\222H\235\012F\012\026\012\005label\022\015\032\013\010"
                         "\373\377\377\377\377\377\377\377\377\001\012\023\012\003box\022\014\022\012\015\000\000"
                         "\200>\015\000\000\200@\012\015\012\005image\022\004\012\002\012\000\012\010\012\004tags"
                         "\022\000W_-\022",
                         88);

using Image = Column<std::uint8_t, Ragged<any>, "image">;
using Label = Column<std::int32_t, Shape<>, "label">;
using Box = Column<float, Shape<2>, "box">;
using Tags = Column<std::int64_t, Ragged<any>, "tags">;

struct File : Folder {
  std::string path = *this / "a.tfrecord";
  explicit File(std::string_view content) { io::write_file(path, content); }
};
std::string field(int number, std::string_view content) {
  REQUIRE(content.size() < 128);
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + std::string(content);
}
std::string feature(std::string_view name, int list, std::string_view values) {
  return field(1, field(1, name) + field(2, field(list, values)));
}
std::string record(std::string_view features) { return io::tf_record(field(1, features)); }
template <class... C>
std::string refusal(const std::string& content, dataset::As<C...> wanted, dataset::TfRecordConfig config = {}) {
  const File file(content);
  const auto read = [&] {
    for (const auto& row : TfRecord(file.path, wanted, config)) static_cast<void>(row);
  };
  const std::string said = message<RuntimeError>(read);
  return said;
}
}  // namespace

TEST_CASE("what another hand wrote") {
  const File file(first + second);
  const TfRecord data(file.path, as<Tags, Image, Label, Box>);
  REQUIRE(data.size() == 2);
  auto rows = data.open();
  rows.start(0);
  const auto* row = rows.next();
  REQUIRE(row);
  const auto equal = [](auto values, auto... expected) {
    return std::ranges::equal(values, std::vector<std::remove_cvref_t<decltype(values[0])>>{
                                          static_cast<std::remove_cvref_t<decltype(values[0])>>(expected)...});
  };
  CHECK(equal(row->values<"image">(), 0xff, 0xd8, 'a', 'b'));
  CHECK(row->values<"label">()[0] == 7);
  CHECK(equal(row->values<"box">(), 1.5, -2));
  CHECK(equal(row->values<"tags">(), 3, -1));
  row = rows.next();
  REQUIRE(row);
  CHECK(row->values<"image">().empty());
  CHECK(row->values<"label">()[0] == -5);
  CHECK(equal(row->values<"box">(), 0.25, 4));
  CHECK(row->values<"tags">().empty());
  CHECK(rows.next() == nullptr);
  dataset::PipelineDescription description;
  description.add_data(data);
  CHECK(description.unknown().empty());
}

TEST_CASE("several files, in another order, by several threads") {
  const Folder folder;
  std::vector<std::string> paths;
  std::string content;
  for (int i = 0; i < 90; ++i) {
    content += record(feature("n", 3, std::string{'\x08', static_cast<char>(i)}));
    if (i == 9 || i == 10 || i == 89) {
      paths.push_back(folder / text(i));
      io::write_file(paths.back(), content);
      content.clear();
    }
  }
  const TfRecord data(paths, as<Column<std::uint8_t, Shape<1>, "n">>);
  REQUIRE(data.size() == 90);
  int expected = 0;
  for (const auto& row : data) CHECK(row.values<0>()[0] == expected++);
  std::vector<int> seen;
  for (const auto& row :
       data | dataset::shuffle(90, 2) | dataset::batch(9) | dataset::prefetch(2, {.num_parallel_workers = 3}))
    for (const int n : row.values<0>()) seen.push_back(n);
  CHECK(seen != counted(0, 90));
  std::ranges::sort(seen);
  CHECK(seen == counted(0, 90));
}

TEST_CASE("features that do not fit are named") {
  const File file(first);
  const std::string missing = message<KeyError>([&] { TfRecord(file.path, as<Column<float, Shape<>, "weight">>); });
  CHECK(has(missing, "Record 0 of '"));
  CHECK(has(missing, "has no feature 'weight'; it has 'image', 'label', 'box', 'tags'."));
  CHECK(has(refusal(first, as<Column<float, Shape<>, "label">>),
            "the feature 'label' is an int64_list, the column is float32 (record 0, at byte 0)"));
  CHECK(has(refusal(first, as<Column<std::int32_t, Shape<2>, "box">>), "is a float_list, the column is int32"));
  CHECK(has(refusal(first, as<Column<std::int32_t, Ragged<any>, "image">>), "is a bytes_list, the column is int32"));
  CHECK(has(refusal(first, as<Column<float, Shape<3>, "box">>), "'box' has 2 values, the column takes 3"));
  CHECK(has(refusal(first, as<Column<std::uint8_t, Shape<5>, "image">>), "'image' has 4 bytes, the column takes 5"));
  CHECK(
      has(refusal(first, as<Column<std::uint8_t, Ragged<any>, "tags">>), "'tags' has the value -1, which is no uint8"));
  CHECK(has(refusal(second, as<Column<std::int64_t, Shape<1>, "tags">>), "is nothing, the column is int64"));
  CHECK(has(refusal(record(feature("b", 3, "\x08\x02")), as<Column<bool, Shape<>, "b">>),
            "the value 2, which is no bool"));
  CHECK(has(refusal(record(feature("s", 1, field(1, "x") + field(1, "y"))), as<Column<std::uint8_t, Ragged<any>, "s">>),
            "'s' has 2 texts, the column takes one"));
  CHECK(refusal(first, as<Column<float16, Ragged<any>, "box">, Column<std::uint8_t, Shape<2, 2>, "image">>).empty());
  // the second record does not have what the first one has
  const File two(first + record(feature("label", 3, "\x08\x01")));
  const TfRecord data(two.path, as<Image>);
  CHECK(has(message<KeyError>([&] {
              for (const auto& row : data) static_cast<void>(row);
            }),
            "Record 1 of '"));
}

TEST_CASE("damaged files") {
  const auto wanted = as<Label>;
  CHECK(has(refusal("", wanted), "it has no record"));
  CHECK(has(refusal(first.substr(0, 50), wanted), "the record has 83 bytes and the file ends before; it was cut off"));
  CHECK(has(refusal(first + second.substr(0, 15), wanted),
            "it ends inside of a record; it was cut off (record 1, at byte 99)"));
  for (const std::size_t place : {0u, 7u, 9u}) {
    std::string damaged = first;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    CHECK(has(refusal(damaged, wanted), "the checksum of the record's length is wrong (record 0, at byte 0)"));
  }
  for (const std::size_t place : {40u, 97u}) {
    std::string damaged = second + first;
    damaged[88 + place] = static_cast<char>(damaged[88 + place] ^ 4);
    CHECK(has(refusal(damaged, wanted), "the checksum of the record's data is wrong (record 1, at byte 88)"));
  }
  CHECK(has(refusal("\x1f\x8b" + first, wanted), "compressed with gzip"));
  CHECK(has(refusal(first, wanted, {.record_limit = 82}), "has 83 bytes, at most 82 are allowed"));
  CHECK(has(refusal(io::tf_record("\x0a\x7f"), wanted), "a field announces 127 bytes, 0 are left"));
  CHECK(has(message<KeyError>([&] { refusal(io::tf_record(std::string_view("\x12\x00", 2)), wanted); }),
            "has none: is it a tf.train.Example?"));
  CHECK(has(message<ValueError>([&] { TfRecord(std::vector<std::string>{}, wanted); }), "no file"));
}
#endif
