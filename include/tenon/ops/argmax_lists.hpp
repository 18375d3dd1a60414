// The operators that the fuse pass makes of the gradients of a convolution with a maximum over windows of 2 x 2 behind
// it, if all that read the gradient of its result do as well with a list of its argmaxes. Only graphs contain them.
#pragma once
#include <tenon/core/arena.hpp>
#include <tenon/graph/conv_max_pool.hpp>
#include <tenon/graph/kernel_entry.hpp>
#include <tenon/kernel/cpu/pool/argmax_lists.hpp>

namespace tenon::inline TENON_ABI::ops {

TENON_EXACT_BEGIN
/// MaxPoolSpread as a list per plane, in the plane's room. Operands: argmaxes, dy.
struct MaxPoolList : Operator<MaxPoolList, "MaxPoolList"> {
  using Config = ArgmaxListAttributes;
  static constexpr bool linear_work = true;
  static constexpr Nchw16n nchw16n = Nchw16n::first;
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr kernel::ArgmaxPlanes planes{Call::result[2], Call::result[3], Call::config().row,
                                               Call::config().column, Call::config().split};
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::list_argmaxes(planes<Call>, a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {whole_blocks(n) / block_samples * Call::result[1], Call::result.span(2, 4) * block_samples / 4 + 1,
            aligned(long(kernel::nchw16n_list_argmaxes_workspace(planes<Call>)))};
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::nchw16n_list_argmaxes(planes<Call>, a.n, Call::result[1], a.operand<float>(0), a.operand<float>(1),
                                  a.result<float>(), begin, end, a.workspace);
  }
};

/// SumTo of the channels of such a list.
struct SumOfLists : Operator<SumOfLists, "SumOfLists"> {
  static constexpr bool tile_sums = true, tile_chains = true;
  static constexpr None derivative{};
  static constexpr bool fits_nchw16n(const TensorType&, const TensorType*, int) { return true; }
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return {Call::operand(0)[1], n * Call::operand(0).span(2, 4) / 4 + 1, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    constexpr TensorType x = Call::operand(0);
    kernel::list_sums({x[2], x[3], 0, 0}, a.n, x[1], a.operand<float>(0), a.result<float>(), begin, end);
  }
};
TENON_EXACT_END

}  // namespace tenon::ops
