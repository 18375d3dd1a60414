// GRU: a gated recurrent unit step by step, forward and backward.
#pragma once
#include <cmath>
#include <vector>

#include <tenon/backend/reference/recurrent/recurrent.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct GruStates;
struct GruGrad;
struct GruHiddenGrad;
}  // namespace ops

namespace kernel::reference {
/// The parts of the states, the first three of which are the gates, too.
struct GruKernel : Whole {
  enum Part : int { reset, update, candidate, own, out, parts };
};
}  // namespace kernel::reference

/// r, z = sigmoid(projected + h W + b);  own = h W + b;  m = tanh(projected + r own);  h = m + z (h - m)
template <>
struct Kernel<Reference, ops::GruStates> : kernel::reference::GruKernel {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using namespace kernel::reference;
    using T = typename Call::Result;
    constexpr bool bias = Call::operands > 2 && Call::operand(2).rank == 1, h0 = Call::operands > 2 + bias;
    constexpr long hidden = Call::operand(1)[1];
    constexpr StatePlace state{parts, hidden}, gate{3, hidden};
    T* const y = a.result<T>();
    for_each_walk<Call>(Call::result, a.n, [&](const Walk& walk) {
      for (long step = 0; step < walk.steps; ++step)
        for (long u = 0; u < hidden; ++u) {
          const auto before = [&](long v) -> double {
            if (step) return y[state(walk.row(step - 1), out, v)];
            return h0 ? a.operand<T>(2 + bias)[walk.sample * hidden + v] : T(0);
          };
          const auto from_h = [&](int g) {
            const T* const weight = a.operand<T>(1) + (g * hidden + u) * hidden;
            return sum_of(hidden, [&](long v) { return before(v) * double(weight[v]); }) +
                   (bias ? double(a.operand<T>(2)[g * hidden + u]) : 0.0);
          };
          const auto from_x = [&](int g) { return double(a.operand<T>(0)[gate(walk.row(step), g, u)]); };
          const double r = sigmoid(from_x(reset) + from_h(reset)), z = sigmoid(from_x(update) + from_h(update)),
                       q = from_h(candidate), m = std::tanh(from_x(candidate) + r * q), h = m + z * (before(u) - m);
          const double part[]{r, z, m, q, h};
          for (int p = 0; p < parts; ++p) y[state(walk.row(step), p, u)] = static_cast<T>(part[p]);
        }
    });
  }
};

/// Backward through time, with dh the gradient of a step's h and the others those of the arguments of r, z, m:
///   dm = dh (1 - z) (1 - m²);  dz = dh (h_before - m) z (1 - z);  dr = dm own r (1 - r)
/// To h_before flow dh z directly, and dr, dz, r dm through W.
template <>
struct Kernel<Reference, ops::GruGrad> : kernel::reference::GruKernel {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using namespace kernel::reference;
    using T = typename Call::Result;
    constexpr bool h0 = Call::operands > 3;
    constexpr long hidden = Call::operand(1)[1], steps = Call::operand(0)[1],
                   sample_size = steps * 3 * hidden + (h0 ? hidden : 0);
    constexpr StatePlace state{parts, hidden}, gate{3, hidden};
    for_each_walk<Call>(Call::operand(0), a.n, [&](const Walk& walk) {
      T* const result = a.result<T>() + walk.sample * sample_size;
      std::vector<double> direct(hidden), through_w(hidden);  // what reaches a step's h from the step after
      for (long step = steps; step-- > 0;) {
        std::vector<double> to_gate(3 * hidden);  // the gradient of h W + b
        for (long u = 0; u < hidden; ++u) {
          const auto part = [&](int p) { return double(a.operand<T>(0)[state(walk.row(step), p, u)]); };
          const double r = part(reset), z = part(update), m = part(candidate);
          const double before = step ? double(a.operand<T>(0)[state(walk.row(step - 1), out, u)])
                                : h0 ? double(a.operand<T>(3)[walk.sample * hidden + u])
                                     : 0.0;
          const double dh = double(a.operand<T>(2)[walk.row(step) * hidden + u]) + direct[u] + through_w[u];
          const double dm = dh * (1 - z) * (1 - m * m), dz = dh * (before - m) * z * (1 - z),
                       dr = dm * part(own) * r * (1 - r);
          direct[u] = dh * z;
          to_gate[u] = dr, to_gate[hidden + u] = dz, to_gate[2 * hidden + u] = dm * r;
          const double argument[]{dr, dz, dm};
          for (int g = 0; g < 3; ++g) result[gate(walk.time(step), g, u)] = static_cast<T>(argument[g]);
        }
        for (long u = 0; u < hidden; ++u)
          through_w[u] =
              sum_of(3 * hidden, [&](long k) { return to_gate[k] * double(a.operand<T>(1)[k * hidden + u]); });
      }
      for (long u = 0; h0 && u < hidden; ++u) result[steps * 3 * hidden + u] = static_cast<T>(direct[u]);
    });
  }
};

/// The gradient of h W + b: that of the gates' arguments, of the candidate's times r.
template <>
struct Kernel<Reference, ops::GruHiddenGrad> : kernel::reference::GruKernel {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using namespace kernel::reference;
    using T = typename Call::Result;
    constexpr long hidden = Call::result[2] / 3;
    constexpr StatePlace state{parts, hidden};
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const long row = i / (3 * hidden), g = i / hidden % 3, u = i % hidden;
      const double r = g == candidate ? double(a.operand<T>(1)[state(row, reset, u)]) : 1.0;
      a.result<T>()[i] = static_cast<T>(double(a.operand<T>(0)[i]) * r);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
