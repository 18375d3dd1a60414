// Ranks as threads: messages, order, groups, errors; and the tree along which sums are added.
#include <doctest/doctest.h>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/dist/sum_tree.hpp>
#include <tenon/dist/threads.hpp>

#include "../support/error_of.hpp"
#include "../support/few_threads.hpp"

using namespace tenon;
using support::error_of;

namespace {
template <class T>
std::span<const std::byte> sent(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> kept(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}
}  // namespace

TEST_CASE("messages of one rank and tag arrive in order, whatever order they are asked for in") {
  dist::run_ranks(3, [](const dist::Communicator& ranks) {
    const int next = (ranks.rank() + 1) % 3, last = (ranks.rank() + 2) % 3;
    const int first = 10 * ranks.rank(), second = first + 1, other = first + 2;
    auto a = ranks.start_send(next, 1, sent(first));
    auto b = ranks.start_send(next, 1, sent(second));
    ranks.send(next, 2, sent(other));
    int got[3]{};
    ranks.receive(last, 2, kept(got[2]));
    auto early = ranks.start_receive(last, 1, kept(got[0]));
    auto late = ranks.start_receive(last, 1, kept(got[1]));
    late.wait();
    while (!early.test()) {
    }
    for (int i = 0; i < 3; ++i) REQUIRE(got[i] == 10 * last + i);
    ranks.barrier();
    int itself = 0;
    auto own = ranks.start_receive(ranks.rank(), 0, kept(itself));
    ranks.start_send(ranks.rank(), 0, sent(other)).wait();
    own.wait();
    REQUIRE(itself == other);
  });
}

TEST_CASE("a barrier is left when all have reached it") {
  std::atomic<int> reached{0};
  for (const int size : {1, 2, 5}) {
    reached = 0;
    dist::run_ranks(size, [&](const dist::Communicator& ranks) {
      ++reached;
      ranks.barrier();
      REQUIRE(reached == size);
    });
  }
}

TEST_CASE("split makes groups in the order of keys, whose messages do not mix") {
  dist::run_ranks(5, [](const dist::Communicator& all) {
    const dist::Communicator half = all.split(all.rank() % 2, -all.rank());
    REQUIRE(half.size() == (all.rank() % 2 ? 2 : 3));
    REQUIRE(half.rank() == (half.size() * 2 - 2 + all.rank() % 2 - all.rank()) / 2);
    const dist::Communicator again = half.split(0, half.rank());
    int in_half = -1, in_all = -1;
    if (half.rank() == 0) {
      half.send(1, 0, sent(7));
      again.send(1, 0, sent(8));
    }
    if (half.rank() == 1) {
      again.receive(0, 0, kept(in_all));
      half.receive(0, 0, kept(in_half));
      REQUIRE(in_half == 7);
      REQUIRE(in_all == 8);
    }
  });
}

TEST_CASE("mistakes are one sentence, and nobody waits for a rank that has ended") {
  CHECK(error_of([] { dist::Communicator{}.send(0, 0, {}); }).find("call dist::init first") != std::string::npos);
  dist::run_ranks(2, [](const dist::Communicator& ranks) {
    REQUIRE(error_of([&] { ranks.send(2, 0, {}); }) ==
            "There is no rank 2 to send to: the group has the ranks 0 to 1.");
    REQUIRE(error_of([&] { ranks.receive(1 - ranks.rank(), 16384, {}); }).find("tags are 0 to 16383") !=
            std::string::npos);
    REQUIRE(error_of([&] { ranks.send(ranks.rank(), 0, {}); }).find("would wait for itself") != std::string::npos);
    REQUIRE(error_of([&] { ranks.split(-1, 0); }) == "split: the color is -1, the least is 0.");
  });
  CHECK(error_of([] {
          dist::run_ranks(2, [](const dist::Communicator& ranks) {
            double two[2]{};
            if (ranks.rank() == 0) ranks.send(1, 0, sent(1.0));
            else ranks.receive(0, 0, kept(two));
          });
        }) == "Rank 0 sent 8 bytes, and rank 1 expects 16: they run different calls.");
  std::string heard;
  CHECK(error_of([&] {
          dist::run_ranks(3, [&](const dist::Communicator& ranks) {
            if (ranks.rank() == 1) throw_error<ValueError>("no data");
            int number = 0;
            if (ranks.rank() == 0) heard = error_of([&] { ranks.receive(1, 0, kept(number)); });
          });
        }) == "no data");
  CHECK(heard == "Rank 1 has ended with the error: no data");
}

TEST_CASE("the tree: sums of parts of any sizes have the bits of the whole") {
  CHECK(dist::tree_split(6) == 4);
  CHECK(dist::tree_split(8) == 4);
  constexpr int leaves = 8, count = 1500;
  std::vector<std::vector<float>> values(leaves, std::vector<float>(count));
  unsigned state = 1;
  for (auto& row : values)
    for (float& x : row) x = float((state = state * 1664525u + 1013904223u) >> 8) * 1e-7f - 0.8f;
  std::vector<float> whole(count);
  dist::sum_tree<float>(leaves, [&](int leaf) { return values[std::size_t(leaf)].data(); }, whole);
  for (std::size_t i = 0; i < count; ++i) {
    const auto pair = [&](std::size_t a) { return values[a][i] + values[a + 1][i]; };
    REQUIRE(whole[i] == (pair(0) + pair(2)) + (pair(4) + pair(6)));
  }
  for (int ranks = 1; ranks <= leaves; ++ranks) {  // each has some leaves, and sums what it can alone
    struct NodeSum {
      int first, leaves;
      std::vector<float> sum;
    };
    std::vector<NodeSum> nodes;
    for (int rank = 0; rank < ranks; ++rank)
      dist::each_node_within(leaves * rank / ranks, leaves * (rank + 1) / ranks, leaves, [&](int first, int of) {
        NodeSum& node = nodes.emplace_back(NodeSum{first, of, std::vector<float>(count)});
        dist::sum_tree<float>(of, [&](int leaf) { return values[std::size_t(first + leaf)].data(); }, node.sum);
      });
    std::vector<float> sum(count);
    const auto there = [&](int first, int of) -> const float* {
      for (const NodeSum& node : nodes)
        if (node.first == first && node.leaves == of) return node.sum.data();
      return nullptr;
    };
    dist::sum_nodes<float>(leaves, there, sum);
    REQUIRE(std::memcmp(sum.data(), whole.data(), sizeof(float) * count) == 0);
  }
}

TEST_CASE("a rank that returns, or the rank itself, sends nothing that one could wait for") {
  dist::run_ranks(2, [](const dist::Communicator& ranks) {
    int number = 0;
    if (ranks.rank() == 0)
      REQUIRE(error_of([&] { ranks.receive(1, 0, kept(number)); }) ==
              "Rank 1 has ended without the message that rank 0 waits for.");
  });
  dist::run_ranks(1, [](const dist::Communicator& ranks) {
    int number = 0;
    REQUIRE(error_of([&] { ranks.receive(0, 0, kept(number)); }).starts_with("Rank 0 would wait for itself"));
  });
}

TEST_CASE("fewer threads than ranks: a sentence, and the ranks that have begun end without a call") {
  for (const int most : {0, 2}) {
    std::atomic<int> called{0};
    const std::string error = error_of([&] {
      const support::FewThreads scope(most);
      dist::run_ranks(5, [&](const dist::Communicator&) { ++called; });
    });
    CHECK(error == text("run_ranks got 5 ranks, and the system made ", most,
                        " threads for them: use fewer ranks, or raise its limits (ulimit -u, pids.max)."));
    CHECK(called.load() == 0);
  }
}
