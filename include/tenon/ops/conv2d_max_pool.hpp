// The operators that the fuse pass makes of a convolution and of the maximum over windows of 2 x 2 behind it.
#pragma once
#include <tenon/kernel/cpu/conv/conv2d_max_pool.hpp>
#include <tenon/kernel/cpu/elementwise/fused.hpp>
#include <tenon/ops/argmax_conv2d.hpp>
#include <tenon/ops/conv2d_sizes.hpp>
#include <tenon/ops/pool_argmax.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
constexpr kernel::Conv2dSizes pooling_sizes(const TensorType& x, const TensorType& w, TensorType y,
                                            const Conv2dAttributes& c) {
  y.extent[2] = c.first, y.extent[3] = c.second;
  return conv_sizes(x, w, y, c);
}
// A constant where it is defined, so that plans of memory are, too; the compiled part is asked at run time.
#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE constexpr KernelWork pooling_work(const kernel::Conv2dSizes& s) {
  return conv_work(s, kernel::conv2d_max_pool_items(s), kernel::conv2d_max_pool_workspace(s.of(1)));
}
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_pooling_work(const kernel::Conv2dSizes& s) {
  return conv_work(s, kernel::nchw16n_conv2d_items(s), kernel::nchw16n_conv2d_max_pool_workspace(s));
}
#else
KernelWork pooling_work(const kernel::Conv2dSizes& s);
KernelWork nchw16n_pooling_work(const kernel::Conv2dSizes& s);
#endif

TENON_EXACT_BEGIN
// What both share. keeps: operand 2 is the room for the argmaxes.
template <class Op, FixedString Name, bool keeps>
struct PoolingConv2d : Operator<Op, Name> {
  using Config = Conv2dAttributes;
  static constexpr Nchw16n nchw16n = Nchw16n::wants;
  static constexpr bool per_sample = true;
  static constexpr int operands_before_epilogue = keeps ? 3 : 2, channel_axis = 1;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType y = in[0];
    y.extent[1] = in[1][0], y.extent[2] = c.first / 2, y.extent[3] = c.second / 2;
    return y;
  }

  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      pooling_sizes(Call::operand(0), Call::operand(1), Call::result, Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return pooling_work(sizes<Call>(n));
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return nchw16n_pooling_work(sizes<Call>(n));
  }

  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::conv2d_max_pool(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), argmaxes(a),
                            begin, end, a.workspace, steps<Call>(a, more_operands<Call>()));
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::nchw16n_conv2d_max_pool(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                                    argmaxes(a), begin, end, a.workspace, steps<Call>(a, more_operands<Call>()));
  }

 private:
  static float* argmaxes([[maybe_unused]] const Arguments& a) {
    if constexpr (keeps) return a.target<float>(2);
    else return nullptr;
  }
  template <class Call>
  static constexpr auto more_operands() {
    return std::make_integer_sequence<int, Call::operands - operands_before_epilogue>();
  }
  template <class Call, int... K>
  static auto steps(const Arguments& a, std::integer_sequence<int, K...>) {
    using Steps =
        std::conditional_t<(Call::steps > 0), kernel::FusedFunction<float, typename Call::Joined>, kernel::SameSum>;
    return kernel::PoolSteps<Steps, keeps, (Call::operand(operands_before_epilogue + K).count(1) > 1)...>{
        {a.operand<float>(operands_before_epilogue + K)...}};
  }
};
TENON_EXACT_END
}  // namespace detail

/// MaxPool2d, windows of 2 x 2 side by side, of a float32 Conv2d with its epilogue, whose operands are numbers or have
/// a value per channel. Operands and settings are those of the convolution. Only graphs contain it.
struct Conv2dMaxPool : detail::PoolingConv2d<Conv2dMaxPool, "Conv2DMaxPool", false> {};
/// The same where the gradient is asked for: operand 2, behind the weight, is the room (PoolArgmax) for the numbers of
/// the windows' argmaxes.
struct Conv2dMaxPoolArgmax : detail::PoolingConv2d<Conv2dMaxPoolArgmax, "Conv2DMaxPoolArgmax", true> {};

namespace detail {
struct ConvMaxPoolOperators {
  static constexpr ConvMaxPool operators{.joined = &info<Conv2dMaxPool>,
                                         .joined_with_argmax = &info<Conv2dMaxPoolArgmax>,
                                         .argmax = &info<PoolArgmax>,
                                         .spread = &info<MaxPoolSpread>,
                                         .list = &info<MaxPoolList>,
                                         .weight_from_list = &info<ArgmaxConv2dWeight>,
                                         .input_from_list = &info<ArgmaxConv2dInput>,
                                         .sum_of_list = &info<SumOfLists>};
};
}  // namespace detail

}  // namespace tenon::ops
