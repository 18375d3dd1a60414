// ZeroPages: a range of addresses that takes memory where it is written to.
#pragma once
#include <cstddef>
#include <utility>

#include <tenon/core/error.hpp>
#if TENON_DEFINES
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Zeros for one owner, aligned to a page. Throws OutOfMemory if there are no such addresses.
class ZeroPages {
 public:
  ZeroPages() = default;
  [[gnu::cold]] explicit ZeroPages(std::size_t bytes);
  ZeroPages(ZeroPages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  ZeroPages& operator=(ZeroPages&& other) noexcept {
    ZeroPages taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~ZeroPages() { free(); }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Gives the memory of whole pages between two bytes back, which are zeros then. Other bytes stay.
  [[gnu::cold]] void give_back(std::size_t begin, std::size_t end) const;

 private:
  [[gnu::cold]] void free();

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

#if TENON_DEFINES
#if defined(MAP_NORESERVE)
inline constexpr int zero_pages = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
inline constexpr int zero_pages = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
[[gnu::cold]] TENON_INLINE_CONSTRUCTOR ZeroPages::ZeroPages(std::size_t bytes) : bytes_(bytes) {
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, zero_pages, -1, 0);
  if (pages == MAP_FAILED) throw_error<OutOfMemory>("The system has no addresses for ", bytes, " bytes.");
  data_ = static_cast<std::byte*>(pages);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ZeroPages::give_back(std::size_t begin, std::size_t end) const {
  const std::size_t page = std::size_t(::sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page, end = end / page * page;
  // new pages in their place: what madvise does with old ones depends on the system
  if (begin < end &&
      ::mmap(data_ + begin, end - begin, PROT_READ | PROT_WRITE, zero_pages | MAP_FIXED, -1, 0) == MAP_FAILED)
    throw_error<OutOfMemory>("The system has no room for another range of pages: see its limit of mappings.");
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ZeroPages::free() {
  if (data_) ::munmap(data_, bytes_);
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
