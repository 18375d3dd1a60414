// What tests/dist/nccl.sh runs on ranks with emulated GPUs, which send by an emulated NCCL: a training in four shards,
// which prints a line per mode, or a mistake, which prints its sentence.
//
//     program train CPU|GPU
//     program MISTAKE
#include <csignal>
#include <string_view>

#include "train.hpp"

namespace {

struct Net : nn::Cell<Net> {
  nn::Dense<20, 32> first;
  nn::BatchNorm1d<32> norm;
  nn::Dense<32, 4> last;
  constexpr auto construct(auto x) const { return last(relu(norm(first(x)))); }
};

/// Two ranks send `bytes` to each other.
void exchange(std::size_t bytes) {
  dist::detail::DeviceRanks* const ranks = dist::communicator().device_ranks();
  const TargetBytes sent(bytes), received(bytes);
  const dist::detail::DeviceRanks::Part to{1 - dist::get_rank(), sent.address(), bytes};
  const dist::detail::DeviceRanks::Part from{1 - dist::get_rank(), received.address(), bytes};
  ranks->exchange({&to, 1}, {&from, 1});
  ranks->wait();
}

void make_mistake(std::string_view mistake) {
  auto& functions = emulator::library_functions();
  if (mistake == "no-library") functions.erase("libnccl.so.2");
  if (mistake == "no-function") functions["libnccl.so.2"].erase("ncclSend");
  if (mistake == "old") emulator::nccl_faults.version = 2708;
  if (mistake == "on-cpu") set_context({.device_target = "CPU"});
  if (mistake == "no-header") dist::detail::device_backend() = nullptr;
  if (mistake == "no-id") emulator::failing_function = "ncclGetUniqueId";
  dist::init(mistake == "by-mpi" ? "mpi" : "nccl",
             {.timeout_seconds = mistake == "stuck" || mistake == "late" ? 0.5 : 0});
  const int rank = dist::get_rank();
  if (rank == 1 && mistake == "ends") return;
  if (mistake == "by-mpi" || mistake == "different") {
    using dist::detail::Called;
    const Called called{rank == 0 ? Called::all_gather : Called::all_to_all, 0, -1, 0, 12};
    kernel::cuda::NcclCall(dist::communicator(), "AllGather", called).wait();
  }
  if (rank == 1 && mistake == "fails") emulator::failing_function = "ncclGroupEnd";
  if (rank == 1 && mistake.starts_with("cuda")) emulator::failing_function = mistake;
  if (rank == 1 && mistake == "breaks") emulator::nccl_faults.groups_until_break = 1;
  if (rank == 1 && mistake == "is-killed") std::raise(SIGKILL);
  emulator::nccl_faults.is_stuck = mistake == "stuck";
  emulator::last_event_is_late = rank == 1 && mistake == "late" ? 1'000'000'000 : 1000;
  exchange(1000);
  try {
    exchange(mistake == "sizes" && rank == 1 ? 2000 : 3000);
  } catch (const RuntimeError& first) {
    if (mistake == "breaks") {  // and is broken
      try {
        exchange(1000);
      } catch (const RuntimeError& second) {
        if (std::string_view(first.what()) == second.what()) throw;
      }
      throw RuntimeError("The second exchange says something else.");
    }
    throw;
  }
}

}  // namespace

int main(int count, char** words) try {
  const std::string_view what = count > 1 ? words[1] : "", target = count > 2 ? words[2] : "GPU";
  emulator::devices = 4;
  set_context({.device_target = std::string(target), .num_threads = 1});
  if (what != "train") return make_mistake(what), 0;
  dist::init(target == "GPU" ? "nccl" : "mpi");
  train<Net>(11, momentum, dist::DataParallel{.shards = 4});
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  std::fflush(stdout);
  ::usleep(500'000);  // mpirun ends the other rank then, which has its own to say
  return 1;
}
