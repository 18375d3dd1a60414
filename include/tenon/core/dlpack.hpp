// The gateway to DLPack, by which PyTorch, NumPy, JAX, and others pass tensors on without a copy. Only this file
// includes DLPack's header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#else
#include <Header tenon/core/dlpack.hpp needs the header of DLPack. On Debian: apt-get install libdlpack-dev>
#endif

#include <tenon/core/tensor.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// DLPack's codes of dtypes. Its first version has none for bool.
struct DLPackCode {
  Dtype dtype;
  std::uint8_t code, bits;
};
inline constexpr DLPackCode dlpack_codes[]{{Dtype::int8, 0, 8},     {Dtype::int16, 0, 16},   {Dtype::int32, 0, 32},
                                           {Dtype::int64, 0, 64},   {Dtype::uint8, 1, 8},    {Dtype::uint16, 1, 16},
                                           {Dtype::uint32, 1, 32},  {Dtype::uint64, 1, 64},  {Dtype::float16, 2, 16},
                                           {Dtype::float32, 2, 32}, {Dtype::float64, 2, 64}, {Dtype::bfloat16, 4, 16},
                                           {Dtype::bool_, 6, 8}};
constexpr DLPackCode dlpack_code(Dtype dtype) {
  for (const DLPackCode& known : dlpack_codes)
    if (known.dtype == dtype) return known;
  return {};
}

/// What a tensor of Tenon's gives to its new owner: a part of its storage, and its shape.
template <class T, class S>
struct SharedWithDLPack {
  explicit SharedWithDLPack(const Tensor<T, S>& x) : tensor(x) {
    for (int axis = 0; axis < S::rank; ++axis) shape[axis] = x.extent(axis);
    std::int64_t stride = 1;
    for (int axis = S::rank; axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
    constexpr DLPackCode code = dlpack_code(dtype_of<T>);
    managed.dl_tensor = {};
    managed.dl_tensor.data = tensor.data();
    managed.dl_tensor.device.device_type = kDLCPU;
    managed.dl_tensor.ndim = S::rank;
    managed.dl_tensor.dtype = {code.code, code.bits, 1};
    managed.dl_tensor.shape = shape;
    managed.dl_tensor.strides = strides;
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { delete static_cast<SharedWithDLPack*>(self->manager_ctx); };
  }
  Tensor<T, S> tensor;
  DLManagedTensor managed{};
  std::int64_t shape[S::rank + 1]{}, strides[S::rank + 1]{};  // a tensor without axes has arrays, too
};

/// Calls the deleter of a tensor that was taken over.
struct DLPackOwner {
  explicit DLPackOwner(DLManagedTensor* taken) : managed(taken) {}
  DLPackOwner(DLPackOwner&& other) noexcept : managed(std::exchange(other.managed, nullptr)) {}
  ~DLPackOwner() {
    if (managed && managed->deleter) managed->deleter(managed);
  }
  DLManagedTensor* managed;
};

[[noreturn, gnu::cold]] inline void refuse_dlpack(const TensorType& type, const auto&... reason) {
  throw_error<ValueError>("from_dlpack: a tensor ", type_text(type), " cannot be made: ", reason...);
}
/// The shape of what is given. Throws TypeError for another device or dtype, ValueError for what is no tensor.
[[gnu::cold, gnu::noinline]] inline AnyTensor view_of_dlpack(const TensorType& type, const DLManagedTensor* given) {
  if (!given) refuse_dlpack(type, "the pointer is null.");
  const DLTensor& x = given->dl_tensor;
  int device;  // as a number: what is given may be none of the enumerators
  std::memcpy(&device, &x.device.device_type, sizeof device);
  if (device != int(kDLCPU) && device != 3)  // 3: memory of the host that a GPU reaches
    throw_error<TypeError>("from_dlpack: the tensor is on device type ", device,
                           " of DLPack, not on the CPU (1): copy it there first, such as by x.cpu().");
  const DLPackCode code = dlpack_code(type.dtype);
  if (x.dtype.code != code.code || x.dtype.bits != code.bits || x.dtype.lanes != 1)
    throw_error<TypeError>("from_dlpack: a tensor ", type_text(type), " needs DLPack's dtype (", int(code.code), ", ",
                           int(code.bits), " bits, 1 lane), got (", int(x.dtype.code), ", ", int(x.dtype.bits),
                           " bits, ", int(x.dtype.lanes), " lanes).");
  AnyTensor view;
  view.dtype = type.dtype;
  if (x.ndim < 0 || x.ndim > AnyTensor::max_axes) refuse_dlpack(type, "it has ", x.ndim, " axes.");
  if (x.ndim > 0 && !x.shape) refuse_dlpack(type, "its shape is a null pointer.");
  view.rank = x.ndim;
  bool is_empty = false;
  for (int axis = 0; axis < view.rank; ++axis) {
    view.extent[axis] = x.shape[axis];
    if (x.shape[axis] < 0) refuse_dlpack(type, "extent ", axis, " is ", x.shape[axis], ".");
    is_empty |= x.shape[axis] == 0;
  }
  std::uint64_t bytes = code.bits / 8;
  for (int axis = 0; axis < view.rank && !is_empty; ++axis)
    if (__builtin_mul_overflow(bytes, std::uint64_t(view.extent[axis]), &bytes) || bytes > Storage::max_bytes)
      refuse_dlpack(type, "it has more than 2^48 bytes.");
  if (!is_empty && !x.data) refuse_dlpack(type, "its data are a null pointer.");
  return view;
}
/// Whether its elements are one after the other, in row-major order.
inline bool is_row_major(const DLTensor& x) {
  if (!x.strides) return true;
  std::int64_t stride = 1;
  for (int axis = x.ndim; axis-- > 0; stride *= x.shape[axis])
    if (x.shape[axis] != 1 && x.strides[axis] != stride) return false;
  return true;
}
/// Copies elements of `size` bytes into row-major order.
[[gnu::noinline]] inline void copy_strided(std::byte* to, const std::byte* from, const DLTensor& x, std::size_t size) {
  std::int64_t at[AnyTensor::max_axes]{};
  for (bool more = true; more; to += size) {
    std::memcpy(to, from, size);
    more = false;
    for (int axis = x.ndim; axis-- > 0 && !more;) {
      const std::int64_t step = x.strides[axis] * std::int64_t(size);
      from += step;
      more = ++at[axis] < x.shape[axis];
      if (!more) from -= step * x.shape[axis], at[axis] = 0;
    }
  }
}
}  // namespace detail

