// The header's parser under thousands of damaged files, its limits of time, and the golden files where they are
// present.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <tenon/io/safetensors.hpp>

#include "../../support/shared.hpp"

using namespace tenon;
namespace fs = std::filesystem;

namespace {

/// A directory of its own for each test, removed at the end.
struct Folder {
  std::string path = (fs::temp_directory_path() / "tenon-safetensors-XXXXXX").string();
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(std::string_view name) const { return io::join_path(path, name); }
};

/// splitmix64: the same damage in every run.
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>((*this)() % n); }
};

std::string with_length(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

/// A file with everything: metadata, escapes, a scalar, an empty tensor, a foreign dtype, an unaligned tensor.
std::string honest_file() {
  const std::string header =
      R"({"__metadata__":{"a\u00e9":"b","c":""},"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
      R"("e":{"dtype":"BF16","shape":[0,4],"data_offsets":[8,8]},)"
      R"("\ud83d\ude00":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
      R"("w.1":{"dtype":"F32","shape":[2,2],"data_offsets":[11,27]},)"
      R"("k":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[27,28]},)"
      R"("b":{"dtype":"BOOL","shape":[2,1,2],"data_offsets":[28,32]},)"
      R"("i":{"dtype":"I64","shape":[1],"data_offsets":[32,40]}}   )";
  return with_length(header, std::string(28, '\x5a') + std::string("\0\1\1\0", 4) + std::string(8, '\x11'));
}

constexpr std::string_view tokens[]{"{",
                                    "}",
                                    "[",
                                    "]",
                                    ",",
                                    ":",
                                    "\"",
                                    "\\",
                                    "\\u",
                                    "\\ud800",
                                    "null",
                                    "-1",
                                    "1e3",
                                    "0",
                                    " ",
                                    "\xff",
                                    "F64",
                                    "F4",
                                    "BOOL",
                                    "\xed\xa0\x80",
                                    "__metadata__",
                                    "18446744073709551616",
                                    "9223372036854775807",
                                    "4294967296,4294967296",
                                    "\"dtype\":\"U8\",",
                                    "\"shape\":[0],"};

/// One to three kinds of damage.
std::string damaged(std::string content, Random& random) {
  for (std::size_t rounds = 1 + random.below(3); rounds; --rounds) {
    const std::size_t at = random.below(content.size()), from = random.below(content.size()),
                      count = 1 + random.below(60);
    const char value = static_cast<char>(random()), digit = static_cast<char>('0' + random.below(10));
    switch (random.below(7)) {
      case 0: content[at] = static_cast<char>(content[at] ^ 1 << random.below(8)); break;
      case 1: content[at] = value; break;
      case 2: content.resize(std::max<std::size_t>(at, 1)); break;
      case 3: content.insert(at, tokens[random.below(std::size(tokens))]); break;
      case 4: content.erase(at, 1 + count / 8); break;
      case 5: content.insert(at, content.substr(from, count)); break;
      default: content.insert(at, 1 + count / 6, digit);
    }
    if (content.empty()) content = "x";
  }
  return content;
}

/// Damage anywhere, or to the header alone with its length put right, which leads further into the reader.
std::string damaged_file(const std::string& honest, Random& random) {
  if (random.below(3) == 0) return damaged(honest, random);
  return with_length(damaged(honest.substr(8, honest.size() - 48), random), honest.substr(honest.size() - 40));
}

std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~0u;
  for (std::byte b : bytes) {
    crc ^= std::to_integer<unsigned>(b);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

/// Touches every byte that the reader hands out, and checks that they are no more than the file has.
void use(const io::Safetensors& file, std::size_t file_bytes) {
  std::size_t bytes = 0, ones = 0;
  for (const io::NamedTensor& named : file.tensors()) {
    const AnyTensor& tensor = named.tensor;
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data) % size_of(tensor.dtype) == 0);
    CHECK(file.find(named.name) == &tensor);
    (void)crc32({static_cast<const std::byte*>(tensor.data), tensor.bytes()});
    if (tensor.dtype == Dtype::bool_)
      for (bool element : tensor.as<bool>()) ones += element;
    bytes += tensor.bytes();
  }
  for (const io::ForeignTensor& tensor : file.foreign()) (void)crc32(tensor.bytes), bytes += tensor.bytes.size();
  CHECK(bytes + 8 <= file_bytes);
  CHECK(ones <= bytes);
}

