// Tensor: the typed owner of its elements, the value that PyNative mode computes with.
#pragma once
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <span>

#include <tenon/core/memory/storage.hpp>
#include <tenon/core/nchw16n.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/core/tensor/index.hpp>
#include <tenon/core/tensor/list.hpp>
#include <tenon/core/text/report.hpp>
#include <tenon/core/value.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Which value of which tape a tensor is; not for users.
struct TapeVariable {
  static constexpr int none = -1,
                       lost = -2;  // lost: a part or a copy of a value with a variable, which has no gradient
  int index = none;
  unsigned tape = 0;
  /// What a part or a copy carries: the tape refuses it in a calculation, instead of losing its gradient in silence.
  TapeVariable of_part() const { return {index == none ? none : lost, tape}; }
};

namespace detail {
/// The elements of an image that an operator made in NCHW16n as rows, for all tensors that share them. Converted at
/// the first call, into a block of their own: other threads may be reading the image, or ask for the same.
[[gnu::cold, gnu::noinline]] inline std::byte* rows_of(const Storage& image, long n, long features) {
  if (const Storage rows = image.rows()) return rows.data();
  Storage rows(static_cast<std::size_t>(n * features) * sizeof(float));
  const float* const from = reinterpret_cast<const float*>(image.data());
  float* const to = reinterpret_cast<float*>(rows.data());
  for (long sample = 0; sample < n; ++sample)
    for (long f = 0; f < features; ++f) to[sample * features + f] = from[nchw16n_place(sample, f, features)];
  return image.set_rows(std::move(rows));
}
template <class T>
struct ShapeAsArgument {
  static constexpr Sentence sentence =
      Sentence{} << "a shape is a template argument: Tensor<float, Shape<2, 3>>::full(1.0f), and with a batch of n "
                    "Tensor<float, Shape<dyn, 3>>::full(1.0f, n)";
};
}  // namespace detail

/// A tensor of element type T and Shape S, for example `Tensor<float, Shape<dyn, 3>>`. Elements are row-major.
///
/// Copying shares the elements, as in Python; `copy()` makes new ones. The extent n of a dynamic leading axis is known
/// at run time. Where n is an argument, it is the batch size: the leading extent is n, or k * n for times<k>; a static
/// shape takes none.
///
/// Several threads may read a tensor and its copies at the same time, compute with them, and call data(). A thread that
/// writes elements, assigns to the tensor, or lets a tape watch() it needs exclusive access.
///
/// `Tensor x{{1.0f, 2.0f}, {3.0f, 4.0f}}` and `Tensor x({{1, 2}, {3, 4}})` deduce dtype and shape. Several lists are
/// its rows, a list of lists is the whole tensor, numbers are its elements, one number is a tensor without axes. One
/// list of numbers in braces, `Tensor x{{1, 2, 3}}`, does not compile: it might be [3] or the one row of [1,3].
template <Element T, class S>
class Tensor : public ops::Value<Tensor<T, S>> {
 public:
  static_assert(!detail::is_one_list<S>, "one list of numbers may be [n] or one row of it: Tensor x{1, 2, 3} has the "
                                         "shape [3], Tensor x({{1, 2, 3}}) has [1,3]");
  using type = T;
  using shape_type = S;
  static constexpr TensorType dims = type_of<T, S>;
  static constexpr int rank = dims.rank;
  static_assert(detail::only_first_is_dynamic(dims), "only the leading extent of a Shape can be dynamic");
  static_assert(detail::has_countable_bytes(dims), "a Shape has at most 2^48 bytes: look for a wrong extent");

  /// No elements; assign to it before use.
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & = default;
  /// Says what to write instead of `x[0] = row`.
  template <class U>
  auto operator=(const U&) && {
    return Mistake<detail::TemporaryAssigned<U>>::corrected;
  }
  /// Takes over a block that holds the elements. For operators.
  Tensor(Storage storage, long n) : storage_(std::move(storage)), n_(n) {}

