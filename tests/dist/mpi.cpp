// Collectives, groups, and mistakes among processes that mpirun has started: tests/dist/mpi.sh runs this for several
// numbers of ranks and several MPIs. Alone it tests what a program without mpirun hears.
// headers: yes
#include "checks.hpp"

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <limits>

#include <tenon/core/context.hpp>
#include <tenon/dist/mpi.hpp>
#include <tenon/dist/shared_blocks.hpp>

#include "../support/skip.hpp"

using namespace tenon;

namespace {
int launched() {
  for (const char* const variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* const size = std::getenv(variable)) return std::atoi(size);
  return 0;
}

/// Processes of one machine write into each other's blocks.
void check_shared_blocks() {
  const dist::Communicator ranks = dist::communicator();
  const dist::detail::SharedBlocks blocks(ranks, 1 << 20, true);
  if (!blocks) throw RuntimeError("ranks of one machine do not reach each other's memory");
  const int next = (ranks.rank() + 1) % ranks.size(), before = (ranks.rank() + ranks.size() - 1) % ranks.size();
  blocks.of(next)[(1 << 20) - 1] = std::byte(1 + ranks.rank());
  ranks.barrier();
  if (int(blocks.of(ranks.rank())[(1 << 20) - 1]) != 1 + before) throw RuntimeError("another rank's byte is not there");
}

/// Messages larger than MPI can count go as blocks and a rest: here above 1000 bytes, in blocks of 96.
void check_parts() {
  const dist::detail::Mpi& mpi = *dist::detail::process_mpi();
  dist::detail::MpiHandle again{};
  mpi.require(dist::detail::MpiCall::comm_dup, mpi.world, &again);
  checks::check_moves<float>(dist::detail::MpiTransport::over(mpi, again, {1000, 96}));
}

/// Another size than expected is an error, not a wrong result.
void check_sizes(const dist::Communicator& ranks) {
  if (ranks.size() < 2) return;
  double two[2]{}, one = 1;
  const auto bytes = [](auto& value) { return std::as_writable_bytes(std::span(&value, 1)); };
  if (ranks.rank() == 0) {
    ranks.send(1, 5, bytes(one));
    ranks.send(1, 6, bytes(two));
  }
  if (ranks.rank() == 1) {
    CHECK(checks::error_of([&] { ranks.receive(0, 5, bytes(two)); }) ==
          "Rank 0 sent 8 bytes, and rank 1 expects 16: they run different calls.");
    CHECK(checks::error_of([&] { ranks.receive(0, 6, bytes(one)); }) ==
          "Rank 0 sent more than the 8 bytes that rank 1 expects: they run different calls.");
  }
  ranks.barrier();
}
}  // namespace

TEST_CASE("ranks of MPI") {
  CHECK(checks::error_of([] { dist::get_rank(); }).find("call dist::init(\"mpi\") first") != std::string::npos);
  CHECK(checks::error_of([] { dist::release(); }).find("call dist::init(\"mpi\") first") != std::string::npos);
  CHECK(checks::error_of([] { dist::init("npi"); }) ==
        "dist::init: there is no backend 'npi'; there are 'mpi' and 'nccl'.");
  for (const double seconds : {-1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK(checks::error_of([&] {
            dist::init("mpi", {.timeout_seconds = seconds});
          }).starts_with("dist::init: timeout_seconds must be 0 or more, got "));
  if (!launched()) {
    support::say_skipped("not started by mpirun (dist/mpirun does that), MPI was not used");
    return;
  }
  dist::init("mpi");
  const dist::Communicator ranks = dist::communicator();
  const int rank = ranks.rank(), size = ranks.size();
  REQUIRE(size == launched());
  CHECK(checks::error_of([] { dist::init("mpi"); }) ==
        text("dist::init was called before: this process is rank ", rank, " of ", size, " already."));
  CHECK(get_context().num_threads * size <= std::max(size, int(::sysconf(_SC_NPROCESSORS_ONLN))));
  checks::check_everything(ranks);

  check_parts();
  check_shared_blocks();
  check_sizes(ranks);
  dist::release();
  CHECK(!dist::is_initialized());
  CHECK(checks::error_of([] { dist::init("mpi"); }) == "dist::init after dist::release: MPI begins once in a process.");
  if (size == 1) return;
  const std::string late =
      text("Rank ", rank, " sends and receives nothing after dist::release: call that when its trainings have ended.");
  CHECK(checks::error_of([&] { ranks.barrier(); }) == late);
  CHECK(checks::error_of([&] { ranks.split(0, 0); }) == late);
  CHECK(checks::error_of([&] { dist::broadcast(ranks, {}); }) == late);
}
