// The columns of a batch on their way to another target: once in a step, beside the kernels of the step before if the
// target copies in a queue of its own.
#pragma once
#include <tenon/core/config.hpp>
#if defined(TENON_TARGET)
#include <cstring>
#include <span>
#include <utility>

#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/target_memory.hpp>
#include <tenon/run/there/pinned_bytes.hpp>
#include <tenon/target/queue.hpp>

namespace tenon::inline TENON_ABI::detail {

/// An event of a target; none on a target without events.
class OwnedEvent {
 public:
  OwnedEvent() = default;
  explicit OwnedEvent(TargetId target) : target_(target) {
    with_target(target, [&]<class Target>(std::type_identity<Target>) {
      if constexpr (CopiesBeside<Target>) event_ = Target::make_event();
    });
  }
  OwnedEvent(OwnedEvent&& other) noexcept : target_(other.target_), event_(std::exchange(other.event_, nullptr)) {}
  OwnedEvent& operator=(OwnedEvent other) noexcept {
    std::swap(target_, other.target_), std::swap(event_, other.event_);
    return *this;
  }
  ~OwnedEvent() {
    if (event_)
      give_back_to(target_, [&]<class Target>(std::type_identity<Target>) {
        if constexpr (CopiesBeside<Target>) Target::free_event(event_);
      });
  }
  TargetEvent get() const { return event_; }
  void wait() const {
    if (event_)
      with_target(target_, [&]<class Target>(std::type_identity<Target>) {
        if constexpr (CopiesBeside<Target>) Target::wait_event(event_);
      });
  }

 private:
  TargetId target_{};
  TargetEvent event_ = nullptr;
};

/// The columns of the batches of one executor. A tensor that the target has stays where it is. On a target with one
/// queue another tensor goes to its own place there, and a column that is none to one of the executor; each copy waits
/// for the kernels before it. On a target that copies beside its kernels both go to one of two places, which steps use
/// in turn: the copy of a batch waits for the step before the last one, and the step waits for its copies.
class BatchThere {
 public:
  BatchThere() = default;
  ~BatchThere() {
    try {
      clear();
    } catch (...) {  // a kernel has failed, so that no copy runs any more; the next call of the target says so
    }
  }
  BatchThere(const BatchThere&) = delete;
  BatchThere& operator=(const BatchThere&) = delete;

  /// The next step, on this target.
  void begin(TargetId target) {
    if (target != target_) clear(), target_ = target;
    step_ = !step_;
    for (void*& column : now_) column = nullptr;
    awaited_.clear();
  }
  /// Where the target has `bytes` of a column, which the host has at `data`: one address in the same step.
  void* bring(int column, void* data, long bytes) {
    now_.fill(std::size_t(column) + 1);
    void*& now = now_[std::size_t(column)];
    if (now) return now;
    auto* const host = static_cast<std::byte*>(data);
    TargetMemory& memory = TargetMemory::instance();
    if (copies_beside() ? memory.is_there(target_, host, std::size_t(bytes)) : memory.knows(host)) return now = data;
    Growing<Column>& columns = column_[copies_beside() && step_];
    columns.fill(std::size_t(column) + 1);
    memory.home(host, std::size_t(bytes), Look::read);
    const bool beside = copies_beside() && bytes > few_bytes();
    return now = bring_to(columns[std::size_t(column)], data, std::size_t(bytes), beside);
  }
  /// Whether there are copies that nothing waits for yet.
  bool awaits() const { return !awaited_.empty(); }
  /// What kernels that read columns wait for, since the last call.
  template <class F>
  void each_awaited(F f) {
    for (const TargetEvent event : awaited_) f(event);
    awaited_.clear();
  }
  /// To be recorded after the last kernel of the step; null: nothing waits for that.
  TargetEvent read() const { return read_[step_].get(); }

 private:
  struct Column {
    TargetBytes block;
    PinnedBytes from;
    OwnedEvent copied;
  };

  bool copies_beside() const {
    return with_target(target_, []<class Target>(std::type_identity<Target>) { return CopiesBeside<Target>; });
  }
  // What takes no copy of its own: that would cost more calls.
  long few_bytes() const {
    return with_target(target_, []<class Target>(std::type_identity<Target>) {
      if constexpr (requires { Target::few_bytes; }) return long(Target::few_bytes);
      else return 0l;
    });
  }
  void* bring_to(Column& column, const void* data, std::size_t bytes, bool beside) {
    TargetMemory& memory = TargetMemory::instance();
    std::byte* const block = column.block.address();
    if (column.block.bytes() < bytes) {
      column.copied.wait();
      column = {};
      column.block = TargetBytes(bytes, "a column of a batch", BlockOf::scratch);
      if (beside) column.from = PinnedBytes(target_, bytes, "a column of a batch"), column.copied = OwnedEvent(target_);
      if (beside && !read_[step_].get()) read_[step_] = OwnedEvent(target_);
      // new memory may be such that kernels still use: their queue has this copy, too
      memory.fill(target_, column.block.address(), data, bytes);
    } else if (beside) {
      column.copied.wait();
      std::memcpy(column.from.data(), data, bytes);
      std::byte* const to = memory.there(target_, block, TargetMemory::Use::overwrite, bytes);
      with_target(target_, [&]<class Target>(std::type_identity<Target>) {
        if constexpr (CopiesBeside<Target>)
          Target::copy_beside(to, column.from.data(), bytes, read_[step_].get(), column.copied.get());
      });
      awaited_.push_back(column.copied.get());
    } else {
      memory.fill(target_, block, data, bytes);
    }
    return column.block.address();
  }
  void clear() {
    for (Growing<Column>& columns : column_) {
      for (const Column& column : columns) column.copied.wait();
      columns.clear();
    }
    for (OwnedEvent& event : read_) event = {};
  }

  TargetId target_{};
  bool step_ = false;          // which places it uses
  Growing<Column> column_[2];  // by number
  Growing<void*> now_;         // where each column of this step is, null: nowhere yet
  Growing<TargetEvent> awaited_;
  OwnedEvent read_[2];  // when the last step with these places is over
};

}  // namespace tenon::inline TENON_ABI::detail
#endif
