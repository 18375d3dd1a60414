// MpiTransport: messages of a group of MPI's.
#pragma once
#include <time.h>

#include <cstring>

#include <tenon/core/log/log.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/dist/communicator.hpp>
#include <tenon/dist/mpi_library.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// What a rank sends to all others when it releases.
inline constexpr int end_tag = most_tag + 3;

/// A wait for another rank.
struct Wait {
  static constexpr double short_wait = 0.1, after_end = 0.5, long_wait = 30;
  double begin = now();
  double ended = 0;  // when the other rank was found to have ended
  bool is_reported = false;

  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
  }
};

/// MPI counts in ints, so of messages longer than `most` bytes the whole blocks go as elements of `block` bytes, and
/// the rest as a second message.
struct MpiSizes {
  std::size_t most = 1u << 30, block = 1u << 20;
};

class MpiTransport {
 public:
  MpiTransport(const Mpi& mpi, MpiHandle group, const MpiSizes& sizes = {}) : mpi_(mpi), group_(group), sizes_(sizes) {
    const Lock lock(mpi_.mutex);
    mpi_.call(MpiCall::comm_set_errhandler, group_, mpi_.errors_return);
    mpi_.call(MpiCall::comm_rank, group_, &rank_);
    mpi_.call(MpiCall::comm_size, group_, &size_);
    find_of_world();
  }
  MpiTransport(const MpiTransport&) = delete;
  ~MpiTransport() {
    int ended = 0;
    const Lock lock(mpi_.mutex);
    if (mpi_.call(MpiCall::finalized, &ended) != 0 || ended) return;
    mpi_.call(MpiCall::comm_free, &group_);
    if (has_block_type_) mpi_.call(MpiCall::type_free, &block_type_);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool shares_memory() const { return true; }

  void start(Message& message) {
    check_use();
    const Lock lock(mpi_.mutex);
    keep(message, 0, mpi_.no_request);
    keep(message, 1, mpi_.no_request);
    if (const Cut cut = cut_of(message); cut.blocks > 0) {
      start_part(message, 0, 0, cut.blocks, block_type());
      if (cut.rest > 0) start_part(message, 1, message.bytes - std::size_t(cut.rest), cut.rest, mpi_.byte);
    } else {
      start_part(message, 0, 0, cut.rest, mpi_.byte);
    }
  }
  bool finish(Message& message, bool wait) {
    check_use();
    if (is_done(message)) return true;
    if (!wait) return false;
    // as there may be more ranks than processors, the others get theirs soon
    for (int turn = 1; turn < 256; ++turn) {
      if (is_done(message)) return true;
      if (turn > 20) yield_processor();
    }
    for (Wait so_far;;) {
      for (int turn = 0; turn < 256; ++turn) {
        if (is_done(message)) return true;
        yield_processor();
      }
      check_wait(message, so_far);
    }
  }
  void give_up(Message& message) {
    if (mpi_.is_released) return;
    const Lock lock(mpi_.mutex);
    for (int part = 0; part < 2; ++part) {
      MpiHandle request = request_of(message, part);
      if (mpi_.same(request, mpi_.no_request)) continue;
      if (!message.outgoing) mpi_.call(MpiCall::cancel, &request);
      mpi_.call(MpiCall::request_free, &request);
    }
  }
  [[gnu::cold]] Communicator split(int color, int key) { return over(mpi_, split_group(color, key)); }
  [[gnu::cold, gnu::noinline]] static Communicator over(const Mpi& mpi, MpiHandle group, const MpiSizes& sizes = {}) {
    return Communicator::over<MpiTransport>(mpi, group, sizes);
  }

  const Mpi& mpi() const { return mpi_; }
  [[gnu::cold]] MpiHandle split_group(int color, int key) {
    check_use();
    MpiHandle part{};
    const Lock lock(mpi_.mutex);
    mpi_.require(MpiCall::comm_split, group_, color, key, &part);
    return part;
  }
  /// Of a wait for all ranks of the group: throws RuntimeError if there is no use in it.
  [[gnu::cold, gnu::noinline]] void check_group(Wait& so_far, const char* what) {
    const double seconds = Wait::now() - so_far.begin;
    if (seconds < Wait::short_wait) return;
    const int rank = of_world_[std::size_t(rank_)];
    int gone = -1;
    for (const int peer : of_world_)
      if (peer != rank && has_ended(peer)) gone = peer;
    if (gone >= 0 && so_far.ended == 0) so_far.ended = seconds;
    if (gone >= 0 && seconds > so_far.ended + Wait::after_end)
      throw_error<RuntimeError>("Rank ", gone, " has ended, and rank ", rank, " waits for ", what, ".");
    if (mpi_.timeout > 0 && seconds > mpi_.timeout)
      throw_error<RuntimeError>("Rank ", rank, " has waited for ", what, " for ", mpi_.timeout,
                                " s, the timeout of dist::init: another rank is stuck, or slow.");
    if (so_far.is_reported || seconds <= Wait::long_wait) return;
    so_far.is_reported = true;
    logging::warning(
        text("Rank ", rank, " has waited for ", what, " for ", Wait::long_wait, " s, and goes on waiting."));
  }

 private:
  using Lock = tenon::detail::Lock;
  struct Cut {
    int blocks, rest;
  };
  static void yield_processor() { tenon::detail::yield_processor(); }
  void check_use() const {
    if (mpi_.is_released) refuse_use();
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_use() const {
    throw_error<RuntimeError>("Rank ", of_world_[std::size_t(rank_)],
                              " sends and receives nothing after dist::release: call that when its trainings have "
                              "ended.");
  }
  Cut cut_of(const Message& message) const {
    if (message.bytes <= sizes_.most) return {0, int(message.bytes)};
    return {int(message.bytes / sizes_.block), int(message.bytes % sizes_.block)};
  }
  MpiHandle block_type() {
    if (!has_block_type_) {
      mpi_.require(MpiCall::type_contiguous, int(sizes_.block), mpi_.byte, &block_type_);
      mpi_.require(MpiCall::type_commit, &block_type_);
      has_block_type_ = true;
    }
    return block_type_;
  }
  static MpiHandle request_of(const Message& message, int part) {
    MpiHandle request{};
    std::memcpy(&request, &message.request[part], sizeof request);
    return request;
  }
  static void keep(Message& message, int part, MpiHandle request) {
    std::memcpy(&message.request[part], &request, sizeof request);
  }

  [[gnu::cold, gnu::noinline]] void start_part(Message& message, int part, std::size_t begin, int count,
                                               MpiHandle type) {
    MpiHandle request{};
    void* const data = message.data + begin;
    mpi_.require(message.outgoing ? MpiCall::isend : MpiCall::irecv, data, count, type, message.peer, message.tag,
                 group_, &request);
    keep(message, part, request);
  }
  [[gnu::cold]] void find_of_world() {
    tenon::detail::Growing<int> own;
    for (int rank = 0; rank < size_; ++rank) own.push_back(rank);
    of_world_ = own;
    MpiHandle group{}, world{};
    mpi_.require(MpiCall::comm_group, group_, &group);
    mpi_.require(MpiCall::comm_group, mpi_.ranks, &world);
    mpi_.require(MpiCall::group_translate_ranks, group, size_, own.begin(), world, of_world_.begin());
    mpi_.call(MpiCall::group_free, &group);
    mpi_.call(MpiCall::group_free, &world);
  }
  // Throws RuntimeError if there is no use in waiting for the other rank of a message.
  [[gnu::cold, gnu::noinline]] void check_wait(const Message& message, Wait& so_far) {
    const double seconds = Wait::now() - so_far.begin;
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
      logging::warning(
          text("Rank ", rank, " has waited for rank ", peer, " for ", Wait::long_wait, " s, and goes on waiting."));
    }
  }
  bool has_ended(int rank_in_world) {
    const Lock lock(mpi_.mutex);
    MpiStatus status{};
    int is_there = 0;
    return mpi_.call(MpiCall::iprobe, rank_in_world, end_tag, mpi_.ranks, &is_there, &status) == 0 && is_there;
  }
  [[gnu::cold, gnu::noinline]] bool is_done(Message& message) {
    const Lock lock(mpi_.mutex);
    const Cut cut = cut_of(message);
    if (cut.blocks == 0) return part_is_done(message, 0, cut.rest, mpi_.byte);
    const bool first = part_is_done(message, 0, cut.blocks, block_type());
    return part_is_done(message, 1, cut.rest, mpi_.byte) && first;
  }
  bool part_is_done(Message& message, int part, int expected, MpiHandle type) {
    MpiHandle request = request_of(message, part);
    if (mpi_.same(request, mpi_.no_request)) return true;
    MpiStatus status{};
    int done = 0, count = expected;
    const int error = mpi_.call(MpiCall::test, &request, &done, &status);
    keep(message, part, request);
    if (error) refuse(message, error);
    if (done && !message.outgoing) mpi_.call(MpiCall::get_count, &status, type, &count);
    if (count != expected) refuse_size(message, status);
    return done != 0;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_size(const Message& message, MpiStatus status) {
    int count = 0;
    mpi_.call(MpiCall::get_count, &status, mpi_.byte, &count);
    throw_error<RuntimeError>("Rank ", message.peer, " sent ", count, " bytes, and rank ", rank_, " expects ",
                              message.bytes, ": they run different calls.");
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const Message& message, int error) {
    int kind = 0;
    mpi_.call(MpiCall::error_class, error, &kind);
    if (kind == mpi_.abi.truncated)
      throw_error<RuntimeError>("Rank ", message.peer, " sent more than the ", message.bytes, " bytes that rank ",
                                rank_, " expects: they run different calls.");
    throw_error<RuntimeError>("A message ", message.outgoing ? "to" : "from", " rank ", message.peer,
                              " cannot arrive: ", mpi_.reason(error), ".");
  }

  const Mpi& mpi_;
  MpiHandle group_, block_type_{};
  MpiSizes sizes_;
  bool has_block_type_ = false;
  int rank_ = 0, size_ = 1;
  tenon::detail::Growing<int> of_world_;  // the rank in the world of each rank
};

}  // namespace tenon::dist::detail
