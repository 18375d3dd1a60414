// The derivative of broadcasting: sums over the axes along which a value was repeated; of images per channel.
#pragma once
#include <tenon/backend/cpu/reduce/channel_sums.hpp>
#include <tenon/backend/cpu/reduce/reduce.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct SumOfLists;
struct SumTo;
}

template <>
struct Kernel<Cpu, ops::SumTo> {
  using Listed = ops::SumOfLists;
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows, .tile_sums = true, .tile_chains = true};
  /// Sums of images per channel: of a bias.
  static constexpr bool fits_nchw16n(const TensorType& result, const TensorType* x, int) {
    const int channel = result.rank - 3;
    return is_image(x[0]) && !result.batched() && (channel == 0 || channel == 1) && result[channel] == x[0][1] &&
           result.count(1) == x[0][1];
  }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(0).count(n) / (Call::result.count(n) + 1) + 1;
  }
  /// Sums over all leading axes.
  template <class Call>
  static constexpr int row_axes() {
    const TensorType &in = Call::operand(0), &out = Call::result;
    const int axes = in.rank - out.rank;
    for (int axis = 0; axis < out.rank; ++axis)
      if (out.extent[axis] != in.extent[axes + axis]) return 0;
    return tenon::detail::common_axes(Call::description, axes);
  }
  template <class Call>
  static constexpr unsigned mask() {
    constexpr TensorType in = Call::operand(0), out = Call::result;
    unsigned m = 0;
    for (int axis = 0; axis < in.rank; ++axis) {
      const int own = axis - (in.rank - out.rank);
      if (own < 0 || out.extent[own] != in.extent[axis]) m |= 1u << axis;
    }
    return m;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = Accumulator<typename Call::Result>;
    if constexpr (constexpr TensorType x = Call::operand(0); fits_nchw16n(Call::result, &x, 1))
      kernel::channel_sums({a.n, x[1], x.span(2, 4), false}, x[3], a.operand<float>(0), a.result<float>(), begin, end);
    else
      kernel::reduce_call<Call, mask<Call>(), typename Call::Result>(a, begin, end, A(0), kernel::Plus{},
                                                                     kernel::DivideBy<typename Call::Result>{1});
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {Call::result.count(1), whole_blocks(n) * Call::operand(0).span(2, 4) / 8 + 1, 0};
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    constexpr TensorType x = Call::operand(0);
    kernel::channel_sums({a.n, x[1], x.span(2, 4), true}, x[3], a.operand<float>(0), a.result<float>(), begin, end);
  }
};

}  // namespace tenon
TENON_EXACT_END
