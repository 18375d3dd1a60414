// Where the maxima of pooling are, and pixels put back there: max_pool2d_with_indices, max_unpool2d.
#pragma once
#include <tuple>

#include <tenon/ops/full.hpp>
#include <tenon/ops/gather_elements.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Which pixel of its plane is the largest of each window, h W + w: the first one in row-major order wins a tie.
///
/// x           [n, C, H, W]; floating-point or integer
/// result      int64 [n, C, OH, OW], extents by pad_mode. Of several NaN the last one, as in PyTorch
/// derivative  no gradient flows
/// source      the second result of MindSpore's MaxPoolWithArgmaxV2, and of PyTorch's max_pool2d with return_indices
struct MaxPoolIndices : Operator<MaxPoolIndices, "MaxPoolWithArgmax"> {
  using Config = Pool2dAttributes;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return detail::pooled("MaxPool2d", in[0], c, error).with(Dtype::int64);
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};

/// The largest element of each window, and which pixel of its plane it is: `const auto [y, indices] =
/// max_pool2d_with_indices<Pool2dOptions{.kernel = 3, .stride = 2}>(x);`
template <Pool2dOptions options, Operand X>
constexpr auto max_pool2d_with_indices(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return std::tuple{x, x};
  else {
    constexpr Pool2dAttributes window = detail::pool_attributes(options, X::dims);
    return std::tuple{apply<MaxPool2d, window>(at, x), apply<MaxPoolIndices, window>(at, x)};
  }
}
template <int window, int stride = window>
constexpr auto max_pool2d_with_indices(const Operand auto& x,
                                       std::source_location at = std::source_location::current()) {
  return max_pool2d_with_indices<Pool2dOptions{.kernel = window, .stride = stride}>(x, at);
}

/// Images [n, C, H, W] of zeros with the elements of x [n, C, OH, OW] at the pixels `indices` of their planes, which
/// max_pool2d_with_indices gave: `max_unpool2d<28, 28>(y, indices)`. Of several elements for one pixel the last one.
///
/// derivative  dy at the pixels
/// source      MindSpore's MaxUnpool2D, PyTorch's max_unpool2d
template <int height, int width, Operand X, Operand I>
constexpr auto max_unpool2d(const X& x, const I& indices, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (is_broken<I>) return indices;
  else if constexpr (X::dims.rank != 4 || !X::dims.same_shape(I::dims))
    return apply<UpdateElements, UpdateElements::Config{}>(at, indices, x, x);  // which says what does not fit
  else {
    constexpr TensorType t = X::dims, image{{t[0], t[1], height, width}, 4, t.dtype};
    const auto planes = apply<Full, Full::of(TensorType{{t[0], t[1], height * width}, 3, t.dtype})>(at, x);
    const auto changed = tensor_scatter_elements<2>(planes, apply<Reshape, detail::merged(t, 2, 4)>(at, indices),
                                                    apply<Reshape, detail::merged(t, 2, 4)>(at, x), at);
    if constexpr (is_broken<decltype(changed)>) return changed;
    else return apply<Reshape, Reshape::to(image)>(at, changed);
  }
}

}  // namespace tenon::ops
