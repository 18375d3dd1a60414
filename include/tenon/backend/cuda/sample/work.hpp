// How calls are computed in a kernel per sample: by the threads of one block, from operands of one sample.
#pragma once
#include <tenon/backend/cuda/device.hpp>
#include <tenon/target/per_sample.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Threads of the block of a sample.
inline constexpr int sample_threads = 512;

/// Of shared memory: what a block can have on all GPUs since compute capability 8.0.
inline constexpr int most_sample_bytes = 99 << 10;

/// Which sample of a batch of n, which thread of its block, and which of the blocks that have this sample. Steps that
/// need no barrier between them begin at different warps, so that they run side by side.
struct SampleOfBatch {
  long sample, n;
  int thread, rank = 0, ranks = 1;
  std::uint32_t share = 0;  // 2^32 / ranks, rounded up
  bool gives = false;       // what this block computes of a result goes to the other ones, too

  /// The part of `count` items that this block computes.
  __device__ int begin(int count) const { return int((std::uint64_t(unsigned(count * rank)) * share) >> 32); }
  __device__ int end(int count) const {
    return rank + 1 < ranks ? int((std::uint64_t(unsigned(count * (rank + 1))) * share) >> 32) : count;
  }
};
/// Blocks that have one sample, at most. Most steps wait for chains, and more blocks have more to exchange: LeNet-5 on
/// an H200 with 1, 2, 4, 8 blocks took 65.5, 60.3, 62.8, 62.7 us per step of a batch of 1; with 1, 2, 3, 4, 8 blocks
/// 65.7, 67.4, 65.0, 79.8, 72.6 us of 32. That was before steps brought their operands to shared memory.
inline constexpr int most_sample_blocks = 3;

/// What a kernel per sample does for `Op`, where it can:
///
///     template <class C> static constexpr SampleRole role();
///     template <class C> __device__ static void sample(const Arguments&, SampleOfBatch);
///                                 role sample: the result of one sample. The arguments are those of a batch of 1.
///     template <class C> static constexpr bool is_shared;
///                                 optional, for role sample with one result: blocks share the step. sample() computes
///                                 the part of this block of some items, and puts it with put_results()
///     template <class C> __device__ static void part(const Arguments&, SampleOfBatch, typename C::Result* to);
///                                 role part; blocks share its items: what a sample adds to each element of the result
///     template <class C> static constexpr int staged_bytes;
///     template <class C> __device__ static void sample or part(..., std::byte* staged);
///                                 optional: the same with that much shared memory beside the values, where the kernel
///                                 has it; 0: only without
///     template <class C> static constexpr int threads;
///                                 optional: how many threads have work; by default one per element of the result
///     template <class C> static constexpr bool has_barrier;
///                                 optional: it has a barrier after what it brings there, before it writes elsewhere
///     template <class C> __device__ static typename C::Result join(const typename C::Result* parts, long n);
///                                 the sum of the parts of n samples, result_count<C>(1) apart
///     template <class C> __device__ static typename C::Result element(const Arguments&, long i);
///                                 role batch: element i of the result. The arguments are those of the batch.
///     template <class C> static constexpr int lanes;   optional: threads that compute one element together
///     template <class C> __device__ static void update(const Arguments&, long i);
///                                 role batch of an effect, instead of element(): changes element i
///     template <class C> static constexpr int neighbours;
///                                 optional: update() changes this many elements from i on
///     template <class C> __device__ static void update(const Arguments&, long i, typename C::Result gradient);
///                                 role update
template <class Op>
struct SampleWork;

/// Calls f(i) for all i below `count`, one thread of the block each.
template <long count, class F>
__device__ void each_of_sample(SampleOfBatch which, F f) {
#pragma unroll 1
  for (int i = which.thread; i < int(count); i += sample_threads) f(i);
}
/// The same for the items that this block computes.
template <long count, class F>
__device__ void each_of_block(SampleOfBatch which, F f) {
  const int end = which.end(int(count));
#pragma unroll 1
  for (int i = which.begin(int(count)) + which.thread; i < end; i += sample_threads) f(i);
}
/// Base for operators with an Element, which computes element i of a result (see PerElement).
template <class Element>
struct SampleElements {
  template <class C>
  static constexpr SampleRole role() {
    return C::result.batched() ? SampleRole::sample : SampleRole::none;
  }
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which) {
    each_of_sample<C::result.count(1)>(which, [&](int i) { Element::template at<C>(a, i); });
  }
};

/// Multiply-adds of a call that a block does in about 5 us: 60 a cycle at 1.98 GHz (an H100). What takes longer is
/// better spread over all multiprocessors.
inline constexpr long most_sample_work = 600'000;
/// Bytes of a weight that each block reads for its sample. At 64 bytes a cycle from the L2 cache this is 2 us; what is
/// larger is read once for many samples by a product of the batch.
inline constexpr long most_sample_weight = 256 << 10;

/// A step of fewer multiply-adds, or of fewer elements, is done by all blocks of a sample: it takes less than their
/// exchange of parts of the result, some 0.5 us.
inline constexpr long least_shared_work = 30'000, least_shared_elements = 4096;
/// Bytes of shared memory that a step uses beside the values of the sample, at most.
inline constexpr int most_staged_bytes = 48 << 10;

}  // namespace tenon::kernel::cuda
