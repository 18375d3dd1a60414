// Counted memory blocks for tensors, kept in a cache by size class: after warm-up an eager step allocates nothing.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// Shared ownership of a block of at least the requested bytes, aligned to 64.
class Storage {
 public:
  Storage() = default;
  explicit Storage(std::size_t bytes) : block_(Cache::of_thread().take(size_class(bytes))) { block_->references.store(1, std::memory_order_relaxed); }
  Storage(const Storage& other) noexcept : block_(other.block_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Storage() {
    if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) Cache::of_thread().give(block_);
  }
  std::byte* data() const { return block_ ? reinterpret_cast<std::byte*>(block_) + sizeof(Block) : nullptr; }
  explicit operator bool() const { return block_ != nullptr; }
  bool unique() const { return block_ && block_->references.load(std::memory_order_acquire) == 1; }

 private:
  struct alignas(64) Block {
    std::atomic<int> references;
    int size_class;
    Block* next;
  };
  // Four classes per power of two, from 64 bytes: at most a quarter is wasted.
  static constexpr int classes = 4 * 44;
  static int size_class(std::size_t bytes) {
    if (bytes <= 256) return int((bytes + 63) / 64) - (bytes ? 1 : 0);
    const int log2 = std::bit_width(bytes - 1) - 1;  // 2^log2 < bytes <= 2^(log2 + 1)
    return 4 * (log2 - 7) + int((bytes - 1) >> (log2 - 2) & 3);
  }
  static std::size_t class_bytes(int c) { return c < 4 ? std::size_t(c + 1) * 64 : std::size_t(4 + c % 4 + 1) << (c / 4 + 5); }

  struct Cache {
    Block* free[classes]{};
    static inline thread_local bool gone = false;  // static tensors may die after this thread's cache

    static Cache& of_thread() {
      thread_local Cache cache;
      return cache;
    }
    Block* take(int c) {
      if (Block* block = gone ? nullptr : free[c]) {
        free[c] = block->next;
        return block;
      }
      return ::new (::operator new(sizeof(Block) + class_bytes(c), std::align_val_t(64))) Block{{0}, c, nullptr};
    }
    void give(Block* block) {
      if (gone) return ::operator delete(block, std::align_val_t(64));
      block->next = free[block->size_class];
      free[block->size_class] = block;
    }
    ~Cache() {
      gone = true;
      for (Block* block : free)
        while (block) ::operator delete(std::exchange(block, block->next), std::align_val_t(64));
    }
  };

  Block* block_ = nullptr;
};

}  // namespace tenon
