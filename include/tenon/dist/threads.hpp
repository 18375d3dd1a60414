// run_ranks: threads of one process as the ranks of a group, for tests and for a debugger.
#pragma once
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <tenon/dist/world.hpp>

namespace tenon::inline TENON_ABI::dist {

namespace detail {
/// What all threads share: messages that have left and not arrived.
class Room {
 public:
  /// Group, sender, receiver, tag: the messages of one are in order.
  using Way = std::tuple<int, int, int, int>;

  void send(const Way& way, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    Lane& lane = lanes_[way];
    lane.messages.emplace(lane.sent++, std::vector<std::byte>(bytes.begin(), bytes.end()));
    arrived_.notify_all();
  }
  /// The number of the message that a receiver gets.
  std::uint64_t expect(const Way& way) {
    const std::lock_guard lock(mutex_);
    return lanes_[way].expected++;
  }
  /// `sender`: the thread that the message comes from.
  bool take(const Way& way, int sender, std::uint64_t number, std::span<std::byte> bytes, bool wait) {
    std::unique_lock lock(mutex_);
    auto& messages = lanes_[way].messages;
    const auto there = [&] { return messages.contains(number); };
    const auto hopeless = [&] { return !broken_.empty() || ended_.contains(sender); };
    if (wait) arrived_.wait(lock, [&] { return there() || hopeless(); });
    if (!there()) {
      if (!broken_.empty()) throw RuntimeError(broken_);
      if (hopeless())
        throw_error<RuntimeError>("Rank ", std::get<1>(way), " has ended without the message that rank ",
                                  std::get<2>(way), " waits for.");
      return false;
    }
    const std::vector<std::byte> message = std::move(messages.extract(number).mapped());
    if (message.size() != bytes.size())
      throw_error<RuntimeError>("Rank ", std::get<1>(way), " sent ", message.size(), " bytes, and rank ",
                                std::get<2>(way), " expects ", bytes.size(), ": they run different calls.");
    if (!bytes.empty()) std::memcpy(bytes.data(), message.data(), bytes.size());
    return true;
  }
  /// The number of a new group: the same for all ranks that ask with the same numbers.
  int group(int parent, int count, int color) {
    const std::lock_guard lock(mutex_);
    return groups_.emplace(std::tuple(parent, count, color), int(groups_.size()) + 1).first->second;
  }
  /// The thread sends nothing more.
  void leave(int thread) {
    const std::lock_guard lock(mutex_);
    ended_.insert(thread);
    arrived_.notify_all();
  }
  /// What ranks hear that wait for a message that does not come.
  void end(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (broken_.empty()) broken_ = reason;
    arrived_.notify_all();
  }

 private:
  struct Lane {
    std::uint64_t sent = 0, expected = 0;
    std::map<std::uint64_t, std::vector<std::byte>> messages;
  };
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Way, Lane> lanes_;
  std::map<std::tuple<int, int, int>, int> groups_;
  std::set<int> ended_;
  std::string broken_;
};

/// One thread's end of a group. `members`: the threads that are its ranks.
class ThreadTransport {
 public:
  ThreadTransport(std::shared_ptr<Room> room, int group, std::vector<int> members, int rank)
      : room_(std::move(room)), group_(group), members_(std::move(members)), rank_(rank) {}

  int rank() const { return rank_; }
  int size() const { return int(members_.size()); }
  bool shares_memory() const { return true; }
  void start(Message& message) {
    if (message.outgoing) room_->send(way(message), {message.data, message.bytes});
    else message.request[0] = room_->expect(way(message));
  }
  bool finish(Message& message, bool wait) {
    return message.outgoing || room_->take(way(message), members_[std::size_t(message.peer)], message.request[0],
                                           {message.data, message.bytes}, wait);
  }
  void give_up(Message&) {}
  Communicator split(int color, int key);

 private:
  Room::Way way(const Message& message) const {
    return message.outgoing ? Room::Way(group_, rank_, message.peer, message.tag)
                            : Room::Way(group_, message.peer, rank_, message.tag);
  }

  std::shared_ptr<Room> room_;
  int group_;
  std::vector<int> members_;
  int rank_, splits_ = 0;
};

inline Communicator ThreadTransport::split(int color, int key) {
  constexpr int tag = most_tag + 2;
  struct Choice {
    int color, key, rank;
  };
  const Choice mine{color, key, rank_};
  std::vector<Choice> members;
  for (int peer = 0; peer < size(); ++peer) room_->send({group_, rank_, peer, tag}, std::as_bytes(std::span(&mine, 1)));
  for (int peer = 0; peer < size(); ++peer) {
    const Room::Way way(group_, peer, rank_, tag);
    Choice theirs;
    room_->take(way, members_[std::size_t(peer)], room_->expect(way), std::as_writable_bytes(std::span(&theirs, 1)),
                true);
    auto place = members.end();
    while (place != members.begin() && (place - 1)->key > theirs.key) --place;
    if (theirs.color == color) members.insert(place, theirs);
  }
  std::vector<int> threads;
  int rank = 0;
  for (const Choice& member : members) {
    if (member.rank == rank_) rank = int(threads.size());
    threads.push_back(members_[std::size_t(member.rank)]);
  }
  const int group = room_->group(group_, splits_++, color);
  return Communicator::over<ThreadTransport>(room_, group, std::move(threads), rank);
}
}  // namespace detail

/// Calls f(communicator) on `size` new threads and returns when all have ended. There they are the ranks of a program,
/// as after init: get_rank() and groups are theirs. If one throws or returns, the others throw RuntimeError
/// where they wait for it. run_ranks throws what the first one threw, ValueError for a size below 1, and RuntimeError
/// if the system makes fewer threads.
template <class F>
void run_ranks(int size, F f) {
  if (size < 1) throw_error<ValueError>("run_ranks: ", size, " ranks; the least is 1.");
  const auto room = std::make_shared<detail::Room>();
  std::vector<int> members;
  for (int rank = 0; rank < size; ++rank) members.push_back(rank);
  std::exception_ptr first;
  std::mutex mutex;
  const auto run = [&](int rank) {
    std::string reason = text("Rank ", rank, " has ended");
    try {
      const detail::ThreadWorld world(rank, size);
      const auto ranks = Communicator::over<detail::ThreadTransport>(room, 0, members, rank);
      detail::add_group(world_group, ranks, rank);
      f(ranks);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      try {
        throw;
      } catch (const std::exception& error) {
        reason += text(" with the error: ", error.what());
      } catch (...) {
        reason += " with an error.";
      }
      room->end(reason);
    }
    room->leave(rank);
  };
  std::vector<std::thread> threads;
  std::string missing;
  try {
    for (int rank = 0; rank < size; ++rank) threads.emplace_back(run, rank);
  } catch (const std::exception&) {  // those that have begun wait for the others, and must end
    missing = text("run_ranks got ", size, " ranks, and the system made ", threads.size(),
                   " threads for them: use fewer ranks, or raise its limits (ulimit -u, pids.max).");
    room->end(missing);
  }
  for (std::thread& thread : threads) thread.join();
  if (!missing.empty()) throw RuntimeError(missing);
  if (first) std::rethrow_exception(first);
}

}  // namespace tenon::dist
