// Transforms and functions of several columns: ragged samples between them, and random numbers that belong to a sample.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <algorithm>
#include <set>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/repeat.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/source/from_arrays.hpp>

using namespace support;
using dataset::any, dataset::Column, dataset::Columns, dataset::Inputs, dataset::map, dataset::Ragged;
using dataset::SampleSlot, dataset::SampleView;

namespace {

using Text = Column<std::uint8_t, Ragged<any>, "text">;

/// Sample i becomes the text 0 1 .. i - 1.
const auto count_up = map<0, Text>([](std::span<const float> in, SampleSlot<Text> out) {
  std::uint8_t* const to = out.resize(static_cast<long>(in[0]));
  for (int i = 0; i < int(in[0]); ++i) to[i] = std::uint8_t(i);
});

/// What both transforms below take.
struct Texts {
  template <class In>
  static constexpr Sentence wrong(const char* transform) {
    Sentence s;
    if (!In::ragged) s << transform << " takes texts";
    return s;
  }
};

/// Appends a random number. The column stays what it is.
struct Extend {
  using takes = Texts;
  static constexpr const char* name = "Extend";
  template <class In>
  void apply(SampleView<In> in, SampleSlot<In> out, Random& random) const {
    auto* const to = out.resize(in.count() + 1);
    std::copy_n(in.data(), in.count(), to);
    to[in.count()] = std::uint8_t(random.below(256));
  }
};

/// The first n elements, a sample of fixed shape.
template <int n>
struct Head {
  using takes = Texts;
  static constexpr const char* name = "Head";
  template <class In>
  static constexpr Sentence wrong() {
    Sentence s;
    if (!std::is_same_v<typename In::type, std::uint8_t>) s << "Head takes uint8";
    return s;
  }
  template <class In>
  using result = Column<typename In::type, Shape<n>>;
  template <class In>
  void apply(SampleView<In> in, SampleSlot<result<In>> out, Random&) const {
    if (in.count() < n) throw ValueError("too short");
    std::copy_n(in.data(), n, out.resize());
  }
};

using Floats = Column<float, Ragged<any>>;
static_assert(dataset::detail::refusal_of<Extend, Text>().empty());
static_assert(dataset::detail::refusal_of<Extend, Column<float, Shape<2>>>().view() == "Extend takes texts");
static_assert(dataset::detail::refusal_of<Head<2>, Text>().empty());
static_assert(dataset::detail::refusal_of<Head<2>, Column<float, Shape<2>>>().view() == "Head takes texts");
static_assert(dataset::detail::refusal_of<Head<2>, Floats>().view() == "Head takes uint8");

/// The last element of each text, by label.
template <class D>
std::vector<int> last_of(const D& data, std::uint64_t epoch = 0) {
  std::vector<int> last(100, -1);
  for (const auto& row : dataset::rows(data, epoch))
    last[std::size_t(row.template values<1>()[0])] = row.template values<"text">().back();
  return last;
}

}  // namespace

TEST_CASE("samples of unequal size go from stage to stage, and become a batch when they are of one shape") {
  const auto texts = Numbers(6) | count_up | map<"text">([](std::uint8_t x) { return std::uint8_t(2 * x); });
  static_assert(std::is_same_v<dataset::ColumnAt<decltype(texts)::columns, 0>, Text>);
  std::vector<std::vector<int>> seen;
  for (const auto& row : texts) {
    const auto values = row.values<"text">();
    seen.emplace_back(values.begin(), values.end());
    CHECK(row[0].shape()[0] == long(values.size()));
    CHECK(row.get<0>().extent(0) == long(values.size()));
  }
  CHECK(seen == std::vector<std::vector<int>>{{}, {0}, {0, 2}, {0, 2, 4}, {0, 2, 4, 6}, {0, 2, 4, 6, 8}});
  const auto halves = texts | map<"text">([](std::uint8_t x) { return x / 4.0f; });
  for (const auto& row : halves)
    if (row.values<1>()[0] == 3) CHECK(row.values<"text">()[2] == 1.0f);

  const auto batches = Numbers(6) | count_up | map<"text">(Extend{}, Extend{}, Head<2>{}) | dataset::batch(4);
  static_assert(
      std::is_same_v<dataset::ColumnAt<decltype(batches)::columns, 0>, Column<std::uint8_t, Shape<dyn, 2>, "text">>);
  CHECK(lengths_of(batches) == std::vector<long>{4, 2});
}

