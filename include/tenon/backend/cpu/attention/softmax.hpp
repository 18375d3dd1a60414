// Softmax along an axis and its derivative.
#pragma once
#include <limits>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/reduce/accumulation_order.hpp>
#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

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

namespace detail {
// Where exponentials go: nowhere, to a row, or to whole vectors from the row's beginning on.
enum class Keep { none, row, vectors };

// The sum of exp(x - largest) over up to lane_piece elements. The last vector is filled up with zeros: one vector is
// faster than a few numbers one by one. Memory may be read up to `limit`.
template <Keep keep, class C, class T>
[[gnu::always_inline]] inline C vector_exponentials(const T* x, T* y, long count, C largest, const T* limit) {
  using V = ReduceVector<C>;
  constexpr int width = V::width, vectors = reduce_lanes / width;
  V part[vectors];
#pragma GCC unroll 8
  for (V& p : part) p = V(C(0));
  const long left = count % reduce_lanes;
  for (const T* const end = x + (count - left); x != end; x += reduce_lanes) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const V value = math::exp(load_lanes<width, C>(x + v * width) - V(largest));
      part[v] = part[v] + value;
      if constexpr (keep != Keep::none) value.store(y + v * width);
    }
    if constexpr (keep != Keep::none) y += reduce_lanes;
  }
  C rest[reduce_lanes];
  const bool beyond = limit != nullptr && limit - x >= reduce_lanes;
  if (!beyond)
    for (int l = 0; l < reduce_lanes; ++l) rest[l] = l < left ? static_cast<C>(x[l]) : largest;
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) {
    const long live = left - v * width;
    if (live <= 0) break;
    const V own = beyond ? load_lanes<width, C>(x + v * width) : V::load(rest + v * width);
    // not exponentials of minus infinity, which underflow: that takes a processor many cycles
    const V value = first_lanes(math::exp(first_lanes(own, live, V(largest)) - V(largest)), live, V(C(0)));
    part[v] = part[v] + value;
    if constexpr (keep == Keep::vectors) value.store(y + v * width);
    if constexpr (keep == Keep::row) value.store(rest + v * width);
  }
  if constexpr (keep == Keep::row)
    for (int l = 0; l < left; ++l) y[l] = rest[l];
  return fold_parts<C>(part, Plus());
}
template <bool keep, class C, class T>
[[gnu::noinline]] C long_exponentials(const T* x, T* y, long count, C largest, const T* limit) {
  constexpr Keep kept = keep ? Keep::row : Keep::none;
  C sum[1];
  add_pieces(count, sum, [&](long i, long own, C* to) {
    *to = vector_exponentials<kept>(x + i, keep ? y + i : y, own, largest, limit);
  });
  return *sum;
}
}  // namespace detail

/// The sum of exp(x - largest) over a row, in 16 lanes as by lane_sum; with `keep` y[i] = exp(x[i] - largest), too.
/// Memory may be read up to `limit`. Where `count` is a constant, the rest of this is left out.
template <bool keep, int lanes = reduce_lanes, class C, class T>
[[gnu::always_inline]] inline C exponentials(const T* x, T* y, long count, C largest, const T* limit = nullptr) {
  if constexpr (lanes == reduce_lanes) {
    if (count > lane_piece) return detail::long_exponentials<keep>(x, y, count, largest, limit);
    return detail::vector_exponentials<keep ? detail::Keep::row : detail::Keep::none>(x, y, count, largest, limit);
  } else {
    C lane[lanes], value[lanes];
    for (int l = 0; l < lanes; ++l) value[l] = l < count ? static_cast<C>(x[l]) : -std::numeric_limits<C>::infinity();
    for (int l = 0; l < lanes; ++l) lane[l] = value[l] = math::exp(value[l] - largest);
    if constexpr (keep)
      for (int l = 0; l < count; ++l) y[l] = value[l];
    return fold_lanes(lane, Plus());
  }
}

