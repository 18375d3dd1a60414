// vision::RandomHorizontalFlip, RandomVerticalFlip: mirrored images.
#pragma once
#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/flip.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {
template <class In, class Flip>
void flip_sometimes(const SampleView<In>& in, const SampleSlot<In>& out, float prob, Random& random, Flip flip) {
  const auto image = image_of(in);
  if (!(prob >= 0 && prob <= 1))
    throw_error<ValueError>("The probability of a flip is ", prob, "; it must be in 0 .. 1.");
  if (random.uniform() < prob) flip(image, room_for(out, image.height, image.width));
  else copied(in, out);
}
}  // namespace detail

/// Flips an image horizontally with probability `prob`.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same
/// throws      ValueError for a probability that is not in 0 .. 1
/// source      MindSpore's RandomHorizontalFlip
struct RandomHorizontalFlip {
  float prob = 0.5f;

  using takes = detail::Images;
  static constexpr const char* name = "RandomHorizontalFlip";
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<In> out, Random& random) const {
    detail::flip_sometimes(in, out, prob, random, [](auto image, auto room) { flip_horizontal(image, room); });
  }
};

/// Flips an image vertically with probability `prob`.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same
/// throws      ValueError for a probability that is not in 0 .. 1
/// source      MindSpore's RandomVerticalFlip
struct RandomVerticalFlip {
  float prob = 0.5f;

  using takes = detail::Images;
  static constexpr const char* name = "RandomVerticalFlip";
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<In> out, Random& random) const {
    detail::flip_sometimes(in, out, prob, random, [](auto image, auto room) { flip_vertical(image, room); });
  }
};

}  // namespace tenon::vision
