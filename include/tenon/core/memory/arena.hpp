// Counted blocks of memory: the arena that holds all parameters of a network, and the handles into it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/core/memory/target_memory.hpp>
#include <tenon/core/thread/atomic.hpp>

namespace tenon::inline TENON_ABI {

inline constexpr long alignment = long(detail::block_alignment);
constexpr long aligned(long bytes) { return (bytes + alignment - 1) / alignment * alignment; }

namespace detail {
/// Uninitialised memory, at least a byte. Throws OutOfMemory that says `what` it was for.
std::byte* aligned_memory(std::size_t bytes, const char* what);
/// The same for what kernels of any target work on; free_target_memory frees it.
std::byte* target_memory(std::size_t bytes, const char* what, BlockOf of = BlockOf::values);
inline void free_target_memory(std::byte* data, std::size_t bytes) { delete_block(data, 0, bytes ? bytes : 1); }
}  // namespace detail

class ParameterList;

namespace detail {
/// What stops a cell, as a bit of its nn::Freezing.
enum Freezer { by_requires_grad = 1, by_set_train = 2 };
/// What set_train() said of a parameter that has no memory yet. Which network it will belong to is not known then, so
/// the widest cell that said something counts as the network, or as a part of it, when there is one.
struct SetTrainLater {
  static constexpr int most = (1 << 14) - 1;
  std::uint16_t widest : 14 = 0;  // entries of the widest cell of which something was said, at most `most`
  std::uint16_t trains : 1 = 0;   // what was said of it
  std::uint16_t part_evaluates : 1 = 0;

  constexpr void say(bool mode, int entries) {
    const int wide = entries < most ? entries : most;
    if (wide < widest) part_evaluates = !mode;
    else widest = static_cast<unsigned>(wide) & most, trains = mode, part_evaluates = 0;
  }
  /// Whether it was said of a network of as many entries.
  constexpr bool of_whole(int entries) const { return widest == (entries < most ? entries : most); }
};
}  // namespace detail

/// Memory of one network's parameters, shared by their handles; freed with the last of them.
struct ParameterArena {
  detail::Atomic<int> references{0};
  bool training = false;   // what set_train() said for this network
  bool evaluates = false;  // it said false: what a part that was alone then brings into a network
  // of the last change of requires_grad, so that an executor knows when to ask again; 0: none
  unsigned freeze_version = 0;
  // A number for the values: a writer takes another one, so that what was made of the old ones is made again. 0:
  // a pointer was handed out through which they can change without notice.
  detail::Atomic<std::uint64_t> values{0};
  int entry_count = 0;
  long bytes = 0;
  std::byte* data = nullptr;
  // Throws that a network would leave this arena, which it shares with another one, for one of its own; null: it may
  void (*refuse_to_leave)(const ParameterList& network, int entry) = nullptr;

  static ParameterArena* make(int entry_count, long bytes);
  /// Unique in the program: arenas change hands when a network is assigned to.
  static unsigned next_freeze_version();
  /// Unique in the program, too.
  static std::uint64_t next_values();
  /// Says that values are written.
  void change() {
    if (values.load(detail::MemoryOrder::relaxed)) values.store(next_values(), detail::MemoryOrder::relaxed);
  }
  /// Says that a pointer to the values is handed out.
  void hand_out() { values.store(0, detail::MemoryOrder::relaxed); }
  void retain() { references.fetch_add(1, detail::MemoryOrder::relaxed); }
  void release();
};

/// What every Parameter is underneath: null in constant evaluation, bound to an arena on first use at run time.
struct ParameterHandle {
  mutable std::byte* data = nullptr;
  mutable ParameterArena* arena = nullptr;
  mutable int entry = -1;
  mutable detail::SetTrainLater set_train = {};

  constexpr ParameterHandle() = default;
  constexpr ParameterHandle(ParameterHandle&& other) noexcept
      : data(other.data),
        arena(other.arena),
        entry(other.entry),
        set_train(other.set_train),
        requires_grad_(other.requires_grad_),
        trainable_(other.trainable_) {
    other.data = nullptr;
    other.arena = nullptr;
  }
  constexpr ParameterHandle& operator=(ParameterHandle&& other) noexcept {
    if (this != &other) {
      if (arena) arena->release();
      data = other.data;
      arena = other.arena;
      entry = other.entry;
      set_train = other.set_train;
      requires_grad_ = other.requires_grad_;
      trainable_ = other.trainable_;
      other.data = nullptr;
      other.arena = nullptr;
    }
    return *this;
  }
  constexpr ~ParameterHandle() {
    if (arena) arena->release();
  }

