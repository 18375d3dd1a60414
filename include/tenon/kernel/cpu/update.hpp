// The loop behind an optimizer's update: a parameter and its moments change in place, element by element.
#pragma once
#include <tenon/kernel/cpu/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// For each of `count` elements calls f(gradient, changed...) with their values, of which f changes all but the first: vectors
/// where T computes in itself; 16-bit floats compute in float and are rounded once.
template <class T, class F, class... Changed>
[[gnu::always_inline]] inline void update_elements(long count, F f, const T* gradient, Changed*... changed) {
  long i = 0;
  if constexpr (std::is_same_v<Compute<T>, T>) {
    const auto vectors = [&]<class V>(V) {
      const auto vector = [&](V g, auto... value) {
        f(g, value...);
        (value.store(changed + i), ...);
      };
      for (; i + V::width <= count; i += V::width) vector(V::load(gradient + i), V::load(changed + i)...);
    };
    vectors(Simd<T>());
    if constexpr (simd_width<T> > 4) vectors(Simd<T, 4>());  // biases are short
  }
  const auto element = [&](Compute<T> g, auto... value) {
    f(g, value...);
    ((changed[i] = narrowed<T>(value)), ...);
  };
  for (; i < count; ++i) element(widened(gradient[i]), widened(changed[i])...);
}

}  // namespace tenon::kernel
TENON_EXACT_END
