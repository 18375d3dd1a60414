// Matrix products against the sums of the contract, bit for bit, in any form and for any division into parts.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/backend/cpu/gemm/gemm.hpp>
#include <tenon/core/float/denormals.hpp>

#include "../reference.hpp"

using namespace tenon;
using kernel::Gemm;

namespace {
/// Form: bit 0 stores A transposed, bit 1 stores B transposed; `gap` unused elements follow each row of A, B and C.
template <class T>
void check(long m, long n, long k, int form, long gap, std::uint64_t seed) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(form);
  CAPTURE(gap);
  Random random(seed);
  const long a_rows = form & 1 ? k : m, a_columns = (form & 1 ? m : k) + gap, b_rows = form & 2 ? n : k,
             b_columns = (form & 2 ? k : n) + gap, c_columns = n + gap;
  const std::vector<T> a = reference::numbers<T>(a_rows * a_columns, random),
                       b = reference::numbers<T>(b_rows * b_columns, random);
  Gemm<T> g{m,
            n,
            k,
            a.data(),
            form & 1 ? 1 : a_columns,
            form & 1 ? a_columns : 1,
            b.data(),
            form & 2 ? 1 : b_columns,
            form & 2 ? b_columns : 1,
            nullptr,
            c_columns};

  std::vector<T> expected(size_t(m * c_columns), T(55));
  bool near = true;
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < n; ++j) {
      reference::Chain<T> chain;
      for (long p = 0; p < k; ++p)
        chain.add_step(a[size_t(i * g.a_row + p * g.a_col)], b[size_t(p * g.b_row + j * g.b_col)]);
      chain.finish();
      expected[size_t(i * c_columns + j)] = chain.rounded();
      near = near && chain.near(chain.rounded(), k);
    }
  CHECK(near);
  reference::Workspace workspace(kernel::gemm_workspace(g));
  for (long parts = 1; parts <= 3; ++parts) {
    CAPTURE(parts);
    std::vector<T> c(expected.size(), T(55));
    g.c = c.data();
    std::vector<int> finished(size_t(m * n));
    bool complete = true;
    reference::in_parts(kernel::gemm_items(g), parts, [&](long begin, long end) {
      kernel::gemm(g, begin, end, workspace.data(), [&](long row0, long rows, long column0, long columns) {
        for (long i = row0; i < row0 + rows; ++i)
          for (long j = column0; j < column0 + columns; ++j) {
            ++finished[size_t(i * n + j)];
            complete = complete &&
                       std::memcmp(&c[size_t(i * c_columns + j)], &expected[size_t(i * c_columns + j)], sizeof(T)) == 0;
          }
      });
    });
    CHECK(complete);
    CHECK(reference::same_bits(c, expected));
    CHECK(finished == std::vector<int>(size_t(m * n), 1));
  }
}

// The same product a few rows at a time. Form as above.
template <class T>
void check_rows(long m, long n, long k, int form, std::uint64_t seed) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(form);
  Random random(seed);
  const std::vector<T> a = reference::numbers<T>(m * k, random), b = reference::numbers<T>(k * n, random);
  std::vector<T> expected(size_t(m * n), T(55));
  Gemm<T> g{m,
            n,
            k,
            a.data(),
            form & 1 ? 1 : k,
            form & 1 ? m : 1,
            b.data(),
            form & 2 ? 1 : n,
            form & 2 ? k : 1,
            expected.data(),
            n};
  reference::Workspace whole(kernel::gemm_workspace<T>(m, n, k)), workspace(kernel::gemm_rows_workspace<T>(m, n, k));
  kernel::gemm(g, 0, kernel::gemm_items(g), whole.data(), [](long, long, long, long) {});
  g.c = nullptr;
  for (long parts = 1; parts <= 3; ++parts) {
    CAPTURE(parts);
    std::vector<T> c(expected.size(), T(55));
    std::vector<int> finished(c.size());
    reference::in_parts(kernel::gemm_rows_items(g), parts, [&](long begin, long end) {
      kernel::gemm_rows(g, begin, end, workspace.data(),
                        [&](long row0, long rows, long column0, long columns, const T* elements, long pitch) {
                          for (long i = 0; i < rows; ++i)
                            for (long j = 0; j < columns; ++j)
                              c[size_t((row0 + i) * n + column0 + j)] = elements[i * pitch + j],
                                                                  ++finished[size_t((row0 + i) * n + column0 + j)];
                        });
    });
    CHECK(reference::same_bits(c, expected));
    CHECK(finished == std::vector<int>(size_t(m * n), 1));
  }
}

