// The kernels of a convolution's gradients from a list of argmaxes.
#pragma once
#include <tenon/backend/cpu/conv/call.hpp>
#include <tenon/backend/cpu/conv/max_pool/argmax_gradient.hpp>
#include <tenon/backend/cpu/elementwise/fused.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ArgmaxConv2dWeight;
struct ArgmaxConv2dInput;
}  // namespace ops

namespace kernel::detail {
// At most one pixel of four wins.
// A constant where it is defined, so that plans of memory are, too; the compiled part is asked at run time.
#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE constexpr KernelWork argmax_work(const Conv2dSizes& s, long items,
                                                                std::size_t workspace) {
  return {items, conv_work(s, items * 4, 0).cost, aligned(long(workspace))};
}
#else
KernelWork argmax_work(const Conv2dSizes& s, long items, std::size_t workspace);
#endif
}  // namespace kernel::detail

TENON_EXACT_BEGIN
template <>
struct Kernel<Cpu, ops::ArgmaxConv2dWeight> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::first, .tile_sums = true};
  static constexpr ListForm list_form(const TensorType& dw, const TensorType* operand, const Attributes& a, int at) {
    return at == 1 ? kernel::conv_list_form(dw, operand[1], unpack<ops::Conv2dAttributes>(a), false) : ListForm{};
  }
  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      kernel::conv_sizes(Call::operand(0), Call::result, Call::operand(1), Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel::detail::argmax_work(sizes<Call>(n), kernel::argmax_conv2d_weight_items(one_sample<Call>),
                                       kernel::argmax_conv2d_weight_workspace(one_sample<Call>));
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return work<Call>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    compute<Call>(a, false, begin, end);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    compute<Call>(a, true, begin, end);
  }

 private:
  template <class Call>
  static void compute(const Arguments& a, bool in_nchw16n, long begin, long end) {
    constexpr auto images = kernel::detail::patch_images(one_sample<Call>);
    kernel::argmax_conv2d_weight(sizes<Call>(a.n), in_nchw16n, a.operand<float>(0), a.changed<float>(1),
                                 a.result<float>(), begin, end, a.workspace,
                                 kernel::patch_kernel<images.tile_rows, images.tile_vectors>);
  }
};

template <>
struct Kernel<Cpu, ops::ArgmaxConv2dInput> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1};
  static constexpr ListForm list_form(const TensorType&, const TensorType* operand, const Attributes& a, int at) {
    return at == 1 ? kernel::conv_list_form(operand[0], operand[1], unpack<ops::Conv2dAttributes>(a), true)
                   : ListForm{};
  }
  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      kernel::conv_sizes(Call::result, Call::operand(0), Call::operand(1), Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::result.size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel::detail::argmax_work(sizes<Call>(n), kernel::argmax_conv2d_input_items(sizes<Call>(n)),
                                       kernel::argmax_conv2d_input_workspace(one_sample<Call>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::argmax_conv2d_input(
        sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end, a.workspace,
        kernel::spread_kernel<one_sample<Call>.kh,
                              kernel::detail::patch_images(one_sample<Call>).patch / kernel::detail::patch_lanes>);
    if constexpr (Call::steps > 0) {
      constexpr long channels = Call::result[1], plane = Call::result.span(2, 4);
      for (long p = begin * channels; p < end * channels; ++p)
        kernel::apply_steps<Call, false>(a, p * plane, plane, p % channels);
    }
  }
};
TENON_EXACT_END

}  // namespace tenon
