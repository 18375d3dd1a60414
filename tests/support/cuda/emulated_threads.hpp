// Blocks of threads as fibers: barriers and shuffles change the fiber. To ThreadSanitizer each fiber is a thread, so a
// missing barrier is a race that it reports; AddressSanitizer sees each access to global and shared memory.
#pragma once
#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <ucontext.h>

#include "emulated_calls.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
void AnnotateIgnoreWritesBegin(const char*, int);
void AnnotateIgnoreWritesEnd(const char*, int);
}
#elif defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulator {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};
struct Index {
  unsigned x = 0, y = 0, z = 0;
};

#if defined(__SANITIZE_THREAD__)
inline constexpr bool with_tsan = true;
#else
inline constexpr bool with_tsan = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool with_asan = true;
#else
inline constexpr bool with_asan = false;
#endif

enum class Wait : char { nothing, block, warp, cluster, done };

struct Fiber {
  ucontext_t context;
  std::jmp_buf jump;
  bool begun = false;
  long barriers = 0;  // of the block, that it has passed
  char* stack = nullptr;
  Index index, block;
  Wait wait = Wait::nothing;
  std::uint64_t shared[2]{};  // with the other lanes of the warp
  void *tsan = nullptr, *fake_stack = nullptr;
};
/// The blocks that run at the same time: one, or those of a cluster, whose threads lie one block after the other.
struct Block {
  std::vector<Fiber> fibers;
  ucontext_t home_context;
  std::jmp_buf home;
  void *home_tsan = nullptr, *home_fake_stack = nullptr;
  const void* home_stack = nullptr;
  std::size_t home_bytes = 0;
  int current = 0;
  Extent blocks, threads;
  const std::function<void()>* body = nullptr;
  std::vector<std::byte> shared;  // of each block
  std::size_t shared_bytes = 0;
  char launched = 0, finished = 0, barrier[16]{}, cluster = 0,
       warps[16 * 32]{};  // ThreadSanitizer synchronises on them

  int rank() const { return current / int(threads.x); }
};

inline Block*& current_block() {
  static Block* now = nullptr;
  return now;
}
inline Block& block() { return *current_block(); }
inline Fiber& fiber() { return block().fibers[std::size_t(block().current)]; }
/// The shared memory of a block of the cluster.
inline std::byte* dynamic_shared(int rank) { return block().shared.data() + std::size_t(rank) * block().shared_bytes; }
inline std::byte* dynamic_shared() { return dynamic_shared(block().rank()); }

/// Tests and TENON_EMULATOR_SEED set it: another order of threads, and of blocks, which must not matter.
inline unsigned order_seed = first_seed();
/// Tests set it: the barrier that each block leaves out, counted from 0; -1: none.
inline long barrier_left_out = -1;
/// Launches so far.
inline long launches = 0;

inline constexpr std::size_t stack_bytes = 256 << 10;

// setjmp and longjmp change fibers without a system call; sanitizers know swapcontext alone.
[[gnu::noinline]] inline void to_home(Wait wait) {
  Fiber& now = fiber();
  now.wait = wait;
#if defined(__SANITIZE_THREAD__)
  char* const sync = wait == Wait::block     ? &block().barrier[block().rank()]
                     : wait == Wait::cluster ? &block().cluster
                     : wait == Wait::warp    ? &block().warps[block().current / 32]
                                             : &block().finished;  // not what later threads begin after
  // nothing of the block is read after the release: its memory may then be something else's
  ucontext_t *const own = &now.context, *const home = &block().home_context;
  void* const home_tsan = block().home_tsan;
  __tsan_release(sync);
  __tsan_switch_to_fiber(home_tsan, __tsan_switch_to_fiber_no_sync);
  swapcontext(own, home);
  __tsan_acquire(sync);
#elif defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(wait == Wait::done ? nullptr : &now.fake_stack, block().home_stack,
                                 block().home_bytes);
  swapcontext(&now.context, &block().home_context);
  __sanitizer_finish_switch_fiber(now.fake_stack, nullptr, nullptr);
#else
  if (_setjmp(now.jump) == 0) _longjmp(block().home, 1);
