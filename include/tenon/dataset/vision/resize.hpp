// vision::Resize: resizes images to one size, or their shorter sides to one length.
#pragma once
#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/resize.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Resizes images: `Resize<224, 320>` to height 224 and width 320, `Resize<256>` so that the shorter side has 256
/// pixels and the aspect ratio does not change.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same dtype [224, 320, channels]; [any, any, channels] for one number on images of unequal size
/// throws      ValueError for one number on an image so thin that the result would have more than most_pixels
/// source      MindSpore's Resize, with OpenCV's pixels; `.antialias = true` gives PIL's and torchvision's
template <int... Size>
struct Resize {
  static_assert(sizeof...(Size) == 1 || sizeof...(Size) == 2, "Resize<height, width> or Resize<shorter side>");
  static_assert(((Size >= 1) && ...), "Resize: an image has 1 or more rows and columns");
  Inter interpolation = Inter::linear;
  bool antialias = false;

  using takes = detail::Images;
  static constexpr const char* name = "Resize";
  static constexpr bool random = false;
  static constexpr ImageSize size_for(int height, int width) {
    constexpr int asked[]{Size...};
    if constexpr (sizeof...(Size) >= 2) return {asked[0], asked[1]};
    else if (height < 0 || width < 0) return {dataset::any, dataset::any};
    else return size_of_shorter_side(height, width, asked[0]);
  }
  static constexpr int height_for(int height, int width) { return size_for(height, width).height; }
  static constexpr int width_for(int height, int width) { return size_for(height, width).width; }
  template <class In>
  using result =
      detail::ColumnOf<typename In::type, height_for(detail::ImageColumn<In>::height, detail::ImageColumn<In>::width),
                       width_for(detail::ImageColumn<In>::height, detail::ImageColumn<In>::width),
                       detail::ImageColumn<In>::channels>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    const auto image = detail::image_of(in);
    const ImageSize size = size_for(image.height, image.width);
    resize(image, detail::room_for(out, size.height, size.width), {interpolation, antialias});
  }
};

}  // namespace tenon::vision
