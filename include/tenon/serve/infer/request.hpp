// A request of inference as bytes for the inputs of a model, checked against its signature.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/text/escaped_text.hpp>
#include <tenon/serve/infer/reader.hpp>
#include <tenon/serve/signature.hpp>

namespace tenon::inline TENON_ABI::serving {

/// An output that the client asks for, as bytes or in JSON.
struct AskedOutput {
  int index = 0;
  bool binary = false;
};

/// A request that fits the model.
struct InferRequest {
  std::string id;
  bool has_id = false;
  long n = 0;                                  // samples
  std::vector<std::vector<std::byte>> inputs;  // in the order of the signature
  std::vector<AskedOutput> outputs;            // in the order of the request
};

namespace detail {
[[noreturn, gnu::cold]] inline void refuse(std::string reason, int status = 400) {
  throw Refusal{status, std::move(reason)};
}
[[noreturn, gnu::cold]] inline void refuse_shape(const InputText& input, const NamedType& wanted) {
  std::string found;
  for (const std::int64_t extent : input.shape) found += (found.empty() ? "" : ",") + std::to_string(extent);
  refuse(text("input ", io::printable(input.name), " has the shape [", found, "], the model takes ",
              extents_text(wanted.type)));
}

/// The number of samples of an input, whose extents fit.
inline long samples_of(const InputText& input, const NamedType& wanted, long max_batch_size) {
  const TensorType& type = wanted.type;
  if (!input.has_shape) refuse(text("input ", io::printable(input.name), " has no shape"));
  if (int(input.shape.size()) != type.rank) refuse_shape(input, wanted);
  for (int axis = 1; axis < type.rank; ++axis)
    if (input.shape[std::size_t(axis)] != type.extent[axis]) refuse_shape(input, wanted);
  const long n = input.shape[0];
  if (n < 1 || n > max_batch_size)
    refuse(text("input ", io::printable(input.name), " has ", n, " samples; a request has 1 to ", max_batch_size));
  return n;
}

/// Whether arrays are nested as the shape says, or not at all.
inline bool nested_as_shape(const InputText& input) {
  if (input.nesting.size() == 1) return true;
  if (input.nesting.size() != input.shape.size()) return false;
  for (std::size_t k = 0; k < input.shape.size(); ++k)
    if (input.nesting[k] != std::size_t(input.shape[k])) return false;
  return true;
}

/// A copy of the bytes of an input.
inline std::vector<std::byte> element_bytes(std::string_view given, Dtype dtype) {
  std::vector<std::byte> bytes(given.size());
  if (!given.empty()) std::memcpy(bytes.data(), given.data(), given.size());
  if (dtype == Dtype::bool_)
    for (std::byte& flag : bytes) flag = std::byte(flag != std::byte{});  // no other byte is a bool
  return bytes;
}

/// The elements of an input: those of its data, or the next bytes of `binary`.
inline std::vector<std::byte> elements_of(const InputText& input, const TensorType& type, long n,
                                          std::string_view& binary) {
  const std::string name = io::printable(input.name);
  const auto size = std::size_t(type.bytes(n));
  if (input.binary_size >= 0) {
    if (input.has_data) refuse(text("input ", name, " has data and a binary_data_size"));
    if (std::size_t(input.binary_size) != size)
      refuse(
          text("input ", name, " has a binary_data_size of ", input.binary_size, ", its shape has ", size, " bytes"));
    if (binary.size() < size) refuse(text("the bytes of input ", name, " are not all there"));
    const std::string_view given = binary.substr(0, size);
    binary.remove_prefix(size);
    return element_bytes(given, type.dtype);
  }
  if (!input.has_data) refuse(text("input ", name, " has no data"));
  if (input.numbers.size() != std::size_t(type.count(n)))
    refuse(text("input ", name, " has ", input.numbers.size(), " elements, its shape has ", type.count(n)));
  if (!nested_as_shape(input)) refuse(text("input ", name, " has data that is nested otherwise than its shape"));
  std::vector<std::byte> bytes(size);
  if (std::string wrong = input.numbers.write(type.dtype, bytes.data()); !wrong.empty())
    refuse(text("input ", name, " ", wrong));
  return bytes;
}

/// The inputs of a request, as they are met.
class GivenInputs {
 public:
  GivenInputs(InferRequest& result, const Signature& signature, long max_batch_size)
      : result_(result), signature_(signature), max_batch_size_(max_batch_size), given_(signature.inputs.size()) {
    result_.inputs.resize(signature.inputs.size());
  }
  /// The index of an input in the signature, which it fits.
  std::size_t add(const InputText& input) {
    const int k = find(signature_.inputs, input.name);
    if (k < 0) refuse(text("the model has no input ", io::printable(input.name)));
    const auto index = std::size_t(k);
    const NamedType& wanted = signature_.inputs[index];
    if (given_[index]) refuse(text("input ", wanted.name, " is there twice"));
    given_[index] = true;
    if (input.datatype != datatype(wanted.type.dtype))
      refuse(text("input ", wanted.name, " has the datatype ", io::printable(input.datatype), ", the model takes ",
                  datatype(wanted.type.dtype)));
    const long n = samples_of(input, wanted, max_batch_size_);
    if (result_.n && n != result_.n)
      refuse(text("input ", wanted.name, " has ", n, " samples, another input has ", result_.n));
    result_.n = n;
    return index;
  }
  void check_all() const {
    for (std::size_t k = 0; k < given_.size(); ++k)
      if (!given_[k]) refuse(text("input ", signature_.inputs[k].name, " is missing"));
  }

