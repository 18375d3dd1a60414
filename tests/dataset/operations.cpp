// Operations on data sets: what rows come out, for every number of workers, and what is wrong.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/repeat.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/operation/take.hpp>
#include <tenon/dataset/operations.hpp>

using namespace support;
using namespace tenon::dataset;

namespace {

/// Numbers with names.
auto named(long count) { return Numbers(count) | rename<0, "point">() | rename<1, "label">(); }
/// Sample i has i % 5 elements, all of them i.
auto texts(long count) {
  return generator<Columns<Column<std::int32_t, Ragged<any>, "text">, Column<std::int32_t, Shape<>, "label">>>(
      count, [](long index, auto text, std::span<std::int32_t> label) {
        const long length = index % 5;
        std::fill_n(text.resize(length), length, static_cast<std::int32_t>(index));
        label[0] = static_cast<std::int32_t>(index);
      });
}
bool odd(std::span<const std::int32_t> label) { return label[0] % 2 == 1; }
std::vector<int> every(int first, int last, int step) {
  std::vector<int> numbers;
  for (int i = first; i < last; i += step) numbers.push_back(i);
  return numbers;
}

}  // namespace

TEST_CASE("skip: the rows behind the first ones") {
  CHECK(labels_of(Numbers(10) | skip(3)) == counted(3, 10));
  CHECK(labels_of(Numbers(10) | skip(0)) == counted(0, 10));
  CHECK((Numbers(3) | skip(5)).size() == 0);
  CHECK(labels_of(Numbers(10) | batch(4) | skip(1)) == counted(4, 10));
  CHECK(message<ValueError>([] { skip(-1); }) == "skip(-1): the number of rows must be 0 or more.");
}

TEST_CASE("concat: one behind the other, also behind a shuffle") {
  const auto both = Numbers(3) + (Numbers(6) | skip(3)) + (Numbers(8) | skip(6));
  CHECK(both.size() == 8);
  CHECK(labels_of(both) == counted(0, 8));
  CHECK(labels_of(concat(Numbers(2), Numbers(2), Numbers(1))) == std::vector<int>{0, 1, 0, 1, 0});
  auto mixed = labels_of(both | shuffle(8, 1));
  CHECK(mixed != counted(0, 8));
  std::sort(mixed.begin(), mixed.end());
  CHECK(mixed == counted(0, 8));
  CHECK(labels_of((named(6) | filter<"label">(odd)) + Numbers(2)) == std::vector<int>{1, 3, 5, 0, 1});
}

TEST_CASE("concat: a sample of the second is augmented in another way than that of the first") {
  const auto draw = [](std::span<const std::int32_t>, std::span<std::int32_t> out, Random& random) {
    out[0] = static_cast<std::int32_t>(random.below(1u << 30));
  };
  const auto drawn = project<1>();
  std::set<int> seen;
  for (const auto& row : concat(Numbers(4), Numbers(4)) | drawn | map<0, Column<std::int32_t, Shape<>>>(draw))
    seen.insert(row.values<0>()[0]);
  CHECK(seen.size() == 8);
}

TEST_CASE("zip: rows beside each other as far as all have some") {
  const auto data = zip(named(5), Numbers(9) | skip(2) | project<1>() | rename<0, "next">());
  static_assert(decltype(data)::columns::count == 3);
  CHECK(data.size() == 5);
  int seen = 0;
  for (const auto& row : data) {
    CHECK(row.values<"label">()[0] == seen);
    CHECK(row.values<"next">()[0] == seen + 2);
    CHECK(row.get<"next">().data()[0] == seen + 2);
    ++seen;
  }
  CHECK(seen == 5);
  CHECK((zip(Numbers(9), Numbers(2), Numbers(4))).size() == 2);
  CHECK(labels_of(zip(Numbers(9), named(7) | filter<"label">(odd))) == counted(0, 3));
}

TEST_CASE("project: some columns, in the order that is asked for") {
  const auto data = named(4) | project<"label", "point">();
  static_assert(std::is_same_v<decltype(data)::columns,
                               Columns<Column<std::int32_t, Shape<>, "label">, Column<float, Shape<2>, "point">>>);
  for (const auto& row : data | batch(4)) {
    CHECK(row.values<0>()[3] == 3);
    CHECK(row.values<1>()[7] == 3.5f);
  }
  for (const auto& row : texts(9) | project<"label">() | batch(9)) CHECK(row.values<0>()[8] == 8);
}

