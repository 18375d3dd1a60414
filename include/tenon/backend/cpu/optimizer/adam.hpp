// Adam and AdamWeightDecay: the loops of their updates.
#pragma once
#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
/// What both read beside the elements. 16-bit floats compute in float.
template <class C>
struct AdamNumbers {
  C rate, decay, scale, beta1, beta2, epsilon, rest1, rest2;
  explicit AdamNumbers(const float* number)
      : rate(number[0]),
        decay(number[1]),
        scale(number[2]),
        beta1(number[3]),
        beta2(number[4]),
        epsilon(number[5]),
        rest1(C(1) - beta1),
        rest2(C(1) - beta2) {}
};
}  // namespace detail

/// One step of Adam for the elements [begin, end) of parameter p, gradient g, moments m and v, and with amsgrad the
/// largest v so far. number: learning rate, corrected for the bias; weight decay; what gradients are multiplied with;
/// beta1; beta2; eps.
template <bool nesterov, bool amsgrad, class T, class G>
[[gnu::always_inline]] inline void adam(const float* number, const G* __restrict g, T* __restrict p, T* __restrict m,
                                        T* __restrict v, [[maybe_unused]] T* __restrict largest, long begin, long end) {
  using C = Compute<T>;
  const detail::AdamNumbers<C> is(number);
  each_block(begin, end, [=](long i, auto length) __attribute__((always_inline)) {
    C slope[length()], root[length()], direction[length()];
    load_all(g + i, slope);
    for (int l = 0; l < length(); ++l) {
      const C gradient = slope[l] * is.scale + is.decay * C(p[i + l]);
      const C first = is.beta1 * C(m[i + l]) + is.rest1 * gradient,
              second = is.beta2 * C(v[i + l]) + is.rest2 * gradient * gradient;
      m[i + l] = T(first);
      v[i + l] = T(second);
      root[l] = second;
      if constexpr (amsgrad) largest[i + l] = T(root[l] = C(largest[i + l]) > second ? C(largest[i + l]) : second);
      direction[l] = nesterov ? is.beta1 * first + is.rest1 * gradient : first;
    }
    math::sqrt_all(root);
    for (int l = 0; l < length(); ++l) p[i + l] = T(C(p[i + l]) - is.rate * direction[l] / (root[l] + is.epsilon));
  });
}

/// The same for AdamWeightDecay, whose decay does not enter the moments.
template <class T, class G>
[[gnu::always_inline]] inline void adam_weight_decay(const float* number, const G* __restrict g, T* __restrict p,
                                                     T* __restrict m, T* __restrict v, long begin, long end) {
  using C = Compute<T>;
  const detail::AdamNumbers<C> is(number);
  each_block(begin, end, [=](long i, auto length) __attribute__((always_inline)) {
    C slope[length()], root[length()], first[length()];
    load_all(g + i, slope);
    for (int l = 0; l < length(); ++l) {
      const C gradient = slope[l] * is.scale;
      first[l] = is.beta1 * C(m[i + l]) + is.rest1 * gradient;
      root[l] = is.beta2 * C(v[i + l]) + is.rest2 * gradient * gradient;
      m[i + l] = T(first[l]);
      v[i + l] = T(root[l]);
    }
    math::sqrt_all(root);
    for (int l = 0; l < length(); ++l)
      p[i + l] = T(C(p[i + l]) - is.rate * (first[l] / (root[l] + is.epsilon) + is.decay * C(p[i + l])));
  });
}

}  // namespace tenon::kernel

namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyAdam;
struct ApplyAdamWeightDecay;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::ApplyAdam> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return 8;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr auto config = Call::config();
    kernel::adam<config.use_nesterov != 0, config.use_amsgrad != 0>(
        a.operand<float>(config.use_amsgrad ? 5 : 4), a.operand<typename Call::template Operand<1>>(1), a.changed<T>(0),
        a.changed<T>(2), a.changed<T>(3), a.changed<T>(config.use_amsgrad ? 4 : 3), begin, end);
  }
};

template <>
struct Kernel<Cpu, ops::ApplyAdamWeightDecay> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return 8;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    kernel::adam_weight_decay(a.operand<float>(4), a.operand<typename Call::template Operand<1>>(1), a.changed<T>(0),
                              a.changed<T>(2), a.changed<T>(3), begin, end);
  }
};

}  // namespace tenon
TENON_EXACT_END
