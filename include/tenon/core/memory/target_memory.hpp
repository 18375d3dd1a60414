// Memory that a second target can have: each block of it has one address, by which all code knows it, and a place
// beside in the target's own memory, where its kernels find it.
#pragma once
#include <cstddef>
#include <cstring>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/memory_limit.hpp>
#include <tenon/core/target.hpp>
#if defined(TENON_TARGET)
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#endif

namespace tenon::inline TENON_ABI::detail {

inline constexpr std::size_t block_alignment = 64;

#if !defined(TENON_TARGET)
/// Memory for a block of `bytes` after a header, aligned to 64. Throws std::bad_alloc.
inline std::byte* make_block(std::size_t header, std::size_t bytes) {
  return static_cast<std::byte*>(::operator new(header + bytes, std::align_val_t(block_alignment)));
}
inline void remove_block(std::byte* block, std::size_t) { ::operator delete(block, std::align_val_t(block_alignment)); }
#else

/// A block as the target knows it. The host has its elements, or the target has: then no code reads or writes them by
/// their address, and the pages are closed, so that a missing home() call crashes immediately. While the target only
/// reads them, both have them: other threads may be reading them on the host.
struct TargetBlock {
  enum class Place : char { host, both, target };
  std::size_t bytes = 0;
  std::byte* there = nullptr;  // in the target's memory, from the first use on
  Place place = Place::host;
};

/// All blocks of the process.
class TargetMemory {
 public:
  /// What a kernel does with a buffer.
  enum class Use : char { read, change, overwrite };

  static TargetMemory& instance() {
    static TargetMemory* const memory = [] {
      ::pthread_atfork(before_fork, after_fork<false>, after_fork<true>);
      return new TargetMemory;  // for ever: static tensors may die last of all
    }();
    return *memory;
  }

  /// Pages of their own, so that they can be closed; `header` stands before them, in a page that stays open.
  std::byte* make(std::size_t header, std::size_t bytes) {
    const std::size_t whole = in_pages(header) + in_pages(bytes);
    void* const pages = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    std::byte* const begin = static_cast<std::byte*>(pages) + in_pages(header);
    const std::lock_guard lock(mutex_);
    blocks_[begin].bytes = bytes;
    return begin - header;
  }
  void remove(std::byte* block, std::size_t header) {
    std::byte* const begin = block + header;
    TargetBlock old;
    {
      const std::lock_guard lock(mutex_);
      const auto at = blocks_.find(begin);
      old = at->second;
      blocks_.erase(at);
    }
    if (old.there) OtherTarget::free(old.there);
    ::munmap(begin - in_pages(header), in_pages(header) + in_pages(old.bytes));
  }

  /// One thread at a time: a thread that waits for the target keeps others from asking.
  std::byte* home(std::byte* data) {
    const std::lock_guard lock(mutex_);
    const auto at = around(data);
    if (at != blocks_.end() && at->second.place != Place::host) {
      TargetBlock& block = at->second;
      allow(at->first, block, PROT_READ | PROT_WRITE);
      if (block.place == Place::target) OtherTarget::copy_out(at->first, block.there, block.bytes);
      block.place = Place::host;
    }
    return data;
  }
  /// Where the target finds what is known as `data`; null for memory that is none of these blocks. What overwrites a
  /// block from its begin is taken to overwrite all that counts: where several values share one (scratch memory),
  /// kernels of one target have written all of them.
  std::byte* there(std::byte* data, Use use) {
    const std::lock_guard lock(mutex_);
    const auto at = around(data);
    if (at == blocks_.end()) return nullptr;
    TargetBlock& block = at->second;
    if (!block.there) block.there = allocate(block.bytes);
    if (block.place == Place::host && (use != Use::overwrite || data != at->first))
      OtherTarget::copy_in(block.there, at->first, block.bytes);
    const Place place = use == Use::read && block.place != Place::target ? Place::both : Place::target;
    if (place != block.place) {
      allow(at->first, block, place == Place::both ? PROT_READ : PROT_NONE);
      block.place = place;
    }
    return block.there + (data - at->first);
  }

 private:
  using Blocks = std::map<std::byte*, TargetBlock>;
  using Place = TargetBlock::Place;

  static std::byte* allocate(std::size_t bytes) try {
    return OtherTarget::allocate(bytes);
  } catch (const std::bad_alloc&) {
    throw_error<OutOfMemory>(OtherTarget::name, " has no room for another ", bytes,
                             " bytes: use a smaller batch, or let tensors go.");
  }
  // No other thread is in the middle of anything when a process forks: the child would wait for it for ever.
  static void before_fork() {
    instance().mutex_.lock();
    OtherTarget::before_fork();
  }
  template <bool in_child>
  static void after_fork() {
    OtherTarget::after_fork(in_child);
    instance().mutex_.unlock();
  }
  static std::size_t in_pages(std::size_t bytes) {
    static const std::size_t page = std::size_t(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
  }
  static void allow(std::byte* begin, const TargetBlock& block, int access) {
    if (::mprotect(begin, in_pages(block.bytes), access) != 0)
      throw_error<OutOfMemory>("The system has no room for the pages of another ", block.bytes,
                               " bytes that can be closed: see its limit of mappings (vm.max_map_count).");
  }
  Blocks::iterator around(std::byte* data) {
    auto at = blocks_.upper_bound(data);
    if (at == blocks_.begin()) return blocks_.end();
    --at;
    return data < at->first + at->second.bytes ? at : blocks_.end();
  }

  std::mutex mutex_;
  Blocks blocks_;
};

inline std::byte* home(std::byte* data) { return TargetMemory::instance().home(data); }
inline std::byte* make_block(std::size_t header, std::size_t bytes) {
  return TargetMemory::instance().make(header, bytes ? bytes : 1);
}
inline void remove_block(std::byte* block, std::size_t header) { TargetMemory::instance().remove(block, header); }
#endif

/// The same, counted against the limit of the context.
inline std::byte* new_block(std::size_t header, std::size_t bytes) {
  count_memory(bytes);
  try {
    return make_block(header, bytes);
  } catch (...) {
    uncount_memory(bytes);
    throw;
  }
}
inline void delete_block(std::byte* block, std::size_t header, std::size_t bytes) {
  if (!block) return;
  remove_block(block, header);
  uncount_memory(bytes);
}

}  // namespace tenon::detail
