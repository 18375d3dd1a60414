// LSTM: long short-term memory step by step, forward and backward.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include <tenon/backend/reference/recurrent/recurrent.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Lstm;
struct LstmGrad;
}  // namespace ops

namespace kernel::reference {
/// The parts of the states, the first four of which are the gates, too.
struct LstmKernel : Whole {
  enum Part : int { in_gate, forget_gate, cell_gate, out_gate, cell, parts };
};
}  // namespace kernel::reference

/// i, f, o = sigmoid, g = tanh of x W_inputᵀ + h Wᵀ + bias;  c = f c + i g;  h = o tanh(c)
template <>
struct Kernel<Reference, ops::Lstm> : kernel::reference::LstmKernel {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using namespace kernel::reference;
    using T = typename Call::Result;
    constexpr bool bias = Call::operands > 3 && Call::operand(3).rank == 1, first = Call::operands > 3 + bias;
    constexpr long hidden = Call::operand(2)[1], features = Call::operand(0)[2];
    constexpr StatePlace state{parts, hidden}, ends{2, hidden};
    T* const y = a.result<T>();
    std::vector<T> h(hidden), c_before(hidden);
    for_each_walk<Call>(Call::result, a.n, [&](const Walk& walk) {
      const auto start = [&](bool of_c, long u) {
        return first ? a.operand<T>(3 + bias)[ends(walk.sample, of_c, u)] : T(0);
      };
      for (long u = 0; u < hidden; ++u) h[std::size_t(u)] = start(false, u), c_before[std::size_t(u)] = start(true, u);
      for (long step = 0; step < walk.steps; ++step) {
        for (long u = 0; u < hidden; ++u) {
          const auto argument = [&](int gate) {
            const T *const x = a.operand<T>(0) + walk.row(step) * features,
                           *const from_x = a.operand<T>(1) + (gate * hidden + u) * features,
                           *const from_h = a.operand<T>(2) + (gate * hidden + u) * hidden;
            return sum_of(features, [&](long k) { return double(x[k]) * double(from_x[k]); }) +
                   sum_of(hidden, [&](long v) { return double(h[std::size_t(v)]) * double(from_h[v]); }) +
                   (bias ? double(a.operand<T>(3)[gate * hidden + u]) : 0.0);
          };
          const double i = sigmoid(argument(in_gate)), f = sigmoid(argument(forget_gate)),
                       g = std::tanh(argument(cell_gate)), o = sigmoid(argument(out_gate)),
                       c = f * double(c_before[std::size_t(u)]) + i * g;
          c_before[std::size_t(u)] = static_cast<T>(c);
          y[walk.row(step) * hidden + u] = static_cast<T>(o * std::tanh(c));
          [[maybe_unused]] const double part[]{i, f, g, o, c};
          if constexpr (has_result<Call, 2>)
            for (int p = 0; p < parts; ++p)
              result_of<Call, 2>(a)[state(walk.row(step), p, u)] = static_cast<T>(part[p]);
        }
        std::copy_n(y + walk.row(step) * hidden, hidden, h.begin());
      }
      if constexpr (has_result<Call, 1>)
        for (long u = 0; u < hidden; ++u) {
          result_of<Call, 1>(a)[ends(walk.sample, 0, u)] = h[std::size_t(u)];
          result_of<Call, 1>(a)[ends(walk.sample, 1, u)] = c_before[std::size_t(u)];
        }
    });
  }
};

/// Backward through time, with dh, dc the gradients of a step's h and c, and the others those of the gates' arguments:
///   dc += dh o (1 - tanh²(c));  di = dc g i (1 - i);  df = dc c_before f (1 - f);  dg = dc i (1 - g²)
///   do = dh tanh(c) o (1 - o)
/// To c_before flows dc f, to h_before what comes through W.
template <>
struct Kernel<Reference, ops::LstmGrad> : kernel::reference::LstmKernel {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using namespace kernel::reference;
    using T = typename Call::Result;
    constexpr bool last = Call::config().last, first = Call::operands > 3;
    constexpr long hidden = Call::operand(1)[1], steps = Call::operand(0)[1],
                   sample_size = steps * 4 * hidden + (first ? hidden : 0);
    constexpr StatePlace state{parts, hidden}, first_state{2, hidden}, gate{4, hidden};
    for_each_walk<Call>(Call::operand(0), a.n, [&](const Walk& walk) {
      T* const result = a.result<T>() + walk.sample * sample_size;
      std::vector<double> dc(hidden), dh(hidden), to_gate(4 * hidden);  // of the step after
      for (long u = 0; last && u < hidden; ++u) {
        dh[u] = double(a.operand<T>(2)[first_state(walk.sample, 0, u)]);
        dc[u] = double(a.operand<T>(2)[first_state(walk.sample, 1, u)]);
      }
      for (long step = steps; step-- > 0;) {
        for (long u = 0; u < hidden; ++u) {
          const auto part = [&](int p) { return double(a.operand<T>(0)[state(walk.row(step), p, u)]); };
          const double i = part(in_gate), f = part(forget_gate), g = part(cell_gate), o = part(out_gate),
                       t = std::tanh(part(cell));
          const double before = step    ? double(a.operand<T>(0)[state(walk.row(step - 1), cell, u)])
                                : first ? double(a.operand<T>(3)[first_state(walk.sample, 1, u)])
                                        : 0.0;
          if (!last) dh[u] += double(a.operand<T>(2)[walk.row(step) * hidden + u]);
          dc[u] += dh[u] * o * (1 - t * t);
          const double argument[]{dc[u] * g * i * (1 - i), dc[u] * before * f * (1 - f), dc[u] * i * (1 - g * g),
                                  dh[u] * t * o * (1 - o)};
          dc[u] *= f;
          for (int k = 0; k < 4; ++k) {
            to_gate[k * hidden + u] = argument[k];
            result[gate(walk.time(step), k, u)] = static_cast<T>(argument[k]);
          }
        }
        for (long u = 0; u < hidden; ++u)
          dh[u] = sum_of(4 * hidden, [&](long k) { return to_gate[k] * double(a.operand<T>(1)[k * hidden + u]); });
      }
      for (long u = 0; first && u < hidden; ++u) result[steps * 4 * hidden + u] = static_cast<T>(dc[u]);
    });
  }
};

}  // namespace tenon
TENON_EXACT_END
