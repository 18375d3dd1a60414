// What kernels for a GPU are written with: a body is the work of a block of threads, launch_blocks() starts blocks.
#pragma once
#include <cuda_runtime.h>

#include <tenon/backend/cuda/queues.hpp>
#include <tenon/backend/cuda/shared_memory.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {
struct Cuda;
}

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Lanes of a warp.
inline constexpr int warp = 32;

/// Blocks of a body that have the registers of a multiprocessor at the same time, where it says so; else 0.
template <class Body>
constexpr int resident_blocks() {
  if constexpr (requires { Body::resident; }) return Body::resident;
  else return 0;
}
/// Each block waits here until all kernels before it are done. The next kernel is made ready meanwhile, but its blocks
/// start after those of this one: earlier, most of them would come to the few multiprocessors that have room.
__device__ inline void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
/// All blocks of a body. `unless`, if given, is in the device's memory: another number than 0 there keeps them back.
template <class Body>
__global__ void __launch_bounds__(Body::threads, resident_blocks<Body>())
    run_blocks(const Arguments a, const std::int32_t* unless) {
  wait_for_kernel_before();
  if (!unless || *unless == 0) Body::block(a);
}
/// The same for a body with members.
template <class Body>
__global__ void __launch_bounds__(Body::threads, resident_blocks<Body>())
    run_blocks_of(const Body body, const Arguments a, const std::int32_t* unless) {
  wait_for_kernel_before();
  if (!unless || *unless == 0) body.block(a);
}

namespace detail {
/// For tests: which body is started next.
template <class Body>
void name_blocks() {
#if defined(TENON_CUDA_EMULATOR)
  emulator::next_body = typeid(Body).name();
#endif
}
/// Throws RuntimeError if the blocks of a kernel need more shared memory than this GPU has for one.
inline void refuse_shared_bytes(int needed) {
  if (const int most = queues().shared_bytes; needed > most)
    throw_error<RuntimeError>("GPU: a kernel needs ", needed, " bytes of shared memory per block, and this GPU has ",
                              most, ". Use a newer GPU, or the CPU.");
}
template <class... Values>
void start_blocks(void (*kernel)(Values...), long blocks, int threads, int shared_bytes, const Values&... values) {
  if (blocks <= 0) return;
  const Running& now = running();
  if (now.seen) return static_cast<void>(++now.seen->kernels);
  constexpr int without_asking = 48 << 10;
  if (shared_bytes > without_asking) refuse_shared_bytes(shared_bytes);
#if defined(TENON_CUDA_EMULATOR)
  emulator::launch(now.stream, unsigned(blocks), threads, shared_bytes, [kernel, values...] { kernel(values...); });
  check(cudaGetLastError(), "the launch of a kernel");
#else
  if (shared_bytes > without_asking)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, queues().shared_bytes),
          "cudaFuncSetAttribute");
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = unsigned(blocks), config.blockDim = unsigned(threads);
  config.dynamicSmemBytes = std::size_t(shared_bytes), config.stream = now.stream;
  config.attrs = &overlap, config.numAttrs = now.overlaps;
  check(cudaLaunchKernelEx(&config, kernel, values...), "the launch of a kernel");
#endif
}
}  // namespace detail

/// Starts `blocks` blocks of `Body`, which has
///
///     static constexpr int threads;                  of a block, a multiple of 32
///     static long blocks(long n);                    how many; not needed if launch_blocks() gets `blocks`
///     static constexpr int resident;                 optional: this many at the same time on a multiprocessor
///     __device__ static void block(const Arguments&);
///                                                    what a block does: blockIdx.x and threadIdx.x say which part
///
/// `shared_bytes` of shared memory are at dynamic_shared(). Nothing is started without blocks.
template <class Body>
void launch_blocks(const Arguments& a, long blocks, int shared_bytes = 0) {
  detail::name_blocks<Body>();
  detail::start_blocks<const Arguments, const std::int32_t*>(run_blocks<Body>, blocks, Body::threads, shared_bytes, a,
                                                             running().unless);
}
/// The same for a body whose members are sizes: block() is no static function, and one kernel serves all sizes. Blocks
/// may have fewer `threads`.
template <class Body>
void launch_blocks(const Body& body, const Arguments& a, long blocks, int shared_bytes = 0,
                   int threads = Body::threads) {
  detail::name_blocks<Body>();
  detail::start_blocks<const Body, const Arguments, const std::int32_t*>(run_blocks_of<Body>, blocks, threads,
                                                                         shared_bytes, body, a, running().unless);
}
template <class Body>
void launch_blocks(const Arguments& a) {
  launch_blocks<Body>(a, Body::blocks(a.n));
}

/// The shared memory that launch_blocks() was asked for, aligned to 16 bytes.
__device__ inline std::byte* dynamic_shared() {
#if defined(TENON_CUDA_EMULATOR)
  return emulator::dynamic_shared();
#else
  extern __shared__ __align__(16) std::byte tenon_dynamic_shared[];
  return tenon_dynamic_shared;
#endif
}

/// Base of a kernel that does all of its work in one call.
struct Whole {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
};
/// Base of a kernel that is one launch of Body<Call>.
template <template <class> class Body>
struct Launches : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    launch_blocks<Body<Call>>(a);
  }
};

// Device code cannot refer to a static member of a Call, but can have a constexpr copy of it.
/// Elements of the result of C.
template <class C>
TENON_DEVICE constexpr long result_count(long n) {
  constexpr TensorType type = C::result;
  return type.count(n);
}
/// Elements of operand K of C.
template <class C, int K>
TENON_DEVICE constexpr long operand_count(long n) {
  constexpr TensorType type = C::operand(K);
  return type.count(n);
}

/// How many blocks of `threads` threads have one thread for each of `count` elements.
constexpr long blocks_for(long count, int threads) { return (count + threads - 1) / threads; }
/// The number of this thread among those of all blocks.
__device__ inline long thread_of_grid() { return long(blockIdx.x) * blockDim.x + threadIdx.x; }

/// Base of a body in which a thread computes one element of the result: `Element::at<Call>(a, i)` does so for
/// element i.
template <class Element, class Call>
struct PerElement {
  static constexpr int threads = 256;
  static long blocks(long n) { return blocks_for(result_count<Call>(n), threads); }
  __device__ static void block(const Arguments& a) {
    const long i = thread_of_grid();
    if (i < result_count<Call>(a.n)) Element::template at<Call>(a, i);
  }
};
/// Base of a kernel with such a body.
template <class Element>
struct Elements : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    launch_blocks<PerElement<Element, Call>>(a);
  }
};

}  // namespace tenon::kernel::cuda
