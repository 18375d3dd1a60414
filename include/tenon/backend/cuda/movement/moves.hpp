// How control flow moves values on a GPU: by small kernels, so that a step can be recorded.
#pragma once
#include <tenon/backend/cuda/device.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/target/moves.hpp>

namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// buffer[0]: to, buffer[1]: from. Strides and bytes are multiples of the unit.
template <class Unit>
struct CopyRows {
  static constexpr int threads = 256;
  long rows, units, to_stride, from_stride;

  __device__ void block(const Arguments& a) const {
    const long i = thread_of_grid();
    if (i >= rows * units) return;
    const long row = i / units, unit = i - row * units;
    static_cast<Unit*>(a.buffer[0])[row * to_stride + unit] =
        static_cast<const Unit*>(a.buffer[1])[row * from_stride + unit];
  }
};
template <class Unit>
struct Clear {
  static constexpr int threads = 256;
  long units;

  __device__ void block(const Arguments& a) const {
    const long i = thread_of_grid();
    if (i < units) static_cast<Unit*>(a.buffer[0])[i] = Unit(0);
  }
};
struct PutWord {
  static constexpr int threads = warp;
  std::uint64_t word;

  __device__ void block(const Arguments& a) const {
    if (threadIdx.x == 0) static_cast<std::uint64_t*>(a.buffer[0])[0] = word;
  }
};
template <class T>
struct AddTerms {
  static constexpr int threads = 256;
  long count;

  __device__ void block(const Arguments& a) const {
    const long i = thread_of_grid();
    if (i >= count) return;
    T* const sum = static_cast<T*>(a.buffer[0]) + i;
    const T term = static_cast<const T*>(a.buffer[1])[i];
    if constexpr (sizeof(T) == 2) *sum = T(float(*sum) + float(term));
    else *sum = *sum + term;
  }
};
struct TurnState {
  static constexpr int threads = warp;
  long turn;

  __device__ void block(const Arguments& a) const {
    if (threadIdx.x == 0)
      turn_random_state(static_cast<std::uint64_t*>(a.buffer[0]), static_cast<const std::uint64_t*>(a.buffer[1]), turn);
  }
};
/// buffer[0]: two flags that keep kernels back, buffer[1]: the condition, buffer[2]: a flag around it, or null.
struct BranchFlags {
  static constexpr int threads = warp;

  __device__ void block(const Arguments& a) const {
    if (threadIdx.x != 0) return;
    const auto* const around = static_cast<const std::int32_t*>(a.buffer[2]);
    const bool none = around && *around, condition = *static_cast<const bool*>(a.buffer[1]);
    static_cast<std::int32_t*>(a.buffer[0])[0] = none || !condition;
    static_cast<std::int32_t*>(a.buffer[0])[1] = none || condition;
  }
};
/// buffer[0]: three flags that keep kernels of a turn back: if it is not the last of the turns that were, if it is not
/// one before that, if it is none of them. buffer[1]: how many there were, buffer[2]: a flag around it, or null.
struct TurnFlags {
  static constexpr int threads = warp;
  long turn;

  __device__ void block(const Arguments& a) const {
    if (threadIdx.x != 0) return;
    const auto* const around = static_cast<const std::int32_t*>(a.buffer[2]);
    const bool none = around && *around;
    const long last = long(*static_cast<const std::int64_t*>(a.buffer[1])) - 1;
    auto* const flags = static_cast<std::int32_t*>(a.buffer[0]);
    flags[0] = none || turn != last;
    flags[1] = none || turn >= last;
    flags[2] = none || turn > last;
  }
};
inline Arguments two_buffers(void* to, const void* from = nullptr) {
  Arguments a;
  a.buffer[0] = to, a.buffer[1] = const_cast<void*>(from);
  return a;
}

}  // namespace kernel::cuda

