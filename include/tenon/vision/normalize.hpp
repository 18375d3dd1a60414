// Pixels as the numbers that a network wants: normalized, rescaled, channels first.
#pragma once
#include <cstddef>
#include <span>
#include <type_traits>

#include <tenon/vision/image_view.hpp>
#include <tenon/vision/pixel_shuffle.hpp>

namespace tenon::inline TENON_ABI::vision {

/// y = (x - mean) / std, a mean and a std for each channel, in the units of the pixels: 0.485 of a range of 0 to 1 is
/// 0.485 * 255 here, as in MindSpore. Computed as (x - mean) times 1 / std.
struct ChannelStatistics {
  float mean[4]{0, 0, 0, 0};
  float std[4]{1, 1, 1, 1};
};

namespace detail {

TENON_EXACT_BEGIN
/// this many pixels at a time: a loop of a known length has vectors at -O2, too
inline constexpr int pixel_block = 32;

/// The channels of Count pixels, each beside itself.
template <int Channels, int Count, class T>
[[gnu::always_inline]] inline void split_channels(const T* __restrict in, float (&plane)[Channels][Count]) {
  if constexpr (Channels == 3 && std::is_same_v<T, std::uint8_t>) {
    static_assert(Count % 16 == 0);
    std::uint8_t bytes[Channels][Count];
    for (int i = 0; i < Count; i += 16) {
      channel_of_16<0>(in + 3 * i).store(bytes[0] + i);
      channel_of_16<1>(in + 3 * i).store(bytes[1] + i);
      channel_of_16<2>(in + 3 * i).store(bytes[2] + i);
    }
    for (int c = 0; c < Channels; ++c)
      for (int i = 0; i < Count; ++i) plane[c][i] = static_cast<float>(bytes[c][i]);
  } else {
    for (int c = 0; c < Channels; ++c)
      for (int i = 0; i < Count; ++i) plane[c][i] = static_cast<float>(in[i * Channels + c]);
  }
}

template <int Channels, class T>
void normalize_planes(const T* in, std::size_t count, const ChannelStatistics& s, float* out) {
  float mean[Channels], factor[Channels];
  for (int c = 0; c < Channels; ++c) mean[c] = s.mean[c], factor[c] = 1 / s.std[c];
  std::size_t i = 0;
  for (; i + pixel_block <= count; i += pixel_block) {
    float plane[Channels][pixel_block];
    split_channels<Channels>(in + i * Channels, plane);
    for (int c = 0; c < Channels; ++c) {
      float* __restrict to = out + std::size_t(c) * count + i;
      for (int k = 0; k < pixel_block; ++k) to[k] = (plane[c][k] - mean[c]) * factor[c];
    }
  }
  for (; i < count; ++i)
    for (int c = 0; c < Channels; ++c)
      out[std::size_t(c) * count + i] = (static_cast<float>(in[i * Channels + std::size_t(c)]) - mean[c]) * factor[c];
}

template <int Channels, class T>
void normalize_pixels(const T* __restrict in, std::size_t count, const ChannelStatistics& s, float* __restrict out) {
  constexpr int block = Channels * 16;  // begins with channel 0
  float mean[block], factor[block];
  for (int k = 0; k < block; ++k) mean[k] = s.mean[k % Channels], factor[k] = 1 / s.std[k % Channels];
  const std::size_t all = count * Channels;
  std::size_t i = 0;
  for (; i + block <= all; i += block)
    for (int k = 0; k < block; ++k) out[i + std::size_t(k)] = (float(in[i + std::size_t(k)]) - mean[k]) * factor[k];
  for (std::size_t k = 0; i < all; ++i, ++k) out[i] = (float(in[i]) - mean[k]) * factor[k];
}

template <int Channels, class T>
void split_planes(const T* in, std::size_t count, T* out) {
  std::size_t begin = 0;
  if constexpr (Channels == 3 && sizeof(T) == 1)
    for (; begin + 16 <= count; begin += 16) {
      const auto* from = reinterpret_cast<const std::uint8_t*>(in) + 3 * begin;
      auto* to = reinterpret_cast<std::uint8_t*>(out) + begin;
      channel_of_16<0>(from).store(to);
      channel_of_16<1>(from).store(to + count);
      channel_of_16<2>(from).store(to + 2 * count);
    }
  for (int c = 0; c < Channels; ++c) {
    T* __restrict to = out + std::size_t(c) * count;
    for (std::size_t i = begin; i < count; ++i) to[i] = in[i * Channels + std::size_t(c)];
  }
}
TENON_EXACT_END

}  // namespace detail

/// Normalized pixels in the same order, [height, width, channels] at `out`.
template <class T>
void normalize(ImageView<T> in, const ChannelStatistics& statistics, float* out) {
  detail::check_image("normalize", in);
  detail::with_channels(in.channels, [&](auto channels) {
    detail::normalize_pixels<channels.value>(in.data, std::size_t(in.height) * std::size_t(in.width), statistics, out);
  });
}

/// Normalize and hwc_to_chw in one pass, [channels, height, width] at `out`: straight into a batch.
template <class T>
void normalize_to_chw(ImageView<T> in, const ChannelStatistics& statistics, float* out) {
  detail::check_image("normalize_to_chw", in);
  detail::with_channels(in.channels, [&](auto channels) {
    detail::normalize_planes<channels.value>(in.data, std::size_t(in.height) * std::size_t(in.width), statistics, out);
  });
}

/// Channels first: [height, width, channels] to [channels, height, width] at `out`.
template <class T>
void hwc_to_chw(ImageView<T> in, std::remove_const_t<T>* out) {
  detail::check_image("hwc_to_chw", in);
  detail::with_channels(in.channels, [&](auto channels) {
    detail::split_planes<channels.value>(static_cast<const std::remove_const_t<T>*>(in.data),
                                         std::size_t(in.height) * std::size_t(in.width), out);
  });
}

TENON_EXACT_BEGIN
/// y = x scale + shift. Source: MindSpore's Rescale.
template <class T>
void rescale(std::span<const T> in, float scale, float shift, float* __restrict out) {
  constexpr std::size_t block = 32;
  const T* __restrict from = in.data();
  std::size_t i = 0;
  for (; i + block <= in.size(); i += block)
    for (std::size_t k = 0; k < block; ++k) out[i + k] = float(from[i + k]) * scale + shift;
  for (; i < in.size(); ++i) out[i] = float(from[i]) * scale + shift;
}
TENON_EXACT_END

}  // namespace tenon::vision
