// Too little memory for a file: every reader and writer says OutOfMemory, wherever the memory runs out, and works again
// when there is enough.
// link: protozero sqlite json openssl zlib png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>) && __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>) && \
    __has_include(<openssl/evp.h>)
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <protozero/pbf_writer.hpp>

#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operations.hpp>
#include <tenon/dataset/source/csv.hpp>
#include <tenon/dataset/source/image_folder.hpp>
#include <tenon/dataset/source/npz_columns.hpp>
#include <tenon/dataset/source/text_file.hpp>
#include <tenon/dataset/source/tf_record.hpp>
#include <tenon/io/bytes/gzip.hpp>
#include <tenon/io/ckpt.hpp>
#include <tenon/io/ckpt_encryption.hpp>
#include <tenon/io/event/event_writer.hpp>
#include <tenon/io/event/tensorboard_event.hpp>
#include <tenon/io/event_file.hpp>
#include <tenon/io/mind_record.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/io/png.hpp>
#include <tenon/io/print_file.hpp>
#include <tenon/io/safetensors.hpp>
#include <tenon/train/summary_record.hpp>

#include "../support/sanitized.hpp"
#include "../support/skip.hpp"

namespace {
long allocations_left = -1;          // the last of them fails; below 0 none does
constexpr std::size_t small = 1024;  // smaller ones succeed: among them are paths, and the objects themselves

void* allocated(std::size_t bytes, std::size_t alignment) {
  if (bytes >= small && allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
  if (void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return allocated(bytes ? bytes : 1, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes ? bytes : 1, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return operator new(bytes);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

using namespace support;

namespace {
struct Operation {
  std::string name;
  std::function<void()> run;
  bool throws = true;  // else it warns, and the program goes on
};

/// Lets one allocation after the other fail. What is right is an OutOfMemory, or that it went without.
void check_every_allocation(const Operation& operation) {
  CAPTURE(operation.name);
  long refused = 0;
  for (long n = 1;; ++n) {
    CAPTURE(n);
    REQUIRE(n < 300);
    std::string wrong;
    bool reached = false;
    allocations_left = n;
    try {
      operation.run();
      reached = allocations_left == 0;
    } catch (const OutOfMemory&) {
      ++refused;
      reached = true;
    } catch (const std::exception& error) {
      reached = true;
      wrong = error.what();
    }
    allocations_left = -1;
    REQUIRE_MESSAGE(wrong.empty(), operation.name << ": allocation " << n << ": " << wrong);
    if (!reached) break;
  }
  CHECK((refused > 0) == operation.throws);
  operation.run();
}

std::vector<float> numbers(1000, 0.5f);
std::vector<io::NamedTensor> make_tensors() {
  std::vector<io::NamedTensor> made{
      {"a", AnyTensor(Dtype::float32, std::vector<std::int64_t>{10, 100}, numbers.data())}};
  for (int i = 0; i < 80; ++i)
    made.push_back({text("a tensor with quite a long name ", i),
                    AnyTensor(Dtype::float32, std::vector<std::int64_t>{10}, numbers.data())});
  return made;
}
const std::vector<io::NamedTensor>& tensors() {
  static const std::vector<io::NamedTensor> made = make_tensors();
  return made;
}
std::string npy() {
  return io::npy_header(Dtype::float32, std::vector<std::int64_t>{1000}) +
         std::string(reinterpret_cast<const char*>(numbers.data()), 4000);
}
std::string events() {
  std::string file;
  io::Event event;
  event.content = io::EventContent::version, event.message = io::tensorboard_event_version;
  file += io::tf_record(io::tensorboard_event_message(event));
  event = {};
  event.content = io::EventContent::values;
  event.values.push_back({"a tag that is longer than a short string", 0.5f});
  event.values.push_back({"text", std::string(5000, 'x')});
  return file + io::tf_record(io::tensorboard_event_message(event));
}
/// An Example of TensorFlow with one feature, "image", of 2,000 bytes.
std::string example() {
  const std::string bytes(2000, 'x');
  std::string list, feature, entry, features, result;
  protozero::pbf_writer(list).add_bytes(1, bytes);
  protozero::pbf_writer(feature).add_message(1, list);
  protozero::pbf_writer pair(entry);
  pair.add_string(1, "image");
  pair.add_message(2, feature);
  protozero::pbf_writer(features).add_message(1, entry);
  protozero::pbf_writer(result).add_message(1, features);
  return result;
}
void write_records(const std::string& path) {
  io::MindRecordWriter writer(path, {.overwrite = true});
  writer.add_schema({{"label", io::MindRecordType::int32}, {"image", io::MindRecordType::bytes}});
  static const std::string image(5000, 'x');
  for (std::int32_t i = 0; i < 3; ++i) writer.write({{"label", i}, {"image", std::string_view(image)}});
  writer.commit();
}
void read_rows(const auto& data) {
  auto rows = data.open();
  rows.start(0);
  while (rows.next()) {
  }
}
}  // namespace

TEST_CASE("one allocation after the other fails: an OutOfMemory, and nothing else") {
  using dataset::as, dataset::Column, dataset::Ragged, dataset::any;
  const Folder folder;
  const auto at = [&](const char* name) { return io::join_path(folder.path, name); };
  const auto put = [&](const char* name, const std::string& content) { io::write_file(at(name), content); };
  io::save_safetensors(at("w.safetensors"), tensors());
  io::save_ckpt(at("w.ckpt"), tensors(), {{"note", std::string("a text that is longer than a short string")}});
  io::save_encrypted_ckpt(at("e.ckpt"), tensors(), "0123456789abcdef", io::CkptCipher::aes_gcm);
  io::save_npz(at("w.npz"), tensors());
  put("w.npy", npy());
  put("events", events());
  const TextOrTensor printed[]{{true, {}, tensors()[0].tensor}, {false, "a text that is longer than a short one", {}}};
  put("prints", io::print_message(printed));
  std::string rows, lines;
  for (int i = 0; i < 300; ++i) rows += "1,\"2\",3\n", lines += "a line\n";
  put("t.csv", rows + std::string(2000, '0') + "4,5,6\n");
  put("t.txt", lines + std::string(2000, 'x') + "\nanother\n");
  std::string records = io::tf_record(example());
  for (int i = 0; i < 300; ++i) records += io::tf_record(example());
  put("t.tfrecord", records);
  write_records(at("set"));

#if defined(TENON_WITH_PNG)
  const io::Pixels pixels{40, 40, 1, std::vector<std::uint8_t>(1600, 7)};
#endif
  const std::string record(5000, 'x');
  const std::vector<Operation> all{
      {"read_file", [&] { io::read_file(at("w.npy")); }},
      {"Safetensors", [&] { io::Safetensors(at("w.safetensors")); }},
      {"Ckpt", [&] { io::Ckpt(at("w.ckpt")); }},
      {"read_encrypted_ckpt", [&] { io::read_encrypted_ckpt(at("e.ckpt"), "0123456789abcdef"); }},
      {"Npz", [&] { io::Npz(at("w.npz")); }},
      {"npy_column", [&] { dataset::npy_column(at("w.npy"), as<Column<float, Shape<>>>); }},
      {"npz_columns", [&] { dataset::npz_columns(at("w.npz"), as<Column<float, Shape<100>, "a">>); }},
      {"EventFile", [&] { io::EventFile(at("events")); }},
      {"PrintFile", [&] { io::PrintFile(at("prints")); }},
      {"MindRecordReader", [&] { io::MindRecordReader(at("set")).read(1); }},
      {"Csv", [&] { read_rows(dataset::Csv(at("t.csv"), as<Column<float, Shape<>>, Column<float, Shape<2>>>)); }},
      {"TextFile", [&] { read_rows(dataset::TextFile(at("t.txt"))); }},
      {"TfRecord",
       [&] { read_rows(dataset::TfRecord(at("t.tfrecord"), as<Column<std::uint8_t, Ragged<any>, "image">>)); }},
      {"save_safetensors", [&] { io::save_safetensors(at("o.safetensors"), tensors()); }},
      {"save_ckpt", [&] { io::save_ckpt(at("o.ckpt"), tensors(), {{"note", std::string("first")}}); }},
      {"save_encrypted_ckpt",
       [&] { io::save_encrypted_ckpt(at("o.ckpt"), tensors(), "0123456789abcdef", io::CkptCipher::aes_gcm); }},
      {"save_npz", [&] { io::save_npz(at("o.npz"), tensors()); }},
      {"MindRecordWriter", [&] { write_records(at("out")); }},
#if defined(TENON_WITH_PNG)
      {"encode_png", [&] { io::encode_png(pixels); }},
#endif
      {"SummaryRecord",
       [&] {
         SummaryRecord summary(folder.path);
         summary.add_value("tensor", "a", tensors()[0].tensor);
         summary.record(1);
       }},
      {"a stage of a data set",
       [&] {
         read_rows(Numbers(3) | dataset::map<1>([](std::int32_t label) {
                     const std::vector<std::int32_t> scratch(1000, label);
                     return scratch.back();
                   }));
       }},
      {"EventWriter", [&] { io::EventWriter(io::EventFileName{at("e"), ".x"}).write(record); }, false}};
  for (const Operation& operation : all) check_every_allocation(operation);
}
namespace {
/// What an act says in a process that gets `room` more bytes: 3 for an OutOfMemory with the path, 0 if it went without.
template <class Act>
int with_little_memory(std::uint64_t room, const std::string& path, Act act) {
  const pid_t child = ::fork();
  if (child != 0) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{pages * 4096 + room, pages * 4096 + room};
  ::setrlimit(RLIMIT_AS, &limit);
  try {
    act();
  } catch (const OutOfMemory& error) {
    std::printf("%s\n", error.what());
    std::fflush(stdout);
    ::_exit(std::string_view(error.what()).find(path) != std::string_view::npos ? 3 : 5);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    std::fflush(stdout);
    ::_exit(4);
  }
  ::_exit(0);
}
}  // namespace

TEST_CASE("files that are larger than the memory that the system gives") {
  if (support::sanitized) return support::say_skipped("a sanitizer needs more memory than any limit");
  constexpr std::uint64_t bytes = 400'000'000, room = 100 << 20;
  const Folder folder;
  const auto make = [&](const char* name, const std::string& head, const std::string& tail = "") {
    const std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << head;
    REQUIRE(::truncate(path.c_str(), off_t(head.size() + bytes)) == 0);
    std::ofstream(path, std::ios::binary | std::ios::app) << tail;
    return path;
  };
  const std::string json =
      text("{\"w\":{\"dtype\":\"F32\",\"shape\":[", bytes / 4, "],\"data_offsets\":[0,", bytes, "]}}");
  const std::uint64_t length = json.size();
  const std::string npy_head = io::npy_header(Dtype::float32, std::vector<std::int64_t>{bytes / 4});
  io::ZipWriter zip;
  const std::string zip_head = zip.head("a.npy", npy_head.size() + bytes, 0), zip_tail = zip.tail();
  const std::string first = events().substr(0, io::tf_record_overhead + 24);

  const std::string safetensors = make("w.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + json);
  const std::string ckpt = make("w.ckpt", "\x0a\x05hello"), npy = make("w.npy", npy_head),
                    npz = make("w.npz", zip_head + npy_head, zip_tail), event = make("e", first),
                    prints = make("p", "\x0a\x05hello");
  using dataset::as, dataset::Column;
  CHECK(with_little_memory(room, safetensors, [&] { io::Safetensors{safetensors}; }) == 3);
  CHECK(with_little_memory(room, ckpt, [&] { io::Ckpt{ckpt}; }) == 3);
  CHECK(with_little_memory(room, ckpt, [&] { io::read_encrypted_ckpt(ckpt, "0123456789abcdef"); }) == 3);
  CHECK(with_little_memory(room, npy, [&] { dataset::npy_column(npy, as<Column<float, Shape<>>>); }) == 3);
  CHECK(with_little_memory(room, npz, [&] { io::Npz{npz}; }) == 3);
  CHECK(with_little_memory(room, event, [&] { io::EventFile{event}; }) == 3);
  CHECK(with_little_memory(room, prints, [&] { io::PrintFile{prints}; }) == 3);
  CHECK(with_little_memory(room, npy, [&] { io::read_gzip_or_plain(npy); }) == 3);
  // the file fits, a second copy of it does not
  CHECK(with_little_memory(bytes + room, npy, [&] { dataset::npy_column(npy, as<Column<float, Shape<>>>); }) == 3);
}
#endif
