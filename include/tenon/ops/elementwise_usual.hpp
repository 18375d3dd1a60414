// Base of element-wise operators whose usual operands are computed without branches, and all others apart.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Base of an element-wise operator whose eval has branches, which would keep loops from vectors.
///
/// `Op` gives also `static bool usual(V...)`, whether its operands are usual ones, and `static V eval_usual(V...)`,
/// which has no branches, and the bits of eval for them. The CPU computes blocks of usual operands by it, and also
/// calls it with others beside them: it is defined for all.
template <class Op, FixedString Name>
struct ElementwiseUsual : Elementwise<Op, Name> {
  struct Function : Elementwise<Op, Name>::Function {
    using Usual = Op;
  };
};

}  // namespace tenon::ops
