// Communicator: the ranks of a group, and messages between them, through MPI or between threads.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/dist/device_ranks.hpp>
#if TENON_DEFINES
#include <exception>
#endif

namespace tenon::inline TENON_ABI::dist {

class Communicator;

/// Tags of a program's own messages are 0 to most_tag. The tags above are Tenon's, up to 32767, which every MPI has.
inline constexpr int most_tag = 16383;

/// A message that has been started: what its transport needs in order to find it again.
struct Message {
  bool outgoing;
  int peer, tag;
  std::byte* data;
  std::size_t bytes;
  std::uint64_t request[2]{};  // the transport's own
};

/// What carries messages. `start` begins one. `finish` returns whether it has arrived, and waits for it if `wait`.
/// `give_up` cancels one after an error. All ranks of the group call `split`. Messages from one rank to another with
/// one tag arrive in the order in which they were started. One with another number of bytes than its receiver expects
/// is a RuntimeError there. If it has `shares_memory()`, and that is true on all ranks, those on one machine may pass
/// memory to each other (dist/shared_blocks.hpp) and tell each other so by messages. If it has `device_ranks()`, those
/// exchange bytes of their GPUs.
template <class T>
concept Transport = requires(T& transport, Message& message, bool wait, int number) {
  { transport.rank() } -> std::same_as<int>;
  { transport.size() } -> std::same_as<int>;
  transport.start(message);
  { transport.finish(message, wait) } -> std::same_as<bool>;
  transport.give_up(message);
  { transport.split(number, number) } -> std::same_as<Communicator>;
};

namespace detail {
/// A transport's functions, whatever its type.
struct TransportFunctions {
  void (*start)(void*, Message&);
  bool (*finish)(void*, Message&, bool wait);
  void (*give_up)(void*, Message&);
  Communicator (*split)(void*, int color, int key);
  bool (*shares_memory)(const void*);
  DeviceRanks* (*device_ranks)(void*);
};
template <class T>
inline constexpr TransportFunctions functions_of{
    [](void* transport, Message& message) { static_cast<T*>(transport)->start(message); },
    [](void* transport, Message& message, bool wait) { return static_cast<T*>(transport)->finish(message, wait); },
    [](void* transport, Message& message) { static_cast<T*>(transport)->give_up(message); },
    [](void* transport, int color, int key) { return static_cast<T*>(transport)->split(color, key); },
    [](const void* transport) {
      if constexpr (requires(const T& t) { t.shares_memory(); })
        return static_cast<const T*>(transport)->shares_memory();
      else return false;
    },
    [](void* transport) -> DeviceRanks* {
      if constexpr (requires(T& t) { t.device_ranks(); }) return static_cast<T*>(transport)->device_ranks();
      else return nullptr;
    }};
}  // namespace detail

/// A message on its way. The transport uses its bytes until wait() returns or test() returns true. The destructor
/// waits, except while an exception unwinds the scope.
class Pending {
 public:
  Pending() = default;  // of nothing: has arrived
  Pending(Pending&& other) noexcept;
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  /// Returns when the message has left, or has arrived. Throws RuntimeError if it cannot any more.
  void wait() { static_cast<void>(finish(true)); }
  /// True if it has. Never waits; makes progress.
  bool test() { return finish(false); }
  /// The other rank.
  int peer() const { return message_.peer; }

 private:
  friend Communicator;
  Pending(const tenon::detail::Shared<void>& transport, const detail::TransportFunctions* functions,
          const Message& message);
  bool finish(bool wait);
  void drop() noexcept;

