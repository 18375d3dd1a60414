// The reader of a server's inference requests, fed by libFuzzer: it may refuse the bytes with a Refusal, and nothing
// else; a request that it takes has the bytes that its model needs. The bytes are read as JSON, and again, after the
// first two, which are the length of the JSON, as JSON with bytes of tensors, as a path, and as a compressed body. What
// is read as JSON is read again by nlohmann_json alone, and has the same numbers.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <tenon/serve/infer/inflate.hpp>
#include <tenon/serve/infer/response.hpp>
#include <tenon/serve/route.hpp>

using namespace tenon;

namespace {
const serving::Signature& signature() {
  static const serving::Signature all{
      {{"a", {{-1, 2, 3}, 3, Dtype::float32}}, {"b", {{-1}, 1, Dtype::int64}}, {"c", {{-1, 2}, 2, Dtype::bool_}}},
      {{"x", {{-1, 2}, 2, Dtype::float32}}, {"y", {{-1}, 1, Dtype::bfloat16}}, {"z", {{-1, 1}, 2, Dtype::uint8}}}};
  return all;
}
void append_numbers(const nlohmann::json& value, std::vector<nlohmann::json>& to) {
  if (!value.is_array()) return to.push_back(value);
  for (const nlohmann::json& one : value) append_numbers(one, to);
}
// The tree has float64: a float32 differs from it by no more than a second rounding.
void compare(std::string_view json, const serving::InferRequest& request) {
  const nlohmann::json tree = nlohmann::json::parse(json);
  for (const nlohmann::json& input : tree["inputs"]) {
    if (!input.contains("data") || input["data"].is_null()) continue;
    std::vector<nlohmann::json> numbers;
    append_numbers(input["data"], numbers);
    const std::byte* const bytes = request.inputs[std::size_t(input["name"].get<std::string>()[0] - 'a')].data();
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (input["name"] == "a") {
        float value;
        std::memcpy(&value, bytes + k * sizeof value, sizeof value);
        const double wanted = numbers[k].get<double>();
        const float up = std::nextafter(float(wanted), std::numeric_limits<float>::infinity());
        const float down = std::nextafter(float(wanted), -std::numeric_limits<float>::infinity());
        if (value != float(wanted) && value != up && value != down) __builtin_trap();
        if (std::abs(value - wanted) > std::abs(double(float(wanted)) - wanted)) __builtin_trap();
        if (std::signbit(value) != std::signbit(wanted)) __builtin_trap();
      } else if (input["name"] == "b") {
        std::int64_t value;
        std::memcpy(&value, bytes + k * sizeof value, sizeof value);
        if (value != numbers[k].get<std::int64_t>()) __builtin_trap();
      } else if ((bytes[k] == std::byte{1}) != numbers[k].get<bool>()) {
        __builtin_trap();
      }
    }
  }
}
void read(std::string_view body, std::size_t json_bytes) {
  constexpr long most = 5;
  try {
    const serving::InferRequest request = serving::read_infer_request(body, json_bytes, signature(), most);
    if (request.n < 1 || request.n > most || request.inputs.size() != 3 || request.outputs.empty()) __builtin_trap();
    for (std::size_t k = 0; k < 3; ++k)
      if (request.inputs[k].size() != std::size_t(signature().inputs[k].type.bytes(request.n))) __builtin_trap();
    compare(body.substr(0, json_bytes), request);
    std::vector<std::vector<std::byte>> outputs;
    for (const serving::NamedType& output : signature().outputs)
      outputs.emplace_back(std::size_t(output.type.bytes(request.n)), std::byte{1});
    const auto response = serving::write_infer_response("m", 1, signature(), request, outputs);
    const std::string json = response.body.substr(0, response.json_bytes ? response.json_bytes : std::string::npos);
    if (!nlohmann::json::accept(json)) __builtin_trap();
  } catch (const serving::Refusal& refusal) {
    if (refusal.reason.size() > 1600 || !nlohmann::json::accept(serving::error_body(refusal.reason))) __builtin_trap();
  }
}
void inflate(std::string_view bytes, serving::Coding coding) {
  constexpr std::size_t most = 3000;
  std::size_t taken = 0;
  try {
    const std::string body = serving::inflated(bytes, coding, most, [&](std::size_t more) { taken += more; });
    if (body.size() > most) __builtin_trap();
  } catch (const serving::Refusal&) {
  }
  if (taken > most + 1) __builtin_trap();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read(bytes, bytes.size());
  if (size < 2) return 0;
  const std::size_t json_bytes = std::size_t(data[0]) + (std::size_t(data[1]) << 8);
  bytes.remove_prefix(2);
  read(bytes, json_bytes);
  const serving::Route route = serving::find_route(bytes);
  if (route.to == serving::Route::To::infer && !bytes.starts_with("/v2/models/")) __builtin_trap();
  inflate(bytes, serving::Coding::gzip);
  inflate(bytes, serving::Coding::deflate);
  return 0;
}
