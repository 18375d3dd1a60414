// Sums of squares over whole parameters, and the numbers that an optimizer derives from them for an update.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/graph/ir/guard.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

/// Base of two sums over a parameter (operand 0), its gradient (operand 1), and moments, for RenewedNumbers: [2,
/// pieces]. The first are of the squares of the parameter. The second are of the squares of what `Op` defines as
/// MomentUpdate does a step:
///
///     template <class C>
///     TENON_DEVICE static void direction(UpdateNumbers<C> n, auto each) {
///       each([=]<class V>(V g, V p) __attribute__((always_inline)) { return n.gradient(g, p); });
///     }
///
/// Its moments are those before the step; the function may change them. A part of an update, not for users.
template <class Op, FixedString Name>
struct UpdateSums : Operator<Op, Name> {
  static constexpr bool sums_pieces = true;
  static constexpr long piece_elements = 1024;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) {
    const bool wide = in[0].dtype == Dtype::float64;
    return {
        {2, int((in[0].count(1) + piece_elements - 1) / piece_elements)}, 2, wide ? Dtype::float64 : Dtype::float32};
  }
};

/// Base of operators that compute the numbers of an update (operand 1) from sums (operand 0), and from the count of
/// elements of operand 2, if present. `Op` gives `renew(sums, count, numbers)`, where sums[2] are the totals.
template <class Op, FixedString Name>
struct RenewedNumbers : Operator<Op, Name> {
  static constexpr bool renews_numbers = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[1]; }
};

}  // namespace ops

namespace nn {

/// The numbers of an update as `Op` makes them of sums. Where an update waits for a flag, it does so with these, too.
template <class Op, class... Ids>
constexpr int renewed(Builder& b, int sums, int numbers, Ids... more) {
  const int made = b.call<Op>(NoConfig{}, sums, numbers, more...);
  const Node& given = b.nodes[std::size_t(numbers)];
  return is<ops::Guard>(given) ? b.call<ops::Guard>(NoConfig{}, made, given.operand[1]) : made;
}

}  // namespace nn
}  // namespace tenon
