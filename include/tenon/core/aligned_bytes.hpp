// Memory of a fixed size for one owner, aligned to a cache line.
#pragma once
#include <cstddef>
#include <memory>
#include <new>

#include <tenon/core/arena.hpp>

namespace tenon::inline TENON_ABI {

/// `bytes` of memory, not initialised, aligned to 64; freed with this. Throws std::bad_alloc.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t bytes) : data_(static_cast<std::byte*>(::operator new(bytes ? bytes : 1, std::align_val_t(alignment)))) {}
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, std::align_val_t(alignment)); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace tenon
