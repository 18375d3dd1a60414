// cache(DatasetCache{...}) in a pipeline: the same rows as without it, computed once, never those of another pipeline.
// link: lmdb
#include <doctest/doctest.h>
#if __has_include(<lmdb.h>)

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/dataset/cache.hpp>
#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operation/concat.hpp>
#include <tenon/dataset/operation/filter.hpp>
#include <tenon/dataset/operation/project.hpp>
#include <tenon/dataset/operation/skip.hpp>
#include <tenon/dataset/operation/split.hpp>
#include <tenon/dataset/operation/zip.hpp>
#include <tenon/dataset/sampler/shard.hpp>
#include <tenon/dataset/sampler/subset_sampler.hpp>
#include <tenon/dataset/source/generator.hpp>
#include <tenon/dataset/source/image_folder.hpp>
#include <tenon/dataset/source/text_file.hpp>
#include <tenon/dataset/vision/flip.hpp>
#include <tenon/dataset/vision/normalize.hpp>

#include "../../support/logged.hpp"
#include "../support.hpp"
#include "killed.hpp"

using namespace tenon;
using namespace tenon::dataset;
using support::Numbers;

namespace {
struct Session {
  support::Folder place;
  CacheFolder folder{place.path};
  std::uint32_t id = folder.create_session();
  DatasetCache cache(std::int64_t size = 0, bool spilling = false) const {
    return {.session_id = id, .size = size, .spilling = spilling, .folder = place.path};
  }
};

std::atomic<int> computed{0};
struct Negative {  // a function without captures
  float operator()(float x) const {
    ++computed;
    return -x;
  }
};

/// A source that says what it is, and counts how often it is asked.
struct Told : Source<Told> {
  using columns = Numbers::columns;
  long count;
  int version;
  explicit Told(long n, int v = 1) : count(n), version(v) {}
  long size() const { return count; }
  void describe(auto& d) const { d.add(count, version); }
  void sample(long index, void* const* out) const {
    ++computed;
    Numbers(count).sample(index, out);
  }
};

template <class D>
std::vector<float> all_of(const D& data, int epochs = 1, int first = 0) {
  std::vector<float> values;
  for (int e = first; e < first + epochs; ++e)
    for (const auto& row : rows(data, static_cast<std::uint64_t>(e)))
      for (const auto value : row.template values<0>()) values.push_back(static_cast<float>(value));
  return values;
}
template <class D>
std::uint64_t number_of(const D& data) {
  PipelineDescription d;
  d.add_data(data);
  CHECK(d.unknown() == "");
  return d.number();
}
auto images() {
  return dataset::generator<Columns<Column<std::uint8_t, Shape<4, 4, 3>, "image">>>(
      9, [](long index, std::span<std::uint8_t> image) {
        for (std::size_t i = 0; i < image.size(); ++i)
          image[i] = static_cast<std::uint8_t>(index * 17 + static_cast<long>(i));
      });
}
template <class D>
bool differs_by_epoch(const D& data) {
  PipelineDescription d;
  d.add_data(data);
  return d.differs_by_epoch();
}
const auto noisy = [](std::span<const float> in, std::span<float> out, Random& random) {
  ++computed;
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] + random.uniform();
};
auto noise() { return dataset::map<0, Column<float, Shape<2>>>(noisy); }
}  // namespace

TEST_CASE("cache: rows are computed in the first epoch only, by this process or another") {
  Session s;
  const DatasetCache cache = s.cache();
  const auto plain = Told(100) | dataset::map<0>(Negative{}), expected = plain;
  computed = 0;
  const auto data = plain | dataset::cache(cache);
  CHECK(all_of(data, 3) == all_of(expected, 3));
  CHECK(computed == 3 * (100 + 300));  // the source once, the map twice a row; 300 rows without a cache
  CHECK(cache.get_stat().num_mem_cached == 100);
  CHECK(cache.get_stat().num_disk_cached == 0);
  CHECK(cache.get_stat().avg_cache_sz == 40 + 8 + 4);
  CHECK(cache.num_not_cached() == 0);
  CHECK(killed::in_child([&] {
          computed = 0;
          const auto again = Told(100) | dataset::map<0>(Negative{}) | dataset::cache(s.cache());
          const bool same = all_of(again) == all_of(data);
          return same && computed == 0 ? 0 : 1;
        }) == 0);
}

