// Memory that a second target can have: each block of it has one address, by which all code knows it, and a place
// beside in the target's own memory, where its kernels find it.
#pragma once
#include <cstddef>
#include <cstring>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/block_of.hpp>
#include <tenon/core/memory/memory_limit.hpp>
#include <tenon/core/target.hpp>
#if defined(TENON_TARGET)
#include <pthread.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/core/memory/closed_pages.hpp>
#include <tenon/core/memory/target_block.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

inline constexpr std::size_t block_alignment = 64;

#if !defined(TENON_TARGET)
/// Memory for a block of `bytes` after a header, aligned to 64. Throws std::bad_alloc.
inline std::byte* make_block(std::size_t header, std::size_t bytes, BlockOf) {
  return static_cast<std::byte*>(::operator new(header + bytes, std::align_val_t(block_alignment)));
}
inline void remove_block(std::byte* block, std::size_t) { ::operator delete(block, std::align_val_t(block_alignment)); }
#else

/// All blocks of the process, and who has which of their bytes. No code reads or writes by its address what a target
/// alone has. What both have can be read: other threads may read it on the host while the target reads it, too.
class TargetMemory {
 public:
  /// What a kernel does with a buffer. `overwrite_part`: the block may have other values after the buffer.
  enum class Use : char { read, change, overwrite, overwrite_part };

  static TargetMemory& instance() {
    static TargetMemory* const memory = [] {
      ::pthread_atfork(before_fork, after_fork<false>, after_fork<true>);
      return new TargetMemory;  // for ever: static tensors may die last of all
    }();
    return *memory;
  }

  /// `header` bytes stand before the block. Scratch memory has addresses alone until the host looks at a value in it.
  std::byte* make(std::size_t header, std::size_t bytes, BlockOf what) {
    std::byte* const begin = map_pages(header, bytes, what == BlockOf::scratch);
    const std::lock_guard lock(mutex_);
    blocks_.try_emplace(begin, bytes, what);
    return begin - header;
  }
  void remove(std::byte* block, std::size_t header) {
    std::byte* const begin = block + header;
    const std::lock_guard lock(mutex_);
    const auto at = blocks_.find(begin);
    free_there(at->second);
    unmap_pages(begin, header, at->second.bytes);
    blocks_.erase(at);
  }

