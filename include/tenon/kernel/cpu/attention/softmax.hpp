// Softmax along an axis and its derivative.
#pragma once
#include <limits>

#include <tenon/kernel/cpu/elementwise/math.hpp>
#include <tenon/kernel/cpu/elementwise/unrolled.hpp>
#include <tenon/kernel/cpu/reduce/accumulation_order.hpp>
#include <tenon/kernel/cpu/reduce/axis.hpp>
#include <tenon/kernel/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
// The first `live` elements of a block that may be read as a whole; minus infinity for the others.
template <class T, class C>
[[gnu::always_inline]] inline void first_of_block(const T* from, long live, C (&values)[reduce_lanes]) {
  using V = ReduceVector<C>;
#pragma GCC unroll 8
  for (int l = 0; l < reduce_lanes; l += V::width)
    first_lanes(load_lanes<V::width, C>(from + l), live - l, V(-std::numeric_limits<C>::infinity())).store(values + l);
}
template <bool keep, bool reads_on, class C, class T>
[[gnu::noinline]] C long_exponentials(const T* x, T* y, long count, C largest, const T* limit);
}  // namespace detail

/// The largest of a row; a NaN is passed over, and spoils the row later through its exponential.
template <class C, int lanes = reduce_lanes, class T>
inline C row_maximum(const T* x, long count) {
  C lane[lanes];
  for (C& l : lane) l = -std::numeric_limits<C>::infinity();
  const long whole = count - count % lanes;
  detail::Operand<lanes == reduce_lanes, T> operand{x, {}};
  for (long i = 0; i < whole; i += lanes) {
    operand.load(i);
    for (int l = 0; l < lanes; ++l)
      lane[l] =
          Larger()(lane[l], lanes == reduce_lanes ? static_cast<C>(operand.in_block(i, l)) : static_cast<C>(x[i + l]));
  }
  for (long i = whole; i < count; ++i) lane[i - whole] = Larger()(lane[i - whole], static_cast<C>(x[i]));
  return fold_lanes(lane, Larger());
}

/// The sum of exp(x - largest) over a row, in 16 lanes as by lane_sum; with `keep` y[i] = exp(x[i] - largest), too. The
/// last block is filled up with exponentials of minus infinity, which are 0: one vector is faster than a few numbers
/// one by one. If it `reads_on`, memory may be read up to `limit`.
template <bool keep, int lanes = reduce_lanes, bool reads_on = false, class C, class T>
inline C exponentials(const T* x, T* y, long count, C largest, [[maybe_unused]] const T* limit = nullptr) {
  if constexpr (lanes == reduce_lanes)
    if (count > lane_piece) return detail::long_exponentials<keep, reads_on>(x, y, count, largest, limit);
  C lane[lanes]{}, value[lanes];
  detail::Operand<lanes == reduce_lanes, T> operand{x, {}};
  for (long i = 0; i < count; i += lanes) {
    const long live = count - i < lanes ? count - i : lanes;
    if (reads_on && live < lanes && limit - (x + i) >= lanes) {
      if constexpr (reads_on) detail::first_of_block(x + i, live, value);
    } else if (live == lanes) {
      operand.load(i);
      for (int l = 0; l < lanes; ++l)
        value[l] = lanes == reduce_lanes ? static_cast<C>(operand.in_block(i, l)) : static_cast<C>(x[i + l]);
    } else
      for (int l = 0; l < lanes; ++l)
        value[l] = l < live ? static_cast<C>(x[i + l]) : -std::numeric_limits<C>::infinity();
    for (int l = 0; l < lanes; ++l) lane[l] += value[l] = exp(value[l] - largest);
    if constexpr (keep) {
      if (live == lanes)
        for (int l = 0; l < lanes; ++l) y[i + l] = value[l];
      else
        for (int l = 0; l < live; ++l) y[i + l] = value[l];
    }
  }
  return fold_lanes(lane, Plus());
}

