// SummaryRecord: plugins, names and modes of files, filters, sizes; a full disk, a folder that is gone; threads.
// link: protozero png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>
#include <cmath>
#include <functional>

#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <atomic>
#include <regex>
#include <thread>

#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <tenon/io/event_file.hpp>
#include <tenon/train/summary_record.hpp>

#include "../support/printed.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {
std::atomic<bool> disk_full{false}, disk_nearly_full{false};
}  // namespace
// The program's own functions stand before those of the C library.
extern "C" {
ssize_t write(int file, const void* data, size_t count) {
  if (disk_full && file > 2) {
    if (count < 30) return errno = ENOSPC, -1;
    count = 30;  // the rest of the disk
  }
  return ::syscall(SYS_write, file, data, count);
}
int statvfs(const char* path, struct statvfs* disk) noexcept {
  if (::access(path, F_OK) != 0) return -1;
  *disk = {};
  disk->f_frsize = 1, disk->f_bavail = disk_nearly_full ? 31 * 40 : 1 << 30;
  return 0;
}
}

namespace {
std::string warnings(const std::function<void()>& act) {
  return printed_to(stderr, [&] { act(); });
}
long count_of(const std::string& text, std::string_view part) {
  long count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++count;
  return count;
}
std::vector<std::string> tags(const io::EventFile& file) {
  std::vector<std::string> result;
  for (const io::Event& event : file.events())
    for (const io::EventValue& value : event.values) result.push_back(text(event.step, " ", value.tag));
  return result;
}
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder)) names.push_back(file.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}
}  // namespace

TEST_CASE("summary record: values by step, plugins together, filters") {
  for (const SummaryFormat format : {SummaryFormat::mindspore, SummaryFormat::tensorboard}) {
    const Folder folder;
    SummaryRecord record(folder / "a/b", {.format = format});
    CHECK(files_in(folder / "a/b").empty());  // made by the first record
    const auto tensor = Tensor<float, Shape<dyn, 3>>::from({1, 2, 3, 4, 5, 6});
    record.add_value("scalar", "loss", 0.5);
    record.add_value("histogram", "h", tensor);
    record.add_value("scalar", "rate", Tensor{0.25f});
    record.add_value("tensor", "t", tensor);
    CHECK(record.record(3));
    CHECK(record.record(4));  // nothing
    record.add_value("scalar", "loss", 0.75);
    record.add_value("tensor", "t", tensor);
    CHECK(record.record(5, [](std::string_view plugin) { return plugin != "tensor"; }));
    CHECK(record.record(6));  // what was left out does not come later
    const io::EventFile file(record.log_dir());
    CHECK(file.format() == format);
    CHECK(file.events().size() == 3);
    CHECK(tags(file) == std::vector<std::string>{"3 loss", "3 rate", "3 h", "3 t", "5 loss"});
    record.close();
    CHECK(has(warnings([&] { CHECK_FALSE(record.record(7)); }), "the record is closed"));
  }
}