TEST_CASE("filter: the rows that pass, in every epoch, from any thread") {
  const auto data = named(101) | shuffle(101, 1) | filter<"label">(odd);
  CHECK((named(101) | filter<"label">(odd)).size() == 50);
  CHECK(labels_of(named(9) | filter<"label">(odd)) == std::vector<int>{1, 3, 5, 7});
  CHECK(labels_of(named(9) | filter<"point", "label">([](std::span<const float> point, std::span<const std::int32_t>) {
                    return point[0] > 6;
                  })) == std::vector<int>{7, 8});
  CHECK(labels_of(named(9) | filter<"label">([](auto) { return false; })).empty());
  for (std::uint64_t epoch : {0, 1, 2, 0}) {
    auto labels = labels_of(data, epoch);
    for (int workers : {1, 2, 8})
      CHECK(labels_of(data | batch(7) | prefetch(3, {.num_parallel_workers = workers}), epoch) == labels);
    std::sort(labels.begin(), labels.end());
    CHECK(labels == every(1, 101, 2));
  }
  CHECK(labels_of(data, 0) != labels_of(data, 1));
  const auto passes = named(10) | filter<"label">(odd) | repeat(3);
  CHECK(passes.size() == 15);
  CHECK(labels_of(passes).size() == 15);
  CHECK(labels_of(data | shuffle(50, 2) | take(20)).size() == 20);
  CHECK(has(message<RuntimeError>([] {
              labels_of(named(9) | filter<"label">([](std::span<const std::int32_t> label) -> bool {
                          if (label[0] == 4) throw std::runtime_error("four");
                          return true;
                        }));
            }),
            "four (data set: row 4 of epoch 0, sample 4, in filter)"));
}

TEST_CASE("filter and flat_map: an error while rows are counted names the sample, and no other one") {
  const auto broken = named(9) | map<"label">([](std::int32_t label) {
                        if (label == 4) throw std::runtime_error("four");
                        return label;
                      });
  const std::string place = "four (data set: row 4 of epoch 0, sample 4, in map<1>)";
  const auto filtered = broken | filter<"label">(odd);
  CHECK(message<RuntimeError>([&] { filtered.size(); }) == place);
  CHECK(message<RuntimeError>([&] { labels_of(filtered | shuffle(9, 1)); }) == place + " (data set: row 0 of epoch 0)");
  const auto each = [](std::span<const std::int32_t> label) { return Numbers(label[0]); };
  CHECK(message<RuntimeError>([&] { (broken | flat_map<"label">(each)).size(); }) == place);
}

TEST_CASE("split: parts that hold every row once, the same in each epoch") {
  const auto [train, valid] = split(Numbers(103), {0.8, 0.2}, {.seed = 3});
  CHECK(train.size() == 82);  // round(82.4)
  CHECK(valid.size() == 21);  // round(20.6)
  auto all = labels_of(train);
  CHECK(all != counted(0, 82));
  CHECK(labels_of(train, 5) == all);
  for (const int label : labels_of(valid)) all.push_back(label);
  std::sort(all.begin(), all.end());
  CHECK(all == counted(0, 103));
  const auto parts = split(Numbers(10), {5, 3, 2}, {.randomize = false});
  CHECK(labels_of(parts[1]) == std::vector<int>{5, 6, 7});
  CHECK(split(Numbers(5), {0.5, 0.5})[0].size() == 3);  // round(2.5) is 2, and the first one gets what is missing
  CHECK(split(Numbers(3), {0.5, 0.5})[0].size() == 1);  // round(1.5) is 2 twice, and the first one gives one
  CHECK(split(Numbers(6), {0.1, 0.1, 0.1, 0.7})[3].size() == 3);  // 1, 1, 1, and round(4.2), which gives one
  CHECK(labels_of(train | shuffle(82, 1), 0) != labels_of(train | shuffle(82, 1), 1));
  CHECK(has(message<ValueError>([] { split(Numbers(9), {5, 5}); }), "the sizes add up to 10, but there are 9 rows"));
  CHECK(has(message<ValueError>([] { split(Numbers(9), {0.5, 0.6}); }),
            "the fractions add up to 1.1; they must add up to 1."));
  CHECK(has(message<ValueError>([] { split(Numbers(2), {0.99, 0.01}); }), "part 1, 0.01 of 2 rows, would be empty"));
  CHECK(
      message<ValueError>([] { split(Numbers(2), {0.34, 0.33, 0.33}); }) ==
      "split: there are 2 rows, and the rounded fractions make 3. No part is large enough to give the others up: state "
      "the sizes in rows.");
}

