// What holds for every transport: collectives against loops over the values of all ranks, groups, mistakes. Each rank
// makes the values of all by itself.
#pragma once
#include <doctest/doctest.h>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/dist/mesh.hpp>

#include "../support/error_of.hpp"

namespace checks {
using namespace tenon;
using dist::ReduceOp, support::error_of;

/// Element i of a rank: fractions with many digits, some below 0; small numbers for integers.
template <class T>
T value(int rank, std::size_t i) {
  const unsigned mixed = (unsigned(rank) * 2654435761u + unsigned(i) * 40503u + 12345u) * 1664525u + 1013904223u;
  if constexpr (std::is_same_v<T, bool>) return mixed >> 31 != 0;
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(mixed >> 20);
  else return static_cast<T>(float(mixed >> 8) * 1.1920929e-7f - 0.75f);
}
template <class T>
std::vector<T> values(int rank, std::size_t count) {
  std::vector<T> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(value<T>(rank, i));
  return all;
}

/// The reduction of ranks [first, first + count) as it is defined: halves at the largest power of two, 16-bit floats in
/// float32, integers modulo their size.
template <class T>
auto reduced(ReduceOp op, int first, int count, std::size_t i) {
  using Wide = std::conditional_t<std::is_integral_v<T>, T, Compute<T>>;
  if (count == 1) return static_cast<Wide>(value<T>(first, i));
  int left = 1;
  while (2 * left < count) left *= 2;
  const Wide a = reduced<T>(op, first, left, i), b = reduced<T>(op, first + left, count - left, i);
  if (op == ReduceOp::max) return a > b ? a : b;
  if (op == ReduceOp::min) return a < b ? a : b;
  if constexpr (std::is_integral_v<T>) {
    const auto x = std::uint64_t(std::int64_t(a)), y = std::uint64_t(std::int64_t(b));
    return static_cast<Wide>(op == ReduceOp::sum ? x + y : x * y);
  } else {
    return op == ReduceOp::sum ? a + b : a * b;
  }
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
void check_reductions(const dist::Communicator& ranks) {
  const auto size = std::size_t(ranks.size());
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::prod})
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{1000}, std::size_t{20001}}) {
      std::vector<T> expected, all = values<T>(ranks.rank(), count);
      for (std::size_t i = 0; i < count; ++i) expected.push_back(static_cast<T>(reduced<T>(op, 0, ranks.size(), i)));
      dist::all_reduce<T>(ranks, op, all);
      REQUIRE(same(all, expected));

      const std::size_t part = count / size;
      const std::vector<T> in = values<T>(ranks.rank(), part * size);
      std::vector<T> out(part);
      dist::reduce_scatter<T>(ranks, op, in, out);
      const auto begin = expected.begin() + std::ptrdiff_t(part) * ranks.rank();
      REQUIRE(same(out, std::vector<T>(begin, begin + std::ptrdiff_t(part))));
    }
}

template <class T>
void check_moves(const dist::Communicator& ranks) {
  const auto size = std::size_t(ranks.size());
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{777}, std::size_t{40000}}) {
    for (int root = 0; root < ranks.size(); ++root) {
      std::vector<T> all = values<T>(ranks.rank(), count);
      dist::broadcast(ranks, std::as_writable_bytes(std::span(all)), root);
      REQUIRE(same(all, values<T>(root, count)));
    }
    std::vector<T> gathered(count * size), expected, sent(count * size), turned(count * size), expected_turned;
    for (int rank = 0; rank < ranks.size(); ++rank)
      for (std::size_t i = 0; i < count; ++i) {
        expected.push_back(value<T>(rank, i));
        expected_turned.push_back(value<T>(rank, count * std::size_t(ranks.rank()) + i));
      }
    const std::vector<T> mine = values<T>(ranks.rank(), count);
    dist::all_gather(ranks, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(gathered)));
    REQUIRE(same(gathered, expected));
    sent = values<T>(ranks.rank(), count * size);
    dist::all_to_all(ranks, std::as_bytes(std::span(sent)), std::as_writable_bytes(std::span(turned)));
    REQUIRE(same(turned, expected_turned));
  }
}

