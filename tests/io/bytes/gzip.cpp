// Compressed files: bytes that Python's gzip wrote, and every way in which they can be damaged.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../../dataset/support.hpp"

#include <tenon/core/random/philox.hpp>
#include <tenon/io/bytes/gzip.hpp>

using namespace support;

namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}
/// gzip.compress(b'hello tenon\n' * 3, 9, mtime=0) and gzip.compress(b'second', 6, mtime=0) of Python 3.11
const std::string first = from_hex("1f8b0800000000000203cb48cdc9c9572849cdcbcfe3cac0c1060056a70c5024000000");
const std::string second = from_hex("1f8b08000000000000032b4e4dcecf4b010069111fb606000000");
const std::string greeting = "hello tenon\nhello tenon\nhello tenon\n";

}  // namespace

TEST_CASE("a plain file is read as it is, whatever its name") {
  const Folder folder;
  io::write_file(folder / "plain.gz", "no gzip");
  CHECK(io::read_gzip_or_plain(folder / "plain.gz", 7) == "no gzip");
  CHECK(
      has(message<RuntimeError>([&] { io::read_gzip_or_plain(folder / "plain.gz", 6); }), "it has 7 bytes, at most 6"));
  CHECK(has(message<RuntimeError>([&] { io::read_gzip_or_plain(folder / "none", 6); }), "No such file"));
}

#if defined(TENON_WITH_ZLIB)

TEST_CASE("Python's files are inflated, several members joined, padding ignored") {
  const Folder folder;
  io::write_file(folder / "a", first);
  CHECK(io::read_gzip_or_plain(folder / "a", 36) == greeting);
  CHECK(io::gunzip(first + second, "f", 1000) == greeting + "second");
  CHECK(io::gunzip(first + second + std::string(512, '\0'), "f", 1000) == greeting + "second");
}

TEST_CASE("a file cut off anywhere is an error") {
  for (std::size_t length = 2; length < first.size(); ++length) {
    const std::string said = message<RuntimeError>([&] { io::gunzip(first.substr(0, length), "cut.gz", 1000); });
    CHECK(has(said, "'cut.gz' ends too early"));
  }
}

TEST_CASE("a changed bit of data, checksum or length is an error, or one of the few that do not matter") {
  int harmless = 0;  // the bits that fill up the last byte of the data
  for (std::size_t bit = 80; bit < 8 * first.size(); ++bit) {
    std::string changed = first, content;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    const std::string said = message<RuntimeError>([&] { content = io::gunzip(changed, "bad.gz", 1000); });
    if (content == greeting) ++harmless;
    else CHECK(has(said, "'bad.gz'"));
  }
  CHECK(harmless < 8);
  CHECK(
      has(message<RuntimeError>([&] { io::gunzip(first + "rubbish", "bad.gz", 1000); }), "7 bytes of something else"));
}

TEST_CASE("the limit: exactly that many bytes pass, one more does not") {
  CHECK(io::gunzip(first, "f", 36) == greeting);
  CHECK(has(message<RuntimeError>([] { io::gunzip(first, "f", 35); }), "more than the 35 bytes"));
  CHECK(has(message<RuntimeError>([] { io::gunzip(first + second, "f", 41); }), "more than the 41 bytes"));
  CHECK(has(message<RuntimeError>([] { io::gunzip(first, "f", 0); }), "more than the 0 bytes"));
}

TEST_CASE("a bomb is given up at the limit") {
  std::string zeros(std::size_t{64} << 20, '\0'), bomb(1 << 20, '\0');
  z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(zeros.data()), stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(bomb.data()), stream.avail_out = static_cast<uInt>(bomb.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  bomb.resize(bomb.size() - stream.avail_out);
  ::deflateEnd(&stream);
  CHECK(has(message<RuntimeError>([&] { io::gunzip(bomb, "bomb.gz", 1 << 20); }),
            "inflates to more than the 1048576 bytes"));
  CHECK(io::gunzip(bomb, "large.gz", zeros.size()) == zeros);
}

TEST_CASE("ten thousand damaged files are read or refused") {
  Random random(1);
  const std::string whole = first + second;
  int refused = 0;
  for (int round = 0; round < 10000; ++round) {
    std::string damaged = whole;
    for (std::uint32_t changes = 1 + random.below(4); changes > 0; --changes)
      damaged[random.below(damaged.size())] = static_cast<char>(random.word());
    if (random.below(4) == 0) damaged.resize(random.below(damaged.size() + 1));
    try {
      const std::string content = io::gunzip(damaged, "f", 4096);
      CHECK(content.size() <= 4096);
    } catch (const RuntimeError&) {
      ++refused;
    }
  }
  CHECK(refused > 5000);
  CHECK(refused < 10000);
}

#else

TEST_CASE("without zlib a compressed file names the package") {
  const Folder folder;
  io::write_file(folder / "a.gz", first);
  const std::string said = message<RuntimeError>([&] { io::read_gzip_or_plain(folder / "a.gz", 1000); });
  CHECK(has(said, folder / "a.gz"));
  CHECK(has(said, "zlib1g-dev"));
}

#endif
