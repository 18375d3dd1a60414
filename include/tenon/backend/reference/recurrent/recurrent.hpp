// LSTM and GRU step by step, forward and backward.
#pragma once
#include <cmath>
#include <vector>

#include <tenon/backend/reference/rows.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Gru;
struct GruGrad;
struct Lstm;
struct LstmGrad;
struct RecurrentPrevious;
}  // namespace ops

namespace kernel::reference {
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A unit of a cell at one step. forward() returns h and changes the last state. `own` is what a gate gets by h, and by
// x unless that comes projected; `part` is what is kept for backward(). backward() writes the gradients of the gates'
// arguments, and changes the gradient of the last state to that of the step before.

/// i, f, o = sigmoid, g = tanh of x W_inputᵀ + h Wᵀ + bias;  c = f c + i g;  h = o tanh(c)
struct LstmUnit {
  static constexpr long gates = 4, states = 2, parts = 5;
  static constexpr int weight = 2;  // the operand that h is multiplied with; x is projected if it is the first weight
  template <class Own, class Projected>
  static double forward(Own own, Projected, double& c, double (&part)[parts]) {
    const double i = sigmoid(own(0)), f = sigmoid(own(1)), g = std::tanh(own(2)), o = sigmoid(own(3));
    c = f * c + i * g;
    part[0] = i, part[1] = f, part[2] = g, part[3] = o, part[4] = c;
    return o * std::tanh(c);
  }
  static void backward(const double (&part)[parts], double c_before, double dh, double& dc, double (&d)[gates]) {
    const double i = part[0], f = part[1], g = part[2], o = part[3], t = std::tanh(part[4]);
    dc += dh * o * (1 - t * t);
    d[0] = dc * g * i * (1 - i), d[1] = dc * c_before * f * (1 - f);
    d[2] = dc * i * (1 - g * g), d[3] = dh * t * o * (1 - o);
    dc *= f;
  }
  /// The part of a gate's gradient that reaches its product with h.
  static double hidden_share(const double (&)[parts], long, double gradient) { return gradient; }
};

/// own = h W + b;  r, z = sigmoid(projected + own);  m = tanh(projected + r own);  h = m + z (h - m)
struct GruUnit {
  static constexpr long gates = 3, states = 1, parts = 4;
  static constexpr int weight = 1;
  template <class Own, class Projected>
  static double forward(Own own, Projected projected, double& h, double (&part)[parts]) {
    const double r = sigmoid(projected(0) + own(0)), z = sigmoid(projected(1) + own(1)), q = own(2),
                 m = std::tanh(projected(2) + r * q);
    part[0] = r, part[1] = z, part[2] = m, part[3] = q;
    return h = m + z * (h - m);
  }
  static void backward(const double (&part)[parts], double h_before, double dh, double& direct, double (&d)[gates]) {
    const double r = part[0], z = part[1], m = part[2], all = dh + direct;
    d[2] = all * (1 - z) * (1 - m * m), d[1] = all * (h_before - m) * z * (1 - z);
    d[0] = d[2] * part[3] * r * (1 - r);
    direct = all * z;
  }
  static double hidden_share(const double (&part)[parts], long gate, double gradient) {
    return gate == 2 ? gradient * part[0] : gradient;
  }
};

/// Row of sample and step in a tensor [n, T, ...]: the first step is at the first time, or if reversed at the last.
template <class Call>
long row_at(long sample, long step) {
  constexpr long steps = Call::result[1];
  return sample * steps + (Call::config().reverse ? steps - 1 - step : step);
}

/// Whether the last operand are the lengths of the samples.
template <class Call>
constexpr bool last_are_lengths() {
  return !is_floating(Call::operand(Call::operands - 1).dtype);
}
/// The steps of a sample.
template <class Call>
long length_of(const Arguments& a, long sample) {
  constexpr long steps = Call::result[1];
  if constexpr (last_are_lengths<Call>()) {
    const long own = a.operand<std::int32_t>(Call::operands - 1)[sample];
    return own < steps ? own : steps;
  } else return steps;
}

/// Operands: x, [the weight of x,] the weight of h, [bias,] [first states,] [lengths].
template <class Cell>
struct RecurrentLoop : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr int after = Cell::weight + 1, operands = Call::operands - last_are_lengths<Call>();
    constexpr bool bias = operands > after && Call::operand(after).rank == 1, first = operands > after + bias;
    constexpr long hidden = Call::result[2], width = Call::operand(0)[2], states = Cell::states;
    const T* const weight = a.operand<T>(Cell::weight);
    std::vector<T> state(states * hidden), next(states * hidden);  // h, then the last state if it is another one
    for (long sample = 0; sample < Call::result.size(0, a.n); ++sample) {
      for (long u = 0; u < states * hidden; ++u)
        state.data()[u] = first ? a.operand<T>(after + bias)[sample * states * hidden + u] : T(0);
      for (long step = 0; step < Call::result[1]; ++step) {
        const long row = row_at<Call>(sample, step);
        const T* const x = a.operand<T>(0) + row * width;
        if (step >= length_of<Call>(a, sample)) {
          for (long u = 0; u < hidden; ++u) a.result<T>()[row * hidden + u] = T(0);
          continue;
        }
        for (long u = 0; u < hidden; ++u) {
          const auto own = [&](long gate) {
            const long g = gate * hidden + u;
            double sum = 0;
            if constexpr (Cell::weight == 2)
              sum = sum_of(width, [&](long k) { return double(x[k]) * double(a.operand<T>(1)[g * width + k]); });
            sum += sum_of(hidden, [&](long v) { return double(state.data()[v]) * double(weight[g * hidden + v]); });
            return sum + (bias ? double(a.operand<T>(after)[g]) : 0.0);
          };
          const auto projected = [&](long gate) { return double(x[gate * hidden + u]); };
          double carried = double(state.data()[(states - 1) * hidden + u]), part[Cell::parts];
          const double h = Cell::forward(own, projected, carried, part);
          next.data()[(states - 1) * hidden + u] = static_cast<T>(carried);
          a.result<T>()[row * hidden + u] = next.data()[u] = static_cast<T>(h);
          if constexpr (has_result<Call, 2>)
            for (long k = 0; k < Cell::parts; ++k)
              result_of<Call, 2>(a)[(row * Cell::parts + k) * hidden + u] = static_cast<T>(part[k]);
        }
        state = next;
      }
      if constexpr (has_result<Call, 1>)
        for (long u = 0; u < states * hidden; ++u)
          result_of<Call, 1>(a)[sample * states * hidden + u] = state.data()[u];
    }
  }
};

