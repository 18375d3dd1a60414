// The element-wise steps that follow an operator, applied to each of its elements before it is stored.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// The steps of an epilogue without shapes, so that kernels which differ in shapes alone can share one: of each operand
/// after the first `before`, how it is read.
template <class Element, class Joined, int before, EpilogueOperand... kind>
struct EpilogueSteps {
  /// Element i of the result, which belongs to `channel`.
  __device__ static Element of(const Arguments& a, Element value, [[maybe_unused]] long i,
                               [[maybe_unused]] long channel) {
    return [&]<int... K>(std::integer_sequence<int, K...>) {
      return static_cast<Element>(FusedFunction<Element, Joined>()(
          value, a.template operand<Element>(before + K)[kind == number  ? 0
                                                         : kind == whole ? i
                                                                         : channel]...));
    }(std::make_integer_sequence<int, int(sizeof...(kind))>());
  }
};
template <class Element>
struct NoSteps {
  __device__ static Element of(const Arguments&, Element value, long, long) { return value; }
};
namespace detail {
template <class C, int... K>
auto epilogue_of(std::integer_sequence<int, K...>)
    -> EpilogueSteps<typename C::Result, typename C::Joined, C::Op::operands_before_epilogue,
                     epilogue_operand<C, K>...>;
template <class C>
auto epilogue_of() {
  if constexpr (C::steps > 0)
    return decltype(epilogue_of<C>(std::make_integer_sequence<int, C::operands - C::Op::operands_before_epilogue>())){};
  else return NoSteps<typename C::Result>{};
}
}  // namespace detail
template <class C>
using EpilogueOf = decltype(detail::epilogue_of<C>());

/// Element i of the result of C, which belongs to `channel`, after the steps of the epilogue.
template <class C>
__device__ typename C::Result finished(const Arguments& a, long i, long channel, typename C::Result value) {
  return EpilogueOf<C>::of(a, value, i, channel);
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
