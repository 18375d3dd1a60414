// Rows of softmax: lanes that no element reaches may be left out.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include <tenon/backend/cpu/attention/softmax.hpp>

#include "../../../support/tensors.hpp"

using namespace tenon;

namespace {
template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T, int count>
void check() {
  constexpr int reached = kernel::lanes_reached<count>;
  static_assert(reached >= count || count > 16);
  for (int seed = 0; seed < 20; ++seed) {
    auto x = support::random_tensor<T, Shape<count>>(std::uint64_t(seed), -3, 3, 1);
    if (seed % 4 == 1) x.data()[seed % count] = T(-0.0);
    if (seed % 4 == 2) x.data()[seed % count] = -std::numeric_limits<T>::infinity();
    if (seed % 4 == 3) x.data()[seed % count] = std::numeric_limits<T>::quiet_NaN();
    const T most = kernel::row_maximum<T>(x.data(), count);
    CHECK(same(kernel::row_maximum<T, reached>(x.data(), count), most));
    T all[count], few[count];
    const T sum = kernel::exponentials<true>(x.data(), all, count, most),
            other = kernel::exponentials<true, reached>(x.data(), few, count, most);
    CHECK((std::isnan(sum) ? std::isnan(other) : same(sum, other)));
    for (int i = 0; i < count; ++i) CHECK((std::isnan(all[i]) ? std::isnan(few[i]) : same(all[i], few[i])));
  }
}
template <class T, int... counts>
void check_all(std::integer_sequence<int, counts...>) {
  (check<T, counts + 1>(), ...);
}
}  // namespace

TEST_CASE("maximum and sum of exponentials of 1 to 18 numbers: in the lanes that they reach the bits of 16 lanes") {
  check_all<float>(std::make_integer_sequence<int, 18>());
  check_all<double>(std::make_integer_sequence<int, 18>());
}

namespace {
/// The sum over i of term(i), in the documented order: 16 lanes and their tree, pieces of 1024 terms and theirs.
template <class C, class Term>
C sum_in_order(long count, Term term) {
  std::vector<C> pieces;
  for (long first = 0; first < count; first += 1024) {
    C lane[16]{};
    for (long i = first; i < count && i < first + 1024; ++i) lane[i % 16] += term(i);
    for (int half = 8; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    pieces.push_back(lane[0]);
  }
  for (std::size_t step = 1; step < pieces.size(); step *= 2)
    for (std::size_t i = 0; i + step < pieces.size(); i += 2 * step) pieces[i] += pieces[i + step];
  return pieces[0];
}

/// One row by plain loops.
template <class T>
std::vector<T> expected_row(const T* x, long count, bool logarithm) {
  using C = Compute<T>;
  C most = -std::numeric_limits<C>::infinity();
  for (long i = 0; i < count; ++i) most = C(x[i]) > most ? C(x[i]) : most;
  const C sum = sum_in_order<C>(count, [=](long i) { return math::exp(C(x[i]) - most); });
  std::vector<T> y;
  for (long i = 0; i < count; ++i) {
    const C shifted = C(x[i]) - most;
    y.push_back(T(logarithm ? shifted - math::log(sum) : math::exp(shifted) / sum));
  }
  return y;
}

/// Numbers of some rows, of which a few hold infinities, NaN, and zeros of either sign, in memory that ends with them.
template <class T>
std::vector<T> rows_of_numbers(long rows, long count) {
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  special[]{-infinity, infinity, std::numeric_limits<float>::quiet_NaN(), 0.0f, -0.0f};
  Random random(std::uint64_t(rows * 100000 + count));
  std::vector<T> x(std::size_t(rows * count));
  for (T& number : x) number = T(random.uniform(-20, 20));
  for (long row = 0; row < rows; ++row)
    if (row % 3 == 1) x[std::size_t(row * count) + random.below(std::uint64_t(count))] = T(special[random.below(5)]);
    else if (row % 7 == 2)
      for (long i = 0; i < count; ++i) x[std::size_t(row * count + i)] = T(special[row % 2 ? 0 : 2]);
  return x;
}

template <class T, bool logarithm>
void check_rows(long rows, long count) {
  const std::vector<T> x = rows_of_numbers<T>(rows, count);
  const kernel::AxisSplit split{rows, count, 1};
  std::vector<T> apart(x.size()), in_place = x, expected;
  for (const auto& [begin, end] : {std::pair{0L, rows / 2}, std::pair{rows / 2, rows}}) {
    kernel::softmax<Compute<T>, logarithm>(split, x.data(), apart.data(), begin, end);
    kernel::softmax<Compute<T>, logarithm>(split, in_place.data(), in_place.data(), begin, end);
  }
  for (long r = 0; r < rows; ++r)
    for (const T y : expected_row(x.data() + r * count, count, logarithm)) expected.push_back(y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool nan = std::isnan(Compute<T>(expected[i]));
    if (nan ? std::isnan(Compute<T>(apart[i])) && std::isnan(Compute<T>(in_place[i]))
            : same(apart[i], expected[i]) && same(in_place[i], expected[i]))
      continue;
    FAIL(rows, " rows of ", count, ", logarithm ", logarithm, ": element ", i, " is ", Compute<T>(apart[i]), " and ",
         Compute<T>(in_place[i]), ", expected ", Compute<T>(expected[i]));
  }
}
template <class T>
void check_lengths(std::initializer_list<long> more) {
  const auto both = [](long rows, long count) {
    check_rows<T, false>(rows, count);
    check_rows<T, true>(rows, count);
  };
  for (long count = 1; count <= 70; ++count)
    for (long rows : {1L, 2L, 16L, 17L, 40L}) both(rows, count);
  for (long count : more)
    for (long rows : {1L, 5L}) both(rows, count);
}
}  // namespace

TEST_CASE(
    "rows of any length, computed together, in parts, in place: the bits of plain loops in the documented order") {
  check_lengths<float>({100, 1000, 1023, 1024, 1025, 2048, 2049, 5000});
  check_lengths<double>({1023, 1025, 3000});
  check_lengths<float16>({1000, 1025});
  check_lengths<bfloat16>({1000, 1025});
}

TEST_CASE("no rows, and rows of nothing") {
  float none = 7;
  kernel::softmax<float, false>({0, 5, 1}, &none, &none, 0, 0);
  kernel::softmax<float, true>({3, 0, 1}, &none, &none, 0, 3);
  kernel::softmax<float, false>({3, 0, 1}, &none, &none, 0, 3);
  CHECK(none == 7);
}
