// What GRU and LSTM share: walks through time, states of several parts, and their copies.
#pragma once
#include <cmath>

#include <tenon/backend/reference/rows.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct RecurrentPrevious;
struct Gru;
}  // namespace ops

namespace kernel::reference {
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One sample's walk: the first step is at the first time, or if reversed at the last.
struct Walk {
  long sample, steps;
  bool reverse;

  long time(long step) const { return reverse ? steps - 1 - step : step; }
  /// The row of a step in a tensor [n, T, ...].
  long row(long step) const { return sample * steps + time(step); }
};
/// Calls f(walk) for each sample of `t`, [n, T, ...].
template <class Call, class F>
void for_each_walk(const TensorType& t, long n, F f) {
  for (long sample = 0; sample < t.size(0, n); ++sample) f(Walk{sample, t[1], Call::config().reverse != 0});
}
/// Numbers of states [n, T, parts * hidden]: part p of unit u in a row.
struct StatePlace {
  long parts, hidden;
  long operator()(long row, long p, long u) const { return (row * parts + p) * hidden + u; }
};
}  // namespace kernel::reference

/// h of the step before each step; before the first one h0, which is row 0 of operand 1, or 0.
template <>
struct Kernel<Reference, ops::RecurrentPrevious> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr long hidden = Call::result[2], part = Call::config().part;
    constexpr kernel::reference::StatePlace at{Call::config().parts, hidden};
    kernel::reference::for_each_walk<Call>(Call::result, a.n, [&](const auto& walk) {
      for (long step = 0; step < walk.steps; ++step)
        for (long u = 0; u < hidden; ++u) {
          T& to = a.result<T>()[walk.row(step) * hidden + u];
          if (step) to = a.operand<T>(0)[at(walk.row(step - 1), part, u)];
          else if constexpr (Call::operands > 1) to = a.operand<T>(1)[walk.sample * Call::operand(1).span(1, 3) + u];
          else to = 0;
        }
    });
  }
};

/// h of all steps, out of the states.
template <>
struct Kernel<Reference, ops::Gru> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr long hidden = Call::result[2];
    constexpr kernel::reference::StatePlace at{Call::Op::parts, hidden};
    for (long i = 0; i < Call::result.count(a.n); ++i)
      a.result<T>()[i] = a.operand<T>(0)[at(i / hidden, Call::Op::h, i % hidden)];
  }
};

}  // namespace tenon
TENON_EXACT_END
