// Operators among ranks: values and gradients in both modes, against loops over the tensors of all ranks. Ranks are
// threads.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include <tenon/dist/threads.hpp>
#include <tenon/ops/collective/all_gather.hpp>
#include <tenon/ops/collective/all_reduce.hpp>
#include <tenon/ops/collective/all_to_all.hpp>
#include <tenon/ops/collective/broadcast.hpp>
#include <tenon/ops/collective/neighbor_exchange.hpp>

#include <tenon/nn/grad.hpp>
#include <tenon/ops/reduce_sum.hpp>

#include "../support/error_of.hpp"
#include "../support/shape_rule.hpp"
#include "collective/checked.hpp"

using namespace tenon;
using dist::ReduceOp;
using support::error_of;

namespace {
/// The tensor of a rank, the same wherever it is made.
template <class T, class S>
Tensor<T, S> of_rank(int rank, long n = 2) {
  return support::random_tensor<T, S>(std::uint64_t(rank) + 1, -2, 2, n);
}

template <class Y>
double weighted(const dist::Communicator& ranks, const Y& y, const Y& weight) {
  double sum = 0;
  for (long i = 0; i < y.count(); ++i) sum += double(y.data()[i]) * double(weight.data()[i]);
  dist::all_reduce<double>(ranks, ReduceOp::sum, {&sum, 1});
  return sum;
}

template <class F, class X, class Y>
void check_differences(const dist::Communicator& ranks, const F& f, const X& x, const Y& weight, const X& gradient) {
  constexpr double step = 1e-5;
  for (int rank = 0; rank < ranks.size(); ++rank)
    for (long i = 0; i < x.count(); ++i) {
      X up = x.copy(), down = x.copy();
      if (rank == ranks.rank()) up.data()[i] += step, down.data()[i] -= step;
      const double difference = (weighted(ranks, f(up), weight) - weighted(ranks, f(down), weight)) / (2 * step);
      if (rank == ranks.rank()) REQUIRE(gradient.data()[i] == doctest::Approx(difference).epsilon(1e-6));
    }
}

/// f(x) and the gradient of the sum over ranks of sum(f(x) * weight), in both modes with equal bits; each rank has
/// other weights. The gradient of float64 is compared with differences, for each element of each rank. Returns f(x).
template <class F, class X>
auto checked(const dist::Communicator& ranks, const F& f, const X& given) {
  return collective::checked(f, given, std::uint64_t(ranks.rank()) + 70,
                             [&](const auto& x, const auto& weight, const auto& gradient) {
                               check_differences(ranks, f, x, weight, gradient);
                             });
}

/// Element i of a tensor that a rank has, as `part` of it.
template <class T, class S>
bool is_part(const auto& y, long at, int rank, long from, long count) {
  const auto x = of_rank<T, S>(rank);
  return std::memcmp(y.data() + at, x.data() + from, std::size_t(count) * sizeof(T)) == 0;
}

template <class T>
void check_all(const dist::Communicator& ranks) {
  using S = Shape<dyn, 6, 2>;
  constexpr int size = 3;
  const int rank = ranks.rank();
  const auto x = of_rank<T, S>(rank);
  const long count = x.count();

  const auto gathered = checked(ranks, [](const auto& v) { return all_gather<3>(v); }, x);
  for (int r = 0; r < size; ++r) REQUIRE(is_part<T, S>(gathered, r * count, r, 0, count));
  const auto root = checked(ranks, [](const auto& v) { return broadcast<1>(v); }, x);
  REQUIRE(is_part<T, S>(root, 0, 1, 0, count));
  const auto moved = checked(ranks, [](const auto& v) { return neighbor_exchange<-4>(v); }, x);
  REQUIRE(is_part<T, S>(moved, 0, (rank + 4) % size, 0, count));
  const auto sent = checked(ranks, [](const auto& v) { return send_receive<0, 2>(v); }, x);
  REQUIRE(is_part<T, S>(sent, 0, rank == 2 ? 0 : rank, 0, count));
  const auto turned = checked(ranks, [](const auto& v) { return all_to_all<3, 1, 2>(v); }, x);
  static_assert(std::is_same_v<typename decltype(turned)::shape_type, Shape<dyn, 2, 6>>);
  for (long row = 0; row < x.n(); ++row)  // [2, 2] of each rank, joined along the last axis
    for (long i = 0; i < 2; ++i)
      for (int r = 0; r < size; ++r)
        REQUIRE(is_part<T, S>(turned, row * 12 + i * 6 + r * 2, r, row * 12 + (rank * 2 + i) * 2, 2));
  if constexpr (!std::is_same_v<T, bool>) {
    auto sum = of_rank<T, S>(0);
    for (long i = 0; i < count; ++i) {
      using C = Compute<T>;
      const auto at = [&](int r) { return static_cast<C>(of_rank<T, S>(r).data()[i]); };
      sum.data()[i] = static_cast<T>((at(0) + at(1)) + at(2));
    }
    const auto reduced = checked(ranks, [](const auto& v) { return all_reduce(v); }, x);
    REQUIRE(support::same_bits(reduced, sum));
    const auto to_one = checked(ranks, [](const auto& v) { return reduce_to<2>(v); }, x);
    for (long i = 0; i < count; ++i) REQUIRE(to_one.data()[i] == (rank == 2 ? sum.data()[i] : T(0)));
    // the same numbers in the same order, cut along 6
    const auto scattered =
        checked(ranks, [](const auto& v) { return reduce_scatter<3>(v); }, of_rank<T, Shape<6, 4>>(rank));
    REQUIRE(std::memcmp(scattered.data(), sum.data() + rank * 8, 8 * sizeof(T)) == 0);
  }
}
}  // namespace

