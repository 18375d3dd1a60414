// Pooling and its gradients: a thread per element, of averages of large windows a half warp.
#pragma once
#include <tenon/backend/cpu/pool/large_window.hpp>
#include <tenon/backend/cpu/pool/pool2d_kernel.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/reduce/tree.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// Which window of a plane an element of the result is, or which pixel.
struct PoolPosition {
  long plane;
  int row, column;
  TENON_DEVICE constexpr PoolPosition(long i, long height, long width)
      : plane(i / (height * width)),
        row(int(i - plane * (height * width)) / int(width)),
        column(int(i - plane * (height * width)) % int(width)) {}
};

/// The elements of a window in row-major order: body(place in the window, value).
template <class T, class Body>
__device__ void each_in_window(const Pool2dSizes& s, const PoolPosition& at, const T* plane, Body body) {
  const int top = at.row * s.stride_h - s.pad_top, left = at.column * s.stride_w - s.pad_left, h = int(s.h),
            w = int(s.w);
  for (int r = 0; r < s.kh; ++r)
    for (int k = 0; k < s.kw; ++k) {
      const int y = top + r, x = left + k;
      if (unsigned(y) < unsigned(h) && unsigned(x) < unsigned(w))
        body(r * s.kw + k, static_cast<Compute<T>>(plane[y * w + x]));
    }
}
/// The windows that hold a pixel in row-major order: body(row and column of the window, place of the pixel in it).
template <class Body>
__device__ void each_window(const Pool2dSizes& s, const PoolPosition& pixel, Body body) {
  const int y = pixel.row + s.pad_top, x = pixel.column + s.pad_left;
  const int first_i = y < s.kh ? 0 : (y - s.kh) / s.stride_h + 1, last_i = y / s.stride_h,
            first_j = x < s.kw ? 0 : (x - s.kw) / s.stride_w + 1, last_j = x / s.stride_w;
  for (int i = first_i; i <= last_i && i < s.oh; ++i)
    for (int j = first_j; j <= last_j && j < s.ow; ++j) body(i, j, (y - i * s.stride_h) * s.kw + (x - j * s.stride_w));
}

struct MaxPoolElement {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    constexpr Pool2dSizes s = PoolKernel<MaxPool, false>::one_sample<C>;
    const PoolPosition at(i, s.oh, s.ow);
    Compute<T> best{};
    int place = -1;
    each_in_window(s, at, a.template operand<T>(0) + at.plane * s.h * s.w, [&](int own, Compute<T> value) {
      if (place < 0 || kernel::detail::takes_over(value, best)) best = value, place = own;
    });
    a.template result<T>()[i] = static_cast<T>(best);
    if constexpr (has_result<C, 1>) {
      auto* const places = result_of<C, 1>(a);
      places[i] = static_cast<std::remove_pointer_t<decltype(result_of<C, 1>(a))>>(place);
    }
  }
};

/// Operands places, dy.
struct MaxPoolGradientElement {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    using A = Compute<T>;
    constexpr Pool2dSizes s = PoolKernel<MaxPoolGradient, true>::one_sample<C>;
    constexpr bool one_window = std::is_floating_point_v<T> && kernel::detail::are_2x2<T>(s);  // it may send back -0
    constexpr long channels = C::result[1];
    const PoolPosition at(i, s.h, s.w);
    const auto* const places = a.template operand<typename C::template Operand<0>>(0) + at.plane * s.oh * s.ow;
    const T* const dy = a.template operand<T>(1) + at.plane * s.oh * s.ow;
    A sum(0);
    each_window(s, at, [&](int row, int column, int place) {
      const int from = row * int(s.ow) + column;
      if (places[from] != place) return;
      const A own = static_cast<A>(dy[from]);
      sum = one_window ? own + A(-0.0f) : sum + own;
    });
    store_result<C>(a, i, at.plane % channels, static_cast<T>(sum));
  }
  /// The same for all elements of window i, where windows lie side by side and cover the planes.
  template <class C>
  __device__ static void window(const Arguments& a, int i) {
    using T = typename C::Result;
    using A = Compute<T>;
    constexpr Pool2dSizes s = PoolKernel<MaxPoolGradient, true>::one_sample<C>;
    constexpr bool one_window = std::is_floating_point_v<T> && kernel::detail::are_2x2<T>(s);
    constexpr int ow = int(s.ow), oh = int(s.oh), w = int(s.w), h = int(s.h), channels = int(C::result[1]);
    const int place = a.template operand<typename C::template Operand<0>>(0)[i], plane = i / (oh * ow),
              first = (plane * h + i / ow % oh * s.kh) * w + i % ow * s.kw;
    const A own = static_cast<A>(a.template operand<T>(1)[i]), taken = one_window ? own + A(-0.0f) : A(0) + own;
#pragma unroll
    for (int r = 0; r < s.kh; ++r)
#pragma unroll
      for (int k = 0; k < s.kw; ++k)
        store_result<C>(a, first + r * w + k, plane % channels, static_cast<T>(place == r * s.kw + k ? taken : A(0)));
  }
};

