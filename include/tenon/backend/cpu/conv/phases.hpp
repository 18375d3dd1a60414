// The result of a convolution with phases, those of the gradient for the input: where the sums of a phase go, and what
// no phase writes.
#pragma once
#include <tenon/backend/cpu/conv/geometry.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// Pixels of a phase without taps are zero: a stride that is wider than the kernel, or has a divisor in common with the
// dilation, leaves them out. If there are such, clears `rows` planes of the result; starts: of the phases' taps.
template <class T>
[[gnu::noinline]] void clear_untouched(const ConvGeometry& c, const long* starts, T* to, long rows) {
  for (int phase = 0; phase < c.phases(); ++phase)
    if (starts[phase] == starts[phase + 1]) {
      for (long i = 0; i < rows * c.height * c.width; ++i) to[i] = T(0);
      return;
    }
}

// to[j * step] = sums[j], rounded once; float32 + 0. What lies between them stays.
template <class A, class T>
[[gnu::always_inline]] inline void spread_sums(const A* sums, T* to, long count, long step) {
  long j = 0;
  if constexpr (std::is_same_v<T, float>) {
    using V = Simd<float>;
    constexpr auto every_other = [](int lane) { return lane % 2 * V::width + lane; };
    // one is left at least: no element after the last one is touched
    for (; step == 2 && j + V::width < count; j += V::width)
      for (int half = 0; half < 2; ++half) {
        float* const pairs = to + 2 * j + half * V::width;
        const V own = V::load(sums + j) + V(0.0f);
        tenon::detail::shuffled<V>(interleaved(own, own, half), V::load(pairs),
                                   tenon::detail::Order<V::width, every_other>())
            .store(pairs);
      }
  }
  for (; j < count; ++j) to[j * step] = narrowed<T>(sums[j] + A(0));
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
