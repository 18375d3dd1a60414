// Operators that move elements, at many shapes: against a walk over all indices, gradients against central differences,
// both modes against each other.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/concat.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/split.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/ops/transpose.hpp>
#include <tenon/ops/triangle.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"

using namespace tenon;
using namespace support;

namespace {

using Index = std::array<long, max_rank>;

template <class X>
double element(const X& x, const Index& at) {
  long offset = 0;
  for (int axis = 0; axis < X::dims.rank; ++axis) offset = offset * x.extent(axis) + at[std::size_t(axis)];
  return x.data()[offset];
}
// Calls f(index) for every index of y, row-major.
template <class Y, class F>
void for_each_index(const Y& y, F f) {
  Index at{};
  for (long i = 0; i < y.count(); ++i) {
    f(at);
    for (int axis = Y::dims.rank; axis-- > 0 && ++at[std::size_t(axis)] == y.extent(axis);) at[std::size_t(axis)] = 0;
  }
}
// Checks y against source(index), forward in both modes, and the gradients.
template <class S, class F, class Source>
void check_moved(F f, Source source, long n = 3) {
  const auto x = random_tensor<double, S>(std::uint64_t(S::rank) + 7, -2, 2, n);
  const auto y = both_modes(f, x).result;
  bool equal = true;
  for_each_index(y, [&](const Index& at) { equal &= element(y, at) == source(x, at); });
  CHECK(equal);
  check_gradients(f, x);
}

template <class S, int... order>
void check_transpose(long n = 3) {
  constexpr int axes[]{order...};
  check_moved<S>([](const auto& x) { return transpose<order...>(x); },
                 [&](const auto& x, const Index& at) {
                   Index from{};
                   for (int k = 0; k < S::rank; ++k) from[std::size_t(axes[k])] = at[std::size_t(k)];
                   return element(x, from);
                 },
                 n);
}

}  // namespace

TEST_CASE("transpose: any order, blocks that are not full") {
  check_transpose<Shape<5, 3>, 1, 0>();
  check_transpose<Shape<17, 33>, 1, 0>();
  check_transpose<Shape<2, 3, 4>, 0, 2, 1>();
  check_transpose<Shape<2, 3, 4>, 2, 1, 0>();
  check_transpose<Shape<2, 3, 4>, 1, 2, 0>();
  check_transpose<Shape<2, 3, 4>, 0, 1, 2>();
  check_transpose<Shape<2, 1, 4, 3>, 3, 1, 0, 2>();
  check_transpose<Shape<2, 3, 2, 3, 2>, 4, 2, 0, 3, 1>();
  check_transpose<Shape<2, 2, 3, 1, 2, 2>, 5, 4, 3, 2, 1, 0>();
  check_transpose<Shape<dyn, 3, 4, 2>, 0, 2, 1, 3>();
  check_transpose<Shape<times<2>, 3, 18>, 0, 2, 1>(2);
  check_transpose<Shape<dyn, 3, 4>, 0, 2, 1>(1);
}

TEST_CASE("slice: windows of three axes and ranges far apart") {
  check_moved<Shape<7>>([](const auto& x) { return slice<Part{1, 6, 2}>(x); },
                        [](const auto& x, const Index& at) { return element(x, {1 + 2 * at[0]}); });
  check_moved<Shape<4, 5>>([](const auto& x) { return slice<Part{.step = -1}, Part{-2, -5, -2}>(x); },
                           [](const auto& x, const Index& at) { return element(x, {3 - at[0], 3 - 2 * at[1]}); });
  check_moved<Shape<dyn, 3, 4, 2>>(
      [](const auto& x) { return slice<2, Part{1, 3}>(x); },
      [](const auto& x, const Index& at) { return element(x, {at[0], at[1], at[2] + 1, at[3]}); });
  check_moved<Shape<dyn, 3, 4, 2>>(
      [](const auto& x) { return slice<Part{}, Part{1}, Part{}, Part{-1}>(x); },
      [](const auto& x, const Index& at) { return element(x, {at[0], at[1] + 1, at[2], 1}); });
  check_moved<Shape<3, 2, 2, 2, 3>>(
      [](const auto& x) { return slice<Part{1}, Part{}, Part{}, Part{}, Part{0, 3, 2}>(x); },
      [](const auto& x, const Index& at) { return element(x, {at[0] + 1, at[1], at[2], at[3], 2 * at[4]}); });
  check_moved<Shape<2, 3>>([](const auto& x) { return slice<Part{}>(x); },
                           [](const auto& x, const Index& at) { return element(x, at); });
}

TEST_CASE("split: equal pieces, given extents, pieces of the batch") {
  check_moved<Shape<dyn, 6, 2>>([](const auto& x) { return split<1, 3>(x)[2]; },
                                [](const auto& x, const Index& at) { return element(x, {at[0], at[1] + 4, at[2]}); });
  check_moved<Shape<3, 7>>([](const auto& x) { return std::get<1>(split_sizes<-1, 2, 4, 1>(x)); },
                           [](const auto& x, const Index& at) { return element(x, {at[0], at[1] + 2}); });
  check_moved<Shape<times<3>, 2>>([](const auto& x) { return split<0, 3>(x)[1]; },
                                  [](const auto& x, const Index& at) { return element(x, {at[0] + x.n(), at[1]}); }, 4);
}

