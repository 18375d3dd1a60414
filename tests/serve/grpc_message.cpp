// The messages of gRPC's inference requests: what is taken, what is refused, and any bytes.
// link: serve
// link: protozero
#include <doctest/doctest.h>
#if __has_include(<protozero/pbf_reader.hpp>) && __has_include(<nlohmann/json.hpp>)

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <tenon/serve/grpc/message.hpp>

#include "infer_message.hpp"

using namespace tenon;
using namespace serving_test;

namespace {

const serving::Signature two{{{"a", {{-1, 2}, 2, Dtype::float32}}, {"b", {{-1}, 1, Dtype::int8}}},
                             {{"y", {{-1, 2}, 2, Dtype::float32}}, {"z", {{-1}, 1, Dtype::bfloat16}}}};
const InputOfMessage a{"a", "FP32", {2, 2}, floats({1.5f, -2, 3, 4})}, b{"b", "INT8", {2}, ints({-128, 127})};

InputOfMessage bare(InputOfMessage input) { return input.contents.clear(), input; }

/// The refusal of a message, or nothing.
std::string refusal(const std::string& message, const serving::Signature& signature = two) {
  try {
    serving::read_infer_message(message, signature, 3);
  } catch (const serving::Refusal& found) {
    CHECK(found.status == 400);
    return found.reason;
  }
  return "";
}
template <class T>
std::vector<T> values(const std::vector<std::byte>& bytes) {
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}
/// The elements of an input of one dtype, from the contents that `add` writes.
template <class T, class F>
std::vector<T> read(Dtype dtype, long n, F add) {
  const serving::Signature one{{{"x", {{-1}, 1, dtype}}}, {{"y", {{-1}, 1, Dtype::float32}}}};
  const std::string message =
      infer_message("m", "", {{"x", std::string(serving::datatype(dtype)), {n}, contents_of(add)}});
  return values<T>(serving::read_infer_message(message, one, 8).inputs[0]);
}

}  // namespace

TEST_CASE("elements in contents and as raw bytes, inputs in any order") {
  const auto typed = serving::read_infer_message(infer_message("m", "7", {b, a}, {}, {"z"}, "id"), two, 3);
  CHECK(typed.n == 2);
  CHECK(typed.id == "id");
  CHECK(values<float>(typed.inputs[0]) == std::vector<float>{1.5f, -2, 3, 4});
  CHECK(values<std::int8_t>(typed.inputs[1]) == std::vector<std::int8_t>{-128, 127});
  REQUIRE(typed.outputs.size() == 1);
  CHECK(typed.outputs[0].index == 1);
  const std::string raw_a = raw_bytes<float>({1.5f, -2, 3, 4}), raw_b = raw_bytes<std::int8_t>({-128, 127});
  const auto raw = serving::read_infer_message(infer_message("m", "", {bare(b), bare(a)}, {raw_b, raw_a}), two, 3);
  CHECK(raw.inputs == typed.inputs);
  CHECK(raw.outputs.size() == 2);
  CHECK_FALSE(raw.has_id);
  const serving::ModelKey key = serving::read_model_key(infer_message("m", "7", {}));
  CHECK(key.name == "m");
  CHECK(key.version == 7);
  CHECK(serving::read_model_key(infer_message("m", "", {})).version == -1);
  for (const char* version : {"-1", "x", "7 ", "99999999999999999999"})
    CHECK_THROWS_AS(serving::read_model_key(infer_message("m", version, {})), serving::Refusal);
}

TEST_CASE("every datatype, packed and one by one, at its limits") {
  const auto whole = [](unsigned field, std::vector<std::uint64_t> bits) {
    return [=](protozero::pbf_writer& to) { to.add_packed_uint64(field, bits.begin(), bits.end()); };
  };
  const auto minus = [](std::int64_t x) { return std::uint64_t(x); };
  CHECK(read<std::uint8_t>(Dtype::bool_, 3, whole(1, {0, 1, 7})) == std::vector<std::uint8_t>{0, 1, 1});
  CHECK(read<std::int16_t>(Dtype::int16, 2, whole(2, {minus(-32768), 32767})) ==
        std::vector<std::int16_t>{-32768, 32767});
  CHECK(read<std::int32_t>(Dtype::int32, 2, whole(2, {minus(-2147483648LL), 2147483647})) ==
        std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min(), 2147483647});
  CHECK(read<std::int64_t>(Dtype::int64, 1, whole(3, {std::uint64_t{1} << 63})) ==
        std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
  CHECK(read<std::uint8_t>(Dtype::uint8, 1, whole(4, {255})) == std::vector<std::uint8_t>{255});
  CHECK(read<std::uint16_t>(Dtype::uint16, 1, whole(4, {65535})) == std::vector<std::uint16_t>{65535});
  CHECK(read<std::uint32_t>(Dtype::uint32, 1, whole(4, {4294967295u})) == std::vector<std::uint32_t>{4294967295u});
  CHECK(read<std::uint64_t>(Dtype::uint64, 1, whole(5, {~std::uint64_t{}})) ==
        std::vector<std::uint64_t>{~std::uint64_t{}});
  CHECK(read<double>(Dtype::float64, 2, [](auto& to) { to.add_double(7, 0.1), to.add_double(7, -1e300); }) ==
        std::vector<double>{0.1, -1e300});
  CHECK(read<float>(Dtype::float32, 1, [](auto& to) { to.add_float(6, std::numeric_limits<float>::infinity()); })[0] ==
        std::numeric_limits<float>::infinity());
  CHECK(read<std::int8_t>(Dtype::int8, 2, [](auto& to) { to.add_int32(2, -1), to.add_int32(2, 5); }) ==
        std::vector<std::int8_t>{-1, 5});
  for (const auto& [dtype, field, bits] : {std::tuple{Dtype::int8, 2u, std::uint64_t{128}},
                                           {Dtype::int8, 2u, minus(-129)},
                                           {Dtype::uint8, 4u, std::uint64_t{256}},
                                           {Dtype::uint32, 4u, std::uint64_t{1} << 32},
                                           {Dtype::int32, 3u, std::uint64_t{1}},
                                           {Dtype::float16, 6u, std::uint64_t{1}},
                                           {Dtype::bfloat16, 6u, std::uint64_t{1}}})
    CHECK_THROWS_AS(read<std::uint8_t>(dtype, 1, whole(field, {bits})), serving::Refusal);
}

