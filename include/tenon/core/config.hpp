// What every header agrees on: the tagged namespace, exact rounding, and the word for device code.
#pragma once

#define TENON_VERSION "0.1.0"

#if defined(__FAST_MATH__)
#error "Tenon promises equal bits in both modes, which -ffast-math breaks: compile without it (also without -Ofast)."
#endif
#if !defined(__GNUC__)
#error "Tenon needs g++ >= 12, clang >= 18, or nvcc >= 13 with g++ as its host compiler."
#endif

// Two translation units built with different instruction sets, or with and without CUDA or zlib, must not share code,
// although both instantiate the same templates: the inline namespace carries what differs, so the linker keeps both.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AMX_TILE__) && defined(__AMX_BF16__) && \
    defined(__linux__)
#define TENON_ABI_CPU amx
#define TENON_HAS_AMX
#elif defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BF16__)
#define TENON_ABI_CPU avx512bf16
#elif defined(__AVX512F__) && defined(__AVX512DQ__)
#define TENON_ABI_CPU avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define TENON_ABI_CPU avx2
#elif defined(__ARM_NEON)
#define TENON_ABI_CPU neon
#else
#define TENON_ABI_CPU base
#endif
#if defined(__CUDACC__)
#pragma nv_diag_suppress 1675  // nvcc warns about the pragmas of exact rounding, which are for its host compiler
#define TENON_ABI_DEVICE cuda
#define TENON_DEVICE __host__ __device__
#else
#define TENON_ABI_DEVICE host
#define TENON_DEVICE
#endif
#if defined(TENON_WITH_ZLIB)
#define TENON_ABI_PARTS zlib
#else
#define TENON_ABI_PARTS core
#endif
#define TENON_ABI_JOIN(version, cpu, device, parts) version##_##cpu##_##device##_##parts
#define TENON_ABI_NAME(version, cpu, device, parts) TENON_ABI_JOIN(version, cpu, device, parts)
#define TENON_ABI TENON_ABI_NAME(v0_1, TENON_ABI_CPU, TENON_ABI_DEVICE, TENON_ABI_PARTS)

// Between these two lines a * b + c rounds twice, whatever the compiler's default: g++ contracts it to one rounding
// across inlined functions, which makes a fused kernel differ from an unfused one. Operators and kernels stand inside.
// A fused multiply-add happens only where it is written (core/simd.hpp, fmadd).
#if defined(__clang__)
#define TENON_EXACT_BEGIN _Pragma("float_control(push)") _Pragma("clang fp contract(off)")
#define TENON_EXACT_END _Pragma("float_control(pop)")
#else
#define TENON_EXACT_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")")
#define TENON_EXACT_END _Pragma("GCC pop_options")
#endif
