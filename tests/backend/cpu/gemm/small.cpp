// Small products of constant sizes against the sums of the contract, bit for bit.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/backend/cpu/gemm/small.hpp>

#include "../reference.hpp"

using namespace tenon;
using kernel::SmallProduct;

namespace {
int checked = 0;

// An m or k of 0 is not known to the compiler; here it is 3 or 521.
template <class T, int m, int n, int k, bool transposed>
void check_form(bool first) {
  using Small = SmallProduct<T, m, n, k, transposed>;
  if constexpr (Small::by_rows || Small::by_tiles) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(transposed);
    CAPTURE(first);
    ++checked;
    Random random(std::uint64_t(m * 10007 + n * 101 + k));
    const long rows = m ? m : 3, depth = k ? k : 521;
    const std::vector<T> a = reference::numbers<T>(rows * depth, random), b = reference::numbers<T>(depth * n, random);
    std::vector<T> c(std::size_t(rows * n), T(55)), expected = c;
    const kernel::Gemm<T> g{rows,
                            n,
                            depth,
                            a.data(),
                            first ? 1 : depth,
                            first ? rows : 1,
                            b.data(),
                            transposed ? 1 : n,
                            transposed ? depth : 1,
                            c.data(),
                            n};
    for (long i = 0; i < rows; ++i)
      for (long j = 0; j < n; ++j) {
        reference::Chain<T> chain;
        for (long p = 0; p < depth; ++p)
          chain.add_step(a[std::size_t(i * g.a_row + p * g.a_col)], b[std::size_t(p * g.b_row + j * g.b_col)]);
        chain.finish();
        expected[std::size_t(i * n + j)] = chain.rounded();
      }
    if constexpr (Small::by_rows)
      reference::in_parts(rows, 2, [&](long begin, long end) { Small::rows(g, begin, end); });
    else Small::tiles(g);
    CHECK(reference::same_bits(c, expected));
  }
}
template <class T, int m, int n, int k>
void check() {
  for (const bool first : {false, true}) check_form<T, m, n, k, false>(first), check_form<T, m, n, k, true>(first);
}
template <class T>
void check_all() {
  checked = 0;
  check<T, 0, 1, 1>(), check<T, 0, 2, 8>(), check<T, 0, 3, 5>(), check<T, 0, 8, 4>(), check<T, 0, 11, 4>(),
      check<T, 0, 8, 5>(), check<T, 0, 29, 4>(), check<T, 1, 16, 8>();
  CHECK(checked == 32);
  check<T, 1, 10, 512>(), check<T, 4, 4, 4>(), check<T, 8, 8, 8>(), check<T, 9, 5, 3>(), check<T, 6, 64, 25>(),
      check<T, 17, 70, 33>(), check<T, 12, 56, 1>(), check<T, 32, 10, 84>();
  check<T, 8, 4, 0>(), check<T, 10, 25, 0>(), check<T, 15, 16, 0>();
  // those whose right operand is transposed are left to the others, and all where a vector has two elements
  CHECK(checked == 32 + (simd_width<T> < 4 ? 0 : 22));
}
}  // namespace

TEST_CASE("small products: rows one by one, tiles, vectors that overlap, sums over a batch") {
  check_all<float>();
  check_all<double>();
}

TEST_CASE("small products: too many elements, too few columns for a vector, and other types are left to the general "
          "product") {
  const auto small = []<class S>(S) { return S::by_rows || S::by_tiles; };
  CHECK(!small(SmallProduct<float, 64, 513, 64, false>()));
  CHECK(!small(SmallProduct<float, 32, 2, 84, false>()));
  CHECK(!small(SmallProduct<float, 0, 10, 84, false>()));
  CHECK(!small(SmallProduct<float, 32, 16, 16, true>()));
  CHECK(!small(SmallProduct<float16, 4, 4, 4, false>()));
  CHECK(!small(SmallProduct<int, 4, 4, 4, false>()));
}
