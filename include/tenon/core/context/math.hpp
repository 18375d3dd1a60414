// How exactly products and convolutions are computed.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// exact   the bits of the CPU on every target
/// tf32    a target may use tensor cores for products of matrices and convolutions: factors in float32 are rounded to
///         10 bits after the point, those in bfloat16 and float16 are used as they are; sums are in float32, in an
///         order that the target chooses. PyTorch's set_float32_matmul_precision("high"). A target without tensor
///         cores, such as the CPU, computes as it does in `exact`.
enum class Math { exact, tf32 };

}  // namespace tenon