inline void check_groups() {
  const int rank = dist::get_rank(), size = dist::get_group_size();
  REQUIRE(dist::get_local_rank_size() == size);
  REQUIRE(dist::get_local_rank() == rank);
  if (size < 3) return;
  const std::vector<int> three{2, 0, 1};
  dist::create_group("three", three);
  if (rank < 3) {
    const int mine = (rank + 1) % 3;
    REQUIRE(dist::get_rank("three") == mine);
    REQUIRE(dist::get_group_size("three") == 3);
    REQUIRE(dist::get_local_rank("three") == mine);
    REQUIRE(dist::get_world_rank_from_group_rank("three", 0) == 2);
    REQUIRE(dist::get_group_rank_from_world_rank(1, "three") == 2);
    check_reductions<float>(dist::communicator("three"));
    check_moves<std::int16_t>(dist::communicator("three"));
    REQUIRE(error_of([] { dist::get_world_rank_from_group_rank("three", 3); }) ==
            "The group 'three' has no rank 3: its ranks are 0 to 2.");
    REQUIRE(error_of([] { dist::get_group_rank_from_world_rank(3, "three"); }) ==
            "Rank 3 is not in the group 'three'.");
  } else {
    REQUIRE(error_of([] { dist::get_rank("three"); }) == text("Rank ", rank, " is not in the group 'three'."));
  }
  REQUIRE(error_of([] { dist::get_rank("tree"); }) ==
          "There is no group 'tree'; there are 'world', 'three'. Did you mean 'three'?");
  const auto refused = [](const char* name, std::vector<int> ranks) {
    return error_of([&] { dist::create_group(name, ranks); });
  };
  REQUIRE(refused("three", {0}) == "create_group: there is a group 'three' already.");
  REQUIRE(refused("none", {}) == "create_group: the group 'none' has no ranks.");
  REQUIRE(refused("twice", {1, 0, 1}) == "create_group: the group 'twice' names the rank 1 twice.");
  REQUIRE(refused("far", {0, size}).starts_with(text("create_group: there is no rank ", size, " for the group 'far'")));
  REQUIRE(refused("odd", {rank % 2}).find("ask for groups with different names or ranks") != std::string::npos);
  // one that a rank alone has destroyed
  dist::create_group("pair", {0, 1});
  if (rank == 1) dist::destroy_group("pair");
  const char* const same = " has none. All ranks create and destroy the same groups in the same order.";
  REQUIRE(refused("pair", {0, 1}) ==
          text("create_group: rank 0 has a group of the name 'pair' already, and rank 1", same));
  REQUIRE(error_of([&] { dist::create_mesh({{"pair", size}}); }) ==
          text("create_mesh: rank 0 has a group of the name 'pair' already, and rank 1", same));
  if (rank != 1) dist::destroy_group("pair");
  dist::destroy_group("three");
  REQUIRE(error_of([] { dist::destroy_group("three"); }).starts_with("There is no group 'three'"));
  REQUIRE(error_of([] { dist::destroy_group("world"); }).starts_with("The group of all ranks cannot be destroyed"));
}

inline void check_everything(const dist::Communicator& ranks) {
  check_reductions<std::int8_t>(ranks);
  check_reductions<std::int16_t>(ranks);
  check_reductions<std::int32_t>(ranks);
  check_reductions<std::int64_t>(ranks);
  check_reductions<std::uint8_t>(ranks);
  check_reductions<std::uint16_t>(ranks);
  check_reductions<std::uint32_t>(ranks);
  check_reductions<std::uint64_t>(ranks);
  check_reductions<float16>(ranks);
  check_reductions<bfloat16>(ranks);
  check_reductions<float>(ranks);
  check_reductions<double>(ranks);
  check_moves<float>(ranks);
  check_moves<std::uint8_t>(ranks);
  check_moves<double>(ranks);
  check_groups();
}
}  // namespace checks
