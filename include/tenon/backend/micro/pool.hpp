// Pooling and its gradients, window by window.
#pragma once
#include <tenon/backend/order.hpp>
#include <tenon/graph/ir/kernel.hpp>
#include <tenon/graph/ir/window_attributes.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPool2d;
struct MaxPool2dGrad;
}  // namespace ops

namespace kernel::micro {

/// Planes of images and of windows over them.
struct Pooling {
  long planes, h, w;
  ops::Pool2dAttributes c;
};

/// The first element of a window begins; a later one takes over if it is greater, or NaN. `places` may be null.
template <class P>
[[gnu::noinline]] void max_pool(const Pooling& s, const float* x, float* y, P* places) {
  for (long plane = 0; plane < s.planes; ++plane, x += s.h * s.w)
    for (long i = 0; i < s.c.oh; ++i)
      for (long j = 0; j < s.c.ow; ++j) {
        const long top = i * s.c.stride_h - s.c.top, left = j * s.c.stride_w - s.c.left;
        float best = 0;
        long place = -1;
        for (long r = top < 0 ? -top : 0; r < s.c.kh && top + r < s.h; ++r)
          for (long k = left < 0 ? -left : 0; k < s.c.kw && left + k < s.w; ++k)
            if (const float v = x[(top + r) * s.w + left + k]; place < 0 || v > best || v != v)
              best = v, place = r * s.c.kw + k;
        *y++ = best;
        if (places) *places++ = static_cast<P>(place);
      }
}
template <class P>
[[gnu::noinline]] void max_pool_gradient(const Pooling& s, const P* places, const float* dy, float* dx) {
  for (long i = 0; i < s.planes * s.h * s.w; ++i) dx[i] = 0;
  for (long plane = 0; plane < s.planes; ++plane, dx += s.h * s.w)
    for (long i = 0; i < s.c.oh; ++i)
      for (long j = 0; j < s.c.ow; ++j) {
        const long place = static_cast<long>(*places++), row = i * s.c.stride_h - s.c.top + place / s.c.kw,
                   column = j * s.c.stride_w - s.c.left + place % s.c.kw;
        dx[row * s.w + column] += *dy++;
      }
}

}  // namespace kernel::micro

template <>
struct Kernel<Cpu, ops::MaxPool2d> {
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr TensorType x = Call::operand(0);
    static_assert(std::is_same_v<typename Call::Result, float>);
    const kernel::micro::Pooling s{x.size(0, a.n) * x[1], x[2], x[3], Call::config()};
    if constexpr (has_result<Call, 1>)
      kernel::micro::max_pool(s, a.operand<float>(0), a.result<float>(), result_of<Call, 1>(a));
    else kernel::micro::max_pool<unsigned char>(s, a.operand<float>(0), a.result<float>(), nullptr);
  }
};
/// Operands places, dy.
template <>
struct Kernel<Cpu, ops::MaxPool2dGrad> {
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr TensorType x = Call::result;
    static_assert(std::is_same_v<typename Call::Result, float>);
    const kernel::micro::Pooling s{x.size(0, a.n) * x[1], x[2], x[3], Call::config()};
    kernel::micro::max_pool_gradient(s, a.operand<typename Call::template Operand<0>>(0), a.operand<float>(1),
                                     a.result<float>());
  }
};

}  // namespace tenon
TENON_EXACT_END
