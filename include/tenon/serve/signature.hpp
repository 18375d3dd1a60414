// What a served model takes and returns, by the names of the Open Inference Protocol.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI::serving {

/// An error that a client gets: a status of HTTP, and a sentence that says nothing about the inside of the program.
struct Refusal {
  int status = 400;
  std::string reason;
};

/// The name of a dtype in the protocol.
constexpr std::string_view datatype(Dtype dtype) {
  constexpr std::string_view names[]{"BOOL",   "INT8",   "INT16", "INT32", "INT64", "UINT8", "UINT16",
                                     "UINT32", "UINT64", "FP16",  "BF16",  "FP32",  "FP64"};
  return names[int(dtype)];
}

/// An input or output: the leading extent of its type is the number of samples.
struct NamedType {
  std::string name;
  TensorType type;
};

struct Signature {
  std::vector<NamedType> inputs, outputs;
};

/// The index of a name, or -1.
inline int find(const std::vector<NamedType>& list, std::string_view name) {
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k].name == name) return int(k);
  return -1;
}

/// Extents as in messages: [-1,3,28,28].
inline std::string extents_text(const TensorType& type) {
  std::string text = "[";
  for (int axis = 0; axis < type.rank; ++axis) {
    if (axis) text += ',';
    text += std::to_string(type.extent[axis]);
  }
  return text += ']';
}

}  // namespace tenon::serving
