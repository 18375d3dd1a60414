// How calls are computed in a kernel per sample: by the threads of one block, from operands of one sample.
#pragma once
#include <tenon/backend/cuda/device.hpp>
#include <tenon/target/per_sample.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Threads of the block of a sample.
inline constexpr int sample_threads = 512;

/// Which sample of a batch of n, and which thread of its block. Steps that need no barrier between them begin at
/// different warps, so that small ones run side by side.
struct SampleOfBatch {
  long sample, n;
  int thread;
};

/// What a kernel per sample does for `Op`, where it can:
///
///     template <class C> static constexpr SampleRole role();
///     template <class C> __device__ static void sample(const Arguments&, SampleOfBatch);
///                                 role sample: the result of one sample. The arguments are those of a batch of 1.
///     template <class C> __device__ static void part(const Arguments&, SampleOfBatch, typename C::Result* to);
///                                 role part: what a sample adds to each element of the result
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

}  // namespace tenon::kernel::cuda