#endif
}
inline void begin_fiber() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &block().home_stack, &block().home_bytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_acquire(&block().launched);
#endif
  (*block().body)();
  to_home(Wait::done);
}
[[gnu::noinline]] inline void resume(int thread) {
  Fiber& next = block().fibers[std::size_t(thread)];
  block().current = thread;
  next.wait = Wait::nothing;
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(next.tsan, __tsan_switch_to_fiber_no_sync);
#elif defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&block().home_fake_stack, next.stack, stack_bytes);
#endif
  if constexpr (with_tsan || with_asan) swapcontext(&block().home_context, &next.context);
  else if (_setjmp(block().home) == 0) {
    if (next.begun) _longjmp(next.jump, 1);
    next.begun = true;
    setcontext(&next.context);
  }
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(block().home_fake_stack, nullptr, nullptr);
#endif
}

struct IgnoredByTsan {
#if defined(__SANITIZE_THREAD__)
  IgnoredByTsan() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~IgnoredByTsan() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#endif
};

/// Lets the fibers run until all are done. A warp's barrier opens when all its threads that are not done wait for it,
/// the block's and the cluster's when all threads that are not done do.
inline void run_rounds(Block& b, const std::vector<int>& order) {
  const int threads = int(b.fibers.size());
  const auto open = [&](int first, int last, Wait barrier) {
    bool all = true, some = false;
    for (int t = first; t < last; ++t) {
      const Wait wait = b.fibers[std::size_t(t)].wait;
      all &= wait == barrier || wait == Wait::done;
      some |= wait == barrier;
    }
    if (!all || !some) return false;
    for (int t = first; t < last; ++t)
      if (b.fibers[std::size_t(t)].wait == barrier) b.fibers[std::size_t(t)].wait = Wait::nothing;
    return true;
  };
  for (int done = 0; done < threads;) {
    bool moved = false;
    for (const int t : order)
      if (b.fibers[std::size_t(t)].wait == Wait::nothing) {
        resume(t);
        moved = true;
        done += b.fibers[std::size_t(t)].wait == Wait::done;
      }
    for (int first = 0; first < threads; first += 32)
      moved |= open(first, first + 32 < threads ? first + 32 : threads, Wait::warp);
    for (int first = 0; first < threads; first += int(b.threads.x))
      moved |= open(first, first + int(b.threads.x), Wait::block);
    moved |= open(0, threads, Wait::cluster);
    if (!moved && done < threads) {
      std::fprintf(stderr, "emulator: the threads of a block wait for different barriers\n");
      std::abort();
    }
  }
}

/// The stack of thread i of a block, kept for the next grid: the system takes long to give out fresh memory.
inline char* stack_of(std::size_t i) {
  static auto* const stacks = new std::vector<std::unique_ptr<char[]>>;
  while (stacks->size() <= i) stacks->emplace_back(new char[stack_bytes]);
  return (*stacks)[i].get();
}
/// The fiber begins when somebody switches to it. Not inlined: getcontext may return twice, for all that g++ knows, and
/// it warns of the local variables around the call.
[[gnu::noinline]] inline void prepare(Fiber& f) {
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack;
  f.context.uc_stack.ss_size = stack_bytes;
  f.context.uc_link = nullptr;
  makecontext(&f.context, begin_fiber, 0);
}
#if defined(__SANITIZE_THREAD__)
/// Gives each thread of a grid what ThreadSanitizer knows it by. These take turns, since to make one and to unmake it
/// takes longer than most grids, and each has megabytes: two kernels one after the other have different ones. Each
/// block leaves two calls that never return on the stack of calls that ThreadSanitizer keeps of it, which holds 65,536.
inline void name_threads(std::vector<Fiber>& fibers, unsigned blocks) {
  struct Name {
    void* tsan;
    unsigned blocks = 0;
  };
  static std::vector<Name> all;
  static std::size_t next = 0;
  const std::size_t most = std::max<std::size_t>(1024, 2 * fibers.size());
  for (Fiber& f : fibers) {
    if (next >= most) next = 0;
    if (next == all.size()) all.push_back({__tsan_create_fiber(0)});
    Name& own = all[next++];
    if (own.blocks > 8192) {
      __tsan_destroy_fiber(own.tsan);
      own = {__tsan_create_fiber(0)};
    }
    own.blocks += blocks;
    f.tsan = own.tsan;
  }
}
#endif