namespace detail {
// y[i] = f(x[i]) in vectors, of which the last overlaps the one before; x may be y.
template <int width, class T, class F>
[[gnu::always_inline]] inline void map_vectors(const T* x, T* y, long count, F f) {
  using V = Simd<T, width>;
  const V last = f(V::load(x + count - width));
  for (long i = 0; i + width < count; i += width) f(V::load(x + i)).store(y + i);
  last.store(y + count - width);
}
template <class T, class F>
[[gnu::always_inline]] inline void map_overlapping(const T* x, T* y, long count, F f) {
  constexpr int width = simd_width<T>;
  if (count >= width) return map_vectors<width>(x, y, count, f);
  if constexpr (width > 8)
    if (count >= 8) return map_vectors<8>(x, y, count, f);
  if constexpr (width > 4)
    if (count >= 4) return map_vectors<4>(x, y, count, f);
  for (long i = 0; i < count; ++i) y[i] = f(x[i]);
}
}  // namespace detail

/// Softmax of neighbouring rows:  y = exp(x - max) / sum, or its logarithm x - max - log(sum). Computed in C; x may be
/// read up to `limit`.
template <class C, bool logarithm, class T>
inline void softmax_rows(const T* x, T* y, long rows, long count, const T* limit) {
  // the exponentials would lose digits in y
  constexpr bool keep = !logarithm && std::is_same_v<T, C>;
  // whose logarithms are one vector
  constexpr long together = 16;
  for (; rows > 0; rows -= together, x += together * count, y += together * count) {
    const long own = rows < together ? rows : together;
    C largest[together], sum[together];
    for (C& total : sum) total = 1;
    for (long r = 0; r < own; ++r) {
      const T* const row = x + r * count;
      T* const to = y + r * count;
      largest[r] = detail::reduce_vectors(
          row, 1, count, [](long) { return 0l; }, -std::numeric_limits<C>::infinity(), Larger(), limit);
      if constexpr (keep)
        if (count <= lane_piece) {
          C kept[lane_piece];
          const C total = detail::vector_exponentials<detail::Keep::vectors>(row, kept, count, largest[r], limit);
          detail::map_overlapping(kept, to, count, [total](auto v) { return v / decltype(v)(total); });
          continue;
        }
      sum[r] = count > lane_piece ? detail::long_exponentials<keep>(row, to, count, largest[r], limit)
                                  : detail::vector_exponentials<detail::Keep::none>(row, to, count, largest[r], limit);
      if constexpr (keep)
        detail::map_overlapping(to, to, count, [total = sum[r]](auto v) { return v / decltype(v)(total); });
    }
    if constexpr (keep) continue;
    if constexpr (logarithm)
      for (C& total : sum) total = math::log(total);
    for (long r = 0; r < own; ++r) {
      const T* const row = x + r * count;
      T* const to = y + r * count;
      const C most = largest[r], total = sum[r];
      if constexpr (!logarithm)
        map_unrolled<true>(
            to, count, [most, total](auto value) { return math::exp(static_cast<C>(value) - most) / total; }, row);
      else if constexpr (std::is_same_v<T, C>)
        detail::map_overlapping(row, to, count,
                                [most, total](auto v) { return v - decltype(v)(most) - decltype(v)(total); });
      else
        map_unrolled<true>(to, count, [most, total](auto value) { return static_cast<C>(value) - most - total; }, row);
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
                 [=, &largest](long i, long c) { return math::exp(static_cast<C>(x[i * pitch + c]) - largest[c]); });
  if constexpr (logarithm) for_each_unrolled(columns, [&](long c) { sum[c] = math::log(sum[c]); });
  for (long i = 0; i < count; ++i)
    store_unrolled(y + i * pitch, columns, [&, row = x + i * pitch](long c) {
      const C shifted = static_cast<C>(row[c]) - largest[c];
      return logarithm ? shifted - sum[c] : math::exp(shifted) / sum[c];
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
