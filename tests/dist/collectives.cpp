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

TEST_CASE("memory of another size than the ranks' parts is an error") {
  tenon::dist::run_ranks(3, [](const tenon::dist::Communicator& ranks) {
    float x[6]{}, y[2]{}, z[7]{}, w[6]{};
    const auto bytes = [](auto& of) { return std::as_writable_bytes(std::span(of)); };
    using tenon::dist::ReduceOp;
    REQUIRE(checks::error_of([&] {
              tenon::dist::reduce_scatter<float>(ranks, ReduceOp::sum, std::span(x).first(5), y);
            }) == "reduce_scatter among 3 ranks: `in` has 20 bytes, it needs 3 parts of 8 bytes.");
    REQUIRE(checks::error_of([&] { tenon::dist::all_gather(ranks, bytes(y), bytes(z)); }) ==
            "all_gather among 3 ranks: `all` has 28 bytes, it needs 3 parts of 8 bytes.");
    REQUIRE(checks::error_of([&] { tenon::dist::all_to_all(ranks, bytes(z), bytes(z)); }) ==
            "all_to_all among 3 ranks: `in` has 28 bytes, it needs 3 parts of 9 bytes.");
    REQUIRE(checks::error_of([&] { tenon::dist::all_to_all(ranks, bytes(x), bytes(y)); }) ==
            "all_to_all among 3 ranks: `out` has 8 bytes, it needs 3 parts of 8 bytes.");
    tenon::dist::all_to_all(ranks, bytes(x), bytes(w));  // no rank is behind
  });
}

TEST_CASE("before init there is no rank") {
  CHECK(checks::error_of([] { tenon::dist::get_rank(); }) ==
        "This process is not a rank yet: call dist::init(\"mpi\") first.");
  CHECK(!tenon::dist::is_initialized());
}
