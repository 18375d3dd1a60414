// Mirrors images.
#pragma once
#include <algorithm>
#include <cstring>
#include <type_traits>

#include <tenon/vision/image_view.hpp>
#include <tenon/vision/pixel_shuffle.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {
template <int Channels, class T>
void mirror_row(const T* __restrict in, T* __restrict out, int width) {
  int x = 0;
  if constexpr (Channels == 3 && sizeof(T) == 1) {
    // reads a byte before its 5 pixels and writes one after: not at the borders of the row
    for (; x + 5 < width; x += 5) {
      const auto* from = reinterpret_cast<const std::uint8_t*>(in) + (width - x - 5) * 3;
      mirrored_5(from - 1).store(reinterpret_cast<std::uint8_t*>(out) + x * 3);
    }
  }
  for (; x < width; ++x)
    for (int c = 0; c < Channels; ++c) out[x * Channels + c] = in[(width - 1 - x) * Channels + c];
}
}  // namespace detail

/// Left and right exchanged. `out` is another memory of the same extents.
template <class T>
void flip_horizontal(std::type_identity_t<ImageView<const T>> in, ImageView<T> out) {
  detail::check_image("flip_horizontal", in);
  detail::check_result("flip_horizontal", out, in.height, in.width, in.channels);
  for (int y = 0; y < in.height; ++y) switch (in.channels) {
      case 1: detail::mirror_row<1>(in.row(y), out.row(y), in.width); break;
      case 2: detail::mirror_row<2>(in.row(y), out.row(y), in.width); break;
      case 3: detail::mirror_row<3>(in.row(y), out.row(y), in.width); break;
      default: detail::mirror_row<4>(in.row(y), out.row(y), in.width); break;
    }
}

/// Top and bottom exchanged. `out` is another memory of the same extents.
template <class T>
void flip_vertical(std::type_identity_t<ImageView<const T>> in, ImageView<T> out) {
  detail::check_image("flip_vertical", in);
  detail::check_result("flip_vertical", out, in.height, in.width, in.channels);
  for (int y = 0; y < in.height; ++y) std::memcpy(out.row(y), in.row(in.height - 1 - y), in.row_size() * sizeof(T));
}

}  // namespace tenon::vision