template <class T>
void random_shapes(int count, long largest, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const auto pick = [&] { return 1 + long(random.below(std::uint64_t(random.below(3) ? largest / 4 : largest))); };
    check<T>(pick(), pick(), pick(), i % 4, long(random.below(3)), seed + std::uint64_t(i));
  }
}
}  // namespace

TEST_CASE("gemm: random shapes, every element type") {
  random_shapes<float>(120, 90, 1);
  random_shapes<double>(60, 70, 2);
  random_shapes<float16>(30, 60, 3);
  random_shapes<bfloat16>(30, 60, 4);
  random_shapes<std::int32_t>(30, 60, 5);
  random_shapes<std::int64_t>(12, 40, 6);
  random_shapes<std::uint8_t>(12, 40, 7);
}

TEST_CASE("gemm: sizes around the borders of tiles, blocks and packing") {
  for (long rows : {1L, 2L, long(kernel::tile_rows), long(kernel::tile_rows) + 1, 3L * kernel::tile_rows - 1})
    for (long columns : {1L, long(simd_width<float>), 2L * simd_width<float> + 1, 8L * simd_width<float> - 1,
                         8L * simd_width<float>, 257L})
      for (int form = 0; form < 4; ++form) check<float>(rows, columns, 70, form, 0, 8);
  for (int form = 0; form < 4; ++form) {
    check<float>(200, 300, 520, form, 1, 9);  // more than one block in each direction
    check<double>(100, 260, 300, form, 0, 10);
    check<float16>(20, 33, 600, form, 0, 11);
    check<bfloat16>(200, 300, 1031, form, 1, 9);
    check<bfloat16>(20, 33, 600, form, 0, 11);
    check<bfloat16>(9, 40, 2600, form, 0, 11);  // several segments in one visit of the sums
    check<bfloat16>(7, 5, 0, form, 0, 12);
    for (long k : {1L, 2L, 3L, 5L, 7L, 17L}) check<bfloat16>(k, 18 - k, k, form, k % 2, 13);
    check<float>(7, 5, 0, form, 0, 12);  // an empty chain is +0
  }
  check<float>(0, 5, 3, 0, 0, 13);
  check<float>(5, 0, 3, 0, 0, 13);
}

TEST_CASE("gemm: one row or one column, steps of the other operand next to each other") {
  for (long columns : {7L, 8L, 11L, 16L, 29L, 32L, 45L, 100L})
    for (long k : {1L, 3L, 37L, 70L}) {
      check<float>(1, columns, k, 2, columns % 3, 14);
      check<float>(columns, 1, k, 0, columns % 3, 15);
      check<std::int32_t>(1, columns, k, 2, 0, 16);
      check<bfloat16>(1, columns, k, 2, columns % 3, 14);
      check<bfloat16>(columns, 1, k, 0, columns % 3, 15);
      check<double>(1, columns, k, 2, 0, 17);
    }
  check<float>(1, 77, 510, 2, 2, 18);   // rows 2 KB apart
  check<float>(1, 77, 1021, 2, 3, 19);  // 4 KB
  check<float>(50, 1, 1024, 0, 0, 20);
  check<bfloat16>(1, 77, 1022, 2, 2, 18);
  check<bfloat16>(1, 77, 2045, 2, 3, 19);
  for (long columns : {11L, 45L}) {  // segments side by side, and what is left of them
    check<float>(1, columns, 1024 + 300, 2, 724, 26);
    check<float>(1, columns, 2047, 2, 1, 27);
    check<bfloat16>(1, columns, 2049, 2, 2047, 28);
  }
}

