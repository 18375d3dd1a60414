// The messages of the Open Inference Protocol in gRPC, by protozero. Source: open_inference_grpc.proto of version 2.
#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/io/bytes/protobuf.hpp>
#include <tenon/serve/infer/request.hpp>

namespace tenon::inline TENON_ABI::serving {

/// The model that a message asks for: fields 1 and 2 of all that ask for one.
struct ModelKey {
  std::string name;
  long version = -1;  // -1: the highest
};

namespace detail {
/// Calls f(field) for each field of a message. Throws Refusal for bytes that are no message, and what f throws.
template <class F>
void each_field(std::string_view message, F f) {
  try {
    io::MessageField field;
    for (io::Message fields(message); fields.next(field);) f(field);
  } catch (const io::BadMessage&) {
    refuse("the bytes are no message of the Open Inference Protocol");
  }
}
inline std::string short_text(const io::MessageField& field, std::string_view what) {
  const std::string_view bytes = field.bytes(what);
  if (bytes.size() > 256) refuse(text(what, " of more than 256 bytes"));
  if (io::find_bad_utf8(bytes) != bytes.npos) refuse(text(what, " that is not UTF-8"));
  return std::string(bytes);
}

/// The field of InferTensorContents that has the elements of a dtype; 0: it has none.
constexpr unsigned contents_field(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_: return 1;
    case Dtype::int8:
    case Dtype::int16:
    case Dtype::int32: return 2;
    case Dtype::int64: return 3;
    case Dtype::uint8:
    case Dtype::uint16:
    case Dtype::uint32: return 4;
    case Dtype::uint64: return 5;
    case Dtype::float32: return 6;
    case Dtype::float64: return 7;
    default: return 0;
  }
}
/// Calls f with a value of the type that has the elements of a dtype.
template <class F>
void with_contents_type(Dtype dtype, F f) {
  switch (dtype) {
    case Dtype::bool_: return f(bool{});
    case Dtype::int8: return f(std::int8_t{});
    case Dtype::int16: return f(std::int16_t{});
    case Dtype::int32: return f(std::int32_t{});
    case Dtype::int64: return f(std::int64_t{});
    case Dtype::uint8: return f(std::uint8_t{});
    case Dtype::uint16: return f(std::uint16_t{});
    case Dtype::uint32: return f(std::uint32_t{});
    case Dtype::uint64: return f(std::uint64_t{});
    case Dtype::float32: return f(float{});
    case Dtype::float64: return f(double{});
    default: return;
  }
}
/// The bits of an integer field as an element. Numbers of 8 and 16 bits travel as 32: false if one is out of range.
template <class T>
bool narrow(std::int64_t bits, T& to) {
  if constexpr (std::is_same_v<T, bool>) return to = bits != 0, true;
  to = static_cast<T>(bits);
  if constexpr (sizeof(T) == 8) return true;
  else return std::int64_t(to) == bits;
}

/// The elements of InferTensorContents.
inline std::vector<std::byte> elements_of_contents(std::string_view contents, const std::string& name,
                                                   const TensorType& type, long n) {
  const unsigned wanted = contents_field(type.dtype);
  if (!wanted) refuse(text("input ", name, " has no form in contents: send raw_input_contents"));
  const auto count = std::size_t(type.count(n));
  std::vector<std::byte> bytes(std::size_t(type.bytes(n)));
  std::size_t found = 0;
  const auto add = [&]<class T>(T value) {
    if (found == count) refuse(text("input ", name, " has more elements than its shape, ", count));
    std::memcpy(bytes.data() + found++ * sizeof(T), &value, sizeof(T));
  };
  each_field(contents, [&](const io::MessageField& field) {
    if (field.number != wanted) refuse(text("input ", name, " has contents of another datatype"));
    with_contents_type(type.dtype, [&]<class T>(T) {
      if constexpr (std::is_floating_point_v<T>) io::each_number<T>(field, "contents", add);
      else
        io::each_integer(field, "contents", [&](std::int64_t bits) {
          T value{};
          if (!narrow(bits, value)) refuse(text("input ", name, " has a number that its datatype does not have"));
          add(value);
        });
    });
  });
  if (found != count) refuse(text("input ", name, " has ", found, " elements, its shape has ", count));
  return bytes;
}

/// InferInputTensor.
struct InputMessage {
  InputText text;
  std::string_view contents{};
  bool has_contents = false;
};
inline InputMessage read_input(std::string_view message) {
  InputMessage input;
  input.text.has_shape = true;
  each_field(message, [&](const io::MessageField& field) {
    std::vector<std::int64_t>& shape = input.text.shape;
    if (field.number == 1) input.text.name = short_text(field, "a name of an input");
    else if (field.number == 2) input.text.datatype = short_text(field, "a datatype");
    else if (field.number == 3)
      io::each_integer(field, "a shape", [&](std::int64_t extent) {
        if (shape.size() == max_rank) refuse(tenon::text("a shape of more than ", max_rank, " extents"));
        shape.push_back(extent);
      });
    else if (field.number == 5) input.contents = field.bytes("contents"), input.has_contents = true;
  });
  return input;
}
inline OutputText read_output(std::string_view message) {
  OutputText output;
  each_field(message, [&](const io::MessageField& field) {
    if (field.number == 1) output.name = short_text(field, "a name of an output");
  });
  return output;
}
}  // namespace detail

