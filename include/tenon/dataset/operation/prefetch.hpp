// prefetch(depth): threads read rows ahead while the caller computes.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include <tenon/core/memory/owned.hpp>
#include <tenon/dataset/operation/prefetch_size.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/dataset/stage/workers.hpp>
#if TENON_DEFINES
#include <exception>

#include <tenon/core/thread/threads.hpp>
#endif

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// The threads that fill a ring of rows while another one reads them. Row i of the epoch lies in slot i % slots.
class PrefetchThreads {
 public:
  /// Fills a slot of the queue with the memory of a worker; false after the last row of the epoch. It may throw: what
  /// it has thrown comes out of next().
  using Read = bool (*)(void* queue, Place place, Scratch::Walk walk, long slot, int worker);

  /// They sleep until start() or next(), which begins epoch 0.
  PrefetchThreads(long size, long slots, int workers, Read read, void* queue);
  PrefetchThreads(const PrefetchThreads&) = delete;
  ~PrefetchThreads();

  /// `size` rows at most.
  void start(std::uint64_t epoch, long position, long size);
  /// The slot of the next row, which is the reader's until the following call; -1 at the end.
  long next();

 private:
  struct State;
  tenon::detail::Owned<State> state_;
};

/// The rows of the ring, and how one is read.
template <class D>
class PrefetchQueue {
 public:
  using Row = dataset::Row<typename D::columns>;

  // one slot more: the row that the reader holds
  PrefetchQueue(const D& data, long depth, int workers)
      : data_(data),
        scratch_(static_cast<std::size_t>(workers)),
        slots_(made(data, depth + 1)),
        threads_(most_rows(), depth + 1, workers, &PrefetchQueue::read, this) {}

  void start(std::uint64_t epoch, long position) {
    let_go();
    threads_.start(epoch, position, most_rows());
  }
  const Row* next() {
    let_go();
    held_ = threads_.next();
    return held_ < 0 ? nullptr : &slots_[static_cast<std::size_t>(held_)].row();
  }

 private:
  using Slots = std::vector<RowBuffer<typename D::columns>>;

  long most_rows() const { return D::counted ? data_.size() : std::numeric_limits<long>::max(); }

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
  static bool read(void* queue, Place place, Scratch::Walk walk, long slot, int worker) {
    PrefetchQueue& q = *static_cast<PrefetchQueue*>(queue);
    Scratch& scratch = q.scratch_[static_cast<std::size_t>(worker)];
    scratch.walk = walk;
    return q.slots_[static_cast<std::size_t>(slot)].read(q.data_, place, scratch);
  }

  const D data_;
  std::vector<Scratch> scratch_;  // of each worker
  Slots slots_;
  long held_ = -1;           // by the reader
  PrefetchThreads threads_;  // the last one: they end before what they read and fill goes
};

}  // namespace detail

/// The iterator of a prefetched data set; it owns the threads, and ends them when it is destroyed.
template <class D>
class PrefetchedRows {
 public:
  using Row = dataset::Row<typename D::columns>;

  PrefetchedRows(const D& data, long depth, int workers) : queue_(new detail::PrefetchQueue<D>(data, depth, workers)) {}
  /// Begins an epoch at a row, also in the middle of another. Throws ValueError for a position below 0.
  void start(std::uint64_t epoch, long position = 0) {
    detail::check_position(position);
    queue_->start(epoch, position);
    position_ = position;
  }
  /// The position of the row that next() returns, independent of what the threads have read: start(epoch, position)
  /// resumes there.
  long position() const { return position_; }
  /// The next row, or nullptr at the end. Errors of reading a row are thrown here, after the rows before it.
  const Row* next() {
    const Row* const row = queue_->next();
    if (row) ++position_;
    return row;
  }

 private:
  tenon::detail::Owned<detail::PrefetchQueue<D>> queue_;
  long position_ = 0;
};

template <class D>
struct Prefetched {
  using columns = typename D::columns;
  static constexpr bool batched = D::batched, counted = D::counted;
  D data;
  long depth;
  int workers;

  long size() const { return data.size(); }
  long max_rows() const { return data.max_rows(); }
  long count(std::uint64_t epoch) const { return rows_in(data, epoch); }
  PrefetchedRows<D> open() const { return PrefetchedRows<D>(data, depth, workers); }
};

struct PrefetchMaker {
  using makes_stage = void;
  long depth;
  int workers;
  template <class D>
  auto applied_to(const D& data) const {
    return Prefetched<D>{data, depth, workers};
  }
};

struct PrefetchConfig {
  /// The number of threads that read, each a different row; the order of the rows does not depend on it. One thread is
  /// enough unless reading a row takes longer than the step that uses it, for example when images are decoded.
  int num_parallel_workers = default_workers();
};

