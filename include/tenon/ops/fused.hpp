// The operator that the fuse pass makes of a chain of element-wise ones.
#pragma once
#include <tenon/eager/apply.hpp>
#include <tenon/kernel/cpu/elementwise/fused.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// A chain of element-wise operators in one pass over memory; its program is in the node. Only graphs contain it.
struct Fused : Operator<Fused, "Fused"> {
  static constexpr bool elementwise = true, per_sample = true, in_place = true;
  static constexpr bool linear_work = true;
  static constexpr Nchw16n nchw16n = Nchw16n::follows;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return kernel::RowLayout<Call>::items(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::elementwise<Call, kernel::FusedFunction<typename Call::Result, typename Call::Joined>>(a, begin, end);
  }
  /// Without rows to walk, blocks of samples are one row as well, only longer.
  template <class Call>
  static constexpr bool runs_alike() {
    return kernel::RowLayout<Call>::flat;
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::elementwise_nchw16n_work<Call>(n);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::elementwise<Call, kernel::FusedFunction<typename Call::Result, typename Call::Joined>, true>(a, begin, end);
  }
};
TENON_EXACT_END
}  // namespace tenon::ops