 private:
  InferRequest& result_;
  const Signature& signature_;
  long max_batch_size_;
  std::vector<bool> given_;
};

inline std::vector<AskedOutput> asked_outputs(const InferText& request, const Signature& signature) {
  std::vector<AskedOutput> asked;
  for (const OutputText& output : request.outputs) {
    const int index = find(signature.outputs, output.name);
    if (index < 0) refuse(text("the model has no output ", io::printable(output.name)));
    for (const AskedOutput& other : asked)
      if (other.index == index) refuse(text("output ", io::printable(output.name), " is asked for twice"));
    asked.push_back({index, output.binary < 0 ? request.binary_output : output.binary == 1});
  }
  if (asked.empty())
    for (std::size_t k = 0; k < signature.outputs.size(); ++k) asked.push_back({int(k), request.binary_output});
  for (const AskedOutput& output : asked)
    if (!output.binary && is_half_dtype(signature.outputs[std::size_t(output.index)].type.dtype))
      refuse(text("output ", signature.outputs[std::size_t(output.index)].name,
                  " has no form in JSON: ask for binary_data"));
  return asked;
}
}  // namespace detail

/// Reads a request: JSON, of which the first `json_bytes` bytes are all, and the bytes of tensors after it. Throws
/// Refusal for a request that does not fit the model.
inline InferRequest read_infer_request(std::string_view body, std::size_t json_bytes, const Signature& signature,
                                       long max_batch_size) {
  using namespace detail;
  if (json_bytes > body.size()) refuse("Inference-Header-Content-Length is larger than the body");
  InferLimits limits{signature.inputs.size(), signature.outputs.size(), 0};
  for (const NamedType& input : signature.inputs)
    limits.elements = std::max(limits.elements, std::size_t(input.type.count(max_batch_size)));
  InferText request;
  if (std::string wrong = read_infer_text(body.substr(0, json_bytes), limits, request); !wrong.empty()) refuse(wrong);

  InferRequest result{std::move(request.id), request.has_id, 0, {}, {}};
  GivenInputs given(result, signature, max_batch_size);
  std::string_view binary = body.substr(json_bytes);
  for (const InputText& input : request.inputs) {
    const std::size_t k = given.add(input);
    result.inputs[k] = elements_of(input, signature.inputs[k].type, result.n, binary);
  }
  given.check_all();
  if (!binary.empty()) refuse(text(binary.size(), " bytes follow the last input"));
  result.outputs = asked_outputs(request, signature);
  return result;
}

}  // namespace tenon::serving
