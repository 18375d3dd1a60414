// Sums and means of floating-point numbers, softmax, and the look for numbers that are not finite.
#include <tenon/backend/cpu/attention/softmax.hpp>
#include <tenon/backend/cpu/reduce/all_finite.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
template void reduce_range(const ReduceWalk&, const float*, float*, long, long, float, const Plus&,
                           const DivideBy<float>&);
template long reduce_short(const ReduceWalk&, const float*, float*, long, long, float, const Plus&,
                           const DivideBy<float>&);
template void reduce_range(const ReduceWalk&, const float*, float*, long, long, float, const LongPlus&,
                           const DivideBy<float>&);
template long reduce_short(const ReduceWalk&, const float*, float*, long, long, float, const LongPlus&,
                           const DivideBy<float>&);
template void reduce_range(const ReduceWalk&, const double*, double*, long, long, double, const Plus&,
                           const DivideBy<double>&);
template long reduce_short(const ReduceWalk&, const double*, double*, long, long, double, const Plus&,
                           const DivideBy<double>&);
template void reduce_range(const ReduceWalk&, const double*, double*, long, long, double, const LongPlus&,
                           const DivideBy<double>&);
template long reduce_short(const ReduceWalk&, const double*, double*, long, long, double, const LongPlus&,
                           const DivideBy<double>&);
template void reduce_range(const ReduceWalk&, const float16*, float16*, long, long, float, const Plus&,
                           const DivideBy<float16>&);
template long reduce_short(const ReduceWalk&, const float16*, float16*, long, long, float, const Plus&,
                           const DivideBy<float16>&);
template void reduce_range(const ReduceWalk&, const float16*, float16*, long, long, float, const LongPlus&,
                           const DivideBy<float16>&);
template long reduce_short(const ReduceWalk&, const float16*, float16*, long, long, float, const LongPlus&,
                           const DivideBy<float16>&);
template void reduce_range(const ReduceWalk&, const bfloat16*, bfloat16*, long, long, float, const Plus&,
                           const DivideBy<bfloat16>&);
template long reduce_short(const ReduceWalk&, const bfloat16*, bfloat16*, long, long, float, const Plus&,
                           const DivideBy<bfloat16>&);
template void reduce_range(const ReduceWalk&, const bfloat16*, bfloat16*, long, long, float, const LongPlus&,
                           const DivideBy<bfloat16>&);
template long reduce_short(const ReduceWalk&, const bfloat16*, bfloat16*, long, long, float, const LongPlus&,
                           const DivideBy<bfloat16>&);
}  // namespace detail

template void softmax<float, false>(const AxisSplit&, const float*, float*, long, long);
template void softmax<float, true>(const AxisSplit&, const float*, float*, long, long);
template void softmax_backward<float>(const AxisSplit&, const float*, const float*, float*, long, long);
template void softmax<double, false>(const AxisSplit&, const double*, double*, long, long);
template void softmax<double, true>(const AxisSplit&, const double*, double*, long, long);
template void softmax_backward<double>(const AxisSplit&, const double*, const double*, double*, long, long);
template void softmax<float, false>(const AxisSplit&, const float16*, float16*, long, long);
template void softmax<float, true>(const AxisSplit&, const float16*, float16*, long, long);
template void softmax_backward<float>(const AxisSplit&, const float16*, const float16*, float16*, long, long);
template void softmax<float, false>(const AxisSplit&, const bfloat16*, bfloat16*, long, long);
template void softmax<float, true>(const AxisSplit&, const bfloat16*, bfloat16*, long, long);
template void softmax_backward<float>(const AxisSplit&, const bfloat16*, const bfloat16*, bfloat16*, long, long);

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI::kernel::detail {

template bool products_with_zero_vanish(const float*, long);
template bool products_with_zero_vanish(const double*, long);
template bool exponents_are_finite(const float16*, long);
template bool exponents_are_finite(const bfloat16*, long);

}  // namespace tenon::kernel::detail
