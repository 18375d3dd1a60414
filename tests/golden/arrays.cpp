// Arrays and archives that NumPy wrote: every one is read to its checksum, written again, or refused with a sentence.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "../dataset/support.hpp"

#include <tenon/io/npz.hpp>

#include "../support/json.hpp"
#include "../support/peak_memory.hpp"

using namespace support;

namespace {
std::string folder() { return shared_folder() + "/golden"; }

/// The elements of an array as row-major little-endian bytes.
std::string elements(const std::string& file, const std::string& path) {
  const io::NpyHeader header = io::parse_npy_header(file, path);
  AnyTensor tensor(header.dtype, header.shape(), nullptr);
  std::string bytes(tensor.bytes(), '\0');
  tensor.data = bytes.data();
  io::copy_npy_elements(header, file, tensor, path);
  return bytes;
}
void check_array(const AnyTensor& tensor, const Json& said) {
  CHECK(name(tensor.dtype) == said["dtype"].string());
  CHECK(std::ranges::equal(tensor.shape(), said["shape"].numbers()));
  if (const Json* const crc = said.find("crc32_of_c_order_little_endian_bytes"))
    CHECK(io::crc32({static_cast<const char*>(tensor.data), tensor.bytes()}) == std::uint32_t(crc->number()));
}
}  // namespace

TEST_CASE("golden/npy: all arrays are read; those in NumPy's own form are written with the same bytes") {
  if (!have_shared("golden/npy")) return;
  const Json all = load_json(folder() + "/file_formats.json");
  int read = 0, same = 0;
  for (const std::string& name : all["npy"].names) {
    CAPTURE(name);
    const Json& said = all["npy"][name];
    const std::string path = folder() + "/npy/" + name + ".npy", file = io::read_file(path);
    const std::string dtype = said["dtype"].string();
    if (dtype.starts_with("complex") || dtype.starts_with("<U")) {
      CHECK(has(message<RuntimeError>([&] { io::parse_npy_header(file, path); }), "which Tenon does not have"));
      continue;
    }
    const io::NpyHeader header = io::parse_npy_header(file, path);
    const std::string bytes = elements(file, path);
    CHECK(std::ranges::equal(header.shape(), said["shape"].numbers()));
    if (const Json* const crc = said.find("crc32_of_c_order_little_endian_bytes"))
      CHECK(io::crc32(bytes) == std::uint32_t(crc->number()));
    else CHECK(bytes == std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40", 24));
    ++read;
    same += io::npy_header(header.dtype, header.shape()) + bytes == file;
  }
  CHECK(read == 24);
  CHECK(same == 16);  // not: version 2 and 3, big-endian, column-major, four written by hand
}

TEST_CASE("golden/npz: stored, deflated, and empty archives") {
  if (!have_shared("golden/npz")) return;
  const Json all = load_json(folder() + "/file_formats.json");
  for (const std::string& name : all["npz"].names) {
    CAPTURE(name);
    const Json& said = all["npz"][name];
#if !defined(TENON_WITH_ZLIB)
    if (name != "stored.npz" && name != "empty.npz") {
      CHECK(has(message<RuntimeError>([&] { io::Npz(folder() + "/npz/" + name); }), "zlib1g-dev"));
      continue;
    }
#endif
    const io::Npz file(folder() + "/npz/" + name);
    CHECK(file.tensors().size() == said.names.size());
    for (const std::string& array : said.names) {
      CAPTURE(array);
      REQUIRE(file.find(array));
      check_array(*file.find(array), said[array]);
    }
  }
}

TEST_CASE("golden/npy/refuse, golden/npz/refuse: each is refused with a sentence and little memory") {
  if (!have_shared("golden/npy")) return;
  int refused = 0;
  for (const char* const kind : {"/npy", "/npz"})
    for (const auto& entry : std::filesystem::directory_iterator(folder() + kind + "/refuse")) {
      const std::string path = entry.path();
      CAPTURE(path);
      std::string said;
      const long peak = peak_of([&] {
        said = message<RuntimeError>([&] {
          if (path.ends_with(".npz")) io::Npz(std::string(path));
          else io::parse_npy_header(io::read_file(path), path);
        });
      });
      CHECK(peak < 1 << 20);
      if (path.ends_with("member_name_traversal.npz")) {  // a name, and no path
        CHECK(said.empty());
        continue;
      }
      CHECK(has(said, "Cannot read '" + path));
      ++refused;
    }
  CHECK(refused == 27);
}
