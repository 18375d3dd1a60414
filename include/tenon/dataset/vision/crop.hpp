// vision::CenterCrop, RandomCrop, Pad: parts of images and images with margins.
#pragma once
#include <algorithm>
#include <memory>
#include <string>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/drawn_place.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/crop.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {
/// Copies a part that may reach beyond the image, what is outside being as Border says.
template <class T>
void crop_or_pad(ImageView<const T> in, const Rect& part, ImageView<T> out, Border border,
                 std::span<const float> fill) {
  const Margins margins{-part.left, -part.top, part.left + part.width - in.width, part.top + part.height - in.height};
  pad(in, margins, out, border, fill);
}
}  // namespace detail

/// Crops the Height x Width pixels in the middle; smaller images get black margins. `CenterCrop<224>` is a square.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same dtype [Height, Width, channels]
/// source      MindSpore's CenterCrop
template <int Height, int Width = Height>
struct CenterCrop {
  static_assert(Height >= 1 && Width >= 1, "CenterCrop: an image has 1 or more rows and columns");
  using takes = detail::Images;
  static constexpr const char* name = "CenterCrop";
  static constexpr bool random = false;
  template <class In>
  using result = detail::SizedAs<In, Height, Width>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    const auto image = detail::image_of(in);
    const Rect part = center_of(image.height, image.width, Height, Width);
    detail::crop_or_pad(image, part, detail::room_for(out, Height, Width), Border::constant, {});
  }
};

/// Crops Height x Width pixels at a random position of the padded image.
///
/// padding        pixels added on each side first
/// pad_if_needed  adds the missing pixels of a smaller image on both sides; otherwise such an image is an error
/// border, fill   the value of these pixels
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same dtype [Height, Width, channels]
/// throws      ValueError if an image is too small
/// source      MindSpore's and torchvision's RandomCrop
template <int Height, int Width = Height>
struct RandomCrop {
  static_assert(Height >= 1 && Width >= 1, "RandomCrop: an image has 1 or more rows and columns");
  Margins padding{};
  bool pad_if_needed = false;
  Border border = Border::constant;
  float fill = 0;

  using takes = detail::Images;
  static constexpr const char* name = "RandomCrop";
  template <class In>
  using result = detail::SizedAs<In, Height, Width>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random& random) const {
    const auto image = detail::image_of(in);
    Margins margins = padding;
    if (pad_if_needed) {
      const int rows = std::max(0, Height - image.height - padding.top - padding.bottom),
                columns = std::max(0, Width - image.width - padding.left - padding.right);
      margins = {padding.left + columns, padding.top + rows, padding.right + columns, padding.bottom + rows};
    }
    const int height = image.height + margins.top + margins.bottom, width = image.width + margins.left + margins.right;
    if (height < Height || width < Width)
      throw_error<ValueError>("RandomCrop<", Height, ", ", Width, ">: the image has ", image.height, " x ", image.width,
                              " pixels, with its padding ", height, " x ", width,
                              ". Resize it first, or set pad_if_needed.");
    Rect part = detail::drawn_place(height, width, Height, Width, random);
    part.top -= margins.top;
    part.left -= margins.left;
    detail::crop_or_pad(image, part, detail::room_for(out, Height, Width), border, {&fill, 1});
  }
};

/// Margins of this many pixels: `Pad<2>` on each side, `Pad<2, 3>` left and right 2, top and bottom 3, or Left, Top,
/// Right, Bottom.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same dtype, with larger height and width
/// source      MindSpore's Pad
template <int... Pixels>
struct Pad {
  static_assert(sizeof...(Pixels) == 1 || sizeof...(Pixels) == 2 || sizeof...(Pixels) == 4,
                "Pad<all>, Pad<left and right, top and bottom>, or Pad<left, top, right, bottom>");
  static_assert(((Pixels >= 0) && ...), "Pad: a margin has 0 or more pixels");
  Border border = Border::constant;
  float fill = 0;

  using takes = detail::Images;
  static constexpr const char* name = "Pad";
  static constexpr bool random = false;
  static constexpr Margins margins = [] {
    constexpr int p[]{Pixels...};
    if constexpr (sizeof...(Pixels) == 1) return Margins{p[0], p[0], p[0], p[0]};
    else if constexpr (sizeof...(Pixels) == 2) return Margins{p[0], p[1], p[0], p[1]};
    else return Margins{p[0], p[1], p[2], p[3]};
  }();
  static constexpr int padded(int extent, int more) { return extent < 0 ? extent : extent + more; }
  template <class In>
  using result =
      detail::ColumnOf<typename In::type, padded(detail::ImageColumn<In>::height, margins.top + margins.bottom),
                       padded(detail::ImageColumn<In>::width, margins.left + margins.right),
                       detail::ImageColumn<In>::channels>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    const auto image = detail::image_of(in);
    pad(image, margins,
        detail::room_for(out, image.height + margins.top + margins.bottom, image.width + margins.left + margins.right),
        border, {&fill, 1});
  }
};

}  // namespace tenon::vision
