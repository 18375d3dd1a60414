// batch: lengths, the short last batch, types.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <tenon/dataset/batch.hpp>

using namespace support;
using dataset::batch;

TEST_CASE("batch(n) keeps the short last batch") {
  const auto data = Numbers(23) | batch(5);
  CHECK(data.size() == 5);
  CHECK(lengths_of(data) == std::vector<long>{5, 5, 5, 5, 3});
  CHECK(labels_of(data) == counted(0, 23));
  CHECK(lengths_of(Numbers(20) | batch(5)) == std::vector<long>{5, 5, 5, 5});
  CHECK(lengths_of(Numbers(3) | batch(5)) == std::vector<long>{3});
  CHECK((Numbers(3) | batch(1L << 60)).max_rows() == 3);  // no memory for more than there is
}

TEST_CASE("batch<N>() and drop_remainder leave it out") {
  for (int size : {20, 23, 24}) {
    CHECK(lengths_of(Numbers(size) | batch<5>()) == std::vector<long>{5, 5, 5, 5});
    CHECK(labels_of(Numbers(size) | batch<5>()) == counted(0, 20));
    CHECK(labels_of(Numbers(size) | batch(5, {.drop_remainder = true})) == counted(0, 20));
  }
}

TEST_CASE("the types of the columns") {
  using Dynamic = decltype(Numbers(1) | batch(5));
  using Static = decltype(Numbers(1) | batch<5>());
  static_assert(std::is_same_v<Dynamic::columns, dataset::Columns<dataset::Column<float, Shape<dyn, 2>>,
                                                                  dataset::Column<std::int32_t, Shape<dyn>>>>);
  static_assert(
      std::is_same_v<Static::columns,
                     dataset::Columns<dataset::Column<float, Shape<5, 2>>, dataset::Column<std::int32_t, Shape<5>>>>);
  static_assert(Dynamic::batched && Static::batched && !Numbers::batched);
  for (const auto& row : Numbers(7) | batch(4)) CHECK(shape_text(row[0].shape()) == text("[", row.n, ", 2]"));
  for (const auto& row : Numbers(7) | batch<4>()) CHECK(shape_text(row[0].shape()) == "[4, 2]");
}

TEST_CASE("illegal sizes") {
  CHECK(message<ValueError>([] { batch(0); }) == "batch(0): the batch size must be 1 or more.");
  CHECK(message<ValueError>([] { batch(-32); }) == "batch(-32): the batch size must be 1 or more.");
  CHECK(has(message<ValueError>([] { Numbers(4) | batch<5>(); }), "A batch of 5 of 4 samples: there is no full batch"));
  CHECK(has(message<ValueError>([] { Numbers(0) | batch(5); }), "A batch of 5 of 0 samples: what stands"));
  CHECK(
      has(message<ValueError>([] { Numbers(4) | batch(5, {.drop_remainder = true}); }), "Use a batch size of 1 .. 4"));
}
