// Event files that MindSpore 2.10 and PyTorch's SummaryWriter wrote: every field, every checksum, and the same bytes
// when Tenon writes the same values.
// link: protozero png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/io/event/image_grid.hpp>
#include <tenon/io/event/lineage_message.hpp>
#include <tenon/io/event_file.hpp>

#include "../support/json.hpp"
#include "../support/npz.hpp"

using namespace support;

namespace {
std::string mindspore() { return shared_folder() + "/golden/summary"; }
std::string tensorboard() { return shared_folder() + "/golden/tensorboard"; }

/// A file made of its records again.
template <class MessageOf>
std::string written(const io::EventFile& file, MessageOf message_of) {
  std::string bytes;
  for (const io::Event& event : file.events()) bytes += io::tf_record(message_of(event));
  return bytes;
}

/// Compares fields with [number, kind, value]; of long bytes their number and first ones are given.
void check_fields(std::string_view message, const Json& fields) {
  std::size_t i = 0;
  io::MessageField field;
  for (io::Message all(message); all.next(field); ++i) {
    REQUIRE(i < fields.array().size());
    const Json& said = fields.array()[i];
    const std::string& kind = said.array()[1].string();
    const Json& value = said.array()[2];
    CAPTURE(field.number);
    REQUIRE(field.number == unsigned(said.array()[0].number()));
    if (kind == "varint") CHECK(double(field.whole) == value.number());
    else if (kind == "double") CHECK(field.real("") == value.number());
    else if (kind == "float") CHECK(double(field.single("")) == value.number());
    else if (kind == "str") CHECK(field.bytes("") == value.string());
    else if (kind == "msg") check_fields(field.bytes(""), value);
    else {
      REQUIRE(kind == "bytes");
      const std::string_view bytes = field.bytes("");
      CHECK(double(bytes.size()) == said.array()[3].number());
      std::string hex;
      for (const char c : bytes.substr(0, 24)) {
        const auto byte = static_cast<unsigned char>(c);
        hex += "0123456789abcdef"[byte >> 4];
        hex += "0123456789abcdef"[byte & 15];
      }
      CHECK(hex + (bytes.size() > 24 ? "..." : "") == value.string());
    }
  }
  CHECK(i == fields.array().size());
}
std::uint32_t stored(std::string_view file, std::size_t at) {
  return io::detail::little_endian<std::uint32_t>(file.substr(at));
}
AnyTensor view_of(const NpyArray& array) {
  return AnyTensor(array.dtype, array.shape, const_cast<char*>(array.bytes.data()));
}
template <class T>
T value_in(const io::EventFile& file, std::string_view tag) {
  for (const io::Event& event : file.events())
    for (const io::EventValue& value : event.values)
      if (value.tag == tag) return std::get<T>(value.value);
  FAIL("there is no ", std::string(tag));
  return {};
}
#if defined(TENON_WITH_PNG)
io::Pixels decoded(const std::string& png) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, png.data(), png.size()));
  image.format = PNG_FORMAT_RGB;
  io::Pixels pixels{int(image.height), int(image.width), 3, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
  REQUIRE(png_image_finish_read(&image, nullptr, pixels.bytes.data(), 0, nullptr));
  return pixels;
}
#endif
}  // namespace

TEST_CASE("golden/summary: every field and checksum of MindSpore's files; written again they have the same bytes") {
  if (!have_shared("golden/summary")) return;
  const Json expected = load_json(mindspore() + "/expected.json");
  for (const std::string& name : expected["files"].names) {
    CAPTURE(name);
    const std::string path = mindspore() + "/" + name, bytes = io::read_file(path);
    const std::vector<Json>& said = expected["files"][name]["records"].array();
    std::size_t i = 0;
    io::TfRecords records(bytes, path);
    for (std::string_view message; records.next(message); ++i) {
      REQUIRE(i < said.size());
      CHECK(double(message.size()) == said[i]["length"].number());
      CHECK(double(stored(bytes, records.place() - 4)) == said[i]["length_crc"].number());
      CHECK(double(stored(bytes, records.place() + message.size())) == said[i]["data_crc"].number());
      check_fields(message, said[i]["fields"]);
    }
    CHECK(i == said.size());
    CHECK(records.unfinished() == 0);
    const io::EventFile file(path);
    CHECK(file.format() == io::EventFormat::mindspore);
    CHECK(file.is_lineage() == (name == "collector_lineage.events"));
    CHECK(file.events().size() == said.size());
    CHECK(written(file, io::mindspore_event_message) == bytes);
  }
}