TEST_CASE("what does not fit the model is refused with a sentence") {
  CHECK(refusal(infer_message("m", "", {a, b})).empty());
  const std::string raw_a = raw_bytes<float>({1, 2, 3, 4}), raw_b = "ab";
  const auto like_a = [](std::vector<std::int64_t> shape, const std::string& contents) {
    return InputOfMessage{"a", "FP32", std::move(shape), contents};
  };
  for (const auto& [message, words] : {
           std::pair{infer_message("m", "", {a}), "input b is missing"},
           {infer_message("m", "", {a, a}), "twice"},
           {infer_message("m", "", {a, b, b}), "more inputs"},
           {infer_message("m", "", {a, {"c", "INT8", {2}, ints({1, 2})}}), "no input 'c'"},
           {infer_message("m", "", {a, {"b", "INT32", {2}, ints({1, 2})}}), "datatype"},
           {infer_message("m", "", {a, {"b", "INT8", {1}, ints({1})}}), "samples"},
           {infer_message("m", "", {like_a({4, 2}, floats({})), b}), "4 samples"},
           {infer_message("m", "", {like_a({0, 2}, floats({})), b}), "0 samples"},
           {infer_message("m", "", {like_a({-1, 2}, floats({})), b}), "-1 samples"},
           {infer_message("m", "", {like_a({2, 3}, floats({})), b}), "shape"},
           {infer_message("m", "", {like_a({}, floats({})), b}), "shape"},
           {infer_message("m", "", {like_a(std::vector<std::int64_t>(100, 1), floats({})), b}), "extents"},
           {infer_message("m", "", {like_a({2, 2}, floats({1, 2, 3})), b}), "3 elements"},
           {infer_message("m", "", {like_a({2, 2}, floats({1, 2, 3, 4, 5})), b}), "more elements"},
           {infer_message("m", "", {like_a({2, 2}, ints({1, 2, 3, 4})), b}), "another datatype"},
           {infer_message("m", "", {bare(a), bare(b)}), "0 elements"},
           {infer_message("m", "", {bare(a), bare(b)}, {raw_a}), "raw_input_contents"},
           {infer_message("m", "", {bare(a), bare(b)}, {raw_a, raw_b, raw_b}), "raw_input_contents"},
           {infer_message("m", "", {a, bare(b)}, {raw_a, raw_b}), "beside"},
           {infer_message("m", "", {bare(a), bare(b)}, {raw_a + "1", raw_b}), "17 bytes"},
           {infer_message("m", "", {a, b}, {}, {"y", "y"}), "twice"},
           {infer_message("m", "", {a, b}, {}, {"no"}), "no output"},
           {infer_message("m", "", {a, b}, {}, {"y", "z", "y"}), "more outputs"},
           {infer_message("m", "", {a, b}, {}, {}, std::string(257, 'i')), "256"},
           {infer_message("m", "", {a, b}, {}, {}, "\xff"), "UTF-8"},
           {std::string("\x2a"), "no message"},
           {std::string("\x28\x01"), "no message"},
       }) {
    CAPTURE(words);
    const std::string found = refusal(message);
    CAPTURE(found);
    CHECK(found.find(words) != found.npos);
    CHECK(found.size() < 400);
  }
}

TEST_CASE("bytes that are changed at random are read or refused, and nothing else") {
  std::mt19937 random(3);
  const std::string good[]{infer_message("m", "1", {a, b}, {}, {"z", "y"}, "id"),
                           infer_message("m", "", {bare(a), bare(b)}, {raw_bytes<float>({1, 2, 3, 4}), "ab"})};
  int taken = 0;
  for (int k = 0; k < 4000; ++k) {
    std::string bytes = good[k % 2];
    for (unsigned changes = 1 + random() % 3; changes; --changes) bytes[random() % bytes.size()] = char(random());
    if (k % 5 == 0) bytes.resize(random() % bytes.size());
    try {
      const serving::InferRequest request = serving::read_infer_message(bytes, two, 3);
      CHECK(request.inputs[0].size() == std::size_t(request.n) * 8);
      CHECK(request.inputs[1].size() == std::size_t(request.n));
      ++taken;
    } catch (const serving::Refusal&) {
    }
  }
  CHECK(taken > 100);
  CHECK(taken < 3900);
}

#else
#include "../support/skip.hpp"
TEST_CASE("messages of gRPC") { support::say_skipped("protozero or nlohmann_json is not installed"); }
#endif
