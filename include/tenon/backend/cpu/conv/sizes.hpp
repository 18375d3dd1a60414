// The sizes of a convolution and its gradients.
#pragma once
#include <tenon/backend/order.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// x [n,c,h,w], weight [o, c/groups, kh, kw], y [n,o,oh,ow]; padding below and to the right follows from oh and ow.
struct Conv2dSizes {
  long n, c, h, w, o, oh, ow;
  int kh, kw, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w, groups;
  bool input_gradient = false;  // dx is computed from dy, not y from x

  /// The same for another batch size.
  constexpr Conv2dSizes of(long batch) const {
    Conv2dSizes s = *this;
    s.n = batch;
    return s;
  }
  /// The gradient for the input of the same convolution.
  constexpr Conv2dSizes for_input() const {
    Conv2dSizes s = *this;
    s.input_gradient = true;
    return s;
  }
  constexpr long taps() const { return long(kh) * kw; }
  constexpr long group_inputs() const { return c / groups; }
  constexpr long group_outputs() const { return o / groups; }
  /// Channels of a group of what is computed: y, or dx.
  constexpr long group_results() const { return input_gradient ? group_inputs() : group_outputs(); }
  /// Channels of a segment of y, and of the gradient for the input (backend/order.hpp).
  constexpr long segment() const { return conv_segment(group_inputs(), taps()); }
  constexpr long input_segment() const {
    return conv_segment(group_outputs(), input_taps(kh, stride_h, dilation_h) * input_taps(kw, stride_w, dilation_w));
  }
  /// A product of matrices, in each group: of one tap, which always meets the image.
  constexpr bool pointwise() const {
    return taps() == 1 && pad_top == 0 && pad_left == 0 && (oh - 1) * stride_h < h && (ow - 1) * stride_w < w;
  }
};

namespace detail {
/// Whether `channels`, cut into the fewest even blocks of at most `most`, have a block of this many rows. A run of
/// neighbouring blocks that is cut again has no other blocks. 0 channels: always.
constexpr bool is_cut_into(long channels, long most, long rows) {
  const long blocks = (channels + most - 1) / most;
  return channels == 0 || rows == channels / blocks || rows == (channels + blocks - 1) / blocks;
}
}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
