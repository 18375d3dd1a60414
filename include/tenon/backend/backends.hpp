// Which backends a program has: the kernels of the CPU, and those of its other targets. Operators and cells include
// none of them: kernels are looked up where this header is included.
#pragma once
#if defined(TENON_EMBEDDED)
#include <tenon/backend/micro/kernels.hpp>
#else
#include <tenon/backend/cpu/kernels.hpp>
#endif
#include <tenon/graph/ir/kernel.hpp>

#if defined(TENON_TARGET)
#define TENON_KERNELS_IN(folder) <tenon/backend/folder/kernels.hpp>
#define TENON_KERNELS_OF(folder) TENON_KERNELS_IN(folder)
#include TENON_KERNELS_OF(TENON_TARGET_1)
#if TENON_TARGETS > 1
#include TENON_KERNELS_OF(TENON_TARGET_2)
#endif
#if TENON_TARGETS > 2
#include TENON_KERNELS_OF(TENON_TARGET_3)
#endif
#if TENON_TARGETS > 3
#include TENON_KERNELS_OF(TENON_TARGET_4)
#endif
#endif
