// A target of tests: Async has two devices. Each runs kernels in one thread, copies to it in another one, and copies
// back in a third one. As on a GPU, events alone keep them in order.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/target.hpp>

#include "queue.hpp"

namespace tenon::inline TENON_ABI {

namespace kernel::async {

/// What tests ask for, and what they find.
inline std::atomic<bool> waits_for_copies = true;  // false: a mistake, which must show
inline std::atomic<long> slow_copies = 0;          // microseconds that copy_beside() takes
inline std::atomic<long> copied_beside = 0;        // copies that are done
inline std::atomic<long> unpinned_copies = 0;      // whose place on the host is ordinary memory
inline std::atomic<long> foreign = 0;              // buffers of kernels that are not memory of the device
inline std::atomic<long> steps = 0, replayed = 0;  // of graphs
inline std::atomic<long> steps_on[2]{};            // by device
/// Asked at each step of a graph: the step ends when copy_beside() has done this many copies; 0: at once.
inline std::function<long()> holds_until;
inline std::atomic<long> held_in_vain = 0;        // steps, 20 seconds each
inline std::vector<std::string>* text = nullptr;  // gets those of the calls of a graph, once

struct Queues {
  Queue kernels, in, back;
};
constexpr int devices = 2;
inline thread_local int device = 0;
inline Queues& queues(int of) {
  static Queues* const all = new Queues[devices];  // for ever, as their threads
  return all[of];
}

/// Blocks of memory, on a device or pinned.
class Blocks {
 public:
  static constexpr int pinned = -1, none = -2;

  std::byte* make(std::size_t bytes, int where) {
    auto* const block = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(64)));
    const std::lock_guard lock(mutex_);
    blocks_[block] = {bytes, where};
    return block;
  }
  void remove(std::byte* block) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(block);
    ::operator delete(block, std::align_val_t(64));
  }
  /// The device that has this memory.
  int place_of(const void* data) {
    const auto* const at = static_cast<const std::byte*>(data);
    const std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(const_cast<std::byte*>(at));
    if (after == blocks_.begin()) return none;
    const auto& [begin, block] = *--after;
    return at < begin + block.bytes ? block.where : none;
  }
  long count(int where) {
    const std::lock_guard lock(mutex_);
    return std::ranges::count_if(blocks_, [&](const auto& each) { return each.second.where == where; });
  }

 private:
  struct Block {
    std::size_t bytes;
    int where;
  };
  std::mutex mutex_;
  std::map<std::byte*, Block> blocks_;
};
inline Blocks& blocks() {
  static Blocks* const all = new Blocks;
  return *all;
}

}  // namespace kernel::async

struct Async {
  static constexpr std::string_view name = "Async";
  static constexpr int memory_rests = 3;
  using SharedEvent = kernel::async::SharedEvent;

  static int devices() { return kernel::async::devices; }
  static void use_device(int device) { kernel::async::device = device; }

  static std::byte* allocate(std::size_t bytes) { return blocks().make(bytes, kernel::async::device); }
  /// After all kernels that are in the queue.
  static void free(std::byte* block) {
    kernel::async::queues(blocks().place_of(block)).kernels.put([block] { blocks().remove(block); });
  }
  static std::byte* allocate_pinned(std::size_t bytes) { return blocks().make(bytes, kernel::async::Blocks::pinned); }
  static void free_pinned(std::byte* block) { blocks().remove(block); }

  static TargetEvent make_event() { return new SharedEvent(new kernel::async::Event); }
  static void free_event(TargetEvent event) { delete static_cast<SharedEvent*>(event); }
  static void wait_event(TargetEvent event) { shared(event)->wait(shared(event)->recorded()); }

