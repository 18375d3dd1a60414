// Event files: what is written is read again, in both formats; checksums; hostile files; little memory.
// link: protozero
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <cmath>
#include <limits>

#include <tenon/core/random/philox.hpp>
#include <tenon/io/event_file.hpp>

#include "../support/peak_memory.hpp"

using namespace support;

namespace {
io::Event version(io::EventFormat format) {
  io::Event event;
  event.wall_time = 1.5, event.content = io::EventContent::version;
  event.message = format == io::EventFormat::mindspore ? io::mindspore_event_version : io::tensorboard_event_version;
  return event;
}
std::string record_of(const io::Event& event, io::EventFormat format) {
  return io::tf_record(format == io::EventFormat::mindspore ? io::mindspore_event_message(event)
                                                            : io::tensorboard_event_message(event));
}
std::string file_of(const io::Event& event, io::EventFormat format) {
  return record_of(version(format), format) + record_of(event, format);
}
io::Event values() {
  io::Event event;
  event.wall_time = 1700000000.25, event.step = 1L << 40;
  event.values = {{"loss", 0.125f},
                  {"picture \u00e9", io::EventImage{2, 3, 3, "\x89PNG"}},
                  {"t", io::EventTensor{Dtype::float32, {2, 0, 3}, {}}},
                  {"u", io::EventTensor{Dtype::float32, {}, {7}}}};
  return event;
}

// Messages by hand.
std::string field(int number, const std::string& content) {
  std::string result{static_cast<char>(number << 3 | 2)};
  protozero::add_varint_to_buffer(&result, content.size());
  return result + content;
}
std::string time() { return std::string("\x09") + std::string(8, '\0'); }
std::string varint(int number, std::uint64_t value) {
  std::string result{static_cast<char>(number << 3)};
  protozero::add_varint_to_buffer(&result, value);
  return result;
}
/// A MindSpore file with one value of this content.
std::string with_value(const std::string& value) {
  return record_of(version(io::EventFormat::mindspore), io::EventFormat::mindspore) +
         io::tf_record(time() + field(5, field(1, value)));
}
std::string refused(const std::string& file) {
  return message<RuntimeError>([&] { io::EventFile(file, "e"); });
}
}  // namespace

