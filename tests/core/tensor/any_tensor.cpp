// The run-time view: shape, bytes, and access by type.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <vector>

#include <tenon/core/tensor/any_tensor.hpp>

using namespace tenon;

TEST_CASE("a view of a type takes its batch size") {
  const AnyTensor x(type_of<float16, Shape<times<2>, 3>>, 4, nullptr);
  CHECK(x.dtype == Dtype::float16);
  CHECK(x.rank == 2);
  CHECK(x.shape()[0] == 8);
  CHECK(x.count() == 24);
  CHECK(x.bytes() == 48);
  CHECK(AnyTensor(type_of<double, Shape<>>, 1, nullptr).count() == 1);
}

TEST_CASE("elements only by their own type") {
  int values[]{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> shape{2, 3};
  const AnyTensor x(Dtype::int32, shape, values);
  CHECK(x.as<int>().size() == 6);
  CHECK(x.as<int>()[5] == 6);
  CHECK_THROWS_WITH_AS(x.as<float>(), "This tensor holds int32, asked for float32.", TypeError);
}

TEST_CASE("at most eight axes") {
  CHECK(AnyTensor(Dtype::int8, std::vector<std::int64_t>(8, 2), nullptr).count() == 256);
  CHECK_THROWS_WITH_AS(AnyTensor(Dtype::int8, std::vector<std::int64_t>(9, 2), nullptr),
                       "A tensor has at most 8 axes, got 9.", ValueError);
}

TEST_CASE("shapes as text") {
  CHECK(shape_text(std::vector<std::int64_t>{}) == "[]");
  CHECK(shape_text(std::vector<std::int64_t>{2}) == "[2]");
  CHECK(shape_text(std::vector<std::int64_t>{2, 0, 3}) == "[2, 0, 3]");
}