/// Reads each variant; returns how many were accepted. A variant may be refused only by an error of ours.
int accepted_of(int variants, std::uint64_t seed) {
  const Folder folder;
  const std::string honest = honest_file();
  Random random{seed};
  int accepted = 0;
  for (int i = 0; i < variants; ++i) {
    const std::string content = i == 0 ? honest : damaged_file(honest, random);
    fs::remove(folder / "f");
    if (FILE* f = std::fopen((folder / "f").c_str(), "wb"))
      std::fwrite(content.data(), 1, content.size(), f), std::fclose(f);
    try {
      use(io::Safetensors(folder / "f"), content.size());
      ++accepted;
    } catch (const RuntimeError& error) {
      REQUIRE(std::string_view(error.what()).size() < 1000);
    }
  }
  return accepted;
}

}  // namespace

TEST_CASE("damaged files are refused or read, never more") {
  const int accepted = accepted_of(20000, 1);
  MESSAGE("accepted ", accepted, " of 20000");
  CHECK(accepted >= 100);   // damage to the data or a name is nobody's business
  CHECK(accepted <= 2000);  // but most damage shows
}

TEST_CASE("every truncation and every flipped bit in front of the data is survived; no truncation is accepted") {
  const std::string honest = honest_file();
  const std::string data(40, '\0');
  auto reads = [&](const std::string& content) {
    std::uint64_t length = 0;
    std::memcpy(&length, content.data(), 8);
    if (length > content.size() - 8) return false;
    const std::string_view json = std::string_view(content).substr(8, static_cast<std::size_t>(length));
    try {
      (void)io::parse_safetensors_header(json, content.size() - 8 - json.size(), "f");
      return true;
    } catch (const RuntimeError&) {
      return false;
    }
  };
  CHECK(reads(honest));
  for (std::size_t size = 8; size < honest.size(); ++size) CHECK_FALSE(reads(honest.substr(0, size)));
  int accepted = 0;
  for (std::size_t bit = 0; bit < 8 * (honest.size() - 40); ++bit) {
    std::string flipped = honest;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    accepted += reads(flipped);
  }
  CHECK(accepted > 0);  // another letter in a name
  CHECK(accepted < 200);
}

TEST_CASE("what the writer makes, the parser reads back") {
  io::SafetensorsHeader header;
  header.metadata = {{"", ""}, {"\x1f\x7f\"\\/", "\u20ac\U0010ffff"}};
  for (int i = 0; i < 200; ++i) {
    io::SafetensorsEntry& entry = header.entries.push_back({});
    entry.name = text(std::string(1, static_cast<char>(i & 127)), i);
    entry.dtype = &io::safetensors_dtypes[static_cast<std::size_t>(i) % std::size(io::safetensors_dtypes)];
    entry.rank = static_cast<std::size_t>(i % 9);
    entry.extent.fill(2);
    entry.extent[0] = 8;
    std::uint64_t bytes = 0;
    REQUIRE(io::bytes_of_shape(entry.shape(), entry.rank ? entry.dtype->bits : 8, bytes));
    if (!entry.rank) entry.dtype = &io::safetensors_dtype(Dtype::int8);
    entry.begin = i ? header.entries[header.entries.size() - 2].end : 0;
    entry.end = entry.begin + bytes;
  }
  const std::string json = io::write_safetensors_header(header);
  CHECK(json.size() % 8 == 0);
  const io::SafetensorsHeader again = io::parse_safetensors_header(json, header.entries.back().end, "f");
  CHECK(again.metadata == header.metadata);
  REQUIRE(again.entries.size() == header.entries.size());
  for (std::size_t i = 0; i < again.entries.size(); ++i) {
    CHECK(again.entries[i].name == header.entries[i].name);
    CHECK(again.entries[i].dtype == header.entries[i].dtype);
    CHECK(shape_text(again.entries[i].shape()) == shape_text(header.entries[i].shape()));
  }
  CHECK(io::write_safetensors_header(again) == json);
}

