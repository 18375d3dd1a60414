// The element-wise steps after a convolution, as its kernels call them.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/core/function_ref.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

// What applies the epilogue of Call to complete channels of a sample, or to complete rows of a channel in blocks of
// samples; empty without one.
template <class Call>
struct PlaneEpilogue {
  const Arguments& arguments;
  void operator()(long sample, long first, long count) const {
    constexpr long channels = Call::result[1], plane = Call::result.span(2, 4);
    for (long c = first; c < first + count; ++c)
      apply_steps<Call, false>(arguments, (sample * channels + c) * plane, plane, c);
  }
};
template <class Call>
struct Nchw16nEpilogue {
  const Arguments& arguments;
  void operator()(long first, long channel, long count) const {
    apply_steps<Call, false>(arguments, first, count, channel);
  }
};
template <class Call, class Epilogue>
FunctionRef<long, long, long> epilogue_of(const Epilogue& epilogue) {
  if constexpr (Call::steps > 0) return epilogue;
  else return {};
}

}  // namespace tenon::kernel
TENON_EXACT_END
