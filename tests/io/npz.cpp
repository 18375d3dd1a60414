// NumPy's files: arrays in all forms, archives by hand, every way in which they can be damaged, and what is written.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "../dataset/support.hpp"

#include <tenon/core/random/philox.hpp>
#include <tenon/io/npz.hpp>

#include "../support/peak_memory.hpp"

using namespace support;

namespace {
std::string npy(const std::string& python, const std::string& data) {
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(python.size()) + '\0' + python + data;
}
std::string refusal_of_npy(const std::string& file) {
  return message<RuntimeError>([&] { io::parse_npy_header(file, "a.npy"); });
}
/// The elements of a file, as bytes.
std::string elements(const std::string& file) {
  const io::NpyHeader header = io::parse_npy_header(file, "a.npy");
  AnyTensor tensor(header.dtype, header.shape(), nullptr);
  std::string bytes(tensor.bytes(), '\0');
  tensor.data = bytes.data();
  io::copy_npy_elements(header, file, tensor, "a.npy");
  return bytes;
}

struct Member {
  std::string name, content;
};
std::string zip_of(const std::vector<Member>& members) {
  io::ZipWriter zip;
  std::string file;
  for (const auto& [name, content] : members) file += zip.head(name, content.size(), io::crc32(content)) + content;
  return file + zip.tail();
}
std::string refusal(const std::string& file, std::uint64_t limit = io::default_file_limit) {
  return message<RuntimeError>([&] { io::Npz(std::string_view(file), "f.npz", limit); });
}
const std::string two =
    npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", std::string("\1\0\xff\xff", 4));
std::string changed(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}
}  // namespace

