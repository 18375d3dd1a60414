// Matrix product of one row (GEMV) with a kept right operand (lowering/kept_operand.hpp): a dense layer for a batch of
// one, whose weights are read once, from the first to the last.
#pragma once
#include <tenon/backend/cpu/gemm/plan.hpp>
#include <tenon/core/function_ref.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/gemm/pack.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Panels of this many vectors of columns or one less, all steps of k of a panel before the next one: this many chains
/// at once hide the latency of an addition (4 cycles at 2 of them in each).
inline constexpr long kept_vectors = 8;

/// Sums of one panel, segment by segment as gemm() makes them.
using KeptPanel = void (*)(const float* a, const float* b, long k, float* to);

/// A product of one row, [k] times the transpose of b [n, k], in float32.
struct KeptRow {
  long n, k;
  KeptPanel panel[3]{};  // of a panel that is one vector narrower than the widest, of the widest, of the last one

  // The last vector may be a half one: weights are read as fast as the caches give them.
  constexpr long columns() const { return round_up(n, long{tile_step<float>}); }
  constexpr long vectors() const { return ceil_div(n, long{simd_width<float>}); }
  /// Parts of the product, and the column with which one begins.
  constexpr long items() const { return ceil_div(vectors(), kept_vectors); }
  constexpr long begin(long item) const {
    return item < items() ? vectors() * item / items() * simd_width<float> : columns();
  }
  constexpr long bytes() const { return columns() * k * long(sizeof(float)); }
  /// Vectors of the widest panel.
  constexpr int widest() const { return int(ceil_div(vectors(), items())); }
  /// Columns of the last panel, in units of the narrowest tile.
  constexpr int last() const { return int((columns() - begin(items() - 1)) / tile_step<float>); }
  constexpr KeptPanel panel_of(long item) const {
    if (item == items() - 1) return panel[2];
    return panel[begin(item + 1) - begin(item) == widest() * simd_width<float>];
  }
};

/// Writes b as the product wants it.
void keep_columns(const KeptRow& s, const float* b, float* to);
/// c[j] = what gemm() makes of a and column j. After some neighbouring columns are complete, finish(0, 1, first,
/// columns).
void kept_row_product(const KeptRow& s, const float* a, const float* kept, float* c, long begin, long end,
                      FunctionRef<long, long, long, long> finish);

namespace detail {
template <int units>
void kept_panel(const float* a, const float* b, long k, float* to);
}  // namespace detail

/// With the functions that it runs: those of its own widths, so that a program compiles no others.
template <long n, long k>
constexpr KeptRow kept_row() {
  constexpr KeptRow row{n, k};
  constexpr int per_vector = simd_width<float> / tile_step<float>, widest = row.widest() * per_vector;
  if constexpr (row.items() == 1) return {n, k, {nullptr, nullptr, &detail::kept_panel<row.last()>}};
  else if constexpr (row.vectors() % row.items() == 0)
    return {n, k, {nullptr, &detail::kept_panel<widest>, &detail::kept_panel<row.last()>}};
  else
    return {
        n, k, {&detail::kept_panel<widest - per_vector>, &detail::kept_panel<widest>, &detail::kept_panel<row.last()>}};
}

#if TENON_DEFINES
namespace detail {
// units: columns, each as many as the narrowest tile has.
template <int units>
[[gnu::noinline]] void kept_panel(const float* a, const float* b, long k, float* to) {
  using V = Simd<float>;
  using Half = Simd<float, tile_step<float>>;
  constexpr int vectors = units * tile_step<float> / V::width;
  constexpr bool and_half = units * tile_step<float> % V::width != 0;
  constexpr long half = vectors * V::width, width = half + (and_half ? Half::width : 0);
  for (long p = 0; p == 0 || p < k; p += gemm_segment<float>) {
    const long steps = at_most(k - p, gemm_segment<float>);
    RegisterTile<V, 1, vectors> sums;
    RegisterTile<Half, 1, and_half> last;
    sums.begin(), last.begin();
    for (long q = 0; q < steps; ++q, b += width) {
      const float factor = a[p + q];
      sums.multiply([=](int) __attribute__((always_inline)) { return V(factor); },
                    [=](int j) __attribute__((always_inline)) { return V::load(b + j * V::width); });
      last.multiply([=](int) __attribute__((always_inline)) { return Half(factor); },
                    [=](int) __attribute__((always_inline)) { return Half::load(b + half); });
    }
    const auto place = [=](int, int j) __attribute__((always_inline)) { return to + j * V::width; };
    const auto end = [=](int, int) __attribute__((always_inline)) { return to + half; };
    if (p > 0) sums.add_to(place), last.add_to(end);
    sums.store(place), last.store(end);
  }
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void keep_columns(const KeptRow& s, const float* b, float* to) {
  for (long item = 0; item < s.items(); ++item) {
    const long first = s.begin(item), last = s.begin(item + 1);
    copy_matrix(b + first * s.k, 1, s.k, to + first * s.k, last - first, s.k, detail::at_most(last, s.n) - first,
                last - first);
  }
}
[[gnu::noinline]] TENON_INLINE void kept_row_product(const KeptRow& s, const float* a, const float* kept, float* c,
                                                     long begin, long end, FunctionRef<long, long, long, long> finish) {
  for (long item = begin; item < end; ++item) {
    const long first = s.begin(item), last = s.begin(item + 1), columns = detail::at_most(last, s.n) - first;
    float aside[kept_vectors * simd_width<float>];
    const bool whole = columns == last - first;
    s.panel_of(item)(a, kept + first * s.k, s.k, whole ? c + first : aside);
    if (!whole) __builtin_memcpy(c + first, aside, std::size_t(columns) * sizeof(float));
    if (finish) finish(0, 1, first, columns);
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
