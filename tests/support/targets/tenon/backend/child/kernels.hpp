// The kernel that Child has beside those of its parent: products of matrices, which can apply an epilogue.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/reference/kernels.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Child, ops::MatMul> : Kernel<Reference, ops::MatMul> {
  static constexpr KernelFacts facts{.epilogue = true};
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    ++Child::products;
    Kernel<Reference, ops::MatMul>::run<Call>(a, begin, end);
    if constexpr (Call::steps > 0) {
      constexpr long row = Call::result.last();
      for (long i = 0; i < Call::result.count(a.n); i += row) kernel::apply_steps<Call, true>(a, i, row, 0);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