TEST_CASE("npy: any order of keys, quotes, blanks; big-endian and column-major elements") {
  CHECK(elements(two) == std::string("\1\0\xff\xff", 4));
  CHECK(elements(npy("{ \"shape\":(2, ) ,'fortran_order':  False,'descr': '>i2'}", std::string("\0\1\xff\xfe", 4))) ==
        std::string("\1\0\xfe\xff", 4));
  CHECK(elements(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", "adbecf")) == "abcdef");
  CHECK(elements(npy("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 2)}", "1a2b3c4d")) == "a1c3b2d4");
  CHECK(elements(npy("{'descr': '=f4', 'fortran_order': False, 'shape': ()}", "abcd")) == "abcd");
  CHECK(elements(npy("{'descr': '<f8', 'fortran_order': True, 'shape': (0, 3)}", "")).empty());
  CHECK(elements(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2L,)}", "ab")) == "ab");  // of Python 2
  CHECK(elements(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1L, 2L)}", "ab")) == "ab");
}

TEST_CASE("npy: what it refuses") {
  const std::string head = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
  const auto said = [&](std::string_view from, std::string_view to, const std::string& data = "abcd") {
    return refusal_of_npy(npy(changed(head, from, to), data));
  };
  CHECK(has(refusal_of_npy(""), "Cannot read 'a.npy' as an array of NumPy: it does not begin as one"));
  CHECK(has(refusal_of_npy(changed(two, std::string("\1\0", 2), std::string("\4\0", 2))), "version 4.0"));
  CHECK(has(refusal_of_npy(two.substr(0, 40)), "bytes, 30 are left"));
  CHECK(has(said("'<i2'", "'<f3'"), "its elements are '<f3'"));
  CHECK(has(said("'<i2'", "'|i2'"), "its elements are '|i2'"));
  CHECK(has(said("'<i2'", "'i2'"), "its elements are 'i2'"));
  CHECK(has(said("'<i2'", "'<c8'"), "its elements are '<c8'"));
  CHECK(has(said("'<i2'", "'|O'"), "its elements are '|O'"));
  CHECK(has(said("'<i2'", "[('a', '<i2')]"), "structures"));
  CHECK(has(said("False", "'no'"), "neither True nor False"));
  CHECK(has(said("(2,)", "2"), "has no '('"));
  CHECK(has(said("(2,)", "(2)"), "no tuple of whole numbers"));
  CHECK(has(said("(2,)", "(2.0,)"), "no tuple of whole numbers"));
  CHECK(has(said("(2,)", "(-2,)"), "no tuple of whole numbers from 0 on"));
  CHECK(has(said("(2,)", "(2 2,)"), "no tuple of whole numbers"));
  CHECK(has(said("(2,)", "(2LL,)"), "no tuple of whole numbers"));
  CHECK(has(said("(2,)", "(L,)"), "no tuple of whole numbers"));
  CHECK(has(said("(2,)", "(99999999999999999999,)"), "larger than 2^63 - 1"));
  CHECK(has(said("(2,)", "(4294967296, 4294967296)"), "its shape [4294967296, 4294967296] is impossible"));
  CHECK(has(said("(2,)", "(1, 1, 1, 1, 1, 1, 1, 1, 2)"), "more than the 8 axes"));
  CHECK(has(said("(2,)", "(3,)"), "it has 4 bytes of data, its shape [3] of int16 needs 6"));
  CHECK(has(said("(2,)", "(1,)"), "it has 4 bytes of data, its shape [1] of int16 needs 2"));
  CHECK(has(said("'shape'", "'size'"), "the unknown key 'size'"));
  CHECK(has(said("'shape': (2,), ", ""), "lacks one of"));
  CHECK(has(said("}", "'descr': '<i2'}"), "has 'descr' twice"));
  CHECK(has(said("}", "} + f()"), "something follows"));
  CHECK(has(said("{", "["), "has no '{' at character 0"));
  CHECK(has(said(", }", ""), "has no '}'"));
  CHECK(has(said("'shape'", "'shape"), ""));
  CHECK(
      has(message<RuntimeError>([] { elements(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\2")); }),
          "neither 0 nor 1"));
}

TEST_CASE("npz: a round trip; bfloat16 becomes float32, and everything else stays") {
  const Folder folder;
  std::vector<float> single{1.5f, -2, 3, 4, 5, 6};
  std::vector<bfloat16> brain{1.0f, 0.25f};
  std::vector<std::uint8_t> bytes{1, 2, 3};
  const std::int64_t matrix[]{2, 3}, pair[]{2}, three[]{3}, none[]{0, 4};
  const std::vector<io::NamedTensor> tensors{{"layer.weight", AnyTensor(Dtype::float32, matrix, single.data())},
                                             {"\u00e9/brain", AnyTensor(Dtype::bfloat16, pair, brain.data())},
                                             {"bytes", AnyTensor(Dtype::uint8, three, bytes.data())},
                                             {"scalar", AnyTensor(Dtype::float32, {}, single.data())},
                                             {"none", AnyTensor(Dtype::float64, none, nullptr)}};
  io::save_npz(folder / "f.npz", tensors);
  io::Npz first(folder / "f.npz");
  const io::Npz file = std::move(first);
  REQUIRE(file.tensors().size() == 5);
  CHECK(std::ranges::equal(file.find("layer.weight")->as<float>(), single));
  CHECK(shape_text(file.find("layer.weight")->shape()) == "[2, 3]");
  CHECK(file.find("\u00e9/brain")->as<float>()[1] == 0.25f);
  CHECK(std::ranges::equal(file.find("bytes")->as<std::uint8_t>(), bytes));
  CHECK(file.find("scalar")->rank == 0);
  CHECK(shape_text(file.find("none")->shape()) == "[0, 4]");
  CHECK(file.find("absent") == nullptr);
  io::save_npz(folder / "none.npz", {});
  CHECK(io::Npz(folder / "none.npz").tensors().empty());
  CHECK(
      has(message<ValueError>([&] { io::save_npz(folder / "f.npz", std::vector{tensors[0], tensors[0]}); }), "twice"));
  CHECK(has(message<ValueError>(
                [&] { io::save_npz(folder / "f.npz", std::vector{io::NamedTensor{"\xff", tensors[0].tensor}}); }),
            "is not UTF-8"));
  CHECK(folder.files() == 2);
}

TEST_CASE("npz: damaged archives are refused with a reason") {
  const std::string good = zip_of({{"w.npy", two}});
  CHECK(refusal(good).empty());
  CHECK(has(refusal(""), "Cannot read 'f.npz' as a zip file: there is no directory at its end"));
  CHECK(has(refusal(good.substr(0, good.size() - 1)), "there is no directory"));
  CHECK(has(refusal(good + "x"), "there is no directory"));
  CHECK(has(refusal(good.substr(1)), "its directory is damaged"));
  CHECK(has(refusal(zip_of({{"w.npy", two}, {"w.npy", two}})), "it has the member 'w.npy' twice"));
  CHECK(has(refusal(zip_of({{"w.txt", two}})), "'w.txt' is no array"));
  CHECK(has(refusal(zip_of({{"w.npy", "x"}})), "Cannot read 'f.npz:w.npy' as an array of NumPy"));
  CHECK(has(refusal(good, 10), "more than 10"));
  CHECK(has(refusal(changed(good, std::string("\1\0\xff\xff", 4), "abcd")), "the checksum of 'w.npy' is wrong"));
  CHECK(has(refusal(changed(good, "w.npy", "v.npy")), "another one than the directory says"));
  CHECK(has(refusal(changed(good, std::string("PK\3\4", 4), std::string("PK\3\5", 4))), "is not where the directory"));
  std::string method = good;
  method[8] = 8;
  CHECK(has(refusal(method), "another one than the directory says"));
  method[8] = 9;
  CHECK(has(refusal(method), "compressed by method 9"));
  std::string encrypted = good;
  encrypted[6] = 1;
  CHECK(has(refusal(encrypted), "is encrypted"));
}

#if defined(TENON_WITH_ZLIB)
namespace {
/// A member in zlib's raw deflate.
std::string deflated(const std::string& content) {
  std::string packed(content.size() + 1024, '\0');
  z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return packed;
}
/// An archive of one deflated member that says it inflates to `size` bytes.
std::string archive(const std::string& packed, std::uint32_t crc, std::uint64_t size) {
  const auto set = [](std::string& file, std::size_t at, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file[at + std::size_t(i)] = static_cast<char>(value >> 8 * i);
  };
  std::string file = zip_of({{"w.npy", packed}});
  const std::size_t central = file.rfind("PK\1\2");
  set(file, 8, 8, 2), set(file, central + 10, 8, 2);
  set(file, 14, crc, 4), set(file, central + 16, crc, 4);
  set(file, 22, size, 4), set(file, central + 24, size, 4);
  return file;
}
}  // namespace

TEST_CASE("npz: deflated members, bombs, and sizes that are not true") {
  const std::string zeros =
      npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1000000,)}", std::string(1000000, '\0'));
  const std::string packed = deflated(zeros);
  const std::string good = archive(packed, io::crc32(zeros), zeros.size());
  CHECK(io::Npz(std::string_view(good), "f.npz").find("w")->count() == 1000000);
  CHECK(has(refusal(good, 1000), "more than 1000"));
  CHECK(has(refusal(archive(packed, io::crc32(zeros), zeros.size() - 1)), "does not inflate to its"));
  CHECK(has(refusal(archive(packed, 0, zeros.size())), "the checksum"));
  CHECK(has(refusal(archive("rubbish", 0, 10)), "does not inflate to its 10 bytes"));
  CHECK(has(refusal(archive(packed + "x", io::crc32(zeros), zeros.size())), "does not inflate"));
  const std::string lie = archive(deflated(two), io::crc32(two), 0xfffffff0);
  CHECK(peak_of([&] { CHECK(has(refusal(lie), "does not inflate to its 4294967280 bytes")); }) < 1 << 20);
}
#endif

TEST_CASE("thousands of damaged archives are read or refused") {
  std::string whole = zip_of({{"w.npy", two}, {"layer.bias.npy", two}});
#if defined(TENON_WITH_ZLIB)
  const std::string packed = archive(deflated(two), io::crc32(two), two.size());
#else
  const std::string packed = whole;
#endif
  Random random(1);
  int refused = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string damaged = round % 2 ? whole : packed;
    for (std::uint32_t changes = 1 + random.below(4); changes > 0; --changes) {
      const std::size_t at = random.below(damaged.size());
      if (random.below(8) == 0) damaged.erase(at, 1 + random.below(16));
      else damaged[at] = static_cast<char>(random.word());
    }
    if (random.below(8) == 0) damaged.resize(random.below(damaged.size() + 1));
    const long peak = peak_of([&] {
      try {
        io::Npz(std::string_view(damaged), "f");
      } catch (const RuntimeError&) {
        ++refused;
      }
    });
    CHECK(peak < 1 << 20);
  }
  CHECK(refused > 20000);
  CHECK(refused < 30000);
}

TEST_CASE("thousands of damaged arrays are read or refused") {
  Random random(1);
  int refused = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string damaged = two;
    for (std::uint32_t changes = 1 + random.below(3); changes > 0; --changes) {
      const std::size_t at = random.below(damaged.size());
      if (random.below(4) == 0) damaged.erase(at, 1);
      else damaged[at] = random.below(2) ? damaged[random.below(damaged.size())] : static_cast<char>(random.word());
    }
    try {
      const std::string read = elements(damaged);
      CHECK(read.size() <= damaged.size());
    } catch (const RuntimeError&) {
      ++refused;
    }
  }
  CHECK(refused > 20000);
  CHECK(refused < 30000);
}
