// Updates of the rows of a table that the samples of a batch have used, and of no others (nn::EmbeddingLookup).
#pragma once
#include <limits>

#include <tenon/call/apply.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/select.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

/// What the gradient of an unused row is replaced by: the least finite number.
inline constexpr float unused_row = std::numeric_limits<float>::lowest();

TENON_EXACT_BEGIN
/// An element in memory whose value is its size, without the sign: what kernels read in the place of T.
template <class T>
struct SizeOf {
  using Stored = T;
  T stored;
  template <class A>
  TENON_DEVICE explicit constexpr operator A() const {
    const Compute<T> x = static_cast<Compute<T>>(stored);
    return static_cast<A>(x < Compute<T>(0) ? -x : x);
  }
  template <class V>
  [[gnu::always_inline]] static V of_lanes(V x) {
    return math::larger(x, -x);
  }
};
/// The largest size in each row of a gradient; NaN if one is. A part of an update, not for users.
struct LargestSize : Reduction<LargestSize, "LargestSize"> {
  template <class T>
  using Element = SizeOf<T>;
  template <class T>
  using Carried = Compute<T>;
  static constexpr None derivative{};
  template <class A>
  static constexpr A start() {
    return A(0);
  }
  template <class A>
  static constexpr A combine(A a, A b) {
    return ReduceMax::combine(a, b);
  }
  template <class A, int Width>
  static Simd<A, Width> combine(Simd<A, Width> a, Simd<A, Width> b) {
    return ReduceMax::combine(a, b);
  }
  template <class A>
  static constexpr A finish(A largest, long) {
    return largest;
  }
};

/// What an element is after its update, or, in an unused row, before. NaN and infinite gradients are used ones.
template <class V>
[[gnu::always_inline]] TENON_DEVICE inline V used_or(V gradient, V after, V before) {
  // a number above minus infinity that is not above the least finite one is that
  return math::where_greater<V>(
      gradient, V(unused_row), after,
      math::where_greater<V>(gradient, V(-std::numeric_limits<float>::infinity()), before, after));
}

/// The update of `Op`, which has two moments, in the rows that were used.
template <class Own, FixedString Name, class Op>
struct LazyUpdate : MomentUpdate<Own, Name> {
  static constexpr bool update = false;
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    Op::template step<config, C>(n, [=](auto change) __attribute__((always_inline)) {
      each([=]<class V>(V g, V& p, V& first, V& second) __attribute__((always_inline)) {
        const V p_before = p, first_before = first, second_before = second;
        change(g, p, first, second);
        p = used_or<V>(g, p, p_before);
        first = used_or<V>(g, first, first_before);
        second = used_or<V>(g, second, second_before);
      });
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// Appends the gradient of a table with its unused rows marked: those in which all elements are 0.
constexpr int mark_unused_rows(Builder& b, int gradient) {
  const TensorType type = b.nodes[std::size_t(gradient)].type;
  const int largest = b.call<ops::LargestSize>(ops::ReduceAxes{(1 << type.rank) - 2, 1, 0}, gradient);
  const int used = b.call<ops::NotEqual>(NoConfig{}, largest, b.constant(type.dtype, 0));
  return b.call<ops::Select>(NoConfig{}, used, gradient, b.constant(type.dtype, double(ops::unused_row)));
}

}  // namespace nn
}  // namespace tenon
