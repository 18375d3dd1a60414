// The operator that the fuse pass makes of a convolution and of the maximum over windows of 2 x 2 behind it.
#pragma once
#include <tenon/kernel/cpu/conv2d_pool.hpp>
#include <tenon/ops/conv2d.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <class Call>
constexpr kernel::Conv2dSizes pooled_conv_sizes(long n) {
  TensorType y = Call::result;
  y.extent[2] = Call::config().first, y.extent[3] = Call::config().second;
  return conv_sizes(Call::operand(0), Call::operand(1), y, Call::config(), n);
}
}  // namespace detail

/// MaxPool2d, windows of 2 x 2 side by side, of a float32 Conv2d with its epilogue, whose operands are numbers or have a value per channel.
/// Operands and settings are those of the convolution. Only graphs contain it.
struct Conv2dMaxPool : Operator<Conv2dMaxPool, "Conv2DMaxPool"> {
  using Config = Conv2dAttributes;
  static constexpr InBlocks blocks = InBlocks::wants;
  static constexpr bool per_sample = true;
  static constexpr int operands_before_epilogue = 2, channel_axis = 1;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType y = in[0];
    y.extent[1] = in[1][0], y.extent[2] = c.first / 2, y.extent[3] = c.second / 2;
    return y;
  }

  template <class Call> static constexpr auto sizes(long n) { return detail::pooled_conv_sizes<Call>(n); }
  template <class Call> static constexpr long items(long n) { return kernel::conv2d_max_pool_items(sizes<Call>(n)); }
  template <class Call> static constexpr long cost(long n) { return detail::conv_cost(sizes<Call>(n), items<Call>(n)); }
  template <class Call> static constexpr long workspace(long) { return long(kernel::conv2d_max_pool_workspace(sizes<Call>(1))); }
  template <class Call> static constexpr KernelWork block_work(long n) { return detail::conv_work(sizes<Call>(n), kernel::block_conv2d_items(sizes<Call>(n)), kernel::block_conv2d_max_pool_workspace(sizes<Call>(n))); }

  TENON_EXACT_BEGIN
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    const auto pixels = [&a](const kernel::PooledSums& sums) { pool<Call, true, false>(a, sums, more_operands<Call>()); };
    const auto channels = [&a](const kernel::PooledSums& sums) { pool<Call, false, true>(a, sums, more_operands<Call>()); };
    kernel::conv2d_max_pool(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end, a.workspace, pixels, channels);
  }
  template <class Call>
  static void run_blocks(const Arguments& a, long begin, long end) {
    const auto samples = [&a](const kernel::PooledSums& sums) { pool<Call, false, false>(a, sums, more_operands<Call>()); };
    kernel::block_conv2d_max_pool(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end, a.workspace, samples);
  }

 private:
  struct Same {
    float operator()(float sum) const { return sum; }
  };
  // The sums of row-major images end with + 0 here, those of blocks have had theirs.
  template <class Steps>
  struct PlusZero {
    [[gnu::always_inline]] float operator()(float sum, auto... in) const { return Steps()(sum + 0.0f, in...); }
  };
  template <class Call> static constexpr auto more_operands() { return std::make_integer_sequence<int, Call::operands - operands_before_epilogue>{}; }
  // Pixels in lanes, channels in lanes, or samples: neither.
  template <class Call, bool pixels, bool channels, int... K>
  static void pool(const Arguments& a, const kernel::PooledSums& sums, std::integer_sequence<int, K...>) {
    constexpr auto per_channel = [](int k) { return Call::operand(operands_before_epilogue + k).count(1) > 1; };
    using Steps = std::conditional_t<(Call::description.steps > 0), kernel::FusedFunction<float, kernel::StepsOf<Call>>, Same>;
    if constexpr (pixels) kernel::pool_pixels(PlusZero<Steps>(), sums, (a.operand<float>(operands_before_epilogue + K) + (per_channel(K) ? sums.channel : 0))...);
    else kernel::pool_vectors<(channels && per_channel(K))...>(std::conditional_t<channels, PlusZero<Steps>, Steps>(), sums, (a.operand<float>(operands_before_epilogue + K) + (per_channel(K) ? sums.channel : 0))...);
  }
  TENON_EXACT_END
};

}  // namespace tenon::ops
