// Where the pixels of a convolution's result are in the image that the gradients' kernels make of its input
// (argmax_gradient.hpp).
#pragma once
#include <tenon/core/simd/simd.hpp>
#include <tenon/graph/ir/list_form.hpp>
#include <tenon/graph/ir/window_attributes.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// The image has zeros around it and its channels last, `channels` of them with those that fill vectors. The patch of
/// the input that belongs to pixel (y, x) of the result begins where `form` says.
struct ArgmaxPlaces {
  int channels, columns;
  int line;  // elements of a row of the image
  ListForm form;
};
/// For an input of c channels, a kernel of kw columns, and a result of ow.
constexpr ArgmaxPlaces argmax_places(int c, int kw, int ow, int stride_h, int stride_w) {
  const int channels = c == 1 ? 1 : c <= 4 ? 4 : (c + 7) / 8 * 8, columns = (ow - 1) * stride_w + kw;
  const int line = columns * channels;
  return {channels, columns, line, {stride_h * line, stride_w * channels}};
}
/// True if pixels are whole vectors: then a patch ends with one, and the gradient of the input can be added up in
/// place.
constexpr bool whole_pixels(const ArgmaxPlaces& places) { return places.channels % 8 == 0; }

/// The lists that a convolution's gradients read for a kernel and a result of these types; none for groups, dilations,
/// kernels of one tap, whose sums are segments of pixels, and images that would not stay in the cache.
constexpr ListForm conv_list_form(const TensorType& kernel, const TensorType& y, const ops::Conv2dAttributes& c,
                                  bool of_input) {
  constexpr long most_bytes = 40 << 10;
  if (y.dtype != Dtype::float32 || c.dilation_h != 1 || c.dilation_w != 1 || c.groups != 1 ||
      kernel[2] * kernel[3] == 1)
    return {};
  const ArgmaxPlaces places = argmax_places(kernel[1], kernel[3], y[3], c.stride_h, c.stride_w);
  const long rows = long(y[2] - 1) * c.stride_h + kernel[2];
  const bool fits = rows * places.line * long(sizeof(float)) <= most_bytes && (!of_input || whole_pixels(places));
  return fits ? places.form : ListForm{};
}

}  // namespace tenon::kernel
