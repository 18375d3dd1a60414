// describe: a data set as a table; and what a data set says of itself.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>
#include <limits>

#include "support.hpp"

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/describe.hpp>
#include <tenon/dataset/facts.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/filter.hpp>
#include <tenon/dataset/operation/rename.hpp>
#include <tenon/dataset/operation/repeat.hpp>
#include <tenon/dataset/operation/skip.hpp>
#include <tenon/dataset/operation/take.hpp>
#include <tenon/dataset/source/generator.hpp>
#include <tenon/dataset/source/stream.hpp>
#include <tenon/dataset/stage/data_info.hpp>

using namespace support;
using namespace tenon::dataset;

TEST_CASE("stages, rows, columns, and the first rows") {
  const auto data = Numbers(5) | rename<1, "label">() | batch(3);
  CHECK(describe(data, 1) == "Numbers | Renamed | Batched\n"
                             "2 rows of up to 3 samples\n"
                             "column  name   dtype    shape\n"
                             "0              float32  [n, 2]\n"
                             "1       label  int32    [n]\n"
                             "row 0\n"
                             "  0 [3, 2] 0 .. 2.5: 0 0.5 1 1.5 2 2.5\n"
                             "  1 [3] 0 .. 2: 0 1 2\n");
}

TEST_CASE("NaN has no order, and doubles keep their digits") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto data = generator<Columns<Column<double, Shape<3>>, Column<float16, Shape<2>>, Column<bool, Shape<2>>>>(
      1, [&](long, auto x, auto none, auto flags) {
        x[0] = nan, x[1] = 1e300, x[2] = -0.123456789012;
        none[0] = none[1] = float16(float(nan));
        flags[1] = true;
      });
  CHECK(has(describe(data), "  0 [3] -0.123456789012 .. 1e+300 and 1 NaN: nan 1e+300 -0.123456789012\n"
                            "  1 [2] 2 NaN: nan nan\n"
                            "  2 [2] false .. true: false true\n"));
}

TEST_CASE("ragged columns and streams") {
  const auto texts = generator<Columns<Column<std::uint8_t, Ragged<any, 2>, "text">>>(
      4, [](long index, auto out) { std::fill_n(out.resize(index, 2), 2 * index, std::uint8_t(index)); });
  CHECK(has(describe(texts), "0       text  uint8  [any, 2]\nrow 0\n  0 [0, 2]\nrow 1\n  0 [1, 2] 1 .. 1: 1 1\n"));
  struct Same {
    bool next(std::span<float> out) { return out[0] = 1, true; }
  };
  const auto endless_rows = stream<Columns<Column<float, Shape<1>>>>([] { return Same(); });
  CHECK(has(describe(endless_rows), "rows without end"));
  CHECK(has(describe(endless_rows | skip(5)), "rows without end"));
  CHECK(has(describe(endless_rows | batch(2)), "rows without end of up to 2 samples"));
  CHECK((endless_rows | skip(5) | take(3)).size() == 3);
  CHECK((stream<Columns<Column<float, Shape<1>>>>([] { return Same(); }, 9) | skip(5) | batch(3)).size() == 2);
}

TEST_CASE("sizes, batch size, passes, classes") {
  const auto data = Numbers(10) | rename<1, "label">() | repeat(3) | batch(4) | repeat(2);
  CHECK(get_dataset_size(data) == 16);
  CHECK(get_batch_size(data) == 4);
  CHECK(get_batch_size(Numbers(3)) == 1);
  CHECK(get_repeat_count(data) == 6);
  CHECK(num_classes<"label">(data) == 10);
}

TEST_CASE("the first row is a tuple of tensors, which own their elements") {
  const auto [x, label] = first_row(Numbers(5) | skip(1) | batch(3));
  const auto [all, labels] = first_row(Numbers(5) | batch(5));
  CHECK(x.n() == 3);
  for (int i = 0; i < 6; ++i) CHECK(x.data()[i] == all.data()[i + 2]);
  for (int i = 0; i < 3; ++i) CHECK(label.data()[i] == labels.data()[i + 1]);
  const auto [sample, number] = first_row(Numbers(5));
  CHECK(sample.count() == 2);
  CHECK(number.item() == labels.data()[0]);
  CHECK_THROWS_WITH_AS(first_row(Numbers(0)), "first_row: the data set has no row.", tenon::ValueError);
}

namespace {
/// A user's source whose member `data` is no data set.
struct Held : Source<Held> {
  using columns = Columns<Column<std::int32_t, Shape<>>>;
  std::vector<std::int32_t> data{3, 1, 2};
  long size() const { return static_cast<long>(data.size()); }
  void sample(long index, void* const* out) const {
    *static_cast<std::int32_t*>(out[0]) = data[static_cast<std::size_t>(index)];
  }
};
/// The names of a data set's stages, as callbacks learn them.
template <class D>
std::vector<std::string> stages_of(const D& data) {
  std::vector<std::string> names;
  DataInfo(data).each_stage([&](const StageInfo& stage) { names.emplace_back(stage.type); });
  return names;
}
}  // namespace

TEST_CASE("filter, whose predicate is no number of passes, and a source with a member of its own") {
  const auto some =
      Numbers(10) | filter<1>([](std::span<const std::int32_t> label) { return label[0] < 5; }) | batch(2);
  CHECK(get_repeat_count(some) == 1);
  CHECK(stages_of(some) == std::vector<std::string>{"Batched", "Filtered", "Numbers"});
  const auto held = Held{} | map<0>([](std::int32_t i) { return 2 * i; });
  CHECK(stages_of(held) == std::vector<std::string>{"ElementMapped", "Held"});
  CHECK(describe(held).starts_with("Held | ElementMapped\n"));
  CHECK(get_batch_size(held) == 1);
}
