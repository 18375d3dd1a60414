// TENON_ABI, the name of the inline namespace around everything: what the flags of a unit decide about its code.
#pragma once
#include <version>  // which standard library

// Two units of one program that were built with other flags instantiate the same templates. Did both give them one
// name, the linker would keep either: a unit for any processor would run instructions of a newer one, or read a
// container as the other unit lays it out. So what differs is in the name:
//
//   v01_    the version
//   3       the highest complete level of x86-64, or a for ARM64 (5: what Ice Lake and Zen 4 have beyond level 4)
//   24      one letter or digit for each further extension that our code asks about, or compilers use by themselves
//   GZ      the compiler, then options, then the targets beside the CPU, then whether observers can look
//
// g++ and clang share nothing: they evaluate the arguments of one call in different orders, so that a model's
// operations, traced in constant evaluation, have other numbers, and tables of one would not fit code of the other. Not
// in the name is what leaves either code right for both units: -O, -mtune, NDEBUG, -fwrapv, and -fsanitize=undefined of
// g++ before 14, which does not tell.

// `letter` where the macro is 1, as compilers define those of their target, else nothing.
#define TENON_ABI_IF(macro, letter) TENON_ABI_IF_ONE(macro, letter)
#define TENON_ABI_IF_ONE(value, letter) TENON_ABI_SECOND(TENON_ABI_COMMA_##value letter, , )
#define TENON_ABI_COMMA_1 ,
#define TENON_ABI_SECOND(...) TENON_ABI_SECOND_OF(__VA_ARGS__)
#define TENON_ABI_SECOND_OF(first, second, ...) second
#define TENON_ABI_JOIN(...) TENON_ABI_JOIN_8(__VA_ARGS__)
#define TENON_ABI_JOIN_8(a, b, c, d, e, f, g, h) a##b##c##d##e##f##g##h

// ---- instruction set: the level, then what it has of the next ones, then what is in none
#if !defined(__SSE2__)
#define TENON_ABI_LEVEL 0
#elif !defined(__SSE4_2__) || !defined(__POPCNT__)  // each SSE comes with those before it
#define TENON_ABI_LEVEL 1
#elif !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__) || !defined(__BMI__) || !defined(__BMI2__) || \
    !defined(__LZCNT__) || !defined(__MOVBE__)
#define TENON_ABI_LEVEL 2
#elif !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512CD__) || !defined(__AVX512DQ__) || \
    !defined(__AVX512VL__)
#define TENON_ABI_LEVEL 3
#elif !defined(__AVX512IFMA__) || !defined(__AVX512VBMI__) || !defined(__AVX512VBMI2__) || !defined(__AVX512VNNI__) || \
    !defined(__AVX512BITALG__) || !defined(__AVX512VPOPCNTDQ__)
#define TENON_ABI_LEVEL 4
#else
#define TENON_ABI_LEVEL 5
#endif

#if TENON_ABI_LEVEL < 2
#define TENON_ABI_OF_LEVEL_2                                                                         \
  TENON_ABI_JOIN(TENON_ABI_IF(__SSE3__, a), TENON_ABI_IF(__SSSE3__, b), TENON_ABI_IF(__SSE4_1__, c), \
                 TENON_ABI_IF(__SSE4_2__, d), TENON_ABI_IF(__POPCNT__, e), , , )
#else
#define TENON_ABI_OF_LEVEL_2
#endif
#if TENON_ABI_LEVEL < 3
#define TENON_ABI_OF_LEVEL_3                                                                     \
  TENON_ABI_JOIN(TENON_ABI_IF(__AVX__, f), TENON_ABI_IF(__AVX2__, g), TENON_ABI_IF(__FMA__, h),  \
                 TENON_ABI_IF(__F16C__, i), TENON_ABI_IF(__BMI__, j), TENON_ABI_IF(__BMI2__, k), \
                 TENON_ABI_IF(__LZCNT__, l), TENON_ABI_IF(__MOVBE__, m))
#else
#define TENON_ABI_OF_LEVEL_3
#endif
#if TENON_ABI_LEVEL < 4
#define TENON_ABI_OF_LEVEL_4                                                                                 \
  TENON_ABI_JOIN(TENON_ABI_IF(__AVX512F__, n), TENON_ABI_IF(__AVX512BW__, o), TENON_ABI_IF(__AVX512CD__, p), \
                 TENON_ABI_IF(__AVX512DQ__, q), TENON_ABI_IF(__AVX512VL__, r), , , )
