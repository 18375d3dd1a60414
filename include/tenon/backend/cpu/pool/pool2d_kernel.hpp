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

namespace kernel::detail {
constexpr Pool2dSizes pool_sizes(const TensorType& x, const ops::Pool2dAttributes& a) {
  return {x.size(0, 1) * x[1], x[2], x[3], a.oh, a.ow, a.kh, a.kw, a.stride_h, a.stride_w, a.top, a.left};
}
// The sizes of a call are a constant but for the batch.
template <class Call, bool of_result>
inline constexpr Pool2dSizes pooled_sample = pool_sizes(of_result ? Call::result : Call::operand(0), Call::settings);
template <class Call, bool of_result>
constexpr Pool2dSizes pool_sizes(long n) {
  Pool2dSizes s = pooled_sample<Call, of_result>;
  if constexpr (Call::result.batched()) s.planes *= n;
  return s;
}
// With NCHW16n images the planes of all blocks are the items.
constexpr KernelWork pool_nchw16n_work(const TensorType& y, const TensorType& x, long n) {
  const long planes = whole_blocks(n) / block_samples * x[1];
  return {planes, (x.span(2, 4) + y.span(2, 4)) * block_samples / 4 + 1, 0};
}
}  // namespace kernel::detail

TENON_EXACT_BEGIN
template <>
struct Kernel<Cpu, ops::MaxPool2dGrad> {
  using Listed = ops::MaxPoolList;
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .nchw16n = Nchw16n::follows};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long workspace(long) {
    return long(kernel::pool2d_backward_workspace<typename Call::Result>(kernel::detail::pooled_sample<Call, true>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const auto* const places = a.operand<Places<Call>>(0);
    const kernel::Pool2dSizes sizes = kernel::detail::pool_sizes<Call, true>(a.n);
    // the other ways are not compiled then
    if constexpr (std::is_floating_point_v<T> && kernel::detail::are_2x2<T>(kernel::detail::pooled_sample<Call, true>))
      kernel::max_pool2d_backward_2x2(sizes, places, a.operand<T>(1), a.result<T>(), begin, end);
    else kernel::max_pool2d_backward(sizes, places, a.operand<T>(1), a.result<T>(), begin, end, a.workspace);
    finish<Call>(a, begin, end, Call::result.span(2, 4));
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::pool_nchw16n_work(Call::operand(1), Call::result, n);
  }
  // Places are no images, but have the layout of the call that made them.
  static constexpr bool fits_nchw16n(const TensorType& result, const TensorType* operand, int operands) {
    return tenon::detail::images_only(result, operand + 1, operands - 1);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    constexpr int bands = bands_of<Call>();
    constexpr long channels = Call::result[1], elements = Call::result.span(2, 4) * block_samples / bands;
    kernel::Pool2dSizes sizes = kernel::detail::pool_sizes<Call, true>(a.n);
    sizes.h /= bands, sizes.oh /= bands;
    for (long band = begin * bands; band < end * bands; ++band) {
      kernel::nchw16n_max_pool2d_backward(sizes, a.operand<Places<Call>>(0), a.operand<float>(1), a.result<float>(),
                                          band, band + 1);
      if constexpr (Call::steps > 0)
        kernel::apply_steps<Call, false>(a, band * elements, elements, band / bands % channels);
    }
  }

 private:
  template <class Call>
  using Places = typename Call::template Operand<0>;
  // Windows that do not overlap cut a plane into bands, each as good as a plane. An epilogue finds a small one in the
  // nearest cache.
  template <class Call>
  static constexpr int bands_of() {
    constexpr auto c = Call::config();
    constexpr int most = 8 << 10, rows = Call::result[2], row = Call::result[3] * block_samples * int(sizeof(float));
    int bands = 1;
    if (c.kh == c.stride_h && c.top == 0 && c.oh * c.kh == rows)
      while (rows / bands * row > most && bands < c.oh) ++bands;
    while (c.oh % bands) ++bands;
    return bands;
  }
  template <class Call>
  static void finish(const Arguments& a, long begin, long end, long elements) {
    if constexpr (Call::steps > 0)
      for (long plane = begin; plane < end; ++plane)
        kernel::apply_steps<Call, false>(a, plane * elements, elements, plane % Call::result[1]);
  }
};

template <>
struct Kernel<Cpu, ops::MaxPool2d> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long workspace(long) {
    return in_blocks<Call> ? kernel::pool2d_block_bytes(kernel::detail::pooled_sample<Call, false>) : 0;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::Pool2dSizes sizes = kernel::detail::pool_sizes<Call, false>(a.n);
    if constexpr (has_result<Call, 1>)
      return kernel::max_pool2d_places(sizes, a.operand<T>(0), a.result<T>(), result_of<Call, 1>(a), begin, end);
    if constexpr (in_blocks<Call>)
      begin = kernel::max_pool2d_in_blocks(sizes, a.operand<T>(0), a.result<T>(), begin, end, a.workspace);
    kernel::max_pool2d(sizes, a.operand<T>(0), a.result<T>(), begin, end);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::pool_nchw16n_work(Call::result, Call::operand(0), n);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    const kernel::Pool2dSizes sizes = kernel::detail::pool_sizes<Call, false>(a.n);
    if constexpr (has_result<Call, 1>)
      kernel::nchw16n_max_pool2d_places(sizes, a.operand<float>(0), a.result<float>(), result_of<Call, 1>(a), begin,
                                        end);
    else kernel::nchw16n_max_pool2d(sizes, a.operand<float>(0), a.result<float>(), begin, end);
  }

 private:
  template <class Call>
  static constexpr bool in_blocks = std::is_same_v<typename Call::Result, float> && !has_result<Call, 1> &&
                                    kernel::detail::max_in_blocks(kernel::detail::pooled_sample<Call, false>);
};

