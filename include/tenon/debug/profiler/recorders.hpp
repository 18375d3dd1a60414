// Recorders: one ThreadRecorder per thread that runs steps, as a watcher and an observer.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include <tenon/debug/profiler/thread_recorder.hpp>

namespace tenon::inline TENON_ABI::debug::detail {

class Recorders {
 public:
  explicit Recorders(const EventLimit& limit = {}, bool observes = true)
      : number_(next_number()), observes_(observes), pool_(std::make_shared<Pool>(limit)) {}
  Recorders(const Recorders&) = delete;
  Recorders& operator=(const Recorders&) = delete;

  bool begin_step(const NetworkStep& step) {
    ThreadRecorder& own = here();
    std::unique_lock lock(own.mutex, std::defer_lock);
    if (!own.in_step()) lock.lock();
    const Ticks processor = processor_nanoseconds();
    own.begin_step(step, ticks_now(), processor);
    lock.release();  // until end_step
    return observes_;
  }
  void end_step(const NetworkStep& step) {
    const Ticks now = ticks_now();
    ThreadRecorder& own = here();
    own.end_step(step, now, processor_nanoseconds());
    if (!own.in_step()) own.mutex.unlock();
  }
  void before(const Operation& operation) { here().before(operation, ticks_now()); }
  void after(const Operation& operation) {
    const Ticks now = ticks_now();
    ThreadRecorder& own = here();
    if (own.in_step()) return own.after(operation, now);
    const std::lock_guard lock(own.mutex);
    own.after(operation, now);
  }
  void ran(const Operation& operation, std::span<const OperationRun> runs) {
    ThreadRecorder& own = here();
    if (own.in_step()) return own.ran(operation, runs);
    const std::lock_guard lock(own.mutex);
    own.ran(operation, runs);
  }
  static constexpr ObserverClock clock = ticks_now;

  /// Whether this thread is in a step.
  bool in_step() const { return shortcut().number == number_ && shortcut().recorder->in_step(); }

  /// Calls f with each recorder, between its steps. Throws RuntimeError if this thread is in one.
  template <class F>
  void each(F&& f) {
    // not here(): at the end of the program its shares are gone
    if (in_step())
      throw_error<RuntimeError>("The profiler was asked for its numbers inside of a step: ask it between steps.");
    const std::lock_guard lock(pool_->mutex);
    for (const auto& recorder : pool_->all) {
      const std::lock_guard reading(recorder->mutex);
      f(*recorder);
    }
  }

 private:
  /// Threads that end leave their recorder to the next ones, so that there are as many as threads at one time.
  struct Pool {
    explicit Pool(const EventLimit& events) : limit(events) {}
    EventLimit limit;
    std::mutex mutex;
    std::vector<std::unique_ptr<ThreadRecorder>> all;
    std::vector<ThreadRecorder*> idle;

    ThreadRecorder* take() {
      const std::lock_guard lock(mutex);
      if (idle.empty()) return all.emplace_back(std::make_unique<ThreadRecorder>(limit)).get();
      ThreadRecorder* const taken = idle.back();
      idle.pop_back();
      return taken;
    }
    void give_back(ThreadRecorder* recorder) {
      if (recorder->in_step()) return;  // exit() in a step, which keeps the lock: the recorder is lost
      {
        const std::lock_guard lock(recorder->mutex);
        recorder->pause();
      }
      const std::lock_guard lock(mutex);
      idle.push_back(recorder);
    }
  };
  /// What a thread has of a pool, until it ends or meets another one.
  struct Share {
    std::shared_ptr<Pool> pool;
    ThreadRecorder* recorder = nullptr;
    ~Share() { leave(); }
    void leave() {
      if (pool) pool->give_back(recorder);
      pool.reset();
    }
  };
  struct Shortcut {
    long number = 0;
    ThreadRecorder* recorder = nullptr;
  };

  static long next_number() {
    static std::atomic<long> last{0};
    return ++last;
  }
  static Shortcut& shortcut() {
    static constinit thread_local Shortcut here;
    return here;
  }
  ThreadRecorder& here() const {
    const Shortcut& known = shortcut();
    return known.number == number_ ? *known.recorder : enter();
  }
  [[gnu::noinline]] ThreadRecorder& enter() const {
    static thread_local Share share;
    share.leave();
    ThreadRecorder* const taken = pool_->take();
    share.pool = pool_;
    share.recorder = taken;
    shortcut() = {number_, taken};
    return *taken;
  }

  const long number_;
  const bool observes_;
  std::shared_ptr<Pool> pool_;
};

}  // namespace tenon::debug::detail
