// Data sets from arrays in memory.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/source/from_arrays.hpp>

using namespace support;
using dataset::column, dataset::from_arrays;

TEST_CASE("rows are the samples in order") {
  std::vector<float> features{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<std::int32_t> labels{7, 8, 9};
  auto own = from_arrays(column<Shape<4>>(features), column<Shape<>>(labels));
  CHECK(own.size() == 3);
  features.assign(12, -1);  // the data set has its own
  int i = 0;
  for (const auto& row : own) {
    CHECK(row.n == 1);
    CHECK(std::vector<float>(row.values<0>().begin(), row.values<0>().end()) ==
          std::vector<float>{4.0f * i, 4.0f * i + 1, 4.0f * i + 2, 4.0f * i + 3});
    CHECK(row.values<1>()[0] == 7 + i);
    ++i;
  }
  CHECK(i == 3);
}

TEST_CASE("types") {
  using Data =
      decltype(from_arrays(column<Shape<2, 2>>(std::vector<double>(8)), column<Shape<>>(std::vector<std::uint8_t>(2))) |
               dataset::batch<2>());
  static_assert(std::is_same_v<Data::columns, dataset::Columns<dataset::Column<double, Shape<2, 2, 2>>,
                                                               dataset::Column<std::uint8_t, Shape<2>>>>);
  static_assert(dataset::Indexed<Data>);
  CHECK(from_arrays(column<Shape<1>>(std::vector<float16>(9))).size() == 9);
}

TEST_CASE("copies share the values") {
  const auto data = from_arrays(column<Shape<>>(std::vector<int>(1000, 3)));
  const auto copy = data;
  CHECK(std::get<0>(data.arrays).values.get() == std::get<0>(copy.arrays).values.get());
}

TEST_CASE("tensors: a sample for each index of the first axis, beside columns of vectors") {
  auto points = Tensor<float, Shape<dyn, 2>>::from({1, 2, 3, 4, 5, 6});
  const auto data = from_arrays(points, Tensor<std::int32_t, Shape<3>>::from({7, 8, 9}),
                                column<Shape<1>>(std::vector<double>{0.5, 1.5, 2.5}));
  using Data = decltype(data);
  static_assert(
      std::is_same_v<std::remove_cvref_t<Data>::columns,
                     dataset::Columns<dataset::Column<float, Shape<2>>, dataset::Column<std::int32_t, Shape<>>,
                                      dataset::Column<double, Shape<1>>>>);
  points.data()[2] = 0;  // the data set has its own
  CHECK(data.size() == 3);
  int i = 0;
  for (const auto& row : data) {
    CHECK(row.values<0>()[0] == 2.0f * i + 1);
    CHECK(row.values<0>()[1] == 2.0f * i + 2);
    CHECK(row.values<1>()[0] == 7 + i);
    CHECK(row.values<2>()[0] == i + 0.5);
    ++i;
  }
  CHECK(message<ValueError>([&] { from_arrays(points, Tensor<int, Shape<2>>::zeros()); }) ==
        "from_arrays got columns of different length: column 0 has 3 samples, column 1 has 2; all must be equal.");
  CHECK(has(message<ValueError>([] { from_arrays(Tensor<int, Shape<dyn>>::zeros(0)); }), "empty array"));
}

TEST_CASE("columns of different length: which, and how long") {
  const std::vector<float> two(8);
  const std::vector<int> three(3), also_two(2);
  CHECK(message<ValueError>(
            [&] { from_arrays(column<Shape<4>>(two), column<Shape<>>(also_two), column<Shape<>>(three)); }) ==
        "from_arrays got columns of different length: column 0 has 2 samples, column 2 has 3; all must be equal.");
  CHECK(from_arrays(column<Shape<4>>(two), column<Shape<>>(also_two)).size() == 2);
}

TEST_CASE("empty arrays, and parts of samples") {
  CHECK(has(message<ValueError>([] { column<Shape<4>>(std::vector<float>()); }), "empty array"));
  CHECK(has(message<ValueError>([] { column<Shape<2, 2>>(std::vector<float>(7)); }),
            "got 7 values, which is no multiple of the 4"));
  CHECK(has(message<ValueError>([] { column<Shape<4>>(std::vector<float>(3)); }), "got 3 values"));
}
