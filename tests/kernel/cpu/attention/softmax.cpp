// Rows of softmax: lanes that no element reaches may be left out.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <tenon/kernel/cpu/attention/softmax.hpp>

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

TEST_CASE("rows that are computed together have the bits of single ones, however long they are and wherever they end") {
  for (long count : {1L, 2L, 3L, 9L, 15L, 16L, 17L, 31L, 44L})
    for (long rows : {1L, 2L, 16L, 17L, 40L}) {
      const auto all = support::random_tensor<float, Shape<40 * 44>>(std::uint64_t(count), -3, 3, 1);
      const std::vector<float> x(all.data(), all.data() + rows * count);  // memory that ends with the last row
      for (const bool logarithm : {false, true}) {
        std::vector<float> y(x.size());
        const kernel::AxisSplit split{rows, count, 1};
        const long half = rows / 2;
        for (const auto& [begin, end] : {std::pair{0L, half}, std::pair{half, rows}}) {
          if (logarithm) kernel::softmax<float, true>(split, x.data(), y.data(), begin, end);
          else kernel::softmax<float, false>(split, x.data(), y.data(), begin, end);
        }
        for (long r = 0; r < rows; ++r) {
          const float* const row = x.data() + r * count;
          const float most = kernel::row_maximum<float>(row, count),
                      sum = kernel::exponentials<false>(row, static_cast<float*>(nullptr), count, most),
                      log_sum = kernel::log(sum);
          for (long i = 0; i < count; ++i)
            CHECK(same(y[std::size_t(r * count + i)],
                       logarithm ? row[i] - most - log_sum : kernel::exp(row[i] - most) / sum));
        }
      }
    }
}