/// Reads which model a message asks for. Throws Refusal.
inline ModelKey read_model_key(std::string_view message) {
  ModelKey key;
  std::string version;
  detail::each_field(message, [&](const io::MessageField& field) {
    if (field.number == 1) key.name = detail::short_text(field, "a name of a model");
    if (field.number == 2) version = detail::short_text(field, "a version");
  });
  if (version.empty()) return key;
  const char* const end = version.data() + version.size();
  const auto [at, error] = std::from_chars(version.data(), end, key.version);
  if (error != std::errc() || at != end || key.version < 0) detail::refuse("no such model or version", 404);
  return key;
}

/// Reads a ModelInferRequest: its elements are in `contents`, or all of them in `raw_input_contents`. Throws Refusal if
/// it does not fit the model.
inline InferRequest read_infer_message(std::string_view message, const Signature& signature, long max_batch_size) {
  using namespace detail;
  InferRequest result;
  InferText asked;
  asked.binary_output = true;
  std::vector<InputMessage> inputs;
  std::vector<std::string_view> raw;
  each_field(message, [&](const io::MessageField& field) {
    if (field.number == 3) result.id = short_text(field, "an id"), result.has_id = !result.id.empty();
    if (field.number == 5) {
      if (inputs.size() == signature.inputs.size()) refuse("the request has more inputs than the model");
      inputs.push_back(read_input(field.bytes("an input")));
    }
    if (field.number == 6) {
      if (asked.outputs.size() == signature.outputs.size()) refuse("the request has more outputs than the model");
      asked.outputs.push_back(read_output(field.bytes("an output")));
    }
    if (field.number == 7) {
      if (raw.size() == signature.inputs.size())
        refuse("the request has more raw_input_contents than the model inputs");
      raw.push_back(field.bytes("raw_input_contents"));
    }
  });
  if (!raw.empty() && raw.size() != inputs.size())
    refuse(text("the request has ", inputs.size(), " inputs and ", raw.size(), " raw_input_contents"));
  GivenInputs given(result, signature, max_batch_size);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t k = given.add(inputs[i].text);
    const auto& [name, type] = signature.inputs[k];
    if (raw.empty()) {
      result.inputs[k] = elements_of_contents(inputs[i].contents, name, type, result.n);
      continue;
    }
    if (inputs[i].has_contents) refuse(text("input ", name, " has contents beside raw_input_contents"));
    if (raw[i].size() != std::size_t(type.bytes(result.n)))
      refuse(text("input ", name, " has ", raw[i].size(), " bytes, its shape has ", type.bytes(result.n)));
    result.inputs[k] = element_bytes(raw[i], type.dtype);
  }
  given.check_all();
  result.outputs = asked_outputs(asked, signature);
  return result;
}

/// The ModelInferResponse with the outputs that the request asks for, in `raw_output_contents`.
inline std::string write_infer_message(const std::string& model, long version, const Signature& signature,
                                       const InferRequest& request,
                                       const std::vector<std::vector<std::byte>>& outputs) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_string(1, model);
  message.add_string(2, std::to_string(version));
  if (request.has_id) message.add_string(3, request.id);
  for (const AskedOutput& asked : request.outputs) {
    const NamedType& output = signature.outputs[std::size_t(asked.index)];
    protozero::pbf_writer tensor(message, 5);
    tensor.add_string(1, output.name);
    tensor.add_string(2, std::string(datatype(output.type.dtype)));
    std::int64_t shape[max_rank];
    for (int axis = 0; axis < output.type.rank; ++axis) shape[axis] = output.type.size(axis, request.n);
    tensor.add_packed_int64(3, shape, shape + output.type.rank);
  }
  for (const AskedOutput& asked : request.outputs) {
    const std::vector<std::byte>& elements = outputs[std::size_t(asked.index)];
    message.add_bytes(6, reinterpret_cast<const char*>(elements.data()), elements.size());
  }
  return bytes;
}

/// A message that has only `live`, or `ready`, in its first field.
inline std::string write_flag_message(bool flag) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_bool(1, flag);
  return bytes;
}
/// ServerMetadataResponse.
inline std::string write_server_message() {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_string(1, "tenon");
  message.add_string(2, TENON_VERSION);
  return bytes;
}
/// ModelMetadataResponse; -1 is the number of samples.
inline std::string write_model_message(const std::string& model, const std::vector<long>& versions,
                                       const Signature& signature) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_string(1, model);
  for (const long version : versions) message.add_string(2, std::to_string(version));
  message.add_string(3, "tenon");
  const auto add = [&](unsigned field, const std::vector<NamedType>& list) {
    for (const NamedType& one : list) {
      protozero::pbf_writer tensor(message, field);
      tensor.add_string(1, one.name);
      tensor.add_string(2, std::string(datatype(one.type.dtype)));
      std::int64_t shape[max_rank];
      for (int axis = 0; axis < one.type.rank; ++axis) shape[axis] = one.type.extent[axis];
      tensor.add_packed_int64(3, shape, shape + one.type.rank);
    }
  };
  add(4, signature.inputs);
  add(5, signature.outputs);
  return bytes;
}

}  // namespace tenon::serving