  tenon::detail::Shared<void> transport_;
  const detail::TransportFunctions* functions_ = nullptr;
  Message message_{};
};

/// The ranks of a group, seen by one of them: 0 to size() - 1. A value; copies are the same group. Made of nothing, it
/// is the only rank of a group of one.
///
/// Calls throw ValueError for a rank or tag that there is not, RuntimeError if a message cannot arrive. Any thread may
/// call, but all ranks call in the same order where they meet: barrier, split, collectives. No other thread may
/// communicate while split() runs.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator& other);
  Communicator& operator=(const Communicator& other);
  ~Communicator();
  /// Over a transport, which it makes of the arguments: `Communicator::over<MyTransport>(...)`.
  template <Transport T, class... A>
  static Communicator over(A&&... arguments) {
    Communicator made;
    made.transport_ = tenon::detail::Shared<void>::make<T>(std::forward<A>(arguments)...);
    T& transport = *static_cast<T*>(made.transport_.get());
    made.rank_ = transport.rank();
    made.size_ = transport.size();
    made.functions_ = &detail::functions_of<T>;
    return made;
  }

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Returns when the bytes may be changed again, which may be only after the receiver has called receive().
  void send(int to, int tag, std::span<const std::byte> bytes) const;
  /// Returns when exactly bytes.size() bytes of the next message of this rank and tag are there.
  void receive(int from, int tag, std::span<std::byte> bytes) const;
  /// The same, but return at once. Here a rank may also send to itself.
  [[nodiscard]] Pending start_send(int to, int tag, std::span<const std::byte> bytes) const;
  [[nodiscard]] Pending start_receive(int from, int tag, std::span<std::byte> bytes) const;

  /// Returns when all ranks have called it.
  void barrier() const;
  /// Called by all ranks: the group of those that gave the same color, in the order of their keys, then of their ranks.
  /// Throws ValueError for a color below 0.
  Communicator split(int color, int key) const;

  /// For Tenon's own messages, whose tags are above most_tag.
  [[nodiscard]] Pending start_own_send(int to, int tag, std::span<const std::byte> bytes) const;
  [[nodiscard]] Pending start_own_receive(int from, int tag, std::span<std::byte> bytes) const;
  /// Whether ranks on one machine may pass memory to each other.
  bool shares_memory() const { return functions_ && functions_->shares_memory(transport_.get()); }
  /// What the ranks do in the memory of their GPUs; null if they cannot.
  detail::DeviceRanks* device_ranks() const {
    return functions_ ? functions_->device_ranks(transport_.get()) : nullptr;
  }

 private:
  static constexpr int barrier_tag = most_tag + 1;  // that of collectives, so that a rank that calls one hears it

  static constexpr std::size_t most_meeting = 2;
  /// Returns when all ranks have called it with this number of bytes, which tells a barrier from a split.
  void meet(std::size_t bytes) const;
  Pending start(const Message& message) const;
  void refuse_itself(int peer) const;

  int rank_ = 0, size_ = 1;
  tenon::detail::Shared<void> transport_;
  const detail::TransportFunctions* functions_ = nullptr;
};

#if TENON_DEFINES
// Functions of their own, as all that count owners: inlined they are most of the code of what sends messages.
[[gnu::noinline]] TENON_INLINE_CONSTRUCTOR Pending::Pending(Pending&& other) noexcept
    : transport_(other.transport_), functions_(std::exchange(other.functions_, nullptr)), message_(other.message_) {}
