// From the call of an operator to a convolution or one of its gradients, the same for every way to compute them.
#pragma once
#include <tenon/backend/cpu/conv/call.hpp>
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/core/function_ref.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

// What applies the epilogue of Call to complete channels of a sample, or to complete rows of a channel in blocks of
// samples.
template <class Call>
struct PlaneEpilogue {
  const Arguments& arguments;
  void operator()(long sample, long first, long count) const {
    constexpr long channels = Call::result[1], plane = Call::result.span(2, 4);
    for (long c = first; c < first + count; ++c)
      apply_steps<Call, false>(arguments, (sample * channels + c) * plane, plane, c);
  }
};
template <class Call>
struct RowEpilogue {
  const Arguments& arguments;
  void operator()(long first, long channel, long count) const {
    apply_steps<Call, false>(arguments, first, count, channel);
  }
};

/// Where the tensors of a convolution are among the operands of an operator; -1: it is the result.
struct ConvTensors {
  int x, weight, y;
};
inline constexpr ConvTensors gives_y{0, 1, -1}, gives_dx{-1, 0, 1}, gives_dw{0, -1, 1};

/// The kernel of an operator that computes the tensor at -1 from the two others. The way to do so has
///   Epilogue<Call, blocks>                       PlaneEpilogue or RowEpilogue
///   work<T>(sizes, blocks)                       its KernelWork
///   run<T, one, blocks>(sizes, a, b, result, begin, end, workspace, epilogue)
/// where `one` are the sizes for one sample, `blocks` whether images are in NCHW16n, and a and b the operands, of which
/// the image comes before the weight, x before dy.
template <class Way, ConvTensors at>
struct ConvKernel {
  static constexpr bool linear_work = Way::linear_work;
  static constexpr KernelFacts facts{.epilogue = at.weight >= 0,
                                     .channel_axis = at.weight >= 0 ? 1 : -1,
                                     .nchw16n = Nchw16n::wants,
                                     .tile_sums = Way::tile_sums};
  template <class Call>
  static constexpr TensorType type_of(int which) {
    return which < 0 ? Call::result : Call::operand(which);
  }
  template <class Call>
  static constexpr Conv2dSizes one_sample = [] {
    const Conv2dSizes s =
        conv_sizes(type_of<Call>(at.x), type_of<Call>(at.weight), type_of<Call>(at.y), Call::config());
    return at.x < 0 ? s.for_input() : s;
  }();
  template <class Call>
  static constexpr Conv2dSizes sizes(long n) {
    return one_sample<Call>.of(type_of<Call>(at.x).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return Way::template work<typename Call::Result>(sizes<Call>(n), false);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return Way::template work<typename Call::Result>(sizes<Call>(n), true);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    run_in<Call, false>(a, begin, end);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    run_in<Call, true>(a, begin, end);
  }

 private:
  template <class Call, bool blocks>
  [[gnu::always_inline]] static void run_in(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr int first = at.x < 0 ? 1 : 0;
    const typename Way::template Epilogue<Call, blocks> finish{a};
    FunctionRef<long, long, long> epilogue;
    if constexpr (Call::steps > 0) epilogue = finish;
    Way::template run<T, one_sample<Call>, blocks>(sizes<Call>(a.n), a.operand<T>(first), a.operand<T>(1 - first),
                                                   a.result<T>(), begin, end, a.workspace, epilogue);
  }
};

}  // namespace tenon::kernel
TENON_EXACT_END
