// The dtype after the name that MindSpore's files give it.
#pragma once
#include <string_view>

#include <tenon/core/dtype.hpp>

namespace tenon::inline TENON_ABI::io {

/// Finds the dtype that is called "Float32" or "UInt8"; MindSpore before 2.0 also says Uint8. False if there is none.
inline bool dtype_of_title(std::string_view type, Dtype& dtype) {
  for (int k = 0; k <= int(Dtype::float64); ++k) {
    dtype = static_cast<Dtype>(k);
    if (type == title(dtype)) return true;
    if (type.starts_with("Uint") && title(dtype).starts_with("UI") && type.substr(4) == title(dtype).substr(4))
      return true;
  }
  return false;
}

}  // namespace tenon::io
