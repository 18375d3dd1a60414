// What every header agrees on: the tagged namespace, exact rounding, and the word for device code.
#pragma once

// A file that does not exist ends the compilation; after an #error g++ continues, for up to 13,000 lines.
#if defined(I) || defined(N) || defined(None) || defined(slots) || defined(emit) || defined(check) || defined(near) || \
    defined(far) || defined(relu) || defined(small)
#include <A macro has a name that Tenon uses, such as N, I, None, check, small: tenon/tenon.hpp sets such macros aside>
#endif
#if !defined(__cplusplus) || __cplusplus < 202002L
#include <Tenon is C++20: compile with -std=c++20, in CMake link tenon::tenon>
#elif !defined(__cpp_exceptions) && !defined(TENON_EMBEDDED)
#include <Tenon reports errors at run time by exceptions: compile without -fno-exceptions (or see tenon/embedded.hpp)>
#endif

#include <tenon/core/abi.hpp>

#if defined(_GLIBCXX_DEBUG) && _GLIBCXX_RELEASE < 13
#include <Tenon needs a constexpr std::vector, which -D_GLIBCXX_DEBUG of g++ 12 lacks: take -D_GLIBCXX_ASSERTIONS>
#endif

#define TENON_VERSION "0.1.0"

#if defined(__FAST_MATH__)
#error "Tenon promises equal bits in both modes, which -ffast-math breaks: compile without it (also without -Ofast)."
#elif defined(__ASSOCIATIVE_MATH__) && defined(__RECIPROCAL_MATH__)
#error "Tenon promises equal bits in both modes, which -funsafe-math-optimizations breaks: compile without it."
#elif defined(__ASSOCIATIVE_MATH__)
#error "Tenon promises equal bits in both modes, which -fassociative-math breaks: compile without it."
#elif defined(__RECIPROCAL_MATH__)
#error "Tenon promises equal bits in both modes, which -freciprocal-math breaks: compile without it."
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "Tenon's kernels compute with NaN and infinity, which -ffinite-math-only forbids: compile without it."
#elif defined(__NO_SIGNED_ZEROS__)
#error "Tenon promises equal bits in both modes, which -fno-signed-zeros breaks: compile without it."
#endif
static_assert(sizeof(1.0) == sizeof(double),
              "Tenon's numbers are of double precision, which -fsingle-precision-constant "
              "makes float: compile without it.");
#if !defined(__GNUC__)
#error "Tenon needs g++ >= 12, clang >= 19, or nvcc >= 13 with g++ as its host compiler."
#endif

#if defined(__CUDACC__)
// nvcc warns about pragmas of exact rounding and attributes, which are for its host compiler, and about functions that
// the host alone calls with vectors
#pragma nv_diag_suppress 1675, 2189, 20011
#define TENON_DEVICE __host__ __device__
#else
#define TENON_DEVICE
#endif

// What depends on no shape and no model is defined in headers, or, where TENON_COMPILED is defined, once per program in
// the sources of compiled/, and only declared here: `#if TENON_DEFINES` stands around such definitions, TENON_INLINE
// before each function that was declared before it. A program with other targets (core/target.hpp) takes the headers,
// unless TENON_COMPILED_TARGET says that the sources of compiled/ have these targets, too. A program without exceptions
// has none of these definitions (tenon/embedded.hpp).
#if defined(TENON_EMBEDDED)
#define TENON_DEFINES 0
#elif defined(TENON_COMPILED) && !defined(TENON_COMPILED_PART) && \
    (!defined(TENON_TARGET) || defined(TENON_COMPILED_TARGET))
#define TENON_DEFINES 0
#else
#define TENON_DEFINES 1
#endif
// compiled/tenon.cpp defines TENON_COMPILED_PART: its object has all these functions, also those that it does not call.
#if defined(TENON_COMPILED_PART)
#define TENON_INLINE [[gnu::used]] inline
// of constructors and destructors that are inline clang keeps the variant for derived classes alone
#define TENON_INLINE_CONSTRUCTOR [[gnu::used, gnu::weak]]
#else
#define TENON_INLINE inline
#define TENON_INLINE_CONSTRUCTOR inline
#endif

// Between these two lines g++ does not report two things that clang does not report either. Arrays may have as many
// elements as an int among the template arguments says: no change of a sign (-Wsign-conversion). Locals of a template
// may have the name of a global of the program that instantiates it (-Wshadow).
#if defined(__clang__)
#define TENON_INT_SIZES_BEGIN
#define TENON_INT_SIZES_END
#else
#define TENON_INT_SIZES_BEGIN                                                            \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wsign-conversion\"") \
      _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define TENON_INT_SIZES_END _Pragma("GCC diagnostic pop")
#endif

// Between these two lines arithmetic is what is written, whatever the compiler's flags: a * b + c rounds twice (g++
// contracts it to one rounding across inlined functions, which makes a fused kernel differ from an unfused one), and
// clang, which does not tell of -fassociative-math and its kin, forgets about them. Operators and kernels stand inside.
// A fused multiply-add happens only where it is written (core/simd/simd.hpp, fmadd). Sizes may be ints here, too.
#if defined(__clang__)
#define TENON_EXACT_BEGIN \
  _Pragma("float_control(push)") _Pragma("float_control(precise, on)") _Pragma("clang fp contract(off)")
#define TENON_EXACT_END _Pragma("float_control(pop)")
#else
#define TENON_EXACT_BEGIN TENON_INT_SIZES_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")")
#define TENON_EXACT_END _Pragma("GCC pop_options") TENON_INT_SIZES_END
#endif