TEST_CASE("cache: any place before prefetch, with the rows that there are without it") {
  Session s;
  const auto check = [&](const auto& without, const auto& with) {
    const auto expected = all_of(without, 3);
    CHECK(all_of(with, 3) == expected);
    CHECK(all_of(with, 3) == expected);
    CHECK(all_of(with, 1, 2) == all_of(without, 1, 2));
  };
  const auto c = dataset::cache(s.cache());
  const auto base = Told(50);
  check(base | dataset::shuffle(50, 3) | dataset::batch(8), base | c | dataset::shuffle(50, 3) | dataset::batch(8));
  check(base | dataset::batch(8), base | dataset::batch(8) | c);
  check(base | dataset::repeat(3) | noise(), base | dataset::repeat(3) | c | noise());
  check(base | dataset::repeat(2) | dataset::repeat(3) | noise(),
        base | dataset::repeat(2) | c | dataset::repeat(3) | c | noise());
  check(base | noise() | dataset::take(9), base | c | noise() | c | dataset::take(9));
  check(base | dataset::shuffle(7, 5) | noise(), base | dataset::shuffle(7, 5) | c | noise());
  check(base | noise() | dataset::batch<4>() | dataset::prefetch(2),
        base | c | noise() | dataset::batch<4>() | c | dataset::prefetch(2));
}

TEST_CASE("cache: behind what joins, leaves out, and repeats rows; random operations behind it draw the same") {
  Session s;
  const auto check = [&](const auto& before) {
    const auto expected = all_of(before | noise(), 3);
    const auto cached = before | dataset::cache(s.cache());
    for (int again = 0; again < 2; ++again) CHECK(all_of(cached | noise(), 3) == expected);
    CHECK(cached.size() == before.size());
  };
  const auto base = Told(30), other = Told(20, 2);
  const auto odd = dataset::filter<1>([](std::span<const std::int32_t> number) { return number[0] % 2 == 1; });
  check(base | odd);
  check(base | odd | dataset::repeat(2) | dataset::skip(3));
  check(base + other);
  check((base | dataset::repeat(2)) + (other | dataset::repeat(3)) + base);
  check(zip(base | dataset::repeat(2), other | dataset::repeat(3)));
  check(base | dataset::sample(dataset::SubsetSampler{.indices = {4, 2, 4, 4, 9}}));
  check(base | dataset::shard({.num_shards = 7, .shard_id = 3}));
  check(split(base, {20, 10})[1]);

  computed = 0;
  const DatasetCache counted = s.cache();
  const auto filtered = base | odd | dataset::cache(counted);
  CHECK(filtered.size() == 15);  // which a Model asks for before its first step
  CHECK((filtered | dataset::repeat(2) | dataset::batch(4)).size() == 8);
  CHECK(all_of(filtered, 3).size() == 3 * 2 * 15);
  CHECK(computed == 0);  // it is in the session, and so is where it ends
  CHECK(counted.get_stat().num_mem_cached == 15);
}

TEST_CASE("cache: ragged samples, and rows of several columns") {
  Session s;
  const std::vector<std::int32_t> lengths{3, 0, 5, 1};
  const auto ragged =
      from_arrays(column<Shape<>>(lengths)) |
      dataset::map<Inputs<0>, Columns<Column<std::int32_t, Shape<>>, Column<std::uint8_t, Ragged<any, 2>>>>(
          keyed("lengths", [](std::span<const std::int32_t> length, std::span<std::int32_t> same,
                              SampleSlot<Column<std::uint8_t, Ragged<any, 2>>> out) {
            ++computed;
            same[0] = length[0];
            std::uint8_t* to = out.resize(length[0], 2);
            for (int i = 0; i < 2 * length[0]; ++i) to[i] = static_cast<std::uint8_t>(i + length[0]);
          }));
  computed = 0;
  const auto data = ragged | dataset::cache(s.cache());
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::size_t i = 0;
    for (const auto& row : rows(data)) {
      const auto view = row.get<1>();
      CHECK(row.values<0>()[0] == lengths[i]);
      CHECK(view.extent(0) == lengths[i]);
      CHECK(view.extent(1) == 2);
      for (int k = 0; k < 2 * lengths[i]; ++k) CHECK(view.values()[std::size_t(k)] == k + lengths[i]);
      ++i;
    }
  }
  CHECK(computed == 4);
}

