// Rectified linear units with a slope below zero: leaky_relu, prelu.
#pragma once
#include <tenon/core/math/either.hpp>
#include <tenon/core/math/flush_denormal.hpp>
#include <tenon/ops/binary.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// 0 where x > 0, else the value. Not for users.
struct WhereNotPositive : Elementwise<WhereNotPositive, "WhereNotPositive"> {
  template <class V>
  static constexpr V eval(V x, V value) {
    return math::either(x > V(0), V(0), math::flush_denormal(value));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call<WhereNotPositive>(d.operand(0), d.gradient()));
    d.no_gradient(0);
  }
};
/// The derivative of LeakyRelu, times the gradient from above: dy where x > 0, else dy alpha. Not for users.
struct LeakyReluGrad : Elementwise<LeakyReluGrad, "LeakyReLUGrad"> {
  template <class V>
  static constexpr V eval(V x, V alpha, V gradient) {
    return math::either(x > V(0), math::flush_denormal(gradient), gradient * alpha);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call<WhereNotPositive>(d.operand(0), d.call<Mul>(d.operand(2), d.gradient())));
    d.flows_to(2, d.call<LeakyReluGrad>(d.operand(0), d.operand(1), d.gradient()));
    d.no_gradient(0);
  }
};

/// Leaky rectified linear unit:  y = x where x > 0, else alpha x
///
/// x, alpha    shapes that broadcast; floating-point
/// derivative  dy where x > 0, else alpha dy; for alpha x dy where x ≤ 0, else 0; it has a derivative, too
/// source      Maas and others 2013; MindSpore's LeakyReLU; with a tensor as alpha PReLU, He and others 2015
struct LeakyRelu : Elementwise<LeakyRelu, "LeakyReLU"> {
  static constexpr bool floating_only = true;
  template <class V>
  static constexpr V eval(V x, V alpha) {
    return math::either(x > V(0), math::flush_denormal(x), alpha * x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<LeakyReluGrad>(d.operand(0), d.operand(1), d.gradient()));
    d.flows_to(1, d.call<WhereNotPositive>(d.operand(0), d.call<Mul>(d.operand(0), d.gradient())));
  }
};
TENON_EXACT_END

/// x where x > 0, else alpha x. alpha is 0.2 by default, as in MindSpore (PyTorch has 0.01).
template <Operand X, OperandOrScalar A = double>
constexpr auto leaky_relu(const X& x, const A& alpha = 0.2, std::source_location at = std::source_location::current()) {
  return binary<LeakyRelu>(at, x, alpha);
}

namespace detail {
// The extents [C, 1, ...] of a weight [C] beside x of [N, C, ...].
template <class X, int features>
struct ChannelsBeside {
  template <int... ones>
  static Shape<features, (ones * 0 + 1)...> shape(std::integer_sequence<int, ones...>);
  using type = decltype(shape(std::make_integer_sequence < int, X::dims.rank<2 ? 0 : X::dims.rank - 2>{}));
};
}  // namespace detail

/// leaky_relu with a weight [C], a value per channel of x, or [1], one for all of them.
///
/// x           [N, C, ...], at least two axes if C > 1
/// source      MindSpore's prelu; PyTorch's prelu
template <Operand X, Operand W>
constexpr auto prelu(const X& x, const W& weight, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X> || is_broken<W>) return leaky_relu(x, weight, at);
  else if constexpr (W::dims.rank != 1 || W::dims[0] == 1) return leaky_relu(x, weight, at);
  else {
    using Channels = typename detail::ChannelsBeside<X, W::dims[0]>::type;
    if constexpr (std::is_base_of_v<ParameterHandle, W>) return leaky_relu(x, ParameterView<W, Channels>(weight), at);
    else return leaky_relu(x, reshape<Channels>(weight, at), at);
  }
}

}  // namespace tenon::ops
