// The kernels of convolution by Winograd's minimal filtering and of its two gradients.
#pragma once
#include <tenon/backend/cpu/conv/call.hpp>
#include <tenon/backend/cpu/conv/epilogue.hpp>
#include <tenon/backend/cpu/winograd/conv2d.hpp>
#include <tenon/backend/cpu/winograd/weight_gradient.hpp>
#include <tenon/target/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct WinogradConv2d;
struct WinogradConv2dInput;
struct WinogradConv2dWeight;
}  // namespace ops

namespace kernel::detail {
[[gnu::noinline]] constexpr KernelWork winograd_forward_work(const Conv2dSizes& s, bool blocks) {
  return conv_work(s, winograd_conv2d_items(s, blocks), std::size_t(winograd_conv2d_workspace(s, blocks)));
}
[[gnu::noinline]] constexpr KernelWork winograd_input_work(const Conv2dSizes& s, bool blocks) {
  return conv_work(s, winograd_conv2d_backward_input_items(s, blocks),
                   std::size_t(winograd_conv2d_backward_input_workspace(s, blocks)));
}
[[gnu::noinline]] constexpr KernelWork winograd_weight_work(const Conv2dSizes& s, bool blocks) {
  return conv_work(s, winograd_conv2d_weight_items(s, blocks),
                   std::size_t(winograd_conv2d_weight_workspace(s, blocks)));
}
}  // namespace kernel::detail

template <>
struct Kernel<Cpu, ops::WinogradConv2d> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .nchw16n = Nchw16n::wants};
  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      kernel::conv_sizes(Call::operand(0), Call::operand(1), Call::result, Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel::detail::winograd_forward_work(sizes<Call>(n), false);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::winograd_forward_work(sizes<Call>(n), true);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    run_in<Call>(false, a, begin, end);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    run_in<Call>(true, a, begin, end);
  }
  template <class Call>
  static void run_in(bool blocks, const Arguments& a, long begin, long end) {
    const kernel::Nchw16nEpilogue<Call> epilogue{a};
    kernel::winograd_conv2d(sizes<Call>(a.n), blocks, a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                            begin, end, a.workspace, kernel::epilogue_of<Call>(epilogue));
  }

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
    const kernel::Nchw16nEpilogue<Call> epilogue{a};
    kernel::winograd_conv2d_kept(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin,
                                 end, a.workspace, kernel::epilogue_of<Call>(epilogue));
  }
};

template <>
struct Kernel<Cpu, ops::WinogradConv2dInput> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .nchw16n = Nchw16n::wants};
  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      kernel::conv_sizes(Call::result, Call::operand(0), Call::operand(1), Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::result.size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel::detail::winograd_input_work(sizes<Call>(n), false);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::winograd_input_work(sizes<Call>(n), true);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    run_in<Call>(false, a, begin, end);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    run_in<Call>(true, a, begin, end);
  }
  template <class Call>
  static void run_in(bool blocks, const Arguments& a, long begin, long end) {
    const kernel::Nchw16nEpilogue<Call> epilogue{a};
    kernel::winograd_conv2d_backward_input(sizes<Call>(a.n), blocks, a.operand<float>(0), a.operand<float>(1),
                                           a.result<float>(), begin, end, a.workspace,
                                           kernel::epilogue_of<Call>(epilogue));
  }
};

template <>
struct Kernel<Cpu, ops::WinogradConv2dWeight> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::wants};
  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      kernel::conv_sizes(Call::operand(0), Call::result, Call::operand(1), Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel::detail::winograd_weight_work(sizes<Call>(n), false);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::winograd_weight_work(sizes<Call>(n), true);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::winograd_conv2d_weight(sizes<Call>(a.n), false, a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                                   begin, end, a.workspace);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::winograd_conv2d_weight(sizes<Call>(a.n), true, a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                                   begin, end, a.workspace);
  }
};

}  // namespace tenon