TEST_CASE("gemm: one row or one column, the other operand read row by row") {
  for (long columns : {7L, 8L, 11L, 16L, 29L, 45L, 100L})
    for (long k : {0L, 1L, 3L, 8L, 37L, 70L}) {
      check<float>(1, columns, k, 0, columns % 3, 31);
      check<float>(columns, 1, k, 1, columns % 3, 32);
      check<double>(1, columns, k, 0, 0, 33);
      check<std::int32_t>(1, columns, k, 0, 0, 34);
    }
  check<float>(1, 2500, 517, 0, 1, 35);  // several strips and segments
  check<float>(2111, 1, 300, 1, 2, 36);
  check<double>(1, 1100, 260, 0, 1, 37);
}

TEST_CASE("gemm: several blocks of columns, panels that overlap, sums that are resumed") {
  for (int form = 0; form < 4; ++form) {
    check<float>(37, 1100, 300, form, 1, 21);
    check<float>(3, 75, 600, form, 0, 22);
    check<bfloat16>(17, 560, 270, form, 0, 23);
    check<bfloat16>(37, 1100, 301, form, 1, 24);
    check<bfloat16>(3, 75, 1201, form, 0, 25);
  }
}

TEST_CASE("gemm: rows that compete for places of the nearest cache, 4 KB and 512 bytes apart") {
  check<float>(20, 150, 1023, 0, 1, 26);
  check<double>(20, 150, 511, 0, 1, 27);
  for (long rows : {2L * kernel::tile_rows + 1, 3L * kernel::tile_rows, 45L}) {
    check<float>(rows, 254, 300, 0, 2, 28);
    check<float>(254, rows, 300, 3, 2, 29);
  }
}

TEST_CASE("gemm: sums of 100,000 products err as little as those of PyTorch, within 4 times") {
  const long m = 7, n = 9, k = 100000;
  // The root of the mean square of errors, as a part of that of the sums; of one chain 8e-4, 3e-6, 6e-6, 4e-5.
  struct {
    const char* name;
    float base, spread;
    double torch;
  } data[]{{"constant", 0.3f, 0, 1.74e-6},
           {"of both signs", 0, 1, 4.07e-7},
           {"of one sign", 0.5f, 1, 3.4e-7},
           {"large with a small part", 100, 1, 2.88e-7}};
  for (const auto& d : data) {
    CAPTURE(d.name);
    Random random(30);
    std::vector<float> a(size_t(m * k)), b(size_t(k * n));
    for (float& x : a) x = d.base + d.spread * random.uniform(-0.5f, 0.5f);
    for (float& x : b) x = d.base + d.spread * random.uniform(-0.5f, 0.5f);
    for (int form = 0; form < 4; ++form)
      for (const long rows : {1L, m}) {
        CAPTURE(form);
        CAPTURE(rows);
        std::vector<float> c(size_t(rows * n));
        Gemm<float> g = kernel::gemm_of<float>(rows, n, k, form & 1, form & 2);
        g.a = a.data(), g.b = b.data(), g.c = c.data();
        reference::Workspace workspace(kernel::gemm_workspace<float>(rows, n, k));
        kernel::gemm(g, 0, kernel::gemm_items(g), workspace.data());
        double errors = 0, squares = 0;
        for (long i = 0; i < rows; ++i)
          for (long j = 0; j < n; ++j) {
            double exact = 0;
            for (long p = 0; p < k; ++p)
              exact += double(a[size_t(i * g.a_row + p * g.a_col)]) * double(b[size_t(p * g.b_row + j * g.b_col)]);
            const double error = double(c[size_t(i * n + j)]) - exact;
            errors += error * error, squares += exact * exact;
          }
        CHECK(errors < 16 * d.torch * d.torch * squares);
      }
  }
}

