// The loops around an optimizer's update and its norms, which the operator defines as a function of one element.
#pragma once
#include <tenon/backend/cpu/reduce/accumulation_order.hpp>
#include <tenon/core/simd/simd_half.hpp>
#include <tenon/target/update_arity.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
// An element, or neighbouring elements, in the type in which they are computed.
template <class V, class T>
[[gnu::always_inline]] inline V load_value(const T* from) {
  if constexpr (std::is_arithmetic_v<V>) return static_cast<V>(*from);
  else if constexpr (is_half<T>) return load_float<V::width>(from);
  else return V::load(from);
}
template <class V, class T>
[[gnu::always_inline]] inline void store_value(V value, T* to) {
  if constexpr (std::is_arithmetic_v<V>) *to = static_cast<T>(value);
  else if constexpr (is_half<T>) store_float(value, to);
  else value.store(to);
}

// Calls f(V(), i) for parts of 0 .. count - 1 that together are all of it: vectors, then single elements.
template <class T, class F>
[[gnu::always_inline]] inline void each_vector(long count, F f) {
  using C = Compute<T>;
  long i = 0;
  for (; i + simd_width<C> <= count; i += simd_width<C>) f(Simd<C>(), i);
  // biases are short; 4 elements of 16 bits are converted one by one
  if constexpr (simd_width<C> > 4 && !is_half<T>)
    for (; i + 4 <= count; i += 4) f(Simd<C, 4>(), i);
  for (; i < count; ++i) f(C(), i);
}

template <class T, class F, int... K, class... R>
[[gnu::always_inline]] inline void update_arrays(long count, F f, T* const* changed, std::integer_sequence<int, K...>,
                                                 const R*... read) {
  T* const to[]{changed[K]...};
  each_vector<T>(count, [&]<class V>(V, long i) __attribute__((always_inline)) {
    [&](auto... value) __attribute__((always_inline)) {
      f(load_value<V>(read + i)..., value...);
      (store_value(value, to[K] + i), ...);
    }(load_value<V>(to[K] + i)...);
  });
}
}  // namespace detail

/// Calls f(read..., changed...) for each of `count` elements, first of vectors of them, and stores what it has changed.
/// It has the elements of `changed`, or the first of them.
template <int most, class T, class F, class... R>
[[gnu::always_inline]] inline void update_elements(long count, F f, T* const* changed, const R*... read) {
  constexpr int own = update_arity<F, Compute<T>, int(sizeof...(R)), most>();
  detail::update_arrays(count, f, changed, std::make_integer_sequence<int, own>(), read...);
}

/// One step of `Op`, an update of `arrays` arrays, for `count` elements: changed[0] is the parameter.
template <class Op, auto config, int arrays, class T, class G, class N>
[[gnu::flatten]] void update_by_step(const N* numbers, long count, const G* gradient, T* const* changed) {
#if !defined(__CUDA_ARCH__)  // the function of an element is one for the device, too, which has no vectors
  Op::template step<config, Compute<T>>(
      numbers, [=](auto f) __attribute__((always_inline)) { update_elements<arrays>(count, f, changed, gradient); });
#endif
}

/// The sums of the squares of up to lane_piece elements of a parameter p, and of those of direction(g, p, more...), in
/// the order of lane_sums.
template <class C, class F, class G, class T, class... R>
inline TwoSums<C> square_sums(long count, F direction, const G* g, const T* p, const R*... more) {
  C own[reduce_lanes]{}, other[reduce_lanes]{};
  const auto add = [&]<class V>(V, long i, int lane) __attribute__((always_inline)) {
    V values[]{detail::load_value<V>(p + i), detail::load_value<V>(more + i)...};
    const auto add_square = [&](V x, C* to) __attribute__((always_inline)) {
      detail::store_value(detail::load_value<V>(to) + x * x, to);
    };
    add_square(values[0], own + lane);
    [&]<std::size_t... K>(std::index_sequence<K...>) __attribute__((always_inline)) {
      add_square(direction(detail::load_value<V>(g + i), values[K]...), other + lane);
    }(std::make_index_sequence<1 + sizeof...(R)>());
  };
  using V = Simd<C, (simd_width<C> < reduce_lanes ? simd_width<C> : reduce_lanes)>;
  long i = 0;
  for (; i + reduce_lanes <= count; i += reduce_lanes)
    for (int lane = 0; lane < reduce_lanes; lane += V::width) add(V(), i + lane, lane);
  for (; i < count; ++i) add(C(), i, int(i % reduce_lanes));
  return {fold_lanes(own, Plus()), fold_lanes(other, Plus())};
}

}  // namespace tenon::kernel
TENON_EXACT_END
