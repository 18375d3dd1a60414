// The sizes of a call of a convolution on a GPU.
#pragma once
#include <tenon/backend/cpu/conv/conv_kernel.hpp>
#include <tenon/backend/cuda/device.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// The image of a call that computes the tensor at -1, x or its gradient.
template <class C, ConvTensors at>
inline constexpr TensorType conv_image = at.x < 0 ? C::result : C::operand(at.x < 0 ? 0 : at.x);
/// The sizes of such a call, for one sample.
template <class C, ConvTensors at>
inline constexpr Conv2dSizes conv_call_sizes = [] {
  const auto type = [](int which) { return which < 0 ? C::result : C::operand(which); };
  const Conv2dSizes s = conv_sizes(type(at.x), type(at.weight), type(at.y), C::config()).of(1);
  return at.x < 0 ? s.for_input() : s;
}();
/// Its samples in a batch of n.
template <class C, ConvTensors at>
TENON_DEVICE constexpr long call_samples(long n) {
  constexpr long one = conv_image<C, at>.size(0, 1), two = conv_image<C, at>.size(0, 2);
  return one == two ? one : n * one;
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
