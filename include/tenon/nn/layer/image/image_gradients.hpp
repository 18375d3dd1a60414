// Differences of neighbouring pixels as a layer.
#pragma once
#include <tuple>

#include <tenon/nn/cell.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The differences of pixels along columns and along rows: `const auto [dy, dx] = gradients(images);`
///
/// x           [n, C, H, W] with H and W of 2 or more; any dtype but bool
/// results     as x: dy[.., i, j] = x[.., i + 1, j] - x[.., i, j], 0 in the last row; dx the same for columns
/// source      MindSpore nn.ImageGradients
struct ImageGradients : Cell<ImageGradients> {
  constexpr auto construct(const ops::Operand auto& x) const {
    using namespace ops;
    const auto down = sub(slice<-2, Part{.begin = 1}>(x), slice<-2, Part{.end = -1}>(x));
    const auto right = sub(slice<-1, Part{.begin = 1}>(x), slice<-1, Part{.end = -1}>(x));
    return std::tuple{pad<Margin{}, Margin{}, Margin{0, 1}>(down),
                      pad<Margin{}, Margin{}, Margin{}, Margin{0, 1}>(right)};
  }
};

}  // namespace tenon::nn
