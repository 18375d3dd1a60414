// Which batch size and which shape fit the numbers that a tensor is made from.
#pragma once
#include <type_traits>

#include <tenon/core/memory/storage.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::detail {

/// The shape of one number, or of a row of 1 + More numbers.
template <int More>
using RowShape = std::conditional_t<More == 0, Shape<>, Shape<1 + More>>;

/// What is deduced of one list of numbers in further braces or parentheses, which Tensor refuses.
template <int A>
struct OneListShape : Shape<A> {};
template <class S>
inline constexpr bool is_one_list = false;
template <int A>
inline constexpr bool is_one_list<OneListShape<A>> = true;
#if defined(__CUDACC__)  // nvcc hands `Tensor({{1, 2}})` to the host's compiler as `Tensor({1, 2})`
template <int A>
using DeducedOneList = Shape<1, A>;
#else
template <int A>
using DeducedOneList = OneListShape<A>;
#endif

/// True if a list with these static extents fills the type for some batch size.
constexpr bool list_fits(const TensorType& type, const TensorType& list) {
  for (int axis = 0; axis < type.rank; ++axis) {
    const int extent = type.extent[axis];
    if (extent < 0 ? list.extent[axis] % -extent != 0 : list.extent[axis] != extent) return false;
  }
  return true;
}

/// "float32 [n,3]" for messages.
std::string type_text(const TensorType& type);

[[noreturn, gnu::cold]] void throw_bad_batch(const TensorType& type, long n);

/// Says that there is no memory for the elements of a type. The sizes as reals: they may be beyond all integers.
[[noreturn, gnu::cold]] void throw_no_memory(const TensorType& type, long n);

void check_large_batch(const TensorType& type, long n);

/// Makes a block for the elements of a type, for a batch of n that is not negative. Throws OutOfMemory.
[[gnu::always_inline]] inline void make_storage(Storage& storage, const TensorType& type, long n) {
  if (n >> 10) check_large_batch(type, n);  // else the bytes are within a long, as those of a sample are
#if defined(__cpp_exceptions)
  try {
    storage.make(Storage::class_of(static_cast<std::size_t>(type.bytes(n))));
  } catch (const OutOfMemory&) {
    throw_no_memory(type, n);
  }
#else
  storage.make(Storage::class_of(static_cast<std::size_t>(type.bytes(n))));
#endif
}
Storage storage_for(const TensorType& type, long n);

/// The batch size for which the type has `count` elements.
long batch_for(const TensorType& type, long count);

/// The batch size for which the type has dtype and shape of a view.
long batch_of_view(const TensorType& type, const AnyTensor& view);

#if TENON_DEFINES
TENON_INLINE std::string type_text(const TensorType& type) {
  Sentence s;
  s << name(type.dtype) << " " << type;
  return std::string(s.view());
}
[[gnu::noinline]] TENON_INLINE void throw_bad_batch(const TensorType& type, long n) {
  throw_error<ValueError>("A tensor ", type_text(type), " was asked for with a batch size of ", n,
                          ", it must not be negative.");
}
[[gnu::noinline]] TENON_INLINE void throw_no_memory(const TensorType& type, long n) {
  double bytes = double(type.bytes(1)) * double(type.batched() ? n : 1);
  if (bytes <= free_memory() && bytes < double(Storage::max_bytes))  // it is the rest of its block that does not fit
    bytes = double(Storage::bytes_of(Storage::class_of(std::size_t(bytes))));
  refuse_memory(bytes, text("a tensor ", type_text(type), type.batched() ? text(" of batch size ", n) : std::string()));
}
[[gnu::noinline]] TENON_INLINE void check_large_batch(const TensorType& type, long n) {
  if (type.batched() && double(type.bytes(1)) * double(n) > double(Storage::max_bytes)) throw_no_memory(type, n);
}
[[gnu::noinline]] TENON_INLINE Storage storage_for(const TensorType& type, long n) {
  Storage storage;
  make_storage(storage, type, n);
  return storage;
}
TENON_INLINE long batch_for(const TensorType& type, long count) {
  const long each = type.count(1);
  if (!type.batched() && count == each) return 1;
  if (type.batched() && each && count % each == 0) return count / each;
  throw_error<ValueError>("A tensor ", type_text(type), " cannot be made from ", count, " values, it needs ",
                          type.batched() ? "a multiple of " : "", each, ".");
}
TENON_INLINE long batch_of_view(const TensorType& type, const AnyTensor& view) {
  if (view.dtype != type.dtype)
    throw_error<TypeError>("A tensor ", type_text(type), " cannot be made from ", name(view.dtype),
                           " elements: convert them first.");
  bool fits = view.rank == type.rank && view.device.kind == DeviceKind::cpu;
  const long n = fits && type.batched() ? view.extent[0] / -type.extent[0] : 1;
  for (int axis = 0; fits && axis < type.rank; ++axis) fits = view.extent[axis] == type.size(axis, n);
  if (!fits)
    throw_error<ValueError>("A tensor ", type_text(type), " cannot be made from the shape ", shape_text(view.shape()),
                            " on ", name(view.device.kind), ".");
  return n;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
