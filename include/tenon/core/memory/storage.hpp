// Counted memory blocks for tensors, kept in a cache by size class: after warm-up an eager step allocates nothing.
#pragma once
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/core/memory/target_memory.hpp>
#include <tenon/core/thread/atomic.hpp>

namespace tenon::inline TENON_ABI {

/// Shared ownership of a block, and the address of a part of it. A new block is aligned to 64 bytes.
class Storage {
 public:
  /// More than any machine has: a larger request is a mistake in the caller's arithmetic.
  static constexpr std::size_t max_bytes = sizeof(std::size_t) > 4 ? std::size_t(std::uint64_t{1} << 48)
                                                                   : std::size_t(-1) / 2;

  Storage() = default;
  /// A block of at least `bytes`. Throws OutOfMemory.
  explicit Storage(std::size_t bytes);
  /// The class of sizes to which a number of bytes belongs: known beforehand, it saves a call a few steps.
  enum class SizeClass : int {};
  static constexpr SizeClass class_of(std::size_t bytes) { return SizeClass{size_class(bytes)}; }
  /// Bytes of a block of that class: up to a quarter more.
  static std::size_t bytes_of(SizeClass c) { return class_bytes(int(c)); }
  explicit Storage(SizeClass c) : block_(take(int(c))), data_(begin_of(block_)) {}
  /// Makes a block, of one that has none: without the moves of an assignment.
  void make(SizeClass c) {
    block_ = take(int(c));
    data_ = begin_of(block_);
  }
  Storage(const Storage& other) noexcept : block_(other.block_), data_(other.data_) {
    if (block_) add_reference(*block_);
  }
  Storage(Storage&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
  Storage& operator=(const Storage& other) noexcept { return *this = Storage(other); }
  Storage& operator=(Storage&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    return *this;
  }
  // constexpr, as a function that takes a tensor may be: what is wrong with a construct that does is said elsewhere
  constexpr ~Storage() {
    if (block_) release(block_);
  }

  /// Takes over an object of another library that owns elements, such as an xt::xarray; `address(object)` is where they
  /// are once the object has been moved here.
  template <class Owner, class Address>
  static Storage adopt(Owner&& owner, Address address) {
    static_assert(alignof(Owner) <= 64 && !std::is_reference_v<Owner>, "move the owner in");
    Storage s(sizeof(Owner));
    auto* kept = ::new (s.data()) Owner(std::forward<Owner>(owner));
    s.block_->destroy = [](std::byte* at) { reinterpret_cast<Owner*>(at)->~Owner(); };
    s.data_ = reinterpret_cast<std::byte*>(address(*kept));
    return s;
  }
  /// The same block from `offset` bytes on.
  Storage part(std::size_t offset) const {
    Storage s = *this;
    s.data_ += offset;
    return s;
  }

  /// For the host, which may read and write there.
  std::byte* data() const { return detail::home(data_); }
  /// For a kernel of any target, which is launched with it.
  std::byte* address() const { return data_; }
  explicit operator bool() const { return block_ != nullptr; }
  /// True if the elements are an NCHW16n image (core/nchw16n.hpp), not row-major.
  bool in_nchw16n() const { return made_in_nchw16n() && !block_->rows.load(detail::MemoryOrder::acquire); }
  /// True also if the rows were asked for since. Then they are what counts: rows() has them, the blocks stay as
  /// they were for threads that are just reading them.
  bool made_in_nchw16n() const { return block_ && block_->in_nchw16n; }
  /// Says of a new block in which order its elements are.
  void set_nchw16n() { block_->in_nchw16n = true; }
  /// The same elements as rows, if they were asked for; else nothing.
  Storage rows() const {
    Storage s;
    if (made_in_nchw16n()) s.block_ = block_->rows.load(detail::MemoryOrder::acquire);
    if (s.block_) add_reference(*s.block_), s.data_ = begin_of(s.block_);
    return s;
  }
  /// Makes `converted` the rows for all tensors that share these blocks, unless another thread was faster. Returns the
  /// rows.
  std::byte* set_rows(Storage converted) const {
    Block* rows = nullptr;
    if (block_->rows.compare_exchange_strong(rows, converted.block_, detail::MemoryOrder::acq_rel))
      rows = std::exchange(converted.block_, nullptr);
    return begin_of(rows);
  }
  /// Gives the system the blocks that this thread keeps for its next tensors.
  static void give_back_kept() { empty_shelves(); }
  bool unique() const { return block_ && block_->references.load(detail::MemoryOrder::acquire) == 1; }

 private:
  // A block in a cache is as a new one: with one reference, nothing to destroy, row-major.
  struct alignas(64) Block {
    detail::Atomic<int> references{1};
    int size_class = 0;
    Block* next = nullptr;
    void (*destroy)(std::byte*) = nullptr;
    detail::Atomic<Block*> rows{nullptr};  // of an NCHW16n image
    bool in_nchw16n = false;
  };
  // Four classes per power of two, from 64 bytes: at most a quarter is wasted.
  static constexpr int classes = 4 * 44;
  [[noreturn, gnu::cold]] static void refuse(std::size_t bytes);
  static constexpr int size_class(std::size_t bytes) {
    if (bytes > max_bytes) refuse(bytes);
    if (bytes <= 256) return int((bytes + 63) / 64) - (bytes ? 1 : 0);
    const int log2 = int(std::bit_width(bytes - 1)) - 1;  // 2^log2 < bytes <= 2^(log2 + 1)
    return 4 * (log2 - 7) + int((bytes - 1) >> (log2 - 2) & 3);
  }
  static std::size_t class_bytes(int c) {
    return c < 4 ? std::size_t(c + 1) * 64 : std::size_t(4 + c % 4 + 1) << (c / 4 + 5);
  }
  static std::byte* begin_of(Block* block) { return reinterpret_cast<std::byte*>(block) + sizeof(Block); }
  // Atomic steps take as long as a small operator: a program without a second thread does without.
  static bool single_threaded() {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else
    return false;
#endif
  }
  static void add_reference(Block& b);
  // True if it was the last one; then the block has one again.
  static bool remove_reference(Block& b);

  // The blocks that this thread has given back. It keeps at most as many as it has taken, so that a thread that only
  // frees what others make does not hoard.
  struct Shelf {
    Block* first;
    long taken;
  };
  static inline constinit thread_local Shelf shelves_[classes]{};
  static inline constinit thread_local bool gone_ = false;  // static tensors may die after this thread's blocks
  struct Emptier;
  static Block* take(int c) {
    Shelf& shelf = shelves_[c];
    if (!shelf.first) return allocate(c);
    ++shelf.taken;
    return std::exchange(shelf.first, shelf.first->next);
  }
  static Block* allocate(int c);
  [[gnu::noinline]] static void free(Block* block) {
    detail::delete_block(reinterpret_cast<std::byte*>(block), sizeof(Block), class_bytes(block->size_class));
  }
  [[gnu::cold]] static void empty_shelves();
  // Not inlined: a program has a destructor at every other line.
  static void release(Block* block) noexcept;
  static void give(Block* block);
  static void clear(Block* block);

  Block* block_ = nullptr;
  std::byte* data_ = nullptr;
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE_CONSTRUCTOR Storage::Storage(std::size_t bytes)
    : Storage(SizeClass{size_class(bytes)}) {}
[[gnu::noinline]] TENON_INLINE void Storage::refuse(std::size_t bytes) {
  throw_error<OutOfMemory>(
      "A tensor of ", bytes,
      " bytes was asked for, more than any memory holds: look for a negative or overflowing extent.");
}
[[gnu::noinline]] TENON_INLINE void Storage::add_reference(Block& b) {
  if (single_threaded())
    b.references.store(b.references.load(detail::MemoryOrder::relaxed) + 1, detail::MemoryOrder::relaxed);
  else b.references.fetch_add(1, detail::MemoryOrder::relaxed);
}
TENON_INLINE bool Storage::remove_reference(Block& b) {
  if (single_threaded())
    b.references.store(b.references.load(detail::MemoryOrder::relaxed) - 1, detail::MemoryOrder::relaxed);
  else if (b.references.fetch_sub(1, detail::MemoryOrder::acq_rel) == 1)
    return b.references.store(1, detail::MemoryOrder::relaxed), true;
  return false;
}
[[gnu::noinline]] TENON_INLINE void Storage::empty_shelves() {
  for (Shelf& shelf : shelves_)
    while (shelf.first) free(std::exchange(shelf.first, shelf.first->next));
}
struct Storage::Emptier {
  ~Emptier() {
    gone_ = true;
    empty_shelves();
    for (Shelf& shelf : shelves_) shelf.taken = 0;
  }
};

[[gnu::noinline]] TENON_INLINE Storage::Block* Storage::allocate(int c) {
  void* memory = nullptr;
  for (bool again = true; !memory; again = false) try {
      memory = detail::new_block(sizeof(Block), class_bytes(c), detail::BlockOf::value);
    } catch (const std::bad_alloc&) {
      if (!again) detail::refuse_memory(double(class_bytes(c)), "the elements of a tensor");
      empty_shelves();
    }
  Block* const block = ::new (memory) Block;
  block->size_class = c;
  if (!gone_) {
    ++shelves_[c].taken;
    thread_local const Emptier emptier;  // at the thread's end, once a thread has taken a block
    static_cast<void>(emptier);
  }
  return block;
}
[[gnu::noinline]] TENON_INLINE void Storage::release(Block* block) noexcept {
  // The only owner needs no atomic subtraction: no other can add or take a reference any more.
  if (block->references.load(detail::MemoryOrder::acquire) == 1 || remove_reference(*block)) give(block);
}
TENON_INLINE void Storage::give(Block* block) {
  if (block->destroy || block->in_nchw16n) return clear(block);
  Shelf& shelf = shelves_[block->size_class];
  if (shelf.taken == 0) return free(block);
  --shelf.taken;
  block->next = shelf.first;
  shelf.first = block;
}
// Makes the block as a new one, and gives it again. A call of its own, as most blocks need none of it: the way of those
// then has no call that comes back, and so no registers to save.
[[gnu::noinline]] TENON_INLINE void Storage::clear(Block* block) {
  if (block->destroy) std::exchange(block->destroy, nullptr)(detail::home(begin_of(block)));
  block->in_nchw16n = false;
  if (Block* const rows = block->rows.exchange(nullptr, detail::MemoryOrder::acquire)) release(rows);
  release(block);
}
#endif  // TENON_DEFINES

}  // namespace tenon
