// Operators on tensors in slices: values and gradients of one loss that all ranks have, in both modes, against loops
// over the tensors of all ranks and against differences. Ranks are threads.
// label: long
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include <tenon/dist/threads.hpp>
#include <tenon/ops/collective/slice_rows.hpp>
#include <tenon/ops/collective/slices.hpp>

#include "../../support/error_of.hpp"
#include "../../support/shape_rule.hpp"
#include "checked.hpp"

using namespace tenon;
using support::error_of;

namespace {
/// The tensor of a rank, the same wherever it is made; of rank -1 that which all have.
template <class T, class S>
Tensor<T, S> of_rank(int rank, long n = 2) {
  return support::random_tensor<T, S>(std::uint64_t(rank) + 2, -2, 2, n);
}

/// What an operator takes and gives: x of each rank gives a y that all have, or the other way round.
enum class Way { joins, parts };

/// f(x) and the gradient of sum(y * weight) in both modes with equal bits. If each rank has its part of y, the loss is
/// the sum over them. The gradient of float64 is compared with differences. Returns f(x).
template <Way way, class F, class X>
auto checked(const dist::Communicator& ranks, const F& f, const X& given) {
  const int seed = way == Way::joins ? 70 : 70 + ranks.rank();
  return collective::checked(
      f, given, std::uint64_t(seed), [&](const auto& x, const auto& weight, const auto& gradient) {
        const auto loss = [&](const auto& at) {
          const auto z = f(at);
          double sum = 0;
          for (long i = 0; i < z.count(); ++i) sum += z.data()[i] * weight.data()[i];
          if (way == Way::parts) dist::all_reduce<double>(ranks, dist::ReduceOp::sum, {&sum, 1});
          return sum;
        };
        constexpr double step = 1e-5;
        for (int rank = 0; rank < (way == Way::parts ? 1 : ranks.size()); ++rank)
          for (long i = 0; i < x.count(); ++i) {
            auto up = x.copy(), down = x.copy();
            const bool own = way == Way::parts || rank == ranks.rank();  // a tensor that all have changes on all
            if (own) up.data()[i] += step, down.data()[i] -= step;
            const double difference = (loss(up) - loss(down)) / (2 * step);
            if (own) REQUIRE(gradient.data()[i] == doctest::Approx(difference).epsilon(1e-6));
          }
      });
}

template <class T>
void check_all(const dist::Communicator& ranks) {
  using S = Shape<dyn, 2, 6>;
  const int rank = ranks.rank();
  const auto all = of_rank<T, S>(-1), own = of_rank<T, S>(rank);

  const auto same = checked<Way::parts>(ranks, [](const auto& v) { return copy_to_slices(v); }, all);
  REQUIRE(support::same_bits(same, all));
  const auto part = checked<Way::parts>(ranks, [](const auto& v) { return take_slice<3>(v); }, all);
  static_assert(std::is_same_v<typename decltype(part)::shape_type, Shape<dyn, 2, 2>>);
  for (long row = 0; row < 4; ++row)
    REQUIRE(std::memcmp(part.data() + row * 2, all.data() + row * 6 + rank * 2, 2 * sizeof(T)) == 0);
  const auto whole = checked<Way::joins>(ranks, [](const auto& v) { return gather_slices<3>(v); }, own);
  static_assert(std::is_same_v<typename decltype(whole)::shape_type, Shape<dyn, 2, 18>>);
  for (long row = 0; row < 4; ++row)
    for (int r = 0; r < 3; ++r)
      REQUIRE(std::memcmp(whole.data() + row * 18 + r * 6, of_rank<T, S>(r).data() + row * 6, 6 * sizeof(T)) == 0);
  const auto sum = checked<Way::joins>(ranks, [](const auto& v) { return sum_slices(v); }, own);
  for (long i = 0; i < sum.count(); ++i) {
    using C = Compute<T>;
    const auto at = [&](int r) { return static_cast<C>(of_rank<T, S>(r).data()[i]); };
    REQUIRE(sum.data()[i] == static_cast<T>((at(0) + at(1)) + at(2)));
  }
}

struct Rows {
  using shape = Shape<2, 4>;
  static constexpr std::int32_t values[]{0, 11, -1, 5, 4, -12, 3, 5};
};
}  // namespace

TEST_CASE("slices have the values of loops over ranks, and the gradients of one loss") {
  dist::run_ranks(3, [](const dist::Communicator& ranks) {
    check_all<double>(ranks);
    check_all<float>(ranks);
    check_all<float16>(ranks);
    check_all<std::int32_t>(ranks);
  });
}
TEST_CASE("rows of a table in slices, with numbers that count from the end") {
  dist::run_ranks(3, [](const dist::Communicator& ranks) {
    const auto table = of_rank<double, Shape<4, 5>>(ranks.rank());
    const auto y = checked<Way::joins>(
        ranks, [](const auto& v) { return sum_slices(rows_of_slice<3, "world">(v, constant<Rows>(v))); }, table);
    static_assert(std::is_same_v<typename decltype(y)::shape_type, Shape<2, 4, 5>>);
    for (long i = 0; i < 8; ++i) {
      const int number = (Rows::values[i] + 12) % 12;
      const auto expected = of_rank<double, Shape<4, 5>>(number / 4);
      for (long k = 0; k < 5; ++k) REQUIRE(y.data()[i * 5 + k] == expected.data()[number % 4 * 5 + k]);
    }
  });
}
TEST_CASE("what does not fit is one sentence, before it runs or when it does") {
  using namespace ops;
  CHECK(support::refusal<SumSlices<"world">>({}, {Tensor<bool, Shape<3>>::dims}) ==
        "SumSlices needs numbers, got bool [3]: cast it");
  CHECK(support::refusal<TakeSlice<"world">>({4}, {Tensor<float, Shape<dyn, 3>>::dims}) ==
        "TakeSlice of 4 slices needs a last extent that is a multiple of it, got [n,3]");
  CHECK(support::refusal<GatherSlices<"world">>({4}, {Tensor<float, Shape<dyn>>::dims}) ==
        "GatherSlices needs a last axis of a fixed extent, got [n]");
  CHECK(support::refusal<SliceRows<"world">>({2, 4}, {Tensor<float, Shape<dyn>>::dims}) ==
        "an embedding needs numbers of int32 or int64, got float32 [n]");
  const auto x = Tensor<float, Shape<2>>::zeros();
  CHECK(error_of([&] { sum_slices(x); }) == "This process is not a rank yet: call dist::init(\"mpi\") first.");
  dist::run_ranks(2, [&](const dist::Communicator&) {
    REQUIRE(error_of([&] { gather_slices<3>(x); }) == "GatherSlices is for 3 ranks, and the group 'world' has 2.");
    REQUIRE(error_of([&] { take_slice<1>(x); }) == "TakeSlice is for 1 ranks, and the group 'world' has 2.");
    const auto table = Tensor<float, Shape<4, 5>>::zeros();
    const Tensor<std::int32_t, Shape<2>> numbers{{3, 8}};
    REQUIRE(error_of([&] { rows_of_slice<2, "world">(table, numbers); }) ==
            "SliceRows: index 8 at [1] is outside of -8 .. 7, the 8 rows of the table, for numbers [2]. Correct the "
            "index, or give the table more rows.");
  });
}
