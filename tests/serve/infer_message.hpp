// Messages of the Open Inference Protocol in gRPC, written by a client of tests.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace serving_test {

/// An input: `contents` are the bytes of InferTensorContents.
struct InputOfMessage {
  std::string name, datatype;
  std::vector<std::int64_t> shape;
  std::string contents{};
};

/// InferTensorContents with a packed field.
template <class F>
std::string contents_of(F add) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add(writer);
  return bytes;
}
inline std::string floats(std::vector<float> x) {
  return contents_of([&](auto& to) { to.add_packed_float(6, x.begin(), x.end()); });
}
inline std::string ints(std::vector<std::int32_t> x) {
  return contents_of([&](auto& to) { to.add_packed_int32(2, x.begin(), x.end()); });
}

/// ModelInferRequest.
inline std::string infer_message(const std::string& model, const std::string& version,
                                 const std::vector<InputOfMessage>& inputs, const std::vector<std::string>& raw = {},
                                 const std::vector<std::string>& outputs = {}, const std::string& id = {}) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  if (!model.empty()) message.add_string(1, model);
  if (!version.empty()) message.add_string(2, version);
  if (!id.empty()) message.add_string(3, id);
  for (const InputOfMessage& input : inputs) {
    protozero::pbf_writer tensor(message, 5);
    tensor.add_string(1, input.name);
    tensor.add_string(2, input.datatype);
    tensor.add_packed_int64(3, input.shape.begin(), input.shape.end());
    if (!input.contents.empty()) tensor.add_message(5, input.contents);
  }
  for (const std::string& output : outputs) protozero::pbf_writer(message, 6).add_string(1, output);
  for (const std::string& one : raw) message.add_bytes(7, one);
  return bytes;
}
/// The bytes of numbers, as raw_input_contents has them.
template <class T>
std::string raw_bytes(const std::vector<T>& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T)};
}

}  // namespace serving_test