template <>
struct Kernel<Cpu, ops::AvgPool2dGrad> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long workspace(long) {
    constexpr kernel::Pool2dSizes sizes = kernel::detail::pooled_sample<Call, true>;
    return in_blocks<Call> ? kernel::pool2d_block_bytes(sizes)
                           : long(kernel::pool2d_backward_workspace<typename Call::Result>(sizes));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::Pool2dSizes sizes = kernel::detail::pool_sizes<Call, true>(a.n);
    constexpr bool with_padding = Call::config().count_include_pad != 0;
    if constexpr (in_blocks<Call>)
      begin = kernel::avg_pool2d_backward_in_blocks(sizes, a.operand<T>(0), a.result<T>(), with_padding, begin, end,
                                                    a.workspace);
    kernel::avg_pool2d_backward(sizes, a.operand<T>(0), a.result<T>(), with_padding, begin, end, a.workspace);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::pool_nchw16n_work(Call::operand(0), Call::result, n);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::nchw16n_avg_pool2d_backward(kernel::detail::pool_sizes<Call, true>(a.n), a.operand<float>(0),
                                        a.result<float>(), Call::config().count_include_pad != 0, begin, end);
  }

 private:
  template <class Call>
  static constexpr bool in_blocks = std::is_same_v<typename Call::Result, float> &&
                                    kernel::detail::avg_backward_in_blocks(kernel::detail::pooled_sample<Call, true>);
};

template <>
struct Kernel<Cpu, ops::AvgPool2d> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long workspace(long) {
    return in_blocks<Call> ? kernel::pool2d_block_bytes(kernel::detail::pooled_sample<Call, false>) : 0;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::Pool2dSizes sizes = kernel::detail::pool_sizes<Call, false>(a.n);
    constexpr bool with_padding = Call::config().count_include_pad != 0;
    if constexpr (in_blocks<Call>)
      begin =
          kernel::avg_pool2d_in_blocks(sizes, a.operand<T>(0), a.result<T>(), with_padding, begin, end, a.workspace);
    kernel::avg_pool2d(sizes, a.operand<T>(0), a.result<T>(), with_padding, begin, end);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::pool_nchw16n_work(Call::result, Call::operand(0), n);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::nchw16n_avg_pool2d(kernel::detail::pool_sizes<Call, false>(a.n), a.operand<float>(0), a.result<float>(),
                               Call::config().count_include_pad != 0, begin, end);
  }

 private:
  template <class Call>
  static constexpr bool in_blocks = std::is_same_v<typename Call::Result, float> &&
                                    kernel::detail::avg_in_blocks(kernel::detail::pooled_sample<Call, false>);
};
TENON_EXACT_END

}  // namespace tenon
