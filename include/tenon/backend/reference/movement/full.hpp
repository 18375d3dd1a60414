// Tensors of one number with a given shape: the loop of full_like.
#pragma once
#include <tenon/backend/reference/movement/full_like.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Full;
}

template <>
struct Kernel<Reference, ops::Full> : Kernel<Reference, ops::FullLike> {};

}  // namespace tenon
