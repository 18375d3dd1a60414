// dist::init("mpi") and dist::release: this process as one of those that mpirun has started. Needs an MPI when it runs,
// none when it is compiled (component `dist`).
#pragma once
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/core/process_rank.hpp>
#include <tenon/dist/mpi_library.hpp>
#include <tenon/dist/world.hpp>

namespace tenon::inline TENON_ABI::dist {

/// How dist::init waits: `dist::init("mpi", {.timeout_seconds = 60})`.
struct InitOptions {
  /// For how long a rank waits for another before it throws; 0: for ever. A rank that reads its data or evaluates for
  /// longer than that counts as stuck.
  double timeout_seconds = 0;
};

namespace detail {
/// What a rank sends to all others when it releases.
inline constexpr int end_tag = most_tag + 3;

/// A wait for another rank.
struct Wait {
  static constexpr double short_wait = 0.1, after_end = 0.5, long_wait = 30;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  double ended = 0;  // when the other rank was found to have ended
  bool is_reported = false;

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
};

/// MPI in this process. `functions` is set by the first init.
template <class Abi>
struct MpiState {
  MpiFunctions<Abi> functions;
  std::mutex mutex;  // MPI_THREAD_SERIALIZED is enough then, which costs Open MPI less than MPI_THREAD_MULTIPLE
  bool is_ours = false;
  double timeout = 0;
  typename Abi::Handle world{};  // of all ranks, Tenon's own

  explicit MpiState(const MpiFunctions<Abi>& found) : functions(found) {}
  /// Throws RuntimeError for what MPI calls an error.
  void check(int error, const char* what) {
    if (error) throw_error<RuntimeError>(what, " failed: ", functions.reason(error), ".");
  }
};

inline constexpr std::size_t mpi_most = 1u << 30, mpi_block = 1u << 20;
/// A group of MPI's. MPI counts in ints, so of messages longer than Most bytes the whole blocks go as elements of Block
/// bytes, and the rest as a second message.
template <class Abi, std::size_t Most = mpi_most, std::size_t Block = mpi_block>
class MpiTransport {
 public:
  using Handle = typename Abi::Handle;

  MpiTransport(MpiState<Abi>& mpi, Handle group) : mpi_(mpi), group_(group) {
    const std::lock_guard lock(mpi_.mutex);
    mpi_.functions.comm_set_errhandler(group_, mpi_.functions.abi.errors_return);
    mpi_.functions.comm_rank(group_, &rank_);
    mpi_.functions.comm_size(group_, &size_);
    find_of_world();
  }
  MpiTransport(const MpiTransport&) = delete;
  ~MpiTransport() {
    int ended = 0;
    const std::lock_guard lock(mpi_.mutex);
    if (mpi_.functions.finalized(&ended) == 0 && !ended) mpi_.functions.comm_free(&group_);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }

  void start(Message& message) {
    const std::lock_guard lock(mpi_.mutex);
    keep(message, 0, mpi_.functions.abi.no_request);
    keep(message, 1, mpi_.functions.abi.no_request);
    if (const Cut cut = cut_of(message); cut.blocks > 0) {
      start_part(message, 0, 0, cut.blocks, block_type());
      if (cut.rest > 0) start_part(message, 1, message.bytes - std::size_t(cut.rest), cut.rest, byte());
    } else {
      start_part(message, 0, 0, cut.rest, byte());
    }
  }
  bool finish(Message& message, bool wait) {
    for (int turn = 0; turn < 256; ++turn) {
      if (const std::lock_guard lock(mpi_.mutex); is_done(message)) return true;
      if (!wait) return false;
      // as there may be more ranks than processors, the others get theirs soon
      if (turn > 20) ::sched_yield();
    }
    for (Wait so_far;;) {
      for (int turn = 0; turn < 256; ++turn) {
        if (const std::lock_guard lock(mpi_.mutex); is_done(message)) return true;
        ::sched_yield();
      }
      check_wait(message, so_far);
    }
  }
  void give_up(Message& message) {
    const std::lock_guard lock(mpi_.mutex);
    for (int part = 0; part < 2; ++part) {
      Handle request = request_of(message, part);
      if (request == mpi_.functions.abi.no_request) continue;
      if (!message.outgoing) mpi_.functions.cancel(&request);
      mpi_.functions.request_free(&request);
    }
  }
  Communicator split(int color, int key) {
    Handle part;
    {
      const std::lock_guard lock(mpi_.mutex);
      mpi_.check(mpi_.functions.comm_split(group_, color, key, &part), "MPI_Comm_split");
    }
    return Communicator::over<MpiTransport>(mpi_, part);
  }

