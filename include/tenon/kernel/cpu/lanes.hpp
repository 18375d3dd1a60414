// Sums of computed terms, in the order of accumulation that reductions have.
#pragma once
#include <tenon/kernel/cpu/reduce.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Two sums of the same elements.
template <class A>
struct TwoSums {
  A first = 0, second = 0;
};

/// The sum of term(0) .. term(count - 1): term i goes to lane i mod 16 of 16 partial sums, which a fixed tree combines.
template <class A, class Term>
inline A lane_sum(long count, Term term) {
  A lane[reduce_lanes]{};
  const long whole = count - count % reduce_lanes;
  for (long i = 0; i < whole; i += reduce_lanes)
    for (int l = 0; l < reduce_lanes; ++l) lane[l] += term(i + l);
  for (long i = whole; i < count; ++i) lane[i - whole] += term(i);
  return combine_lanes(lane, [](A a, A b) { return a + b; });
}
/// The same for first(i) and second(i) in one pass.
template <class A, class First, class Second>
inline TwoSums<A> lane_sums(long count, First first, Second second) {
  A lane[reduce_lanes]{}, other[reduce_lanes]{};
  const long whole = count - count % reduce_lanes;
  for (long i = 0; i < whole; i += reduce_lanes)
    for (int l = 0; l < reduce_lanes; ++l) lane[l] += first(i + l), other[l] += second(i + l);
  for (long i = whole; i < count; ++i) lane[i - whole] += first(i), other[i - whole] += second(i);
  const auto plus = [](A a, A b) { return a + b; };
  return {combine_lanes(lane, plus), combine_lanes(other, plus)};
}

/// Columns that one loop over rows serves together, and rows that are summed before they join the total: sums over many
/// rows stay accurate, and the shape alone decides their order.
inline constexpr long column_block = 64, row_block = 64;

/// total[c] = sum over rows r of term(r, c), for c = 0 .. columns - 1 with columns <= column_block.
template <class A, class Term>
inline void column_sums(long rows, long columns, A* total, Term term) {
  for (long c = 0; c < columns; ++c) total[c] = 0;
  for (long first = 0; first < rows; first += row_block) {
    const long last = rows - first < row_block ? rows : first + row_block;
    A part[column_block]{};
    for (long r = first; r < last; ++r) {
      if (columns == column_block)  // a loop whose length the compiler knows becomes vectors
        for (long c = 0; c < column_block; ++c) part[c] += term(r, c);
      else
        for (long c = 0; c < columns; ++c) part[c] += term(r, c);
    }
    for (long c = 0; c < columns; ++c) total[c] += part[c];
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
