// Memory of a fixed size for one owner, aligned to a cache line.
#pragma once
#include <cstddef>
#include <new>
#include <utility>

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
  AlignedBytes(AlignedBytes&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  AlignedBytes& operator=(AlignedBytes&& other) noexcept {
    AlignedBytes taken(std::move(other));
    std::swap(data_, taken.data_);
    return *this;
  }
  ~AlignedBytes() {
    if (data_) ::operator delete(data_, std::align_val_t(alignment));
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// The same for what kernels of any target work on (core/memory/target_memory.hpp): scratch memory, states.
class TargetBytes {
 public:
  TargetBytes() = default;
  explicit TargetBytes(std::size_t bytes, const char* what = "a buffer", detail::BlockOf of = detail::BlockOf::values);
  TargetBytes(TargetBytes&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  TargetBytes& operator=(TargetBytes&& other) noexcept {
    TargetBytes taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~TargetBytes() {
    if (data_) detail::free_target_memory(data_, bytes_);
  }
  /// For kernels, which are launched with it; detail::home() of it is for the host.
  std::byte* address() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
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
  detail::prefer_large_pages(data_, bytes);
}
TENON_INLINE_CONSTRUCTOR TargetBytes::TargetBytes(std::size_t bytes, const char* what, detail::BlockOf of)
    : data_(detail::target_memory(bytes, what, of)), bytes_(bytes) {
  detail::prefer_large_pages(data_, bytes);
}
#endif  // TENON_DEFINES

}  // namespace tenon
