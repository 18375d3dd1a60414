// One sample of a column: the extents that a function gives it are those of the column, and each sample has its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/source/generator.hpp>
#include <tenon/dataset/source/stream.hpp>

#include "../support.hpp"

using namespace tenon;
using namespace support;
using dataset::any, dataset::Column, dataset::Columns, dataset::Ragged, dataset::SampleSlot, dataset::SampleView;
using Text = Column<std::uint8_t, Ragged<any>, "text">;
using Image = Column<float, Ragged<any, any, 3>, "image">;

namespace {

template <class D>
std::string fails(const D& data) {
  return message<ValueError>([&] {
    for (const auto& row : data) CHECK(row.n == 1);
  });
}

/// Forgets the sizes of samples with an odd first byte.
struct Forgetful {
  using transforms_samples = void;
  static constexpr const char* name = "Forgetful";
  template <class In>
  void apply(SampleView<In> in, SampleSlot<In> out, Random&) const {
    if (in[0] % 2 == 0) std::ranges::copy(in, out.resize(in.count()));
  }
};

auto texts() {
  return dataset::generator<Columns<Text>>(
      4, [](long index, auto text) { std::fill_n(text.resize(index + 1), index + 1, std::uint8_t(2 * index)); });
}

}  // namespace

TEST_CASE("a ragged sample that a function does not resize is refused, not the sample before it") {
  const std::string said = "The column \"text\" is ragged, and the function that makes its samples has not called "
                           "resize(). Call it for each sample, with 0 for an empty one. (data set: row ";
  const auto mapped = texts() | dataset::map<"text", Text>([](auto in, auto out) {
                        if (in.size() != 3) std::ranges::copy(in, out.resize(in.size()));
                      });
  CHECK(fails(mapped) == said + "2 of epoch 0, sample 2, in map<0>)");
  CHECK(fails(mapped | dataset::prefetch(2, {.num_parallel_workers = 3})) ==
        said + "2 of epoch 0, sample 2, in map<0>)");
  const auto made = dataset::generator<Columns<Text>>(2, [](long, auto) {});
  CHECK(fails(made) == said + "0 of epoch 0, sample 0)");
  struct Reader {
    int left = 2;
    bool next(SampleSlot<Text> text) {
      if (left == 2) text.resize(1);
      return left-- > 0;
    }
  };
  const auto streamed = dataset::stream<Columns<Text>>([] { return Reader{}; });
  CHECK(fails(streamed) == said + "1 of epoch 0, sample 1)");
  const auto odd = texts() | dataset::map<"text">([](std::uint8_t byte) { return std::uint8_t(byte / 2); }) |
                   dataset::map<"text">(Forgetful{});
  CHECK(has(fails(odd), "is ragged, and the function that makes its samples has not called resize()"));
  CHECK(has(fails(odd), "sample 1, in Forgetful"));
}

TEST_CASE("an empty ragged sample is one, and the end of a stream needs no size") {
  struct Reader {
    int left = 3;
    bool next(SampleSlot<Text> text) { return left > 0 && (text.resize(--left), true); }
  };
  const auto streamed = dataset::stream<Columns<Text>>([] { return Reader{}; });
  std::vector<std::size_t> sizes;
  for (const auto& row : streamed) sizes.push_back(row.values<"text">().size());
  CHECK(sizes == std::vector<std::size_t>{2, 1, 0});
}

TEST_CASE("a sample has the extents that its column says, else resize is refused") {
  const auto of = [](auto size) {
    return dataset::generator<Columns<Image>>(1, [=](long, SampleSlot<Image> image) { size(image); });
  };
  CHECK(fails(of([](auto image) { image.resize(4, 5, 3); })) == "");
  CHECK(fails(of([](auto image) { image.resize(0, 0, 3); })) == "");
  CHECK(fails(of([](auto image) { image.resize(4, 5, 1); })) ==
        "The column \"image\" has samples of the shape [any, any, 3], and resize() was given [4, 5, 1]. Give it the "
        "extents that the column says, or declare the column with `any` there. (data set: row 0 of epoch 0, sample 0)");
  CHECK(has(fails(of([](auto image) { image.resize(4, 5); })), "was given [4, 5]."));
  CHECK(has(fails(of([](auto image) { image.resize(); })), "was given []."));
  CHECK(has(fails(of([](auto image) { image.resize(-1, 5, 3); })), "A sample cannot have the shape [-1, 5, 3]."));
  const std::int64_t extents[]{1, 2, 3, 1};
  CHECK(has(fails(of([&](auto image) { image.resize(std::span<const std::int64_t>(extents)); })),
            "was given [1, 2, 3, 1]."));
}

TEST_CASE("a sample of fixed shape takes its own extents or none") {
  using Four = Column<float, Shape<2, 2>>;
  float memory[4];
  const SampleSlot<Four> slot(memory);
  CHECK(slot.resize() == memory);
  CHECK(slot.resize(2, 2) == memory);
  CHECK(message<ValueError>([&] { slot.resize(4); }) ==
        "The column has samples of the shape [2, 2], and resize() was given [4]. Give it the extents that the column "
        "says, or declare the column with `any` there.");
  CHECK_THROWS_AS(slot.resize(2, 3), ValueError);
}
