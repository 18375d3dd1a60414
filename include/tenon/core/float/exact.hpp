// A probe at run time of what no macro tells: does a * b + c round twice inside the region of exact rounding, and is
// NaN there other than itself?
#pragma once
#include <bit>
#include <cstdint>

#include <tenon/core/error.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::detail {
inline float product_plus(float a, float b, float c) { return a * b + c; }
// Not inlined: clang takes no argument for NaN.
[[gnu::noinline]] inline bool is_not_itself(float a) { return a != a; }
}  // namespace tenon::detail
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

/// Throws RuntimeError if this program was compiled so that kernels contract products and sums, or compute in more than
/// float's precision, which lets the two modes differ, or so that they take no value for NaN. A Model asks once.
inline void check_exact_rounding() {
  static const bool exact = [] {
    // a * a is 1 + 2^-11 + 2^-24, the last term is lost in float
    volatile float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
    volatile float sum = detail::product_plus(a, a, c);
    return sum == 0.0f;
  }();
  static const bool has_nan = [] {
    volatile std::uint32_t bits = 0x7fc00000;
    return detail::is_not_itself(std::bit_cast<float>(std::uint32_t(bits)));
  }();
  if (!has_nan)
    throw_error<RuntimeError>(
        "This program takes no number for NaN, with which Tenon's kernels compute. Compile without "
        "-fno-honor-nans and -ffinite-math-only.");
  if (!exact)
    throw_error<RuntimeError>("This program rounds a * b + c in one step, or with more than float's precision, where "
                              "Tenon rounds twice: graph and PyNative mode would differ. "
                              "Compile without -ffast-math, -ffp-contract=fast (clang), -funsafe-math-optimizations, "
                              "-mfpmath=387, and without pragmas that switch contraction on.");
}

}  // namespace tenon
