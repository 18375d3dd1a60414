// Vectors and fmadd against scalar arithmetic: values, rounding, alignment, transposition.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <tenon/core/random/philox.hpp>
#include <tenon/core/simd/simd.hpp>

using namespace tenon;

namespace {
template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T, int Width>
void lanes() {
  using V = Simd<T, Width>;
  Random random(Width);
  // Unaligned on purpose: one element past the natural border.
  alignas(64) T memory[3][Width + 1], out[Width + 1];
  for (int round = 0; round < 100; ++round) {
    for (auto& row : memory)
      for (T& x : row) x = T(random.uniform(-2, 2) * (1 + random.uniform()));
    const V a = V::load(memory[0] + 1), b = V::load(memory[1] + 1), c = V::load(memory[2] + 1);
    const auto check = [&](V result, auto expected) {
      result.store(out + 1);
      for (int i = 0; i < Width; ++i) {
        CHECK(same(out[i + 1], T(expected(memory[0][i + 1], memory[1][i + 1], memory[2][i + 1]))));
        CHECK(same(result[i], out[i + 1]));
      }
    };
    check(a + b, [](T x, T y, T) { return x + y; });
    check(a - b, [](T x, T y, T) { return x - y; });
    check(a * b, [](T x, T y, T) { return x * y; });
    check(a / b, [](T x, T y, T) { return x / y; });
    check(-a, [](T x, T, T) { return -x; });
    check(max(a, b), [](T x, T y, T) { return x > y ? x : y; });
    check(min(a, b), [](T x, T y, T) { return x < y ? x : y; });
    check(fmadd(a, b, c), [](T x, T y, T z) { return fmadd(x, y, z); });
    check(fmadd(a, b, c), [](T x, T y, T z) {
      if constexpr (has_fused_multiply_add) return std::fma(x, y, z);
      volatile T product = x * y;
      return T(product + z);
    });
    check(choose_greater(a, b, c, a), [](T x, T y, T z) { return x > y ? z : x; });
    check(V(T(1.5)), [](T, T, T) { return T(1.5); });
    alignas(sizeof(V)) T aligned[Width];
    store_past_caches(a, aligned);
    settle_stores();
    CHECK(std::memcmp(aligned, memory[0] + 1, sizeof aligned) == 0);
  }
}

template <class T, int Width>
void transposition() {
  T values[2 * Width * Width];
  for (int i = 0; i < 2 * Width * Width; ++i) values[i] = T(i);
  Simd<T, Width> rows[Width];
  for (int i = 0; i < Width; ++i) rows[i] = Simd<T, Width>::load(values + i * Width);
  transpose_lanes(rows);
  for (int i = 0; i < Width; ++i)
    for (int j = 0; j < Width; ++j) CHECK(rows[i][j] == values[j * Width + i]);
  const auto a = Simd<T, Width>::load(values), b = Simd<T, Width>::load(values + Width);
  for (int i = 0; i < Width; ++i) {
    CHECK(every_second(a, b, 0)[i] == T(2 * i));
    CHECK(every_second(a, b, 1)[i] == T(2 * i + 1));
    CHECK(interleaved(a, b, false)[i] == T(i / 2 + (i % 2) * Width));
    CHECK(interleaved(a, b, true)[i] == T((i + Width) / 2 + (i % 2) * Width));
  }
}

template <class T>
T noise() {
  return std::numeric_limits<T>::quiet_NaN();
}
}  // namespace

TEST_CASE("float64: each lane is the same number, and rounds back to it") {
  const auto check = []<int Width>(std::integral_constant<int, Width>) {
    const float values[]{1.5f, -0.0f, 3e38f, -1e-30f, INFINITY, 0.1f, -7, 0x1p24f};
    for (int first = 0; first < 8; ++first) {
      float in[Width], back[Width];
      double wide[Width];
      for (int l = 0; l < Width; ++l) in[l] = values[(first + l) % 8];
      const auto x = as_float64(Simd<float, Width>::load(in));
      x.store(wide), as_float32(x).store(back);
      for (int l = 0; l < Width; ++l) CHECK((same(wide[l], double(in[l])) && same(back[l], in[l])));
    }
  };
  check(std::integral_constant<int, 2>());
  check(std::integral_constant<int, 4>());
  check(std::integral_constant<int, 8>());
}

TEST_CASE("simd: lanes compute what scalars compute, bit for bit") {
  lanes<float, simd_width<float>>();
  lanes<double, simd_width<double>>();
  lanes<float, 4>();
  lanes<double, 2>();
}

TEST_CASE("simd: fmadd rounds once where the machine can, scalar and vector alike") {
  // (1 + e)^2 = 1 + 2e + e^2: the last term is lost if the product is rounded first.
  const float e = 0x1p-12f, product = (1 + e) * (1 + e);
  const float expected = has_fused_multiply_add ? e * e : 0.0f;
  CHECK(fmadd(1 + e, 1 + e, -product) == expected);
  const auto v = fmadd(Simd<float>(1 + e), Simd<float>(1 + e), Simd<float>(-product));
  for (int i = 0; i < v.width; ++i) CHECK(v[i] == expected);
  const double f = 0x1p-27, square = (1 + f) * (1 + f);
  CHECK(fmadd(1 + f, 1 + f, -square) == (has_fused_multiply_add ? f * f : 0.0));
  CHECK(fmadd(Simd<double>(1 + f), Simd<double>(1 + f), Simd<double>(-square))[1] ==
        (has_fused_multiply_add ? f * f : 0.0));
}

