// The loop after an optimizer's update: a parameter and its moments change in place, element by element.
#pragma once
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// How the CPU computes the elements of an update: `apply` of an ops::MomentUpdate or `piece` of an ops::UpdateSums. A
/// custom operator has the function itself; Tenon's have a specialisation.
template <class Op>
struct UpdateLoop : Op {};

// What updates compute with vectors, for the single elements after them.
template <class C>
requires std::is_floating_point_v<C>
[[gnu::always_inline]] inline C max(C a, C b) {
  return a > b ? a : b;
}
template <class C>
requires std::is_floating_point_v<C>
[[gnu::always_inline]] inline C min(C a, C b) {
  return a < b ? a : b;
}
template <class C>
requires std::is_floating_point_v<C>
[[gnu::always_inline]] inline C choose_greater(C a, C b, C x, C y) {
  return a > b ? x : y;
}
template <class C>
requires std::is_floating_point_v<C>
[[gnu::always_inline]] inline C square_root(C a) {
  return math::sqrt(a);
}

/// The numbers that every optimizer has. `gradient(g, p)` is what an optimizer sees of an element: without the loss
/// scale, with decay.
template <class C>
struct UpdateNumbers {
  C rate, decay, scale;
  explicit UpdateNumbers(const float* number) : rate(C(number[0])), decay(C(number[1])), scale(C(number[2])) {}
  template <class V>
  [[gnu::always_inline]] V gradient(V g, V p) const {
    return g * V(scale) + V(decay) * p;
  }
};

/// Where an update finds its gradient.
template <class T>
struct GradientAt {
  const T* elements;
  template <class V>
  [[gnu::always_inline]] V load(long i) const {
    if constexpr (is_half<T>) return load_float<V::width>(elements + i);
    else return V::load(elements + i);
  }
  [[gnu::always_inline]] Compute<T> operator[](long i) const { return widened(elements[i]); }
};

/// For each of `count` elements calls f(gradient, changed...) with their values, of which f changes all but the first:
/// vectors where T computes in itself; 16-bit floats compute in float and are rounded once.
template <class T, class F, class Gradient, class... Changed>
[[gnu::always_inline]] inline void update_elements(long count, F f, Gradient gradient, T* first, Changed*... others) {
  long i = 0;
  const auto update = [&](auto g, auto store, auto... value) __attribute__((always_inline)) {
    f(g, value...);
    store(value...);
  };
  if constexpr (std::is_same_v<Compute<T>, T>) {
    const auto vectors = [&]<class V>(V) __attribute__((always_inline)) {
      const auto store = [&](V a, auto... value)
                             __attribute__((always_inline)) { a.store(first + i), (value.store(others + i), ...); };
      for (; i + V::width <= count; i += V::width)
        update(gradient.template load<V>(i), store, V::load(first + i), V::load(others + i)...);
    };
    vectors(Simd<T>());
    if constexpr (simd_width<T> > 4) vectors(Simd<T, 4>());  // biases are short
  }
  const auto store = [&](Compute<T> a, auto... value) __attribute__((always_inline)) {
    first[i] = narrowed<T>(a), ((others[i] = narrowed<T>(value)), ...);
  };
  for (; i < count; ++i) update(gradient[i], store, widened(first[i]), widened(others[i])...);
}

}  // namespace tenon::kernel
TENON_EXACT_END