  /// Brings `bytes` from `data` on home, 0: all of the block. One thread at a time: a thread that waits for the target
  /// keeps others from asking.
  std::byte* home(std::byte* data, std::size_t bytes, Look look) {
    const std::lock_guard lock(mutex_);
    const auto at = around(data);
    if (at == blocks_.end()) return data;
    TargetBlock& block = at->second;
    const auto [begin, end] = range(at, data, block.whole ? 0 : bytes);
    const Place place = look == Look::read ? Place::both : Place::host;
    if (look == Look::read ? !block.has(Place::target, begin, end) : block.is_at(Place::host, begin, end)) return data;
    std::vector<TargetBlock::Piece> moved;
    block.each(begin, end, [&, from = begin, to = end](TargetBlock::Piece piece) {
      piece.begin = math::max(piece.begin, from), piece.end = math::min(piece.end, to);
      if (piece.place == Place::target || look != Look::read) moved.push_back(piece);
    });
    for (const TargetBlock::Piece& piece : moved) {
      // nothing was ever there of a value of an empty batch
      if (piece.place != Place::target || look == Look::overwrite || !block.there) continue;
      copy_out(at, piece.begin, piece.end);
    }
    for (const TargetBlock::Piece& piece : moved) block.move(piece.begin, piece.end, place);
    close_pages(at->first, at->second, begin, end);
    return data;
  }
  /// Where a target finds `bytes` of what is known as `data`, 0: up to the end of the block; null for memory that is
  /// none of these blocks. What the host has written beside it goes there, too, so that it is one copy. What overwrites
  /// a block of one value from its begin is taken to overwrite all that counts.
  std::byte* there(TargetId target, std::byte* data, Use use, std::size_t bytes = 0) {
    const std::lock_guard lock(mutex_);
    const auto at = around(data);
    if (at == blocks_.end()) return nullptr;
    TargetBlock& block = at->second;
    make_there(at, target);
    const auto [begin, end] = range(at, data, bytes);
    if (use == Use::read || use == Use::change || (block.whole && data != at->first)) take_in(at, begin, end);
    else if (use == Use::overwrite && block.whole && block.has(Place::target, end, block.bytes))
      block.move(0, block.bytes, Place::host);  // what was in it before was larger
    if (use != Use::read && !block.is_at(Place::target, begin, end)) {
      block.move(begin, end, Place::target);
      close_pages(at->first, at->second, begin, end);
    }
    return block.there + (data - at->first);
  }
  /// For a block that the host and the target fill with the same values, each on its side: where the host writes them.
  /// The second function follows, and says where the target does.
  std::byte* home_where_both_write(std::byte* data) {
    {
      const std::lock_guard lock(mutex_);
      if (around(data)->second.both_write) return data;
    }
    return home(data, 0, Look::overwrite);
  }
  std::byte* there_where_both_write(TargetId target, std::byte* data) {
    const std::lock_guard lock(mutex_);
    const auto at = around(data);
    TargetBlock& block = at->second;
    make_there(at, target);
    if (!block.both_write) block.move(0, block.bytes, Place::both), block.both_write = true;
    return block.there + (data - at->first);
  }
  /// Whether memory is a part of one of these blocks.
  bool knows(std::byte* data) {
    const std::lock_guard lock(mutex_);
    return around(data) != blocks_.end();
  }
  /// Whether they are on that target, or on both.
  bool is_there(TargetId target, std::byte* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto at = around(data);
    if (at == blocks_.end() || !at->second.there || at->second.target != target) return false;
    const auto [begin, end] = range(at, data, bytes);
    return !at->second.has(Place::host, begin, end);
  }
  /// Copies `bytes` of the host's memory to what is known as `data`.
  void fill(TargetId target, std::byte* data, const void* from, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto at = around(data);
    make_there(at, target);
    const auto [begin, end] = range(at, data, bytes);
    copy_in(at->second, begin, static_cast<const std::byte*>(from), bytes);
    at->second.move(begin, end, Place::target);
    close_pages(at->first, at->second, begin, end);
  }
  /// Copies within a target, after what is in its queue, so that it has the copy. False if one of the two is none of
  /// these blocks, or if the target cannot do that.
  bool copy_within(TargetId target, std::byte* to, std::byte* from, std::size_t bytes) {
    return with_target(target, [&]<class Target>(std::type_identity<Target>) {
      if constexpr (CopiesWithin<Target>) {
        if (!knows(to) || !knows(from)) return false;
        const std::byte* const source = there(target, from, Use::read, bytes);
        Target::copy_within(there(target, to, Use::overwrite_part, bytes), source, bytes);
        return true;
      } else return false;
    });
  }
  /// Copies `bytes` of what is known as `data` to other memory of the host, without waiting for it: `done` becomes true
  /// when they are there.
  template <class Done>
  void fetch(TargetId target, std::byte* to, std::byte* data, std::size_t bytes, Done& done) {
    if (const std::byte* const from = there(target, data, Use::read, bytes))
      return with_target(
          target, [&]<class Target>(std::type_identity<Target>) { Target::copy_out_later(to, from, bytes, done); });
    std::memcpy(to, data, bytes);
    done = true;
  }

 private:
  using Blocks = std::map<std::byte*, TargetBlock>;
  using Place = TargetBlock::Place;
  struct Range {
    std::size_t begin, end;
  };

