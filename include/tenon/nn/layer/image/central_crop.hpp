// The middle of images as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/slice.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The middle part of images: `CentralCrop<0.5f>` takes half of the height and of the width.
///
/// x           [n, C, H, W] or [C, H, W]; any dtype
/// result      without floor((H - H fraction) / 2) rows and floor((W - W fraction) / 2) columns on each side
/// source      MindSpore nn.CentralCrop
template <float fraction>
struct CentralCrop : Cell<CentralCrop<fraction>> {
  static_assert(fraction > 0 && fraction <= 1, "CentralCrop<fraction> needs a fraction above 0, at most 1");
  static constexpr int border(int extent) { return int((float(extent) - float(extent) * fraction) / 2); }

  template <ops::Operand X>
  constexpr auto construct(const X& x) const {
    if constexpr (is_broken<X>) return x;
    else {
      constexpr TensorType t = X::dims;
      static_assert(t.rank == 3 || t.rank == 4, "CentralCrop needs images [n, C, H, W] or [C, H, W]");
      constexpr int top = border(t[t.rank - 2]), left = border(t[t.rank - 1]);
      return ops::slice<-1, Part{left, t[t.rank - 1] - left}>(ops::slice<-2, Part{top, t[t.rank - 2] - top}>(x));
    }
  }
};

}  // namespace tenon::nn
