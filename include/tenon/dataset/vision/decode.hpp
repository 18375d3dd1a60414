// vision::Decode: decodes the bytes of image files.
#pragma once
#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/decode.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Decodes JPEG and PNG files to red, green, and blue (Channels = 3), or to gray (1). The options are those of
/// DecodeOptions.
///
/// column      uint8 [any], the bytes of a file
/// result      uint8 [any, any, Channels]
/// throws      RuntimeError for a file that is no image, damaged, or truncated; ValueError for too many pixels
/// source      MindSpore's Decode; it does not rotate images by their EXIF data, as with `.upright = false`
template <int Channels>
struct DecodeTo {
  static_assert(Channels == 1 || Channels == 3, "DecodeTo<1> makes gray images, DecodeTo<3> coloured ones");
  std::int64_t max_pixels = DecodeOptions{}.max_pixels;
  bool upright = true;
  int eighths = 8;

  using takes = detail::Files;
  static constexpr const char* name = "Decode";
  static constexpr bool random = false;
  template <class In>
  using result = detail::ColumnOf<std::uint8_t, dataset::any, dataset::any, Channels>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    decode_into(detail::bytes_of(in), {Channels, max_pixels, upright, eighths},
                [&](int height, int width) { return detail::room_for(out, height, width).data; });
  }
};
using Decode = DecodeTo<3>;

}  // namespace tenon::vision