TEST_CASE("cache: what changes the rows changes what they are found by, what does not does not") {
  const auto base = Told(50);
  const float scale = 2;
  const auto scaled = [scale](float x) { return x * scale; };
  const std::vector<std::uint64_t> different{
      number_of(base),
      number_of(Told(51)),
      number_of(Told(50, 2)),
      number_of(base | dataset::take(5)),
      number_of(base | dataset::take(6)),
      number_of(base | dataset::repeat(5)),
      number_of(base | dataset::batch(5)),
      number_of(base | dataset::batch(5, {.drop_remainder = true})),
      number_of(base | dataset::batch<5>()),
      number_of(base | dataset::shuffle(5, 1)),
      number_of(base | dataset::shuffle(5, 2)),
      number_of(base | dataset::map<0>(Negative{})),
      number_of(base | dataset::map<1>([](std::int32_t x) { return x; })),
      number_of(base | dataset::map<1>([](std::int32_t x) { return x + 1; })),  // has the same name to g++
      number_of(base | dataset::map<0>(keyed("twice", scaled))),
      number_of(base | dataset::map<0>(keyed("half", scaled))),
      number_of(base | dataset::map<0>(Negative{}) | dataset::map<0>(Negative{})),
      number_of(base | noise()),
      number_of(base + Told(50, 2)),
      number_of(base + Told(50, 3)),
      number_of(zip(base, Told(50, 2))),
      number_of(base | dataset::project<1>()),
      number_of(base | dataset::project<1, 0>()),
      number_of(base | dataset::skip(5)),
      number_of(split(base, {20, 30})[0]),
      number_of(split(base, {20, 30})[1]),
      number_of(split(base, {20, 30}, {.seed = 5})[1]),
      number_of(base | dataset::sample(dataset::SubsetSampler{.indices = {1, 2}})),
      number_of(base | dataset::sample(dataset::SubsetSampler{.indices = {1, 3}})),
      number_of(base | dataset::shard({.num_shards = 3, .shard_id = 1})),
      number_of(base | dataset::shard({.num_shards = 3, .shard_id = 2})),
      number_of(base | dataset::filter<1>([](std::span<const std::int32_t> x) { return x[0] > 1; })),
      number_of(base | dataset::filter<1>([](std::span<const std::int32_t> x) { return x[0] > 2; })),
      number_of(images()),
      number_of(images() | dataset::map<0>(vision::Rescale{})),
      number_of(images() | dataset::map<0>(vision::Rescale{.shift = 1})),
      number_of(images() | dataset::map<0>(vision::Normalize{.mean = {1, 2, 3}, .std = {1, 2, 3}})),
      number_of(images() | dataset::map<0>(vision::Normalize{.mean = {1, 2, 3}, .std = {1, 2, 4}})),
      number_of(images() | dataset::map<0>(vision::RandomHorizontalFlip{})),
      number_of(images() | dataset::map<0>(vision::RandomHorizontalFlip{.prob = 0.25f})),
      number_of(Digits{.size = 9}),
      number_of(Digits{.usage = Usage::test, .size = 9}),
      number_of(Digits{.size = 9, .seed = 2}),
      number_of(from_arrays(column<Shape<>>(std::vector<float>{1, 2}))),
      number_of(from_arrays(column<Shape<>>(std::vector<float>{1, 3}))),
      number_of(from_arrays(column<Shape<1>>(std::vector<float>{1, 2}))),
      number_of(from_arrays(column<Shape<>>(std::vector<std::int32_t>{1, 2})))};
  for (std::size_t a = 0; a < different.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      INFO(a, " and ", b);
      CHECK(different[a] != different[b]);
    }
  CHECK(number_of(base | dataset::take(5)) == number_of(Told(50) | dataset::take(5)));
  CHECK(number_of(base | dataset::map<0>(keyed("twice", scaled))) ==
        number_of(base | dataset::map<0>(keyed("twice", [](float x) { return 2 * x; }))));
  Session s;
  CHECK(number_of(base | dataset::cache(s.cache())) == number_of(base));
}