namespace detail {
template <bool keep, bool reads_on, class C, class T>
C long_exponentials(const T* x, T* y, long count, C largest, const T* limit) {
  C sum[1];
  add_pieces(count, sum, [&](long i, long own, C* to) {
    *to = exponentials<keep, reduce_lanes, reads_on>(x + i, keep ? y + i : y, own, largest, limit);
  });
  return *sum;
}
// y[i] = f(x[i]): vectors, half vectors, quarters, and what is left.
template <class T, class F>
[[gnu::always_inline]] inline void map_pieces(const T* x, T* y, long count, F f) {
  long i = 0;
  const auto pieces = [&]<int width>(std::integral_constant<int, width>) __attribute__((always_inline)) {
    for (; i + width <= count; i += width) f(Simd<T, width>::load(x + i)).store(y + i);
  };
  pieces(std::integral_constant<int, simd_width<T>>());
  if constexpr (simd_width<T> > 8) pieces(std::integral_constant<int, 8>());
  if constexpr (simd_width<T> > 4) pieces(std::integral_constant<int, 4>());
  for (; i < count; ++i) y[i] = f(x[i]);
}
}  // namespace detail

/// Softmax of neighbouring rows:  y = exp(x - max) / sum, or its logarithm x - max - log(sum). Computed in C; x may be
/// read up to `limit`.
template <class C, bool logarithm, class T>
inline void softmax_rows(const T* x, T* y, long rows, long count, const T* limit) {
  // the exponentials would lose digits in y
  constexpr bool vectors = detail::reduces_vectors<C, T, Plus>, keep = !logarithm && std::is_same_v<T, C>;
  // whose logarithms are one vector
  constexpr long together = 16;
  for (; rows > 0; rows -= together, x += together * count, y += together * count) {
    const long own = rows < together ? rows : together;
    C largest[together], sum[together];
    for (C& total : sum) total = 1;
    for (long r = 0; r < own; ++r) {
      const T* const row = x + r * count;
      if constexpr (vectors)
        largest[r] = detail::reduce_vectors(
            row, 1, count, [](long) { return 0l; }, -std::numeric_limits<C>::infinity(), Larger(), limit);
      else largest[r] = row_maximum<C>(row, count);
      sum[r] = exponentials<keep, reduce_lanes, vectors>(row, y + r * count, count, largest[r], limit);
    }
    if constexpr (logarithm)
      for (C& total : sum) total = log(total);
    for (long r = 0; r < own; ++r) {
      const T* const row = x + r * count;
      T* const to = y + r * count;
      const C most = largest[r], total = sum[r];
      if constexpr (std::is_same_v<T, C>)
        detail::map_pieces(keep ? to : row, to, count, [=](auto v) __attribute__((always_inline)) {
          using V = decltype(v);
          if constexpr (logarithm) return v - V(most) - V(total);
          else return v / V(total);
        });
      else if constexpr (logarithm)
        map_unrolled<true>(to, count, [most, total](auto value) { return static_cast<C>(value) - most - total; }, row);
      else
        map_unrolled<true>(
            to, count, [most, total](auto value) { return exp(static_cast<C>(value) - most) / total; }, row);
    }
  }
}

/// dx = y (dy - sum of y dy), for one row, in the same order as softmax.
template <class C, class T>
inline void softmax_backward_row(const T* y, const T* dy, T* dx, long count) {
  const C sum = lane_sum<C>(count, [](auto a, auto b) { return static_cast<C>(a) * static_cast<C>(b); }, y, dy);
  map_unrolled<true, true>(
      dx, count, [sum](auto a, auto b) { return static_cast<C>(a) * (static_cast<C>(b) - sum); }, y, dy);
}

/// Softmax along an axis:  y = exp(x - max) / sum, or its logarithm x - max - log(sum). Computed in C, for the parts
/// [begin, end) of axis_items(s).
template <class C, bool logarithm, class T>
void softmax(const AxisSplit& s, const T* x, T* y, long begin, long end);
/// dx = y (dy - sum of y dy), along an axis.
template <class C, class T>
void softmax_backward(const AxisSplit& s, const T* y, const T* dy, T* dx, long begin, long end);

#if TENON_DEFINES
static_assert(axis_columns == column_block);
/// The same along an axis that is not the last one, for up to 64 columns; sums as by column_sums.
template <class C, bool logarithm, class T>
inline void softmax_columns(const T* x, T* y, long count, long pitch, long columns) {
  C largest[axis_columns], sum[axis_columns];
  for (C& l : largest) l = -std::numeric_limits<C>::infinity();
  for (long i = 0; i < count; ++i)
    for_each_unrolled(columns,
                      [&, row = x + i * pitch](long c) { largest[c] = Larger()(largest[c], static_cast<C>(row[c])); });
  column_sums<C>(count, columns, {sum},
                 [=, &largest](long i, long c) { return exp(static_cast<C>(x[i * pitch + c]) - largest[c]); });
  if constexpr (logarithm) for_each_unrolled(columns, [&](long c) { sum[c] = log(sum[c]); });
  for (long i = 0; i < count; ++i)
    store_unrolled(y + i * pitch, columns, [&, row = x + i * pitch](long c) {
      const C shifted = static_cast<C>(row[c]) - largest[c];
      return logarithm ? shifted - sum[c] : exp(shifted) / sum[c];
    });
}