 private:
  struct Cut {
    int blocks, rest;
  };
  static Cut cut_of(const Message& message) {
    if (message.bytes <= Most) return {0, int(message.bytes)};
    return {int(message.bytes / Block), int(message.bytes % Block)};
  }
  Handle byte() const { return mpi_.functions.abi.byte; }
  Handle block_type() {
    static const Handle type = [&] {
      Handle made;
      mpi_.check(mpi_.functions.type_contiguous(int(Block), byte(), &made), "MPI_Type_contiguous");
      mpi_.check(mpi_.functions.type_commit(&made), "MPI_Type_commit");
      return made;
    }();
    return type;
  }
  static Handle request_of(const Message& message, int part) {
    Handle request;
    std::memcpy(&request, &message.request[part], sizeof request);
    return request;
  }
  static void keep(Message& message, int part, Handle request) {
    std::memcpy(&message.request[part], &request, sizeof request);
  }

  void start_part(Message& message, int part, std::size_t begin, int count, Handle type) {
    const auto& mpi = mpi_.functions;
    Handle request{};
    std::byte* const data = message.data + begin;
    if (message.outgoing)
      mpi_.check(mpi.isend(data, count, type, message.peer, message.tag, group_, &request), "MPI_Isend");
    else mpi_.check(mpi.irecv(data, count, type, message.peer, message.tag, group_, &request), "MPI_Irecv");
    keep(message, part, request);
  }
  void find_of_world() {
    const auto& mpi = mpi_.functions;
    std::vector<int> own;
    for (int rank = 0; rank < size_; ++rank) own.push_back(rank);
    of_world_ = own;
    Handle group, world;
    mpi_.check(mpi.comm_group(group_, &group), "MPI_Comm_group");
    mpi_.check(mpi.comm_group(mpi_.world, &world), "MPI_Comm_group");
    mpi_.check(mpi.group_translate_ranks(group, size_, own.data(), world, of_world_.data()),
               "MPI_Group_translate_ranks");
    mpi.group_free(&group), mpi.group_free(&world);
  }
  // Throws RuntimeError if there is no use in waiting for the other rank of a message.
  [[gnu::cold]] void check_wait(const Message& message, Wait& so_far) {
    const double seconds = so_far.seconds();
    if (seconds < Wait::short_wait || message.tag == end_tag) return;
    const int peer = of_world_[std::size_t(message.peer)], rank = of_world_[std::size_t(rank_)];
    if (so_far.ended == 0 && has_ended(peer)) so_far.ended = seconds;
    if (so_far.ended > 0 && seconds > so_far.ended + Wait::after_end)  // what it sent before has had time to arrive
      throw_error<RuntimeError>("Rank ", peer, " has ended without ", message.outgoing ? "taking " : "",
                                "the message that rank ", rank, message.outgoing ? " sends." : " waits for.");
    if (mpi_.timeout > 0 && seconds > mpi_.timeout)
      throw_error<RuntimeError>("Rank ", rank, " has waited for rank ", peer, " for ", mpi_.timeout,
                                " s, the timeout of dist::init: rank ", peer, " is stuck, or slow.");
    if (!so_far.is_reported && seconds > Wait::long_wait) {
      so_far.is_reported = true;
      logging::warning("Rank ", rank, " has waited for rank ", peer, " for ", Wait::long_wait,
                       " s, and goes on waiting.");
    }
  }
  bool has_ended(int rank_in_world) {
    const std::lock_guard lock(mpi_.mutex);
    typename MpiFunctions<Abi>::Status status{};
    int is_there = 0;
    return mpi_.functions.iprobe(rank_in_world, end_tag, mpi_.world, &is_there, &status) == 0 && is_there;
  }
  bool is_done(Message& message) {
    const Cut cut = cut_of(message);
    if (cut.blocks == 0) return part_is_done(message, 0, cut.rest, byte());
    const bool first = part_is_done(message, 0, cut.blocks, block_type());
    return part_is_done(message, 1, cut.rest, byte()) && first;
  }
  bool part_is_done(Message& message, int part, int expected, Handle type) {
    Handle request = request_of(message, part);
    if (request == mpi_.functions.abi.no_request) return true;
    typename MpiFunctions<Abi>::Status status{};
    int done = 0, count = expected;
    const int error = mpi_.functions.test(&request, &done, &status);
    keep(message, part, request);
    if (error) refuse(message, error);
    if (done && !message.outgoing) mpi_.functions.get_count(&status, type, &count);
    if (count != expected) {
      mpi_.functions.get_count(&status, byte(), &count);
      throw_error<RuntimeError>("Rank ", message.peer, " sent ", count, " bytes, and rank ", rank_, " expects ",
                                message.bytes, ": they run different calls.");
    }
    return done != 0;
  }
  [[noreturn, gnu::cold]] void refuse(const Message& message, int error) {
    int kind = 0;
    mpi_.functions.error_class(error, &kind);
    if (kind == Abi::truncated)
      throw_error<RuntimeError>("Rank ", message.peer, " sent more than the ", message.bytes, " bytes that rank ",
                                rank_, " expects: they run different calls.");
    throw_error<RuntimeError>("A message ", message.outgoing ? "to" : "from", " rank ", message.peer,
                              " cannot arrive: ", mpi_.functions.reason(error), ".");
  }

