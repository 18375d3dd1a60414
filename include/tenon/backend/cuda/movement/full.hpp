// Tensors of one number with a given shape: the kernel of full_like.
#pragma once
#include <tenon/backend/cuda/movement/fill.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Full;
}

template <>
struct Kernel<Cuda, ops::Full> : Kernel<Cuda, ops::FullLike> {};

}  // namespace tenon
