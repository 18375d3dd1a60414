// Channels that become pixels, and back.
#pragma once
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/transpose.hpp>

namespace tenon::inline TENON_ABI::ops {

/// [n, C r², H, W] -> [n, C, r H, r W]: the r² channels of a pixel become a square of pixels, row by row. MindSpore's
/// and PyTorch's pixel_shuffle.
template <int factor, Operand X>
constexpr auto pixel_shuffle(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr TensorType t = X::dims;
    static_assert(t.rank == 4 && factor > 0 && t[1] % (factor * factor) == 0,
                  "pixel_shuffle<r> needs images [n, C, H, W] whose channels are a multiple of r * r");
    constexpr int channels = t[1] / (factor * factor);
    const auto squares = reshape<Shape<t[0], channels, factor, factor, t[2], t[3]>>(x, at);
    return reshape<Shape<t[0], channels, t[2] * factor, t[3] * factor>>(transpose<0, 1, 4, 2, 5, 3>(squares, at), at);
  }
}
/// [n, C, r H, r W] -> [n, C r², H, W]: the opposite of pixel_shuffle.
template <int factor, Operand X>
constexpr auto pixel_unshuffle(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr TensorType t = X::dims;
    static_assert(t.rank == 4 && factor > 0 && t[2] % factor == 0 && t[3] % factor == 0,
                  "pixel_unshuffle<r> needs images [n, C, H, W] whose height and width are multiples of r");
    const auto squares = reshape<Shape<t[0], t[1], t[2] / factor, factor, t[3] / factor, factor>>(x, at);
    return reshape<Shape<t[0], t[1] * factor * factor, t[2] / factor, t[3] / factor>>(
        transpose<0, 1, 3, 5, 2, 4>(squares, at), at);
  }
}

}  // namespace tenon::ops
