// Memory of the host that a target reads and writes.
#pragma once
#include <tenon/core/config.hpp>
#if defined(TENON_TARGET)
#include <new>
#include <utility>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/memory_limit.hpp>
#include <tenon/core/target.hpp>
#include <tenon/target/queue.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Memory of the host for what passes between it and a target: pinned if the target has that.
class PinnedBytes {
 public:
  PinnedBytes() = default;
  PinnedBytes(TargetId target, std::size_t bytes, const char* what) : target_(target) {
    with_target(target, [&]<class Target>(std::type_identity<Target>) {
      if constexpr (HasPinnedMemory<Target>) try {
          data_ = Target::allocate_pinned(bytes);
        } catch (const std::bad_alloc&) {
          refuse_memory(double(bytes), what);
        }
      else data_ = aligned_memory(bytes, what);
    });
  }
  PinnedBytes(PinnedBytes&& other) noexcept : target_(other.target_), data_(std::exchange(other.data_, nullptr)) {}
  PinnedBytes& operator=(PinnedBytes other) noexcept {
    std::swap(target_, other.target_), std::swap(data_, other.data_);
    return *this;
  }
  ~PinnedBytes() {
    if (data_)
      give_back_to(target_, [&]<class Target>(std::type_identity<Target>) {
        if constexpr (HasPinnedMemory<Target>) Target::free_pinned(data_);
        else ::operator delete(data_, std::align_val_t(alignment));
      });
  }
  std::byte* data() const { return data_; }

 private:
  TargetId target_{};
  std::byte* data_ = nullptr;
};

}  // namespace tenon::inline TENON_ABI::detail
#endif
