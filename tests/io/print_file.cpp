// Print files: bytes by hand after MindSpore's print.proto, all dtypes there and back, and damaged files.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/core/tensor.hpp>

#include "../support/skip.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/io/print_file.hpp>

using namespace tenon;

namespace {
/// A field with bytes, shorter than 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string extent(char size) { return {8, size}; }
std::string a_text(const std::string& text) { return field(1, field(1, text)); }
std::string a_tensor(const std::string& parts) { return field(1, field(2, parts)); }

TextOrTensor value(std::string_view text) { return {.text = text}; }
TextOrTensor value(const AnyTensor& tensor) { return {.is_tensor = true, .tensor = tensor}; }
std::string message(const std::vector<TextOrTensor>& values) {
  return io::print_message({values.data(), values.size()});
}

/// What is said of the bytes of a file that is none.
std::string refused(const std::string& bytes) {
  try {
    const io::PrintFile file(std::string_view(bytes), "f");
    return "read";
  } catch (const ValueError& e) {
    std::string said = e.what();
    const std::string before = "Cannot read 'f' as a print file: ",
                      behind = ". The file is damaged, or not one that print_file_path names.";
    CHECK((said.starts_with(before) && said.ends_with(behind)));
    return said.substr(before.size(), said.size() - before.size() - behind.size());
  }
}
}  // namespace

TEST_CASE("bytes by hand") {
  const Tensor x{1, 2};
  const std::string expected =
      a_text("ab") + a_tensor(extent(2) + field(2, "Int32") + field(3, std::string("\1\0\0\0\2\0\0\0", 8)));
  CHECK(message({value("ab"), value(x.view())}) == expected);
  // one message or two: the same bytes
  CHECK(message({value("ab")}) + message({value(x.view())}) == expected);
  const io::PrintFile file(std::string_view(expected), "f");
  REQUIRE(file.values().size() == 2);
  CHECK(file.values()[0].text == "ab");
  CHECK(!file.values()[0].is_tensor);
  const AnyTensor& read = file.values()[1].tensor;
  REQUIRE(file.values()[1].is_tensor);
  CHECK(shape_text(read.shape()) == "[2]");
  CHECK(read.as<int>()[1] == 2);
}
TEST_CASE("numbers without axes, nothing, and shapes of newer writers") {
  const std::string bytes = a_tensor(field(2, "Float32") + field(3, std::string("\0\0\x80\x3f", 4))) +
                            a_tensor(extent(0) + extent(3) + field(2, "Float64")) + a_text("") +
                            a_tensor(field(1, std::string{1, 2}) + field(2, "Uint8") + field(3, "\x07\x08"));
  const io::PrintFile file(std::string_view(bytes), "f");
  REQUIRE(file.values().size() == 4);
  CHECK(file.values()[0].tensor.rank == 0);
  CHECK(file.values()[0].tensor.as<float>()[0] == 1);
  CHECK(shape_text(file.values()[1].tensor.shape()) == "[0, 3]");
  CHECK(file.values()[2].text.empty());
  CHECK(shape_text(file.values()[3].tensor.shape()) == "[1, 2]");
  CHECK(file.values()[3].tensor.as<std::uint8_t>()[1] == 8);
}
TEST_CASE("every dtype there and back") {
  for (int k = 0; k <= int(Dtype::float64); ++k) {
    CAPTURE(k);
    std::uint64_t words[3]{0x0101010101010101u, 0x0100010001000100u, 0x0101000001010000u};
    const std::int64_t extents[]{1, 3};
    const AnyTensor x(Dtype(k), extents, words);
    const io::PrintFile file(message({value("x"), value(x), value("y")}), "f");
    REQUIRE(file.values().size() == 3);
    const AnyTensor& read = file.values()[1].tensor;
    CHECK(read.dtype == x.dtype);
    CHECK(shape_text(read.shape()) == "[1, 3]");
    CHECK(std::memcmp(read.data, words, x.bytes()) == 0);
    CHECK(file.values()[2].text == "y");
  }
}
TEST_CASE("what is not UTF-8 in a text becomes U+FFFD") {
  CHECK(io::PrintFile(message({value("\xff\xc3 a\xc3\xa9\xff")}), "f").values()[0].text ==
        "\xef\xbf\xbd\xef\xbf\xbd a\xc3\xa9\xef\xbf\xbd");
}
TEST_CASE("damaged files: ValueError; one that is not there: the system's reason") {
  CHECK(refused("") == "it is empty");
  CHECK(refused("\x07").starts_with("there is no field of a protobuf message ("));
  CHECK(refused(field(2, "x")) == "a print has a field of the number 2, at byte 0");
  CHECK(refused(field(1, "")) == "a value is more or less than one text or one tensor, at byte 0");
  CHECK(refused(field(1, field(1, "a") + field(1, "b"))) ==
        "a value is more or less than one text or one tensor, at byte 5");
  CHECK(refused(field(1, field(3, "a"))) == "a value is more or less than one text or one tensor, at byte 2");
  CHECK(refused(a_text("\xff")) == "a text is not UTF-8, at byte 2");
  CHECK(refused(a_text("abc").substr(0, 5)) == "a field announces 5 bytes, 3 are left, at byte 0");
  CHECK(refused(a_tensor(field(3, "abcd"))) == "a tensor has the type '', which Tenon does not have, at byte 2");
  CHECK(refused(a_tensor(field(2, "Complex64") + field(3, "abcd"))) ==
        "a tensor has the type 'Complex64', which Tenon does not have, at byte 2");
  CHECK(refused(a_tensor(extent(2) + field(2, "Int32") + field(3, "abcd"))) ==
        "a tensor has 4 bytes of data, its shape [2] of Int32 needs 8, at byte 2");
  const std::string huge = std::string{8, '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\x7f'};
  CHECK(refused(a_tensor(huge + huge + field(2, "Int8"))) ==
        "a tensor has the impossible shape [9223372036854775807, 9223372036854775807], at byte 2");
  std::string axes;
  for (int axis = 0; axis < 9; ++axis) axes += extent(1);
  CHECK(refused(a_tensor(axes + field(2, "Int8") + field(3, "a"))) ==
        "a tensor has more than the 8 axes that Tenon reads, at byte 20");
  CHECK(refused(a_tensor(extent(1) + field(2, "Bool") + field(3, "\2"))) ==
        "an element of a bool tensor is not 0 or 1, at byte 2");
  CHECK_THROWS_WITH_AS(io::parse_print("nowhere/f"), "Cannot open 'nowhere/f': No such file or directory.",
                       RuntimeError);
}
#else
TEST_CASE("protozero") { support::say_skipped("protozero is not installed, print files were not tested"); }
#endif
