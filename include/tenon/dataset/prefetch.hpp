// prefetch(depth): a background thread reads rows ahead while the caller computes.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/dataset/stage.hpp>
#if TENON_DEFINES
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#endif

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// The thread that fills a ring of rows while another one reads them. Row i of the epoch lies in slot i % slots.
class PrefetchThread {
 public:
  /// Fills a slot of the queue. It may throw: what it has thrown comes out of next().
  using Read = void (*)(void* queue, Place place, long slot);

  PrefetchThread(long size, long slots, Read read, void* queue);
  PrefetchThread(const PrefetchThread&) = delete;
  ~PrefetchThread();

  void start(std::uint64_t epoch);
  /// The slot of the next row, which is the reader's until the following call; -1 at the end.
  long next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The rows of the ring, and how one is read.
template <class D>
class PrefetchQueue {
 public:
  using Row = dataset::Row<typename D::columns>;

  // one slot more: the row that the reader holds
  PrefetchQueue(const D& data, long depth)
      : data_(data),
        scratch_(data.scratch_bytes()),
        slots_(made(data, depth + 1)),
        thread_(data.size(), depth + 1, &PrefetchQueue::read, this) {}

  void start(std::uint64_t epoch) {
    let_go();
    thread_.start(epoch);
  }
  const Row* next() {
    let_go();
    held_ = thread_.next();
    return held_ < 0 ? nullptr : &slots_[static_cast<std::size_t>(held_)].row();
  }

 private:
  using Slots = std::vector<RowBuffer<typename D::columns>>;

  static Slots made(const D& data, long count) {
    Slots slots;
    slots.reserve(static_cast<std::size_t>(count));
    for (long i = 0; i < count; ++i) slots.emplace_back(data.max_rows());
    return slots;
  }
  void let_go() {
    if (held_ >= 0) slots_[static_cast<std::size_t>(held_)].let_go();
    held_ = -1;
  }
  static void read(void* queue, Place place, long slot) {
    PrefetchQueue& q = *static_cast<PrefetchQueue*>(queue);
    q.slots_[static_cast<std::size_t>(slot)].read(q.data_, place, q.scratch_.data());
  }

  const D data_;
  AlignedBytes scratch_;
  Slots slots_;
  long held_ = -1;         // by the reader
  PrefetchThread thread_;  // the last one: it ends before what it reads and fills goes
};

}  // namespace detail

/// The iterator of a prefetched data set; it owns the thread, and ends it when it is destroyed.
template <class D>
class PrefetchedRows {
 public:
  using Row = dataset::Row<typename D::columns>;

  PrefetchedRows(const D& data, long depth) : queue_(std::make_unique<detail::PrefetchQueue<D>>(data, depth)) {}
  /// Begins an epoch, also in the middle of another.
  void start(std::uint64_t epoch) { queue_->start(epoch); }
  /// The next row, or nullptr at the end. What reading a row has thrown is thrown here, after the rows before it.
  const Row* next() { return queue_->next(); }

 private:
  std::unique_ptr<detail::PrefetchQueue<D>> queue_;
};

template <class D>
struct Prefetched {
  using columns = typename D::columns;
  static constexpr bool batched = D::batched;
  D data;
  long depth;

  long size() const { return data.size(); }
  long max_rows() const { return data.max_rows(); }
  PrefetchedRows<D> open() const { return PrefetchedRows<D>(data, depth); }
};

struct PrefetchMaker {
  using makes_stage = void;
  long depth;
  template <class D>
  auto applied_to(const D& data) const {
    return Prefetched<D>{data, depth};
  }
};

/// Reads up to depth rows ahead on one background thread: the last stage, after batch. The rows and their order are the
/// same as without it. The thread lives as long as the iterator that open() returns. Costs depth + 1 rows of memory.
/// Throws ValueError if depth is outside 1 .. 1024.
PrefetchMaker prefetch(long depth = 2);

#if TENON_DEFINES
namespace detail {

struct PrefetchThread::State {
  State(long rows, long ring, Read function, void* of) : size(rows), slots(ring), read(function), queue(of) {
    thread = std::thread([this] { fill(); });
  }
  ~State() {
    {
      std::lock_guard lock(mutex);
      stop = true;
    }
    wake_filler.notify_one();
    thread.join();
  }

  /// Rows that are ready or in the reader's hands may not be written over.
  bool has_work() const { return running && !failure && filled < size && filled - taken + (holds_row ? 1 : 0) < slots; }

  /// The body of the thread. It reads without the lock: the slot it fills is neither ready nor held.
  void fill() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake_filler.wait(lock, [this] { return stop || has_work(); });
      if (stop) return;
      filling = true;
      const Place place{epoch, filled};
      lock.unlock();
      std::exception_ptr thrown;
      try {
        read(queue, place, place.position % slots);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      filling = false;
      if (thrown) failure = thrown;
      else ++filled;
      wake_reader.notify_one();
    }
  }

  const long size, slots;
  const Read read;
  void* const queue;
  std::mutex mutex;
  std::condition_variable wake_filler, wake_reader;
  std::uint64_t epoch = 0;
  long filled = 0, taken = 0;  // rows of this epoch that are ready, and that the reader has got
  bool running = false, filling = false, holds_row = false, stop = false;
  std::exception_ptr failure;
  std::thread thread;
};

TENON_INLINE_CONSTRUCTOR PrefetchThread::PrefetchThread(long size, long slots, Read read, void* queue)
    : state_(std::make_unique<State>(size, slots, read, queue)) {}
TENON_INLINE_CONSTRUCTOR PrefetchThread::~PrefetchThread() = default;

TENON_INLINE void PrefetchThread::start(std::uint64_t epoch) {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.wake_reader.wait(lock, [&s] { return !s.filling; });  // at most one row is still being read for the epoch before
  s.epoch = epoch;
  s.filled = s.taken = 0;
  s.holds_row = false;
  s.failure = nullptr;
  s.running = true;
  s.wake_filler.notify_one();
}

TENON_INLINE long PrefetchThread::next() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.holds_row = false;
  s.running = true;
  s.wake_filler.notify_one();
  s.wake_reader.wait(lock, [&s] { return s.filled > s.taken || s.taken == s.size || s.failure; });
  if (s.filled > s.taken) {
    s.holds_row = true;
    return s.taken++ % s.slots;
  }
  if (s.failure) std::rethrow_exception(s.failure);
  return -1;
}

}  // namespace detail

TENON_INLINE PrefetchMaker prefetch(long depth) {
  if (depth < 1 || depth > 1024)
    throw_error<ValueError>("prefetch(", depth, "): the depth must be in 1 .. 1024; 2 is usual.");
  return {depth};
}
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
