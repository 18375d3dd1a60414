// Memory of a fixed size for one owner, aligned to a cache line.
#pragma once
#include <cstddef>
#include <memory>
#include <new>

#include <tenon/core/memory/arena.hpp>
#if TENON_DEFINES
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#endif

namespace tenon::inline TENON_ABI {

/// `bytes` of memory, not initialised, aligned to 64; freed with this. Throws OutOfMemory that says `what` they were
/// for.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t bytes, const char* what = "a buffer");
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, std::align_val_t(alignment)); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// The same for what kernels of any target work on (core/memory/target_memory.hpp): scratch memory, states.
class TargetBytes {
 public:
  TargetBytes() = default;
  explicit TargetBytes(std::size_t bytes, const char* what = "a buffer");
  /// For kernels, which are launched with it; detail::home() of it is for the host.
  std::byte* address() const { return data_.get(); }

 private:
  struct Free {
    std::size_t bytes;
    void operator()(std::byte* data) const { detail::free_target_memory(data, bytes); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

#if TENON_DEFINES
namespace detail {
/// Asks for pages of 2 MB where there is much memory: what walks through all of it looks for its pages less often.
/// Nothing depends on it.
[[gnu::noinline, gnu::cold]] inline void prefer_large_pages([[maybe_unused]] std::byte* data,
                                                            [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  constexpr std::size_t page = 2 << 20;
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(data) % page) % page;
  if (bytes >= 2 * page) ::madvise(data + skipped, (bytes - skipped) / page * page, MADV_HUGEPAGE);
#endif
}
}  // namespace detail

TENON_INLINE_CONSTRUCTOR AlignedBytes::AlignedBytes(std::size_t bytes, const char* what)
    : data_(detail::aligned_memory(bytes, what)) {
  detail::prefer_large_pages(data_.get(), bytes);
}
TENON_INLINE_CONSTRUCTOR TargetBytes::TargetBytes(std::size_t bytes, const char* what)
    : data_(detail::target_memory(bytes, what), Free{bytes}) {
  detail::prefer_large_pages(data_.get(), bytes);
}
#endif  // TENON_DEFINES

}  // namespace tenon
