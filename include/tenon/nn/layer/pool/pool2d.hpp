// Settings that the pooling layers share.
#pragma once
#include <tenon/ops/pool2d.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a pooling layer, with MindSpore's defaults. A stride of 0 means the size of the window.
struct Pool2dConfig {
  Pair stride = 1;
  PadMode pad_mode = PadMode::valid;
  Padding padding = 0;
  bool count_include_pad = true;  // of averages with PadMode::pad
  constexpr Pool2dOptions options(Pair kernel) const { return {kernel, stride, pad_mode, padding, count_include_pad}; }
};

}  // namespace tenon::nn
