// The run-time view of a tensor: what checkpoints, dump, metrics, and data rows hand around.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <tenon/core/device.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI {

/// Dtype, extents, device, and a pointer to contiguous row-major elements. Does not own the data. No extent is dynamic.
struct AnyTensor {
  static constexpr int max_axes = 8;

  Dtype dtype = Dtype::float32;
  int rank = 0;
  std::int64_t extent[max_axes]{};
  Device device{};
  void* data = nullptr;

  AnyTensor() = default;
  AnyTensor(Dtype elements, std::span<const std::int64_t> extents, void* first, Device where = {})
      : dtype(elements), rank(int(extents.size())), device(where), data(first) {
    if (extents.size() > max_axes) refuse_axes(extents.size());
    for (std::size_t axis = 0; axis < extents.size(); ++axis) extent[axis] = extents[axis];
  }
  /// View of data of a TensorType for a batch of n.
  AnyTensor(const TensorType& type, long n, void* first, Device where = {});

  std::span<const std::int64_t> shape() const { return {extent, static_cast<std::size_t>(rank)}; }
  std::int64_t count() const;
  std::size_t bytes() const;

  /// The elements as T; none if data is null, as of a tensor that was never given any. Throws TypeError if the dtype is
  /// another one.
  template <Element T>
  std::span<T> as() const {
    if (dtype_of<T> != dtype) refuse(dtype_of<T>);
    return {static_cast<T*>(data), data ? static_cast<std::size_t>(count()) : 0};
  }

 private:
  [[noreturn, gnu::cold]] static void refuse_axes(std::size_t axes);
  [[noreturn, gnu::cold]] void refuse(Dtype asked) const;
};

/// "[2, 3]" as tensors print their shape.
std::string shape_text(std::span<const std::int64_t> extents);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE_CONSTRUCTOR AnyTensor::AnyTensor(const TensorType& type, long n, void* first,
                                                                Device where)
    : dtype(type.dtype), rank(type.rank), device(where), data(first) {
  for (int axis = 0; axis < rank; ++axis) extent[axis] = type.size(axis, n);
}
[[gnu::noinline]] TENON_INLINE std::int64_t AnyTensor::count() const {
  std::int64_t product = 1;
  for (int axis = 0; axis < rank; ++axis) product *= extent[axis];
  return product;
}
[[gnu::noinline]] TENON_INLINE std::size_t AnyTensor::bytes() const {
  return static_cast<std::size_t>(count()) * size_of(dtype);
}
[[gnu::noinline]] TENON_INLINE void AnyTensor::refuse_axes(std::size_t axes) {
  throw_error<ValueError>("A tensor has at most ", max_axes, " axes, got ", axes, ".");
}
[[gnu::noinline]] TENON_INLINE void AnyTensor::refuse(Dtype asked) const {
  throw_error<TypeError>("This tensor holds ", name(dtype), ", asked for ", name(asked), ".");
}

[[gnu::noinline]] TENON_INLINE std::string shape_text(std::span<const std::int64_t> extents) {
  std::string s = "[";
  for (std::size_t axis = 0; axis < extents.size(); ++axis) s += text(axis ? ", " : "", extents[axis]);
  s += "]";
  return s;
}
#endif  // TENON_DEFINES

}  // namespace tenon
