// A shape that a function cannot take, as the sentence of an operator that never runs.
#pragma once
#include <tenon/call/apply.hpp>

namespace tenon::inline TENON_ABI::ops {

/// `apply<Refused<Rule>>(at, x)` reports `Rule::write(error, type of x)`. For functions that consist of operators,
/// whose sentences would be about an operator that the user does not know of.
template <class Rule>
struct Refused : Operator<Refused<Rule>, Rule::name> {
  static constexpr bool view = true;  // no target needs a kernel
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    Rule::write(error, in[0]);
    return in[0];
  }
  static constexpr None derivative{};
};

/// "Conv1d needs an input [n,3,L], got [n,4,8]": an operand of another rank, or with another extent of axis 1.
template <FixedString cell, FixedString form, int rank, int channels = 0>
struct InputRule {
  static constexpr FixedString name = cell;
  static constexpr bool holds(const TensorType& x) { return x.rank == rank && (channels == 0 || x[1] == channels); }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << cell.view() << " needs an input " << form.view() << " of rank " << rank;
    if (channels) error << " with " << channels << " channels";
    error << ", got " << x;
  }
};

/// f(x) if x fits the rule, else the rule's sentence.
template <class Rule, class X, class F>
constexpr auto where_fits(const std::source_location& at, const X& x, const F& f) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (!Rule::holds(X::dims)) return apply<Refused<Rule>>(at, x);
  else return f(x);
}

}  // namespace tenon::ops
