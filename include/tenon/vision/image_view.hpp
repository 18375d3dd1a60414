// An image in memory owned elsewhere, and rectangles in it.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <tenon/core/error.hpp>
#include <tenon/io/png.hpp>

namespace tenon::inline TENON_ABI::vision {

/// An image: row by row without gaps, the channels of a pixel together (HWC). Channels are gray; gray, alpha; red,
/// green, blue; or these and alpha. T is uint8_t or float, const where the image is only read.
template <class T>
struct ImageView {
  T* data = nullptr;
  int height = 0, width = 0, channels = 0;

  constexpr std::size_t row_size() const { return std::size_t(width) * std::size_t(channels); }
  constexpr std::size_t size() const { return row_size() * std::size_t(height); }
  constexpr T* row(int y) const { return data + std::size_t(y) * row_size(); }
  constexpr T* at(int y, int x) const { return row(y) + std::size_t(x) * std::size_t(channels); }

  template <class Const>
  requires(std::is_same_v<Const, const T> && !std::is_const_v<T>)
  constexpr operator ImageView<Const>() const {
    return {data, height, width, channels};
  }
};

/// The pixels that an object owns, as a view.
inline ImageView<std::uint8_t> view(io::Pixels& pixels) {
  return {pixels.bytes.data(), pixels.height, pixels.width, pixels.channels};
}
inline ImageView<const std::uint8_t> view(const io::Pixels& pixels) {
  return {pixels.bytes.data(), pixels.height, pixels.width, pixels.channels};
}

/// Images of more pixels are made only where a program asks for them: a file of a few bytes can claim 65535 x 65535.
/// The number is that at which PIL gives up.
inline constexpr std::int64_t most_pixels = 178'956'970;

/// Height and width, for functions that return both.
struct ImageSize {
  int height = 0, width = 0;
  friend constexpr bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// Part of an image, in pixels.
struct Rect {
  int top = 0, left = 0, height = 0, width = 0;
  friend constexpr bool operator==(const Rect&, const Rect&) = default;
};

namespace detail {
/// Throws ValueError unless the image has pixels.
template <class T>
void check_image(const char* operation, const ImageView<T>& image) {
  if (image.height < 1 || image.width < 1 || image.channels < 1 || image.channels > 4)
    throw_error<ValueError>(operation, ": an image of ", image.height, " x ", image.width, " pixels with ",
                            image.channels, " channels; it needs 1 or more pixels and 1 to 4 channels.");
}
/// Throws ValueError unless the result has these extents.
template <class T>
void check_result(const char* operation, const ImageView<T>& out, int height, int width, int channels) {
  if (out.height != height || out.width != width || out.channels != channels)
    throw_error<ValueError>(operation, ": the result is ", out.height, " x ", out.width, " with ", out.channels,
                            " channels, it must be ", height, " x ", width, " with ", channels, ".");
}
/// Throws ValueError unless the rectangle has pixels and lies inside of the image.
template <class T>
void check_inside(const char* operation, const ImageView<T>& image, const Rect& r) {
  if (r.top < 0 || r.left < 0 || r.height < 1 || r.width < 1 || r.height > image.height - r.top ||
      r.width > image.width - r.left)
    throw_error<ValueError>(operation, ": the part of ", r.height, " x ", r.width, " pixels at row ", r.top,
                            ", column ", r.left, " is not inside of an image of ", image.height, " x ", image.width,
                            " pixels.");
}
/// The colour that `fill` is for images of this many channels: a number for each, one for all, or none for 0. Of bytes
/// it is brought into 0 to 255, a fraction cut off; NaN becomes 0. Throws ValueError for another count.
template <class T>
std::array<T, 4> colour_of(const char* operation, std::span<const float> fill, int channels) {
  if (fill.size() > 1 && fill.size() != std::size_t(channels))
    throw_error<ValueError>(operation, ": the fill has ", fill.size(), " numbers for ", channels, " channels.");
  std::array<T, 4> colour{};
  for (std::size_t c = 0; c < std::size_t(channels) && !fill.empty(); ++c) {
    const float x = fill[fill.size() == 1 ? 0 : c];
    if constexpr (std::is_same_v<T, float>) colour[c] = x;
    else colour[c] = static_cast<T>(x > 0 ? std::min(x, 255.0f) : 0.0f);
  }
  return colour;
}
/// Calls act with the number of channels as a type.
template <class Act>
void with_channels(int channels, Act act) {
  switch (channels) {
    case 1: return act(std::integral_constant<int, 1>{});
    case 2: return act(std::integral_constant<int, 2>{});
    case 3: return act(std::integral_constant<int, 3>{});
    default: return act(std::integral_constant<int, 4>{});
  }
}
}  // namespace detail

}  // namespace tenon::vision