/// What an average divides by.
template <class C>
__device__ long pool_divisor(const Pool2dSizes& s, long i, long j) {
  constexpr bool with_padding = C::config().count_include_pad != 0;
  return kernel::detail::divisor(s, kernel::detail::window(s, i, j), with_padding);
}
struct AvgPoolElement {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    using A = Compute<T>;
    constexpr Pool2dSizes s = PoolKernel<AvgPool<false>, false>::one_sample<C>;
    const PoolPosition at(i, s.oh, s.ow);
    A sum(0);
    each_in_window(s, at, a.template operand<T>(0) + at.plane * s.h * s.w, [&](int, A value) { sum = sum + value; });
    a.template result<T>()[i] = static_cast<T>(sum / static_cast<A>(pool_divisor<C>(s, at.row, at.column)));
  }
};
/// Averages of large windows: a half warp per window, whose lanes add up chains as trees.
template <class C>
struct LargeAverages {
  using T = typename C::Result;
  using A = Compute<T>;
  static constexpr int threads = 128, windows = threads / lanes;
  static long blocks(long n) { return blocks_for(result_count<C>(n), windows); }
  __device__ static void block(const Arguments& a) {
    constexpr Pool2dSizes s = PoolKernel<AvgPool<false>, false>::one_sample<C>;
    const long count = result_count<C>(a.n), own = long(blockIdx.x) * windows + row_of_block(),
               i = own < count ? own : count - 1;  // all lanes of a warp meet in fold_half_warp
    const PoolPosition at(i, s.oh, s.ow);
    const auto window = kernel::detail::window(s, at.row, at.column);
    const auto of = kernel::detail::runs_of(s, window);
    const T* run = a.operand<T>(0) + (at.plane * s.h + window.top) * s.w + window.left;
    const bool one = of.length == 1, is_long = one || of.runs * ((of.length + lanes - 1) / lanes) > lane_chain;
    Tree<A> tree;
    A chain(0);
    long rows = 0;
    for (long r = 0; r < of.runs; ++r, run += s.w)
      for (long place = lane_of_row(); place - lane_of_row() < of.length; place += lanes) {
        chain = chain + (place < of.length ? static_cast<A>(run[place]) : A(0));
        if (is_long && ++rows % lane_chain == 0) tree.add(chain, Add()), chain = A(0);
      }
    const A lane = is_long ? tree.finish(chain, Add()) : chain, all = fold_half_warp(lane, Add());
    if (own < count && lane_of_row() == 0)
      a.result<T>()[i] = static_cast<T>((one ? lane : all) / static_cast<A>(pool_divisor<C>(s, at.row, at.column)));
  }
};
/// Operand dy.
struct AvgPoolGradientElement {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    using A = Compute<T>;
    constexpr Pool2dSizes s = PoolKernel<AvgPool<true>, true>::one_sample<C>;
    const PoolPosition at(i, s.h, s.w);
    const T* const dy = a.template operand<T>(0) + at.plane * s.oh * s.ow;
    A sum(0);
    each_window(s, at, [&](int row, int column, int) {
      sum = sum + static_cast<A>(dy[row * int(s.ow) + column]) / static_cast<A>(pool_divisor<C>(s, row, column));
    });
    a.template result<T>()[i] = static_cast<T>(sum);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::MaxPool2d> : kernel::cuda::Elements<kernel::cuda::MaxPoolElement> {};
template <>
struct Kernel<Cuda, ops::MaxPool2dGrad> : kernel::cuda::Elements<kernel::cuda::MaxPoolGradientElement> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1};
};
template <>
struct Kernel<Cuda, ops::AvgPool2d> : kernel::cuda::Whole {
  template <class C>
  static void run(const Arguments& a, long, long) {
    constexpr bool large = kernel::detail::is_large(kernel::PoolKernel<kernel::AvgPool<false>, false>::one_sample<C>);
    using Windows = kernel::cuda::PerElement<kernel::cuda::AvgPoolElement, C>;
    kernel::cuda::launch_blocks<std::conditional_t<large, kernel::cuda::LargeAverages<C>, Windows>>(a);
  }
};
template <>
struct Kernel<Cuda, ops::AvgPool2dGrad> : kernel::cuda::Elements<kernel::cuda::AvgPoolGradientElement> {};

}  // namespace tenon
TENON_EXACT_END
