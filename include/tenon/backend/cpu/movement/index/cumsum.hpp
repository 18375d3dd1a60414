// Running sums and products along an axis.
#pragma once
#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/backend/order.hpp>
#include <tenon/core/math/wrapping.hpp>
#include <tenon/core/simd/simd.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Elements of a chain of a running sum.
inline constexpr long running_chain = 256;

struct RunningSum {
  static constexpr int initial = 0;
  static constexpr bool chains = true;
  template <class A>
  TENON_DEVICE constexpr A operator()(A a, A b) const {
    return math::wrapping_add(a, b);
  }
  template <class T, int Width>
  [[gnu::always_inline]] Simd<T, Width> operator()(Simd<T, Width> a, Simd<T, Width> b) const {
    return a + b;
  }
};
struct RunningProduct {
  static constexpr int initial = 1;
  static constexpr bool chains = false;
  template <class A>
  TENON_DEVICE constexpr A operator()(A a, A b) const {
    return math::wrapping_multiply(a, b);
  }
  template <class T, int Width>
  [[gnu::always_inline]] Simd<T, Width> operator()(Simd<T, Width> a, Simd<T, Width> b) const {
    return a * b;
  }
};
template <class T>
using RunningType = std::conditional_t<is_floating(dtype_of<T>), Accumulator<T>, T>;

/// The sum of the chains of a line before the next one, in blocks of as many chains as a chain has elements.
template <class A>
struct ChainsBefore {
  A blocks{0}, chains{0};
  long count = 0;
  /// Takes the next chain, and returns the sum of all so far.
  TENON_DEVICE constexpr A add(A chain) {
    chains = math::wrapping_add(chains, chain);
    if (++count % running_chain == 0) blocks = math::wrapping_add(blocks, chains), chains = A(0);
    return math::wrapping_add(blocks, chains);
  }
};

/// Where a line begins, and the distance of its elements in the order in which they are taken.
struct RunningLine {
  long extent, step;
  bool exclusive;
};

/// `lanes` lines side by side, at a distance of `apart`.
template <int lanes, class Op, class T>
TENON_DEVICE inline void run_lines(const T* __restrict x, T* __restrict y, const RunningLine& line, long apart, Op op) {
  using A = RunningType<T>;
  A before[lanes], chain[lanes];
  ChainsBefore<A> sum_before[lanes];
  for (int l = 0; l < lanes; ++l) before[l] = chain[l] = A(Op::initial);
  for (long begin = 0; begin < line.extent; begin += running_chain) {
    const long end = begin + running_chain < line.extent ? begin + running_chain : line.extent;
    for (long i = begin; i < end; ++i) {
      const T* const from = x + i * line.step;
      T* const to = y + i * line.step;
#pragma GCC unroll 16
      for (int l = 0; l < lanes; ++l) {
        const A sum = op(chain[l], static_cast<A>(from[l * apart]));
        to[l * apart] = static_cast<T>(op(before[l], line.exclusive ? chain[l] : sum));
        chain[l] = sum;
      }
    }
    if constexpr (Op::chains)
      for (int l = 0; l < lanes; ++l) before[l] = sum_before[l].add(chain[l]), chain[l] = A(Op::initial);
  }
}

