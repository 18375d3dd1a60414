// Calls whose values a tape drops after the forward pass, and brings back by running them again.
#pragma once
#include <tenon/call/frame.hpp>
#include <tenon/run/tape.hpp>

namespace tenon::inline TENON_ABI::eager {

/// What the operators of a call found around them, so that they find it again: the cell, whether it trains, and the
/// streams and the state of random numbers.
class Surroundings {
 public:
  Surroundings() : frame_(Frame::of_thread()) {
    if (frame_.random_state) state_[0] = frame_.random_state[0], state_[1] = frame_.random_state[1];
    if (const int entry = frame_.entry(); entry >= 0) {  // the scopes of the cells around it will be gone
      frame_.cell = frame_.root + (static_cast<const std::byte*>(frame_.entries[entry].address) - frame_.prototype);
      frame_.cell_type = frame_.entries[entry].type;
    }
    frame_.scope = nullptr;
  }
  /// Calls f as if it were called there.
  template <class F>
  void enter(F f) {
    Frame& frame = Frame::of_thread();
    Frame now = std::exchange(frame, frame_);
    if (frame.random_state) frame.random_state = state_;
    frame.roots = now.roots;
    const Restore restore{frame, now, std::exchange(runs_again(), true)};
    f();
  }

 private:
  struct Restore {
    Frame& frame;
    Frame& outer;
    bool again;
    ~Restore() { frame = std::move(outer), runs_again() = again; }
  };
  Frame frame_;
  std::uint64_t state_[2]{};
};

/// The recomputed calls of one tape. Records stay, so that the backward pass visits them in the same order and gives
/// the same bits; their values are there only while it visits those of the call.
class Recomputation {
 public:
  /// Something to be called, of any type, which is destroyed with this.
  struct Call {
    void (*run)(void* self, Tape& tape) = nullptr;
    void (*destroy)(void* self) = nullptr;
    void* self = nullptr;
  };

  static std::size_t records(const Tape& tape) { return tape.memory_->records.size(); }
  /// Drops the values of the records from `first` on. `call` makes these records once more, on another tape. Calls in
  /// the range that were to be recomputed by themselves become part of it.
  static void drop(Tape& tape, std::size_t first, Call call) {
    TapeMemory& memory = *tape.memory_;
    if (!memory.recomputation) memory.recomputation = new Recomputation, memory.bring_back = &bring_back;
    std::vector<Range>& ranges = memory.recomputation->ranges_;
    while (!ranges.empty() && ranges.back().first >= first) {
      ranges.back().call.destroy(ranges.back().call.self);
      ranges.pop_back();
    }
    ranges.push_back({first, memory.records.size(), call});
    drop(memory, ranges.back());
  }

 private:
  struct Range {
    std::size_t first, end;
    Call call;
  };
  ~Recomputation() {
    for (const Range& range : ranges_) range.call.destroy(range.call.self);
  }
  static void bring_back(TapeMemory& memory, int record) {
    if (record < 0) {
      memory.bring_back = nullptr;
      delete std::exchange(memory.recomputation, nullptr);
      return;
    }
    Recomputation& all = *memory.recomputation;
    int found = -1;
    for (std::size_t i = 0; i < all.ranges_.size(); ++i)
      if (std::size_t(record) >= all.ranges_[i].first && std::size_t(record) < all.ranges_[i].end) found = int(i);
    if (found == all.there_) return;
    if (all.there_ >= 0) drop(memory, all.ranges_[std::size_t(all.there_)]);
    all.there_ = found;
    if (found >= 0) fill(memory, all.ranges_[std::size_t(found)]);
  }
  template <class Body>
  static void each_value(TapeMemory& memory, const Range& range, Body body) {
    for (std::size_t i = range.first; i < range.end; ++i) {
      const TapeMemory::Record& r = memory.records[i];
      for (int k = 0; k < r.rule->operands + r.rule->results; ++k)
        body(memory.recorded[r.first + std::size_t(k)], i, k);
    }
  }
  static void drop(TapeMemory& memory, const Range& range) {
    each_value(memory, range, [](TapeMemory::Value& value, std::size_t, int) {
      if (value.storage) value.data = nullptr, value.storage = Storage();
    });
  }
  static void fill(TapeMemory& memory, const Range& range) {
    Tape again;
    range.call.run(range.call.self, again);
    again.pause();
    TapeMemory& made = *again.memory_;
    bool same = made.records.size() == range.end - range.first;
    for (std::size_t i = 0; same && i < made.records.size(); ++i)
      same = made.records[i].rule == memory.records[range.first + i].rule &&
             made.records[i].immediate == memory.records[range.first + i].immediate;
    if (!same)
      throw_error<RuntimeError>("recompute: the cell called other operators when it ran again for the backward pass: "
                                "construct must do the same each time, and what requires gradients must not change "
                                "between the forward and the backward pass.");
    each_value(memory, range, [&](TapeMemory::Value& value, std::size_t i, int k) {
      TapeMemory::Value& from = made.recorded[made.records[i - range.first].first + std::size_t(k)];
      value.data = from.data, value.storage = std::move(from.storage);
    });
  }

  std::vector<Range> ranges_;
  int there_ = -1;  // the range whose values are there
};

}  // namespace tenon::eager
