// AdaFactor: means of squares by rows and columns, what they make of a gradient, and the update.
#pragma once
#include <tenon/backend/cpu/optimizer/adafactor.hpp>
#include <tenon/backend/cuda/optimizer/norms.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

/// Moves the mean squares on, which are operand 0.
template <class C>
struct MoveMeans {
  using A = typename C::Result;
  using G = typename C::template Operand<1>;
  static constexpr Matrices of{C::operand(1)};
  static constexpr bool of_rows = C::config().of_rows;
  static constexpr long matrices = of.count, rows = of.rows, columns = of.columns;
  using Row = RowTeam<columns>;
  // of columns: neighbours, and parts of their chains
  static constexpr int side = 8, parts = 32, threads = 256;
  static constexpr long column_blocks = blocks_for(columns, side);
  static_assert(Row::threads == threads);

  static long blocks(long) { return of_rows ? Row::blocks(matrices * rows) : matrices * column_blocks; }
  __device__ static void block(const Arguments& a) {
    const float* const number = a.operand<float>(2);
    const A scale = A(number[2]);
    const G* const gradient = a.operand<G>(1);
    const auto square = [=](long i) {
      const A scaled = A(gradient[i]) * scale;
      return scaled * scaled;
    };
    if constexpr (of_rows) {
      const Row team(matrices * rows, columns);
      const A sum = team.template sum<A>([&](int, long i) { return square(team.row() * columns + i); });
      if (team.is_first()) move_mean(a, team.row(), sum / A(columns));
    } else {
      const long matrix = blockIdx.x / column_blocks,
                 column = blockIdx.x % column_blocks * side + int(threadIdx.x) % side,
                 first = matrix * rows * columns + (column < columns ? column : columns - 1);
      const auto chain = [&](long c) {
        A sum = 0;
#pragma unroll 8
        for (long r = c * sum_chain; r < (c + 1) * sum_chain && r < rows; ++r) sum += square(first + r * columns);
        return sum;
      };
      const A sum = sum_of_tiles<parts, side, 1, A>((rows + sum_chain - 1) / sum_chain, Add(), chain);
      if (int(threadIdx.x) < side && column < columns) move_mean(a, matrix * columns + column, sum / A(rows));
    }
  }

 private:
  __device__ static void move_mean(const Arguments& a, long i, A square) {
    const float* const number = a.operand<float>(2);
    const A keep = A(number[4]), rest = A(number[5]), epsilon = A(number[6]);
    A& mean = a.changed<A>(0)[i];
    mean = keep * mean + rest * (square + epsilon);
  }
};

/// Operand 0 are means; those of the rows of a matrix are divided by their own mean.
template <class C>
struct FactorsOfMeans {
  using A = typename C::Result;
  static constexpr Matrices of{C::result};
  static constexpr long length = of.columns, items = C::result.count(1) / length;
  using Team = RowTeam<length>;
  static constexpr int threads = Team::threads;

  static long blocks(long) { return Team::blocks(items); }
  __device__ static void block(const Arguments& a) {
    const Team team(items, length);
    const A* const x = a.operand<A>(0) + team.row() * length;
    A* const y = a.result<A>() + team.row() * length;
    A mean = 1;
    if constexpr (C::config().of_rows) mean = team.template sum<A>([&](int, long i) { return x[i]; }) / A(length);
    if (team.exists()) team.each([&](int, long i) { y[i] = A(1) / math::sqrt(x[i] / mean); });
  }
};

/// Operand k, a factor per row, if there is one, and the next one, a factor per column of each matrix.
template <class A, long rows, long columns>
struct ElementFactors {
  const A *of_row, *of_column;

  __device__ ElementFactors(const Arguments& a, int k, bool has_rows)
      : of_row(has_rows ? a.operand<A>(k) : nullptr), of_column(a.operand<A>(k + has_rows)) {}
  __device__ A row(long i) const { return of_row ? of_row[i / columns] : A(1); }
  __device__ A column(long i) const { return of_column[i / (rows * columns) * columns + i % columns]; }
};
template <class C>
struct FactoredParameter {
  static constexpr Matrices of{C::operand(0)};
  template <class A>
  using Factors = ElementFactors<A, of.rows, of.columns>;
};

template <class C>
struct UpdateFactored {
  using T = typename C::Result;
  using A = typename C::template Operand<2>;
  static constexpr int threads = 256, rows = C::config().has_rows, arrays = 1 + C::config().has_moment;

  static long blocks(long n) { return blocks_for(result_count<C>(n), threads); }
  __device__ static void block(const Arguments& a) {
    const long i = thread_of_grid();
    if (i >= result_count<C>(a.n)) return;
    const typename FactoredParameter<C>::template Factors<A> factors(a, 2, rows != 0);
    C::Op::template step<C::config(), A>(a.operand<float>(C::operands - 1), factors.row(i), [&](auto f) {
      const auto gradient = load_neighbours<1>(a.operand<typename C::template Operand<1>>(1), i, 1);
      T* changed[arrays]{a.changed<T>(0)};
      if constexpr (arrays > 1) changed[1] = a.changed<T>(3 + rows);
      Own<1>{i, 1}.update(f, changed, gradient, Neighbours<A, 1>{{factors.column(i)}});
    });
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::AdafactorMeans> : kernel::cuda::Launches<kernel::cuda::MoveMeans> {
  static constexpr KernelFacts facts{.half_gradient = true};
};
template <>
struct Kernel<Cuda, ops::AdafactorFactors> : kernel::cuda::Launches<kernel::cuda::FactorsOfMeans> {};
template <>
struct Kernel<Cuda, ops::AdafactorSquares> : kernel::cuda::Launches<kernel::cuda::SumPieces> {
  static constexpr KernelFacts facts{.half_gradient = true};

  /// Parts of rows.
  template <class Call, class Add>
  __device__ static void each_part(const Arguments& a, long begin, long end, Add add) {
    using A = typename Call::Result;
    using T = typename Call::template Operand<0>;
    constexpr kernel::Matrices of(Call::operand(0));
    const typename kernel::cuda::FactoredParameter<Call>::template Factors<A> factors(a, 2, Call::operands == 5);
    const auto* const gradient = a.operand<typename Call::template Operand<1>>(1);
    while (begin < end) {
      const long left = of.columns - begin % of.columns, length = left < end - begin ? left : end - begin;
      Call::Op::template direction<A>(a.operand<float>(Call::operands - 1), factors.row(begin), [&](auto f) {
        add(begin, length, [&](long i) {
          return f(static_cast<A>(gradient[i]), static_cast<A>(a.operand<T>(0)[i]), factors.column(i));
        });
      });
      begin += length;
    }
  }
};
template <>
struct Kernel<Cuda, ops::ApplyAdafactor> : kernel::cuda::Launches<kernel::cuda::UpdateFactored> {
  static constexpr KernelFacts facts{.half_gradient = true};
};

}  // namespace tenon
TENON_EXACT_END