template <>
struct Moves<Cuda> {
  static constexpr bool on_host = false;
  static void copy(void* to, const void* from, long bytes) {
    copy_rows({static_cast<std::byte*>(to), 0}, {static_cast<std::byte*>(const_cast<void*>(from)), 0}, 1, bytes);
  }
  static void copy_rows(RowsOfBytes to, RowsOfBytes from, long rows, long bytes) {
    const auto together = [&](long unit) {
      return (long(reinterpret_cast<std::uintptr_t>(to.begin)) | long(reinterpret_cast<std::uintptr_t>(from.begin)) |
              bytes | to.stride | from.stride) %
                 unit ==
             0;
    };
    const auto start = [&]<class Unit>(std::type_identity<Unit>) {
      constexpr long unit = long(sizeof(Unit));
      const kernel::cuda::CopyRows<Unit> body{rows, bytes / unit, to.stride / unit, from.stride / unit};
      kernel::cuda::launch_blocks(body, kernel::cuda::two_buffers(to.begin, from.begin),
                                  kernel::cuda::blocks_for(rows * body.units, body.threads));
    };
    if (together(8)) start(std::type_identity<std::uint64_t>());
    else if (together(4)) start(std::type_identity<std::uint32_t>());
    else start(std::type_identity<std::uint8_t>());
  }
  static void clear(void* to, long bytes) {
    const bool words = (reinterpret_cast<std::uintptr_t>(to) | std::uintptr_t(bytes)) % 8 == 0;
    const auto start = [&]<class Unit>(std::type_identity<Unit>) {
      const kernel::cuda::Clear<Unit> body{bytes / long(sizeof(Unit))};
      kernel::cuda::launch_blocks(body, kernel::cuda::two_buffers(to),
                                  kernel::cuda::blocks_for(body.units, body.threads));
    };
    if (words) start(std::type_identity<std::uint64_t>());
    else start(std::type_identity<std::uint8_t>());
  }
  static void put(void* to, std::uint64_t word) {
    kernel::cuda::launch_blocks(kernel::cuda::PutWord{word}, kernel::cuda::two_buffers(to), 1);
  }
  static void add(Dtype dtype, void* sum, const void* term, long count) {
    const auto start = [&]<class T>(std::type_identity<T>) {
      const kernel::cuda::AddTerms<T> body{count};
      kernel::cuda::launch_blocks(body, kernel::cuda::two_buffers(sum, term),
                                  kernel::cuda::blocks_for(count, body.threads));
    };
    switch (dtype) {
      case Dtype::float64: return start(std::type_identity<double>());
      case Dtype::float16: return start(std::type_identity<float16>());
      case Dtype::bfloat16: return start(std::type_identity<bfloat16>());
      default: return start(std::type_identity<float>());
    }
  }
  static void turn_state(void* to, const void* state, long turn) {
    kernel::cuda::launch_blocks(kernel::cuda::TurnState{turn}, kernel::cuda::two_buffers(to, state), 1);
  }
  // Both are started, and the device keeps one of them back.
  template <class F, class G>
  static void either(void* room, const bool* condition, F then, G otherwise) {
    auto* const flags = static_cast<std::int32_t*>(room);
    set_flags(kernel::cuda::BranchFlags(), flags, condition);
    unless(flags, then);
    unless(flags + 1, otherwise);
  }
  static void turn_flags(std::int32_t* flags, const void* count, long turn) {
    set_flags(kernel::cuda::TurnFlags{turn}, flags, count);
  }
  template <class F>
  static void unless(const std::int32_t* flag, F f) {
    kernel::cuda::Running where = kernel::cuda::running();
    where.unless = flag;
    kernel::cuda::run_with(where, f);
  }
  static int threads() { return 1; }

 private:
  // Whatever keeps kernels back around it: then the new flags do, too.
  template <class Body>
  static void set_flags(const Body& body, std::int32_t* flags, const void* from) {
    Arguments a = kernel::cuda::two_buffers(flags, from);
    a.buffer[2] = const_cast<std::int32_t*>(kernel::cuda::running().unless);
    unless(nullptr, [&] { kernel::cuda::launch_blocks(body, a, 1); });
  }
};

}  // namespace tenon
