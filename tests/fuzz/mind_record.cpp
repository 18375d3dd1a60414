// Readers of MindRecord files, fed by libFuzzer: they may refuse the bytes with an error of Tenon's, and nothing else.
// The environment's TENON_READER says which one: 0 the file, 1 its index, 2 the parts of a row, 3 the list of a
// commit. TENON_SEEDS names a folder to which the first files are written.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <tenon/io/mind_record.hpp>

using namespace tenon;

namespace {
constexpr std::size_t header_size = 16384, page_size = 32768;
/// In memory where that can be had.
const std::string folder =
    (io::directory_exists("/dev/shm") ? "/dev/shm/tenon_fuzz_" : "tenon_fuzz_") + std::to_string(::getpid());
const std::string file_name = folder + "/fuzzed";
struct Removed {
  ~Removed() { std::filesystem::remove_all(folder); }
} removed;

void put(const std::string& path, std::string_view bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
  std::fclose(file);
}
io::MindRecordSchema schema() {
  using T = io::MindRecordType;
  return io::MindRecordSchema({{"a", T::int32, {-1}},
                               {"b", T::bytes},
                               {"d", T::float64, {2, -1}},
                               {"k", T::int64},
                               {"s", T::string},
                               {"f", T::float32}});
}
void write_set() {
  io::MindRecordWriter writer(file_name, {.header_size = header_size, .page_size = page_size, .overwrite = true});
  writer.set_schema(schema());
  for (int i = 0; i < 3; ++i)
    writer.write({{"a", std::vector{i, 300 * i, -70000}},
                  {"b", "bytes"},
                  {"d", std::vector{1., 2.}},
                  {"k", i},
                  {"s", "text"},
                  {"f", 0.5}});
  writer.commit();
}
void read_all() {
  io::detail::finish_commit_of_file(file_name, file_name);
  const io::MindRecordReader reader(std::vector<std::string>{file_name});
  io::MindRecordRow row;
  for (long i = 0; i < reader.size(); ++i) {
    reader.read(i, row);
    for (std::size_t field = 0; field < reader.schema().size(); ++field) {
      const TextOrTensor& value = row[field];
      if ((value.is_tensor ? value.tensor.bytes() : value.text.size()) > 8 * page_size) __builtin_trap();
    }
  }
}
/// The bytes are: a header's JSON, a zero byte, where a row lies (7 numbers of 16 bits), and the two first pages, half
/// of what is left each. So the fuzzer does not have to find a file of 100 KB, nor a database.
void read_file(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string_view json = bytes.substr(0, end);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  std::uint16_t places[7]{};
  std::memcpy(places, bytes.data(), std::min(bytes.size(), sizeof places));
  bytes.remove_prefix(std::min(bytes.size(), sizeof places));
  std::string file;
  io::detail::append_little_endian(file, std::uint64_t{json.size()});
  file += json;
  file.resize(header_size);
  file += bytes.substr(0, bytes.size() / 2);
  file.resize(header_size + page_size);
  file += bytes.substr(bytes.size() / 2);
  put(file_name, file);
  std::filesystem::remove(file_name + ".db");
  put(file_name + ".db", "");
  {
    io::MindRecordHeader header;
    io::MindRecordIndexWriter index(file_name + ".db", "fuzzed", header);
    index.add({places[0], places[1], places[2], places[3], places[4], places[5], places[6]}, {});
    index.finish();
  }
  read_all();
}
void read_parts(std::string_view bytes) {
  static const io::MindRecordSchema fields = schema();
  static io::MindRecordRow row;
  const std::size_t middle = bytes.empty() ? 0 : std::min<std::size_t>(bytes.size(), std::size_t(bytes[0] & 127));
  row.make(fields, bytes.substr(0, middle), bytes.substr(middle), {});
  const std::int64_t count = io::compressed_count(bytes);
  if (count > std::int64_t(bytes.size())) __builtin_trap();
  if (count < 0) return;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  if (!io::expand_integers(bytes, numbers.data())) return;
  std::string again;
  io::append_compressed(std::span<const std::int64_t>(numbers), again);
  std::vector<std::int64_t> same(numbers.size());
  if (!io::expand_integers(again, same.data()) || same != numbers) __builtin_trap();
}
/// Whatever a list says, the neighbours of the set stay, and so does the list if it has no title of ours.
void read_list(std::string_view bytes) {
  const std::string set = folder + "/listed/f";
  const std::string list = set + ".commit";
  const std::string neighbours[]{"/other", "/listed/g0", "/listed/g0.unfinished", "/listed/f1234", "/listed/f.txt"};
  std::filesystem::create_directories(folder + "/listed");
  for (const std::string& name : neighbours)
    if (!io::file_exists(folder + name)) put(folder + name, "");
  for (const char* const name : {"0", "0.unfinished", "0.db.unfinished", "0.db"}) put(set + name, "");
  put(list, bytes);
  const auto settle = [&](io::detail::CommitUse use) {
    try {
      io::detail::settle_commit(set, use);
    } catch (const RuntimeError&) {
    }
    for (const std::string& name : neighbours)
      if (!io::file_exists(folder + name)) __builtin_trap();
    if (!bytes.starts_with("MindRecord files ") && !io::file_exists(list)) __builtin_trap();
  };
  settle(io::detail::CommitUse::read);
  settle(io::detail::CommitUse::begin);
}
}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::filesystem::create_directories(folder);
  write_set();
  const char* const seeds = std::getenv("TENON_SEEDS");
  if (!seeds) return 0;
  const std::string file = io::read_file(file_name), index = io::read_file(file_name + ".db");
  const std::string json = file.substr(8, io::detail::little_endian<std::uint64_t>(file));
  const io::MindRecordHeader header = io::parse_mind_record_header(json, file_name);
  const std::size_t used = std::max(header.pages[0].used, header.pages[1].used);
  const std::string blobs = file.substr(header_size, used), raw = file.substr(header_size + page_size, used);
  const io::MindRecordRowPlace at = io::read_mind_record_index(file_name + ".db").rows[0];
  const std::uint32_t places[]{at.raw_page,  at.raw_begin,  at.raw_end, at.group,
                               at.blob_page, at.blob_begin, at.blob_end};
  std::string one = json;
  one.replace(one.find("\"end_row_id\":3"), 14, "\"end_row_id\":1");
  one += '\0';
  for (const std::uint32_t place : places) one += {char(place & 255), char(place >> 8)};
  put(std::string(seeds) + "/file",
      one + blobs + raw + std::string(used - std::min<std::size_t>(used, raw.size()), '\0'));
  put(std::string(seeds) + "/index", index);
  put(std::string(seeds) + "/parts", raw.substr(8, at.raw_end - 8) + blobs.substr(8, at.blob_end - 8));
  std::string integers;
  io::append_compressed(std::span<const std::int64_t>({1, 300, -70000, 1ll << 40}), integers);
  put(std::string(seeds) + "/integers", integers);
  const std::string lines = "-f1.db\n-f1\n+f0\n+f0.db\n";
  put(std::string(seeds) + "/complete", std::string(io::detail::commit_title) + lines);
  put(std::string(seeds) + "/prepared", std::string(io::detail::preparation_title) + lines);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  const std::string_view file(reinterpret_cast<const char*>(bytes), count);
  static const int reader = std::atoi(std::getenv("TENON_READER"));
  try {
    if (reader == 0) read_file(file);
    else if (reader == 1) put(file_name + ".db", file), read_all();
    else if (reader == 2) read_parts(file);
    else read_list(file);
  } catch (const RuntimeError&) {
  } catch (const ValueError&) {
  }
  return 0;
}
