// A GPU looks at computed indices, a thread each.
#pragma once
#include <tenon/backend/cuda/device.hpp>
#include <tenon/target/index_checks.hpp>

namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// buffer[0]: the flag, buffer[1]: the indices.
template <class I>
struct LookAtIndices {
  static constexpr int threads = 256;
  long low, high;
  std::int32_t number;

  __device__ void block(const Arguments& a) const {
    const long i = thread_of_grid();
    if (i >= a.n) return;
    const long index = static_cast<const I*>(a.buffer[1])[i];
    if (index < low || index >= high) atomicCAS(static_cast<std::int32_t*>(a.buffer[0]), 0, number);
  }
};
/// buffer[0]: a flag that is set if one of buffer[1] and buffer[2] is.
struct JoinFlags {
  static constexpr int threads = warp;

  __device__ void block(const Arguments& a) const {
    if (threadIdx.x == 0)
      *static_cast<std::int32_t*>(a.buffer[0]) =
          *static_cast<const std::int32_t*>(a.buffer[1]) | *static_cast<const std::int32_t*>(a.buffer[2]);
  }
};

}  // namespace kernel::cuda

template <>
struct IndexChecks<Cuda> {
  static void look(const IndexLook& range, const void* indices, long count, std::int32_t* flag) {
    Arguments a;
    a.n = count, a.buffer[0] = flag, a.buffer[1] = const_cast<void*>(indices);
    const auto start = [&]<class I>(std::type_identity<I>) {
      const kernel::cuda::LookAtIndices<I> body{range.low, range.high, range.number};
      kernel::cuda::launch_blocks(body, a, kernel::cuda::blocks_for(count, body.threads));
    };
    if (range.wide) start(std::type_identity<std::int64_t>());
    else start(std::type_identity<std::int32_t>());
  }
  static void join(const std::int32_t* one, const std::int32_t* other, std::int32_t* flag) {
    Arguments a;
    a.buffer[0] = flag;
    a.buffer[1] = const_cast<std::int32_t*>(one), a.buffer[2] = const_cast<std::int32_t*>(other);
    kernel::cuda::launch_blocks(kernel::cuda::JoinFlags(), a, 1);
  }
};

}  // namespace tenon
