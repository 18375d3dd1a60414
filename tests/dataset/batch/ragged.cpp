// Ragged samples: memory for what extents say, and none for extents that are no shape.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include <tenon/dataset/batch/ragged.hpp>

using namespace tenon;
using dataset::RaggedValue;

TEST_CASE("ragged sample: memory grows with the largest one and is used again") {
  RaggedValue value;
  const std::int64_t large[]{3, 100}, small[]{2, 5, 2}, none[]{4, 0};
  void* const memory = value.resize(large, 4);
  std::memset(memory, 1, 1200);
  CHECK(value.count() == 300);
  CHECK(value.resize(small, 4) == memory);
  CHECK(value.count() == 20);
  CHECK(value.resize(none, 4) == memory);
  CHECK(value.count() == 0);
  CHECK(value.extents().size() == 2);
  CHECK(value.resize({}, 8) == memory);  // a scalar
  CHECK(value.count() == 1);
}

TEST_CASE("ragged sample: extents that no memory can have are refused, also beside an extent of 0") {
  RaggedValue value;
  const std::int64_t before[]{2, 3};
  value.resize(before, 1);
  const std::int64_t huge = std::int64_t{1} << 56, most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t wrong[][3]{{huge, 248, 1},  {huge, 248, 0}, {0, huge, 248}, {huge, 0, 248},
                                {most, most, 0}, {-1, 2, 3},     {2, -1, 0},     {most, 2, 1}};
  for (const auto& extents : wrong) {
    CHECK_THROWS_AS(value.resize(extents, 1), ValueError);
    CHECK(value.count() == 6);  // as it was
    CHECK(value.extents().size() == 2);
  }
  const std::int64_t bytes[]{huge, 16, 0};
  CHECK_NOTHROW(value.resize(bytes, 1));
  CHECK(value.count() == 0);
  CHECK_THROWS_AS(value.resize(bytes, 8), ValueError);
}
