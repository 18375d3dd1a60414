// Samples of unequal size: the content of a column of images or texts before they are brought to one shape.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// An extent that differs from sample to sample.
inline constexpr int any = -1;

/// The shape of a column whose samples differ: `Ragged<any, any, 3>` are colour images, `Ragged<any>` texts or files.
/// Before batch only: operators and models know their shapes.
template <int... Extents>
struct Ragged {
  static_assert(sizeof...(Extents) >= 1 && sizeof...(Extents) <= max_rank, "a ragged sample has 1 to 6 axes");
  static constexpr int rank = sizeof...(Extents);
  static constexpr int extent[sizeof...(Extents)]{Extents...};
};

/// The elements of one ragged sample, in memory that grows with the largest sample and is used again.
class RaggedValue {
 public:
  /// The bytes of a sample of these extents; -1 if there can be none: an extent below 0, more axes than a tensor has,
  /// or a product that no std::int64_t holds, also of the others beside an extent of 0.
  static std::int64_t bytes_of(std::span<const std::int64_t> extents, std::size_t element_bytes);
  /// Makes room for a sample of these extents and returns where its elements go; they hold anything before. Throws
  /// ValueError if there can be none, and is as before then.
  void* resize(std::span<const std::int64_t> extents, std::size_t element_bytes);

  /// Before a sample is written; whether resize was called since then.
  void begin() { resized_ = false; }
  bool resized() const { return resized_; }

  const void* data() const { return memory_.data(); }
  std::span<const std::int64_t> extents() const { return {extent_, static_cast<std::size_t>(rank_)}; }
  std::int64_t count() const;

 private:
  AlignedBytes memory_;
  std::size_t capacity_ = 0;
  std::int64_t extent_[AnyTensor::max_axes]{};
  int rank_ = 0;
  bool resized_ = false;
};

#if TENON_DEFINES
TENON_INLINE std::int64_t RaggedValue::bytes_of(std::span<const std::int64_t> extents, std::size_t element_bytes) {
  std::int64_t bytes = static_cast<std::int64_t>(element_bytes);
  bool empty = false;
  if (extents.size() > AnyTensor::max_axes) return -1;
  for (const std::int64_t extent : extents) {
    if (extent < 0 || __builtin_mul_overflow(bytes, extent ? extent : 1, &bytes)) return -1;
    empty = empty || extent == 0;
  }
  return empty ? 0 : bytes;
}
TENON_INLINE void* RaggedValue::resize(std::span<const std::int64_t> extents, std::size_t element_bytes) {
  const std::int64_t asked = bytes_of(extents, element_bytes);
  if (asked < 0) throw_error<ValueError>("A sample cannot have the shape ", shape_text(extents), ".");
  const std::size_t bytes = static_cast<std::size_t>(asked);
  rank_ = static_cast<int>(extents.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) extent_[axis] = extents[axis];
  if (bytes > capacity_ || !memory_.data()) {
    memory_ = {};  // the old block goes first
    capacity_ = 0;
    const std::size_t room = bytes + bytes / 4 + 64;
    memory_ = AlignedBytes(room, "a sample of a data set");
    capacity_ = room;
  }
  resized_ = true;
  return memory_.data();
}
TENON_INLINE std::int64_t RaggedValue::count() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents()) product *= extent;
  return product;
}
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
