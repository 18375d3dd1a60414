// What a turn of a loop gets and gives, in PyNative mode: a slice whose place is a number of the run.
#pragma once
#include <tenon/ops/control/bundle.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// The axis of turns: the first that is not the batch.
constexpr int turn_axis(const TensorType& all) { return all.batched() ? 1 : 0; }
constexpr TensorType without_turns(TensorType t) {
  for (int axis = turn_axis(t); axis + 1 < t.rank; ++axis) t.extent[axis] = t.extent[axis + 1];
  t.extent[--t.rank] = 0;
  return t;
}
constexpr TensorType with_turns(TensorType t, int turns) {
  for (int axis = t.rank++; axis > turn_axis(t); --axis) t.extent[axis] = t.extent[axis - 1];
  t.extent[turn_axis(t)] = turns;
  return t;
}
}  // namespace detail

/// Where the slices of one turn are in a tensor of all turns: a row for each sample.
struct TurnRows {
  long rows = 1, bytes = 0, turns = 1;

  constexpr TurnRows(const TensorType& turn, int count, long n)
      : rows(turn.batched() ? turn.size(0, n) : 1), bytes(rows ? turn.bytes(n) / rows : 0), turns(count) {}
  constexpr bool in_one_piece() const { return rows == 1; }
  std::byte* at(std::byte* all, long turn) const { return all + turn * bytes; }
  template <class Way>
  void take(std::byte* slice, const std::byte* all, long turn) const {
    Way::copy_rows({slice, bytes}, {at(const_cast<std::byte*>(all), turn), turns * bytes}, rows, bytes);
  }
  template <class Way>
  void put(std::byte* all, const std::byte* slice, long turn) const {
    Way::copy_rows({at(all, turn), turns * bytes}, {const_cast<std::byte*>(slice), bytes}, rows, bytes);
  }
};

/// dy as the slice of one turn (the run-time number) among zeros. Not for users.
struct TurnGrad : Operator<TurnGrad, "TurnGrad"> {
  struct Config {
    int turns = 0;
  };
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return detail::with_turns(in[0], c.turns);
  }
};

/// The slice of one turn (the run-time number). Operand: all turns. Not for users.
struct Turn : Operator<Turn, "Turn"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) {
    return detail::without_turns(in[0]);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_same_stream<TurnGrad>({d.type(0)[detail::turn_axis(d.type(0))]}, d.gradient()));
  }
};

/// All turns, with the slice of one turn (the run-time number) replaced. Operands: all turns, the slice. Not for users.
struct PutTurn : Operator<PutTurn, "PutTurn"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  // Nothing reads a slice before it is put there, so its place in the gradient of operand 0 may have any value.
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.gradient());
    d.flows_to(1, d.call_same_stream<Turn>({}, d.gradient()));
  }
};

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {

namespace kernel {
template <class Target>
template <class Call>
void TurnKernel<Target>::run(const Arguments& a, long, long) {
  constexpr int turns = Call::operand(0)[ops::detail::turn_axis(Call::operand(0))];
  ops::TurnRows(Call::result, turns, a.n)
      .take<Moves<Target>>(a.result<std::byte>(), a.operand<std::byte>(0), long(a.immediate));
}
template <class Target>
template <class Call>
void TurnGradKernel<Target>::run(const Arguments& a, long, long) {
  Moves<Target>::clear(a.result<std::byte>(), Call::result.bytes(a.n));
  ops::TurnRows(Call::operand(0), Call::config().turns, a.n)
      .put<Moves<Target>>(a.result<std::byte>(), a.operand<std::byte>(0), long(a.immediate));
}
template <class Target>
template <class Call>
void PutTurnKernel<Target>::run(const Arguments& a, long, long) {
  constexpr int turns = Call::result[ops::detail::turn_axis(Call::result)];
  Moves<Target>::copy(a.result<std::byte>(), a.operand<std::byte>(0), Call::result.bytes(a.n));
  ops::TurnRows(Call::operand(1), turns, a.n)
      .put<Moves<Target>>(a.result<std::byte>(), a.operand<std::byte>(1), long(a.immediate));
}
}  // namespace kernel

}  // namespace tenon
