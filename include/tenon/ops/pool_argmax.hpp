// What the gradient of a maximum over windows needs where the fuse pass joins the maximum to a convolution.
#pragma once
#include <tenon/graph/kernel_entry.hpp>
#include <tenon/graph/pass/fuse_max_pool.hpp>
#include <tenon/kernel/cpu/pool/argmax_gradient.hpp>
#include <tenon/ops/argmax_lists.hpp>

namespace tenon::inline TENON_ABI::ops {

static_assert(kernel::least_spread_windows == tenon::detail::least_windows);

/// Room for the number of each window's argmax; Conv2dMaxPoolArgmax writes it. It has no kernel to speak of. Only
/// graphs contain it.
struct PoolArgmax : Operator<PoolArgmax, "PoolArgmax"> {
  static constexpr bool linear_work = true;
  static constexpr Nchw16n nchw16n = Nchw16n::wants;
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long) {
    return 0;
  }
  template <class Call>
  static void run(const Arguments&, long, long) {}
  template <class Call>
  static constexpr bool runs_alike() {
    return true;
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long) {
    return {};
  }
};

/// MaxPool2dGrad with ReluGrad behind it: dy at the place of each window's argmax, unless that is not greater than 0.
/// Operands: argmaxes, dy. Only graphs contain it.
struct MaxPoolSpread : Operator<MaxPoolSpread, "MaxPoolSpread"> {
  static constexpr bool linear_work = true;
  static constexpr Nchw16n nchw16n = Nchw16n::follows;
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) {
    TensorType x = in[0];
    x.extent[2] *= 2, x.extent[3] *= 2;
    return x;
  }
  template <class Call>
  static constexpr kernel::Pool2dSizes sizes{
      Call::result[1], Call::result[2], Call::result[3], Call::operand(0)[2], Call::operand(0)[3], 2, 2, 2, 2, 0, 0};
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::spread_argmaxes(sizes<Call>, a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {whole_blocks(n) / block_samples * Call::result[1], Call::result.span(2, 4) * block_samples / 4 + 1, 0};
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::nchw16n_spread_argmaxes(sizes<Call>, a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin,
                                    end);
  }
};

}  // namespace tenon::ops
