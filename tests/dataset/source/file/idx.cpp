// IDX files: what is read, and every way in which a file can be something else.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../../support.hpp"

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/source/file/idx.hpp>

using namespace support;
using dataset::Idx;

namespace {
/// What Idx says of a content that it refuses.
std::string refusal(const std::string& content, int rank) {
  return message<RuntimeError>([&] { Idx("some.idx", content, rank); });
}
}  // namespace

TEST_CASE("extents and bytes, from a file and from memory") {
  const Folder folder;
  const std::string file = idx_file({2, 3}, "abcdef");
  io::write_file(folder / "x", file);
  for (const Idx& idx : {Idx(folder / "x", 2, 100), Idx("x", file, 2)}) {
    CHECK(shape_text(idx.shape()) == "[2, 3]");
    CHECK(std::string(idx.values().begin(), idx.values().end()) == "abcdef");
  }
  CHECK(Idx("x", idx_file({0}, ""), 1).values().empty());
  CHECK(Idx("x", idx_file({0x0102}, std::string(0x0102, 'v')), 1).values().size() == 258);  // big-endian
}

TEST_CASE("a copy and a moved one have their own bytes") {
  Idx one("x", idx_file({2}, "ab"), 1);
  const Idx two = one, three = std::move(one);
  CHECK(two.values()[1] == 'b');
  CHECK(three.values()[1] == 'b');
}

TEST_CASE("cut off anywhere") {
  const std::string file = idx_file({2, 3}, "abcdef");
  for (std::size_t length = 0; length < file.size(); ++length)
    CHECK(has(refusal(file.substr(0, length), 2), "'some.idx'"));
  CHECK(has(refusal("", 2), "it has 0 bytes, the header alone takes 12"));
  CHECK(has(refusal("x", 2), "it has 1 byte, the header alone takes 12. Download or copy it again."));
  CHECK(has(refusal(file.substr(0, 7), 2), "it has 7 bytes, the header alone takes 12"));
  CHECK(has(refusal(file.substr(0, 17), 2), "its header says [2, 3] = 6 bytes, it holds 5"));
}

TEST_CASE("a header that claims more than the file holds, up to more than can be counted") {
  CHECK(has(refusal(idx_file({0xffffffffu}, "abc"), 1), "[4294967295] = 4294967295 bytes, it holds 3"));
  CHECK(has(refusal(idx_file({0xffffffffu, 0xffffffffu, 0xffffffffu}, "abc"), 3),
            "more bytes than can be counted, it holds 3"));
  // the product is 2^64
  CHECK(has(refusal(idx_file({1u << 31, 1u << 31, 4}, ""), 3), "more bytes than can be counted, it holds 0"));
}

TEST_CASE("a file that holds more than its header says") {
  CHECK(has(refusal(idx_file({2}, "abc"), 1), "[2] = 2 bytes, it holds 3"));
}

TEST_CASE("foreign files") {
  CHECK(has(refusal("\x89PNG\r\n\x1a\n.....", 1),
            "begins with the number 2303741511, an IDX file of bytes with 1 axis begins with 2049"));
  std::string floats = idx_file({1}, "abcd");
  floats[2] = '\x0d';
  CHECK(has(refusal(floats, 1), "IDX type 13, only 8"));
  CHECK(refusal(idx_file({4}, "abcdefgh"), 3) ==
        "Cannot use 'some.idx' as an IDX file: it has 1 axis, not 3. Are the files of images and of labels mixed up?");
  CHECK(has(refusal(idx_file({1, 1}, "a"), 1), "it has 2 axes, not 1. Are"));
}

TEST_CASE("the number of axes asked for") {
  CHECK(has(message<ValueError>([] { Idx("x", "", 0); }), "legal are 1 .. 8"));
  CHECK(has(message<ValueError>([] { Idx("x", "", 9); }), "legal are 1 .. 8"));
}

TEST_CASE("twenty thousand damaged files are read or refused") {
  Random random(2);
  const std::string whole = idx_file({3, 2, 2}, "abcdefghijkl");
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = whole;
    for (std::uint32_t changes = random.below(3); changes > 0; --changes)
      damaged[random.below(damaged.size())] = static_cast<char>(random.word());
    if (random.below(3) == 0) damaged.resize(random.below(damaged.size() + 8));
    try {
      const Idx idx("f", damaged, 3);
      REQUIRE(static_cast<std::int64_t>(idx.values().size()) == idx.shape()[0] * idx.shape()[1] * idx.shape()[2]);
      REQUIRE(idx.values().size() + 16 == damaged.size());
    } catch (const RuntimeError&) {
      ++refused;
    }
  }
  CHECK(refused > 10000);
  CHECK(refused < 18000);
}