  /// The same value with its shape written as Shape or InnerShape.
  template <class Other>
  requires(!std::is_same_v<Other, S> && Tensor<T, Other>::dims == dims)
  Tensor(const Tensor<T, Other>& other) : variable(other.variable), storage_(other.storage()), n_(other.n()) {}

  /// Say that a variable keeps its dtype and shape.
  template <class U, class Other>
  requires(Tensor<U, Other>::dims != dims)
  Tensor(const Tensor<U, Other>&) {
    using Wrong = Mistake<detail::OtherTypeAssigned<dims, Tensor<U, Other>::dims>>;
    static_cast<void>(Wrong::corrected);
  }
  template <class U, class Other>
  requires(Tensor<U, Other>::dims != dims)
  Tensor& operator=(const Tensor<U, Other>&) & {
    using Wrong = Mistake<detail::OtherTypeAssigned<dims, Tensor<U, Other>::dims>>;
    static_cast<void>(Wrong::corrected);
    return *this;
  }

  /// The elements of a tensor with one axis, or the only one of a tensor without axes.
  template <Element U, Element... V>
  requires(rank < 2)
  explicit Tensor(U first, V... others) {
    static_assert(rank == 1 || sizeof...(V) == 0, "a tensor without axes has one element");
    static_assert(fills<U> && (fills<V> && ...),
                  "floating-point numbers cannot fill a tensor of integers: write integers, or convert with to<T>()");
    const T list[]{static_cast<T>(first), static_cast<T>(others)...};
    if constexpr (rank == 0) *this = of_parts<>({list});
    else *this = of_parts<1 + int(sizeof...(V))>({list});
  }
  /// The elements as one nested list.
  template <Element U, int A>
  Tensor(const U (&list)[A]) : Tensor(of_list<A>(list)) {}
  template <Element U, int A, int B>
  Tensor(const U (&list)[A][B]) : Tensor(of_parts<A, B>({list[0]})) {}
  template <Element U, int A, int B, int C>
  Tensor(const U (&list)[A][B][C]) : Tensor(of_parts<A, B, C>({list[0][0]})) {}
  template <Element U, int A, int B, int C, int D>
  Tensor(const U (&list)[A][B][C][D]) : Tensor(of_parts<A, B, C, D>({list[0][0][0]})) {}
  /// The elements as one nested list per row.
  template <Element U, int A, int B, int... N>
  Tensor(const U (&first)[A], const U (&second)[B], const U (&... more)[N])
      : Tensor(of_parts<2 + int(sizeof...(N)), A>({first, second, more...})) {
    static_assert(A == B && ((A == N) && ...), "the rows of the list have different lengths");
  }
  template <Element U, int A, int B, int C, int D, int... M, int... N>
  Tensor(const U (&first)[A][B], const U (&second)[C][D], const U (&... more)[M][N])
      : Tensor(of_parts<2 + int(sizeof...(N)), A, B>({first[0], second[0], more[0]...})) {
    static_assert(A == C && B == D && ((A == M) && ...) && ((B == N) && ...),
                  "the parts of the list have different extents");
  }
  template <Element U, int A, int B, int C, int D, int E, int F, int... L, int... M, int... N>
  Tensor(const U (&first)[A][B][C], const U (&second)[D][E][F], const U (&... more)[L][M][N])
      : Tensor(of_parts<2 + int(sizeof...(N)), A, B, C>({first[0][0], second[0][0], more[0][0]...})) {
    static_assert(A == D && B == E && C == F && ((A == L) && ...) && ((B == M) && ...) && ((C == N) && ...),
                  "the parts of the list have different extents");
  }

