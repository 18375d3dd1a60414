// The target Reference: memory that the host cannot touch, and a queue that works beside it, as far away as a GPU.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/float/denormals.hpp>

namespace tenon::inline TENON_ABI {

namespace kernel::reference {

/// One range of addresses for all that the target holds. Its pages are open only while something of the queue runs, so
/// that a host that reaches for them dies.
class Memory {
 public:
  static constexpr std::size_t bytes = std::size_t{1} << 36;  // of addresses: pages are taken as they are used

  Memory()
      : begin_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
  }
  std::byte* allocate(std::size_t wanted) {
    const int size = size_of(wanted);
    const std::lock_guard lock(mutex_);
    if (!free_[size].empty()) {
      std::byte* const again = free_[size].back();
      free_[size].pop_back();
      return again;
    }
    if (used_ + (std::size_t{1} << size) > bytes) throw std::bad_alloc();
    std::byte* const fresh = begin_ + used_;
    used_ += std::size_t{1} << size;
    sizes_.push_back({fresh, size});
    return fresh;
  }
  void free(std::byte* block) {
    const std::lock_guard lock(mutex_);
    const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), block,
                                     [](const Size& size, std::byte* wanted) { return size.begin < wanted; });
    free_[at->log2].push_back(block);
  }
  void open(bool opened) {
    const std::lock_guard lock(mutex_);
    if (used_ && ::mprotect(begin_, used_, opened ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) throw std::bad_alloc();
  }
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Size {
    std::byte* begin;
    int log2;
  };
  // Powers of two, from a cache line on.
  static int size_of(std::size_t wanted) { return int(std::bit_width((wanted < 64 ? 64 : wanted) - 1)); }

  std::byte* const begin_;
  std::size_t used_ = 0;
  std::vector<Size> sizes_;  // in the order of their addresses
  std::vector<std::byte*> free_[64];
  std::mutex mutex_;
};

/// Runs what is put into it in that order, in a thread of its own, which starts with the first work.
class Queue {
 public:
  static Queue& instance() { return *current(); }
  void put(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      if (!started_) start();
      work_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  /// Throws what a kernel has thrown since the last time.
  void wait() {
    std::unique_lock lock(mutex_);
    wait(lock);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  /// Waits for all that is in the queue, and keeps others from changing queue and memory until resume().
  void pause() {
    std::unique_lock lock(mutex_);
    wait(lock);
    memory().lock();
    lock.release();
  }
  void resume() {
    memory().unlock();
    mutex_.unlock();
  }
  /// In a forked child, instead of resume(): the thread of the parent is not there.
  static void replace() {
    memory().unlock();
    current() = new Queue;
  }
  static Memory& memory() {
    static Memory* const memory = new Memory;
    return *memory;
  }

 private:
  Queue() = default;
  void start() {
    try {
      std::thread(&Queue::run, this).detach();
    } catch (const std::exception&) {
      throw_error<RuntimeError>("The target Reference needs a thread, and the system makes no more: raise its limits "
                                "(ulimit -u, pids.max), or use fewer threads elsewhere.");
    }
    started_ = true;
  }
  static Queue*& current() {
    static Queue* queue = new Queue;  // for ever, as the thread that waits in it
    return queue;
  }
  void wait(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return work_.empty() && !busy_; });
  }
  void do_one(const std::function<void()>& work) noexcept try {
    memory().open(true);
    work();
    memory().open(false);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  [[noreturn]] void run() {
    const FlushDenormals flush;
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return !work_.empty(); });
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      busy_ = true;
      lock.unlock();
      do_one(work);
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::exception_ptr failure_;
  bool busy_ = false, started_ = false;
};

}  // namespace kernel::reference

/// Plain loops in row-major order, right by reading (of element-wise operators the loop: each says by its eval what it
/// does with one element): what other targets are compared with, and where a model is
/// debugged: set_context({.device_target = "Reference"}) in a program compiled with -DTENON_TARGET=reference.
struct Reference {
  static constexpr std::string_view name = "Reference";

  /// Memory of the target. Throws std::bad_alloc.
  static std::byte* allocate(std::size_t bytes) { return kernel::reference::Queue::memory().allocate(bytes); }
  /// For use after all that is in the queue.
  static void free(std::byte* block) { kernel::reference::Queue::memory().free(block); }
  /// From the host, which may change it as soon as this returns.
  static void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
    std::memcpy(copy.get(), from, bytes);
    enqueue([copy, to, bytes] { std::memcpy(to, copy.get(), bytes); });
  }
  /// To the host, when all that is in the queue is done.
  static void copy_out(std::byte* to, const std::byte* from, std::size_t bytes) {
    enqueue([to, from, bytes] { std::memcpy(to, from, bytes); });
    queue().wait();
  }
  /// The same without waiting for it: `done` becomes true when they are there.
  static void copy_out_later(std::byte* to, const std::byte* from, std::size_t bytes, std::atomic<bool>& done) {
    enqueue([to, from, bytes, &done] {
      std::memcpy(to, from, bytes);
      done.store(true, std::memory_order_release);
      done.notify_all();
    });
  }
  /// Until all that is in the queue is done. Throws what a kernel has thrown.
  static void wait() { queue().wait(); }
  /// The kernel calls of a step, which run one after the other after all that is in the queue.
  struct Begun {
    template <class Launch>
    void launch(const Launch& call) {
      enqueue(call);
    }
    void commit() {}
  };
  template <class Step>
  static Begun begin(const Step&) {
    return {};
  }
  /// Calls `work` after all that is in the queue.
  template <class Work>
  static void enqueue(Work work) {
    queue().put(std::move(work));
  }
  /// Around a fork(): a child finds what its parent has put into the queue done, and has a queue of its own.
  static void before_fork() { queue().pause(); }
  static void after_fork(bool in_child) { in_child ? kernel::reference::Queue::replace() : queue().resume(); }

 private:
  static kernel::reference::Queue& queue() { return kernel::reference::Queue::instance(); }
};

namespace kernel::reference {
using Target = Reference;
}

}  // namespace tenon
