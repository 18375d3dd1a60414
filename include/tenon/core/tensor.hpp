// Tensor: the typed owner of its elements, the value that PyNative mode computes with.
#pragma once
#include <cstring>
#include <span>

#include <tenon/core/any_tensor.hpp>
#include <tenon/core/storage.hpp>
#include <tenon/core/value.hpp>

namespace tenon::inline TENON_ABI {

/// Which value of which tape a tensor is; not for users.
struct TapeVariable {
  int index = -1;
  unsigned tape = 0;
};

/// A tensor of element type T and Shape S, for example `Tensor<float, Shape<dyn, 3>>`. Elements are row-major.
///
/// Copying shares the elements, as in Python; `copy()` makes new ones. The extent n of a dynamic leading axis is known
/// at run time and returned by `shape()`.
template <Element T, class S>
class Tensor : public ops::Value<Tensor<T, S>> {
 public:
  using type = T;
  using shape_type = S;
  static constexpr TensorType dims = type_of<T, S>;
  static_assert(detail::only_first_is_dynamic(dims), "only the leading extent of a Shape can be dynamic");

  /// No elements; assign to it before use.
  Tensor() = default;
  /// Uninitialised elements; `n` is the batch size of a dynamic leading axis (its extent is k * n for times<k>).
  static Tensor empty(long n = 1) { return Tensor(Storage(static_cast<std::size_t>(dims.bytes(n))), n); }
  /// All elements equal to `value`.
  static Tensor full(T value, long n = 1) {
    Tensor t = empty(n);
    for (T& element : t.values()) element = value;
    return t;
  }
  /// Takes over a block that holds the elements. For operators.
  Tensor(Storage storage, long n) : storage_(std::move(storage)), n_(n) {}

  T* data() { return reinterpret_cast<T*>(storage_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(storage_.data()); }
  std::span<T> values() { return {data(), static_cast<std::size_t>(count())}; }
  std::span<const T> values() const { return {data(), static_cast<std::size_t>(count())}; }
  /// Number of elements; 0 for a tensor without elements.
  long count() const { return storage_ ? dims.count(n_) : 0; }
  /// The batch size of a dynamic leading axis; 1 for a static shape.
  long n() const { return n_; }
  long extent(int axis) const { return dims.size(axis, n_); }
  /// A view for code that works on any tensor. The elements belong to this tensor.
  AnyTensor view() const { return AnyTensor(dims, n_, const_cast<Storage&>(storage_).data()); }
  Tensor copy() const {
    Tensor t = empty(n_);
    if (storage_) std::memcpy(t.data(), data(), static_cast<std::size_t>(dims.bytes(n_)));
    return t;
  }
  const Storage& storage() const { return storage_; }

  /// The only element. Throws ValueError if there are more.
  T item() const {
    if (count() != 1) throw ValueError(text("item() needs a tensor of one element, this one has the shape ", shape_text(view().shape()), "."));
    return data()[0];
  }

  mutable TapeVariable variable{};  // set by the tape that watches this value

 private:
  Storage storage_;
  long n_ = 1;
};

}  // namespace tenon
