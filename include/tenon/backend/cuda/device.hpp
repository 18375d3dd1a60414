// What kernels for a GPU are written with: a body is the work of a block of threads, launch_blocks() starts blocks.
#pragma once
#include <cuda_runtime.h>

#include <tenon/backend/cuda/shared_memory.hpp>
#include <tenon/backend/cuda/step/queues.hpp>
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
/// __grid_constant__: a thread that takes an operand by a number at run time would copy all arguments to its stack.
template <class Body>
__global__ void __launch_bounds__(Body::threads, resident_blocks<Body>())
    run_blocks(const __grid_constant__ Arguments a, const std::int32_t* unless) {
  wait_for_kernel_before();
  if (!unless || *unless == 0) Body::block(a);
}
/// The same for a body with members.
template <class Body>
__global__ void __launch_bounds__(Body::threads, resident_blocks<Body>())
    run_blocks_of(const __grid_constant__ Body body, const __grid_constant__ Arguments a, const std::int32_t* unless) {
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
/// Lets a kernel have that much shared memory per block.
template <class Kernel>
void allow_shared_bytes(Kernel kernel, int needed) {
  constexpr int without_asking = 48 << 10;
  if (needed <= without_asking) return;
  refuse_shared_bytes(needed);
#if defined(TENON_CUDA_EMULATOR)
  static_cast<void>(kernel);
#else
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, queues().shared_bytes),
        "cudaFuncSetAttribute");
#endif
}
#if !defined(TENON_CUDA_EMULATOR)
/// How blocks are started, with what is asked of the launch.
struct LaunchConfig {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute asked[2]{};

  LaunchConfig(const Running& now, long blocks, int threads, int shared_bytes, int cluster) {
    config.gridDim = unsigned(blocks), config.blockDim = unsigned(threads);
    config.dynamicSmemBytes = std::size_t(shared_bytes), config.stream = now.stream;
    config.attrs = asked;
    if (now.overlaps) {
      cudaLaunchAttribute& overlap = asked[config.numAttrs++];
      overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      overlap.val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
      cudaLaunchAttribute& together = asked[config.numAttrs++];
      together.id = cudaLaunchAttributeClusterDimension;
      together.val.clusterDim.x = unsigned(cluster), together.val.clusterDim.y = together.val.clusterDim.z = 1;
    }
  }
  LaunchConfig(const LaunchConfig&) = delete;  // one part refers to the other
  LaunchConfig& operator=(const LaunchConfig&) = delete;
};
#endif
template <class... Values>
void start_blocks(void (*kernel)(Values...), long blocks, int threads, int shared_bytes, int cluster,
                  const Values&... values) {
  if (blocks <= 0) return;
  const Running& now = running();
  if (now.seen) return static_cast<void>(++now.seen->kernels);
  allow_shared_bytes(kernel, shared_bytes);
#if defined(TENON_CUDA_EMULATOR)
  emulator::launch(now.stream, unsigned(blocks), threads, shared_bytes, unsigned(cluster), kernel, values...);
  check(cudaGetLastError(), "the launch of a kernel");
#else
  const LaunchConfig launch(now, blocks, threads, shared_bytes, cluster);
  check(cudaLaunchKernelEx(&launch.config, kernel, values...), "the launch of a kernel");
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
  detail::start_blocks<const Arguments, const std::int32_t*>(run_blocks<Body>, blocks, Body::threads, shared_bytes, 1,
                                                             a, running().unless);
}
/// The same for a body whose members are sizes: block() is no static function, and one kernel serves all sizes. Blocks
/// may have fewer `threads`. A `cluster` of blocks runs at the same time (cluster.hpp); it divides `blocks`.
template <class Body>
void launch_blocks(const Body& body, const Arguments& a, long blocks, int shared_bytes = 0, int threads = Body::threads,
                   int cluster = 1) {
  detail::name_blocks<Body>();
  detail::start_blocks<const Body, const Arguments, const std::int32_t*>(
      run_blocks_of<Body>, blocks, threads, shared_bytes, cluster, body, a, running().unless);
}
template <class Body>
void launch_blocks(const Arguments& a) {
  launch_blocks<Body>(a, Body::blocks(a.n));
}
/// Clusters of `cluster` blocks of a body with members that run at the same time; none if the GPU has no clusters, or
/// the program is compiled for older ones alone.
template <class Body>
int clusters_at_once(int cluster, int shared_bytes) {
  if (!queues().has_clusters) return 0;
  detail::allow_shared_bytes(run_blocks_of<Body>, shared_bytes);
  int most = 0;
#if defined(TENON_CUDA_EMULATOR)
  check(emulator::clusters_at_once(&most, cluster), "cudaOccupancyMaxActiveClusters");
#else
  const detail::LaunchConfig launch(running(), cluster, Body::threads, shared_bytes, cluster);
  check(cudaOccupancyMaxActiveClusters(&most, run_blocks_of<Body>, &launch.config), "cudaOccupancyMaxActiveClusters");
#endif
  return most;
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
