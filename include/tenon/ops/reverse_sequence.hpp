// Sequences of several lengths in the reverse order: reverse_sequence.
#pragma once
#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Reverses the first `lengths` steps of each sample; those after them stay where they are.
///
/// x           [n, T, ...]; any dtype
/// lengths     [n] of int32; numbers above T count as T
/// derivative  dy reversed in the same way
/// source      MindSpore's ReverseSequence with seq_dim = 1, batch_dim = 0
struct ReverseSequence : Operator<ReverseSequence, "ReverseSequence"> {
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    const TensorType &x = in[0], &lengths = in[1], wanted{{x[0]}, 1, Dtype::int32};
    if (x.rank < 2) error << "ReverseSequence needs an input [n,T,...], got " << x;
    else if (lengths.dtype != Dtype::int32 || !lengths.same_shape(wanted))
      error << "ReverseSequence of " << x << " got lengths " << tenon::name(lengths.dtype) << " " << lengths
            << ", it needs int32 " << wanted;
    return x;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<ReverseSequence>(d.gradient(), d.operand(1)));
  }
  /// From where step `step` of a sample comes.
  TENON_DEVICE static constexpr long from(long step, long length, long steps) {
    if (length > steps) length = steps;
    return step < length ? length - 1 - step : step;
  }
};

/// The first `lengths` steps of each sample in the reverse order.
constexpr auto reverse_sequence(const Operand auto& x, const Operand auto& lengths,
                                std::source_location at = std::source_location::current()) {
  return apply<ReverseSequence>(at, x, lengths);
}

}  // namespace tenon::ops
