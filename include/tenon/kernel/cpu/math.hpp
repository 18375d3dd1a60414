// Elementary functions for kernels, the same for every mode and every loop.
#pragma once
#include <cmath>

#include <tenon/core/half.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

// These call the C library: its results do not depend on the loop around the call, so both modes agree. They are named
// here, so that a vectorised version replaces them in one place.
inline float exp(float x) { return ::expf(x); }
inline double exp(double x) { return ::exp(x); }
inline float log(float x) { return ::logf(x); }
inline double log(double x) { return ::log(x); }
inline float tanh(float x) { return ::tanhf(x); }
inline double tanh(double x) { return ::tanh(x); }
inline float pow(float x, float y) { return ::powf(x, y); }
inline double pow(double x, double y) { return ::pow(x, y); }
inline float log1p(float x) { return ::log1pf(x); }
inline double log1p(double x) { return ::log1p(x); }
inline float erfc(float x) { return ::erfcf(x); }
inline double erfc(double x) { return ::erfc(x); }
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float floor(float x) { return __builtin_floorf(x); }
inline double floor(double x) { return __builtin_floor(x); }

}  // namespace tenon::kernel
TENON_EXACT_END