TEST_CASE("flat_map: each row becomes rows") {
  const auto data = named(5) | flat_map<"label">([](std::span<const std::int32_t> label) { return Numbers(label[0]); });
  CHECK(data.size() == 10);
  const std::vector<int> rows{0, 0, 1, 0, 1, 2, 0, 1, 2, 3};
  CHECK(labels_of(data) == rows);
  for (int workers : {1, 2, 8})
    CHECK(labels_of(data | batch(3) | prefetch(2, {.num_parallel_workers = workers})) == rows);
}

TEST_CASE("apply: a function of a data set as a stage") {
  CHECK(labels_of(Numbers(9) | apply([](auto data) { return data | take(4) | batch(3); })) == counted(0, 4));
}

TEST_CASE("pad: shorter samples are filled up, longer ones cut") {
  const auto data = texts(7) | batch(4, pad<"text">(Shape<3>{}, -1));
  std::vector<std::int32_t> seen;
  for (const auto& row : data)
    for (const std::int32_t value : row.values<"text">()) seen.push_back(value);
  CHECK(seen == std::vector<std::int32_t>{-1, -1, -1, 1, -1, -1, 2, 2, -1, 3, 3, 3, 4, 4, 4, -1, -1, -1, 6, -1, -1});
  const auto square = generator<Columns<Column<float, Ragged<any, any>>>>(1, [](long, auto out) {
    float* const to = out.resize(2, 3);
    for (int i = 0; i < 6; ++i) to[i] = static_cast<float>(i);
  });
  for (const auto& row : square | pad<0>(Shape<3, 2>{}, 9)) {
    const auto values = row.values<0>();
    CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{0, 1, 3, 4, 9, 9});
  }
}

