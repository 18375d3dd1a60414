// The derivative of broadcasting: sums over axes; of float32 images per channel.
#pragma once
#include <tenon/backend/cpu/reduce/sum_to.hpp>
#include <tenon/backend/cuda/reduce/channel_sums.hpp>
#include <tenon/backend/cuda/reduce/reduce.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::SumTo> : kernel::cuda::Whole {
  template <class Call>
  static constexpr bool per_channel() {
    constexpr TensorType x = Call::operand(0);
    return Kernel<Cpu, ops::SumTo>::fits_nchw16n(Call::result, &x, 1);
  }
  template <class Call>
  using Sum = kernel::cuda::Reduced<Call, Kernel<Cpu, ops::SumTo>::mask<Call>(), Accumulator<typename Call::Result>,
                                    kernel::cuda::Add, kernel::cuda::AsResult,
                                    std::is_floating_point_v<Accumulator<typename Call::Result>>>;
  template <class Call>
  static constexpr long workspace(long n) {
    if constexpr (per_channel<Call>()) return kernel::cuda::channel_sums_workspace<Call>(n);
    else return kernel::cuda::reduce_workspace<Sum<Call>>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    if constexpr (per_channel<Call>()) kernel::cuda::sum_channels<Call>(a);
    else kernel::cuda::reduce_there<Sum<Call>>(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