  /// In the order of the kernels, from a copy that the host cannot change.
  static void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
    std::memcpy(copy.get(), from, bytes);
    in_order(queues().in, [copy, to, bytes] { std::memcpy(to, copy.get(), bytes); });
  }
  static void copy_out(std::byte* to, const std::byte* from, std::size_t bytes) {
    in_order(queues().back, [to, from, bytes] { std::memcpy(to, from, bytes); });
    wait();
  }
  static void copy_out_later(std::byte* to, const std::byte* from, std::size_t bytes, std::atomic<bool>& done) {
    for (const void* const place : {static_cast<void*>(to), static_cast<void*>(&done)})
      kernel::async::unpinned_copies += blocks().place_of(place) != kernel::async::Blocks::pinned;
    in_order(queues().back, [to, from, bytes, &done] {
      std::memcpy(to, from, bytes);
      done.store(true, std::memory_order_release);
    });
  }
  static void wait_until(const std::atomic<bool>& done) {
    while (!done.load(std::memory_order_acquire)) std::this_thread::yield();
  }
  static void copy_beside(std::byte* to, const std::byte* from, std::size_t bytes, TargetEvent after,
                          TargetEvent copied) {
    kernel::async::unpinned_copies += blocks().place_of(from) != kernel::async::Blocks::pinned;
    queues().in.wait_for(shared(after));
    queues().in.put([to, from, bytes] {
      std::this_thread::sleep_for(std::chrono::microseconds(kernel::async::slow_copies));
      std::memcpy(to, from, bytes);
    });
    queues().in.record(shared(copied));
    queues().in.put([] { copies()->complete(std::uint64_t(++kernel::async::copied_beside)); });
  }
  static void wait() {
    queues().kernels.wait();
    queues().back.wait();
    queues().in.wait();
  }

  /// A step that is the same as one before it runs as that was recorded.
  template <class Step>
  struct Begun {
    using Launch = typename Step::Launch;
    const Step step;
    std::vector<Launch> launches{};
    std::vector<SharedEvent> before{}, after{};

    void wait_for(TargetEvent event) { before.push_back(shared(event)); }
    void launch(const Launch& call) {
      for (const void* const buffer : call.arguments.buffer)
        kernel::async::foreign += buffer && blocks().place_of(buffer) != kernel::async::device;
      launches.push_back(call);
    }
    void record(TargetEvent event) { after.push_back(shared(event)); }
    void commit() {
      if (kernel::async::waits_for_copies)
        for (const SharedEvent& event : before) queues().kernels.wait_for(event);
      queues().kernels.put([graph = step.program ? recorded() : std::make_shared<std::vector<Launch>>(launches)] {
        for (const Launch& call : *graph) call();
      });
      if (step.program) {
        ++kernel::async::steps, ++kernel::async::steps_on[kernel::async::device];
        if (kernel::async::holds_until) hold(std::uint64_t(kernel::async::holds_until()));
      }
      for (const SharedEvent& event : after) queues().kernels.record(event);
    }
    // The places of columns take turns: so do the recorded steps.
    std::shared_ptr<std::vector<Launch>> recorded() {
      if (std::vector<std::string>* const text = std::exchange(kernel::async::text, nullptr))
        for (const Launch& call : launches) text->push_back(step.text(call));
      static std::map<std::pair<const void*, long>, std::vector<std::shared_ptr<std::vector<Launch>>>> graphs;
      auto& known = graphs[{step.program, step.n}];
      for (const auto& graph : known)
        if (std::ranges::equal(std::as_bytes(std::span(*graph)), std::as_bytes(std::span(launches))))
          return ++kernel::async::replayed, graph;
      return known.emplace_back(std::make_shared<std::vector<Launch>>(launches));
    }
  };
  template <class Step>
  static Begun<Step> begin(const Step& step) {
    return {step};
  }

  static void before_fork() { wait(); }
  static void after_fork(bool) {}  // no test forks

 private:
  static kernel::async::Queues& queues() { return kernel::async::queues(kernel::async::device); }
  static kernel::async::Blocks& blocks() { return kernel::async::blocks(); }
  static SharedEvent& shared(TargetEvent event) { return *static_cast<SharedEvent*>(event); }
  static SharedEvent& copies() {
    static SharedEvent* const event = new SharedEvent(new kernel::async::Event);
    return *event;
  }
  static void hold(std::uint64_t until) {
    queues().kernels.put([until] { kernel::async::held_in_vain += !copies()->comes(until, std::chrono::seconds(20)); });
  }
  // In another queue, after all kernels so far and before all later ones.
  template <class Work>
  static void in_order(kernel::async::Queue& queue, Work work) {
    const SharedEvent before(new kernel::async::Event), after(new kernel::async::Event);
    queues().kernels.record(before);
    queue.wait_for(before);
    queue.put(std::move(work));
    queue.record(after);
    queues().kernels.wait_for(after);
  }
};

namespace kernel::async {
using Target = Async;
}

}  // namespace tenon