TEST_CASE("checksums: known values") {
  CHECK(io::crc32c("123456789") == 0xe3069283u);
  CHECK(io::crc32c("") == 0);
  CHECK(io::crc32c(std::string(32, '\0')) == 0x8a9136aau);  // RFC 3720, B.4
  CHECK(io::crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  CHECK(io::masked_crc32c(std::string("\x1a\x11") + "CRC test, one two") == 0x5794d08au);
}

TEST_CASE("event files: what is written is read") {
  for (const io::EventFormat format : {io::EventFormat::mindspore, io::EventFormat::tensorboard}) {
    io::Event event = values();
    const float numbers[]{1, -2, 3, NAN, INFINITY};
    const AnyTensor tensor(Dtype::float32, std::vector<std::int64_t>{5}, const_cast<float*>(numbers));
    if (format == io::EventFormat::mindspore) event.values.push_back({"h", io::histogram_of(tensor)});
    else event.values.push_back({"h", io::limit_histogram_of(tensor)});
    if (format == io::EventFormat::tensorboard) event.values.push_back({"note", std::string("some *text*")});
    const io::EventFile file(file_of(event, format), "e");
    CHECK(file.format() == format);
    REQUIRE(file.events().size() == 2);
    const io::Event& read = file.events()[1];
    CHECK(read.wall_time == event.wall_time);
    CHECK(read.step == event.step);
    REQUIRE(read.values.size() == event.values.size());
    CHECK(record_of(read, format) == record_of(event, format));
    CHECK(std::get<io::EventTensor>(read.values[2].value).shape == std::vector<std::int64_t>{2, 0, 3});
    CHECK(std::get<io::EventTensor>(read.values[3].value).elements == std::vector<float>{7});
  }
}

TEST_CASE("histograms by hand") {
  const auto view = []<class T>(std::vector<T>& v) {
    return AnyTensor(dtype_of<T>, std::vector<std::int64_t>{std::int64_t(v.size())}, v.data());
  };
  std::vector<float> few{1, 2, 3, 4};
  io::Histogram h = io::histogram_of(view(few));
  REQUIRE(h.buckets.size() == 2);
  CHECK(h.buckets[0].left == 1);
  CHECK(h.buckets[1].left == 2.5);
  CHECK(h.buckets[0].count == 2);
  CHECK(h.buckets[1].count == 2);
  CHECK(h.sum == 10);
  std::vector<std::int32_t> equal(20, 7);
  h = io::histogram_of(view(equal));
  REQUIRE(h.buckets.size() == 3);
  CHECK(h.buckets[0].left == 6.5);
  CHECK(h.buckets[1].count == 20);
  std::vector<float> strange{NAN, INFINITY, -INFINITY, NAN};
  h = io::histogram_of(view(strange));
  CHECK(h.buckets.empty());
  CHECK(h.count == 4);
  CHECK(h.nan_count == 2);
  CHECK(h.pos_inf_count == 1);
  CHECK(h.neg_inf_count == 1);
  const float huge = std::numeric_limits<float>::max();
  std::vector<float> wide{-huge, huge, 0};
  h = io::histogram_of(view(wide));
  CHECK(h.buckets[0].count + h.buckets[1].count == 3);
  CHECK(std::isfinite(h.buckets[0].width));
  std::vector<double> many(2000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = double(i);
  h = io::histogram_of(view(many));
  CHECK(h.buckets.size() == 90);
  std::int64_t sum = 0;
  for (const io::HistogramBucket& bucket : h.buckets) sum += bucket.count;
  CHECK(sum == 2000);
  for (const auto& [count, buckets] : {std::pair{0, 1}, {1, 2}, {5, 2}, {6, 3}, {10, 3}, {11, 2}, {880, 89}, {881, 90}})
    CHECK(io::detail::bucket_count(count) == buckets);
  std::vector<double> large{1e30, -1e30, 0};
  const io::LimitHistogram limits = io::limit_histogram_of(view(large));
  CHECK(limits.num == 3);
  CHECK(limits.counts.back() == 1);
  CHECK(limits.counts.front() == 1);
  // elements that are not finite are in no bucket, wherever they stand
  std::vector<double> holes(2000, NAN);
  for (std::size_t i = 0; i < holes.size(); i += 2) holes[i] = double(i) - 999;
  h = io::histogram_of(view(holes));
  CHECK(h.nan_count == 1000);
  CHECK(h.min == -999);
  CHECK(h.max == 999);
  CHECK(h.sum == 0);
  sum = 0;
  for (const io::HistogramBucket& bucket : h.buckets) sum += bucket.count;
  CHECK(sum == 1000);
  CHECK(io::limit_histogram_of(view(holes)).num == 1000);
}

TEST_CASE("event files: an unfinished record at the end is what a run that goes on has") {
  const std::string file = file_of(values(), io::EventFormat::mindspore);
  const std::size_t first = record_of(version(io::EventFormat::mindspore), io::EventFormat::mindspore).size();
  for (std::size_t size = first; size < file.size(); ++size) {
    const io::EventFile read(std::string_view(file).substr(0, size), "e");
    CHECK(read.events().size() == 1);
    CHECK(read.unfinished() == size - first);
  }
  CHECK(has(refused(file.substr(0, first - 1)), "no complete record"));
  CHECK(io::EventFile("", "e").events().empty());
}

TEST_CASE("event files: each flipped bit is refused, or cuts the file off") {
  const std::string good = file_of(values(), io::EventFormat::tensorboard);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    CHECK(has(refused(bad), "checksum"));
  }
}

TEST_CASE("event files: hostile ones are refused with a sentence, and little memory") {
  const std::string tag = field(1, "t");
  const std::string many = std::string(100, '\x08');
  const std::vector<std::pair<std::string, std::string>> files{
      {io::tf_record("hello"), "no field of a protobuf message"},
      {io::tf_record(time() + field(3, "MindSpore.Evil:1")), "its version is 'MindSpore.Evil:1'"},
      {io::tf_record(time()), "does not begin with a version"},
      {io::tf_record(field(3, "MindSpore.Event:1")), "an event has no time"},
      {with_value(field(3, "x")), "a scalar is a field of another type"},
      {with_value(varint(3, 5)), "a scalar is a field of another type"},
      {with_value(field(4, varint(1, 5))), "a value has no tag"},
      {with_value(field(1, "\xff\xfe") + field(4, "")), "a tag is not UTF-8"},
      {with_value(tag + field(4, varint(1, 1ull << 40))), "the height of an image is 1099511627776"},
      {with_value(tag + field(8, varint(1, 1ull << 62) + varint(1, 4) + varint(2, 11))), "a tensor of shape"},
      {with_value(tag + field(8, varint(1, std::uint64_t(-1)) + varint(2, 11))), "an axis of length -1"},
      {with_value(tag + field(8, varint(1, 2) + varint(2, 11) + field(3, "abcde"))),
       "5 bytes, which is no whole number"},
      {with_value(tag + field(8, varint(2, 11) + field(1, "\x01\x01\x01\x01\x01\x01\x01\x01\x01"))),
       "more than the 8 axes"},
      {with_value(tag + field(8, varint(1, 0) + varint(2, 99))), "the element type 99"},
      {with_value(tag + field(9, field(1, ""))), "a bucket of a histogram has no border"},
      {with_value(tag + field(9, "\x0a\xff\xff\xff\xff\x0f")), "a field announces 4294967295 bytes, 0 are left"},
      {with_value(tag + "\x4b"), "no field of a protobuf message"},
      {with_value(tag + "\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "no field of a protobuf message"},
      {with_value(tag + "\x1d\x01"), "ends past the end"},
  };
  for (const auto& [file, sentence] : files) {
    std::string said;
    const long peak = peak_of([&, &f = file] { said = refused(f); });
    CHECK(has(said, sentence));
    CHECK(has(said, "at byte "));
    CHECK(peak < 8000);
  }
  std::string long_record = io::tf_record("x");
  std::string head = long_record.substr(0, 8);
  head[6] = '\x7f';
  std::string crc;
  io::detail::append_little_endian(crc, io::masked_crc32c(head));
  CHECK(has(refused(head + crc + long_record.substr(12)), "no complete record"));
  CHECK(has(message<RuntimeError>([] { io::EventFile("no such file"); }), "Cannot open 'no such file'"));
}
#else
TEST_CASE("io/event_file") { support::say_skipped("protozero is not installed"); }
#endif