/// Eight lines of neighbours, `apart` from each other, as run_lines: squares of 8 x 8 elements whose columns are added.
/// What the next lines are made of and go to is fetched meanwhile.
template <int step, bool exclusive, class Op>
[[gnu::noinline]] void run_squares(const float* __restrict x, float* __restrict y, long extent, long apart, Op op) {
  constexpr int side = 8;
  using V = Simd<float, side>;
  V before = V(static_cast<float>(Op::initial)), chain = before;
  ChainsBefore<float> sum_before[side];
  float last[side];
  for (long begin = 0; begin < extent; begin += running_chain) {
    const long end = begin + running_chain < extent ? begin + running_chain : extent;
    long i = begin;
    for (; i + side <= end; i += side) {
      const long at = step > 0 ? i : -i - (side - 1);
      V square[side];
#pragma GCC unroll 8
      for (int l = 0; l < side; ++l) square[l] = V::load(x + at + l * apart);
      for (int l = 0; l < side; ++l) __builtin_prefetch(x + at + (side + l) * apart);
      transpose_lanes(square);
#pragma GCC unroll 8
      for (int k = 0; k < side; ++k) {
        V& own = square[step > 0 ? k : side - 1 - k];
        const V sum = op(chain, own);
        own = op(before, exclusive ? chain : sum);
        chain = sum;
      }
      transpose_lanes(square);
      for (int l = 0; l < side; ++l) __builtin_prefetch(y + at + (side + l) * apart, 1);
#pragma GCC unroll 8
      for (int l = 0; l < side; ++l) square[l].store(y + at + l * apart);
    }
    for (; i < end; ++i) {
      for (int l = 0; l < side; ++l) last[l] = x[i * step + l * apart];
      const V sum = op(chain, V::load(last));
      op(before, exclusive ? chain : sum).store(last);
      for (int l = 0; l < side; ++l) y[i * step + l * apart] = last[l];
      chain = sum;
    }
    if constexpr (Op::chains) {
      chain.store(last);
      for (int l = 0; l < side; ++l) last[l] = sum_before[l].add(last[l]);
      before = V::load(last), chain = V(static_cast<float>(Op::initial));
    }
  }
}

/// A long line: its chains side by side, because they do not wait for each other. Elements are `step`, 1 or -1, apart.
template <int step, bool exclusive, class T>
[[gnu::noinline]] void run_chains(const T* __restrict x, T* __restrict y, long extent) {
  constexpr int together = 8;
  ChainsBefore<T> before;
  T base(0);
  for (long first = 0; first < extent; first += together * running_chain) {
    T chain[together]{};
    const T* const from = x + first * step;
    T* const to = y + first * step;
    const long left = extent - first;
    const auto take = [&](int c, long i) {
      const long at = (c * running_chain + i) * step;
      const T sum = math::wrapping_add(chain[c], from[at]);
      to[at] = exclusive ? chain[c] : sum;
      chain[c] = sum;
    };
    if (left >= together * running_chain)
      for (long i = 0; i < running_chain; ++i)
#pragma GCC unroll 8
        for (int c = 0; c < together; ++c) take(c, i);
    else
      for (int c = 0; c < together; ++c)
        for (long i = 0; i < running_chain && c * running_chain + i < left; ++i) take(c, i);
    for (int c = 0; c < together && c * running_chain < left; ++c) {
      const long rest = left - c * running_chain, count = rest < running_chain ? rest : running_chain;
      T* const part = to + c * running_chain * step - (step < 0 ? count - 1 : 0);
      for (long i = 0; i < count; ++i) part[i] = math::wrapping_add(base, part[i]);
      base = before.add(chain[c]);
    }
  }
}

template <class Op>
struct RunAlong {
  template <class Call>
  static constexpr AxisSplit split(long n) {
    return axis_split(Call::result, normalized_axis(Call::config().axis, Call::result.rank), n);
  }
  static constexpr int side_by_side = 8, columns = 16;
  /// Neighbouring lines, as many as are walked side by side.
  template <class Call>
  static constexpr long items(long n) {
    const AxisSplit s = split<Call>(n);
    return s.inner == 1 ? (s.outer + side_by_side - 1) / side_by_side : axis_items(s);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    run_items(a.operand<T>(0), a.result<T>(), split<Call>(a.n), Call::config().exclusive != 0,
              Call::config().reverse != 0, begin, end);
  }

