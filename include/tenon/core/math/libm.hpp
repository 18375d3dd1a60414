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
    std::ceil, std::expm1, std::exp2, std::log2, std::log10, std::tan, std::asin, std::acos, std::atan, std::atan2,
    std::sinh, std::cosh, std::asinh, std::acosh, std::atanh, std::erf, std::hypot, std::fmod, std::lgamma;
#else
// lgamma would write a global variable, and no builtin of clang calls this one. <cmath> may declare it, too.
#if defined(__APPLE__)
double lgamma_r(double x, int* sign) noexcept __asm__("_lgamma_r");
#else
double lgamma_r(double x, int* sign) noexcept __asm__("lgamma_r");
#endif
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
inline double expm1(double x) { return __builtin_expm1(x); }
inline double exp2(double x) { return __builtin_exp2(x); }
inline double log2(double x) { return __builtin_log2(x); }
inline double log10(double x) { return __builtin_log10(x); }
inline double tan(double x) { return __builtin_tan(x); }
inline double asin(double x) { return __builtin_asin(x); }
inline double acos(double x) { return __builtin_acos(x); }
inline double atan(double x) { return __builtin_atan(x); }
inline double sinh(double x) { return __builtin_sinh(x); }
inline double cosh(double x) { return __builtin_cosh(x); }
inline double asinh(double x) { return __builtin_asinh(x); }
inline double acosh(double x) { return __builtin_acosh(x); }
inline double atanh(double x) { return __builtin_atanh(x); }
inline double erf(double x) { return __builtin_erf(x); }
inline double atan2(double x, double y) { return __builtin_atan2(x, y); }
inline double hypot(double x, double y) { return __builtin_hypot(x, y); }
inline double fmod(double x, double y) { return __builtin_fmod(x, y); }
inline double lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
inline float fmod(float x, float y) { return __builtin_fmodf(x, y); }
#endif

constexpr double abs(double x) { return __builtin_fabs(x); }
constexpr bool nan(double x) { return __builtin_isnan(x); }
constexpr bool finite(double x) { return __builtin_isfinite(x); }

}  // namespace tenon::detail::libm
