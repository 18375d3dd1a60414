// The derivative of broadcasting.
#pragma once
#include <tenon/eager/apply.hpp>
#include <tenon/kernel/cpu/reduce/channel_sums.hpp>
#include <tenon/kernel/cpu/reduce/reduce.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Sums x over the axes along which a value of the wanted shape was broadcast. Derivatives insert it; not for users.
///
/// x           any shape; floating-point or integer
/// result      the wanted shape, right-aligned with x, with 1 or no axis where x is summed
/// derivative  dy broadcast to x
/// order       as by kernel/cpu/reduce/reduce.hpp; float32 images per channel as in kernel/cpu/nchw16n/layout.hpp
struct SumTo : Operator<SumTo, "SumTo"> {
  struct Config {
    int rank = 0, extent[max_rank]{};
  };
  static constexpr Config to(const TensorType& t) {
    Config c{t.rank, {}};
    for (int axis = 0; axis < t.rank; ++axis) c.extent[axis] = t.extent[axis];
    return c;
  }
  static constexpr Nchw16n nchw16n = Nchw16n::follows;
  static constexpr bool tile_sums = true, tile_chains = true;
  /// Sums of images per channel: of a bias.
  static constexpr bool fits_nchw16n(const TensorType& result, const TensorType* x, int) {
    const int channel = result.rank - 3;
    return is_image(x[0]) && !result.batched() && (channel == 0 || channel == 1) && result[channel] == x[0][1] &&
           result.count(1) == x[0][1];
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& wanted, Sentence& error) {
    TensorType t = in[0];
    t.rank = wanted.rank;
    for (int axis = 0; axis < max_rank; ++axis) t.extent[axis] = axis < wanted.rank ? wanted.extent[axis] : 0;
    if (wanted.rank > in[0].rank) error << "SumTo of " << in[0] << " to " << t;
    return t;
  }
  static constexpr void derivative(Derivative& d);

  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(0).count(n) / (Call::result.count(n) + 1) + 1;
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
      kernel::channel_sums(a.operand<float>(0), a.result<float>(), a.n, x[1], x.span(2, 4), begin, end);
    else
      kernel::reduce_call<Call, mask<Call>()>(a, begin, end, A(0), kernel::Plus{},
                                              kernel::DivideBy<typename Call::Result>{1});
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {Call::result.count(1), whole_blocks(n) * Call::operand(0).span(2, 4) / 8 + 1, 0};
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    constexpr TensorType x = Call::operand(0);
    kernel::nchw16n_channel_sums(a.operand<float>(0), a.result<float>(), a.n, x[1], x.span(2, 4), begin, end);
  }
};
TENON_EXACT_END

/// Repeats x along axes of extent 1 (or axes that it lacks) to the wanted shape. The derivative of sums.
struct BroadcastTo;

}  // namespace tenon::ops