TEST_CASE("a header of many tensors takes work in proportion") {
  // of the processor, for this thread: a busy machine does not count
  const auto now = [] {
    std::timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  };
  const auto seconds = [&](int tensors) {
    io::SafetensorsHeader header;
    for (int i = 0; i < tensors; ++i) {
      io::SafetensorsEntry& entry = header.entries.push_back({});
      entry.name = text("layer.", i);
      entry.dtype = &io::safetensors_dtype(Dtype::uint8);
      entry.rank = 1;
    }
    const std::string json = io::write_safetensors_header(header);
    const double start = now();
    CHECK(io::parse_safetensors_header(json, 0, "f").entries.size() == static_cast<std::size_t>(tensors));
    return now() - start;
  };
  const double small = seconds(10000), large = seconds(100000);
  MESSAGE("10,000 tensors: ", small, " s; 100,000: ", large, " s");
  CHECK(large < 60 * small + 0.5);  // a quadratic parser takes 100 times as long
}

TEST_CASE("names in messages cannot move the cursor or fill the screen") {
  CHECK(io::printable("w\x1b[2J\n\x7f") == "'w\\u001b[2J\\n\\u007f'");
  CHECK(io::printable(std::string(5000, 'a')).size() < 160);
  CHECK(io::printable(std::string(119, 'a') + "\u20ac") == "'" + std::string(119, 'a') + "...' (122 bytes)");
  CHECK(io::find_bad_utf8("a\u00e9\u20ac\U0001f600\U0010ffff") == std::string_view::npos);
  CHECK(io::find_bad_utf8("a\xe0\x9f\xbf") == 1);
  CHECK(io::find_bad_utf8("ab\xf0\x8f\xbf\xbf") == 2);
  CHECK(io::find_bad_utf8("\x80") == 0);
  CHECK(io::find_bad_utf8("\xf5\x80\x80\x80") == 0);
}

TEST_CASE("golden files: good ones bit by bit, hostile ones refused") {
  if (!support::have_shared()) return;
  const std::map<std::string, std::uint32_t> crc{
      {"b.float32", 2878067761u}, {"a.bf16", 1043107561u}, {"c.f16", 3443127172u},  {"d.i64", 443215086u},
      {"e.u8", 2716730841u},      {"f.bool", 3915670649u}, {"g.f64", 2983726795u},  {"h.i8", 3536342323u},
      {"i.i16", 3544342757u},     {"j.i32", 3707247937u},  {"scalar", 3256662574u}, {"empty", 0u},
      {"k.fp8", 3196730597u}};
  const fs::path folder = fs::path(support::shared_folder()) / "golden" / "safetensors";
  const io::Safetensors all((folder / "all.safetensors").string());
  CHECK(all.tensors().size() + all.foreign().size() == crc.size());
  for (const io::NamedTensor& named : all.tensors()) {
    const AnyTensor& tensor = named.tensor;
    CHECK_MESSAGE(crc32({static_cast<const std::byte*>(tensor.data), tensor.bytes()}) == crc.at(named.name),
                  named.name);
  }
  for (const io::ForeignTensor& tensor : all.foreign())
    CHECK_MESSAGE(crc32(tensor.bytes) == crc.at(tensor.name), tensor.name);
  int good = 0, refused = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) {
      CHECK_NOTHROW(use(io::Safetensors(entry.path().string()), static_cast<std::size_t>(entry.file_size())));
      ++good;
    }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "refuse")) {
    CAPTURE(entry.path().string());
    CHECK_THROWS_AS(io::Safetensors(entry.path().string()), RuntimeError);
    ++refused;
  }
  CHECK(good >= 6);
  CHECK(refused >= 20);
}
