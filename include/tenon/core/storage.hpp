// Counted memory blocks for tensors, kept in a cache by size class: after warm-up an eager step allocates nothing.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI {

/// Shared ownership of a block, and the address of a part of it. A new block is aligned to 64 bytes.
class Storage {
 public:
  /// More than any machine has: a larger request is a mistake in the caller's arithmetic.
  static constexpr std::size_t max_bytes = std::size_t{1} << 48;

  Storage() = default;
  /// A block of at least `bytes`. Throws RuntimeError above max_bytes, std::bad_alloc if there is no memory.
  explicit Storage(std::size_t bytes) : block_(Cache::of_thread().take(size_class(bytes))), data_(begin_of(block_)) { own(nullptr); }
  Storage(const Storage& other) noexcept : block_(other.block_), data_(other.data_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Storage() {
    if (!block_) return;
    // The only owner needs no atomic subtraction: nobody else can add or take a reference any more.
    if (block_->references.load(std::memory_order_acquire) != 1 && block_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (block_->destroy) block_->destroy(begin_of(block_));
    Cache::of_thread().give(block_);
  }

  /// Takes over an object of another library that owns elements, such as an xt::xarray; `address(object)` is where they
  /// are once the object has been moved here.
  template <class Owner, class Address>
  static Storage adopt(Owner&& owner, Address address) {
    static_assert(alignof(Owner) <= 64 && !std::is_reference_v<Owner>, "move the owner in");
    Storage s(sizeof(Owner));
    auto* kept = ::new (s.data_) Owner(std::forward<Owner>(owner));
    s.own([](std::byte* at) { reinterpret_cast<Owner*>(at)->~Owner(); });
    s.data_ = reinterpret_cast<std::byte*>(address(*kept));
    return s;
  }
  /// The same block from `offset` bytes on.
  Storage part(std::size_t offset) const {
    Storage s = *this;
    s.data_ += offset;
    return s;
  }

  std::byte* data() const { return data_; }
  explicit operator bool() const { return block_ != nullptr; }
  /// True if the elements are an image in blocks of samples (core/sample_blocks.hpp), not row-major.
  bool in_blocks() const { return block_ && block_->in_blocks; }
  void set_in_blocks(bool value) { block_->in_blocks = value; }
  bool unique() const { return block_ && block_->references.load(std::memory_order_acquire) == 1; }

 private:
  struct alignas(64) Block {
    std::atomic<int> references;
    int size_class;
    Block* next;
    void (*destroy)(std::byte*);
    bool in_blocks;
  };
  // Four classes per power of two, from 64 bytes: at most a quarter is wasted.
  static constexpr int classes = 4 * 44;
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(std::size_t bytes) {
    throw_error<RuntimeError>("A tensor of ", bytes, " bytes was asked for, more than any memory holds: look for a negative or overflowing extent.");
  }
  static int size_class(std::size_t bytes) {
    if (bytes > max_bytes) refuse(bytes);
    if (bytes <= 256) return int((bytes + 63) / 64) - (bytes ? 1 : 0);
    const int log2 = std::bit_width(bytes - 1) - 1;  // 2^log2 < bytes <= 2^(log2 + 1)
    return 4 * (log2 - 7) + int((bytes - 1) >> (log2 - 2) & 3);
  }
  static std::size_t class_bytes(int c) { return c < 4 ? std::size_t(c + 1) * 64 : std::size_t(4 + c % 4 + 1) << (c / 4 + 5); }
  static std::byte* begin_of(Block* block) { return reinterpret_cast<std::byte*>(block) + sizeof(Block); }
  void own(void (*destroy)(std::byte*)) {
    block_->references.store(1, std::memory_order_relaxed);
    block_->destroy = destroy;
    block_->in_blocks = false;
  }

  // The blocks that this thread has given back. It keeps at most as many as it has taken, so that a thread that only
  // frees what others make does not hoard.
  struct Cache {
    Block* free[classes]{};
    int taken[classes]{};
    static inline thread_local bool gone = false;  // static tensors may die after this thread's cache

    static Cache& of_thread() {
      thread_local Cache cache;
      return cache;
    }
    Block* take(int c) {
      Block* block = gone ? nullptr : free[c];
      if (block) free[c] = block->next;
      else block = ::new (::operator new(sizeof(Block) + class_bytes(c), std::align_val_t(64))) Block{{0}, c, nullptr, nullptr, false};
      ++taken[c];
      return block;
    }
    void give(Block* block) {
      const int c = block->size_class;
      if (gone || taken[c] == 0) return ::operator delete(block, std::align_val_t(64));
      --taken[c];
      block->next = free[c];
      free[c] = block;
    }
    ~Cache() {
      gone = true;
      for (Block* block : free)
        while (block) ::operator delete(std::exchange(block, block->next), std::align_val_t(64));
    }
  };

  Block* block_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace tenon
