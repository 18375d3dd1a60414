// vision::CutOut: squares of an image become black.
#pragma once
#include <algorithm>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/image_column.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Makes `num_patches` squares of `length` pixels black; their centers are anywhere in the image, and the squares may
/// extend beyond it.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same
/// throws      ValueError unless length and num_patches are 1 or more
/// source      MindSpore's CutOut; DeVries and Taylor, arXiv 1708.04552
struct CutOut {
  int length;
  int num_patches = 1;

  using takes = detail::Images;
  static constexpr const char* name = "CutOut";
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<In> out, Random& random) const {
    if (length < 1 || num_patches < 1)
      throw_error<ValueError>("CutOut: ", num_patches, " patches of ", length, " pixels; both must be 1 or more.");
    const auto room = detail::copied(in, out);
    for (int patch = 0; patch < num_patches; ++patch) {
      const long y = long(random.below(std::uint64_t(room.height))) - length / 2,
                 x = long(random.below(std::uint64_t(room.width))) - length / 2;
      const int top = int(std::max(y, 0L)), bottom = int(std::min<long>(y + length, room.height)),
                left = int(std::max(x, 0L)), right = int(std::min<long>(x + length, room.width));
      for (int row = top; row < bottom; ++row)
        std::fill_n(room.at(row, left), std::size_t(right - left) * std::size_t(room.channels), typename In::type(0));
    }
  }
};

}  // namespace tenon::vision