#else
#define TENON_ABI_OF_LEVEL_4
#endif
#if TENON_ABI_LEVEL < 5
#define TENON_ABI_OF_LEVEL_5                                                                                         \
  TENON_ABI_JOIN(TENON_ABI_IF(__AVX512IFMA__, s), TENON_ABI_IF(__AVX512VBMI__, t), TENON_ABI_IF(__AVX512VBMI2__, u), \
                 TENON_ABI_IF(__AVX512VNNI__, v), TENON_ABI_IF(__AVX512BITALG__, w),                                 \
                 TENON_ABI_IF(__AVX512VPOPCNTDQ__, x), , )
#else
#define TENON_ABI_OF_LEVEL_5
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AMX_TILE__) && defined(__AMX_BF16__) && \
    defined(__linux__)
#define TENON_HAS_AMX 1
#endif
#if defined(__ARM_FEATURE_RCPC) && __ARM_FEATURE_RCPC >= 2
#define TENON_ABI_RCPC_2 1
#endif
#if defined(__aarch64__)
#define TENON_ABI_LEVEL_NAME a
#define TENON_ABI_OF_NO_LEVEL                                                                                 \
  TENON_ABI_JOIN(TENON_ABI_IF(__ARM_FEATURE_ATOMICS, l), TENON_ABI_IF(__ARM_FEATURE_DOTPROD, d),              \
                 TENON_ABI_IF(__ARM_FEATURE_QRDMX, q), TENON_ABI_IF(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC, h), \
                 TENON_ABI_IF(__ARM_FEATURE_RCPC, r), TENON_ABI_IF(TENON_ABI_RCPC_2, u),                      \
                 TENON_ABI_IF(__ARM_FEATURE_COMPLEX, c), TENON_ABI_IF(__ARM_FEATURE_SHA3, s))
#define TENON_ABI_OF_NO_LEVEL_2                                                                   \
  TENON_ABI_JOIN(TENON_ABI_IF(__ARM_FEATURE_SVE, v), TENON_ABI_IF(__ARM_FEATURE_SVE2, w),         \
                 TENON_ABI_IF(__ARM_FEATURE_BF16, b), TENON_ABI_IF(__ARM_FEATURE_MATMUL_INT8, i), \
                 TENON_ABI_IF(__ARM_FEATURE_MOPS, m), TENON_ABI_IF(__ARM_FEATURE_FRINT, t),       \
                 TENON_ABI_IF(__ARM_FEATURE_JCVT, j), TENON_ABI_IF(__ARM_FEATURE_CSSC, n))
#else
#define TENON_ABI_LEVEL_NAME TENON_ABI_LEVEL
#define TENON_ABI_OF_NO_LEVEL                                                                                    \
  TENON_ABI_JOIN(TENON_ABI_IF(__AVX512BF16__, y), TENON_ABI_IF(__AVX512FP16__, z), TENON_ABI_IF(__AVXVNNI__, 0), \
                 TENON_ABI_IF(__GFNI__, 1), TENON_ABI_IF(__PCLMUL__, 2), TENON_ABI_IF(__PRFCHW__, 3),            \
                 TENON_ABI_IF(__SSE4A__, 4), TENON_ABI_IF(TENON_HAS_AMX, 5))
#define TENON_ABI_OF_NO_LEVEL_2                                                                                   \
  TENON_ABI_JOIN(TENON_ABI_IF(__FMA4__, 6), TENON_ABI_IF(__XOP__, 7), TENON_ABI_IF(__TBM__, 8),                   \
                 TENON_ABI_IF(__APX_F__, 9), TENON_ABI_IF(__AVXVNNIINT8__, H), TENON_ABI_IF(__AVXVNNIINT16__, I), \
                 TENON_ABI_IF(__AVXIFMA__, J), TENON_ABI_IF(__AVXNECONVERT__, K))
#endif

