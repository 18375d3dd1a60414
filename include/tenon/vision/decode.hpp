// Decodes an image, JPEG or PNG, as its first bytes say.
#pragma once
#include <string_view>

#include <tenon/vision/jpeg.hpp>
#include <tenon/vision/png.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {
[[noreturn, gnu::cold]] inline void refuse_format(std::string_view bytes) {
  std::string begin;
  for (const char c : bytes.substr(0, 4)) {
    constexpr const char* digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    begin += begin.empty() ? "" : " ";
    begin += digits[byte >> 4];
    begin += digits[byte & 15];
  }
  throw_error<RuntimeError>("Cannot decode an image of ", bytes.size(), " bytes: it is neither a JPEG nor a PNG file",
                            begin.empty() ? "" : ", which begin with ff d8 ff and 89 50 4e 47; this one begins with ",
                            begin, ".");
}
}  // namespace detail

/// The extents that decode will give an image, from its header.
/// Throws RuntimeError if the bytes are neither JPEG nor PNG or are damaged, ValueError if it has too many pixels.
inline ImageInfo image_info(std::string_view bytes, const DecodeOptions& options = {}) {
  if (is_jpeg(bytes)) return JpegDecoder(bytes, options).info();
  if (is_png(bytes)) return PngDecoder(bytes, options).info();
  detail::refuse_format(bytes);
}

/// Decodes an image: `room(height, width)` returns where its pixels go, options.channels each.
/// Throws as image_info, and RuntimeError if the data is cut off or damaged.
template <class Room>
void decode_into(std::string_view bytes, const DecodeOptions& options, Room room) {
  const auto decode_by = [&](auto&& decoder) {
    const ImageInfo& info = decoder.info();
    decoder.decode({room(info.height, info.width), info.height, info.width, options.channels});
  };
  if (is_jpeg(bytes)) decode_by(JpegDecoder(bytes, options));
  else if (is_png(bytes)) decode_by(PngDecoder(bytes, options));
  else detail::refuse_format(bytes);
}

/// The image, decoded. Throws as decode_into. Source: MindSpore's Decode.
inline io::Pixels decode(std::string_view bytes, const DecodeOptions& options = {}) {
  io::Pixels pixels;
  decode_into(bytes, options, [&](int height, int width) {
    pixels = {height, width, options.channels, {}};
    pixels.bytes.resize(view(pixels).size());
    return pixels.bytes.data();
  });
  return pixels;
}

}  // namespace tenon::vision