template <class C, bool logarithm, class T>
inline void softmax(const AxisSplit& s, const T* x, T* y, long begin, long end) {
  if (s.inner == 1)
    return softmax_rows<C, logarithm>(x + begin * s.count, y + begin * s.count, end - begin, s.count,
                                      x + (x == y ? end : s.outer) * s.count);
  for_each_columns(s, begin, end, [&](long offset, long columns) {
    softmax_columns<C, logarithm>(x + offset, y + offset, s.count, s.inner, columns);
  });
}

template <class C, class T>
inline void softmax_backward_columns(const T* y, const T* dy, T* dx, long count, long pitch, long columns) {
  C sum[axis_columns];
  column_sums<C>(count, columns, {sum},
                 [=](long i, long c) { return static_cast<C>(y[i * pitch + c]) * static_cast<C>(dy[i * pitch + c]); });
  for (long i = 0; i < count; ++i)
    store_unrolled(dx + i * pitch, columns, [&, y = y + i * pitch, dy = dy + i * pitch](long c) {
      return static_cast<C>(y[c]) * (static_cast<C>(dy[c]) - sum[c]);
    });
}

template <class C, class T>
inline void softmax_backward(const AxisSplit& s, const T* y, const T* dy, T* dx, long begin, long end) {
  for_each_columns(s, begin, end, [&](long offset, long columns) {
    if (s.inner == 1) softmax_backward_row<C>(y + offset, dy + offset, dx + offset, s.count);
    else softmax_backward_columns<C>(y + offset, dy + offset, dx + offset, s.count, s.inner, columns);
  });
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct Softmax;
struct SoftmaxGrad;
struct LogSoftmax;
}  // namespace ops

namespace kernel::detail {
// The work of an operator along an axis.
struct AxisWork {
  template <class Call>
  static constexpr kernel::AxisSplit split(long n) {
    return kernel::axis_split(Call::result, normalized_axis(Call::config().axis, Call::result.rank), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return kernel::axis_items(split<Call>(n));
  }
  template <class Call>
  static constexpr long cost(long n) {
    return 16 * (Call::result.count(n) / (items<Call>(n) + 1) + 1);
  }
};

TENON_EXACT_BEGIN
// Unrolled code has its few elements as a constant.
template <class Call, bool logarithm>
inline void softmax_along(const kernel::AxisSplit& s, const Arguments& a, long begin, long end) {
  using T = typename Call::Result;
  const T* const x = a.operand<T>(0);
  T* const y = a.result<T>();
  if constexpr (is_unrolled<Call>)
    if (s.inner == 1)
      return kernel::softmax_rows<Compute<T>, logarithm>(x + begin * s.count, y + begin * s.count, end - begin, s.count,
                                                         x + (x == y ? end : s.outer) * s.count);
  kernel::softmax<Compute<T>, logarithm>(s, x, y, begin, end);
}
}  // namespace kernel::detail

template <>
struct Kernel<Cpu, ops::Softmax> : kernel::detail::AxisWork {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::detail::softmax_along<Call, false>(split<Call>(a.n), a, begin, end);
  }
};
template <>
struct Kernel<Cpu, ops::LogSoftmax> : kernel::detail::AxisWork {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::detail::softmax_along<Call, true>(split<Call>(a.n), a, begin, end);
  }
};
template <>
struct Kernel<Cpu, ops::SoftmaxGrad> : kernel::detail::AxisWork {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::AxisSplit s = split<Call>(a.n);
    const T *const y = a.operand<T>(0), *const dy = a.operand<T>(1);
    if constexpr (is_unrolled<Call> && split<Call>(1).inner == 1)
      for (long row = begin; row < end; ++row)
        kernel::softmax_backward_row<Compute<T>>(y + row * s.count, dy + row * s.count, a.result<T>() + row * s.count,
                                                 s.count);
    else kernel::softmax_backward<Compute<T>>(s, y, dy, a.result<T>(), begin, end);
  }
};
TENON_EXACT_END

}  // namespace tenon