  /// Whether training may change this parameter. A change takes effect with the next step.
  bool requires_grad() const { return requires_grad_; }
  void requires_grad(bool wanted) const {
    if (requires_grad_ == wanted) return;
    requires_grad_ = wanted;
    if (arena) arena->freeze_version = ParameterArena::next_freeze_version();
  }

  /// For the host, `bytes` of them. Who writes there says so by change().
  std::byte* values_at(long bytes, detail::Look look = detail::Look::change) const {
    return detail::home(data, std::size_t(bytes), look);
  }
  void change() const {
    if (arena) arena->change();
  }
  /// The same for users; they may write there at any time.
  std::byte* hand_out(long bytes) const {
    if (arena) arena->hand_out();
    return values_at(bytes);
  }

  /// The same while another thread may bind: a thread that finds what it expects sees the values, too.
  std::byte* bound_data() const { return detail::AtomicRef(data).load(detail::MemoryOrder::acquire); }
  ParameterArena* bound_arena() const { return detail::AtomicRef(arena).load(detail::MemoryOrder::acquire); }
  int bound_entry() const { return detail::AtomicRef(entry).load(detail::MemoryOrder::relaxed); }

  /// `index` is that of the network for which the arena was made; `trainable` is what the handle's own network says.
  void bind(ParameterArena* to, std::byte* place, int index, bool trainable) const;
  /// False for state that training changes by other means, and below nn::Frozen.
  bool trainable() const { return trainable_; }

 private:
  mutable bool requires_grad_ = true, trainable_ = false;
};

#if TENON_DEFINES
namespace detail {
[[gnu::noinline]] TENON_INLINE std::byte* aligned_memory(std::size_t bytes, const char* what) try {
  return static_cast<std::byte*>(::operator new(bytes ? bytes : 1, std::align_val_t(alignment)));
} catch (const std::bad_alloc&) {
  refuse_memory(double(bytes), what);
}
[[gnu::noinline]] TENON_INLINE std::byte* target_memory(std::size_t bytes, const char* what, BlockOf of) try {
  return new_block(0, bytes ? bytes : 1, of);
} catch (const std::bad_alloc&) {
  refuse_memory(double(bytes), what);
}
}  // namespace detail

TENON_INLINE ParameterArena* ParameterArena::make(int entry_count, long bytes) {
  tenon::detail::Owned<ParameterArena> arena(new ParameterArena);
  arena->data = detail::target_memory(std::size_t(bytes), "the parameters of a network");
  arena->entry_count = entry_count;
  arena->bytes = bytes;
  arena->values = next_values();
  std::memset(arena->data, 0, static_cast<std::size_t>(bytes));
  return arena.release();
}
TENON_INLINE unsigned ParameterArena::next_freeze_version() {
  static detail::Atomic<unsigned> last{0};
  return ++last;
}
TENON_INLINE std::uint64_t ParameterArena::next_values() {
  static detail::Atomic<std::uint64_t> last{0};
  return ++last;
}
[[gnu::noinline]] TENON_INLINE void ParameterArena::release() {
  if (references.fetch_sub(1, detail::MemoryOrder::acq_rel) != 1) return;
  detail::free_target_memory(data, std::size_t(bytes));
  delete this;
}

TENON_INLINE void ParameterHandle::bind(ParameterArena* to, std::byte* place, int index, bool trainable) const {
  to->retain();
  trainable_ = trainable;
  set_train = {};
  if (!requires_grad_) to->freeze_version = ParameterArena::next_freeze_version();
  ParameterArena* const before = arena;
  detail::AtomicRef(entry).store(index, detail::MemoryOrder::relaxed);
  detail::AtomicRef(arena).store(to, detail::MemoryOrder::release);
  detail::AtomicRef(data).store(place, detail::MemoryOrder::release);
  if (before) before->release();
}
#endif  // TENON_DEFINES

}  // namespace tenon
