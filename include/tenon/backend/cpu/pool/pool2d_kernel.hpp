// The kernels of pooling and its gradients.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cpu/pool/plane_blocks.hpp>
#include <tenon/graph/ir/window_attributes.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPool2dGrad;
struct MaxPool2d;
struct MaxPoolList;
struct AvgPool2dGrad;
struct AvgPool2d;
}  // namespace ops

TENON_EXACT_BEGIN
namespace kernel {
namespace detail {
constexpr Pool2dSizes pool_sizes(const TensorType& x, const ops::Pool2dAttributes& a) {
  return {x.size(0, 1) * x[1], x[2], x[3], a.oh, a.ow, a.kh, a.kw, a.stride_h, a.stride_w, a.top, a.left};
}
}  // namespace detail

/// The kernel of an operator that pools its first operand, x, or whose result is the gradient for x. Pool computes
/// images in both layouts:
///   run<Call, blocks>(sizes, arguments, begin, end)
/// and says how many bytes of workspace it needs for rows, workspace<Call>(sizes of one sample).
template <class Pool, bool gradient>
struct PoolKernel {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};
  static constexpr bool linear_work = true;
  // The sizes of a call are a constant but for the batch.
  template <class Call>
  static constexpr Pool2dSizes one_sample =
      detail::pool_sizes(gradient ? Call::result : Call::operand(0), Call::settings);
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long workspace(long) {
    return Pool::template workspace<Call>(one_sample<Call>);
  }
  // With NCHW16n images the planes of all blocks are the items.
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    constexpr Pool2dSizes s = one_sample<Call>;
    return {whole_blocks(n) / block_samples * Call::result[1], (s.h * s.w + s.oh * s.ow) * block_samples / 4 + 1, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    Pool::template run<Call, false>(sizes<Call>(a.n), a, begin, end);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    Pool::template run<Call, true>(sizes<Call>(a.n), a, begin, end);
  }

 private:
  template <class Call>
  static Pool2dSizes sizes(long n) {
    Pool2dSizes s = one_sample<Call>;
    if constexpr (Call::result.batched()) s.planes *= n;
    return s;
  }
};

struct MaxPool {
  template <class Call>
  static constexpr bool in_blocks(const Pool2dSizes& one) {
    return std::is_same_v<typename Call::Result, float> && !has_result<Call, 1> && detail::max_in_blocks(one);
  }
  template <class Call>
  static constexpr long workspace(const Pool2dSizes& one) {
    return in_blocks<Call>(one) ? pool2d_block_bytes(one) : 0;
  }
  template <class Call, bool blocks>
  static void run(const Pool2dSizes& s, const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const T* const x = a.operand<T>(0);
    T* const y = a.result<T>();
    const auto places = [&] {
      if constexpr (has_result<Call, 1>) return result_of<Call, 1>(a);
      else return no_places;
    }();
    constexpr Pool2dSizes one = PoolKernel<MaxPool, false>::one_sample<Call>;
    // the other ways are not compiled then
    constexpr bool are_2x2 = std::is_floating_point_v<T> && detail::are_2x2<T>(one);
    if constexpr (blocks && are_2x2) return nchw16n_max_pool2d_2x2(s, x, y, places, begin, end);
    else if constexpr (blocks) return nchw16n_max_pool2d(s, x, y, places, begin, end);
    else if constexpr (in_blocks<Call>(one))
      begin = pool2d_in_blocks(s.h * s.w, s.oh * s.ow, x, y, begin, end, a.workspace,
                               [&](const float* from, float* to) { nchw16n_max_pool2d(s, from, to, no_places, 0, 1); });
    if constexpr (!blocks && are_2x2) max_pool2d_2x2(s, x, y, places, begin, end);
    else if constexpr (!blocks) max_pool2d(s, x, y, places, begin, end);
  }
};

