// Layers in slices, one on each rank, against the network without slices; and grids of ranks.
#include "slices.hpp"

#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/clip.hpp>

#include "../support/error_of.hpp"

using namespace slices;
using support::error_of;

TEST_CASE("a network in two slices trains as the whole one, with a norm over all slices") {
  const nn::ClipByGlobalNorm optimizer{nn::Adam{.learning_rate = 0.01f}, 0.1f};
  const auto data = sentences(64) | dataset::batch(16);
  const auto in_slices = [&](Mode mode) {
    return trained_in_slices<2>(mode, 1, [&](const auto&) { return trained<Words<2>>(data, 4, optimizer); });
  };
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const Trained whole = trained<Words<1>, ModelOptions{.pynative = false}>(data, 4, optimizer);
  const Trained two = in_slices(Mode::graph);
  CHECK(whole.losses.back() < 0.6 * whole.losses.front());
  CHECK(distance(whole, two) < 2e-6);
  CHECK(distance(whole, two) > 0);  // sums over slices have another order
  CHECK(in_slices(Mode::graph) == two);
  CHECK(in_slices(Mode::pynative) == two);
}
TEST_CASE("a grid of ranks has a group for each rank's row along each axis") {
  dist::run_ranks(6, [](const dist::Communicator& ranks) {
    dist::create_mesh({{"replicas", 3}, {"slices", 2}});
    REQUIRE(dist::get_group_size("replicas") == 3);
    REQUIRE(dist::get_group_size("slices") == 2);
    REQUIRE(dist::get_rank("replicas") == ranks.rank() / 2);
    REQUIRE(dist::get_rank("slices") == ranks.rank() % 2);
    REQUIRE(dist::get_world_rank_from_group_rank("slices", 1) == ranks.rank() / 2 * 2 + 1);
    REQUIRE(dist::get_world_rank_from_group_rank("replicas", 2) == 4 + ranks.rank() % 2);
    float sum[]{float(ranks.rank())};
    dist::all_reduce<float>(dist::communicator("replicas"), dist::ReduceOp::sum, sum);
    REQUIRE(sum[0] == float(ranks.rank() % 2 * 3 + 6));
  });
}
TEST_CASE("what is wrong with slices and grids is one sentence") {
  const auto heard = [](int ranks, auto f) {
    return error_of([&] { dist::run_ranks(ranks, [&](const dist::Communicator&) { f(); }); });
  };
  const auto bind = [] { Words<2>().init_parameters(); };
  CHECK(error_of(bind) == "This process is not a rank yet: call dist::init(\"mpi\") first.");
  CHECK(heard(2, bind) == "There is no group 'slices'; there are 'world'.");
  CHECK(heard(3, [&] { dist::create_mesh({{"slices", 3}}), bind(); }) ==
        "A parameter float32 [6,16] is one of 2 slices, and the group 'slices' has 3 ranks.");
  CHECK(heard(3, [] { dist::create_mesh({{"replicas", 2}, {"slices", 2}}); }) ==
        "create_mesh: a grid of 2 x 2 for 3 ranks: sizes are 1 or more, and their product is the number of ranks.");
  CHECK(heard(2, [] { dist::create_mesh({{"slices", 2}, {"slices", 1}}); }) ==
        "create_mesh: two axes have the name 'slices'.");
  CHECK(heard(2, [] { dist::create_mesh({{"world", 2}}); }) == "create_mesh: there is a group 'world' already.");
  CHECK(heard(2, [] { dist::create_mesh({}); }) ==
        "create_mesh: a grid of no axes for 2 ranks: sizes are 1 or more, and their product is the number of ranks.");
  CHECK(heard(1, [] { dist::create_mesh({{"a", -1}, {"b", -1}}); }) ==
        "create_mesh: a grid of -1 x -1 for 1 ranks: sizes are 1 or more, and their product is the number of ranks.");
}
