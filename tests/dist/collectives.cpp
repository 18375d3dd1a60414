// Collectives among ranks that are threads, for 1 to 5 and 8 ranks.
#include "checks.hpp"

#include <tenon/dist/threads.hpp>

TEST_CASE("collectives have the values and the bits of loops over all ranks") {
  for (const int size : {1, 2, 3, 4, 5, 8}) {
    CAPTURE(size);
    tenon::dist::run_ranks(size, checks::check_everything);
  }
}

TEST_CASE("a NaN of one rank is one of the maximum, whichever rank it is") {
  tenon::dist::run_ranks(3, [](const tenon::dist::Communicator& ranks) {
    for (int odd = 0; odd < 3; ++odd)
      for (const auto op : {tenon::dist::ReduceOp::max, tenon::dist::ReduceOp::min}) {
        float x[]{ranks.rank() == odd ? NAN : 1.0f};
        tenon::dist::all_reduce<float>(ranks, op, x);
        REQUIRE(std::isnan(x[0]));
      }
  });
}

TEST_CASE("before init there is no rank") {
  CHECK(checks::error_of([] { tenon::dist::get_rank(); }) ==
        "This process is not a rank yet: call dist::init(\"mpi\") first.");
  CHECK(!tenon::dist::is_initialized());
}
