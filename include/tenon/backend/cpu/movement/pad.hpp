// A border of a constant around a tensor: the tensor is put into a larger one.
#pragma once
#include <cstring>

#include <tenon/backend/cpu/movement/slice.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Pad;
}

template <>
struct Kernel<Cpu, ops::Pad> {
  template <class Call>
  static constexpr kernel::Window sizes(long n) {
    return kernel::window_sizes(Call::Op::window(Call::config(), Call::operand(0)), Call::result, Call::operand(0), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return sizes<Call>(n).rows();
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    T value;
    std::memcpy(static_cast<void*>(&value), &a.immediate, sizeof(T));
    kernel::window_put(sizes<Call>(a.n), a.operand<T>(0), a.result<T>(), value, begin, end);
  }
};

}  // namespace tenon
