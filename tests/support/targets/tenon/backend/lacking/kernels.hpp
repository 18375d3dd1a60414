// Every kernel of Reference but that of the operator TENON_TEST_LACKS.
#pragma once
#include <tenon/backend/reference/kernels.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct TENON_TEST_LACKS;
}

template <class Op>
requires requires {
  sizeof(Kernel<Reference, Op>);
  requires !std::is_same_v<Op, ops::TENON_TEST_LACKS>;
}
struct Kernel<Lacking, Op> : Kernel<Reference, Op> {};

}  // namespace tenon