/// The tensor for another library, which shares its elements and calls `deleter` when it needs them no more:
/// `PyCapsule_New(to_dlpack(x), "dltensor", ...)` in a Python module. Who receives it may write to the elements.
/// Throws OutOfMemory, and ValueError for a tensor that has none.
/// source      DLPack 0.6 to 1.3, DLManagedTensor
template <Element T, class S>
DLManagedTensor* to_dlpack(const Tensor<T, S>& x) {
  if (!x.storage()) throw_error<ValueError>("to_dlpack: this tensor has no elements: assign to it first.");
  return &(new detail::SharedWithDLPack<T, S>(x))->managed;
}

/// A tensor of what another library gives: `from_dlpack<float, Shape<dyn, 3>>(given)`. Takes it over: its deleter is
/// called when the last tensor that shares the elements is gone. Elements that are not in row-major order, or not
/// aligned for T, are copied, and the deleter is called at once. bool needs DLPack 1.0 on both sides.
///
/// throws      TypeError for another dtype or device, ValueError for another shape, OutOfMemory; then the caller still
///             has `given`
template <Element T, class S>
Tensor<T, S> from_dlpack(DLManagedTensor* given) {
  using Result = Tensor<T, S>;
  const long n = detail::batch_of_view(Result::dims, detail::view_of_dlpack(Result::dims, given));
  const DLTensor& x = given->dl_tensor;
  const long count = Result::dims.count(n);
  std::byte* const from = static_cast<std::byte*>(x.data) + (count > 0 ? x.byte_offset : 0);
  if (count > 0 && detail::is_row_major(x) && reinterpret_cast<std::uintptr_t>(from) % alignof(T) == 0)
    return Result(Storage::adopt(detail::DLPackOwner(nullptr),  // what throws has taken nothing
                                 [from, given](detail::DLPackOwner& owner) { return owner.managed = given, from; }),
                  n);
  Result copy = Result::empty(n);
  if (count > 0 && detail::is_row_major(x)) std::memcpy(copy.data(), from, std::size_t(count) * sizeof(T));
  else if (count > 0) detail::copy_strided(reinterpret_cast<std::byte*>(copy.data()), from, x, sizeof(T));
  const detail::DLPackOwner given_back(given);
  return copy;
}

}  // namespace tenon
