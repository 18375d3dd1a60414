// Sigmoid and tanh for the gates of recurrent layers, of numbers and of vectors: a third of the steps of math::exp and
// math::tanh, a few ulp more of error.
#pragma once
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

// A step of an LSTM needs five of these per unit. Vectors are written out here, because what a compiler makes of a loop
// has a comparison and a selection for each limit. All lanes take the same steps in the same order, so results do not
// depend on the width.

// Templates are constexpr so that device code can call them for numbers.
namespace detail {
template <class V, int N>
[[gnu::always_inline]] constexpr V gate_polynomial(const float (&c)[N], V x) {
  V sum(c[N - 1]);
#pragma GCC unroll 16
  for (int i = N - 2; i >= 0; --i) sum = fmadd(sum, x, V(c[i]));
  return sum;
}
// -limit .. limit; NaN stays NaN.
template <class V>
[[gnu::always_inline]] constexpr V within(float limit, V x) {
  return math::smaller(V(limit), math::larger(V(-limit), x));
}
// 2ⁿ, where the last bits of `shifted` are n.
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> power_of_shift(Simd<float, Width> shifted) {
  using V = Simd<float, Width>;
  using Bits = typename tenon::detail::SimdStorage<std::uint32_t, Width>::Type;
  return V(reinterpret_cast<typename V::Vector>((reinterpret_cast<Bits>(shifted.lanes) + 127u) << 23));
}
[[gnu::always_inline]] TENON_DEVICE inline float power_of_shift(float shifted) {
  return math::detail::power_of_two(std::bit_cast<std::uint32_t>(shifted));
}
template <class V, class F>
[[gnu::always_inline]] inline V each_lane_of(V x, F f) {  // not constexpr: nvcc would compile it for the device, too
  for (int lane = 0; lane < V::width; ++lane) x.lanes[lane] = f(x.lanes[lane]);
  return x;
}
template <class V, class F>
[[gnu::always_inline]] constexpr V each_lane(V x, F f) {
  if constexpr (std::is_arithmetic_v<V>) return f(x);
  else return each_lane_of(x, f);
}
template <class V>
struct ElementOf {
  using type = typename V::Element;
};
template <class V>
requires std::is_arithmetic_v<V>
struct ElementOf<V> {
  using type = V;
};
}  // namespace detail

/// 1 / (1 + e⁻ˣ) within 3 ulp; beyond -87 and 87 as there. NaN stays NaN.
template <class V>
[[gnu::always_inline]] constexpr V gate_sigmoid(V x) {
  if constexpr (std::is_same_v<typename detail::ElementOf<V>::type, double>) {
    return detail::each_lane(x, [](double v) { return 1.0 / (1.0 + math::exp(-v)); });
  } else {
    constexpr float to_integer = 0x1.8p23f;  // added to a small number it leaves no room for a fraction
    // as of math::exp
    constexpr float c[]{0.5000000013f,   0.1666666668f,   0.04166646471f,
                        0.008333310902f, 0.001393367373f, 0.0001989101718f};
    const V z = detail::within(87.0f, -x);
    const V shifted = fmadd(z, V(1.44269504f), V(to_integer)), n = shifted - V(to_integer);
    const V r = fmadd(n, V(-math::detail::ln2_low), fmadd(n, V(-math::detail::ln2_high), z));
    const V power = V(1.0f) + fmadd(r * r, detail::gate_polynomial(c, r), r);
    return V(1.0f) / fmadd(power, detail::power_of_shift(shifted), V(1.0f));
  }
}

/// tanh x within 6 ulp: x p(x²) / q(x²), fitted to the relative error (1.5e-8) on [-8.7, 8.7]; beyond it as there. NaN
/// stays NaN.
template <class V>
[[gnu::always_inline]] constexpr V gate_tanh(V x) {
  if constexpr (std::is_same_v<typename detail::ElementOf<V>::type, double>) {
    return detail::each_lane(x, [](double v) { return math::tanh(v); });
  } else {
    constexpr float p[]{1.0f, 0.13400467f, 0.003518745f, 2.099385e-05f, 1.3897657e-08f};
    constexpr float q[]{1.0f, 0.46733788f, 0.025964897f, 3.3236496e-04f, 7.996538e-07f};
    const V limited = detail::within(8.7f, x), square = limited * limited;
    return limited * detail::gate_polynomial(p, square) / detail::gate_polynomial(q, square);
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
