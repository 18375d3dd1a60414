// AdaFactor: means of squares by rows and columns, what they make of a gradient, and the update.
#pragma once

#include <tenon/backend/cpu/optimizer/norms.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/core/math/min_max.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct AdafactorMeans;
struct AdafactorFactors;
struct AdafactorSquares;
struct ApplyAdafactor;
}  // namespace ops

namespace kernel {
/// A parameter as matrices, over its last two axes; what has no two is one row.
struct Matrices {
  long count = 1, rows = 1, columns = 1;
  constexpr explicit Matrices(const TensorType& t)
      : rows(t.rank < 2 ? 1 : t.extent[t.rank - 2]), columns(t.rank < 1 ? 1 : t.extent[t.rank - 1]) {
    count = t.count(1) / (rows * columns);
  }
};

/// What is known of each element's square: 1 / root of its mean, as a factor per row, if there is one, and per column
/// of each matrix.
template <class A>
struct SquareFactors {
  const A *row, *column;
  Matrices of;

  /// They are operand k, if there is one per row, and the next one.
  SquareFactors(const Arguments& a, int k, bool rows, const TensorType& parameter)
      : row(rows ? a.operand<A>(k) : nullptr), column(a.operand<A>(k + rows)), of(parameter) {}

  /// Calls f(first, length, factor of the row, factors of the columns) for parts of rows, together elements [begin,
  /// end).
  template <class F>
  [[gnu::always_inline]] void each_part(long begin, long end, F f) const {
    while (begin < end) {
      const long r = begin / of.columns, c = begin % of.columns, length = math::min(of.columns - c, end - begin);
      f(begin, length, row ? row[r] : A(1), column + r / of.rows * of.columns + c);
      begin += length;
    }
  }
};

}  // namespace kernel

/// Operands: means, gradient, numbers. Of rows, of columns, or of single elements.
template <>
struct Kernel<Cpu, ops::AdafactorMeans> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr kernel::Matrices matrices() {
    return kernel::Matrices(Call::operand(1));
  }
  template <class Call>
  static constexpr long items(long) {
    constexpr kernel::Matrices x = matrices<Call>();
    if (Call::config().of_rows) return x.count * x.rows;
    return x.count * ((x.columns + kernel::column_block - 1) / kernel::column_block);
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(1).count(1) / items<Call>(n) + 1;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = typename Call::Result;
    constexpr kernel::Matrices x = matrices<Call>();
    const auto* g = a.operand<typename Call::template Operand<1>>(1);
    const float* number = a.operand<float>(2);
    const A scale = A(number[2]), keep = A(number[4]), rest = A(number[5]), epsilon = A(number[6]);
    const auto square = [=](auto slope) { return (A(slope) * scale) * (A(slope) * scale); };
    A* mean = a.changed<A>(0);
    if constexpr (Call::config().of_rows) {
      for (long r = begin; r < end; ++r) {
        const A sum = kernel::lane_sum<A>(x.columns, square, g + r * x.columns);
        mean[r] = keep * mean[r] + rest * (sum / A(x.columns) + epsilon);
      }
    } else {
      constexpr long blocks = items<Call>(1) / x.count;
      for (long item = begin; item < end; ++item) {
        const long matrix = item / blocks, first = item % blocks * kernel::column_block;
        const long columns = math::min(kernel::column_block, x.columns - first);
        const auto* from = g + matrix * x.rows * x.columns + first;
        A sum[kernel::column_block];
        kernel::column_sums<A>(x.rows, columns, {sum}, [&](long r, long c) { return square(from[r * x.columns + c]); });
        A* to = mean + matrix * x.columns + first;
        for (long c = 0; c < columns; ++c) to[c] = keep * to[c] + rest * (sum[c] / A(x.rows) + epsilon);
      }
    }
  }
};

/// Operand 0 are means; those of the rows of a matrix are divided by their own mean.
template <>
struct Kernel<Cpu, ops::AdafactorFactors> {
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long) {
    return Call::result.count(1) / kernel::Matrices(Call::result).columns;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = typename Call::Result;
    constexpr long length = kernel::Matrices(Call::result).columns;
    for (long item = begin; item < end; ++item) {
      const A* x = a.operand<A>(0) + item * length;
      A mean = 1;
      if constexpr (Call::config().of_rows) mean = kernel::lane_sum<A>(length, [](A v) { return v; }, x) / A(length);
      kernel::store_unrolled(a.result<A>() + item * length, length,
                             [=](long i) { return A(1) / math::sqrt(x[i] / mean); });
    }
  }
};

/// Operands: parameter, gradient, (factors of rows,) factors of columns, numbers.
template <>
struct Kernel<Cpu, ops::AdafactorSquares> : kernel::PieceSums<ops::AdafactorSquares> {
  template <class Call>
  static auto piece(const Arguments& a, long begin, long elements) {
    using A = typename Call::Result;
    kernel::TwoSums<A> total;
    kernel::SquareFactors<A>(a, 2, Call::operands == 5, Call::operand(0))
        .each_part(begin, begin + elements, [&](long first, long length, A row, const A* column) {
          Call::Op::template direction<A>(a.operand<float>(Call::operands - 1), row, [&](auto f) {
            const auto sums =
                kernel::square_sums<A>(length, f, a.operand<typename Call::template Operand<1>>(1) + first,
                                       a.operand<typename Call::template Operand<0>>(0) + first, column);
            total.first += sums.first, total.second += sums.second;
          });
        });
    return total;
  }
};

/// Operands: parameter, gradient, (factors of rows,) factors of columns, (first moment,) numbers.
template <>
struct Kernel<Cpu, ops::ApplyAdafactor> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return 4;
  }
  template <class Call>
  static void run([[maybe_unused]] const Arguments& a, [[maybe_unused]] long begin, [[maybe_unused]] long end) {
#if !defined(__CUDA_ARCH__)  // as in update_by_step
    using T = typename Call::Result;
    using A = typename Call::template Operand<2>;
    constexpr bool rows = Call::config().has_rows, moment = Call::config().has_moment;
    const auto* const gradient = a.operand<typename Call::template Operand<1>>(1);
    kernel::SquareFactors<A>(a, 2, rows, Call::result)
        .each_part(begin, end, [&](long first, long length, A row, const A* column) {
          T* const changed[]{a.changed<T>(0) + first, moment ? a.changed<T>(3 + rows) + first : nullptr};
          Call::Op::template step<Call::config(), A>(a.operand<float>(Call::operands - 1), row, [&](auto f) {
            kernel::update_elements<1 + moment>(length, f, changed, gradient + first, column);
          });
        });
#endif
  }
};

}  // namespace tenon
TENON_EXACT_END
