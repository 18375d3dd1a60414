// The kernels of a convolution's gradients from a list of argmaxes.
#pragma once
#include <tenon/backend/cpu/conv/conv_kernel.hpp>
#include <tenon/backend/cpu/conv/max_pool/argmax_gradient.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ArgmaxConv2dWeight;
struct ArgmaxConv2dInput;
}  // namespace ops

namespace kernel {
namespace detail {
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
}  // namespace detail

struct ArgmaxWeightWay {
  static constexpr bool linear_work = false, tile_sums = true;
  template <class Call, bool>
  using Epilogue = RowEpilogue<Call>;
  template <class>
  static constexpr KernelWork work(const Conv2dSizes& s, bool) {
    return detail::argmax_work(s, argmax_conv2d_weight_items(s), argmax_conv2d_weight_workspace(s));
  }
  template <class, Conv2dSizes one, bool blocks>
  static void run(const Conv2dSizes& s, const float* x, const float* lists, float* dw, long begin, long end,
                  void* workspace, FunctionRef<long, long, long>) {
    constexpr auto images = detail::patch_images(one);
    argmax_conv2d_weight(s, blocks, x, const_cast<float*>(lists), dw, begin, end, workspace,
                         patch_kernel<images.tile_rows, images.tile_vectors>);
  }
};
struct ArgmaxInputWay {
  static constexpr bool linear_work = false, tile_sums = false;
  template <class Call, bool>
  using Epilogue = PlaneEpilogue<Call>;
  template <class>
  static constexpr KernelWork work(const Conv2dSizes& s, bool) {
    return detail::argmax_work(s, argmax_conv2d_input_items(s), argmax_conv2d_input_workspace(s));
  }
  template <class, Conv2dSizes one, bool>
  static void run(const Conv2dSizes& s, const float* lists, const float* weight, float* dx, long begin, long end,
                  void* workspace, FunctionRef<long, long, long> finish) {
    argmax_conv2d_input(s, weight, lists, dx, begin, end, workspace,
                        spread_kernel<one.kh, detail::patch_images(one).patch / detail::patch_lanes>);
    for (long sample = begin; finish && sample < end; ++sample) finish(sample, 0, s.c);
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::ArgmaxConv2dWeight> : kernel::ConvKernel<kernel::ArgmaxWeightWay, kernel::gives_dw> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::first, .tile_sums = true};
  static constexpr ListForm list_form(const TensorType& dw, const TensorType* operand, const Attributes& a, int at) {
    return at == 1 ? kernel::conv_list_form(dw, operand[1], unpack<ops::Conv2dAttributes>(a), false) : ListForm{};
  }
};
template <>
struct Kernel<Cpu, ops::ArgmaxConv2dInput> : kernel::ConvKernel<kernel::ArgmaxInputWay, kernel::gives_dx> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1};
  static constexpr ListForm list_form(const TensorType&, const TensorType* operand, const Attributes& a, int at) {
    return at == 1 ? kernel::conv_list_form(operand[0], operand[1], unpack<ops::Conv2dAttributes>(a), true)
                   : ListForm{};
  }
};

}  // namespace tenon