 private:
  template <class T>
  static void run_items(const T* x, T* y, const AxisSplit& s, bool exclusive, bool reverse, long begin, long end) {
    const RunningLine line{s.count, reverse ? -s.inner : s.inner, exclusive};
    const long start = reverse ? (s.count - 1) * s.inner : 0;
    x += start, y += start;
    if (s.inner > 1)
      return for_each_columns(s, begin, end, [&](long at, long width) {
        for (; width >= columns; width -= columns, at += columns) run_lines<columns>(x + at, y + at, line, 1, Op());
        for (; width > 0; --width, ++at) run_lines<1>(x + at, y + at, line, 1, Op());
      });
    const long last = end * side_by_side < s.outer ? end * side_by_side : s.outer;
    long row = begin * side_by_side;
    if constexpr (Op::chains && std::is_same_v<RunningType<T>, T>)
      if (s.count >= side_by_side * running_chain) {
        const auto run = reverse     ? exclusive ? &run_chains<-1, true, T> : &run_chains<-1, false, T>
                             : exclusive ? &run_chains<1, true, T>
                                     : &run_chains<1, false, T>;
        for (; row < last; ++row) run(x + row * s.count, y + row * s.count, s.count);
        return;
      }
    if constexpr (std::is_same_v<T, float> && simd_width<float> >= side_by_side) {
      const auto run = reverse     ? exclusive ? &run_squares<-1, true, Op> : &run_squares<-1, false, Op>
                           : exclusive ? &run_squares<1, true, Op>
                                   : &run_squares<1, false, Op>;
      for (; row + side_by_side <= last; row += side_by_side)
        run(x + row * s.count, y + row * s.count, s.count, s.count, Op());
    }
    for (; row + side_by_side <= last; row += side_by_side)
      run_lines<side_by_side>(x + row * s.count, y + row * s.count, line, s.count, Op());
    for (; row < last; ++row) run_lines<1>(x + row * s.count, y + row * s.count, line, 1, Op());
  }
};

/// The gradient of a line of a running product: see CumProdGrad. `product` has room for the line, elements `step` apart
/// as those of x.
template <class T, class A>
TENON_DEVICE inline void product_gradient(const T* x, const T* dy, T* dx, A* product, const RunningLine& line) {
  A running(1);
  for (long i = 0; i < line.extent; ++i) {
    product[i * line.step] = running;
    running = running * static_cast<A>(x[i * line.step]);
  }
  A rest(0), next(0);  // r_{i+1} and x_{i+1}
  for (long i = line.extent - 1; i >= 0; --i) {
    if (line.exclusive) {  // y_i lacks x_i: the first product with it is y_{i+1}
      dx[i * line.step] = static_cast<T>(product[i * line.step] * rest);
      rest = static_cast<A>(dy[i * line.step]) + A(static_cast<A>(x[i * line.step]) * rest);
    } else {
      rest = static_cast<A>(dy[i * line.step]) + A(next * rest);
      dx[i * line.step] = static_cast<T>(product[i * line.step] * rest);
    }
    next = static_cast<A>(x[i * line.step]);
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct CumProd;
struct CumProdGrad;
struct CumSum;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::CumSum> : kernel::RunAlong<kernel::RunningSum> {};
template <>
struct Kernel<Cpu, ops::CumProd> : kernel::RunAlong<kernel::RunningProduct> {};

template <>
struct Kernel<Cpu, ops::CumProdGrad> {
  template <class Call>
  static constexpr kernel::AxisSplit split(long n) {
    return kernel::axis_split(Call::result, normalized_axis(Call::config().axis, Call::result.rank), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return split<Call>(n).outer;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    return split<Call>(n).count * split<Call>(n).inner * long(sizeof(Accumulator<typename Call::Result>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = Accumulator<T>;
    const kernel::AxisSplit s = split<Call>(a.n);
    constexpr bool reverse = Call::config().reverse != 0;
    const kernel::RunningLine line{s.count, reverse ? -s.inner : s.inner, Call::config().exclusive != 0};
    const long start = reverse ? (s.count - 1) * s.inner : 0;
    for (long o = begin; o < end; ++o)
      for (long i = 0; i < s.inner; ++i) {
        const long at = o * s.count * s.inner + start + i;
        kernel::product_gradient(a.operand<T>(0) + at, a.operand<T>(1) + at, a.result<T>() + at,
                                 reinterpret_cast<A*>(a.workspace) + start + i, line);
      }
  }
};

}  // namespace tenon
