// Sums over whole parameters for optimizers, and numbers made of them, by their formulas: sums are in double.
#pragma once
#include <algorithm>
#include <cmath>

#include <tenon/backend/reference/optimizer/optimizer.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyLamb;
struct LambSquares;
struct LarsSquares;
}  // namespace ops

namespace kernel::reference {
/// Element i of a sum over a parameter.
template <class Call>
struct Summed {
  const Arguments& a;
  long i;

  double operator[](int k) const { return static_cast<double>(a.operand<typename Call::template Operand<0>>(k)[i]); }
  double gradient() const { return static_cast<double>(a.operand<typename Call::template Operand<1>>(1)[i]); }
};

/// Base of two sums: `term(x, numbers)` is what element x adds to the second; to the first it adds its square. There
/// is one piece for all elements; the others are 0.
template <class Operator>
struct WholeSums : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using A = typename Call::Result;
    const float* const n = a.operand<float>(Call::operands - 1);
    double first = 0, second = 0;
    for (long i = 0; i < Call::operand(0).count(1); ++i) {
      const Summed<Call> x{a, i};
      first += x[0] * x[0];
      second += Kernel<Reference, Operator>::term(x, n);
    }
    const long pieces = Call::result.extent[1];
    std::fill_n(a.result<A>(), 2 * pieces, A(0));
    a.result<A>()[0] = rounded<A>(first);
    a.result<A>()[pieces] = rounded<A>(second);
  }
};

/// The moments of an element and Lamb's direction.
struct LambStep {
  double m, v, direction;
  LambStep(const auto& x, const float* n) {
    const double beta1 = n[3], beta2 = n[4], epsilon = n[5], g = n[2] * x.gradient();
    m = beta1 * x[2] + (1 - beta1) * g;
    v = beta2 * x[3] + (1 - beta2) * g * g;
    direction = m * n[6] / (std::sqrt(v * n[7]) + epsilon) + n[1] * x[0];
  }
};
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::LambSquares> : kernel::reference::WholeSums<ops::LambSquares> {
  static double term(const auto& x, const float* n) {
    const kernel::reference::LambStep step(x, n);
    return step.direction * step.direction;
  }
};
template <>
struct Kernel<Reference, ops::LarsSquares> : kernel::reference::WholeSums<ops::LarsSquares> {
  static double term(const auto& x, const float* n) { return n[2] * x.gradient() * n[2] * x.gradient(); }
};

/// Of an operator that makes numbers of an update anew.
template <class Op>
requires requires { requires tenon::detail::is_set(Op::renews_numbers); }
struct Kernel<Reference, Op> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const auto* sums = a.operand<typename Call::template Operand<0>>(0);
    const long pieces = Call::operand(0).extent[1];
    double total[2]{};
    for (long i = 0; i < 2 * pieces; ++i) total[i / pieces] += static_cast<double>(sums[i]);
    std::copy_n(a.operand<float>(1), Call::result.extent[0], a.result<float>());
    long count = 1;
    if constexpr (Call::operands > 2) count = Call::operand(2).count(1);
    Op::renew(total, count, a.result<float>());
  }
};

/// Operands 2 and 3 are the moments.
template <>
struct Kernel<Reference, ops::ApplyLamb> : kernel::reference::Update<ops::ApplyLamb> {
  template <class Call>
  static void step(kernel::reference::Updated<Call> x, double rate, double, double, const float* own) {
    const kernel::reference::LambStep step(x, own - 3);
    x.set(0, x[0] - rate * step.direction);
    x.set(2, step.m);
    x.set(3, step.v);
  }
};

}  // namespace tenon
TENON_EXACT_END
