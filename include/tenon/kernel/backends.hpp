// Which backends a program has: the kernels of the CPU, and those of the second target. Operators and cells include
// none of them: kernels are looked up where this header is included.
#pragma once
#include <tenon/kernel/cpu/kernels.hpp>
#include <tenon/kernel/kernel.hpp>

#if defined(TENON_TARGET)
#define TENON_KERNELS_IN(folder) <tenon/kernel/folder/kernels.hpp>
#define TENON_KERNELS_OF(folder) TENON_KERNELS_IN(folder)
#include TENON_KERNELS_OF(TENON_TARGET)
#endif