TEST_CASE("summary record: names and modes of files") {
  const Folder folder;
  std::string path;
  {
    SummaryRecord record(folder.path, {.file_prefix = "xx_", .file_suffix = "_yy"});
    record.add_value("scalar", "loss", 1);
    record.add_value("custom_lineage_data", "", io::CustomLineage{{{"layers", std::int64_t{3}}}});
    record.record(1);
    path = record.log_dir();
    CHECK((fs::status(path).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
    SummaryRecord second(folder.path, {.file_prefix = "xx_", .file_suffix = "_yy"});  // in the same second
    second.add_value("scalar", "loss", 1);
    second.record(1);
    CHECK(second.log_dir() != path);
  }
  CHECK((fs::status(path).permissions() & fs::perms::all) == fs::perms::owner_read);
  const std::vector<std::string> names = files_in(folder.path);
  REQUIRE(names.size() == 3);
  for (const std::string& name : names)
    CHECK(std::regex_match(name, std::regex(R"(xx_\.out\.events\.summary\.\d{10}\.0\..+(_yy|_lineage))")));
  {
    SummaryRecord record(folder.path, {.format = SummaryFormat::tensorboard});
    record.add_value("scalar", "loss", 1);
    record.record(1);
    path = record.log_dir();
  }
  CHECK(std::regex_search(path, std::regex(R"(/events\.out\.tfevents\.\d{10}\..+\.\d+\.\d+$)")));
  CHECK((fs::status(path).permissions() & fs::perms::owner_write) != fs::perms::none);
}

TEST_CASE("summary record: what it refuses") {
  const Folder folder;
  CHECK(has(message<ValueError>([&] { SummaryRecord(folder.path, {.file_prefix = "a/b"}); }), "got 'a/b'"));
  CHECK(has(message<RuntimeError>([&] { SummaryRecord("/proc/no/folder"); }), "make the directory"));
  SummaryRecord record(folder.path);
  const Tensor x{1.0f, 2.0f};
  CHECK(has(message<ValueError>([&] { record.add_value("scaler", "a", 1); }), "Did you mean 'scalar'"));
  CHECK(has(message<TypeError>([&] { record.add_value("graph", "a", 1); }), "'graph'"));
  CHECK(has(message<TypeError>([&] { record.add_value("scalar", "a", io::TrainLineage{}); }), "'train_lineage'"));
  CHECK(has(message<ValueError>([&] { record.add_value("scalar", "", 1); }), "name of a scalar is empty"));
  CHECK(has(message<ValueError>([&] { record.add_value("scalar", "a", x); }), "one element"));
  CHECK(has(message<ValueError>([&] { record.add_value("image", "a", x); }), "[N, C, H, W]"));
  CHECK(has(message<ValueError>([&] { record.add_value("tensor", "a", 1); }), "at least one axis"));
  CHECK(has(message<ValueError>([&] { record.set_mode("test"); }), "'train' or 'eval'"));
  CHECK(has(warnings([&] { SummaryRecord(folder.path, {.max_file_size = -1}); }), "max_file_size must be 0 or more"));
  const std::string twice = warnings([&] {
    record.add_value("scalar", "a", 1);
    record.add_value("scalar", "a", 2);
  });
  CHECK(count_of(twice, "has two values") == 1);
  record.record(1);
  const io::EventFile file(record.log_dir());
  REQUIRE(file.events().size() == 2);
  REQUIRE(file.events()[1].values.size() == 1);
  CHECK(std::get<float>(file.events()[1].values[0].value) == 2);
}

TEST_CASE(
    "summary record: a file that reaches its size, a full disk, a folder that is gone: one warning, no half record") {
  enum class Trouble { size, full, nearly_full, gone, read_only_folder };
  for (const Trouble trouble : {Trouble::size, Trouble::full, Trouble::nearly_full, Trouble::gone}) {
    CAPTURE(int(trouble));
    const Folder folder;
    std::string path, bytes;
    const std::string said = warnings([&] {
      SummaryRecordConfig config;
      if (trouble == Trouble::size) config.max_file_size = 44 + 2 * 42;  // its version, and two records
      SummaryRecord record(folder / "d", config);
      for (int step = 1; step <= 5; ++step) {
        if (step == 3) {
          disk_full = trouble == Trouble::full, disk_nearly_full = trouble == Trouble::nearly_full;
          if (trouble == Trouble::gone) bytes = io::read_file(path), fs::remove_all(folder / "d");
        }
        record.add_value("scalar", "loss", 1);
        CHECK(record.record(step) == (step < 3));
        path = record.log_dir();
      }
      record.flush();
    });
    disk_full = disk_nearly_full = false;
    CHECK(count_of(said, "gets no more records") == 1);
    if (trouble != Trouble::gone) bytes = io::read_file(path);
    const io::EventFile file(bytes, "e");
    CHECK(file.events().size() == 3);
    CHECK(file.unfinished() == 0);
  }
}

TEST_CASE("summary record: threads add values and record") {
  const Folder folder;
  SummaryRecord record(folder.path);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int step = 0; step < 25; ++step) {
        record.add_value("scalar", text("value ", t, " ", step), step);
        if (step % 3 == 0) record.record(step);
      }
    });
  for (std::thread& thread : threads) thread.join();
  record.record(25);
  CHECK(tags(io::EventFile(record.log_dir())).size() == 100);
}

