// Samples of the founding documents about data sets: parts for devices, MindRecord, transforms of images.
// link: sqlite json jpeg png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/sampler/shard.hpp>
#include <tenon/dataset/source/generator.hpp>

#include "../support/skip.hpp"
#if defined(TENON_WITH_JPEG) && __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#define RECORDS_OF_IMAGES
#include <numeric>

#include <tenon/dataset/mind_record.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/vision/vision.hpp>
#include <tenon/io/mind_record.hpp>

#include "../vision/support.hpp"
#endif

using namespace tenon;

namespace {

/// A data set of one's own: its size and its samples are those of the whole, whoever reads a part.
auto own_data() {
  using Image = dataset::Column<float, Shape<1, 2, 2>, "image">;
  using Label = dataset::Column<std::int32_t, Shape<>, "label">;
  return dataset::generator<dataset::Columns<Image, Label>>(
      1000, [](long index, std::span<float> image, std::span<std::int32_t> label) {
        std::fill(image.begin(), image.end(), static_cast<float>(index) / 1000);
        label[0] = static_cast<std::int32_t>(index);
      });
}
std::vector<int> read_by(long shard_id, dataset::ShardRule rule = dataset::ShardRule::wrap) {
  std::vector<int> labels;
  for (const auto& row :
       own_data() | dataset::shard({.num_shards = 8, .shard_id = shard_id, .rule = rule}) | dataset::batch(32))
    for (const int label : row.values<"label">()) labels.push_back(label);
  return labels;
}

}  // namespace

TEST_CASE("a data set of one's own for several devices describes the whole, and each device reads its part") {
  const std::vector<int> third = read_by(3);
  REQUIRE(third.size() == 125);
  for (int i = 0; i < 125; ++i) CHECK(third[static_cast<std::size_t>(i)] == 8 * i + 3);
}

TEST_CASE("eight readers with num_shards = 8 read every sample once") {
  std::vector<int> all;
  for (long device = 0; device < 8; ++device)
    for (const int label : read_by(device)) all.push_back(label);
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
}

#if defined(RECORDS_OF_IMAGES)
namespace {

using dataset::any, dataset::as, dataset::Column, dataset::Ragged;
template <FixedString name>
using File = Column<std::uint8_t, Ragged<any>, name>;

constexpr int heights[]{20, 64, 33}, widths[]{50, 40, 31};

/// The files 1.jpg, 2.jpg, and 3.jpg of document 003, each of a size of its own.
void write_images() {
  for (int i = 0; i < 3; ++i)
    io::write_file(std::to_string(i + 1) + ".jpg", support::jpeg_file(support::smooth_image(heights[i], widths[i], 3)));
}
/// A row of them and its label, as document 003 writes it.
void write_record(const std::string& file) {
  write_images();
  io::MindRecordWriter writer(file, {.overwrite = true});
  writer.set_schema(io::parse_mind_record_schema(R"({"label": {"type": "int32"}, "data1": {"type": "bytes"},
                                                     "data2": {"type": "bytes"}, "data3": {"type": "bytes"}})"));
  const std::string image_bytes = io::read_file("1.jpg"), image_bytes2 = io::read_file("2.jpg"),
                    image_bytes3 = io::read_file("3.jpg");
  std::vector<std::vector<io::MindRecordCell>> data_list;
  data_list.push_back({{"label", 1}, {"data1", image_bytes}, {"data2", image_bytes2}, {"data3", image_bytes3}});
  writer.write_block(data_list);  // write_raw_data
  writer.commit();
}
auto record(const std::string& file) {
  return dataset::MindRecord{file,
                             as<Column<std::int32_t, Shape<>, "label">, File<"data1">, File<"data2">, File<"data3">>};
}
io::Pixels decoded(int i) {
  io::Pixels pixels{heights[i], widths[i], 3, {}};
  vision::decode_into(io::read_file(std::to_string(i + 1) + ".jpg"), {}, [&](int height, int width) {
    pixels.bytes.resize(std::size_t(height) * std::size_t(width) * 3);
    return pixels.bytes.data();
  });
  return pixels;
}

}  // namespace

TEST_CASE("a MindRecord file of images with several labels has the schema of the document, and its labels come back") {
  const std::string schema = R"({"label": {"type": "int32", "shape": [-1]}, "data": {"type": "bytes"}})";
  const std::vector<std::vector<std::int32_t>> labels{{1, 1, 0, 1, 0, 1}, {0}, {1, 0, 1}};
  write_images();
  io::MindRecordWriter writer("labels.mindrecord", {.overwrite = true});
  writer.set_schema(io::parse_mind_record_schema(schema));
  for (std::size_t i = 0; i < labels.size(); ++i)
    writer.write({{"label", labels[i]}, {"data", io::read_file(std::to_string(i + 1) + ".jpg")}});
  writer.commit();

  const dataset::MindRecord data{"labels.mindrecord", as<Column<std::int32_t, Ragged<any>, "label">, File<"data">>};
  std::size_t i = 0;
  for (const auto& row : data | dataset::map<"data">(vision::Decode{})) {
    CHECK(std::ranges::equal(row.values<"label">(), labels[i]));
    CHECK(std::ranges::equal(row.values<"data">(), decoded(int(i)).bytes));
    ++i;
  }
  CHECK(i == 3);
}

