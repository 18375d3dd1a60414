// Blocks in pages of their own, which are closed to the host while a target has all that is in them: a missing home()
// call crashes immediately. Only debugging needs that.
#pragma once
#include <tenon/core/config.hpp>
#if defined(TENON_TARGET)
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/target_block.hpp>

namespace tenon::inline TENON_ABI::detail {

inline std::size_t page_size() {
  static const std::size_t bytes = std::size_t(::sysconf(_SC_PAGESIZE));
  return bytes;
}
inline std::size_t in_pages(std::size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }

/// Pages for a block, and before them, in a page that stays open, `header` bytes. Closed pages are addresses without
/// memory. Throws std::bad_alloc.
inline std::byte* map_pages(std::size_t header, std::size_t bytes, bool closed) {
  void* const pages = ::mmap(nullptr, in_pages(header) + in_pages(bytes), closed ? PROT_NONE : PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(pages) + in_pages(header);
}
inline void unmap_pages(std::byte* block, std::size_t header, std::size_t bytes) {
  ::munmap(block - in_pages(header), in_pages(header) + in_pages(bytes));
}

/// Gives the host this access to the pages around the bytes `from` .. `to` of a block.
inline void open_pages(std::byte* block, std::size_t from, std::size_t to, int access = PROT_READ | PROT_WRITE) {
  from = from / page_size() * page_size(), to = in_pages(to);
  if (::mprotect(block + from, to - from, access) != 0)
    throw_error<OutOfMemory>("The system has no room for the pages of another ", to - from,
                             " bytes that can be closed: see its limit of mappings (vm.max_map_count).");
}
/// Gives the pages of a part of a block the access that the host may have.
inline void close_pages(std::byte* first, const TargetBlock& block, std::size_t from, std::size_t to) {
  using Place = TargetBlock::Place;
  if (block.whole) from = 0, to = block.bytes;
  const auto access = [&](std::size_t begin) {
    std::size_t end = std::min(begin + page_size(), block.bytes);
    if (block.whole) begin = 0, end = 1;
    return block.has(Place::host, begin, end)   ? PROT_READ | PROT_WRITE
           : block.has(Place::both, begin, end) ? PROT_READ
                                                : PROT_NONE;
  };
  for (std::size_t begin = from / page_size() * page_size(); begin < to;) {
    const int wanted = access(begin);
    std::size_t end = begin + page_size();
    while (end < to && access(end) == wanted) end += page_size();
    open_pages(first, begin, end, wanted);
    begin = end;
  }
}

}  // namespace tenon::detail
#endif
