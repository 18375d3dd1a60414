// Matrix product with any transposition: C = A * B, every element a sum of chains of fmadd along k.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/gemm/row.hpp>
#include <tenon/core/function_ref.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/gemm/block.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Number of independent parts of the product: the unit in which threads divide it. A thread should take neighbouring
/// parts.
template <class T>
constexpr long gemm_items(const Gemm<T>& g) {
  const auto plan = detail::gemm_plan(g);
  return plan.row_chunks * plan.column_chunks;
}

/// Bytes of scratch that one thread needs, at most 1 MB. Align it to 64 bytes.
template <class T>
constexpr std::size_t gemm_workspace(long m, long n, long k) {
  using namespace detail;
  std::size_t most = 0;
  for (const bool swapped : {false, true})
    for (const bool deep : {false, steps_per_unit<T> > 1}) {
      const long rows = swapped ? n : m, columns = swapped ? m : n,
                 widest = deep ? product_costs.deep_columns : gemm_columns<T>;
      const long aside =
          !swapped && std::is_same_v<ProductSum<T>, T> ? 0 : at_most(rows, gemm_most_aside<T>(columns, widest));
      const std::size_t bytes =
          gemm_scratch<T>(rows, columns, k, aside, widest, deep ? product_costs.deep_units : gemm_depth<ProductSum<T>>)
              .total;
      most = bytes > most ? bytes : most;
    }
  return most;
}

/// The same for a product whose strides are known: none if its one row is certain to go straight to C.
template <class T>
constexpr std::size_t gemm_workspace(const Gemm<T>& g) {
  const auto plan = detail::gemm_plan(g);
  const long last = plan.columns - (plan.column_chunks - 1) * plan.chunk_columns;
  return !detail::by_amx<T> && detail::is_row_product(plan) && last >= detail::piece_lanes<ProductSum<T>>
             ? 0
             : gemm_workspace<T>(g.m, g.n, g.k);
}

/// Computes the parts [begin, end) of gemm_items(g). After a block of C is complete, finish(row0, rows, column0,
/// columns) is called, so that a bias or an activation can be applied while the block is in the cache; each element is
/// in exactly one block.
template <class T>
[[gnu::noinline]] void gemm(const Gemm<T>& g, long begin, long end, void* workspace,
                            FunctionRef<long, long, long, long> finish = {});

/// The product without C: gemm_rows() hands it out a few rows at a time. Parts and scratch as above; T: float, double.
template <class T>
constexpr long gemm_rows_items(const Gemm<T>& g) {
  const auto plan = detail::gemm_plan(g, true);
  return plan.row_chunks * plan.column_chunks;
}
template <class T>
constexpr std::size_t gemm_rows_workspace(long m, long n, long k) {
  const auto plan = detail::gemm_plan(Gemm<T>{m, n, k, nullptr, 1, 1, nullptr, 1, 1, nullptr, n}, true);
  return detail::gemm_scratch<T>(m, n, k, plan.rows_aside(), plan.most_columns()).total;
}

#if TENON_DEFINES
namespace detail {
// Computes the parts [begin, end) of a plan, block by block; then(block).
template <class T, class Then>
[[gnu::always_inline]] inline void each_gemm_block(const GemmPlan<T>& plan, const Gemm<T>& g, long begin, long end,
                                                   void* workspace, const ProductRows<T>* rows, Then&& then) {
  for (long item = begin; item < end;) {
    const GemmPart part = gemm_part(plan, item, end);
    gemm_block(plan, g, workspace, part, rows);
    then(part);
    item += part.items;
  }
}
}  // namespace detail

template <class T>
void gemm(const Gemm<T>& g, long begin, long end, void* workspace, FunctionRef<long, long, long, long> finish) {
  const detail::GemmPlan<T> plan = detail::gemm_plan(g);
  detail::each_gemm_block<T>(plan, g, begin, end, workspace, nullptr, [&](const detail::GemmPart& part) {
    if (!finish) {
    } else if (plan.swapped) finish(part.column0, part.columns, part.row0, part.rows);
    else finish(part.row0, part.rows, part.column0, part.columns);
  });
}

/// Calls done(row0, rows, column0, columns, elements, pitch), where element (i, j) of this part of the product is
/// elements[i * pitch + j] until done returns. Each element is in exactly one part.
template <class T, class Done>
void gemm_rows(const Gemm<T>& g, long begin, long end, void* workspace, const Done& done) {
  using namespace detail;
  const GemmPlan<T> plan = gemm_plan(g, true);
  const ProductRows<T> call{
      &done, [](const void* context, long row0, long rows, long column0, long columns, const T* elements, long pitch) {
        (*static_cast<const Done*>(context))(row0, rows, column0, columns, elements, pitch);
      }};
  each_gemm_block<T>(plan, g, begin, end, workspace, &call, [](const GemmPart&) {});
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