TEST_CASE("operators among ranks have the values of loops over all ranks, and gradients that differences confirm") {
  dist::run_ranks(3, [](const dist::Communicator& ranks) {
    check_all<double>(ranks);
    check_all<float>(ranks);
    check_all<float16>(ranks);
    check_all<std::int32_t>(ranks);
    check_all<bool>(ranks);
  });
}

TEST_CASE("products, maxima, and minima over ranks, with gradients also where an element is 0 or two are equal") {
  dist::run_ranks(4, [](const dist::Communicator& ranks) {
    const auto product = [](const auto& v) { return all_reduce<ReduceOp::prod>(v); };
    auto x = of_rank<double, Shape<3>>(ranks.rank());
    checked(ranks, product, x);
    if (ranks.rank() == 2) x.data()[0] = 0;
    if (ranks.rank() > 1) x.data()[1] = 0;
    const auto y = checked(ranks, product, x);
    REQUIRE(y.data()[0] == 0);
    const auto largest = [](const auto& v) { return all_reduce<ReduceOp::max>(v); };
    const auto smallest = [](const auto& v) { return all_reduce<ReduceOp::min>(v); };
    const auto z = of_rank<double, Shape<3>>(ranks.rank());
    for (long i = 0; i < 3; ++i) {
      double most = -9, least = 9;
      for (int rank = 0; rank < 4; ++rank) {
        const double other = of_rank<double, Shape<3>>(rank).data()[i];
        most = std::fmax(most, other), least = std::fmin(least, other);
      }
      REQUIRE(checked(ranks, largest, z).data()[i] == most);
      REQUIRE(checked(ranks, smallest, z).data()[i] == least);
    }
    // two of four ranks have the largest: each gets half of the sum of the ranks' dy
    const auto ties = Tensor<double, Shape<1>>::full(ranks.rank() < 2 ? 1.0 : 0.5);
    const auto gradient = grad([](const auto& v) { return reduce_sum(all_reduce<ReduceOp::max>(v)); })(ties);
    REQUIRE(gradient.data()[0] == (ranks.rank() < 2 ? 2 : 0));
  });
}

TEST_CASE("groups: an operator names its group") {
  dist::run_ranks(4, [](const dist::Communicator& ranks) {
    dist::create_group("odd", {3, 1});
    if (ranks.rank() % 2 == 0) return;
    const auto x = of_rank<double, Shape<2>>(ranks.rank());
    const auto& odd = dist::communicator("odd");
    const auto y = checked(odd, [](const auto& v) { return all_gather<2, "odd">(v); }, x);
    REQUIRE(is_part<double, Shape<2>>(y, 0, 3, 0, 2));
    REQUIRE(is_part<double, Shape<2>>(y, 2, 1, 0, 2));
    checked(odd, [](const auto& v) { return all_reduce<ReduceOp::prod, "odd">(v) * v; }, x);
  });
}