TEST_CASE("cache: a file is what it was when it was opened") {
  support::Folder folder;
  const std::string path = folder / "lines.txt";
  const auto replace = [&](const std::string& content) {  // by another file, with the time of the old one
    const auto time = std::filesystem::exists(path) ? std::filesystem::last_write_time(path)
                                                    : std::filesystem::file_time_type(std::chrono::seconds(1000));
    io::write_file(path, content);
    std::filesystem::last_write_time(path, time);
  };
  replace("one\n");
  const TextFile first(path);
  const std::uint64_t of_first = number_of(first);
  CHECK(number_of(TextFile(path)) == of_first);
  CHECK(number_of(TextFile(folder / "./lines.txt")) == of_first);
  replace("three\n");
  CHECK(number_of(first) == of_first);  // it reads the old one still
  CHECK(number_of(TextFile(path)) != of_first);
  std::filesystem::remove(path);
  CHECK(number_of(first) == of_first);
}

TEST_CASE("cache: files of one name, size, and time in two folders are two") {
  support::Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::vector<std::uint64_t> numbers;
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directories(folder / name + "/images/class");
    std::filesystem::current_path(folder / name);
    for (const char* file : {"lines.txt", "images/class/1.png"}) {
      io::write_file(file, std::string(name) + "\n");
      std::filesystem::last_write_time(file, std::filesystem::file_time_type(std::chrono::seconds(1000)));
    }
    numbers.push_back(number_of(TextFile("lines.txt")));
    numbers.push_back(number_of(ImageFolder("images")));
  }
  std::filesystem::current_path(before);
  CHECK(numbers[0] != numbers[2]);
  CHECK(numbers[1] != numbers[3]);
}

TEST_CASE("cache: what draws is told from what does not") {
  CHECK(!differs_by_epoch(images() | dataset::map<0>(vision::Rescale{}, vision::HWC2CHW{})));
  CHECK(differs_by_epoch(images() | dataset::map<0>(vision::RandomHorizontalFlip{}, vision::Rescale{})));
  CHECK(!differs_by_epoch(Told(9) | dataset::repeat(2) | dataset::shard({.num_shards = 2, .shard_id = 0})));
  CHECK(!differs_by_epoch(split(Told(9), {4, 5})[0]));
  CHECK(differs_by_epoch(Told(9) | dataset::shuffle(3)));
  CHECK(differs_by_epoch(Told(9) + (Told(9) | dataset::shuffle(3))));
}

TEST_CASE("cache: random rows are those of their epoch, after a warning") {
  Session s;
  const std::string said = support::logged({}, [&] {
    const auto plain = Told(20) | noise();
    const auto data = plain | dataset::cache(s.cache());
    computed = 0;
    if (all_of(data, 3) != all_of(plain, 3) || all_of(data, 3) != all_of(plain, 3)) ::_exit(1);
    if (computed != 2 * (60 + 60 + 60)) ::_exit(2);  // source and noise: 60 rows with the cache, 120 without it
  });
  CHECK(support::has(said, "each epoch is cached by itself"));
}

TEST_CASE("cache: a function with captures, and a source that does not say what it is, need a name") {
  Session s;
  const float scale = 2;
  CHECK(support::has(support::message<ValueError>([&] {
                       static_cast<void>(Told(5) | dataset::map<0>([scale](float x) { return x * scale; }) |
                                         dataset::cache(s.cache()));
                     }),
                     "a function with captures: name it and them, map<I>(keyed("));
  CHECK(support::has(support::message<ValueError>([&] { static_cast<void>(Numbers(5) | dataset::cache(s.cache())); }),
                     "support::Numbers: give it `void describe(auto& d) const"));
  const auto named = Numbers(5) | dataset::cache(s.cache(), {.key = "the first five numbers"});
  CHECK(all_of(named, 2) == all_of(Numbers(5), 2));
}

TEST_CASE("cache: a size that does not suffice; the rest is computed, or spilled") {
  Session s;
  const auto plain =
      Told(60) | dataset::map<0, Column<float, Shape<20000>>>(
                     [](std::span<const float> in, std::span<float> out) { std::fill(out.begin(), out.end(), in[0]); });
  const DatasetCache small = s.cache(2), spilling = s.cache(2, true);
  const auto data = plain | dataset::cache(small);
  CHECK(all_of(data, 2) == all_of(plain, 2));
  const CacheStat first = small.get_stat();
  CHECK(first.num_mem_cached >= 20);
  CHECK(first.num_mem_cached <= 26);
  CHECK(first.num_disk_cached == 0);
  CHECK(small.num_not_cached() >= 2 * 30);
  const auto all = plain | dataset::cache(spilling);
  CHECK(all_of(all, 2) == all_of(plain, 2));
  CHECK(spilling.get_stat().num_mem_cached == first.num_mem_cached);
  CHECK(spilling.get_stat().num_disk_cached == 60 - first.num_mem_cached);
}

