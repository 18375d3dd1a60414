// Functions of the C library for one number, without <cmath>: in C++17 that has Bessel functions and their kin, which
// g++ compiled in each program (11 MB). Elements of tensors have core/math/elementary.hpp.
#pragma once
#include <tenon/core/config.hpp>
#if defined(__CUDACC__)
#include <cmath>
#endif

namespace tenon::inline TENON_ABI::detail::libm {

#if defined(__CUDACC__)  // device code has its own
using std::sqrt, std::exp, std::log, std::log1p, std::pow, std::sin, std::cos, std::tanh, std::erfc, std::floor,
    std::ceil;
#else
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline double exp(double x) { return __builtin_exp(x); }
inline float log(float x) { return __builtin_logf(x); }
inline double log(double x) { return __builtin_log(x); }
inline double log1p(double x) { return __builtin_log1p(x); }
inline float pow(float x, float y) { return __builtin_powf(x, y); }
inline double pow(double x, double y) { return __builtin_pow(x, y); }
inline float sin(float x) { return __builtin_sinf(x); }
inline double sin(double x) { return __builtin_sin(x); }
inline float cos(float x) { return __builtin_cosf(x); }
inline double cos(double x) { return __builtin_cos(x); }
inline double tanh(double x) { return __builtin_tanh(x); }
inline double erfc(double x) { return __builtin_erfc(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline double ceil(double x) { return __builtin_ceil(x); }
#endif

constexpr double abs(double x) { return __builtin_fabs(x); }
constexpr bool nan(double x) { return __builtin_isnan(x); }
constexpr bool finite(double x) { return __builtin_isfinite(x); }

}  // namespace tenon::detail::libm
