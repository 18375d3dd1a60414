// What a child that fork() makes must not share with its parent: open files with locks, connections, mutexes.
#pragma once
#include <atomic>
#include <memory>
#include <utility>

#include <unistd.h>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// A T of each process, made at its first use there. A parent's T stays as it is in a child, and is never destroyed
/// there: its mutexes may be locked by threads that the child lacks.
template <class T>
class PerProcess {
 public:
  explicit PerProcess(std::unique_ptr<T> first) : current_(new Owned{::getpid(), std::move(first)}) {}
  PerProcess(const PerProcess&) = delete;
  ~PerProcess() {
    if (Owned* const here = current_; here->process == ::getpid()) delete here;
  }

  /// Null: this is a child, and has none yet.
  T* get_if() const {
    const Owned* const here = current_;
    return here->process == ::getpid() ? here->value.get() : nullptr;
  }
  /// This process's one, made by make() if there is none; what that throws is thrown on.
  template <class Make>
  T& get(Make make) {
    Owned* here = current_;
    if (here->process == ::getpid()) return *here->value;
    auto fresh = std::make_unique<Owned>(::getpid(), make());
    // else another thread of the child was faster
    if (current_.compare_exchange_strong(here, fresh.get())) here = fresh.release();
    return *here->value;
  }

 private:
  struct Owned {
    pid_t process;
    std::unique_ptr<T> value;
    Owned(pid_t number, std::unique_ptr<T> first) : process(number), value(std::move(first)) {}
  };
  std::atomic<Owned*> current_;
};

}  // namespace tenon::dataset::detail
