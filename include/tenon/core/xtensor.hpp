// The gateway to xtensor: views both ways without a copy, and copies with checked shapes. Only this file includes
// xtensor.
#pragma once
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<xtensor/containers/xadapt.hpp>)  // 0.26 and newer
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#elif __has_include(<xtensor/xadapt.hpp>)
#if defined(__clang__) && __clang_major__ >= 19 && defined(__cpp_template_template_args)
#include <clang 19 takes xtensor before 0.26 only with -fno-relaxed-template-template-args: add it, or a newer one>
#endif
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#else
#include <Header tenon/core/xtensor.hpp needs xtensor. On Debian: apt-get install libxtensor-dev>
#endif

#include <tenon/core/tensor.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// True for containers, false for views and adaptors, whose elements are owned elsewhere.
template <class X>
inline constexpr bool owns_elements = false;
template <class Elements, xt::layout_type Layout, class Extents, class Tag>
inline constexpr bool owns_elements<xt::xarray_container<Elements, Layout, Extents, Tag>> = true;
template <class Elements, std::size_t Rank, xt::layout_type Layout, class Tag>
inline constexpr bool owns_elements<xt::xtensor_container<Elements, Rank, Layout, Tag>> = true;

template <class Expression>
long xtensor_batch(const TensorType& type, const Expression& e) {
  const auto extent = [&](int axis) { return static_cast<std::int64_t>(e.shape()[static_cast<std::size_t>(axis)]); };
  AnyTensor shape;
  shape.dtype = type.dtype;
  if (e.dimension() > AnyTensor::max_axes)
    throw_error<ValueError>("A tensor ", type_text(type), " cannot be made from an xtensor with ", e.dimension(),
                            " axes.");
  shape.rank = int(e.dimension());
  for (int axis = 0; axis < shape.rank; ++axis) shape.extent[axis] = extent(axis);
  return batch_of_view(type, shape);
}
}  // namespace detail

/// The tensor as an xtensor expression of fixed rank that refers to its elements: `xt::sum(as_xtensor(x))`. The tensor
/// must outlive it.
template <Element T, class S>
auto as_xtensor(Tensor<T, S>& x) {
  std::array<std::size_t, std::size_t(S::rank)> shape{};
  for (int axis = 0; axis < S::rank; ++axis) shape[std::size_t(axis)] = static_cast<std::size_t>(x.extent(axis));
  return xt::adapt(x.data(), static_cast<std::size_t>(x.count()), xt::no_ownership(), shape);
}
template <Element T, class S>
auto as_xtensor(const Tensor<T, S>& x) {
  std::array<std::size_t, std::size_t(S::rank)> shape{};
  for (int axis = 0; axis < S::rank; ++axis) shape[std::size_t(axis)] = static_cast<std::size_t>(x.extent(axis));
  return xt::adapt(x.data(), static_cast<std::size_t>(x.count()), xt::no_ownership(), shape);
}
template <Element T, class S>
auto as_xtensor(Tensor<T, S>&&) = delete;

/// Any view as a run-time-rank xtensor expression of T. Throws TypeError for another dtype.
template <Element T>
auto as_xtensor(const AnyTensor& x) {
  const std::vector<std::size_t> shape(x.extent, x.extent + x.rank);
  return xt::adapt(x.as<T>().data(), static_cast<std::size_t>(x.count()), xt::no_ownership(), shape);
}

/// A tensor with the values of an xtensor container or expression, converted to T, in row-major order:
/// `from_xtensor<float, Shape<dyn, 3>>(a)`. A row-major container of T that is moved in gives its elements away
/// instead. Throws ValueError for another shape.
template <Element T, class S, class Expression>
Tensor<T, S> from_xtensor(Expression&& e) {
  using Source = std::remove_cvref_t<Expression>;
  const long n = detail::xtensor_batch(Tensor<T, S>::dims, e);
  if constexpr (!std::is_lvalue_reference_v<Expression> && !std::is_const_v<Expression> &&
                detail::owns_elements<Source>) {
    if constexpr (std::is_same_v<typename Source::value_type, T>) {
      if (e.layout() == xt::layout_type::row_major && e.size())
        return Tensor<T, S>(Storage::adopt(std::move(e), [](Source& kept) { return kept.data(); }), n);
    }
  }
  Tensor<T, S> t = Tensor<T, S>::empty(n);
  T* to = t.data();
  for (auto it = e.template begin<xt::layout_type::row_major>(); it != e.template end<xt::layout_type::row_major>();
       ++it)
    *to++ = static_cast<T>(*it);
  return t;
}

}  // namespace tenon
