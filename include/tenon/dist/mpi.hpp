// dist::init("mpi") and dist::release: this process as one of those that mpirun has started. Needs an MPI when it runs,
// none when it is compiled (component `dist`).
#pragma once
#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/process_rank.hpp>
#include <tenon/dist/mpi_library.hpp>
#include <tenon/dist/world.hpp>

namespace tenon::inline TENON_ABI::dist {

namespace detail {
/// MPI in this process. `functions` is set by the first init.
template <class Abi>
struct MpiState {
  MpiFunctions<Abi> functions;
  std::mutex mutex;  // MPI_THREAD_SERIALIZED is enough then, which costs Open MPI less than MPI_THREAD_MULTIPLE
  bool is_ours = false;

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
    for (int turn = 0;; ++turn) {
      if (const std::lock_guard lock(mpi_.mutex); is_done(message)) return true;
      if (!wait) return false;
      // as there may be more ranks than processors, the others get theirs soon
      if (turn > 20) ::sched_yield();
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
  for (const char* const variable : {OpenMpi::launched, Mpich::launched})
    if (const char* const launched = std::getenv(variable); launched && size == 1 && std::atoi(launched) > 1)
      throw_error<RuntimeError>("dist::init(\"mpi\"): mpirun has started ", launched, " processes ($", variable,
                                "), and ", mpi.functions.version(),
                                " knows of one: they are of different MPIs. Start the program by "
                                "the mpirun that belongs to it (mpirun.openmpi, mpirun.mpich).");
}

template <class Abi>
void become_rank(const MpiFunctions<Abi>& functions) {
  auto*& mpi = mpi_state<Abi>();
  if (!mpi) mpi = new MpiState<Abi>(functions);
  const int size = start_mpi(*mpi);
  if (mpi->is_ours) mpi_end().finalize = [] { mpi_state<Abi>()->functions.finalize(); };
  check_launcher(*mpi, size);
  typename Abi::Handle world;
  mpi->check(functions.comm_dup(mpi->functions.abi.world, &world), "MPI_Comm_dup");
  const auto ranks = Communicator::over<MpiTransport<Abi>>(*mpi, world);
  add_group(world_group, ranks, ranks.rank());
}

/// Ranks of one machine share its GPUs and processors, unless the program has chosen.
inline void share_machine() {
  const Context& context = get_context();
  if (context.device_target == "GPU" && !tenon::detail::context_is_chosen("device_id"))
    set_context({.device_id = get_local_rank()});
  const int ranks = get_local_rank_size(), threads = context.num_threads;
  // num_threads counts what mpirun lets this rank use: processors of its own, or all
  const long here = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (!tenon::detail::context_is_chosen("num_threads") && long(threads) * ranks > here)
    set_context({.num_threads = std::max(1, int(here / ranks))});
}
}  // namespace detail

/// Ends what init began; all ranks call it, and it waits for all. Without it, a program that ends well does so itself.
/// MPI cannot begin again in the same process. Throws RuntimeError before init.
inline void release() {
  detail::own_group(world_group);
  detail::world().groups.clear();
  detail::MpiEnd& end = detail::mpi_end();
  end.has_ended = true;
  if (end.finalize) std::exchange(end.finalize, nullptr)();
}

/// Makes this process one of the ranks that mpirun has started: `mpirun -n 4 ./program`. With device_target GPU and no
/// device_id, it takes the GPU with its local rank; ranks of one machine share its processors, unless mpirun has bound
/// each to its own. Call it before you make a Model, which keeps the settings that it finds.
///
/// A rank that ends with a status other than 0 leaves MPI as it is, so that mpirun ends the others.
///
/// Throws RuntimeError if no MPI is installed, if another one than that of mpirun is loaded, for another backend, if
/// called twice, after release, or after a DataParallel was made.
inline void init(std::string_view backend = "mpi") {
  if (backend != "mpi") throw_error<RuntimeError>("dist::init: there is no backend '", backend, "'; there is 'mpi'.");
  if (is_initialized())
    throw_error<RuntimeError>("dist::init was called before: this process is rank ", get_rank(), " of ",
                              get_group_size(), " already.");
  if (detail::process_world().trains_alone)
    throw_error<RuntimeError>("dist::init after a dist::DataParallel was made, which trains alone: call dist::init "
                              "before you make a Model.");
  if (detail::mpi_end().has_ended)
    throw_error<RuntimeError>("dist::init after dist::release: MPI begins once in a process.");
  detail::with_mpi([](const auto& functions) { detail::become_rank(functions); });
  tenon::detail::process_rank = get_rank();
  detail::share_machine();
#if defined(__GLIBC__)
  ::on_exit(
      [](int status, void*) {
        if (status == 0 && !detail::process_world().groups.empty()) release();
      },
      nullptr);
#endif
}

}  // namespace tenon::dist
