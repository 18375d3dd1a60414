// Lamb: the loops of its norms and of its update.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>
#include <tenon/backend/cpu/optimizer/norms.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyLamb;
struct LambSquares;
}

namespace kernel {

/// What Lamb reads beside the elements: the common three, beta1, beta2, eps, and by what the moments are multiplied
/// against their bias.
template <class C>
struct LambRule : UpdateNumbers<C> {
  C beta1, beta2, epsilon, correction1, correction2, rest1, rest2;
  explicit LambRule(const float* number)
      : UpdateNumbers<C>(number),
        beta1(number[3]),
        beta2(number[4]),
        epsilon(number[5]),
        correction1(number[6]),
        correction2(number[7]),
        rest1(C(1) - beta1),
        rest2(C(1) - beta2) {}
  /// Moves the moments on.
  template <class V>
  [[gnu::always_inline]] void move(V g, V& m, V& v) const {
    g = g * V(this->scale);
    m = V(beta1) * m + V(rest1) * g;
    v = V(beta2) * v + V(rest2) * g * g;
  }
  /// The direction of the step, with the decay of parameter p in it.
  template <class V>
  [[gnu::always_inline]] V direction(V p, V m, V v) const {
    return m * V(correction1) / (square_root(v * V(correction2)) + V(epsilon)) + V(this->decay) * p;
  }
};

/// The sums of squares of a piece of a parameter and of its step's direction.
template <class T, class G>
inline TwoSums<Compute<T>> lamb_squares(const float* number, const T* p, const G* g, const T* m, const T* v,
                                        long count) {
  using C = Compute<T>;
  const LambRule<C> is(number);
  C own[block_length]{}, step[block_length]{};
  const auto add = [&]<class V>(V slope, V parameter, V first, V second, C* to_own, C* to_step)
                       __attribute__((always_inline)) {
                         is.move(slope, first, second);
                         const V direction = is.direction(parameter, first, second);
                         const auto sum = [](C* to, V x) __attribute__((always_inline)) {
                           if constexpr (std::is_same_v<V, C>) *to += x * x;
                           else (V::load(to) + x * x).store(to);
                         };
                         sum(to_own, parameter);
                         sum(to_step, direction);
                       };
  long i = 0;
  if constexpr (std::is_same_v<C, T>) {
    using V = Simd<C, (simd_width<C> < block_length ? simd_width<C> : block_length)>;
    for (; i + block_length <= count; i += block_length)
      for (int l = 0; l < block_length; l += V::width)
        add(GradientAt<G>{g}.template load<V>(i + l), V::load(p + i + l), V::load(m + i + l), V::load(v + i + l),
            own + l, step + l);
  }
  for (; i < count; ++i)
    add(GradientAt<G>{g}[i], widened(p[i]), widened(m[i]), widened(v[i]), own + i % block_length,
        step + i % block_length);
  return {fold_lanes(own, Plus()), fold_lanes(step, Plus())};
}

template <>
struct UpdateLoop<ops::LambSquares> {
  template <class Call>
  static auto piece(const Arguments& a, long begin, long count) {
    using T = typename Call::template Operand<0>;
    const auto from = [&]<class E>(int k, E) { return a.operand<E>(k) + begin; };
    return lamb_squares(a.operand<float>(4), from(0, T()), from(1, typename Call::template Operand<1>()), from(2, T()),
                        from(3, T()), count);
  }
};

/// One step of Lamb for `count` elements of the parameter, changed[0], and of its moments. The learning rate among the
/// numbers is multiplied by the ratio of the norms.
template <>
struct UpdateLoop<ops::ApplyLamb> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    const LambRule<Compute<T>> is(number);
    const auto step = [=]<class V>(V g, V& p, V& m, V& v) __attribute__((always_inline)) {
      is.move(g, m, v);
      p = p - V(is.rate) * is.direction(p, m, v);
    };
    update_elements(count, step, gradient, changed[0], changed[1], changed[2]);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
