// The further results of an operator that has several.
#pragma once
#include <tenon/graph/ir/node.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Result `result` of operand 0, a call of an operator with several results, from 1 on: the call itself is the first.
/// It owns memory, which that call's kernel writes (result_of() in graph/ir/kernel.hpp). A result that no node reads
/// has neither a Part nor memory, and the kernel is compiled without it. Not for users.
struct ResultPart : Operator<ResultPart, "Part"> {
  struct Config {
    int result = 0;
  };
  static constexpr bool part = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes&, const Config&, Sentence&) { return {}; }
  template <class Call>
  static constexpr long items(long) {
    return 0;
  }
};

}  // namespace tenon::ops