  /// Uninitialised elements. Throws ValueError for a negative n, OutOfMemory.
  static Tensor empty(long n = 1) {
    if (n < 0) detail::throw_bad_batch(dims, n);
    return Tensor(detail::storage_for(dims, n), n);
  }
  /// All elements equal to `value`.
  static Tensor full(T value, long n = 1) {
    Tensor t = empty(n);
    for (T& element : t.values()) element = value;
    return t;
  }
  /// Says that the shape is a template argument.
  template <std::integral I, Element U>
  static auto full(std::initializer_list<I>, U) {
    using Wrong = Mistake<detail::ShapeAsArgument<T>>;
    return Wrong::corrected;
  }
  /// All elements equal to 0, or to 1.
  static Tensor zeros(long n = 1) { return full(T(0), n); }
  static Tensor ones(long n = 1) { return full(T(1), n); }
  /// start, start + step, start + 2 step ... in row-major order: `Tensor<int, Shape<dyn>>::arange(5)` is 0 .. 4.
  static Tensor arange(long n = 1, T start = T(0), T step = T(1)) {
    static_assert(!std::is_same_v<T, bool>, "arange needs a dtype that counts");
    using A = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Accumulator<T>>;  // unsigned wraps, as in NumPy
    Tensor t = empty(n);
    for (long i = 0; i < t.count(); ++i) t.data()[i] = static_cast<T>(A(start) + A(i) * A(step));
    return t;
  }
  /// Copies a range of numbers (std::vector, std::array, std::span, a list); n follows from their number.
  /// Throws ValueError if they do not fill the shape.
  template <class Values>
  requires requires(const Values& v) {
    T(*std::begin(v));
    std::end(v);
  }
  static Tensor from(const Values& values) {
    long count = 0;
    for (auto value = std::begin(values); value != std::end(values); ++value) ++count;
    Tensor t = empty(detail::batch_for(dims, count));
    T* to = t.data();
    for (auto&& value : values) *to++ = static_cast<T>(value);
    return t;
  }
  static Tensor from(std::initializer_list<T> values) {
    return from(std::span<const T>(values.begin(), values.size()));
  }
  /// Copies the elements of a view. Throws TypeError for another dtype, ValueError for another shape.
  static Tensor from(const AnyTensor& view) {
    Tensor t = empty(detail::batch_of_view(dims, view));
    if (view.count()) std::memcpy(t.data(), view.data, view.bytes());
    return t;
  }

  /// The elements in row-major order. The address is valid for a batch of 0, too. Only a tensor that was never given
  /// elements has a null pointer, and its values() are empty.
  T* data() { return reinterpret_cast<T*>(elements()); }
  const T* data() const { return reinterpret_cast<const T*>(elements()); }
  std::span<T> values() { return {data(), static_cast<std::size_t>(count())}; }
  std::span<const T> values() const { return {data(), static_cast<std::size_t>(count())}; }
  /// Number of elements; 0 for a tensor without elements.
  long count() const { return storage_ ? dims.count(n_) : 0; }
  /// The batch size of a dynamic leading axis; 1 for a static shape.
  long n() const { return n_; }
  /// The extent of an axis; that of a dynamic leading axis is n, or k * n.
  long extent(int axis) const { return dims.size(axis, n_); }
  /// A view for code that works on any tensor. The elements belong to this tensor.
  AnyTensor view() const { return AnyTensor(dims, n_, elements()); }
  /// A deep copy; copying the Tensor object shares the elements.
  Tensor copy() const {
    if (!storage_) return {};
    Tensor t = empty(n_);
    std::memcpy(t.data(), data(), static_cast<std::size_t>(dims.bytes(n_)));
    t.variable = variable.of_part();
    return t;
  }
  /// For operators: the block as it is. An image that an operator made may be in NCHW16n; data() has it row-major.
  const Storage& storage() const { return storage_; }
  Storage& storage() { return storage_; }

  /// For `if`: the only element of a tensor of bool without axes.
  explicit operator bool() const requires(dims.dtype == Dtype::bool_)
  {
    static_assert(rank == 0, "a tensor with axes is no condition: use select(condition, a, b), logical_and(a, b), "
                             "or reduce it, as in (a > b).max().item()");
    return item();
  }
  /// The only element. Throws ValueError if there are more.
  T item() const {
    if (needed(), count() != 1)
      throw_error<ValueError>("item() needs a tensor of one element, this one has the shape ",
                              shape_text(view().shape()), ".");
    return data()[0];
  }