TEST_CASE("what does not fit is one sentence, before it runs or when it does") {
  using namespace ops;
  CHECK(support::refusal<AllReduce<"world">>({}, {Tensor<bool, Shape<3>>::dims}) ==
        "AllReduce needs numbers, got bool [3]: cast it");
  CHECK(support::refusal<ReduceScatter<"world">>({4}, {Tensor<float, Shape<dyn, 3>>::dims}) ==
        "ReduceScatter over 4 ranks needs a first extent that is a multiple of it, got [n,3]");
  CHECK(support::refusal<AllToAll<"world">>({2, 1, 0}, {Tensor<float, Shape<4, 3>>::dims}) ==
        "AllToAll over 2 ranks needs an extent along axis 1 that is a multiple of it, got [4,3]");
  CHECK(support::result_type<AllGather<"world">>({4}, {Tensor<float, Shape<dyn, 3>>::dims}) == "float32 [4n,3]");
  const auto x = Tensor<float, Shape<2>>::zeros();
  CHECK(error_of([&] { all_reduce(x); }) == "This process is not a rank yet: call dist::init(\"mpi\") first.");
  dist::run_ranks(2, [&](const dist::Communicator& ranks) {
    REQUIRE(error_of([&] { all_gather<3>(x); }) == "AllGather is for 3 ranks, and the group 'world' has 2.");
    REQUIRE(error_of([&] { broadcast<2>(x); }) == "Broadcast from rank 2: the group has the ranks 0 to 1.");
    REQUIRE(error_of([&] { reduce_to<2>(x); }) == "ReduceTo rank 2: the group has the ranks 0 to 1.");
    REQUIRE(error_of([&] { send_receive<0, 5>(x); }).find("has the ranks 0 to 1") != std::string::npos);
    REQUIRE(error_of([&] { all_reduce<ReduceOp::sum, "odd">(x); }) == "There is no group 'odd'; there are 'world'.");
    const auto rows = Tensor<float, Shape<dyn, 2>>::zeros(1 + ranks.rank());
    REQUIRE(error_of([&] { all_reduce(rows); }).find("they run different calls") != std::string::npos);
  });
  // of equal sizes, too: each would take the other's numbers for its own
  const auto differ = [&](auto of_rank_0, auto of_rank_1) {
    std::vector<std::string> heard(2);
    dist::run_ranks(2, [&](const dist::Communicator& ranks) {
      heard[std::size_t(ranks.rank())] = error_of([&] { ranks.rank() == 0 ? of_rank_0() : of_rank_1(); });
    });
    return heard[0] + '\n' + heard[1];
  };
  const std::string rule = ": they run different calls. All ranks of a group call the same collectives in the same "
                           "order, with equal sizes.";
  CHECK(differ([&] { all_reduce(x); }, [&] { all_gather<2>(x); }) ==
        "Rank 0 calls all_reduce<sum> of 8 bytes of float32, rank 1 calls all_gather of 16 bytes" + rule +
            "\nRank 1 calls all_gather of 16 bytes, rank 0 calls all_reduce<sum> of 8 bytes of float32" + rule);
  CHECK(differ([&] { all_reduce(x); }, [&] { all_reduce<ReduceOp::max>(x); })
            .starts_with("Rank 0 calls all_reduce<sum> of 8 bytes of float32, rank 1 calls all_reduce<max>"));
  CHECK(differ([&] { all_reduce(x); }, [] { all_reduce(Tensor<std::int32_t, Shape<2>>::zeros()); })
            .starts_with("Rank 0 calls all_reduce<sum> of 8 bytes of float32, rank 1 calls all_reduce<sum> of 8 bytes "
                         "of int32"));
  CHECK(differ([&] { broadcast<0>(x); }, [&] { neighbor_exchange<1>(x); })
            .find("Rank 1 calls neighbor_exchange<1> of 8 bytes, rank 0 calls broadcast<0> of 8 bytes") !=
        std::string::npos);
  CHECK(differ([&] { send_receive<0, 1>(x); }, [&] { all_to_all<2>(x); })
            .find("Rank 1 calls all_to_all of 8 bytes, rank 0 calls send_receive<0, 1> of 8 bytes") !=
        std::string::npos);
}
