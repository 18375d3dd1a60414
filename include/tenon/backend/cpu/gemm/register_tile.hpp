// Sums of products that stay in registers while their chains run: the inside of every loop over products, convolutions,
// and their gradients.
#pragma once
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

/// Rows x Columns vectors of sums. at(i, j): the address of vector j of row i.
template <class V, int Rows, int Columns>
struct RegisterTile {
  V sum[Rows][Columns > 0 ? Columns : 1];

  /// body(sum, i, j) for each, unrolled.
  template <class Body>
  [[gnu::always_inline]] void each(const Body& body) {
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 16
      for (int j = 0; j < Columns; ++j) body(sum[i][j], i, j);
  }
  /// Chains begin: from +0, or with what stands there.
  [[gnu::always_inline]] void begin() {
    each([](V& s, int, int) __attribute__((always_inline)) { s = V(0); });
  }
  template <class At>
  [[gnu::always_inline]] void load(const At& at) {
    each([&](V& s, int i, int j) __attribute__((always_inline)) { s = V::load(at(i, j)); });
  }
  /// A step of all chains: right(j) times left(i), one rounding each.
  template <class Left, class Right>
  [[gnu::always_inline]] void multiply(const Left& left, const Right& right) {
    decltype(right(0)) own[Columns > 0 ? Columns : 1];
#pragma GCC unroll 16
    for (int j = 0; j < Columns; ++j) own[j] = right(j);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const auto factor = left(i);
#pragma GCC unroll 16
      for (int j = 0; j < Columns; ++j) sum[i][j] = fmadd(factor, own[j], sum[i][j]);
    }
  }
  /// Chains end: what stands there + each of them.
  template <class At>
  [[gnu::always_inline]] void add_to(const At& at) {
    each([&](V& s, int i, int j) __attribute__((always_inline)) { s = V::load(at(i, j)) + s; });
  }
  template <class At>
  [[gnu::always_inline]] void store(const At& at) {
    each([&](V& s, int i, int j) __attribute__((always_inline)) { s.store(at(i, j)); });
  }
};

}  // namespace tenon::kernel::detail
TENON_EXACT_END
