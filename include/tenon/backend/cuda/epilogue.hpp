// The element-wise steps that follow an operator, applied to each of its elements before it is stored.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/cuda/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

namespace detail {
template <class C, int... K>
__device__ typename C::Result with_steps(const Arguments& a, typename C::Result value, [[maybe_unused]] long i,
                                         [[maybe_unused]] long channel, std::integer_sequence<int, K...>) {
  using T = typename C::Result;
  [[maybe_unused]] constexpr EpilogueOperand kind[]{epilogue_operand<C, K>..., number};
  constexpr int before = C::Op::operands_before_epilogue;
  return static_cast<T>(FusedFunction<T, typename C::Joined>()(
      value, a.template operand<T>(before + K)[kind[K] == number  ? 0
                                               : kind[K] == whole ? i
                                                                  : channel]...));
}
}  // namespace detail

/// Element i of the result of C, which belongs to `channel`, after the steps of the epilogue.
template <class C>
__device__ typename C::Result finished(const Arguments& a, [[maybe_unused]] long i, [[maybe_unused]] long channel,
                                       typename C::Result value) {
  if constexpr (C::steps > 0)
    return detail::with_steps<C>(a, value, i, channel,
                                 std::make_integer_sequence<int, C::operands - C::Op::operands_before_epilogue>());
  else return value;
}
template <class C>
__device__ void store_result(const Arguments& a, long i, long channel, typename C::Result value) {
  a.template result<typename C::Result>()[i] = finished<C>(a, i, channel, value);
}
/// The same for neighbours of one channel.
template <class C, int count>
__device__ void store_results(const Arguments& a, long first, long channel,
                              Neighbours<typename C::Result, count> values) {
#pragma unroll
  for (int i = 0; i < count; ++i) values.element[i] = finished<C>(a, first + i, channel, values.element[i]);
  store_neighbours(values, a.template result<typename C::Result>(), first, count);
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
