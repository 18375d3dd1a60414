// The elements at the places of maxima: plane by plane.
#pragma once
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPool2dTaken;
}

template <>
struct Kernel<Cpu, ops::MaxPool2dTaken> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};
  // Places are no images, but have the layout of the call that made them.
  static constexpr bool fits_nchw16n(const TensorType& result, const TensorType* operand, int operands) {
    return tenon::detail::images_only(result, operand + 1, operands - 1);
  }
  // planes; with NCHW16n those of all blocks
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {whole_blocks(n) / block_samples * Call::result[1], Call::result.span(2, 4) * block_samples, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    take<Call, 1>(a, begin, end);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    take<Call, block_samples>(a, begin, end);
  }

 private:
  template <class Call, long samples>
  static void take(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr long windows = Call::result.span(2, 4), pixels = long(c.h) * c.w;
    for (long plane = begin; plane < end; ++plane) {
      const auto* const places = a.operand<typename Call::template Operand<0>>(0) + plane * windows * samples;
      const T* const image = a.operand<T>(1) + plane * pixels * samples;
      T* const to = a.result<T>() + plane * windows * samples;
      for (long i = 0; i < windows * samples; ++i) {
        const long pixel = Call::Op::from(c, i / samples, long(places[i]));
        to[i] = image[pixel * samples + i % samples];
      }
    }
  }
};

}  // namespace tenon
