// The windows of images as columns, and sums of such columns: plane by plane, so that a plane stays in the cache.
#pragma once
#include <tenon/backend/cpu/movement/taps.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Im2Col;
struct Col2Im;
}  // namespace ops

namespace kernel {

/// Positions first .. end - 1 of windows whose element `tap` along an axis is inside of the image.
struct Positions {
  long first, end;
};
constexpr Positions positions_inside(long count, long extent, long stride, long offset) {
  const long first = offset < 0 ? (-offset + stride - 1) / stride : 0,
             end = extent > offset ? (extent - offset + stride - 1) / stride : 0, last = end < count ? end : count;
  return {first < last ? first : last, last};
}

template <class T, class Config>
[[gnu::noinline]] void unfold_planes(const Config& c, const T* x, T* y, long begin, long end) {
  for (long p = begin; p < end; ++p)
    for (long k = 0; k < long(c.kh) * c.kw; ++k) {
      const long before = c.column(k, 0);
      const Positions inside = positions_inside(c.columns, c.width, c.stride_w, before);
      for (long r = 0; r < c.rows; ++r) {
        T* const to = y + ((p * c.kh * c.kw + k) * c.rows + r) * c.columns;
        const long row = c.row(k, r);
        const Positions own = row < 0 || row >= c.height ? Positions{0, 0} : inside;
        const T* const from = x + (p * c.height + row) * c.width + before;
        for (long q = 0; q < own.first; ++q) to[q] = T{};
        if (c.stride_w == 1) copy_run(from + own.first, to + own.first, own.end - own.first);
        else
          for (long q = own.first; q < own.end; ++q) to[q] = from[q * c.stride_w];
        for (long q = own.end; q < c.columns; ++q) to[q] = T{};
      }
    }
}

/// sum[i * step] += term[i]
template <class A, class T>
inline void add_run(A* sum, const T* term, long count, long step) {
  long i = 0;
  if constexpr (std::is_same_v<A, T> && std::is_floating_point_v<T>) {
    const auto add = [&]<int width>(std::integral_constant<int, width>) __attribute__((always_inline)) {
      using V = Simd<A, width>;
      for (; step == 1 && i + width <= count; i += width) (V::load(sum + i) + V::load(term + i)).store(sum + i);
    };
    add(std::integral_constant<int, simd_width<A>>());
    if constexpr (simd_width<A> > 8) add(std::integral_constant<int, 8>());
    if constexpr (simd_width<A> > 4) add(std::integral_constant<int, 4>());
  }
  for (; i < count; ++i) sum[i * step] = add_weighted(A(1), static_cast<A>(term[i]), sum[i * step]);
}
/// The sums of row kr of the windows of a plane, where x is.
template <class T, class A, class Config>
inline void fold_row(const Config& c, long kr, const T* x, A* sums) {
  for (long i = 0; i < long(c.height) * c.width; ++i) sums[i] = A(0);
  const long above = c.row(kr * c.kw, 0);
  const Positions rows = positions_inside(c.rows, c.height, c.stride_h, above);
  for (long kc = 0; kc < c.kw; ++kc, x += long(c.rows) * c.columns) {
    const long before = c.column(kc, 0);
    const Positions of = positions_inside(c.columns, c.width, c.stride_w, before);
    A* const to = sums + above * c.width + before + of.first * c.stride_w;
    for (long r = rows.first; r < rows.end; ++r)
      add_run(to + r * c.stride_h * c.width, x + r * c.columns + of.first, of.end - of.first, c.stride_w);
  }
  if constexpr (!std::is_same_v<A, T>)
    for (long i = 0; i < long(c.height) * c.width; ++i) sums[i] = static_cast<A>(static_cast<T>(sums[i]));
}
/// `room` for two planes of the image: x is read once, one element after the other.
template <class T, class A, class Config>
[[gnu::noinline]] void fold_planes(const Config& c, const T* x, T* y, A* room, long begin, long end) {
  const long pixels = long(c.height) * c.width, columns = long(c.kw) * c.rows * c.columns;
  for (long p = begin; p < end; ++p) {
    A* sums = room + pixels;
    if constexpr (std::is_same_v<A, T>) sums = y + p * pixels;
    fold_row(c, 0, x + p * c.kh * columns, sums);
    for (long kr = 1; kr < c.kh; ++kr) {
      fold_row(c, kr, x + (p * c.kh + kr) * columns, room);
      add_run(sums, room, pixels, 1);
    }
    if constexpr (!std::is_same_v<A, T>)
      for (long i = 0; i < pixels; ++i) y[p * pixels + i] = static_cast<T>(sums[i]);
  }
}

/// An item for each plane of the image.
struct OnPlanes {
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(0).count(n) / (Call::operand(0).span(2, Call::operand(0).rank)) /
           (Call::operand(0).rank == 3 ? Call::config().kh * Call::config().kw : 1);
  }
  template <class Call>
  static constexpr long cost(long) {
    return long(Call::config().kh) * Call::config().kw * Call::config().rows * Call::config().columns / 2;
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Im2Col> : kernel::OnPlanes {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::unfold_planes(Call::config(), a.operand<typename Call::Result>(0), a.result<typename Call::Result>(), begin,
                          end);
  }
};
template <>
struct Kernel<Cpu, ops::Col2Im> : kernel::OnPlanes {
  template <class Call>
  using Sum = kernel::ResampleSum<typename Call::Result>;
  template <class Call>
  static constexpr long workspace(long) {
    return 2 * long(Call::config().height) * Call::config().width * long(sizeof(Sum<Call>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::fold_planes(Call::config(), a.operand<typename Call::Result>(0), a.result<typename Call::Result>(),
                        reinterpret_cast<Sum<Call>*>(a.workspace), begin, end);
  }
};

}  // namespace tenon
TENON_EXACT_END