  // Reading and writing parts. An index may count from the end: x[-1]. What is returned shares the elements of this
  // tensor. No gradient flows through it: an operator that gets a part of a value that a tape watches throws ValueError
  // (ops/slice.hpp has the operator). All throw ValueError that names index, axis and extent.

  /// Part i of the leading axis.
  auto operator[](long i) const requires(rank > 1)
  {
    using Part = Tensor<T, detail::Without<S>>;
    return as_part(Part(part(checked(i, 0) * static_cast<std::size_t>(Part::dims.bytes(1))), 1));
  }
  T& operator[](long i) requires(rank == 1)
  {
    return data()[checked(i, 0)];
  }
  const T& operator[](long i) const requires(rank == 1)
  {
    return data()[checked(i, 0)];
  }
  /// Parts begin .. end - 1 of the leading axis: `x[Range{1, 3}]`, `x[Range{-2}]` for the last two. The leading axis of
  /// the result is dynamic.
  auto operator[](Range range) const requires(rank > 0)
  {
    using Part = Tensor<T, detail::WithLeading<S, dyn>>;
    const auto [begin, end] = detail::checked_range(range, dims.size(0, needed()));
    return as_part(Part(part(static_cast<std::size_t>(begin * Part::dims.bytes(1))), end - begin));
  }
  /// One element.
  template <std::integral... I>
  T& operator()(I... index) {
    static_assert(one_per_axis<I...>, "x(i, j, ...) needs one index per axis");
    return data()[offset(index...)];
  }
  template <std::integral... I>
  const T& operator()(I... index) const {
    static_assert(one_per_axis<I...>, "x(i, j, ...) needs one index per axis");
    return data()[offset(index...)];
  }
  /// Parts Begin .. End - 1 of an axis, with a static extent: `x.slice<1, 0, 2>()`. Shares the elements for axis 0,
  /// copies them for any other.
  template <int Axis, int Begin, int End>
  auto slice() const {
    constexpr int axis = normalized_axis(Axis, rank);
    static_assert(axis >= 0, "slice: there is no such axis");
    static_assert(0 <= Begin && Begin <= End && (dims.extent[axis] < 0 || End <= dims.extent[axis]),
                  "slice: the range is outside the axis");
    using Part = Tensor<T, detail::WithExtent<S, axis, End - Begin>>;
    if constexpr (axis == 0) {
      (void)detail::checked_range({Begin, End}, dims.size(0, needed()));
      return as_part(Part(part(static_cast<std::size_t>(Begin * dims.span(1, rank)) * sizeof(T)), 1));
    } else {
      Part part = Part::empty(needed());
      detail::copy_columns(dims, n_, axis, Begin, End, elements(), part.storage().data());
      return as_part(std::move(part));
    }
  }

  /// The elements converted to U by static_cast; a float outside the range of an integer type is undefined behaviour,
  /// as in C++.
  template <Element U>
  Tensor<U, S> to() const {
    Tensor<U, S> t = Tensor<U, S>::empty(needed());
    for (long i = 0; i < count(); ++i) t.data()[i] = static_cast<U>(data()[i]);
    return as_part(std::move(t));
  }

  mutable TapeVariable variable{};  // set by the tape that watches this value

 private:
  template <class Part>
  Part as_part(Part part) const {
    part.variable = variable.of_part();
    return part;
  }
  template <class... I>
  static constexpr bool one_per_axis = sizeof...(I) == std::size_t(rank);
  template <class U>
  static constexpr bool fills = is_floating(dtype_of<T>) || !is_floating(dtype_of<U>);

