// TargetBlock: pieces of a block, compared with a place for each byte.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include <tenon/core/memory/target_block.hpp>

using namespace tenon;
using detail::BlockOf, detail::TargetBlock;
using Place = TargetBlock::Place;

namespace {

/// Checks all that the block says against the places of its bytes.
void check(const TargetBlock& block, const std::vector<Place>& bytes, std::size_t begin, std::size_t end) {
  std::size_t at = begin;
  bool first = true;
  Place before{};
  block.each(begin, end, [&](const TargetBlock::Piece& piece) {
    CHECK(piece.begin < piece.end);
    CHECK((first ? piece.begin <= begin : piece.begin == at));
    CHECK((first || piece.place != before));  // neighbours are one piece where they can be
    for (std::size_t i = piece.begin; i < piece.end; ++i) CHECK(bytes[i] == piece.place);
    at = piece.end, before = piece.place, first = false;
  });
  CHECK((begin == end || at >= end));
  for (const Place place : {Place::host, Place::both, Place::target}) {
    bool any = false, all = true;
    for (std::size_t i = begin; i < end; ++i) any |= bytes[i] == place, all &= bytes[i] == place;
    if (begin == end) continue;
    CHECK(block.has(place, begin, end) == any);
    CHECK(block.is_at(place, begin, end) == all);
  }
}

}  // namespace

TEST_CASE("pieces after any moves") {
  std::mt19937 random(3);
  const auto below = [&](std::size_t bound) { return std::size_t(random()) % bound; };
  for (const BlockOf what : {BlockOf::values, BlockOf::scratch}) {
    constexpr std::size_t size = 23;
    TargetBlock block(size, what);
    std::vector<Place> bytes(size, what == BlockOf::scratch ? Place::target : Place::host);
    for (int round = 0; round < 500; ++round) {
      const std::size_t begin = below(size + 1), end = begin + below(size + 1 - begin);
      const Place place = Place(below(3));
      block.move(begin, end, place);
      for (std::size_t i = begin; i < end; ++i) bytes[i] = place;
      check(block, bytes, 0, size);
      const std::size_t from = below(size), to = from + 1 + below(size - from);
      check(block, bytes, from, to);
    }
  }
}
