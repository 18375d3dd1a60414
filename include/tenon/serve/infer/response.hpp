// The response of an inference: JSON, and the bytes of tensors that were asked for as bytes.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/io/text/escaped_text.hpp>
#include <tenon/serve/infer/request.hpp>
#include <tenon/serve/signature.hpp>

namespace tenon::inline TENON_ABI::serving {

/// A body; `json_bytes` is the length of its JSON if bytes of tensors follow, else 0.
struct InferResponse {
  std::string body;
  std::size_t json_bytes = 0;
};

namespace detail {
/// Appends elements with commas between them, the shortest digits that give the same number. False for a number that
/// JSON has no form for.
template <class T>
bool append_elements(std::string& to, const std::byte* bytes, std::size_t count) {
  constexpr std::size_t longest = 40;  // of a number with its comma
  char some[2048];                     // many are appended at once
  char* at = some;
  for (std::size_t k = 0; k < count; ++k) {
    T value;
    std::memcpy(&value, bytes + k * sizeof(T), sizeof(T));
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value)) return false;
    if (std::size_t(std::end(some) - at) < longest) to.append(some, at), at = some;
    if (k) *at++ = ',';
    if constexpr (std::is_same_v<T, bool>) at = std::ranges::copy(std::string_view(value ? "true" : "false"), at).out;
    else at = std::to_chars(at, std::end(some), value).ptr;
  }
  to.append(some, at);
  return true;
}
inline bool append_data(std::string& to, Dtype dtype, const std::byte* bytes, std::size_t count) {
  switch (dtype) {
    case Dtype::bool_: return append_elements<bool>(to, bytes, count);
    case Dtype::int8: return append_elements<std::int8_t>(to, bytes, count);
    case Dtype::int16: return append_elements<std::int16_t>(to, bytes, count);
    case Dtype::int32: return append_elements<std::int32_t>(to, bytes, count);
    case Dtype::int64: return append_elements<std::int64_t>(to, bytes, count);
    case Dtype::uint8: return append_elements<std::uint8_t>(to, bytes, count);
    case Dtype::uint16: return append_elements<std::uint16_t>(to, bytes, count);
    case Dtype::uint32: return append_elements<std::uint32_t>(to, bytes, count);
    case Dtype::uint64: return append_elements<std::uint64_t>(to, bytes, count);
    case Dtype::float32: return append_elements<float>(to, bytes, count);
    case Dtype::float64: return append_elements<double>(to, bytes, count);
    case Dtype::float16:
    case Dtype::bfloat16: return false;
  }
  return false;
}
}  // namespace detail

/// `"text"` of JSON.
inline std::string json_text(std::string_view s) { return '"' + io::json_escaped(s) + '"'; }
/// The body of an error.
inline std::string error_body(std::string_view reason) { return "{\"error\":" + json_text(reason) + '}'; }

/// The response with the outputs that the request asks for. Throws Refusal for NaN or infinity in JSON.
inline InferResponse write_infer_response(const std::string& model, long version, const Signature& signature,
                                          const InferRequest& request,
                                          const std::vector<std::vector<std::byte>>& outputs) {
  InferResponse response;
  std::string& body = response.body;
  bool any_binary = false;
  body += "{\"model_name\":" + json_text(model) + ",\"model_version\":\"" + std::to_string(version) + '"';
  if (request.has_id) body += ",\"id\":" + json_text(request.id);
  body += ",\"outputs\":[";
  for (const AskedOutput& asked : request.outputs) {
    const auto k = std::size_t(asked.index);
    const NamedType& output = signature.outputs[k];
    if (body.back() == '}') body += ',';
    body += "{\"name\":" + json_text(output.name) + ",\"datatype\":\"";
    body += datatype(output.type.dtype);
    body += "\",\"shape\":[";
    for (int axis = 0; axis < output.type.rank; ++axis)
      body += (axis ? "," : "") + std::to_string(output.type.size(axis, request.n));
    if (asked.binary) {
      any_binary = true;
      body += "],\"parameters\":{\"binary_data_size\":" + std::to_string(outputs[k].size()) + "}}";
      continue;
    }
    body += "],\"data\":[";
    const auto count = std::size_t(output.type.count(request.n));
    if (!detail::append_data(body, output.type.dtype, outputs[k].data(), count))
      throw Refusal{400,
                    "output " + output.name + " has NaN or infinity, which JSON does not have: ask for binary_data"};
    body += "]}";
  }
  body += "]}";
  if (!any_binary) return response;
  response.json_bytes = body.size();
  for (const AskedOutput& asked : request.outputs)
    if (asked.binary) {
      const std::vector<std::byte>& bytes = outputs[std::size_t(asked.index)];
      body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  return response;
}

}  // namespace tenon::serving