TEST_CASE("a function of several columns: where its results stand, and which columns stay") {
  const auto sum = [](std::span<const float> a, std::span<const std::int32_t> b, std::span<double> c,
                      std::span<std::int32_t> kept) { c[0] = a[0] + a[1], kept[0] = b[0] + 1; };
  using Out = Columns<Column<double, Shape<>, "sum">, Column<std::int32_t, Shape<>, "next">>;
  const auto data = Numbers(5) | map<Inputs<0, 1>, Out>(sum) | dataset::batch(5);
  for (const auto& row : data) {
    CHECK(row.values<"sum">()[3] == 6.5);
    CHECK(row.values<"next">()[3] == 4);
  }
  // the second of two columns gives two more, the first stays where it is
  using Two = Columns<Column<std::int32_t, Shape<>, "a">, Column<std::int32_t, Shape<2>, "b">>;
  const auto more = Numbers(3) | map<Inputs<1>, Two>([](auto in, std::span<std::int32_t> a, std::span<std::int32_t> b) {
                      a[0] = in[0], b[0] = b[1] = -in[0];
                    });
  static_assert(decltype(more)::columns::count == 3);
  for (const auto& row : more) {
    CHECK(row.values<0>()[0] == float(row.values<1>()[0]));
    CHECK(row.values<2>()[1] == -row.values<1>()[0]);
  }
}

TEST_CASE("random numbers depend on seed, epoch, and sample, not on order, workers, or stages behind") {
  dataset::set_seed(5);
  const auto texts = Numbers(40) | count_up | map<"text">(Extend{});
  const auto expected = last_of(texts);
  CHECK(std::set<int>(expected.begin(), expected.begin() + 40).size() > 20);
  CHECK(last_of(texts | dataset::shuffle(40)) == expected);
  for (int workers : {1, 2, 8})
    CHECK(last_of(texts | dataset::shuffle(40) | dataset::prefetch(3, {.num_parallel_workers = workers})) == expected);
  CHECK(last_of(texts, 1) != expected);
  CHECK(last_of(texts | dataset::shuffle(40), 1) == last_of(texts, 1));
  // another operation draws other numbers, as does another seed; a user's function has a stream, too
  CHECK(last_of(texts | map<"text">(Extend{})) != expected);
  dataset::set_seed(6);
  CHECK(last_of(Numbers(40) | count_up | map<"text">(Extend{})) != expected);
  const auto noise = map<"text", Text>(
      [](SampleView<Text>, SampleSlot<Text> out, Random& random) { *out.resize(1) = std::uint8_t(random.below(256)); });
  const auto noisy = last_of(Numbers(40) | count_up | noise);
  CHECK(last_of(Numbers(40) | count_up | noise | dataset::shuffle(9)) == noisy);
  // a second pass in one epoch is an epoch of its own
  std::vector<int> passes;
  for (const auto& row : Numbers(40) | count_up | noise | dataset::repeat(2)) passes.push_back(row.values<0>()[0]);
  CHECK(std::vector(passes.begin(), passes.begin() + 40) != std::vector(passes.begin() + 40, passes.end()));
  dataset::set_seed(std::nullopt);
}

TEST_CASE("an error says its row, its sample, and the transform") {
  const auto data = Numbers(6) | count_up | map<"text">(Head<2>{});
  auto rows = (data | dataset::prefetch(2, {.num_parallel_workers = 2})).open();
  rows.start(3);
  CHECK(message<ValueError>([&] { rows.next(); }) == "too short (data set: row 0 of epoch 3, sample 0, in Head)");
}
