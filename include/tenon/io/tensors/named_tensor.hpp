// NamedTensor: a view of a tensor and its name.
#pragma once
#include <string>

#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::io {

/// A view of a tensor and its name, as in checkpoints and parameter lists.
struct NamedTensor {
  std::string name;
  AnyTensor tensor;
};

}  // namespace tenon::io