TEST_CASE("golden/summary: values, histogram, and image of the inputs") {
  if (!have_shared("golden/summary")) return;
  const Npz inputs = load_npz(mindspore() + "/record_inputs.npz");
  const io::EventFile file(mindspore() + "/record.events");
  const auto theirs = value_in<io::Histogram>(file, "h");
  const io::Histogram ours = io::histogram_of(view_of(inputs["histogram"]));
  REQUIRE(ours.buckets.size() == theirs.buckets.size());
  for (std::size_t i = 0; i < ours.buckets.size(); ++i) {
    CHECK(ours.buckets[i].left == theirs.buckets[i].left);
    CHECK(ours.buckets[i].width == theirs.buckets[i].width);
    CHECK(ours.buckets[i].count == theirs.buckets[i].count);
  }
  CHECK(ours.min == theirs.min);
  CHECK(ours.max == theirs.max);
  CHECK(ours.sum == theirs.sum);
  CHECK(ours.count == theirs.count);
  CHECK(ours.nan_count == theirs.nan_count);

  const auto tensor = value_in<io::EventTensor>(file, "t");
  CHECK(tensor.elements == inputs["tensor"].values<float>());
  CHECK(value_in<float>(file, "loss") == inputs["loss"].values<float>()[0]);
  const auto image = value_in<io::EventImage>(file, "pic");
  const io::Pixels grid = io::image_grid(view_of(inputs["image"]));
  CHECK(image.height == grid.height);
  CHECK(image.width == grid.width);
  CHECK(image.channels == grid.channels);
#if defined(TENON_WITH_PNG)
  CHECK(decoded(image.png).bytes == grid.bytes);
  CHECK(decoded(io::encode_png(grid)).bytes == grid.bytes);
#else
  say_skipped("there is no libpng, no image was compared");
#endif
}

TEST_CASE("golden/summary: the lineage of a training has the same bytes") {
  if (!have_shared("golden/summary")) return;
  const io::EventFile file(mindspore() + "/collector_lineage.events");
  REQUIRE(file.events().size() == 2);
  const auto settings = [](const char* type) { return io::DatasetGraph::Setting{"op_type", std::string(type)}; };
  const auto whole = [](const char* name, std::int64_t value) { return io::DatasetGraph::Setting{name, value}; };
  io::DatasetGraph source, batch;
  source.settings = {settings("GeneratorDataset"), whole("connector_queue_size", 16), whole("num_parallel_workers", 1)};
  batch.children = {source};
  batch.settings = {settings("Batch"),
                    {"drop_remainder", false},
                    whole("batch_size", 4),
                    whole("connector_queue_size", 16),
                    whole("num_parallel_workers", 2)};
  CHECK(file.events()[0].content == io::EventContent::dataset_graph);
  CHECK(io::lineage_message(batch) == file.events()[0].message);

  io::TrainLineage training;
  training.optimizer = "Momentum", training.loss_function = "SoftmaxCrossEntropyWithLogits", training.network = "Net";
  training.learning_rate = 0.1f, training.loss = 0.7625152468681335f;
  training.epoch = 2, training.batch_size = 4, training.dataset_size = 16;
  CHECK(file.events()[1].content == io::EventContent::train_lineage);
  CHECK(io::lineage_message(training) == file.events()[1].message);
}

TEST_CASE("golden/tensorboard: records of PyTorch's SummaryWriter") {
  if (!have_shared("golden/tensorboard")) return;
  const Json expected = load_json(tensorboard() + "/expected.json");
  const std::string path = tensorboard() + "/events.out.tfevents.golden", bytes = io::read_file(path);
  std::size_t i = 0, same = 0;
  io::TfRecords records(bytes, path);
  for (std::string_view message; records.next(message); ++i) {
    const Json& said = expected["records"].array()[i];
    CHECK(double(records.place() - 12) == said["offset"].number());
    CHECK(double(stored(bytes, records.place() - 4)) == said["length_crc"].number());
    CHECK(double(stored(bytes, records.place() + message.size())) == said["data_crc"].number());
    same += io::tensorboard_event_message(io::parse_tensorboard_event(message)) == message;
  }
  CHECK(i == expected["records"].array().size());
  CHECK(same == 10);  // scalars, the histogram, the image, the text, and the graph

  const io::EventFile file(path);
  CHECK(file.format() == io::EventFormat::tensorboard);
  std::size_t scalar = 0;
  for (const io::Event& event : file.events())
    for (const io::EventValue& value : event.values)
      if (value.tag == "loss/train") {
        const Json& said = expected["scalars"].array()[scalar++];
        CHECK(double(event.step) == said.array()[1].number());
        CHECK(double(std::get<float>(value.value)) == said.array()[2].number());
        CHECK(event.wall_time == said.array()[3].number());
      }
  CHECK(scalar == expected["scalars"].array().size());
  CHECK(value_in<float>(file, "acc") == 0.5f);
  CHECK(value_in<std::string>(file, "note/text_summary") == "hello *world*");
}

TEST_CASE("golden/tensorboard: histogram and image of the inputs") {
  if (!have_shared("golden/tensorboard")) return;
  const Npz inputs = load_npz(tensorboard() + "/inputs.npz");
  const io::EventFile file(tensorboard() + "/events.out.tfevents.golden");
  const auto theirs = value_in<io::LimitHistogram>(file, "weights");
  const io::LimitHistogram ours = io::limit_histogram_of(view_of(inputs["hist"]));
  CHECK(ours.limits == theirs.limits);
  CHECK(ours.counts == theirs.counts);
  CHECK(ours.min == theirs.min);
  CHECK(ours.max == theirs.max);
  CHECK(ours.num == theirs.num);
  CHECK(ours.sum == doctest::Approx(theirs.sum).epsilon(1e-13));
  CHECK(ours.sum_squares == doctest::Approx(theirs.sum_squares).epsilon(1e-13));
#if defined(TENON_WITH_PNG)
  const NpyArray& chw = inputs["image"];
  NpyArray batch = chw;
  batch.shape.insert(batch.shape.begin(), 1);
  CHECK(decoded(value_in<io::EventImage>(file, "img").png).bytes == io::image_grid(view_of(batch)).bytes);
#endif
}
#else
TEST_CASE("golden/summary") { support::say_skipped("protozero is not installed"); }
#endif
