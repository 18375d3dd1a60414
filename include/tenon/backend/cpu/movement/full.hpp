// Tensors of one number with a given shape: the loop of full_like.
#pragma once
#include <tenon/backend/cpu/movement/full_like.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Full;
}

template <>
struct Kernel<Cpu, ops::Full> : Kernel<Cpu, ops::FullLike> {};

}  // namespace tenon
