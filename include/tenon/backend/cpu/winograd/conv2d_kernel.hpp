// The kernels of convolution by Winograd's minimal filtering and of its two gradients.
#pragma once
#include <tenon/backend/cpu/conv/conv_kernel.hpp>
#include <tenon/backend/cpu/winograd/conv2d.hpp>
#include <tenon/backend/cpu/winograd/weight_gradient.hpp>
#include <tenon/target/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct WinogradConv2d;
struct WinogradConv2dInput;
struct WinogradConv2dWeight;
}  // namespace ops

namespace kernel {
namespace detail {
[[gnu::noinline]] constexpr KernelWork winograd_work(const Conv2dSizes& s, bool blocks) {
  return conv_work(s, winograd_conv2d_items(s, blocks), winograd_conv2d_workspace(s, blocks));
}
[[gnu::noinline]] constexpr KernelWork winograd_weight_work(const Conv2dSizes& s, bool blocks) {
  return conv_work(s, winograd_conv2d_weight_items(s, blocks), winograd_conv2d_weight_workspace(s, blocks));
}
}  // namespace detail

struct WinogradWay {
  static constexpr bool linear_work = false, tile_sums = false;
  template <class Call, bool>
  using Epilogue = RowEpilogue<Call>;
  template <class>
  static constexpr KernelWork work(const Conv2dSizes& s, bool blocks) {
    return detail::winograd_work(s, blocks);
  }
  template <class, Conv2dSizes, bool blocks, bool kept = false>
  [[gnu::always_inline]] static void run(const Conv2dSizes& s, const float* from, const float* weight, float* to,
                                         long begin, long end, void* workspace, FunctionRef<long, long, long> finish) {
    winograd_conv2d(s, blocks, from, weight, to, begin, end, workspace, finish, kept);
  }
};
struct WinogradWeightWay : WinogradWay {
  template <class>
  static constexpr KernelWork work(const Conv2dSizes& s, bool blocks) {
    return detail::winograd_weight_work(s, blocks);
  }
  template <class, Conv2dSizes, bool blocks>
  [[gnu::always_inline]] static void run(const Conv2dSizes& s, const float* x, const float* dy, float* dw, long begin,
                                         long end, void* workspace, FunctionRef<long, long, long>) {
    winograd_conv2d_weight(s, blocks, x, dy, dw, begin, end, workspace);
  }
};
/// With the weights of keep_winograd_conv2d().
struct KeptWinogradWay : WinogradWay {
  template <class T, Conv2dSizes one, bool blocks>
  [[gnu::always_inline]] static void run(const Conv2dSizes& s, const float* from, const float* weight, float* to,
                                         long begin, long end, void* workspace, FunctionRef<long, long, long> finish) {
    WinogradWay::run<T, one, blocks, true>(s, from, weight, to, begin, end, workspace, finish);
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::WinogradConv2d> : kernel::ConvKernel<kernel::WinogradWay, kernel::gives_y> {
  static constexpr int kept_operand = 1;
  template <class Call>
  static constexpr bool keeps_operand() {
    return true;
  }
  template <class Call>
  static constexpr long kept_bytes(long) {
    return kernel::winograd_conv2d_kept_bytes(one_sample<Call>);
  }
  template <class Call>
  static void keep(const void* weight, long n, void* to) {
    kernel::keep_winograd_conv2d(sizes<Call>(n), static_cast<const float*>(weight), static_cast<float*>(to));
  }
  template <class Call>
  static constexpr KernelWork kept_work(long n) {
    return work<Call>(n);
  }
  template <class Call>
  static void run_kept(const Arguments& a, long begin, long end) {
    kernel::ConvKernel<kernel::KeptWinogradWay, kernel::gives_y>::template run<Call>(a, begin, end);
  }
};
template <>
struct Kernel<Cpu, ops::WinogradConv2dInput> : kernel::ConvKernel<kernel::WinogradWay, kernel::gives_dx> {};
template <>
struct Kernel<Cpu, ops::WinogradConv2dWeight> : kernel::ConvKernel<kernel::WinogradWeightWay, kernel::gives_dw> {};

}  // namespace tenon
