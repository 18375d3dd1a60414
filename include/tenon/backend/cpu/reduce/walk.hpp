// Which elements a reduction combines, and where they are.
#pragma once
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// A reduction, seen from its kernel: neighbouring axes that are all kept or all reduced count as one, the outermost
/// first.
struct ReduceWalk {
  int groups = 0;
  long extent[max_rank]{}, stride[max_rank]{}, runs = 1, elements = 1;
  bool reduced[max_rank]{};

  /// True if the last axis is kept: one loop then serves neighbouring results, each with its own chain.
  constexpr bool vertical() const { return groups > 0 && !reduced[groups - 1]; }
  /// True for many runs, or many groups of columns, of so few elements that they go side by side into vectors.
  constexpr bool is_short() const { return groups == (vertical() ? 3 : 2) && length() >= 2 && length() <= 16; }
  /// Neighbouring elements of one reduced run, or of one row of results.
  constexpr long length() const { return groups > 0 ? extent[groups - 1] : 1; }
  /// Offset of element `index` of the kept or the reduced axes, without those of the last group.
  constexpr long offset(long index, bool of_reduced) const {
    long sum = 0;
    for (int g = groups - 2; g >= 0; --g) {
      if (reduced[g] != of_reduced) continue;
      if (g < 2) return sum + index * stride[g];
      sum += index % extent[g] * stride[g];
      index /= extent[g];
    }
    return sum;
  }
};
/// `mask`: a bit per axis that is reduced.
[[gnu::noinline]] constexpr ReduceWalk reduce_walk(const TensorType& in, unsigned mask, long n) {
  ReduceWalk w;
  for (int axis = 0; axis < in.rank; ++axis) {
    const bool reduced = mask >> axis & 1u;
    const long extent = in.size(axis, n);
    if (w.groups == 0 || w.reduced[w.groups - 1] != reduced) w.extent[w.groups] = 1, w.reduced[w.groups++] = reduced;
    w.extent[w.groups - 1] *= extent;
  }
  for (int g = w.groups - 1; g >= 0; --g) {
    w.stride[g] = w.elements;
    w.elements *= w.extent[g];
    if (w.reduced[g] && g < w.groups - 1) w.runs *= w.extent[g];
  }
  return w;
}

}  // namespace tenon::kernel