TEST_CASE("pad: the border has its value, the inside its elements") {
  const auto inside = [](const auto& x, Index at, std::initializer_list<long> before, double border) {
    int axis = 0;
    for (long b : before) {
      at[std::size_t(axis)] -= b;
      if (at[std::size_t(axis)] < 0 || at[std::size_t(axis)] >= x.extent(axis)) return border;
      ++axis;
    }
    return element(x, at);
  };
  check_moved<Shape<3, 4>>([](const auto& x) { return pad<Margin{1, 0}, Margin{2, 3}>(x, -7); },
                           [&](const auto& x, const Index& at) { return inside(x, at, {1, 2}, -7); });
  check_moved<Shape<dyn, 2, 3, 3>>([](const auto& x) { return pad<Margin{}, Margin{}, Margin{1, 1}, Margin{0, 2}>(x); },
                                   [&](const auto& x, const Index& at) { return inside(x, at, {0, 0, 1, 0}, 0); });
  check_moved<Shape<2, 2, 1, 2, 2>>(
      [](const auto& x) { return pad<Margin{1, 1}, Margin{}, Margin{}, Margin{}, Margin{1, 0}>(x, 0.5); },
      [&](const auto& x, const Index& at) { return inside(x, at, {1, 0, 0, 0, 1}, 0.5); });
  check_moved<Shape<2>>([](const auto& x) { return pad<Margin{2, 1}>(x); },
                        [&](const auto& x, const Index& at) { return inside(x, at, {2}, 0); });
}

TEST_CASE("tril, triu, causal_mask on stacks of matrices") {
  check_moved<Shape<dyn, 2, 4, 5>>(
      [](const auto& x) { return tril<1>(x); },
      [](const auto& x, const Index& at) { return at[3] <= at[2] + 1 ? element(x, at) : 0; });
  check_moved<Shape<3, 3>>([](const auto& x) { return triu(x); },
                           [](const auto& x, const Index& at) { return at[1] >= at[0] ? element(x, at) : 0; });
  const auto masked =
      both_modes([](const auto& x) { return causal_mask(x); }, random_tensor<float, Shape<dyn, 3, 3>>(5)).result;
  for_each_index(masked, [&](const Index& at) { CHECK((element(masked, at) == -INFINITY) == (at[2] > at[1])); });
}

TEST_CASE("concat along every axis, also one that depends on n") {
  const auto check = [](auto f, const auto& a, const auto& b, int joined) {
    const auto y = both_modes(f, a, b).result;
    bool equal = true;
    for_each_index(y, [&](const Index& at) {
      Index own = at;
      own[std::size_t(joined)] -= a.extent(joined);
      equal &= element(y, at) == (own[std::size_t(joined)] < 0 ? element(a, at) : element(b, own));
    });
    CHECK(equal);
    check_gradients(f, a, b);
  };
  check([](const auto& a, const auto& b) { return concat<0>(a, b); }, random_tensor<double, Shape<2, 3>>(1),
        random_tensor<double, Shape<4, 3>>(2), 0);
  check([](const auto& a, const auto& b) { return concat<-1>(a, b); }, random_tensor<double, Shape<2, 3, 1>>(1),
        random_tensor<double, Shape<2, 3, 5>>(2), 2);
  check([](const auto& a, const auto& b) { return concat<1>(a, b); }, random_tensor<double, Shape<dyn, 3, 2>>(1),
        random_tensor<double, Shape<dyn, 1, 2>>(2), 1);
  check([](const auto& a, const auto& b) { return concat<0>(a, b); }, random_tensor<double, Shape<dyn, 3>>(1),
        random_tensor<double, Shape<times<2>, 3>>(2), 0);
}

TEST_CASE("gather: rows of tables of any rank, repeated numbers add their gradients") {
  const auto numbers = random_tensor<std::int32_t, Shape<dyn, 4>>(3, 0, 5);
  const auto look_up = [](const auto& table, const auto& index) { return gather(table, index); };
  const auto check = [&](const auto& table) {
    const auto y = both_modes(look_up, table, numbers).result;
    bool equal = true;
    for_each_index(y, [&](const Index& at) {
      Index from{numbers.data()[at[0] * 4 + at[1]]};
      for (std::size_t k = 1; k + 1 < max_rank; ++k) from[k] = at[k + 1];
      equal &= element(y, at) == element(table, from);
    });
    CHECK(equal);
    check_gradients(look_up, table, numbers);
  };
  check(random_tensor<double, Shape<5>>(4));
  check(random_tensor<double, Shape<5, 3>>(4));
  check(random_tensor<double, Shape<5, 2, 3, 1>>(4));
}