/// Reads up to depth rows ahead in separate threads; must be the last stage, after batch. The rows and their order are
/// the same as without it. The threads live as long as the iterator that open() returns. Costs depth + 1 rows of
/// memory; the depth is 2 unless set_prefetch_size sets another. Throws ValueError if depth is outside 1 .. 1024 or the
/// number of workers outside 1 .. 256.
PrefetchMaker prefetch(long depth = default_prefetch_size(), PrefetchConfig config = {});

#if TENON_DEFINES
namespace detail {
using tenon::detail::Lock, tenon::detail::Thread;

struct PrefetchThreads::State {
  State(long size, long ring, int workers, Read function, void* of)
      : slots(ring),
        read(function),
        queue(of),
        ready(static_cast<std::size_t>(ring)),
        last(size),
        threads(new Thread[static_cast<std::size_t>(workers)]) {
    try {
      for (; begun < workers; ++begun)
        threads[static_cast<std::size_t>(begun)] = Thread([this, i = begun] { fill(i); });
    } catch (...) {
      end();
      throw;
    }
  }
  ~State() { end(); }
  void end() {
    {
      const Lock lock(mutex);
      stop = true;
    }
    wake_fillers.notify_all();
    for (int i = 0; i < begun; ++i) threads[static_cast<std::size_t>(i)].join();
  }

  /// Rows that are ready or in the reader's hands may not be written over.
  bool has_work() const { return running && claimed < last && claimed - taken + (holds_row ? 1 : 0) < slots; }

  /// The body of each thread. It reads without the lock: the slot it fills is neither ready nor held.
  void fill(int worker) {
    Lock lock(mutex);
    for (;;) {
      wake_fillers.wait(lock, [this] { return stop || has_work(); });
      if (stop) return;
      const Place place{epoch, claimed++};
      const Scratch::Walk now{walk, place.position == first};
      ++filling;
      lock.unlock();
      std::exception_ptr thrown;
      bool there = false;
      try {
        there = read(queue, place, now, place.position % slots, worker);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      --filling;
      // after a row that failed or was not there nothing is read; of several, the first one counts
      if (!there && place.position < last) {
        last = place.position;
        failure = thrown;
      }
      ready[static_cast<std::size_t>(place.position % slots)] = there;
      wake_reader.notify_one();
    }
  }

  const long slots;
  const Read read;
  void* const queue;
  tenon::detail::Mutex mutex;
  tenon::detail::Condition wake_fillers, wake_reader;
  std::vector<int> ready;                 // of each slot: the row is read
  std::uint64_t epoch = 0, walk = 0;      // walks are counted from start() to start()
  long first = 0;                         // row of the walk
  long claimed = 0, taken = 0, last = 0;  // rows of this epoch that a thread has begun, that the reader got, that are
  int filling = 0;                        // threads that read a row now
  bool running = false, holds_row = false, stop = false;
  std::exception_ptr failure;  // of the row `last`
  tenon::detail::Owned<Thread[]> threads;
  int begun = 0;
};

TENON_INLINE_CONSTRUCTOR PrefetchThreads::PrefetchThreads(long size, long slots, int workers, Read read, void* queue)
    : state_(new State(size, slots, workers, read, queue)) {}
TENON_INLINE_CONSTRUCTOR PrefetchThreads::~PrefetchThreads() = default;

TENON_INLINE void PrefetchThreads::start(std::uint64_t epoch, long position, long size) {
  State& s = *state_;
  Lock lock(s.mutex);
  s.running = false;  // no other row of the epoch before is begun
  s.wake_reader.wait(lock, [&s] { return s.filling == 0; });
  s.epoch = epoch;
  ++s.walk;
  s.first = s.claimed = s.taken = position;
  s.last = size;
  for (int& ready : s.ready) ready = 0;
  s.holds_row = false;
  s.failure = nullptr;
  s.running = true;
  s.wake_fillers.notify_all();
}

TENON_INLINE long PrefetchThreads::next() {
  State& s = *state_;
  Lock lock(s.mutex);
  s.holds_row = false;
  s.running = true;
  s.wake_fillers.notify_all();
  const auto slot = [&s] { return static_cast<std::size_t>(s.taken % s.slots); };
  s.wake_reader.wait(lock, [&] { return s.taken >= s.last || s.ready[slot()]; });
  if (s.taken >= s.last) {
    if (s.failure) std::rethrow_exception(s.failure);
    return -1;
  }
  s.ready[slot()] = 0;
  s.holds_row = true;
  return s.taken++ % s.slots;
}

}  // namespace detail

TENON_INLINE PrefetchMaker prefetch(long depth, PrefetchConfig config) {
  if (depth < 1 || depth > 1024)
    throw_error<ValueError>("prefetch(", depth, "): the depth must be in 1 .. 1024; 2 is usual.");
  detail::check_workers("prefetch", config.num_parallel_workers);
  return {depth, config.num_parallel_workers};
}
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