  template <int A, class U>
  static Tensor of_list(const U* list) {
#if defined(__CUDACC__)  // see DeducedOneList
    if constexpr (rank == 2) return of_parts<1, A>({list});
    else
#endif
      return of_parts<A>({list});
  }
  // A tensor from the addresses of its parts; together they form a list with these extents.
  template <int... Extents, class U>
  static Tensor of_parts(std::initializer_list<const U*> parts) {
    constexpr TensorType list = Shape<Extents...>::dims;
    static_assert(list.rank == rank, "the nested list has another depth than the Shape of the tensor");
    static_assert(list.rank != rank || detail::list_fits(dims, list),
                  "the nested list has other extents than the Shape of the tensor");
    static_assert(
        fills<U>,
        "a list of floating-point numbers cannot fill a tensor of integers: write integers, or convert with to<T>()");
    Tensor t = empty(rank && dims.extent[0] < 0 ? list.extent[0] / -dims.extent[0] : 1);
    const long each = t.count() / long(parts.size());
    T* to = t.data();
    for (const U* part : parts)
      for (long i = 0; i < each; ++i) *to++ = static_cast<T>(part[i]);
    return t;
  }
  // The elements in row-major order.
  std::byte* elements() const {
    if constexpr (is_image(dims))
      if (storage_.made_in_nchw16n()) return detail::rows_of(storage_, n_, dims.count(1));
    return storage_.data();
  }
  // The block of them, from `offset` bytes on.
  Storage part(std::size_t offset) const {
    if constexpr (is_image(dims))
      if (storage_.made_in_nchw16n()) return elements(), storage_.rows().part(offset);
    return storage_.part(offset);
  }
  // n, of a tensor that has elements.
  long needed() const {
    if (!storage_) throw_error<ValueError>("This tensor has no elements: assign to it first.");
    return n_;
  }
  std::size_t checked(long i, int axis) const {
    return static_cast<std::size_t>(detail::checked_index(i, axis, dims.size(axis, needed())));
  }
  template <class... I>
  std::size_t offset(I... index) const {
    std::size_t at = 0;
    int axis = 0;
    if constexpr (rank == 0) needed();
    ((at = at * static_cast<std::size_t>(extent(axis)) + checked(static_cast<long>(index), axis), ++axis), ...);
    (void)axis;
    return at;
  }

  Storage storage_;
  long n_ = 1;
};

// Dtype and shape of a nested list; see the class for what one and what several lists mean.
template <Element U, std::same_as<U>... V>
Tensor(U, V...) -> Tensor<U, detail::RowShape<int(sizeof...(V))>>;
template <Element U, int A>
Tensor(const U (&)[A]) -> Tensor<U, Shape<A>>;
template <Element U, int A>
Tensor(U (&&)[A]) -> Tensor<U, detail::DeducedOneList<A>>;
template <Element U, int A, int B>
Tensor(const U (&)[A][B]) -> Tensor<U, Shape<A, B>>;
template <Element U, int A, int B, int C>
Tensor(const U (&)[A][B][C]) -> Tensor<U, Shape<A, B, C>>;
template <Element U, int A, int B, int C, int D>
Tensor(const U (&)[A][B][C][D]) -> Tensor<U, Shape<A, B, C, D>>;
template <Element U, int A, int B, int... N>
Tensor(const U (&)[A], const U (&)[B], const U (&... more)[N]) -> Tensor<U, Shape<2 + int(sizeof...(N)), A>>;
template <Element U, int A, int B, int C, int D, int... M, int... N>
Tensor(const U (&)[A][B], const U (&)[C][D], const U (&... more)[M][N])
    -> Tensor<U, Shape<2 + int(sizeof...(N)), A, B>>;
template <Element U, int A, int B, int C, int D, int E, int F, int... L, int... M, int... N>
Tensor(const U (&)[A][B][C], const U (&)[D][E][F], const U (&... more)[L][M][N])
    -> Tensor<U, Shape<2 + int(sizeof...(N)), A, B, C>>;

}  // namespace tenon
TENON_INT_SIZES_END