  static Range range(Blocks::iterator at, const std::byte* data, std::size_t bytes) {
    const std::size_t begin = std::size_t(data - at->first), all = at->second.bytes;
    return {at->second.whole ? 0 : begin, bytes ? math::min(begin + bytes, all) : all};
  }
  // Copies the pieces which the host has written, and of which a part is wanted.
  static void take_in(Blocks::iterator at, std::size_t begin, std::size_t end) {
    TargetBlock& block = at->second;
    std::vector<TargetBlock::Piece> taken;
    block.each(begin, end, [&](const TargetBlock::Piece& piece) {
      if (piece.place == Place::host) taken.push_back(piece);
    });
    for (auto [from, to, place] : taken) {
      if (block.whole && from > 0 && block.is_at(Place::target, 0, 1)) break;  // the value ends before it
      if (block.whole) to = math::min(to, end);
      copy_in(block, from, at->first + from, to - from);
      block.move(from, to, Place::both);
      close_pages(at->first, at->second, from, to);
    }
  }
  static void copy_in(const TargetBlock& block, std::size_t begin, const std::byte* from, std::size_t bytes) {
    with_target(block.target,
                [&]<class Target>(std::type_identity<Target>) { Target::copy_in(block.there + begin, from, bytes); });
  }
  static void copy_out(Blocks::iterator at, std::size_t begin, std::size_t end) {
    open_pages(at->first, begin, end);
    with_target(at->second.target, [&]<class Target>(std::type_identity<Target>) {
      Target::copy_out(at->first + begin, at->second.there + begin, end - begin);
    });
  }
  static void free_there(TargetBlock& block) {
    if (std::byte* const old = std::exchange(block.there, nullptr))
      give_back_to(block.target, [&]<class Target>(std::type_identity<Target>) { Target::free(old); });
  }
  // Memory for a block on a target. What another one has of it comes home before.
  static void make_there(Blocks::iterator at, TargetId target) {
    TargetBlock& block = at->second;
    if (block.there && block.target == target) return;
    if (block.there) {
      std::vector<TargetBlock::Piece> moved;
      block.each(0, block.bytes, [&](const TargetBlock::Piece& piece) {
        if (piece.place == Place::target) moved.push_back(piece);
      });
      for (const TargetBlock::Piece& piece : moved) copy_out(at, piece.begin, piece.end);
      block.move(0, block.bytes, Place::host);
      close_pages(at->first, at->second, 0, block.bytes);
      free_there(block);
    }
    block.target = target;
    with_target(target, [&]<class Target>(std::type_identity<Target>) { block.there = allocate<Target>(block.bytes); });
  }
  template <class Target>
  static std::byte* allocate(std::size_t bytes) try {
    return Target::allocate(bytes);
  } catch (const std::bad_alloc&) {
    throw_error<OutOfMemory>(Target::name, " has no room for another ", bytes,
                             " bytes: use a smaller batch, or let tensors go.");
  }
  // Calls f(function) for what `function_of` has for each target, once where targets have one in common: a queue. The
  // thread does not begin to use a device for that.
  template <class Function, class F>
  static void each_queue(Function function_of, F f) {
    decltype(with_target(TargetId(1), function_of)) called[OtherTargets::count]{};
    for (int other = 1; other <= OtherTargets::count; ++other) {
      const auto function = with_target_of(OtherTargets(), other, function_of);
      bool known = false;
      for (const auto each : called) known |= each == function;
      if (known) continue;
      called[other - 1] = function;
      f(function);
    }
  }
  // No other thread is in the middle of anything when a process forks: the child would wait for it for ever. An
  // exception would end the process, as fork() lets none through: the next call of the target says what is wrong.
  static void before_fork() {
    instance().mutex_.lock();
    each_queue([]<class Target>(std::type_identity<Target>) { return &Target::before_fork; },
               [](auto begin) {
                 try {
                   begin();
                 } catch (...) {
                 }
               });
  }
  template <bool in_child>
  static void after_fork() {
    each_queue([]<class Target>(std::type_identity<Target>) { return &Target::after_fork; },
               [](auto end) { end(in_child); });
    instance().mutex_.unlock();
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

inline std::byte* home(std::byte* data, std::size_t bytes, Look look) {
  return TargetMemory::instance().home(data, bytes, look);
}
inline std::byte* make_block(std::size_t header, std::size_t bytes, BlockOf what) {
  return TargetMemory::instance().make(header, bytes ? bytes : 1, what);
}
inline void remove_block(std::byte* block, std::size_t header) { TargetMemory::instance().remove(block, header); }
#endif

/// The same, counted against the limit of the context.
inline std::byte* new_block(std::size_t header, std::size_t bytes, BlockOf what) {
  count_memory(bytes);
#if defined(__cpp_exceptions)
  try {
    return make_block(header, bytes, what);
  } catch (...) {
    uncount_memory(bytes);
    throw;
  }
#else
  return make_block(header, bytes, what);
#endif
}
inline void delete_block(std::byte* block, std::size_t header, std::size_t bytes) {
  if (!block) return;
  remove_block(block, header);
  uncount_memory(bytes);
}

}  // namespace tenon::detail
