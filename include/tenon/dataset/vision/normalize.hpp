// vision::Normalize, Rescale, HWC2CHW, NormalizeToCHW: pixels as the numbers that a network expects.
#pragma once
#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/normalize.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {
inline void check_statistics(const char* transform, const float* std, int channels) {
  for (int c = 0; c < channels; ++c)
    if (!(std[c] > 0))
      throw_error<ValueError>(transform, ": std of channel ", c, " is ", std[c],
                              ", it must be above 0; the images have ", channels, " channels.");
}
}  // namespace detail

/// (x - mean) / std, with a mean and a std for each channel in the units of the pixels: `Normalize{{123.7f, 116.3f,
/// 103.5f}, {58.4f, 57.1f, 57.4f}}` for the uint8 images that Decode makes.
///
/// column      uint8 or float32 [height, width, channels]
/// result      float32 of the same shape
/// throws      ValueError unless there is a std above 0 for each channel
/// source      MindSpore's Normalize
struct Normalize {
  float mean[4];
  float std[4];

  using takes = detail::Images;
  static constexpr const char* name = "Normalize";
  static constexpr bool random = false;
  template <class In>
  using result = dataset::Column<float, typename In::shape>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    const auto image = detail::image_of(in);
    detail::check_statistics(name, std, image.channels);
    normalize(image, {{mean[0], mean[1], mean[2], mean[3]}, {std[0], std[1], std[2], std[3]}},
              detail::room_for(out, image.height, image.width).data);
  }
};

/// Normalize and HWC2CHW in one transform, which takes half the time; before batch it writes directly into the batch.
///
/// column      uint8 or float32 [height, width, channels]
/// result      float32 [channels, height, width]
struct NormalizeToCHW {
  float mean[4];
  float std[4];

  using takes = detail::Images;
  static constexpr const char* name = "NormalizeToCHW";
  static constexpr bool random = false;
  template <class In>
  using result = detail::ColumnOf<float, detail::ImageColumn<In>::channels, detail::ImageColumn<In>::height,
                                  detail::ImageColumn<In>::width>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    const auto image = detail::image_of(in);
    detail::check_statistics(name, std, image.channels);
    normalize_to_chw(image, {{mean[0], mean[1], mean[2], mean[3]}, {std[0], std[1], std[2], std[3]}},
                     out.resize(image.channels, image.height, image.width));
  }
};

/// x * rescale + shift: `Rescale{}` maps bytes to numbers from 0 to 1.
///
/// column      uint8 or float32 of any shape
/// result      float32 of the same shape
/// source      MindSpore's Rescale
struct Rescale {
  float rescale = 1 / 255.0f;
  float shift = 0;

  using transforms_samples = void;
  static constexpr const char* name = "Rescale";
  static constexpr bool random = false;
  template <class In>
  static constexpr Sentence wrong() {
    Sentence s;
    if (std::is_same_v<typename In::type, std::uint8_t> || std::is_same_v<typename In::type, float>) return s;
    s << "vision::Rescale takes uint8 or float32, ";
    detail::describe_column<In>(s);
    return s;
  }
  template <class In>
  using result = dataset::Column<float, typename In::shape>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    vision::rescale(in.values(), rescale, shift, out.resize(in.extents()));
  }
};

/// Moves the channels to the front: [height, width, channels] becomes [channels, height, width].
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same dtype [channels, height, width]
/// source      MindSpore's HWC2CHW
struct HWC2CHW {
  using takes = detail::Images;
  static constexpr const char* name = "HWC2CHW";
  static constexpr bool random = false;
  template <class In>
  using result = detail::ColumnOf<typename In::type, detail::ImageColumn<In>::channels, detail::ImageColumn<In>::height,
                                  detail::ImageColumn<In>::width>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random&) const {
    const auto image = detail::image_of(in);
    hwc_to_chw(image, out.resize(image.channels, image.height, image.width));
  }
};

}  // namespace tenon::vision
