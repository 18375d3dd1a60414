// The updates of optimizers by their formulas: each number that is kept is rounded once.
#pragma once
#include <cmath>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyAdam;
struct ApplyAdamWeightDecay;
struct ApplyMomentum;
struct ApplySgd;
}  // namespace ops

namespace kernel::reference {
/// Element i of what an update reads and writes: operand 0 is the parameter, 1 the gradient.
template <class Call>
struct Updated {
  const Arguments& a;
  long i;

  double operator[](int k) const { return static_cast<double>(a.operand<typename Call::Result>(k)[i]); }
  double gradient() const { return static_cast<double>(a.operand<typename Call::template Operand<1>>(1)[i]); }
  void set(int k, double value) const {
    a.changed<typename Call::Result>(k)[i] = rounded<typename Call::Result>(value);
  }
};

/// Base of an update: `step<Call>(x, n)` for each element x, where n are the numbers of the optimizer: learning rate,
/// weight decay, what gradients are multiplied with, and those of its own.
template <class Operator>
struct Update : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const float* const n = a.operand<float>(Call::operands - 1);
    for (long i = 0; i < Call::result.count(a.n); ++i)
      Kernel<Reference, Operator>::template step<Call>(Updated<Call>{a, i}, n[0], n[1], n[2], n + 3);
  }
};
}  // namespace kernel::reference

/// Operands 2 and 3 are the moments; own numbers are beta1, beta2, and eps.
template <>
struct Kernel<Reference, ops::ApplyAdam> : kernel::reference::Update<ops::ApplyAdam> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double beta1 = own[0], beta2 = own[1], epsilon = own[2];
    const double g = scale * x.gradient() + decay * x[0];
    const double m = beta1 * x[2] + (1 - beta1) * g, v = beta2 * x[3] + (1 - beta2) * g * g;
    const double direction = Call::config().use_nesterov ? beta1 * m + (1 - beta1) * g : m;
    const double square = Call::config().use_amsgrad ? (x[4] > v ? x[4] : v) : v;
    x.set(0, x[0] - rate * direction / (std::sqrt(square) + epsilon));
    x.set(2, m);
    x.set(3, v);
    if (Call::config().use_amsgrad) x.set(4, square);
  }
};
template <>
struct Kernel<Reference, ops::ApplyAdamWeightDecay> : kernel::reference::Update<ops::ApplyAdamWeightDecay> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double beta1 = own[0], beta2 = own[1], epsilon = own[2];
    const double g = scale * x.gradient();
    const double m = beta1 * x[2] + (1 - beta1) * g, v = beta2 * x[3] + (1 - beta2) * g * g;
    x.set(0, x[0] - rate * (m / (std::sqrt(v) + epsilon) + decay * x[0]));
    x.set(2, m);
    x.set(3, v);
  }
};

/// Operand 2 is the velocity; the own number is the momentum.
template <>
struct Kernel<Reference, ops::ApplyMomentum> : kernel::reference::Update<ops::ApplyMomentum> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double momentum = own[0];
    const double g = scale * x.gradient() + decay * x[0], v = momentum * x[2] + g;
    x.set(0, x[0] - rate * (Call::config().use_nesterov ? g + momentum * v : v));
    x.set(2, v);
  }
};
/// The same with the gradient's share in the velocity. Without momentum the velocity stays as it is.
template <>
struct Kernel<Reference, ops::ApplySgd> : kernel::reference::Update<ops::ApplySgd> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double decay, double scale, const float* own) {
    const double momentum = own[0], share = own[1];
    const double g = scale * x.gradient() + decay * x[0], v = momentum * x[2] + share * g;
    if (momentum == 0) return x.set(0, x[0] - rate * g);
    x.set(0, x[0] - rate * (Call::config().nesterov ? g + momentum * v : v));
    x.set(2, v);
  }
};

}  // namespace tenon
TENON_EXACT_END