[[gnu::noinline]] TENON_INLINE Pending& Pending::operator=(Pending&& other) noexcept {
  if (this == &other) return *this;
  if (functions_) drop();
  transport_ = other.transport_;
  functions_ = std::exchange(other.functions_, nullptr);
  message_ = other.message_;
  return *this;
}
[[gnu::noinline]] TENON_INLINE_CONSTRUCTOR Pending::~Pending() {
  if (functions_) drop();
}
[[gnu::noinline]] TENON_INLINE_CONSTRUCTOR Pending::Pending(const tenon::detail::Shared<void>& transport,
                                                            const detail::TransportFunctions* functions,
                                                            const Message& message)
    : transport_(transport), functions_(functions), message_(message) {
  functions_->start(transport_.get(), message_);
}
[[gnu::noinline]] TENON_INLINE bool Pending::finish(bool wait) {
  if (!functions_) return true;
  const detail::TransportFunctions* const functions = std::exchange(functions_, nullptr);  // an error is the end, too
  if (functions->finish(transport_.get(), message_, wait)) return true;
  functions_ = functions;
  return false;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void Pending::drop() noexcept {
  try {
    // after an error the other side may never answer
    if (std::uncaught_exceptions() > 0) functions_->give_up(transport_.get(), message_);
    else wait();
  } catch (const std::exception&) {  // the next call that waits reports it
  }
}

// not `= default`: g++ warns that a function with it is inline and noinline
[[gnu::noinline]] TENON_INLINE_CONSTRUCTOR Communicator::Communicator(const Communicator& other)
    : rank_(other.rank_), size_(other.size_), transport_(other.transport_), functions_(other.functions_) {}
[[gnu::noinline]] TENON_INLINE Communicator& Communicator::operator=(const Communicator& other) {
  rank_ = other.rank_, size_ = other.size_;
  transport_ = other.transport_;
  functions_ = other.functions_;
  return *this;
}
[[gnu::noinline]] TENON_INLINE_CONSTRUCTOR Communicator::~Communicator() {}
[[gnu::noinline]] TENON_INLINE void Communicator::send(int to, int tag, std::span<const std::byte> bytes) const {
  refuse_itself(to);
  start_send(to, tag, bytes).wait();
}
[[gnu::noinline]] TENON_INLINE void Communicator::receive(int from, int tag, std::span<std::byte> bytes) const {
  refuse_itself(from);
  start_receive(from, tag, bytes).wait();
}
[[gnu::noinline]] TENON_INLINE Pending Communicator::start_send(int to, int tag,
                                                                std::span<const std::byte> bytes) const {
  // a transport only reads what is outgoing
  return start({true, to, tag, const_cast<std::byte*>(bytes.data()), bytes.size()});
}
[[gnu::noinline]] TENON_INLINE Pending Communicator::start_receive(int from, int tag,
                                                                   std::span<std::byte> bytes) const {
  return start({false, from, tag, bytes.data(), bytes.size()});
}
[[gnu::cold, gnu::noinline]] TENON_INLINE Pending Communicator::start_own_send(int to, int tag,
                                                                               std::span<const std::byte> bytes) const {
  return Pending(transport_, functions_, {true, to, tag, const_cast<std::byte*>(bytes.data()), bytes.size()});
}
[[gnu::cold, gnu::noinline]] TENON_INLINE Pending Communicator::start_own_receive(int from, int tag,
                                                                                  std::span<std::byte> bytes) const {
  return Pending(transport_, functions_, {false, from, tag, bytes.data(), bytes.size()});
}
[[gnu::noinline]] TENON_INLINE void Communicator::meet(std::size_t bytes) const {
  for (int distance = 1; distance < size_; distance *= 2) {
    std::byte here[most_meeting]{}, there[most_meeting];
    Pending arriving = start_own_receive((rank_ + size_ - distance) % size_, barrier_tag, {there, bytes});
    start_own_send((rank_ + distance) % size_, barrier_tag, {here, bytes}).wait();
    arriving.wait();
  }
}
[[gnu::noinline]] TENON_INLINE void Communicator::barrier() const { meet(1); }
[[gnu::noinline]] TENON_INLINE Communicator Communicator::split(int color, int key) const {
  if (color < 0) throw_error<ValueError>("split: the color is ", color, ", the least is 0.");
  if (!functions_) return *this;
  meet(2);  // the transport's split may not be able to hear of a rank that does not come
  return functions_->split(transport_.get(), color, key);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE Pending Communicator::start(const Message& message) const {
  if (message.peer < 0 || message.peer >= size_)
    throw_error<ValueError>("There is no rank ", message.peer, " to ", message.outgoing ? "send to" : "receive from",
                            ": the group has the ranks 0 to ", size_ - 1, ".");
  if (message.tag < 0 || message.tag > most_tag)
    throw_error<ValueError>("A message has the tag ", message.tag, "; tags are 0 to ", most_tag, ".");
  if (!functions_)
    throw_error<ValueError>("This group has one rank, so there is no other to send to: call dist::init first, and "
                            "start several processes, such as by `mpirun -n 4`.");
  return Pending(transport_, functions_, message);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void Communicator::refuse_itself(int peer) const {
  if (peer == rank_ && functions_)
    throw_error<ValueError>("Rank ", peer, " would wait for itself: start_send and start_receive do not wait.");
}
#endif  // TENON_DEFINES

}  // namespace tenon::dist
