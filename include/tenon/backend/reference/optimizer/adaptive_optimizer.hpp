// The updates of the optimizers of which every element has a step of its own, by their formulas.
#pragma once
#include <cmath>

#include <tenon/backend/reference/optimizer/optimizer.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyAdadelta;
struct ApplyAdagrad;
struct ApplyAdamax;
struct ApplyAsgd;
struct ApplyFtrl;
struct ApplyProximalAdagrad;
struct ApplyRmsprop;
struct ApplyRprop;
}  // namespace ops

/// Operand 2 is the mean square, 3 the step, 4 the mean gradient; own numbers are decay, momentum, and epsilon.
template <>
struct Kernel<Reference, ops::ApplyRmsprop> : kernel::reference::Update<ops::ApplyRmsprop> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double g = scale * x.gradient() + decay * x[0];
    const double keep = own[0], momentum = own[1], epsilon = own[2];
    const double s = keep * x[2] + (1 - keep) * g * g;
    double spread = s;
    if constexpr (Call::config().centered) {
      const double mean = keep * x[4] + (1 - keep) * g;
      x.set(4, mean);
      spread = s > mean * mean ? s - mean * mean : 0;
    }
    const double m = momentum * x[3] + rate * g / std::sqrt(spread + epsilon);
    x.set(0, x[0] - m);
    x.set(2, s);
    x.set(3, m);
  }
};
/// Operand 2 is the sum of squares; the own number is 1 if it grows.
template <>
struct Kernel<Reference, ops::ApplyAdagrad> : kernel::reference::Update<ops::ApplyAdagrad> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double g = scale * x.gradient() + decay * x[0];
    const double sum = x[2] + own[0] * g * g;
    x.set(0, x[0] - rate * g / std::sqrt(sum));
    x.set(2, sum);
  }
};
/// Operand 2 is the sum of squares; own numbers are l1 and l2.
template <>
struct Kernel<Reference, ops::ApplyProximalAdagrad> : kernel::reference::Update<ops::ApplyProximalAdagrad> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double g = scale * x.gradient() + decay * x[0];
    const double sum = x[2] + g * g, r = rate / std::sqrt(sum), limit = r * own[0], moved = x[0] - r * g;
    const double drawn = moved > limit ? moved - limit : moved < -limit ? moved + limit : moved - moved;
    x.set(0, drawn / (1 + r * own[1]));
    x.set(2, sum);
  }
};
/// Operand 2 is the mean square of gradients, 3 that of steps; own numbers are rho and epsilon.
template <>
struct Kernel<Reference, ops::ApplyAdadelta> : kernel::reference::Update<ops::ApplyAdadelta> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double g = scale * x.gradient() + decay * x[0];
    const double keep = own[0], epsilon = own[1];
    const double square = keep * x[2] + (1 - keep) * g * g;
    const double move = std::sqrt(x[3] + epsilon) / std::sqrt(square + epsilon) * g;
    x.set(0, x[0] - rate * move);
    x.set(2, square);
    x.set(3, keep * x[3] + (1 - keep) * move * move);
  }
};
/// Operand 2 is the mean gradient, 3 the largest one; own numbers are beta1, beta2, and eps.
template <>
struct Kernel<Reference, ops::ApplyAdamax> : kernel::reference::Update<ops::ApplyAdamax> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double g = scale * x.gradient() + decay * x[0];
    const double beta1 = own[0], beta2 = own[1], epsilon = own[2], size = std::fabs(g);
    const double m = beta1 * x[2] + (1 - beta1) * g, largest = beta2 * x[3] > size ? beta2 * x[3] : size;
    x.set(0, x[0] - rate * m / (largest + epsilon));
    x.set(2, m);
    x.set(3, largest);
  }
};
/// Operand 2 is the average; own numbers are what the parameter shrinks by, and its share in the average.
template <>
struct Kernel<Reference, ops::ApplyAsgd> : kernel::reference::Update<ops::ApplyAsgd> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double g = scale * x.gradient() + decay * x[0];
    const double shrink = own[0], share = own[1];
    x.set(0, (1 - shrink) * x[0] - rate * g);
    x.set(2, share == 1 ? x[0] : x[2] + share * (x[0] - x[2]));
  }
};
/// Operand 2 is the last gradient, 3 the size; own numbers are two factors, two limits, and 1 in the first step.
template <>
struct Kernel<Reference, ops::ApplyRprop> : kernel::reference::Update<ops::ApplyRprop> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double g = scale * x.gradient() + decay * x[0];
    const double same = g * x[2], factor = same > 0 ? own[1] : same < 0 ? own[0] : 1;
    const double wanted = (own[4] != 0 ? rate : x[3]) * factor;
    const double size = wanted < own[2] ? own[2] : wanted > own[3] ? own[3] : wanted;
    const double last = same < 0 ? 0 : g;
    x.set(0, x[0] - (last > 0 ? 1 : last < 0 ? -1 : last) * size);
    x.set(2, last);
    x.set(3, size);
  }
};
/// Operand 2 is the sum of squares, 3 the linear part; own numbers are lr_power, l1, and l2.
template <>
struct Kernel<Reference, ops::ApplyFtrl> : kernel::reference::Update<ops::ApplyFtrl> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double g = scale * x.gradient() + decay * x[0];
    const double l1 = own[1], l2 = own[2], sum = x[2] + g * g;
    const double before = std::pow(x[2], -own[0]) / rate, now = std::pow(sum, -own[0]) / rate;
    const double linear = x[3] + g - (now - before) * x[0], curve = now + 2 * l2;
    x.set(0, linear > l1 ? (l1 - linear) / curve : linear < -l1 ? (-l1 - linear) / curve : linear - linear);
    x.set(2, sum);
    x.set(3, linear);
  }
};

}  // namespace tenon
TENON_EXACT_END
