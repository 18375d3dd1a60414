// The random position of a part of an image.
#pragma once
#include <cstdint>

#include <tenon/core/random/philox.hpp>
#include <tenon/vision/image_view.hpp>

namespace tenon::inline TENON_ABI::vision::detail {

/// A part of h x w pixels of an image of height x width, which is not smaller; each place is as likely.
inline Rect drawn_place(int height, int width, int h, int w, Random& random) {
  const int top = int(random.below(std::uint64_t(height - h + 1))),
            left = int(random.below(std::uint64_t(width - w + 1)));
  return {top, left, h, w};
}

}  // namespace tenon::vision::detail
