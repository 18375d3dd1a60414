// Numbers of an inference request have the values of their digits, and an error in the JSON is named where it is.
// link: serve
#include <doctest/doctest.h>
#if __has_include(<nlohmann/json.hpp>)

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/core/random/random.hpp>
#include <tenon/serve/infer/request.hpp>

using namespace tenon;

TEST_CASE("numbers of the data are the nearest to their digits, and errors are where they are") {
  const serving::Signature signature{{{"x", TensorType{{-1}, 1, Dtype::float32}}},
                                     {{"y", TensorType{{-1}, 1, Dtype::float32}}}};
  const auto request = [](const std::string& data, std::size_t n, const char* type) {
    return R"({"inputs":[{"name":"x","shape":[)" + std::to_string(n) + R"(],"datatype":")" + type + R"(","data":)" +
           data + "}]}";
  };
  const auto read = [&](const std::string& text, const serving::Signature& by) {
    return serving::read_infer_request(text, text.size(), by, 4096).inputs[0];
  };
  // amid two float32 and beside it, where float64 rounds to the middle; subnormal and largest ones; many digits
  std::vector<std::string> numbers{
      "0",
      "-0",
      "-0.0",
      "0.203922",
      "1e22",
      "1E-7",
      "123456789.125e+3",
      "16777217",
      "1.5e-45",
      "7e-46",
      "1e-50",
      "3.4028235e38",
      "9007199791611905",
      "-16777219",
      "1.00000005960464477540",
      "0.1",
      "1.00000005960464477538",
      "1.000000059604644775390625",
      "1.0000000596046447753906250000000001",
      "3.40282356779733661637539395458142568447e38",
      "7.00649232162408535461864791644958065640130970938257885878534141944895541342930300743319094181060791015625e-46",
      "1.1754943508222874e-38",
      "0.20392156862745098",
      "18446744073709551615",
      "123456789012345678901234567890",
      "9007199254740993.0",
      "1e-400",
      "179769313486231570e20",
      "4503599627370496.5"};
  Random random(3);
  for (int k = 0; k < 3000; ++k) {
    std::string digits = std::to_string(random.word() % 1'000'000'000);
    digits.insert(1 + std::size_t(random.word() % digits.size()), 1, '.');
    if (digits.ends_with('.')) digits += '0';
    numbers.push_back((k % 2 ? "-" : "") + digits + (k % 3 ? "" : "e" + std::to_string(int(random.word() % 60) - 30)));
  }
  for (const char* space : {"", " ", "\n\t"}) {
    std::string data;
    for (const std::string& number : numbers) data += (data.empty() ? "[" : ",") + (space + number) + space;
    const auto found = read(request(data + "]", numbers.size(), "FP32"), signature);
    serving::Signature wide = signature;
    wide.inputs[0].type.dtype = Dtype::float64;
    const auto found64 = read(request(data + "]", numbers.size(), "FP64"), wide);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      CAPTURE(numbers[k]);
      const float wanted = std::strtof(numbers[k].c_str(), nullptr);
      const double wanted64 = std::strtod(numbers[k].c_str(), nullptr);
      CHECK(std::memcmp(&found[k * 4], &wanted, 4) == 0);
      CHECK(std::memcmp(&found64[k * 8], &wanted64, 8) == 0);
    }
  }
  for (const char* wrong : {"[1,2,]", "[1,,2]", "[,1]", "[01,2]", "[1,2.]", "[1,.5]", "[1,+2]", "[1,-]", "[1,2e]",
                            "[1 2]", "[1,2", "[1,0x1]", "[1,NaN]", "[1,2]]", "[1.5,2;3]", "[[1,2],[3,4", "[1,2,\"a]"}) {
    const std::string text = request(wrong, 2, "FP32");
    CAPTURE(text);
    std::size_t place = 0;
    try {
      place = nlohmann::json::parse(text).size();
    } catch (const nlohmann::json::parse_error& error) {
      place = error.byte;
    }
    REQUIRE(place > 20);
    std::string reason;
    try {
      (void)read(text, signature);
    } catch (const serving::Refusal& refusal) {
      reason = refusal.reason;
    }
    CHECK(reason == "the request has an error in the JSON near byte " + std::to_string(place));
  }
}

TEST_CASE("numbers keep all digits until the datatype is known") {
  using serving::NumberList;
  NumberList large;
  CHECK(large.add_whole(18446744073709551615u));
  CHECK(large.add_whole(9007199254740993));
  std::uint64_t two[2];
  CHECK(large.write(Dtype::uint64, reinterpret_cast<std::byte*>(two)).empty());
  CHECK(two[0] == 18446744073709551615u);
  CHECK(two[1] == 9007199254740993);
  CHECK_FALSE(large.write(Dtype::int64, reinterpret_cast<std::byte*>(two)).empty());
  CHECK(large.add_negative(-1));
  double three[3];
  CHECK(large.write(Dtype::float64, reinterpret_cast<std::byte*>(three)).empty());
  CHECK(three[0] == 0x1p64);
  CHECK(three[2] == -1);
  CHECK_FALSE(large.add_flag(true));
}

TEST_CASE("-0 is -0.0 as a float and 0 as an integer, among numbers of any kind") {
  for (const char* others : {"", "7", "-7", "18446744073709551615", "0.5"}) {
    const std::string more = *others ? std::string(",") + others : std::string();
    for (const bool first : {true, false}) {
      const std::string data = first ? "-0" + more : (*others ? others + std::string(",") : "") + "-0";
      CAPTURE(data);
      serving::NumberList list;
      const std::string text = data + "]";
      CHECK(*serving::read_plain_numbers(text.data(), text.data() + text.size(), 9, list) == ']');
      double values[2];
      float rounded[2];
      REQUIRE(list.write(Dtype::float64, reinterpret_cast<std::byte*>(values)).empty());
      REQUIRE(list.write(Dtype::float32, reinterpret_cast<std::byte*>(rounded)).empty());
      const std::size_t at = first ? 0 : list.size() - 1;
      CHECK(values[at] == 0);
      CHECK(std::signbit(values[at]));
      CHECK(std::signbit(rounded[at]));
    }
  }
  serving::NumberList whole;
  CHECK(whole.add_negative(0));
  CHECK(whole.add_whole(18446744073709551615u));
  CHECK(whole.add_negative(0));
  std::uint64_t values[3];
  CHECK(whole.write(Dtype::uint64, reinterpret_cast<std::byte*>(values)).empty());
  CHECK(values[0] == 0);
  CHECK(values[1] == 18446744073709551615u);
  CHECK(values[2] == 0);
}

#else
#include "../support/skip.hpp"
TEST_CASE("numbers") { support::say_skipped("nlohmann_json is not installed"); }
#endif
