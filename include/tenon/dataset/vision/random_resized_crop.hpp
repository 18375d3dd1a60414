// vision::RandomResizedCrop, RandomCropDecodeResize: a random part of an image, brought to one size.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/between.hpp>
#include <tenon/dataset/vision/drawn_place.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/resize.hpp>

namespace tenon::inline TENON_ABI::vision {

/// The part of an image that RandomResizedCrop draws.
struct RandomPart {
  Between scale{0.08f, 1.0f};         ///< its area, in areas of the image
  Between ratio{3.0f / 4, 4.0f / 3};  ///< its width divided by its height; the logarithm is uniform
  int max_attempts = 10;              ///< attempts to find a part that fits into the image; then the center is used
};

/// Used by both transforms: a part of an image of these extents. Source: torchvision's RandomResizedCrop, which
/// MindSpore follows.
inline Rect random_part(int height, int width, const RandomPart& p, Random& random) {
  if (!(p.scale.low > 0 && p.scale.low <= p.scale.high && p.ratio.low > 0 && p.ratio.low <= p.ratio.high))
    throw_error<ValueError>("A random part needs ranges above 0, got scale ", p.scale.low, " .. ", p.scale.high,
                            " and ratio ", p.ratio.low, " .. ", p.ratio.high, ".");
  const double area = double(height) * width;
  for (int attempt = 0; attempt < p.max_attempts; ++attempt) {
    const double wanted = area * double(random.uniform(p.scale.low, p.scale.high));
    const double ratio = std::exp(double(random.uniform(std::log(p.ratio.low), std::log(p.ratio.high))));
    const int w = int(std::lround(std::sqrt(wanted * ratio))), h = int(std::lround(std::sqrt(wanted / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    return detail::drawn_place(height, width, h, w, random);
  }
  const double ratio = double(width) / height;
  int w = width, h = height;
  if (ratio < double(p.ratio.low)) h = std::max(1, std::min(height, int(std::lround(width / double(p.ratio.low)))));
  else if (ratio > double(p.ratio.high))
    w = std::max(1, std::min(width, int(std::lround(height * double(p.ratio.high)))));
  return {(height - h) / 2, (width - w) / 2, h, w};
}

/// A random part of the image, resized to Height x Width.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same dtype [Height, Width, channels]
/// source      MindSpore's RandomResizedCrop
template <int Height, int Width = Height>
struct RandomResizedCrop {
  static_assert(Height >= 1 && Width >= 1, "RandomResizedCrop: an image has 1 or more rows and columns");
  RandomPart part{};
  Inter interpolation = Inter::linear;
  bool antialias = false;

  using takes = detail::Images;
  static constexpr const char* name = "RandomResizedCrop";
  template <class In>
  using result = detail::SizedAs<In, Height, Width>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random& random) const {
    const auto image = detail::image_of(in);
    const Rect r = random_part(image.height, image.width, part, random);
    resize(image, detail::room_for(out, Height, Width), {interpolation, antialias, box_of(r)});
  }
};

/// Decode and RandomResizedCrop in one. It decodes only the necessary part of a JPEG file, with the same pixels as
/// Decode. `.scaled = true`: at 1/2, 1/4 or 1/8 of its size, where the part still has as many pixels as the result.
///
/// scaled      other pixel values than decoding in full (DecodeOptions::eighths), in less time for large images
///
/// column      uint8 [any], the bytes of a file
/// result      uint8 [Height, Width, 3]
/// throws      as Decode
/// source      MindSpore's RandomCropDecodeResize
template <int Height, int Width = Height>
struct RandomCropDecodeResize {
  static_assert(Height >= 1 && Width >= 1, "RandomCropDecodeResize: an image has 1 or more rows and columns");
  RandomPart part{};
  Inter interpolation = Inter::linear;
  bool antialias = false;
  bool scaled = false;
  std::int64_t max_pixels = DecodeOptions{}.max_pixels;
  bool upright = true;

  using takes = detail::Files;
  static constexpr const char* name = "RandomCropDecodeResize";
  template <class In>
  using result = detail::ColumnOf<std::uint8_t, Height, Width, 3>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random& random) const {
    const std::string_view bytes = detail::bytes_of(in);
    const auto room = detail::room_for(out, Height, Width);
    if (is_jpeg(bytes)) return decode_part(bytes, room, random);
    const io::Pixels pixels = decode(bytes, {3, max_pixels, upright});
    const Rect r = random_part(pixels.height, pixels.width, part, random);
    resize(view(pixels), room, {interpolation, antialias, box_of(r)});
  }

 private:
  void decode_part(std::string_view bytes, ImageView<std::uint8_t> out, Random& random) const {
    JpegDecoder file(bytes, {3, max_pixels, upright});
    const ImageInfo whole = file.info();
    const Rect r = random_part(whole.height, whole.width, part, random);
    int eighths = 8;
    while (scaled && eighths > 1 && r.height * eighths >= 16 * Height && r.width * eighths >= 16 * Width) eighths /= 2;
    if (eighths == 8) return resize_part(file, r, box_of({0, 0, r.height, r.width}), out);
    JpegDecoder smaller(bytes, {3, max_pixels, upright, eighths});
    const double down = double(smaller.info().height) / whole.height,
                 across = double(smaller.info().width) / whole.width;
    const Box box{r.top * down, r.left * across, r.height * down, r.width * across};
    const int top = int(box.top), left = int(box.left),
              bottom = std::min(smaller.info().height, int(std::ceil(box.top + box.height - 1e-6))),
              right = std::min(smaller.info().width, int(std::ceil(box.left + box.width - 1e-6)));
    resize_part(
        smaller, {top, left, bottom - top, right - left},
        {box.top - top, box.left - left, std::min(box.height, bottom - box.top), std::min(box.width, right - box.left)},
        out);
  }
  void resize_part(JpegDecoder& file, const Rect& r, const Box& box, ImageView<std::uint8_t> out) const {
    ImageView<std::uint8_t> decoded{nullptr, r.height, r.width, 3};
    const auto memory = std::make_unique_for_overwrite<std::uint8_t[]>(decoded.size());
    decoded.data = memory.get();
    file.decode(decoded, r);
    resize(decoded, out, {interpolation, antialias, box});
  }
};

}  // namespace tenon::vision