/// Operands: the parts, the weight of h, [h one step earlier, if it is the only state,] [the gradient of all h,] [that
/// of the last states,] [first states, if there are others].
template <class Cell>
struct RecurrentGradLoop : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr int all = Cell::states > 1 ? 2 : 3, last = all + c.of_all, first = last + c.of_last,
                  operands = Call::operands - last_are_lengths<Call>();
    constexpr long hidden = Call::operand(1)[1], parts = Cell::parts, states = Cell::states;
    for (long sample = 0; sample < Call::result.size(0, a.n); ++sample) {
      // of the step after; of a cell whose last state is h that is what does not come through the weight
      std::vector<double> carried(hidden), from_weight(hidden), share(Cell::gates * hidden);
      for (long u = 0; c.of_last && u < hidden; ++u) {
        const T* const of_last = a.operand<T>(last) + sample * states * hidden;
        from_weight.data()[u] = double(of_last[u]);
        if (states > 1) carried.data()[u] = double(of_last[hidden + u]);
      }
      for (long step = Call::result[1]; step-- > 0;) {
        const long row = row_at<Call>(sample, step), earlier = step ? row_at<Call>(sample, step - 1) : 0;
        if (step >= length_of<Call>(a, sample)) {
          for (long g = 0; g < Cell::gates * hidden; ++g) {
            a.result<T>()[row * Cell::gates * hidden + g] = T(0);
            if constexpr (has_result<Call, 2>) result_of<Call, 2>(a)[row * Cell::gates * hidden + g] = T(0);
          }
          continue;
        }
        for (long u = 0; u < hidden; ++u) {
          double part[parts], gradient[Cell::gates];
          for (long k = 0; k < parts; ++k) part[k] = double(a.operand<T>(0)[(row * parts + k) * hidden + u]);
          const double before = states == 1        ? double(a.operand<T>(2)[row * hidden + u])
                                : step             ? double(a.operand<T>(0)[(earlier * parts + parts - 1) * hidden + u])
                                : first < operands ? double(a.operand<T>(first)[(2 * sample + 1) * hidden + u])
                                                   : 0.0;
          const double dh = (c.of_all ? double(a.operand<T>(all)[row * hidden + u]) : 0.0) + from_weight.data()[u];
          Cell::backward(part, before, dh, carried.data()[u], gradient);
          for (long g = 0; g < Cell::gates; ++g) {
            const double own = share.data()[g * hidden + u] = Cell::hidden_share(part, g, gradient[g]);
            a.result<T>()[(row * Cell::gates + g) * hidden + u] = static_cast<T>(gradient[g]);
            if constexpr (has_result<Call, 2>)
              result_of<Call, 2>(a)[(row * Cell::gates + g) * hidden + u] = static_cast<T>(own);
          }
        }
        for (long u = 0; u < hidden; ++u)
          from_weight.data()[u] = sum_of(
              Cell::gates * hidden, [&](long k) { return share.data()[k] * double(a.operand<T>(1)[k * hidden + u]); });
      }
      if constexpr (has_result<Call, 1>)
        for (long u = 0; u < hidden; ++u)
          result_of<Call, 1>(a)[sample * hidden + u] = static_cast<T>(carried.data()[u]);
    }
  }
};
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::Lstm> : kernel::reference::RecurrentLoop<kernel::reference::LstmUnit> {};
template <>
struct Kernel<Reference, ops::LstmGrad> : kernel::reference::RecurrentGradLoop<kernel::reference::LstmUnit> {};
template <>
struct Kernel<Reference, ops::Gru> : kernel::reference::RecurrentLoop<kernel::reference::GruUnit> {};
template <>
struct Kernel<Reference, ops::GruGrad> : kernel::reference::RecurrentGradLoop<kernel::reference::GruUnit> {};

/// h of the step before each step; before the first one h0, which is row 0 of operand 1, or 0.
template <>
struct Kernel<Reference, ops::RecurrentPrevious> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr long hidden = Call::result[2];
    for (long sample = 0; sample < Call::result.size(0, a.n); ++sample)
      for (long step = 0; step < Call::result[1]; ++step)
        for (long u = 0; u < hidden; ++u) {
          T& to = a.result<T>()[kernel::reference::row_at<Call>(sample, step) * hidden + u];
          if (step) to = a.operand<T>(0)[kernel::reference::row_at<Call>(sample, step - 1) * hidden + u];
          else if constexpr (Call::operands > 1) to = a.operand<T>(1)[sample * Call::operand(1).span(1, 3) + u];
          else to = 0;
        }
  }
};

}  // namespace tenon
TENON_EXACT_END
