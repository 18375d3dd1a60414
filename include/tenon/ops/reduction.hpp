// Base of operators that combine the elements along axes to one.
#pragma once
#include <tenon/ops/binary.hpp>
#include <tenon/ops/broadcast_to.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Settings of a reduction: a bit per axis of the operand, and whether reduced axes stay with extent 1.
struct ReduceAxes {
  int mask = 0, keep_dims = 0, wrong_axis = 0;
  static constexpr int twice = 1 << 16;        // added to a wrong axis that the list has twice
  static constexpr int axis_zero = twice - 1;  // the axis 0 of a number, which has none; wrong_axis = 0 is no mistake
};
/// From a list of axes, counted from the end if negative; an empty list means all.
template <int... Axes>
constexpr ReduceAxes reduce_axes(int rank, bool keep_dims) {
  ReduceAxes c{sizeof...(Axes) ? 0 : (1 << rank) - 1, keep_dims, 0};
  [[maybe_unused]] const auto add = [&](int axis) {
    const int positive = normalized_axis(axis, rank);
    if (positive < 0) c.wrong_axis = axis ? axis : ReduceAxes::axis_zero;
    else if (c.mask >> positive & 1) c.wrong_axis = ReduceAxes::twice + positive;
    else c.mask |= 1 << positive;
  };
  (add(Axes), ...);
  return c;
}

TENON_EXACT_BEGIN
/// Base of a reduction. `Op` gives `start<A>()`, `combine(a, b)`, and `finish(total, count)` in the accumulator type A
/// (combine also in vectors of it, Simd), which is `Op::Carried<T>` if there is such a type; or, if it is a sum,
/// `divisor(count)` alone.
///
/// A template `Op::Element<T>` is what kernels read in the place of an element T of the operand, as in
/// ops/reduce_sum_square.hpp.
///
/// order       16 interleaved partial results along a trailing run of reduced axes, combined in a fixed tree; row-major
///             order otherwise. Sums of floating-point numbers are short chains, whose sums are added as a tree
///             (backend/cpu/reduce/sum_tree.hpp). The shape alone decides, so threads and batch size change no bit.
template <class Op, FixedString Name>
struct Reduction : Operator<Op, Name> {
  using Config = ReduceAxes;

  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return double(in[0].count(n));
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType& x = in[0];
    TensorType y;
    y.dtype = x.dtype;
    if (c.wrong_axis >= Config::twice)
      error << Op::name << " got the axis " << c.wrong_axis - Config::twice << " twice for " << x
            << "; reduce_sum_keep and its like keep reduced axes";
    else if (c.wrong_axis)
      error << Op::name << " got the axis " << (c.wrong_axis == Config::axis_zero ? 0 : c.wrong_axis) << " for " << x
            << " of rank " << x.rank;
    for (int axis = 0; axis < x.rank; ++axis) {
      if (!(c.mask >> axis & 1)) y.extent[y.rank++] = x.extent[axis];
      else if (c.keep_dims) y.extent[y.rank++] = 1;
    }
    if (!tenon::detail::only_first_is_dynamic(y))
      error << Op::name << " of " << x << ": only the leading extent of the result can depend on n";
    return y;
  }
  /// The shape of the result with reduced axes kept as 1, which broadcasts against the operand.
  static constexpr TensorType kept(const TensorType& x, const Config& c) {
    TensorType t = x;
    for (int axis = 0; axis < x.rank; ++axis)
      if (c.mask >> axis & 1) t.extent[axis] = 1;
    return t;
  }
  template <class Call>
  static constexpr long reduced_count(long n) {
    return Call::operand(0).count(n) / (Call::result.count(n) ? Call::result.count(n) : 1);
  }
  // What a kernel is compiled with: named, so that there is one for all shapes.
  struct Combine {
    template <class A>
    A operator()(A x, A y) const {
      return Op::combine(x, y);
    }
  };
  template <class R>
  struct Finish {
    long count;
    template <class A>
    R operator()(A total) const {
      return static_cast<R>(Op::finish(total, count));
    }
  };
  template <class T>
  static constexpr auto element() {
    if constexpr (requires { typename Op::template Element<T>; })
      return std::type_identity<typename Op::template Element<T>>{};
    else return std::type_identity<T>{};
  }
  template <class T>
  static constexpr auto accumulator() {
    if constexpr (requires { typename Op::template Carried<T>; }) return typename Op::template Carried<T>{};
    else return Accumulator<T>{};
  }
};
TENON_EXACT_END

/// The settings for reducing an operand of type X.
template <class X, bool keep_dims, int... Axes>
inline constexpr ReduceAxes axes_of = [] {
  if constexpr (is_broken<X>) return ReduceAxes{};
  else return reduce_axes<Axes...>(X::dims.rank, keep_dims);
}();

namespace detail {
/// What a sum or a product takes for x: bool as int64, as PyTorch does, so that trues are counted.
template <class X>
constexpr decltype(auto) countable(const std::source_location& at, const X& x) {
  if constexpr (std::is_same_v<ops::ElementOf<X>, bool>) return cast_to<std::int64_t>(at, x);
  else return (x);
}
}  // namespace detail

}  // namespace tenon::ops
