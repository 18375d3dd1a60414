// The reader of gRPC's inference requests, fed by libFuzzer: it may refuse the bytes with a Refusal, and nothing else.
// A request that it takes has the bytes that its model needs, and its response can be read.
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/serve/grpc/message.hpp>

using namespace tenon;

namespace {
const serving::Signature& signature() {
  static const serving::Signature all{{{"a", {{-1, 2, 3}, 3, Dtype::float32}},
                                       {"b", {{-1}, 1, Dtype::int64}},
                                       {"c", {{-1, 2}, 2, Dtype::bool_}},
                                       {"d", {{-1}, 1, Dtype::uint8}}},
                                      {{"x", {{-1, 2}, 2, Dtype::float32}}, {"y", {{-1}, 1, Dtype::bfloat16}}}};
  return all;
}
void read(std::string_view bytes) {
  constexpr long most = 5;
  const serving::InferRequest request = serving::read_infer_message(bytes, signature(), most);
  if (request.n < 1 || request.n > most || request.inputs.size() != 4 || request.outputs.empty()) __builtin_trap();
  for (std::size_t k = 0; k < 4; ++k)
    if (request.inputs[k].size() != std::size_t(signature().inputs[k].type.bytes(request.n))) __builtin_trap();
  for (const std::byte flag : request.inputs[2])
    if (flag > std::byte{1}) __builtin_trap();
  std::vector<std::vector<std::byte>> outputs;
  for (const serving::NamedType& output : signature().outputs)
    outputs.emplace_back(std::size_t(output.type.bytes(request.n)), std::byte{1});
  const std::string response = serving::write_infer_message("m", 1, signature(), request, outputs);
  std::size_t raw = 0;
  io::MessageField field;
  for (io::Message fields(response); fields.next(field);) raw += field.number == 6;
  if (raw != request.outputs.size()) __builtin_trap();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    if (serving::read_model_key(bytes).version < -1) __builtin_trap();
    read(bytes);
  } catch (const serving::Refusal& refusal) {
    if (refusal.reason.empty() || refusal.reason.size() > 1600) __builtin_trap();
  }
  return 0;
}
