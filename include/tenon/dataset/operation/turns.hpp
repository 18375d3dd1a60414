// Turns: threads that read what comes in order only, each when it is its turn.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>

#include <tenon/dataset/stage/scratch.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// Lets the threads of a walk read row after row. The walk's first row may lie anywhere: its thread does not wait, and
/// passes over those before it.
class Turns {
 public:
  /// Waits until the row at a place is the next one, or the rows have ended. Keeps the lock until finish().
  class Turn {
   public:
    Turn(Turns& turns, const Place& place, const Scratch::Walk& walk) : turns_(turns), lock_(turns.mutex_) {
      if (walk.first_row && (!turns.begun_ || walk.number != turns.walk_ || place.position < turns.position_)) {
        if (turns.walk_ != walk.number) turns.failure_ = nullptr;
        turns.walk_ = walk.number;
        turns.position_ = 0;
        turns.begun_ = begins = true;
        turns.ended_ = false;
      } else if (!walk.first_row) {
        turns.changed_.wait(lock_, [&] {
          return turns.begun_ && turns.walk_ == walk.number &&
                 (turns.ended_ || turns.failure_ || turns.position_ == place.position);
        });
        if (!turns.ended_ && turns.position_ != place.position) std::rethrow_exception(turns.failure_);
      }
    }
    Turn(const Turn&) = delete;
    ~Turn() { turns_.changed_.notify_all(); }

    long position() const { return turns_.position_; }
    bool ended() const { return turns_.ended_; }
    /// One row was read, or there is none.
    void advance(bool there) {
      if (there) ++turns_.position_;
      else turns_.ended_ = true;
    }

    bool begins = false;  // the walk: what is read starts anew

   private:
    Turns& turns_;
    std::unique_lock<std::mutex> lock_;
  };

  void abandon(std::uint64_t walk, const std::exception_ptr& failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!begun_ || walk_ != walk) {  // its first row is yet to come
        position_ = std::numeric_limits<long>::max();
        ended_ = false;
      }
      begun_ = true;
      walk_ = walk;
      failure_ = failure;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t walk_ = 0;
  long position_ = 0;
  bool begun_ = false, ended_ = false;
  std::exception_ptr failure_;
};

/// A member that each copy of its owner has of its own, as made by default.
template <class T>
struct OfEachCopy {
  std::unique_ptr<T> value = std::make_unique<T>();
  OfEachCopy() = default;
  OfEachCopy(const OfEachCopy&) {}
  OfEachCopy& operator=(const OfEachCopy&) = delete;
  T& operator*() const { return *value; }
  T* operator->() const { return value.get(); }
};

}  // namespace detail

}  // namespace tenon::dataset
