// Kernels of the operators that tenon.hpp leaves out, for the targets that a program has. A target
// without a more.hpp has none of them.
#pragma once
#include <tenon/backend/backends.hpp>
#include <tenon/backend/cpu/more.hpp>

#if defined(TENON_TARGET)
#define TENON_MORE_IN(folder) <tenon/backend/folder/more.hpp>
#define TENON_MORE_OF(folder) TENON_MORE_IN(folder)
#if __has_include(TENON_MORE_OF(TENON_TARGET_1))
#include TENON_MORE_OF(TENON_TARGET_1)
#endif
#if TENON_TARGETS > 1
#if __has_include(TENON_MORE_OF(TENON_TARGET_2))
#include TENON_MORE_OF(TENON_TARGET_2)
#endif
#endif
#if TENON_TARGETS > 2
#if __has_include(TENON_MORE_OF(TENON_TARGET_3))
#include TENON_MORE_OF(TENON_TARGET_3)
#endif
#endif
#if TENON_TARGETS > 3
#if __has_include(TENON_MORE_OF(TENON_TARGET_4))
#include TENON_MORE_OF(TENON_TARGET_4)
#endif
#endif
#endif
