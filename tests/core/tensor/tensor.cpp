// The Tensor class: made from lists, ranges and views; shared and copied; parts, elements, conversions; what is
// refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <list>
#include <type_traits>
#include <vector>

#include <tenon/core/tensor.hpp>

#include "../../support/sanitized.hpp"

using namespace tenon;

namespace {
template <class T, class S>
bool is(const Tensor<T, S>& x, std::vector<T> expected) {
  return std::vector<T>(x.values().begin(), x.values().end()) == expected;
}
template <class X, class T, class S>
constexpr bool has_type = std::is_same_v<X, Tensor<T, S>>;
}  // namespace

TEST_CASE("lists: dtype and shape are deduced") {
  Tensor rows{{1.0f, 2.0f}, {3.0f, 4.0f}};
  static_assert(has_type<decltype(rows), float, Shape<2, 2>>);
  CHECK(is(rows, {1, 2, 3, 4}));
  Tensor list({{1, 2}, {3, 4}, {5, 6}});
  static_assert(has_type<decltype(list), std::int32_t, Shape<3, 2>>);
  CHECK(is(list, {1, 2, 3, 4, 5, 6}));
  Tensor column{{1}, {2}};
  static_assert(has_type<decltype(column), int, Shape<2, 1>>);
  CHECK(is(column, {1, 2}));
  Tensor one_row({{1.5, 2.5}});
  static_assert(has_type<decltype(one_row), double, Shape<1, 2>>);
  CHECK(is(one_row, {1.5, 2.5}));
  Tensor numbers{1.0f, 2.0f, 3.0f};
  static_assert(has_type<decltype(numbers), float, Shape<3>>);
  CHECK(is(numbers, {1, 2, 3}));
  const int seven[]{7};
  Tensor short_list(seven);
  static_assert(has_type<decltype(short_list), int, Shape<1>>);
  CHECK(is(short_list, {7}));
  Tensor scalar(2.5f);
  static_assert(has_type<decltype(scalar), float, Shape<>>);
  CHECK(scalar.item() == 2.5f);
  Tensor bools{true, false};
  static_assert(has_type<decltype(bools), bool, Shape<2>>);
  CHECK(is(bools, {true, false}));
  Tensor halves{float16(1), float16(0.5f)};
  static_assert(has_type<decltype(halves), float16, Shape<2>>);
  CHECK(float(halves[1]) == 0.5f);
}