  MpiState<Abi>& mpi_;
  Handle group_;
  int rank_ = 0, size_ = 1;
  std::vector<int> of_world_;  // the rank in the world of each rank
};

/// What release does, and whether a program may init again.
struct MpiEnd {
  void (*finalize)() = nullptr;
  bool has_ended = false;
};
inline MpiEnd& mpi_end() {
  static MpiEnd end;
  return end;
}
/// Kept until the process ends, since communicators may be.
template <class Abi>
MpiState<Abi>*& mpi_state() {
  static MpiState<Abi>* state = nullptr;
  return state;
}

/// Starts MPI unless the program has. Returns the size of its world.
template <class Abi>
int start_mpi(MpiState<Abi>& mpi) {
  const auto& call = mpi.functions;
  int level = 0, started = 0, size = 0;
  call.initialized(&started);
  if (!started) {
    mpi.check(call.init_thread(nullptr, nullptr, MpiFunctions<Abi>::serialized, &level), "MPI_Init_thread");
    mpi.is_ours = true;
    call.comm_set_errhandler(call.abi.world, call.abi.errors_return);  // MPICH asks that of the world for all groups
  } else {
    call.query_thread(&level);
  }
  if (level < MpiFunctions<Abi>::serialized)
    throw_error<RuntimeError>(
        "dist::init(\"mpi\"): ", call.version(), " was started for one thread (level ", level,
        "): call MPI_Init_thread with MPI_THREAD_SERIALIZED or higher, or leave it to dist::init.");
  call.comm_size(call.abi.world, &size);
  return size;
}
/// If mpirun belongs to one MPI and the program loads another, each process is rank 0 of 1.
template <class Abi>
void check_launcher(const MpiState<Abi>& mpi, int size) {
  for (const char* const variable : launch_variables)
    if (const char* const launched = std::getenv(variable); launched && size == 1 && std::atoi(launched) > 1)
      throw_error<RuntimeError>("dist::init(\"mpi\"): mpirun has started ", launched, " processes ($", variable,
                                "), and ", mpi.functions.version(),
                                " knows of one: they are of different MPIs. Start the program by "
                                "the mpirun that belongs to it (mpirun.openmpi, mpirun.mpich).");
}

template <class Abi>
void become_rank(const MpiFunctions<Abi>& functions, const InitOptions& options) {
  auto*& mpi = mpi_state<Abi>();
  if (!mpi) mpi = new MpiState<Abi>(functions);
  const int size = start_mpi(*mpi);
  if (mpi->is_ours) mpi_end().finalize = [] { mpi_state<Abi>()->functions.finalize(); };
  check_launcher(*mpi, size);
  mpi->timeout = options.timeout_seconds;
  mpi->check(functions.comm_dup(mpi->functions.abi.world, &mpi->world), "MPI_Comm_dup");
  const auto ranks = Communicator::over<MpiTransport<Abi>>(*mpi, mpi->world);
  add_group(world_group, ranks, ranks.rank());
}

/// Ranks of one machine share its GPUs and processors, unless the program has chosen.
inline void share_machine() {
  const Context& context = get_context();
  if (context.device_target == "GPU" && !tenon::detail::context_is_chosen("device_id")) {
    const int devices = device_count(context.target());
    if (const int ranks = get_local_rank_size(); ranks > devices)
      throw_error<RuntimeError>("dist::init: there are ", ranks, " ranks on this machine, and ", devices,
                                devices == 1 ? " GPU. Start one rank" : " GPUs. Start as many ranks",
                                ", or set device_id or DEVICE_ID, so that ranks share a GPU.");
    set_context({.device_id = get_local_rank()});
  }
  const int ranks = get_local_rank_size(), threads = context.num_threads;
  // num_threads counts what mpirun lets this rank use: processors of its own, or all
  const long here = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (!tenon::detail::context_is_chosen("num_threads") && long(threads) * ranks > here)
    set_context({.num_threads = std::max(1, int(here / ranks))});
}
/// Tells all ranks that this one sends nothing more, and waits until they have told so.
inline void tell_end(const Communicator& world) {
  const std::byte none{};
  std::vector<std::byte> heard(std::size_t(world.size()));
  std::vector<Pending> messages;  // not Messages: when a program ends, what is thread_local has ended before
  for (int rank = 0; rank < world.size(); ++rank)
    if (rank != world.rank()) messages.push_back(world.start_own_send(rank, end_tag, {&none, 1}));
  for (int rank = 0; rank < world.size(); ++rank)
    if (rank != world.rank())
      messages.push_back(world.start_own_receive(rank, end_tag, {&heard[std::size_t(rank)], 1}));
  for (Pending& message : messages) message.wait();
}
}  // namespace detail

/// Ends what init began; all ranks call it, and it waits for all. A rank that waits for a message of one that has
/// called it throws. Without it, a program that ends well does so itself. MPI cannot begin again in the same process.
/// Throws RuntimeError before init.
inline void release() {
  detail::tell_end(detail::own_group(world_group).ranks);
  detail::world().groups.clear();
  detail::MpiEnd& end = detail::mpi_end();
  end.has_ended = true;
  if (end.finalize) std::exchange(end.finalize, nullptr)();
}

/// Makes this process one of the ranks that mpirun has started: `mpirun -n 4 ./program`. With device_target GPU and no
/// device_id, it takes the GPU with its local rank; ranks of one machine share its processors, unless mpirun has bound
/// each to its own. Call it before you make a Model, which keeps the settings that it finds.
///
/// A rank that ends with a status other than 0 says so and leaves MPI as it is, so that mpirun ends the others.
///
/// Throws RuntimeError if no MPI is installed, if another one than that of mpirun is loaded, for another backend, if
/// called twice, after release, or after a DataParallel was made.
inline void init(std::string_view backend = "mpi", const InitOptions& options = {}) {
  if (backend != "mpi") throw_error<RuntimeError>("dist::init: there is no backend '", backend, "'; there is 'mpi'.");
  if (is_initialized())
    throw_error<RuntimeError>("dist::init was called before: this process is rank ", get_rank(), " of ",
                              get_group_size(), " already.");
  if (detail::process_world().trains_alone)
    throw_error<RuntimeError>("dist::init after a dist::DataParallel was made, which trains alone: call dist::init "
                              "before you make a Model.");
  if (detail::mpi_end().has_ended)
    throw_error<RuntimeError>("dist::init after dist::release: MPI begins once in a process.");
  detail::with_mpi([&](const auto& functions) { detail::become_rank(functions, options); });
  tenon::detail::process_rank = {get_rank(), get_group_size()};
  detail::share_machine();
#if defined(__GLIBC__)
  ::on_exit(
      [](int status, void*) {
        if (detail::process_world().groups.empty()) return;
        if (status == 0) release();
        else std::fprintf(stderr, "Rank %d of %d ends with status %d.\n", get_rank(), get_group_size(), status);
      },
      nullptr);
#endif
}

}  // namespace tenon::dist
