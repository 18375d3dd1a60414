// Queues of the target Async, and the events by which they wait for each other.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <tenon/core/float/denormals.hpp>

namespace tenon::inline TENON_ABI::kernel::async {

/// Work is recorded in an event when it is put into a queue, and complete when the queue has come to that place.
class Event {
 public:
  /// Number of the record that is put into a queue now.
  std::uint64_t record() {
    const std::lock_guard lock(mutex_);
    return ++recorded_;
  }
  std::uint64_t recorded() {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }
  void complete(std::uint64_t number) {
    {
      const std::lock_guard lock(mutex_);
      completed_ = std::max(completed_, number);
    }
    changed_.notify_all();
  }
  void wait(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return completed_ >= number; });
  }
  /// False if that takes too long.
  bool comes(std::uint64_t number, std::chrono::seconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [&] { return completed_ >= number; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t recorded_ = 0, completed_ = 0;
};
using SharedEvent = std::shared_ptr<Event>;

/// Runs what is put into it in that order, in a thread of its own.
class Queue {
 public:
  Queue() { std::thread(&Queue::run, this).detach(); }
  void put(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  void record(const SharedEvent& event) {
    put([event, number = event->record()] { event->complete(number); });
  }
  void wait_for(const SharedEvent& event) {
    put([event, number = event->recorded()] { event->wait(number); });
  }
  /// The host waits for all that is in the queue. Throws what it has thrown.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty() && !busy_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  [[noreturn]] void run() {
    const FlushDenormals flush;
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return !work_.empty(); });
      {
        const std::function<void()> work = std::move(work_.front());
        work_.pop_front();
        busy_ = true;
        lock.unlock();
        try {
          work();
        } catch (...) {
          const std::lock_guard failed(mutex_);
          if (!failure_) failure_ = std::current_exception();
        }
      }
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::exception_ptr failure_;
  bool busy_ = false;
};

}  // namespace tenon::inline TENON_ABI::kernel::async