TEST_CASE("lists: three and four levels, as one list and as its parts") {
  const std::vector<int> twelve{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  Tensor parts{{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  Tensor list({{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}});
  static_assert(has_type<decltype(parts), int, Shape<2, 3, 2>> && has_type<decltype(list), int, Shape<2, 3, 2>>);
  CHECK(is(parts, twelve));
  CHECK(is(list, twelve));
  Tensor four{{{{1, 2, 3}}, {{4, 5, 6}}}, {{{7, 8, 9}}, {{10, 11, 12}}}};
  Tensor four_list({{{{1, 2, 3}}, {{4, 5, 6}}}, {{{7, 8, 9}}, {{10, 11, 12}}}});
  static_assert(has_type<decltype(four), int, Shape<2, 2, 1, 3>> &&
                has_type<decltype(four_list), int, Shape<2, 2, 1, 3>>);
  CHECK(is(four, twelve));
  CHECK(is(four_list, twelve));
}

TEST_CASE("lists: with a type they are converted, and a dynamic extent is counted") {
  Tensor<double, Shape<2, 2>> x{{1, 2}, {3, 4}};
  CHECK(is(x, {1, 2, 3, 4}));
  Tensor<float, Shape<dyn, 2>> batch{{1, 2}, {3, 4}, {5, 6}};
  CHECK(batch.n() == 3);
  CHECK(batch.extent(0) == 3);
  Tensor<float, Shape<times<2>, 1>> pairs{{1}, {2}, {3}, {4}};
  CHECK(pairs.n() == 2);
  CHECK(pairs.count() == 4);
  Tensor<float, Shape<dyn>> row(1, 2, 3);
  CHECK(row.n() == 3);
  Tensor<std::uint8_t, Shape<2>> bytes(0, 255);
  CHECK(bytes[1] == 255);
  CHECK(is(Tensor<float, Shape<3>>(1, 2.5, 3.0f), {1, 2.5f, 3}));
  Tensor<float, Shape<>> scalar(3);
  CHECK(scalar.item() == 3);
  Tensor<bfloat16, Shape<1, 2>> one({{1.5f, -2.0f}});
  CHECK(float(one(0, 1)) == -2);
}

TEST_CASE("from: any range; the number of values decides n or is refused with both numbers") {
  using Rows = Tensor<float, Shape<dyn, 3>>;
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  CHECK(Rows::from(six).n() == 2);
  CHECK(is(Rows::from(six), six));
  CHECK(is(Rows::from(std::array<int, 3>{1, 2, 3}), {1, 2, 3}));
  CHECK(is(Rows::from(std::list<double>{1, 2, 3}), {1, 2, 3}));
  CHECK(is(Rows::from(std::span<const float>(six).first(3)), {1, 2, 3}));
  CHECK(is(Rows::from({4, 5, 6}), {4, 5, 6}));
  CHECK(is(Tensor<bool, Shape<2>>::from(std::vector<bool>{false, true}), {false, true}));
  CHECK(Rows::from(std::vector<float>{}).n() == 0);
  CHECK_THROWS_WITH_AS(Rows::from({1, 2, 3, 4}),
                       "A tensor float32 [n,3] cannot be made from 4 values, it needs a multiple of 3.", ValueError);
  using Fixed = Tensor<int, Shape<2, 2>>;
  CHECK_THROWS_WITH_AS(Fixed::from({1, 2, 3}), "A tensor int32 [2,2] cannot be made from 3 values, it needs 4.",
                       ValueError);
  using Pairs = Tensor<int, Shape<times<2>, 2>>;
  CHECK(Pairs::from({1, 2, 3, 4}).n() == 1);
  CHECK_THROWS_AS(Pairs::from({1, 2}), ValueError);
  using Nothing = Tensor<int, Shape<dyn, 0>>;
  CHECK_THROWS_AS(Nothing::from({1}), ValueError);
}

TEST_CASE("from a view: dtype and shape are checked") {
  const Tensor x{{1.0f, 2.0f}, {3.0f, 4.0f}};
  using Rows = Tensor<float, Shape<dyn, 2>>;
  const Rows rows = Rows::from(x.view());
  CHECK(rows.n() == 2);
  CHECK(is(rows, {1, 2, 3, 4}));
  CHECK(rows.data() != x.data());
  using Doubles = Tensor<double, Shape<2, 2>>;
  CHECK_THROWS_WITH_AS(Doubles::from(x.view()),
                       "A tensor float64 [2,2] cannot be made from float32 elements: convert them first.", TypeError);
  using Wide = Tensor<float, Shape<dyn, 3>>;
  CHECK_THROWS_WITH_AS(Wide::from(x.view()), "A tensor float32 [n,3] cannot be made from the shape [2, 2] on CPU.",
                       ValueError);
  using Odd = Tensor<float, Shape<times<4>, 2>>;
  CHECK_THROWS_AS(Odd::from(x.view()), ValueError);
  using Flat = Tensor<float, Shape<4>>;
  CHECK_THROWS_AS(Flat::from(x.view()), ValueError);
  AnyTensor far = x.view();
  far.device.kind = DeviceKind::gpu;
  CHECK_THROWS_AS(Rows::from(far), ValueError);
}

TEST_CASE("zeros, ones, full, arange, empty") {
  CHECK(is(Tensor<float, Shape<2>>::zeros(), {0, 0}));
  CHECK(is(Tensor<int, Shape<dyn, 2>>::ones(2), {1, 1, 1, 1}));
  CHECK(is(Tensor<double, Shape<2>>::full(1.5), {1.5, 1.5}));
  CHECK(is(Tensor<int, Shape<dyn>>::arange(5), {0, 1, 2, 3, 4}));
  CHECK(is(Tensor<float, Shape<2, 2>>::arange(1, 1, 0.5f), {1, 1.5f, 2, 2.5f}));
  CHECK(is(Tensor<std::int8_t, Shape<3>>::arange(1, 5, -1), {5, 4, 3}));
  CHECK(float(Tensor<float16, Shape<2049>>::arange()[2048]) == 2048);
  CHECK(Tensor<float, Shape<dyn, 3>>::empty(0).count() == 0);
  CHECK(Tensor<float, Shape<0, 3>>::empty().count() == 0);
  using Rows = Tensor<float, Shape<dyn, 3>>;
  CHECK_THROWS_WITH_AS(Rows::empty(-1),
                       "A tensor float32 [n,3] was asked for with a batch size of -1, it must not be negative.",
                       ValueError);
  CHECK_THROWS_AS(Rows::zeros(std::numeric_limits<long>::min()), ValueError);
}

TEST_CASE("what does not fit into memory is OutOfMemory that says how much and for what; the next one fits") {
  using Rows = Tensor<float, Shape<dyn, 1024>>;
  if (!support::sanitized) {  // 2^47 bytes are beyond all that a process can address
    CHECK_THROWS_WITH_AS(Rows::empty(1L << 35),
                         doctest::Contains("Out of memory: 141 TB were asked for a tensor float32 [n,1024] of batch "
                                           "size 34359738368, "),
                         OutOfMemory);
    CHECK_THROWS_WITH_AS((Tensor<std::int8_t, Shape<32768, 65536, 65536>>::empty()),
                         doctest::Contains("141 TB were asked for a tensor int8 [32768,65536,65536], "), OutOfMemory);
  }
  CHECK_THROWS_WITH_AS(Rows::empty(std::numeric_limits<long>::max()),
                       doctest::Contains("37779 EB were asked for a tensor float32 [n,1024] of batch size 92233720"),
                       OutOfMemory);
  CHECK_THROWS_AS(Rows::ones(1L << 52), RuntimeError);  // 2^64 bytes: 0 in a long
  CHECK(Rows::ones(2).values()[2047] == 1);
  // the batch size of a call says nothing of a result without a batch
  CHECK(detail::storage_for(type_of<float, Shape<8>>, 1L << 52).data());
}

TEST_CASE("a tensor that was never given elements has none; a batch of 0 has an address") {
  const Tensor<float, Shape<2, 3>> never;
  CHECK(never.data() == nullptr);
  CHECK(never.values().empty());
  CHECK(never.view().as<float>().empty());
  CHECK(never.count() == 0);
  CHECK(never.copy().data() == nullptr);
  CHECK(never.copy().count() == 0);
  CHECK_THROWS_WITH_AS(never(0, 0), "This tensor has no elements: assign to it first.", ValueError);
  CHECK_THROWS_WITH_AS(never[0], "This tensor has no elements: assign to it first.", ValueError);
  const Tensor<float, Shape<>> number;
  CHECK_THROWS_WITH_AS(number(), "This tensor has no elements: assign to it first.", ValueError);
  CHECK_THROWS_WITH_AS(number.item(), "This tensor has no elements: assign to it first.", ValueError);
  const auto none = Tensor<float, Shape<dyn, 3>>::empty(0);
  CHECK(none.data() != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(none.data()) % 64 == 0);
  CHECK(none.values().empty());
  CHECK(none.copy().data() != nullptr);
  CHECK_THROWS_WITH_AS(none(0, 0), "Index 0 into axis 0, which has the extent 0.", ValueError);
  CHECK_THROWS_AS(none[0], ValueError);
}

TEST_CASE("copies share, copy() does not; a moved-from tensor has no elements") {
  Tensor x{1, 2, 3};
  Tensor shared = x, apart = x.copy();
  x[0] = 9;
  CHECK(shared[0] == 9);
  CHECK(apart[0] == 1);
  Tensor moved = std::move(x);
  CHECK(moved[0] == 9);
  CHECK(x.count() == 0);  // NOLINT: what is left of x is the point
  CHECK(x.data() == nullptr);
  CHECK_THROWS_WITH_AS(x[0], "This tensor has no elements: assign to it first.", ValueError);
  CHECK_THROWS_AS(x.to<float>(), ValueError);
  const Tensor<float, Shape<2>> unset;
  CHECK(unset.count() == 0);
  CHECK(unset.copy().count() == 0);
}

TEST_CASE("item is the only element") {
  CHECK(Tensor(4).item() == 4);
  CHECK(Tensor({{4}}).item() == 4);
  CHECK_THROWS_WITH_AS(Tensor({{4, 5}}).item(), "item() needs a tensor of one element, this one has the shape [1, 2].",
                       ValueError);
  CHECK_THROWS_AS((Tensor<int, Shape<>>{}.item()), ValueError);
}

TEST_CASE("parts share the elements") {
  Tensor x{{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  auto part = x[1];
  static_assert(has_type<decltype(part), int, Shape<3, 2>>);
  CHECK(is(part, {7, 8, 9, 10, 11, 12}));
  part[2][1] = 99;
  CHECK(x(1, 2, 1) == 99);
  x[-2][0][-1] = 77;
  CHECK(x(0, 0, 1) == 77);
  CHECK(x(-1, -1, -1) == 99);
  CHECK(part.storage().data() == x.storage().data() + 24);
  {
    auto outlives = Tensor{{1, 2}, {3, 4}}[1];
    CHECK(is(outlives, {3, 4}));
  }
  const Tensor constant{5, 6};
  static_assert(std::is_same_v<decltype(constant[0]), const int&>);
  CHECK(constant[-1] == 6);
  CHECK(constant(1) == 6);
  Tensor<int, Shape<>> scalar(3);
  scalar() = 4;
  CHECK(scalar.item() == 4);
}

TEST_CASE("ranges of the leading axis are views, with a dynamic extent") {
  Tensor x{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  auto middle = x[Range{1, 3}];
  static_assert(has_type<decltype(middle), int, Shape<dyn, 2>>);
  CHECK(middle.n() == 2);
  CHECK(is(middle, {3, 4, 5, 6}));
  middle(0, 0) = 33;
  CHECK(x(1, 0) == 33);
  CHECK(is(x[Range{-1}], {7, 8}));
  CHECK(is(x[Range{0, -3}], {1, 2}));
  CHECK(x[Range{4}].count() == 0);
  CHECK(is(middle[Range{1}], {5, 6}));
  auto pairs = Tensor<int, Shape<times<2>, 2>>::from(x.values());
  CHECK(is(pairs[Range{1, 2}], {33, 4}));
  CHECK_THROWS_WITH_AS(x[(Range{3, 5})], "Range 3 .. 5 is outside axis 0 of extent 4.", ValueError);
  CHECK_THROWS_WITH_AS(x[(Range{-5})], "Range -5 .. end is outside axis 0 of extent 4.", ValueError);
  CHECK_THROWS_AS(x[(Range{3, 2})], ValueError);
}

TEST_CASE("slices with a static extent: a view of the leading axis, a copy of any other") {
  Tensor x({{1, 2, 3}, {4, 5, 6}});
  auto columns = x.slice<1, 1, 3>();
  static_assert(has_type<decltype(columns), int, Shape<2, 2>>);
  CHECK(is(columns, {2, 3, 5, 6}));
  columns(0, 0) = 0;
  CHECK(x(0, 1) == 2);
  CHECK(is(x.slice<-1, 0, 1>(), {1, 4}));
  CHECK(x.slice<1, 2, 2>().count() == 0);
  auto row = x.slice<0, 1, 2>();
  static_assert(has_type<decltype(row), int, Shape<1, 3>>);
  row(0, 0) = 44;
  CHECK(x(1, 0) == 44);
  auto batch = Tensor<int, Shape<dyn, 2, 2>>::from({1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(is(batch.slice<1, 1, 2>(), {3, 4, 7, 8}));
  CHECK(is(batch.slice<2, 0, 1>(), {1, 3, 5, 7}));
  CHECK(is(batch.slice<0, 1, 2>(), {5, 6, 7, 8}));
  CHECK_THROWS_WITH_AS((batch.slice<0, 1, 3>()), "Range 1 .. 3 is outside axis 0 of extent 2.", ValueError);
}

TEST_CASE("an index outside names itself, the axis, and the extent") {
  Tensor x{{1, 2, 3}, {4, 5, 6}};
  CHECK_THROWS_WITH_AS(x(1, 3), "Index 3 is outside axis 1 of extent 3, legal are -3 .. 2.", ValueError);
  CHECK_THROWS_WITH_AS(x[2], "Index 2 is outside axis 0 of extent 2, legal are -2 .. 1.", ValueError);
  CHECK_THROWS_WITH_AS(x[0][-4], "Index -4 is outside axis 0 of extent 3, legal are -3 .. 2.", ValueError);
  auto none = Tensor<int, Shape<dyn>>::empty(0);
  CHECK_THROWS_WITH_AS(none[0], "Index 0 into axis 0, which has the extent 0.", ValueError);
}

TEST_CASE("to converts each element") {
  const Tensor x{1.75f, -1.75f, 0.0f};
  CHECK(is(x.to<int>(), {1, -1, 0}));
  CHECK(is(x.to<bool>(), {true, true, false}));
  CHECK(is(x.to<double>(), {1.75, -1.75, 0}));
  CHECK(float(Tensor(65520.0f).to<float16>().item()) == std::numeric_limits<float>::infinity());
  CHECK(Tensor<float, Shape<dyn, 2>>::from({1, 2, 3, 4}).to<int>().n() == 2);
}