TEST_CASE_TEMPLATE("gemm: rows of a batch have the same bits as single rows", T, float, bfloat16, float16) {
  Random random(20);
  const long m = 37, n = 50, k = 131;
  const std::vector<T> a = reference::numbers<T>(m * k, random), b = reference::numbers<T>(n * k, random);
  std::vector<T> batch(size_t(m * n)), single(batch.size());
  reference::Workspace workspace(kernel::gemm_workspace<T>(m, n, k));
  const auto nothing = [](long, long, long, long) {};
  const Gemm<T> whole{m, n, k, a.data(), k, 1, b.data(), 1, k, batch.data(), n};
  kernel::gemm(whole, 0, kernel::gemm_items(whole), workspace.data(), nothing);
  for (long i = 0; i < m; ++i) {
    const Gemm<T> row{1, n, k, a.data() + i * k, k, 1, b.data(), 1, k, single.data() + i * n, n};
    if (kernel::gemm_workspace(row) == 0) kernel::gemm(row, 0, kernel::gemm_items(row), nullptr, nothing);
    else kernel::gemm(row, 0, kernel::gemm_items(row), workspace.data(), nothing);
  }
  CHECK(reference::same_bits(batch, single));
}

TEST_CASE("gemm: bfloat16 that is NaN, infinite, or denormal") {
  const FlushDenormals flush;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const long k : {1L, 2L, 7L, 40L})
    for (const long n : {1L, 9L, 40L}) {
      std::vector<bfloat16> a(size_t(3 * k), 1.0f), b(size_t(k * n), 2.0f), c(size_t(3 * n));
      a[0] = inf, a[size_t(k)] = nan;
      for (long p = 0; p < k; ++p) a[size_t(2 * k + p)].bits = 3;  // denormal: counts as zero
      Gemm<bfloat16> g{3, n, k, a.data(), k, 1, b.data(), n, 1, c.data(), n};
      reference::Workspace workspace(kernel::gemm_workspace<bfloat16>(3, n, k));
      kernel::gemm(g, 0, kernel::gemm_items(g), workspace.data(), [](long, long, long, long) {});
      for (long j = 0; j < n; ++j) {
        CHECK(float(c[size_t(j)]) == inf);
        CHECK(float(c[size_t(n + j)]) != float(c[size_t(n + j)]));
        CHECK(c[size_t(2 * n + j)].bits == 0);
      }
    }
}

TEST_CASE("gemm: the workspace is bounded, whatever the size") {
  static_assert(kernel::gemm_workspace<float>(1 << 20, 1 << 20, 1 << 20) <= 1 << 20);
  static_assert(kernel::gemm_workspace<bfloat16>(1 << 20, 1 << 20, 1 << 20) <= 1 << 20);
  static_assert(kernel::gemm_workspace<double>(1 << 20, 1 << 20, 1 << 20) <= 1 << 20);
  static_assert(kernel::gemm_workspace<float>(4, 4, 4) < 16 << 10);
  CHECK(kernel::gemm_workspace<float>(32, 120, 400) < 512 << 10);
  static_assert(kernel::gemm_workspace(kernel::gemm_of<float>(1, 512, 784, false, true)) == 0);
  static_assert(kernel::gemm_workspace(kernel::gemm_of<float>(2, 512, 784, false, true)) > 0);
}

TEST_CASE("gemm: a few rows at a time, without a C: the same bits") {
  Random random(77);
  for (int i = 0; i < 40; ++i) {
    const auto pick = [&](long largest) { return 1 + long(random.below(std::uint64_t(largest))); };
    const long m = pick(i % 3 ? 40 : 400), n = pick(i % 5 ? 90 : 1200), k = pick(i % 4 ? 20 : 700);
    check_rows<float>(m, n, k, i % 4, std::uint64_t(i));
    check_rows<double>(m, n, k, i % 4, std::uint64_t(i));
  }
  for (const long k : {1l, 64l, 256l, 257l})
    check_rows<float>(512, 784, k, 1, 5), check_rows<float>(10, 512, k, 1, 5), check_rows<float>(3, 512, k, 0, 5);
}