TEST_CASE("a value of a summary operator that cannot be recorded: one warning per name, the others are there") {
  const Folder folder;
  SummaryRecord record(folder.path);
  const auto see = [](const char* plugin, const char* name, const auto& tensor) {
    ops::summary_sink.load()(plugin, name, tensor.view());
  };
  const auto tall = Tensor<float, Shape<dyn, 1, 40000, 1>>::full(1, 1);  // more rows than an image can have
  const std::string said = warnings([&] {
    for (int step = 1; step <= 3; ++step) {
      see("scalar", "two", Tensor{1.0f, 2.0f});
      if (io::has_png) see("image", "tall", tall);
      see("scalar", "loss", Tensor{0.5f});
      CHECK(record.record(step));
    }
  });
  CHECK(count_of(said, "The scalar 'two' of scalar_summary is not recorded: ") == 1);
  CHECK(count_of(said, "The image 'tall' of image_summary is not recorded: ") == (io::has_png ? 1 : 0));
  CHECK(count_of(said, "[WARNING]") == (io::has_png ? 2 : 1));
  CHECK(tags(io::EventFile(record.log_dir())) == std::vector<std::string>{"1 loss", "2 loss", "3 loss"});
}

TEST_CASE("images as a grid") {
  // 9 gray images of 1 x 2 pixels: a row of 8, and one below
  std::vector<float> gray(18);
  for (std::size_t i = 0; i < gray.size(); ++i) gray[i] = float(i) / 32;
  const io::Pixels grid = io::image_grid(AnyTensor(Dtype::float32, std::vector<std::int64_t>{9, 1, 1, 2}, gray.data()));
  CHECK(grid.height == 2);
  CHECK(grid.width == 16);
  CHECK(grid.bytes[3 * 1] == std::uint8_t(255.0f / 32));
  CHECK(grid.bytes[3 * 16 + 3 * 1 + 2] == std::uint8_t(255 * 17.0f / 32));
  CHECK(grid.bytes[3 * 16 + 3 * 2] == 0);
  std::vector<std::uint8_t> bytes{0, 10, 200, 255, 1, 2};
  const auto pixels =
      io::image_grid(AnyTensor(Dtype::uint8, std::vector<std::int64_t>{1, 3, 1, 2}, bytes.data())).bytes;
  CHECK(pixels == std::vector<std::uint8_t>{0, 200, 1, 10, 255, 2});
  std::vector<float> strange{-1, 1, NAN, 3e38f, -3e38f, INFINITY};
  CHECK(io::image_grid(AnyTensor(Dtype::float32, std::vector<std::int64_t>{2, 1, 1, 3}, strange.data())).bytes.size() ==
        18);
  std::vector<float> shifted{-1, 0, 1};  // 255 / (range + 1) for each step, as MindSpore maps
  const auto mapped =
      io::image_grid(AnyTensor(Dtype::float32, std::vector<std::int64_t>{1, 1, 1, 3}, shifted.data())).bytes;
  CHECK(mapped == std::vector<std::uint8_t>{0, 0, 0, 85, 85, 85, 170, 170, 170});
}

TEST_CASE("without libpng an image is refused with what is missing") {
  if (io::has_png) return;
  const Folder folder;
  SummaryRecord record(folder.path);
  const auto image = Tensor<float, Shape<dyn, 1, 2, 2>>::full(1, 1);
  CHECK(has(message<RuntimeError>([&] { record.add_value("image", "a", image); }), "libpng-dev"));
}
#else
TEST_CASE("train/summary_record") { support::say_skipped("protozero is not installed"); }
#endif