/// Runs the blocks of a grid, or its clusters of blocks, one after the other.
inline void run_grid(unsigned blocks, int threads, int shared_bytes, unsigned cluster,
                     const std::function<void()>& body) {
  static std::mutex mutex;  // __shared__ variables are static ones
  const std::lock_guard lock(mutex);
  // what fibers have read of a block is another block's later
  [[maybe_unused]] const IgnoredByTsan ignored;
  ++launches;
  Block b;
  b.blocks.x = blocks, b.threads.x = unsigned(threads), b.body = &body;
  const int together = threads * int(cluster);
  b.fibers.resize(std::size_t(together));
  b.shared_bytes = (std::size_t(shared_bytes) + 31) / 16 * 16;
  b.shared.assign(b.shared_bytes * cluster, std::byte(unwritten));
  current_block() = &b;
  std::vector<int> order(static_cast<std::size_t>(together));
  for (auto& f : b.fibers) f.stack = stack_of(std::size_t(&f - b.fibers.data()));
#if defined(__SANITIZE_THREAD__)
  name_threads(b.fibers, blocks / cluster);
  b.home_tsan = __tsan_get_current_fiber();
#endif
  order_seed = order_seed * 1664525u + 1013904223u;
  const bool upwards = order_seed >> 31;
  const unsigned clusters = blocks / cluster;
  for (unsigned k = 0, first = (order_seed >> 8) % clusters; k < clusters; ++k) {
    const unsigned own = (upwards ? first + k : first + clusters - k) % clusters;
    for (int t = 0; t < together; ++t) {
      Fiber& f = b.fibers[std::size_t(t)];
      f.block.x = own * cluster + unsigned(t / threads);
      f.index.x = unsigned(t % threads), f.wait = Wait::nothing, f.begun = false, f.barriers = 0;
      prepare(f);
      order[std::size_t(t)] = t;
    }
    for (int t = together - 1; t > 0; --t) {
      order_seed = order_seed * 1664525u + 1013904223u;
      std::swap(order[std::size_t(t)], order[(order_seed >> 8) % unsigned(t + 1)]);
    }
#if defined(__SANITIZE_THREAD__)
    __tsan_release(&b.launched);
#endif
    run_rounds(b, order);
#if defined(__SANITIZE_THREAD__)
    __tsan_acquire(&b.finished);
#endif
  }
  current_block() = nullptr;
}

/// What a GPU copies at once must be aligned to its size, in both places, even if nothing is copied.
inline void check_aligned(const void* at, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(at) % bytes == 0) return;
  std::fprintf(stderr, "emulator: a copy of %zu bytes from or to a place that is not aligned to them\n", bytes);
  std::abort();
}
/// The barrier of a cluster.
inline void wait_for_cluster() { to_home(Wait::cluster); }

// What lanes of a warp tell each other. `lane` says from which one this thread takes; one beyond its segment of `width`
// lanes gives its own.
template <class T, class Lane>
T exchange(T value, Lane lane) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  const int thread = block().current;
  std::memcpy(fiber().shared, &value, sizeof value);
  to_home(Wait::warp);
  T result = value;
  const int from = lane(thread % 32), other = thread / 32 * 32 + from;
  if (from >= 0 && from < 32 && other < int(block().fibers.size()))
    std::memcpy(&result, block().fibers[std::size_t(other)].shared, sizeof result);
  to_home(Wait::warp);
  return result;
}

}  // namespace emulator

inline void __syncthreads() {
  if (emulator::fiber().barriers++ == emulator::barrier_left_out) return;
  emulator::to_home(emulator::Wait::block);
}
inline void __syncwarp(unsigned = ~0u) { emulator::to_home(emulator::Wait::warp); }
template <class T>
T __shfl_sync(unsigned, T value, int source, int width = 32) {
  return emulator::exchange(value, [=](int lane) { return lane / width * width + (source & (width - 1)); });
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask, int width = 32) {
  return emulator::exchange(value, [=](int lane) { return (lane ^ mask) / width > lane / width ? lane : lane ^ mask; });
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta, int width = 32) {
  return emulator::exchange(value,
                            [=](int lane) { return lane % width + int(delta) < width ? lane + int(delta) : lane; });
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned delta, int width = 32) {
  return emulator::exchange(value, [=](int lane) { return lane % width >= int(delta) ? lane - int(delta) : lane; });
}
inline unsigned __ballot_sync(unsigned mask, bool predicate) {
  unsigned all = 0;
  for (int lane = 0; lane < 32; ++lane) all |= unsigned(__shfl_sync(mask, int(predicate), lane) != 0) << lane;
  return all;
}
inline bool __any_sync(unsigned mask, bool predicate) { return __ballot_sync(mask, predicate) != 0; }
inline bool __all_sync(unsigned mask, bool predicate) { return __ballot_sync(mask, predicate) == ~0u; }
template <class T>
T __ldg(const T* data) {
  return *data;
}
template <class T>
T atomicExch(T* at, T value) {
  return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;  // what was there
}