TEST_CASE("a row of MindRecord holds several images, each of a size of its own, as the bytes of their files") {
  write_record("three.mindrecord");
  const auto data = record("three.mindrecord");
  REQUIRE(data.size() == 1);
  for (const auto& row : data) {
    const auto same = [](std::span<const std::uint8_t> bytes, const char* file) {
      return std::string(bytes.begin(), bytes.end()) == io::read_file(file);
    };
    CHECK(row.values<"label">()[0] == 1);
    CHECK(same(row.values<"data1">(), "1.jpg"));
    CHECK(same(row.values<"data2">(), "2.jpg"));
    CHECK(same(row.values<"data3">(), "3.jpg"));
  }
}

TEST_CASE("each image of a row is decoded by a map of its own, one is resized to 32 x 32, and rows are looked at") {
  write_record("mapped.mindrecord");
  const auto data_set = record("mapped.mindrecord") | dataset::map<"data1">(vision::Decode{}) |
                        dataset::map<"data2">(vision::Decode{}) | dataset::map<"data3">(vision::Decode{}) |
                        dataset::map<"data1">(vision::Resize<32, 32>{vision::Inter::linear}) |
                        dataset::prefetch(1, {.num_parallel_workers = 2});
  int rows = 0;
  for (const auto& item : data_set) {
    CHECK(shape_text(item[0].shape()) == "[]");
    CHECK(shape_text(item[1].shape()) == "[32, 32, 3]");  // of one shape, which the type says: it can be batched
    CHECK(shape_text(item[2].shape()) == "[64, 40, 3]");
    CHECK(shape_text(item[3].shape()) == "[33, 31, 3]");
    const io::Pixels first = decoded(0);
    io::Pixels resized{32, 32, 3, support::Bytes(32 * 32 * 3)};
    vision::resize(vision::view(first), vision::view(resized), {vision::Inter::linear});
    CHECK(std::ranges::equal(item.values<"data1">(), resized.bytes));
    CHECK(std::ranges::equal(item.values<"data2">(), decoded(1).bytes));
    CHECK(std::ranges::equal(item.values<"data3">(), decoded(2).bytes));
    ++rows;
  }
  CHECK(rows == 1);
}

TEST_CASE("four frames of int8 keep their 158400 elements, and a field that cannot hold them refuses them") {
  std::vector<std::int8_t> frames(4 * 100 * 132 * 3);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = static_cast<std::int8_t>(i % 251);
  const std::int64_t shape[]{4, 100, 132, 3};
  const AnyTensor array(Dtype::int8, shape, frames.data());
  const auto write = [&](std::vector<std::int64_t> extents) {
    io::MindRecordWriter writer("frames.mindrecord", {.overwrite = true});
    writer.add_schema({{"data", io::MindRecordType::float64, std::move(extents)}});
    writer.write({{"data", array}});
    writer.commit();
  };
  write({4, 100, 132, 3});
  for (const auto& row : dataset::MindRecord{"frames.mindrecord", as<Column<double, Shape<4, 100, 132, 3>, "data">>}) {
    REQUIRE(row.values<"data">().size() == 158400);
    CHECK(std::ranges::equal(row.values<"data">(), frames));
  }
  CHECK(support::message<ValueError>([&] {
          write({-1, 100, 132, 4});
        }).find("[4, 100, 132, 3] is not [-1, 100, 132, 4]") != std::string::npos);
}

TEST_CASE("transforms are compiled, also those of one's own, and stand in one pipeline in any order") {
  write_record("mixed.mindrecord");
  const auto data =
      dataset::MindRecord{"mixed.mindrecord", as<File<"data1">>} | dataset::map<"data1">(vision::Decode{}) |
      dataset::map<"data1">([](std::uint8_t pixel) { return static_cast<std::uint8_t>(255 - pixel); }) |
      dataset::map<"data1">(vision::Resize<8, 8>{}) |
      dataset::map<"data1", Column<float, Shape<>, "mean">>([](std::span<const std::uint8_t> image,
                                                               std::span<float> mean) {
        mean[0] = static_cast<float>(std::accumulate(image.begin(), image.end(), 0)) / static_cast<float>(image.size());
      });
  const io::Pixels first = decoded(0);
  const double mean = std::accumulate(first.bytes.begin(), first.bytes.end(), 0.0) / double(first.bytes.size());
  for (const auto& row : data) CHECK(row.values<"mean">()[0] == doctest::Approx(255 - mean).epsilon(0.02));
}
#else
TEST_CASE("a row of MindRecord holds several images, each of a size of its own, as the bytes of their files") {
  support::say_skipped("SQLite, nlohmann_json, or libjpeg-turbo is not installed");
}
#endif
