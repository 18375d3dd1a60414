// prefetch(depth): a background thread reads rows ahead while the caller computes.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <tenon/dataset/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// A ring of rows between one thread that fills and one that reads. Slot i of the epoch lies in slots_[i %
/// slots_.size()].
template <class D>
class PrefetchQueue {
 public:
  using Row = dataset::Row<typename D::columns>;

  PrefetchQueue(const D& data, long depth) : data_(data), size_(data.size()), scratch_(data.scratch_bytes()) {
    slots_.reserve(static_cast<std::size_t>(depth) + 1);  // one more: the row that the reader holds
    for (long i = 0; i <= depth; ++i) slots_.emplace_back(data.max_rows());
    thread_ = std::thread([this] { fill(); });
  }
  PrefetchQueue(const PrefetchQueue&) = delete;
  ~PrefetchQueue() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_filler_.notify_one();
    thread_.join();
  }

  void start(std::uint64_t epoch) {
    std::unique_lock lock(mutex_);
    wake_reader_.wait(lock, [this] { return !filling_; });  // at most one row is still being read for the epoch before
    epoch_ = epoch;
    filled_ = taken_ = 0;
    holds_row_ = false;
    failure_ = nullptr;
    running_ = true;
    wake_filler_.notify_one();
  }

  const Row* next() {
    std::unique_lock lock(mutex_);
    holds_row_ = false;
    running_ = true;
    wake_filler_.notify_one();
    wake_reader_.wait(lock, [this] { return filled_ > taken_ || taken_ == size_ || failure_; });
    if (filled_ > taken_) {
      holds_row_ = true;
      return &slot(taken_++).row();
    }
    if (failure_) std::rethrow_exception(failure_);
    return nullptr;
  }

 private:
  RowBuffer<typename D::columns>& slot(long position) {
    return slots_[static_cast<std::size_t>(position) % slots_.size()];
  }
  /// Rows that are ready or in the reader's hands may not be written over.
  bool has_work() const {
    return running_ && !failure_ && filled_ < size_ &&
           filled_ - taken_ + (holds_row_ ? 1 : 0) < static_cast<long>(slots_.size());
  }

  /// The body of the thread. It reads without the lock: the slot it fills is neither ready nor held.
  void fill() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_filler_.wait(lock, [this] { return stop_ || has_work(); });
      if (stop_) return;
      filling_ = true;
      const Place place{epoch_, filled_};
      lock.unlock();
      std::exception_ptr failure;
      try {
        slot(place.position).read(data_, place, scratch_.data());
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      filling_ = false;
      if (failure) failure_ = failure;
      else ++filled_;
      wake_reader_.notify_one();
    }
  }

  const D data_;
  const long size_;
  AlignedBytes scratch_;
  std::vector<RowBuffer<typename D::columns>> slots_;
  std::mutex mutex_;
  std::condition_variable wake_filler_, wake_reader_;
  std::uint64_t epoch_ = 0;
  long filled_ = 0, taken_ = 0;  // rows of this epoch that are ready, and that the reader has got
  bool running_ = false, filling_ = false, holds_row_ = false, stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
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
inline PrefetchMaker prefetch(long depth = 2) {
  if (depth < 1 || depth > 1024)
    throw_error<ValueError>("prefetch(", depth, "): the depth must be in 1 .. 1024; 2 is usual.");
  return {depth};
}

}  // namespace tenon::dataset
