// map: elements in place, elements of another type, samples of another shape.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <numeric>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/shuffle.hpp>

using namespace support;
using dataset::map, dataset::batch;

namespace {
/// Column I of all rows.
template <int I, class D>
auto column_of(const D& data) {
  std::vector<
      std::remove_const_t<typename decltype(dataset::Row<typename D::columns>{}.template values<I>())::element_type>>
      all;
  for (const auto& row : data)
    for (const auto value : row.template values<I>()) all.push_back(value);
  return all;
}
const std::vector<float> doubled{0, 1, 2, 3, 4, 5};
}  // namespace

TEST_CASE("each element, in the same type, before or after batch") {
  const auto twice = map<0>([](float x) { return 2 * x; });
  CHECK(column_of<0>(Numbers(3) | twice) == doubled);
  CHECK(column_of<0>(Numbers(3) | twice | batch(2)) == doubled);
  CHECK(column_of<0>(Numbers(3) | batch(2) | twice) == doubled);
  CHECK(column_of<0>(Numbers(4) | batch<3>() | twice) == doubled);
  CHECK(column_of<1>(Numbers(3) | twice) == std::vector<std::int32_t>{0, 1, 2});
}

TEST_CASE("each element, in another type") {
  const auto as_double = map<1>([](int i) { return i + 0.25; });
  const auto data = Numbers(3) | as_double | batch(2);
  static_assert(
      std::is_same_v<decltype(data)::columns,
                     dataset::Columns<dataset::Column<float, Shape<dyn, 2>>, dataset::Column<double, Shape<dyn>>>>);
  static_assert(std::is_same_v<decltype(data)::columns, decltype(Numbers(3) | batch(2) | as_double)::columns>);
  CHECK(column_of<1>(data) == std::vector<double>{0.25, 1.25, 2.25});
  CHECK(column_of<1>(Numbers(3) | batch(2) | as_double) == std::vector<double>{0.25, 1.25, 2.25});
  CHECK(column_of<0>(data) == std::vector<float>{0, 0.5f, 1, 1.5f, 2, 2.5f});
  const auto bytes =
      column_of<0>(Numbers(3) | batch(3) | map<0>([](float x) { return static_cast<std::uint8_t>(2 * x); }));
  CHECK(bytes == std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a sample of another shape and type") {
  using New = dataset::Column<std::int64_t, Shape<3, 2>>;
  const auto data = Numbers(5) | map<0, New>([](std::span<const float> in, std::span<std::int64_t> out) {
                      REQUIRE(in.size() == 2);
                      REQUIRE(out.size() == 6);
                      std::iota(out.begin(), out.end(), static_cast<std::int64_t>(10 * in[0]));
                    });
  static_assert(std::is_same_v<decltype(data | batch(2))::columns,
                               dataset::Columns<dataset::Column<std::int64_t, Shape<dyn, 3, 2>>,
                                                dataset::Column<std::int32_t, Shape<dyn>>>>);
  std::vector<std::int64_t> expected;
  for (int sample = 0; sample < 5; ++sample)
    for (int i = 0; i < 6; ++i) expected.push_back(10 * sample + i);
  CHECK(column_of<0>(data) == expected);
  CHECK(column_of<0>(data | batch(2)) == expected);
  CHECK(column_of<0>(data | batch(2) | dataset::prefetch()) == expected);
}

TEST_CASE("one after the other, each with memory of its own") {
  const auto to_int = map<0>([](float x) { return static_cast<std::int32_t>(2 * x); });
  const auto to_double = map<0>([](std::int32_t i) { return i * 1.0; });
  const auto swap = map<0, dataset::Column<double, Shape<2>>>(
      [](std::span<const double> in, std::span<double> out) { out[0] = in[1], out[1] = in[0]; });
  CHECK(column_of<0>(Numbers(3) | to_int | to_double | swap) == std::vector<double>{1, 0, 3, 2, 5, 4});
  CHECK(column_of<0>(Numbers(3) | to_int | to_double | swap | batch(2)) == std::vector<double>{1, 0, 3, 2, 5, 4});
  CHECK(column_of<0>(Numbers(3) | to_int | batch(2) | to_double) == std::vector<double>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("functions with captures are copied along") {
  auto data = [] {
    const std::vector<float> table{5, 6, 7};
    return Numbers(3) | map<1>([table](int i) { return table[static_cast<std::size_t>(i)]; }) | dataset::shuffle(3, 1) |
           batch(3);
  }();
  const auto copy = data;
  const auto values = column_of<1>(copy);
  CHECK(std::accumulate(values.begin(), values.end(), 0.0f) == 18);
  CHECK(values == column_of<1>(data));
}

TEST_CASE("what the function throws comes out of next") {
  const auto data = Numbers(5) | map<1>([](int i) { return i == 3 ? throw ValueError("three") : i; });
  auto rows = data.open();
  rows.start(0);
  for (int i = 0; i < 3; ++i) CHECK(rows.next() != nullptr);
  CHECK(message<ValueError>([&] { rows.next(); }) == "three (data set: row 3 of epoch 0, sample 3, in map<1>)");
}
