// The CUDA runtime without a GPU: a program that g++ compiles with this folder among its include paths has the target
// Cuda, whose kernels run on the CPU, each thread of a block as a fiber. Blocks run one after the other, they and
// their threads in a random order, which changes with every launch.
#pragma once
#define TENON_CUDA_EMULATOR
#if !defined(__CUDA_ARCH_LIST__)  // as nvcc defines it; tests can compile for smaller GPUs
#define __CUDA_ARCH_LIST__ 900
#endif
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))

#include "emulated_calls.hpp"
#include "emulated_threads.hpp"

#define threadIdx (emulator::fiber().index)
#define blockIdx (emulator::fiber().block)
#define blockDim (emulator::block().threads)
#define gridDim (emulator::block().blocks)