TEST_CASE("cache: values outside of their range, and sessions that are not there") {
  Session s;
  const auto error = [&](DatasetCache c) {
    return support::message<Error>([&] { static_cast<void>(Told(5) | dataset::cache(c)); });
  };
  CHECK(support::has(error({.folder = s.place.path}), "session_id is 0, it must be in 1 .. 4294967295"));
  CHECK(support::has(error({.session_id = std::int64_t{1} << 32, .folder = s.place.path}), "session_id is 4294967296"));
  CHECK(support::has(error({.session_id = s.id, .size = -1, .folder = s.place.path}), "size is -1"));
  CHECK(support::has(error({.session_id = s.id, .port = 80, .folder = s.place.path}), "port is 80"));
  CHECK(
      support::has(error({.session_id = s.id, .hostname = "elsewhere", .folder = s.place.path}), "this machine only"));
  const std::string missing = error({.session_id = s.id == 5 ? 6 : 5, .folder = s.place.path});
  CHECK(support::has(missing, "Session id "));
  CHECK(support::has(missing, "not found"));
  CHECK(support::has(missing, "tenon-cache -g"));
  CHECK(support::has(error({.session_id = s.id, .port = 50053, .folder = s.place.path}), "not found"));
}

TEST_CASE("packed row: bytes that are no row are refused") {
  using List = Columns<Column<float, Shape<2>>, Column<std::uint8_t, Ragged<any, any>>>;
  float values[6]{1, 2, 3, 4, 5, 6};
  RaggedValue ragged;
  const std::int64_t extents[]{2, 3};
  std::memcpy(ragged.resize(extents, 1), "abcdef", 6);
  void* columns[]{values, &ragged};
  Scratch scratch;
  const auto packed = dataset::detail::packed_row<List>({1, {7, 9, 3, 2}}, columns, scratch);
  const std::vector<std::byte> bytes(packed.begin(), packed.end());
  CHECK(bytes.size() == 40 + 8 + 3 * 8 + 6);

  float read[2];
  RaggedValue also;
  void* out[]{read, &also};
  dataset::detail::PackedHead head;
  REQUIRE(dataset::detail::unpack_row<List>(bytes, head, out, 1));
  CHECK(head.origin.sample == 7);
  CHECK(head.origin_in(5).epoch == 9 + 5 * 2);
  CHECK(head.origin.again == 3);
  CHECK(read[1] == 2);
  CHECK(also.count() == 6);
  CHECK(std::memcmp(also.data(), "abcdef", 6) == 0);

  for (std::size_t end = 0; end < bytes.size(); ++end)
    CHECK(!dataset::detail::unpack_row<List>(std::span(bytes).first(end), head, out, 1));
  std::vector<std::byte> no_shape(bytes.begin(), bytes.begin() + 40 + 8);  // no elements, and an impossible shape
  const std::int64_t shape[]{3, std::int64_t{1} << 56, 248, 0};
  for (const std::byte byte : std::as_bytes(std::span(shape))) no_shape.push_back(byte);
  CHECK(!dataset::detail::unpack_row<List>(no_shape, head, out, 1));
  auto longer = bytes;
  longer.push_back({});
  CHECK(!dataset::detail::unpack_row<List>(longer, head, out, 1));
  Random random(3);
  for (int i = 0; i < 20000; ++i) {  // it must not crash, nor take what an extent claims
    auto changed = bytes;
    for (int k = 0; k < 3; ++k) changed[random.below(changed.size())] = static_cast<std::byte>(random.word());
    dataset::detail::unpack_row<List>(changed, head, out, 1);
    CHECK(also.count() <= 6);
  }
}

#else
#include "../../support/skip.hpp"
TEST_CASE("cache") { support::say_skipped("LMDB is not installed"); }
#endif
