// The scratch memory of a kernel's thread, cut into arrays.
#pragma once
#include <cstddef>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// Cuts arrays off a workspace, one after the other, each aligned to 64 bytes as the workspace is. Without a workspace
/// it only counts: so one function tells how many bytes there must be, as a constant, and where each array is.
class WorkspaceParts {
 public:
  constexpr explicit WorkspaceParts(void* workspace = nullptr) : workspace_(workspace) {}
  template <class E>
  constexpr E* take(long count) {
    const std::size_t at = bytes_;
    bytes_ += (std::size_t(count) * sizeof(E) + 63) / 64 * 64;
    return workspace_ ? reinterpret_cast<E*>(static_cast<char*>(workspace_) + at) : nullptr;
  }
  constexpr std::size_t bytes() const { return bytes_; }

 private:
  void* workspace_;
  std::size_t bytes_ = 0;
};

}  // namespace tenon::kernel
