// Where a call of an operator stands in a network, kept with it in programs that observers look at.
#pragma once
#include <type_traits>

#include <tenon/graph/ir/operator.hpp>

namespace tenon::inline TENON_ABI {

/// Whether observers can look at what this program computes (graph/observe/observer.hpp): by -DTENON_OBSERVE, which
/// stands in TENON_ABI. Without it nothing of them is in the program.
#if defined(TENON_OBSERVE)
inline constexpr bool observable = true;
#else
inline constexpr bool observable = false;
#endif

/// What tells a call from the others of the same operator in its cell: the numbers do not depend on the mode, nor on
/// which of the calls run.
struct Origin {
  bool in_loss = false;
  bool sums = false;  // adds the gradient that a call gives its operand to that of others
  int number = 0;     // of the calls of the operator in its cell, those of the loss apart
  // A part of the gradient of a call of the operator `of`. Not asked of the pointer: UBSan refuses to compare one with
  // null in constant evaluation.
  bool gradient = false;
  const OperatorInfo* of = nullptr;
};

namespace detail {

/// Of node `of` of a derivative that has nodes first .. nodes.size() - 1, all for one call: the number among those of
/// its operator, and how many there are.
struct PlaceInRule {
  int number = 0, count = 0;
};
template <class Nodes>
constexpr PlaceInRule place_in_rule(const Nodes& node, int first, int end, int id) {
  PlaceInRule place;
  for (int other = first; other < end; ++other) {
    if (node[other].op->id != node[id].op->id) continue;
    place.number += other < id;
    ++place.count;
  }
  return place;
}
/// Which node of a derivative this is, of the call that `forward` is.
constexpr Origin origin_in_rule(const Origin& forward, const OperatorInfo* of, const PlaceInRule& place) {
  return {forward.in_loss, false, forward.number * place.count + place.number, true, of};
}
/// What adds the gradient of operand k of a call.
constexpr Origin origin_of_sum(const Origin& forward, const OperatorInfo* of, int operands, int k) {
  return {forward.in_loss, true, forward.number * operands + k, true, of};
}

}  // namespace detail
}  // namespace tenon
