// dist::init("mpi") and dist::release: this process as one of those that mpirun has started. Needs an MPI when it runs,
// none when it is compiled (component `dist`).
#pragma once
#include <string_view>
#include <utility>

#include <tenon/dist/world.hpp>
#if TENON_DEFINES
#include <cstdio>
#include <cstdlib>

#include <tenon/core/context.hpp>
#include <tenon/core/process_rank.hpp>
#include <tenon/dist/mpi_library.hpp>
#include <tenon/dist/mpi_transport.hpp>
#include <tenon/dist/timeout.hpp>
#endif

namespace tenon::inline TENON_ABI::dist {

/// How dist::init waits: `dist::init("mpi", {.timeout_seconds = 60})`.
struct InitOptions {
  /// For how long a rank waits for another before it throws; 0: for ever. A rank that reads its data or evaluates for
  /// longer than that counts as stuck.
  double timeout_seconds = 0;
};

/// Ends what init began; all ranks call it, and it waits for all. A rank that waits for a message of one that has
/// called it throws. Without it, a program that ends well does so itself. MPI cannot begin again in the same process.
/// Throws RuntimeError before init.
void release();

namespace detail {
class Mpi;
union MpiHandle;
/// How ranks reach each other's GPUs, in a program that includes <tenon/backend/cuda/nccl.hpp>.
struct DeviceBackend {
  void (*load)();  // throws RuntimeError if it cannot be used
  Communicator (*over)(const Mpi&, MpiHandle group);
};
inline const DeviceBackend*& device_backend() {
  static constinit const DeviceBackend* backend = nullptr;
  return backend;
}
}  // namespace detail

/// Makes this process one of the ranks that mpirun has started: `mpirun -n 4 ./program`. With device_target GPU and no
/// device_id, it takes the GPU with its local rank; ranks of one machine share its processors, unless mpirun has bound
/// each to its own. Call it before you make a Model, which keeps the settings that it finds.
///
/// backend   "mpi": messages from and to the memory of the host. "nccl": those of a training and of operators from GPU
///           to GPU, all others by MPI. It needs device_target GPU, a GPU for each rank, and in the program
///           <tenon/backend/cuda/nccl.hpp>
///
/// A rank that ends with a status other than 0 says so and leaves MPI as it is, so that mpirun ends the others.
///
/// Throws RuntimeError if no MPI is installed, if another one than that of mpirun is loaded, for another backend, if
/// called twice, after release, or after a DataParallel was made; ValueError for a timeout below 0.
void init(std::string_view backend = "mpi", const InitOptions& options = {});

#if TENON_DEFINES
namespace detail {
/// Of this process; null before init.
inline Mpi*& process_mpi() {
  static Mpi* mpi = nullptr;
  return mpi;
}
/// Whether this process has released.
inline bool& has_released() {
  static bool has = false;
  return has;
}

/// Starts MPI unless the program has. Returns the size of its world.
[[gnu::cold]] inline int start_mpi(Mpi& mpi) {
  int level = 0, started = 0, size = 0;
  mpi.call(MpiCall::initialized, &started);
  if (!started) {
    mpi.require(MpiCall::init_thread, static_cast<int*>(nullptr), static_cast<char***>(nullptr), Mpi::serialized,
                &level);
    mpi.is_ours = true;
    mpi.call(MpiCall::comm_set_errhandler, mpi.world,
             mpi.errors_return);  // MPICH asks that of the world for all groups
  } else {
    mpi.call(MpiCall::query_thread, &level);
  }
  if (level < Mpi::serialized)
    throw_error<RuntimeError>(
        "dist::init(\"mpi\"): ", mpi.version(), " was started for one thread (level ", level,
        "): call MPI_Init_thread with MPI_THREAD_SERIALIZED or higher, or leave it to dist::init.");
  mpi.call(MpiCall::comm_size, mpi.world, &size);
  return size;
}
/// If mpirun belongs to one MPI and the program loads another, each process is rank 0 of 1.
[[gnu::cold]] inline void check_launcher(const Mpi& mpi, int size) {
  for (const char* const variable : launch_variables)
    if (const char* const launched = std::getenv(variable); launched && size == 1 && std::atoi(launched) > 1)
      throw_error<RuntimeError>("dist::init(\"mpi\"): mpirun has started ", launched, " processes ($", variable,
                                "), and ", mpi.version(),
                                " knows of one: they are of different MPIs. Start the program by "
                                "the mpirun that belongs to it (mpirun.openmpi, mpirun.mpich).");
}
[[gnu::cold]] inline void become_rank(const DeviceBackend* devices, const InitOptions& options) {
  if (!process_mpi()) process_mpi() = find_mpi();
  Mpi& mpi = *process_mpi();
  const int size = start_mpi(mpi);
  check_launcher(mpi, size);
  mpi.timeout = options.timeout_seconds;
  mpi.require(MpiCall::comm_dup, mpi.world, &mpi.ranks);
  const auto ranks = devices ? devices->over(mpi, mpi.ranks) : MpiTransport::over(mpi, mpi.ranks);
  add_group(world_group, ranks, ranks.rank());
}

/// What a backend needs beside MPI; null for "mpi".
[[gnu::cold]] inline const DeviceBackend* load_backend(std::string_view backend) {
  if (backend == "mpi") return nullptr;
  if (backend != "nccl")
    throw_error<RuntimeError>("dist::init: there is no backend '", backend, "'; there are 'mpi' and 'nccl'.");
  if (const std::string& target = get_context().device_target; target != "GPU")
    throw_error<RuntimeError>("Device target should be 'GPU' to init nccl, but got ", target,
                              ": call set_context({.device_target = \"GPU\"}) before, or use dist::init(\"mpi\").");
  const DeviceBackend* const found = device_backend();
  if (!found)
    throw_error<RuntimeError>("dist::init(\"nccl\"): this program has no calls of NCCL: include "
                              "<tenon/backend/cuda/nccl.hpp> in its sources, or use dist::init(\"mpi\").");
  found->load();
  return found;
}

/// Ranks of one machine share its GPUs and processors, unless the program has chosen.
[[gnu::cold]] inline void share_machine() {
  const Context& context = get_context();
  ContextChange change;
  if (context.device_target == "GPU" && !tenon::detail::context_is_chosen("device_id")) {
    const int devices = device_count(context.target());
    if (const int ranks = get_local_rank_size(); ranks > devices)
      throw_error<RuntimeError>("dist::init: there are ", ranks, " ranks on this machine, and ", devices,
                                devices == 1 ? " GPU. Start one rank" : " GPUs. Start as many ranks",
                                ", or set device_id or DEVICE_ID, so that ranks share a GPU.");
    change.device_id = get_local_rank();
  }
  const int ranks = get_local_rank_size(), threads = context.num_threads;
  // num_threads counts what mpirun lets this rank use: processors of its own, or all
  const int here = tenon::detail::processors();
  if (!tenon::detail::context_is_chosen("num_threads") && long(threads) * ranks > here)
    change.num_threads = here > ranks ? here / ranks : 1;
  if (change.device_id.is_there || change.num_threads.is_there) set_context(change);
}
/// Tells all ranks that this one sends nothing more, and waits until they have told so.
[[gnu::cold]] inline void tell_end(const Communicator& world) {
  const std::byte none{};
  tenon::detail::Growing<std::byte> heard;
  heard.fill(std::size_t(world.size()));
  tenon::detail::Growing<Pending> messages;  // not Messages: when a program ends, what is thread_local has ended before
  for (int rank = 0; rank < world.size(); ++rank)
    if (rank != world.rank()) messages.push_back(world.start_own_send(rank, end_tag, {&none, 1}));
  for (int rank = 0; rank < world.size(); ++rank)
    if (rank != world.rank())
      messages.push_back(world.start_own_receive(rank, end_tag, {&heard[std::size_t(rank)], 1}));
  for (Pending& message : messages) message.wait();
}
/// When a process ends. `rank`: the process that has called init; a child of it, which fork() made, is no rank.
[[gnu::cold]] inline void end_rank(int status, void* rank) {
  if (process_world().groups.empty()) return;
  if (std::intptr_t(rank) != std::intptr_t(::getpid())) {
    // they are the parent's, as MPI is
    static const auto* const kept = new tenon::detail::Growing<Group>(std::move(process_world().groups));
    static_cast<void>(kept);
  } else if (status == 0) release();
  else std::fprintf(stderr, "Rank %d of %d ends with status %d.\n", get_rank(), get_group_size(), status);
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void release() {
  const auto each_device = [](void (detail::DeviceRanks::*call)()) {
    for (const detail::Group& group : detail::world().groups)
      if (detail::DeviceRanks* const ranks = group.ranks.device_ranks()) (ranks->*call)();
  };
  each_device(&detail::DeviceRanks::wait);
  detail::tell_end(detail::own_group(world_group).ranks);
  each_device(&detail::DeviceRanks::end);
  detail::world().groups.clear();
  detail::has_released() = true;
  if (detail::Mpi* const mpi = detail::process_mpi()) {
    mpi->is_released = true;
    if (std::exchange(mpi->is_ours, false)) mpi->call(detail::MpiCall::finalize);
  }
}

[[gnu::noinline]] TENON_INLINE void init(std::string_view backend, const InitOptions& options) {
  if (is_initialized())
    throw_error<RuntimeError>("dist::init was called before: this process is rank ", get_rank(), " of ",
                              get_group_size(), " already.");
  if (detail::process_world().trains_alone)
    throw_error<RuntimeError>("dist::init after a dist::DataParallel was made, which trains alone: call dist::init "
                              "before you make a Model.");
  if (detail::has_released())
    throw_error<RuntimeError>("dist::init after dist::release: MPI begins once in a process.");
  detail::check_timeout("dist::init", options.timeout_seconds);
  detail::become_rank(detail::load_backend(backend), options);
  tenon::detail::process_rank = {get_rank(), get_group_size()};
  detail::share_machine();
  if (detail::DeviceRanks* const ranks = communicator().device_ranks()) ranks->begin();
#if defined(__GLIBC__)
  ::on_exit(detail::end_rank, reinterpret_cast<void*>(std::intptr_t(::getpid())));
#endif
}
#endif  // TENON_DEFINES

}  // namespace tenon::dist