TEST_CASE("pad: a value that the column's dtype does not have") {
  const auto bytes =
      generator<Columns<Column<std::uint8_t, Ragged<any>, "byte">>>(3, [](long i, auto out) { out.resize(i); });
  CHECK(message<ValueError>([&] { (void)(bytes | pad<"byte">(Shape<4>{}, 300)); }) ==
        "The column \"byte\" is uint8, and cannot be padded with 300.");
  CHECK(message<ValueError>([&] { (void)(bytes | bucket_batch_by_length<"byte", 4>(2, pad<"byte">(-100))); }) ==
        "The column \"byte\" is uint8, and cannot be padded with -100.");
  for (const double value : {-1.0, 0.5, 256.0, 1e300, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS((bytes | bucket_batch_by_length<"byte", 4>(2, BucketConfig{.pad_value = value})), ValueError);
  const auto [byte] = first_row(bytes | batch(3, pad<"byte">(Shape<1>{}, 255.0)));
  CHECK(byte.values()[0] == 255);
  const auto [letter] = first_row(bytes | batch(3, pad<"byte">(Shape<1>{}, ' ')));
  CHECK(letter.values()[0] == ' ');
  const auto reals = generator<Columns<Column<float, Ragged<any>, "x">, Column<std::uint8_t, Shape<>, "label">>>(
      1, [](long, auto out, auto) { out.resize(0); });
  CHECK_THROWS_AS((reals | pad<"x">(Shape<1>{}, 1e300)), ValueError);
  const auto [x, label] = first_row(reals | batch(1, pad<"x">(Shape<1>{}, -std::numeric_limits<double>::infinity())));
  CHECK(x.values()[0] == -std::numeric_limits<float>::infinity());
  // the label is not padded
  CHECK((reals | bucket_batch_by_length<"x", 4>(2, BucketConfig{.pad_value = -1.5})).size() == 1);
}

TEST_CASE("bucket_batch_by_length: batches of similar samples, each bucket of its own shape") {
  const auto data = texts(12) | bucket_batch_by_length<"text", 2, 4>({3, 2}, {.pad_value = -1});
  std::vector<std::string> seen;
  const auto look = [&](const auto& row) {
    std::string s = shape_text(row[0].shape());
    row.visit([&](const auto& batch) {
      for (const std::int32_t label : batch.template values<"label">()) s += text(" ", label);
      CHECK(batch.template values<"text">()[0] ==
            (batch.template values<"label">()[0] % 5 ? batch.template values<"label">()[0] : -1));
      CHECK(shape_text(batch[0].shape()) == shape_text(row[0].shape()));
    });
    seen.push_back(s);
  };
  for (const auto& row : data) look(row);
  // lengths 0 1 2 3 4 0 1 2 3 4 0 1
  const std::vector<std::string> expected{"[3, 2] 0 1 2", "[2, 4] 3 4", "[3, 2] 5 6 7", "[2, 4] 8 9", "[2, 2] 10 11"};
  CHECK(seen == expected);
  CHECK(data.size() == 5);
  seen.clear();
  auto rows = data.open();
  rows.start(0, 2);
  CHECK(rows.position() == 2);
  while (const auto* row = rows.next()) look(*row);
  CHECK(seen == std::vector<std::string>(expected.begin() + 2, expected.end()));
  for (const int workers : {1, 3}) {
    seen.clear();
    for (const auto& row : data | prefetch(3, {.num_parallel_workers = workers})) look(row);
    CHECK(seen == expected);
  }
  seen.clear();
  for (const auto& row : texts(12) | bucket_batch_by_length<"text", 2, 4>({3, 2}, {-1, true}) | skip(1)) look(row);
  CHECK(seen == std::vector<std::string>(expected.begin() + 1, expected.begin() + 4));
  CHECK((texts(12) | bucket_batch_by_length<"text", one_of<2, 4>>(2) | repeat(2)).size() == 2 * 6);
  CHECK(has(message<ValueError>([] { (texts(9) | bucket_batch_by_length<"text", 2>(3)).size(); }),
            "a sample of [3] is larger than the largest bucket, [2]: add a larger bucket, cut the sample, or leave it "
            "out with filter (data set: row 3 of epoch 0, sample 3, in bucket_batch_by_length)"));
  CHECK(has(message<ValueError>([] { bucket_batch_by_length<"text", 2>(0); }), "must be 1 or more"));
}

TEST_CASE("bucket_batch_by_length: stages after it, and a description") {
  const auto data = texts(12) | bucket_batch_by_length<"text", 2, 4>({3, 2});
  const auto changed = data | map_batch<"text">([](const BatchInfo&, std::span<std::int32_t> words) {
                         for (auto& word : words) word += 1000;
                       });
  long batches = 0;
  for (const auto& row : changed | take(4)) {
    ++batches;
    for (const std::int32_t word : row[0].as<std::int32_t>()) CHECK(word >= 1000);
    for (const std::int32_t label : row[1].as<std::int32_t>()) CHECK(label < 1000);
  }
  CHECK(batches == 4);
  long samples = 0, all = 0;
  for (const auto& row : data | shuffle(5, 1)) samples += row.n, ++all;
  CHECK((samples == 12 && all == 5));
  const std::string said = describe(data);
  CHECK(has(said, "5 rows of up to 3 samples"));
  CHECK(has(said, "[n, 2] or [n, 4]"));
  CHECK(has(said, "0 [3, 2] 0 .. 2: 0 0 1 0 2 2"));
}

TEST_CASE("bucket_batch_by_length: project keeps the shape of each bucket") {
  const auto data = texts(12) | bucket_batch_by_length<"text", 2, 4>({3, 2});
  const auto all = [](const auto& rows, int column) {
    std::vector<std::string> seen;
    for (const auto& row : rows) {
      seen.push_back(shape_text(row[column].shape()));
      for (const std::int32_t word : row[column].template as<std::int32_t>()) seen.back() += text(" ", word);
    }
    return seen;
  };
  CHECK(all(data | project<"text">(), 0) == all(data, 0));
  CHECK(all(data | project<"label">(), 0) == all(data, 1));
  const auto turned = data | project<"label", "text">() | prefetch(2, {.num_parallel_workers = 2});
  CHECK(all(turned, 0) == all(data, 1));
  CHECK(all(turned, 1) == all(data, 0));
}

TEST_CASE("bucket_batch_by_length: several ragged columns, each with its padding; images") {
  using Text = Column<std::int32_t, Ragged<any>, "text">;
  using Next = Column<std::int64_t, Ragged<any>, "next">;
  const auto pairs = generator<Columns<Text, Next>>(7, [](long i, auto out, auto next) {
    std::int32_t* const to = out.resize(i + 1);
    std::int64_t* const after = next.resize(i == 6 ? 9 : i + 1);
    for (long k = 0; k <= i; ++k) to[k] = int(k) + 1, after[k] = k + 2;
  });
  const auto data = pairs | take(6) | bucket_batch_by_length<"text", range<2, 6, 2>>(2, pad<"next">(-100));
  std::vector<std::vector<std::int64_t>> next;
  std::vector<std::vector<std::int32_t>> first;
  for (const auto& row : data)
    row.visit([&](const auto& one) {
      const auto a = one.template values<0>();
      const auto b = one.template values<1>();
      first.emplace_back(a.begin(), a.end()), next.emplace_back(b.begin(), b.end());
    });
  CHECK(first == std::vector<std::vector<std::int32_t>>{
                     {1, 0, 1, 2}, {1, 2, 3, 0, 1, 2, 3, 4}, {1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6}});
  CHECK(next == std::vector<std::vector<std::int64_t>>{
                    {2, -100, 2, 3}, {2, 3, 4, -100, 2, 3, 4, 5}, {2, 3, 4, 5, 6, -100, 2, 3, 4, 5, 6, 7}});
  const auto longer = pairs | bucket_batch_by_length<"text", 8>(7);
  CHECK(
      has(message<ValueError>([&] {
            for (const auto& row : longer) CHECK(row.n > 0);
          }),
          "column \"next\" has [9], more than the bucket [8] of its sample: choose the bucket by the longest column"));

  const auto images = generator<Columns<Column<float, Ragged<1, any, any>>>>(6, [](long i, auto out) {
    const long height = 1 + i % 2, width = 2 + i % 3;
    float* const to = out.resize(1, height, width);
    for (long k = 0; k < height * width; ++k) to[k] = float(k + 1);
  });
  std::vector<std::string> shapes;
  for (const auto& row : images | bucket_batch_by_length<0, Shape<1, 4>{}, Shape<2, 3>{}, Shape<2, 4>{}>(4))
    shapes.push_back(shape_text(row[0].shape()) + text(" ", row[0].template as<float>()[3]));
  // 1x2 2x3 1x4 2x2 1x3 2x4
  CHECK(shapes == std::vector<std::string>{"[3, 1, 1, 4] 0", "[2, 1, 2, 3] 4", "[1, 1, 2, 4] 4"});
}

TEST_CASE("zip: random transforms of a sample are alike on both sides, or differ by their seeds") {
  const auto noisy = [] {
    return Numbers(20) | map<0, Column<float, Shape<2>>>([](std::span<const float>, auto out, Random& random) {
             out[0] = random.uniform(), out[1] = random.uniform();
           });
  };
  const auto alike = [](const auto& both) {
    int count = 0;
    for (const auto& row : both) count += row.template values<0>()[0] == row.template values<2>()[0];
    return count;
  };
  const auto image = noisy();
  CHECK(alike(zip(image, noisy())) == 20);
  set_seed(77);
  const auto other = noisy();
  set_seed({});
  CHECK(alike(zip(image, other)) == 0);
}

TEST_CASE("map_batch: whole batches are changed in place") {
  const auto data = named(7) | batch(3) | map_batch<"label">([](const BatchInfo& info, std::span<std::int32_t> labels) {
                      for (auto& label : labels) label = static_cast<std::int32_t>(info.batch_num * 10 + info.n);
                    });
  std::vector<int> seen;
  for (const auto& row : data)
    for (const int label : row.values<1>()) seen.push_back(label);
  CHECK(seen == std::vector<int>{3, 3, 3, 13, 13, 13, 21});
}

TEST_CASE("the same rows for 1, 2, and 8 workers, and from the middle of an epoch") {
  const auto noise =
      map<Inputs<"point", "label">, Columns<Column<float, Shape<2>, "point">, Column<std::int32_t, Shape<>, "label">>>(
          [](std::span<const float>, std::span<const std::int32_t> label, std::span<float> point,
             std::span<std::int32_t> kept, Random& random) {
            point[0] = point[1] = random.uniform();
            kept[0] = label[0];
          });
  const auto data = named(59) | skip(2) | shuffle(57, 1) |
                    sample(RandomSampler{.replacement = true, .num_samples = 57}) |
                    filter<"label">([](std::span<const std::int32_t> label) { return label[0] % 5 != 0; }) |
                    shard({.num_shards = 2, .shard_id = 1}) | noise | batch(4);
  const auto walk = [](const auto& rows_of, std::uint64_t epoch, long position) {
    auto rows = rows_of.open();
    rows.start(epoch, position);
    std::vector<float> seen;
    while (const auto* row = rows.next()) {
      for (const float x : row->template values<0>()) seen.push_back(x);
      for (const int x : row->template values<1>()) seen.push_back(static_cast<float>(x));
    }
    return seen;
  };
  const auto whole = walk(data, 3, 0), rest = walk(data, 3, 2);
  CHECK(whole.size() > rest.size());
  CHECK(std::equal(rest.rbegin(), rest.rend(), whole.rbegin()));
  for (int workers : {1, 2, 8}) {
    const auto ahead = data | prefetch(3, {.num_parallel_workers = workers});
    CHECK(walk(ahead, 3, 0) == whole);
    CHECK(walk(ahead, 3, 2) == rest);
  }
}

TEST_CASE("an epoch begins at a position of 0 or more") {
  auto rows = (Numbers(9) | batch(2)).open();
  auto ahead = (Numbers(9) | batch(2) | prefetch(2)).open();
  for (const long position : {-1L, std::numeric_limits<long>::min()}) {
    const std::string said = text("start(epoch, ", position, "): the position of a row is 0 or more.");
    CHECK(message<ValueError>([&] { rows.start(0, position); }) == said);
    CHECK(message<ValueError>([&] { ahead.start(0, position); }) == said);
  }
  rows.start(0, 5);
  ahead.start(0, std::numeric_limits<long>::max());
  CHECK(rows.next() == nullptr);
  CHECK(ahead.next() == nullptr);
  rows.start(0, 4);
  ahead.start(0, 4);
  CHECK(rest_of(rows) == std::vector<int>{8});
  CHECK(rest_of(ahead) == std::vector<int>{8});
}

TEST_CASE("a position whose sample a long does not hold is behind the end of rows that nobody has counted") {
  constexpr long most = std::numeric_limits<long>::max();
  const auto open = Numbers(100) | filter<1>(odd);
  auto batches = (open | batch(32)).open();
  for (const long position : {most / 32 - 1, most / 32, most / 32 + 1, most / 16 + 1, most}) {
    batches.start(0, position);
    CHECK(batches.next() == nullptr);
  }
  auto skipped = (open | dataset::skip(most)).open();
  for (const long position : {0L, 1L, most}) {
    skipped.start(0, position);
    CHECK(skipped.next() == nullptr);
  }
}

TEST_CASE("an iterator knows its position, which can be saved") {
  const auto check = [](const auto& data) {
    auto rows = data.open();
    rows.start(2, 5);
    CHECK(rows.position() == 5);
    rows.next();
    rows.next();
    CHECK(rows.position() == 7);
    auto others = data.open();
    others.start(2, rows.position());
    CHECK(rest_of(others) == rest_of(rows));
  };
  const auto data = Numbers(20) | shuffle(20, 1);
  check(data);
  check(data | prefetch(4));
}
