// What is shown to people or written for them: texts and tensors, one after the other.
#pragma once
#include <string_view>

#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI {

/// One of both. Owns neither.
struct TextOrTensor {
  bool is_tensor = false;
  std::string_view text{};
  AnyTensor tensor{};
};

}  // namespace tenon
