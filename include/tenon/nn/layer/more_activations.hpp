// Further activation functions as layers, among them PReLU with its parameter; their numbers are template arguments.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/elu.hpp>
#include <tenon/ops/fast_gelu.hpp>
#include <tenon/ops/hardtanh.hpp>
#include <tenon/ops/leaky_relu.hpp>
#include <tenon/ops/log_sigmoid.hpp>
#include <tenon/ops/mish.hpp>
#include <tenon/ops/shrink.hpp>
#include <tenon/ops/softsign.hpp>

namespace tenon::inline TENON_ABI::nn {

/// min(max(x, 0), 6), see ops/hardtanh.hpp.
struct ReLU6 : Cell<ReLU6> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::relu6(x); }
};
/// x limited to [low, high], see ops/hardtanh.hpp.
template <auto low = -1, auto high = 1>
struct Hardtanh : Cell<Hardtanh<low, high>> {
  static_assert(low < high, "Hardtanh<low, high> needs low < high");
  constexpr auto construct(const ops::Operand auto& x) const { return ops::hardtanh(x, low, high); }
};
/// min(max(x + 3, 0), 6) / 6, see ops/hardtanh.hpp. PyTorch's Hardsigmoid.
struct HSigmoid : Cell<HSigmoid> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::hsigmoid(x); }
};
/// x min(max(x + 3, 0), 6) / 6, see ops/hardtanh.hpp. PyTorch's Hardswish.
struct HSwish : Cell<HSwish> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::hswish(x); }
};
/// x where x > 0, else alpha x, see ops/leaky_relu.hpp. PyTorch's default is 0.01.
template <auto alpha = 0.2f>
struct LeakyReLU : Cell<LeakyReLU<alpha>> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::leaky_relu(x, alpha); }
};
/// x where x > 0, else alpha (eˣ - 1), see ops/elu.hpp.
template <auto alpha = 1>
struct ELU : Cell<ELU<alpha>> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::elu(x, alpha); }
};
/// x where x > 0, else alpha (e^(x / alpha) - 1), see ops/elu.hpp.
template <auto alpha = 1>
struct CELU : Cell<CELU<alpha>> {
  static_assert(alpha != 0, "CELU<alpha> needs an alpha other than 0");
  constexpr auto construct(const ops::Operand auto& x) const { return ops::celu(x, alpha); }
};
/// Scaled exponential linear unit, see ops/elu.hpp. PyTorch's SELU.
struct SeLU : Cell<SeLU> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::selu(x); }
};
/// x tanh(softplus(x)), see ops/mish.hpp.
struct Mish : Cell<Mish> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::mish(x); }
};
/// ln(sigmoid(x)), see ops/log_sigmoid.hpp.
struct LogSigmoid : Cell<LogSigmoid> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::logsigmoid(x); }
};
/// x where |x| > lambda, else 0, see ops/shrink.hpp. PyTorch's Hardshrink.
template <auto lambda = 0.5f>
struct HShrink : Cell<HShrink<lambda>> {
  static_assert(lambda >= 0, "HShrink<lambda> needs a lambda of at least 0");
  constexpr auto construct(const ops::Operand auto& x) const { return ops::hardshrink(x, lambda); }
};
/// x moved towards 0 by lambda, see ops/shrink.hpp. PyTorch's Softshrink.
template <auto lambda = 0.5f>
struct SoftShrink : Cell<SoftShrink<lambda>> {
  static_assert(lambda >= 0, "SoftShrink<lambda> needs a lambda of at least 0");
  constexpr auto construct(const ops::Operand auto& x) const { return ops::softshrink(x, lambda); }
};
/// x / (1 + |x|), see ops/softsign.hpp.
struct Softsign : Cell<Softsign> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::softsign(x); }
};
/// x sigmoid(1.702 x), see ops/fast_gelu.hpp.
struct FastGelu : Cell<FastGelu> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::fast_gelu(x); }
};

/// Leaky rectified linear unit whose slope is a parameter:  y = x where x > 0, else w x
///
/// x           [N, C, ...] with C = channels, or any shape with channels = 1
/// parameters  w [channels], 0.25 by default
/// source      He and others, arXiv 1502.01852; MindSpore nn.PReLU
template <int channels = 1, auto init = Constant{0.25f}>
struct PReLU : Cell<PReLU<channels, init>> {
  static_assert(channels > 0, "PReLU<channels> needs a positive number of channels");
  Parameter<float, Shape<channels>, init> w;

  constexpr auto construct(const ops::Operand auto& x) const { return ops::prelu(x, w); }
};

}  // namespace tenon::nn