// ---- the compiler (with nvcc: its host compiler), and options
#if defined(__clang__)
#define TENON_ABI_COMPILER C
#else
#define TENON_ABI_COMPILER G
#endif
#if defined(__CUDACC__)
#define TENON_ABI_CUDA N
#else
#define TENON_ABI_CUDA
#endif
#if defined(TENON_WITH_ZLIB)
#define TENON_ABI_ZLIB Z
#else
#define TENON_ABI_ZLIB
#endif
#if defined(TENON_WITH_PNG)
#define TENON_ABI_PNG P
#else
#define TENON_ABI_PNG
#endif
#if defined(TENON_WITH_JPEG)
#define TENON_ABI_JPEG J
#else
#define TENON_ABI_JPEG
#endif
#if defined(__GXX_RTTI)
#define TENON_ABI_RTTI
#else
#define TENON_ABI_RTTI R  // a table of virtual functions has no type
#endif
// Containers: of the other library, with strings of before 2011; with more members, with checks.
#if defined(_LIBCPP_VERSION)
#define TENON_ABI_LIBRARY L
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define TENON_ABI_LIBRARY O
#else
#define TENON_ABI_LIBRARY
#endif
#if defined(_GLIBCXX_DEBUG)
#define TENON_ABI_CHECKS D
#elif defined(_GLIBCXX_ASSERTIONS) && _GLIBCXX_RELEASE < 15  // from 15 on each unit without -O has them
#define TENON_ABI_CHECKS S
#else
#define TENON_ABI_CHECKS
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_ABI_MEMORY A
#elif __has_feature(memory_sanitizer)
#define TENON_ABI_MEMORY M
#elif __has_feature(thread_sanitizer)
#define TENON_ABI_MEMORY T
#endif
#if __has_feature(undefined_behavior_sanitizer)
#define TENON_ABI_UNDEFINED U
#endif
#endif
#if !defined(TENON_ABI_MEMORY) && defined(__SANITIZE_ADDRESS__)
#define TENON_ABI_MEMORY A
#elif !defined(TENON_ABI_MEMORY) && defined(__SANITIZE_THREAD__)
#define TENON_ABI_MEMORY T
#elif !defined(TENON_ABI_MEMORY)
#define TENON_ABI_MEMORY
#endif
#if !defined(TENON_ABI_UNDEFINED)
#define TENON_ABI_UNDEFINED
#endif

// ---- the targets beside the CPU, core/target.hpp: up to four names, separated by commas
#if defined(TENON_TARGET)
#define TENON_ABI_FIFTH(...) TENON_ABI_FIFTH_OF(__VA_ARGS__)
#define TENON_ABI_FIFTH_OF(first, second, third, fourth, fifth, ...) fifth
#define TENON_TARGETS TENON_ABI_FIFTH(TENON_TARGET, 4, 3, 2, 1, )
#if TENON_TARGETS < 1
#include <-DTENON_TARGET=reference,mine names one to four folders of tenon/backend/, separated by commas>
#endif
#define TENON_TARGET_1 TENON_ABI_FIFTH(, , , , TENON_TARGET, )
#define TENON_TARGET_2 TENON_ABI_FIFTH(, , , TENON_TARGET, , )
#define TENON_TARGET_3 TENON_ABI_FIFTH(, , TENON_TARGET, , , )
#define TENON_TARGET_4 TENON_ABI_FIFTH(, TENON_TARGET, , , , )
#if TENON_TARGETS == 1
#define TENON_ABI_TARGET TENON_TARGET
#else
#define TENON_ABI_TARGET TENON_ABI_JOIN(TENON_TARGET_1, _, TENON_TARGET_2, _, TENON_TARGET_3, _, TENON_TARGET_4, )
#endif
#else
#define TENON_ABI_TARGET
#endif

// ---- observers, graph/observe/origin.hpp
#if defined(TENON_OBSERVE)
#define TENON_ABI_OBSERVE _observed
#else
#define TENON_ABI_OBSERVE
#endif

// ---- no exceptions, no heap, other kernels: tenon/embedded.hpp
#if defined(TENON_EMBEDDED)
#define TENON_ABI_EMBEDDED _embedded
#else
#define TENON_ABI_EMBEDDED
#endif

#define TENON_ABI_INSTRUCTIONS                                                                           \
  TENON_ABI_JOIN(TENON_ABI_LEVEL_NAME, TENON_ABI_OF_LEVEL_2, TENON_ABI_OF_LEVEL_3, TENON_ABI_OF_LEVEL_4, \
                 TENON_ABI_OF_LEVEL_5, TENON_ABI_OF_NO_LEVEL, TENON_ABI_OF_NO_LEVEL_2, TENON_ABI_IF(__AVX10_2__, P))
#define TENON_ABI_OPTIONS                                                                               \
  TENON_ABI_JOIN(TENON_ABI_COMPILER, TENON_ABI_CUDA, TENON_ABI_ZLIB, TENON_ABI_RTTI, TENON_ABI_LIBRARY, \
                 TENON_ABI_CHECKS, TENON_ABI_MEMORY, TENON_ABI_UNDEFINED)
#define TENON_ABI                                                                                                  \
  TENON_ABI_JOIN(v01_, TENON_ABI_INSTRUCTIONS, TENON_ABI_OPTIONS, TENON_ABI_PNG, TENON_ABI_JPEG, TENON_ABI_TARGET, \
                 TENON_ABI_OBSERVE, TENON_ABI_EMBEDDED)