TEST_CASE("simd: a product and a sum that are written apart round apart") {
  volatile float e = 0x1p-12f;
  const float x = 1 + e, product = x * x;
  const Simd<float> apart = Simd<float>(x) * Simd<float>(x) + Simd<float>(-product);
  for (int i = 0; i < apart.width; ++i) CHECK(apart[i] == 0.0f);
}

TEST_CASE("simd: zeros keep their sign, maximum and minimum give the second operand when one is NaN") {
  CHECK(same(Simd<float>(-0.0f)[1], -0.0f));
  const Simd<float> nan(noise<float>()), one(1.0f);
  CHECK(max(nan, one)[0] == 1.0f);
  CHECK(std::isnan(max(one, nan)[0]));
  CHECK(min(nan, one)[0] == 1.0f);
  CHECK(std::isnan(min(one, nan)[0]));
}

TEST_CASE("simd: unsigned integers wrap around") {
  const std::uint64_t big = ~std::uint64_t{0};
  CHECK(fmadd(big, big, std::uint64_t{5}) == 6);
  CHECK(fmadd(Simd<std::uint64_t>(big), Simd<std::uint64_t>(big), Simd<std::uint64_t>(std::uint64_t{5}))[1] == 6);
}

TEST_CASE("simd: transposition and every second element") {
  transposition<float, simd_width<float>>();
  transposition<double, simd_width<double>>();
  transposition<float, 4>();
  transposition<double, 2>();
  Simd<float, 4> rows[4];
  for (int i = 0; i < 4; ++i) {
    const float values[4]{float(4 * i), float(4 * i + 1), float(4 * i + 2), float(4 * i + 3)};
    rows[i] = Simd<float, 4>::load(values);
  }
  transpose_blocks<2>(rows);  // blocks of 2 x 2 stay where they are
  CHECK(rows[0][1] == 4);
  CHECK(rows[0][2] == 2);
  CHECK(rows[3][2] == 11);
  using Half = Simd<float, simd_width<float> / 2>;
  const float values[]{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto both = joined(Half::load(values + 1), Half::load(values));
  CHECK(both[0] == 1);
  CHECK(both[Half::width - 1] == Half::width);
  CHECK(both[Half::width] == 0);
  CHECK(both[2 * Half::width - 1] == Half::width - 1);
}

TEST_CASE("simd: square roots have the bits of the scalar ones") {
  const auto check = []<class T, int Width>(Simd<T, Width> x) {
    T values[Width];
    for (int i = 0; i < Width; ++i) values[i] = i == 0 ? T(-0.0) : T(i) / 7;
    x = square_root(Simd<T, Width>::load(values));
    for (int i = 0; i < Width; ++i) CHECK(same(x[i], T(std::sqrt(values[i]))));
  };
  check(Simd<float>());
  check(Simd<double>());
  check(Simd<float, 4>());
  check(Simd<double, 2>());
  CHECK(std::isnan(square_root(Simd<float>(-1.0f))[0]));
}

TEST_CASE("simd: halves") {
  float values[simd_width<float>];
  for (int i = 0; i < simd_width<float>; ++i) values[i] = float(i);
  const auto v = Simd<float>::load(values);
  for (int i = 0; i < simd_width<float> / 2; ++i) {
    CHECK(lower_half(v)[i] == float(i));
    CHECK(upper_half(v)[i] == float(i + simd_width<float> / 2));
  }
}

#if defined(__AVX2__)
TEST_CASE("packed lanes: those that are greater, in their order, for every set of them") {
  constexpr int width = simd_width<float>;
  Random random(7);
  for (int mask = 0; mask < 1 << width; mask += width > 8 ? 7 : 1) {
    float least[width], number[width], first[width], second[width], out[2][width];
    for (int i = 0; i < width; ++i) {
      number[i] = random.uniform(-1, 1), least[i] = mask >> i & 1 ? number[i] - 0.5f : number[i] + float(i % 2);
      if (i % 5 == 4 && !(mask >> i & 1)) least[i] = NAN;
      first[i] = random.uniform(-1, 1), second[i] = i % 3 == 0 ? NAN : random.uniform(-1, 1);
    }
    Simd<float, width> x = Simd<float, width>::load(first), y = Simd<float, width>::load(second);
    const int count = pack_greater(Simd<float, width>::load(number), Simd<float, width>::load(least), x, y);
    x.store(out[0]), y.store(out[1]);
    int expected = 0;
    bool right = true;
    for (int i = 0; i < width; ++i)
      if (mask >> i & 1) {
        right &= same(out[0][expected], first[i]) && same(out[1][expected], second[i]);
        ++expected;
      }
    CHECK(right);
    CHECK(count == expected);
  }
}
#endif
