// Matrix product with any transposition: C = A * B, every element one chain of fmadd over ascending k.
#pragma once
#include <cstddef>

#include <tenon/kernel/cpu/gemm_block.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Number of independent parts of the product: the unit in which threads divide it. A thread should take neighbouring parts.
template <class T>
constexpr long gemm_items(const Gemm<T>& g) {
  const auto plan = detail::gemm_plan(g);
  return plan.row_chunks * plan.column_chunks;
}

/// Bytes of scratch that one thread needs, at most 1 MB. Align it to 64 bytes.
template <class T>
constexpr std::size_t gemm_workspace(long m, long n, long k) {
  const std::size_t straight = detail::gemm_scratch<T>(m, n, k, false).total, swapped = detail::gemm_scratch<T>(n, m, k, true).total;
  return straight > swapped ? straight : swapped;
}

/// Computes the parts [begin, end) of gemm_items(g). After a block of C is complete, finish(row0, rows, column0, columns) is called,
/// so that a bias or an activation can be applied while the block is in the cache; each element is in exactly one block.
template <class T, class Finish>
void gemm(const Gemm<T>& g, long begin, long end, void* workspace, Finish&& finish) {
  using namespace detail;
  const GemmPlan<T> plan = gemm_plan(g);
  for (long item = begin; item < end;) {
    const GemmPart part = gemm_part(plan, item, end);
    gemm_block(plan, g, workspace, part);
    if (plan.swapped) finish(part.column0, part.columns, part.row0, part.rows);
    else finish(part.row0, part.rows, part.column0, part.columns);
    item += part.items;
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