/// The mean of each window, or its gradient.
template <bool gradient>
struct AvgPool {
  template <class Call>
  static constexpr bool in_blocks(const Pool2dSizes& one) {
    return std::is_same_v<typename Call::Result, float> &&
           (gradient ? detail::avg_backward_in_blocks(one) : detail::avg_in_blocks(one));
  }
  template <class Call>
  static constexpr long workspace(const Pool2dSizes& one) {
    return in_blocks<Call>(one) ? pool2d_block_bytes(one)
           : gradient           ? long(pool2d_backward_workspace<typename Call::Result>(one))
                                : 0;
  }
  template <class Call, bool blocks>
  static void run(const Pool2dSizes& s, const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr bool with_padding = Call::config().count_include_pad != 0;
    const T* const from = a.operand<T>(0);
    T* const to = a.result<T>();
    [[maybe_unused]] const auto pool = [&](const float* x, float* y, long first, long last) {
      if constexpr (gradient) nchw16n_avg_pool2d_backward(s, x, y, with_padding, first, last);
      else nchw16n_avg_pool2d(s, x, y, with_padding, first, last);
    };
    const long whole = s.h * s.w, windows = s.oh * s.ow;
    if constexpr (blocks) return pool(from, to, begin, end);
    else if constexpr (in_blocks<Call>(PoolKernel<AvgPool, gradient>::template one_sample<Call>))
      begin = pool2d_in_blocks(gradient ? windows : whole, gradient ? whole : windows, from, to, begin, end,
                               a.workspace, [&](const float* x, float* y) { pool(x, y, 0, 1); });
    if constexpr (!blocks && gradient) avg_pool2d_backward(s, from, to, with_padding, begin, end, a.workspace);
    else if constexpr (!blocks) avg_pool2d(s, from, to, with_padding, begin, end);
  }
};

/// The gradient of MaxPool, with an epilogue.
struct MaxPoolGradient {
  template <class Call>
  static constexpr long workspace(const Pool2dSizes& one) {
    return long(pool2d_backward_workspace<typename Call::Result>(one));
  }
  template <class Call, bool blocks>
  static void run(const Pool2dSizes& s, const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const auto* const places = a.operand<typename Call::template Operand<0>>(0);
    const T* const dy = a.operand<T>(1);
    T* const dx = a.result<T>();
    // the other ways are not compiled then
    constexpr bool are_2x2 =
        std::is_floating_point_v<T> && detail::are_2x2<T>(PoolKernel<MaxPoolGradient, true>::one_sample<Call>);
    if constexpr (blocks) {
      constexpr int bands = bands_of<Call>();
      constexpr long elements = Call::result.span(2, 4) * block_samples / bands;
      Pool2dSizes band = s;
      band.h /= bands, band.oh /= bands;
      for (long at = begin * bands; at < end * bands; ++at) {
        if constexpr (are_2x2) nchw16n_max_pool2d_backward_2x2(band, places, dy, dx, at, at + 1);
        else nchw16n_max_pool2d_backward(band, places, dy, dx, at, at + 1);
        finish<Call>(a, at, elements, at / bands);
      }
    } else {
      if constexpr (are_2x2) max_pool2d_backward_2x2(s, places, dy, dx, begin, end);
      else max_pool2d_backward(s, places, dy, dx, begin, end, a.workspace);
      for (long plane = begin; plane < end && Call::steps > 0; ++plane)
        finish<Call>(a, plane, Call::result.span(2, 4), plane);
    }
  }

 private:
  // Windows that do not overlap cut a plane into bands, each as good as a plane. An epilogue finds a small one in the
  // nearest cache.
  template <class Call>
  static constexpr int bands_of() {
    constexpr auto c = Call::config();
    constexpr long most = 8 << 10, rows = Call::result[2], row = Call::result[3] * block_samples * long(sizeof(float));
    int bands = 1;
    if (c.kh == c.stride_h && c.top == 0 && c.oh * c.kh == rows)
      while (rows / bands * row > most && bands < c.oh) ++bands;
    while (c.oh % bands) ++bands;
    return bands;
  }
  // Of part number `part` of dx, which belongs to a plane.
  template <class Call>
  static void finish(const Arguments& a, long part, long elements, long plane) {
    if constexpr (Call::steps > 0) apply_steps<Call, false>(a, part * elements, elements, plane % Call::result[1]);
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::MaxPool2d> : kernel::PoolKernel<kernel::MaxPool, false> {};
template <>
struct Kernel<Cpu, ops::MaxPool2dGrad> : kernel::PoolKernel<kernel::MaxPoolGradient, true> {
  using Listed = ops::MaxPoolList;
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .nchw16n = Nchw16n::follows};
  // Places are no images, but have the layout of the call that made them.
  static constexpr bool fits_nchw16n(const TensorType& result, const TensorType* operand, int operands) {
    return tenon::detail::images_only(result, operand + 1, operands - 1);
  }
};
template <>
struct Kernel<Cpu, ops::AvgPool2d> : kernel::PoolKernel<kernel::AvgPool<false>, false> {};
template <>
struct Kernel<Cpu, ops::AvgPool2dGrad> : kernel::PoolKernel<kernel::AvgPool<true>, true> {};
TENON_EXACT_END

}  // namespace tenon
