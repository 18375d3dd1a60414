// Linear algebra of stacks of small matrices: a block of threads for each matrix, in double, with the chains of the CPU
// (backend/cpu/linear/elimination.hpp).
#pragma once
#include <tenon/backend/cpu/linear/matrices.hpp>
#include <tenon/backend/cuda/device.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

/// The matrix of a block, [n, n] in double, and the [n, m] that belong to it. All threads of the block call its
/// functions.
struct BlockMatrix {
  double* a;
  long n;
  double* x;
  long m;

  /// f(i) for 0 <= i < count, each by one thread; all are done afterwards.
  template <class F>
  __device__ static void each(long count, F f) {
    for (long i = threadIdx.x; i < count; i += blockDim.x) f(i);
    __syncthreads();
  }
  template <class T>
  __device__ void load(const T* from, bool transposed) const {
    double* const to = a;
    const long rows = n;
    each(n * n, [=](long i) { to[transposed ? i % rows * rows + i / rows : i] = from[i]; });
  }
  template <class T>
  __device__ void load_columns(const T* from) const {
    double* const to = x;
    each(n * m, [=](long i) { to[i] = from[i]; });
  }
  template <class T>
  __device__ void store_columns(T* to, bool valid) const {
    const double* const from = x;
    each(n * m, [=](long i) { to[i] = valid ? static_cast<T>(from[i]) : std::numeric_limits<T>::quiet_NaN(); });
  }
  __device__ void exchange(double* rows, long width, long one, long other) const {
    each(width, [=](long j) {
      const double kept = rows[one * width + j];
      rows[one * width + j] = rows[other * width + j], rows[other * width + j] = kept;
    });
  }
  /// The row of the first of the largest elements of column k, from row k on.
  __device__ long pivot_row(long k) const {
    __shared__ long found;
    if (threadIdx.x < warp) {
      long best = k;
      double largest = __builtin_fabs(a[k * n + k]);
      for (long i = k + 1 + threadIdx.x; i < n; i += warp)
        if (__builtin_fabs(a[i * n + k]) > largest) best = i, largest = __builtin_fabs(a[i * n + k]);
#pragma unroll
      for (int half = warp / 2; half > 0; half /= 2) {
        const double other = __shfl_down_sync(~0u, largest, half);
        const long row = __shfl_down_sync(~0u, best, half);
        if (other > largest || (other == largest && row < best)) best = row, largest = other;
      }
      if (threadIdx.x == 0) found = best;
    }
    __syncthreads();
    const long row = found;
    __syncthreads();
    return row;
  }
  __device__ Elimination eliminate() const {
    Elimination e;
    double* const own = a;
    const long size = n;
    for (long k = 0; k < n; ++k) {
      const long pivot = pivot_row(k);
      if (pivot != k) {
        exchange(a, n, k, pivot);
        exchange(x, m, k, pivot);
        e.negative = !e.negative;
      }
      const double by = a[k * n + k];
      if (!(by != 0)) {
        e.singular = true;
        break;
      }
      const long rest = n - k - 1, last = end_of_segment(k), right = last - k - 1;
      each(rest, [=](long i) { own[(k + 1 + i) * size + k] /= by; });
      each(rest * right, [=](long at) {
        const long i = k + 1 + at / right, j = k + 1 + at % right;
        own[i * size + j] = fmadd(-own[i * size + k], own[k * size + j], own[i * size + j]);
      });
      if (k + 1 == last) subtract_segment(last);
    }
    return e;
  }
  __device__ long end_of_segment(long k) const {
    const long end = (k / elimination_segment + 1) * elimination_segment;
    return end < n ? end : n;
  }
  // Brings the columns after a segment, which ends with `last`, to where its own columns are.
  __device__ void subtract_segment(long last) const {
    double* const own = a;
    const long size = n, rest = n - last, first = last - elimination_segment;
    each(rest, [=](long column) {
      for (long i = first + 1; i < last; ++i) {
        double& to = own[i * size + last + column];
        for (long k = first; k < i; ++k) to = fmadd(-own[i * size + k], own[k * size + last + column], to);
      }
    });
    each(rest * rest, [=](long at) {
      const long i = last + at / rest, j = last + at % rest;
      double sum = 0;
      for (long k = first; k < last; ++k) sum = fmadd(-own[i * size + k], own[k * size + j], sum);
      own[i * size + j] += sum;
    });
  }
  /// Row i of column j of x minus what the rows before it add, by the diagonal if that is no unit; the last row is the
  /// first one if `backward`.
  __device__ void solve_row(long i, long j, bool backward, bool unit_diagonal) const {
    const auto place = [&](long k) { return backward ? n - 1 - k : k; };
    const auto chain = [&](double sum, long first, long last) {
      for (long k = first; k < last; ++k) sum = fmadd(-a[place(i) * n + place(k)], x[place(k) * m + j], sum);
      return sum;
    };
    double sum = x[place(i) * m + j];
    long first = 0;
    for (; first + elimination_segment <= i; first += elimination_segment)
      sum += chain(0, first, first + elimination_segment);
    sum = chain(sum, first, i);
    x[place(i) * m + j] = unit_diagonal ? sum : sum / a[place(i) * n + place(i)];
  }
  /// A thread for each column.
  __device__ void solve(bool backward, bool unit_diagonal) const {
    const BlockMatrix own = *this;
    each(m, [=](long j) {
      for (long i = 0; i < own.n; ++i) own.solve_row(i, j, backward, unit_diagonal);
    });
  }
  __device__ void solve_lower(bool unit_diagonal) const { solve(false, unit_diagonal); }
  __device__ void solve_upper(bool unit_diagonal) const { solve(true, unit_diagonal); }
  __device__ bool factor_cholesky() const {
    double* const own = a;
    const long size = n;
    for (long k = 0; k < n; ++k) {
      const double square = a[k * n + k];
      if (!(square > 0)) return false;
      const double root = math::sqrt(square);
      const long rest = n - k - 1, last = end_of_segment(k), below = last - k - 1;
      __syncthreads();  // all have read the square
      each(rest + 1, [=](long j) { own[k * size + k + j] = j == 0 ? root : own[k * size + k + j] / root; });
      each(below * rest, [=](long at) {
        const long i = k + 1 + at / rest, j = k + 1 + at % rest;
        if (j >= i) own[i * size + j] = fmadd(-own[k * size + i], own[k * size + j], own[i * size + j]);
      });
      if (k + 1 < last) continue;
      const long first = last - elimination_segment, after = n - last;
      each(after * after, [=](long at) {
        const long i = last + at / after, j = last + at % after;
        double sum = 0;
        for (long s = first; s < last && j >= i; ++s) sum = fmadd(-own[s * size + i], own[s * size + j], sum);
        if (j >= i) own[i * size + j] += sum;
      });
    }
    return true;
  }
};

/// Base of a body with a block for each matrix.
template <class Work, class C, bool has_columns>
struct PerMatrix {
  static constexpr int threads = 256;
  static constexpr long n = C::operand(0).last(), m = has_columns ? C::result.last() : 0;
  static long blocks(long samples) { return OnMatrices<has_columns>::template items<C>(samples); }
  __device__ static void block(const Arguments& a) {
    constexpr long rows = n, columns = m;
    double* const own = reinterpret_cast<double*>(a.workspace) + long(blockIdx.x) * rows * (rows + columns);
    Work::template matrix<C>(a, BlockMatrix{own, rows, own + rows * rows, columns}, blockIdx.x);
  }
};
template <class Work, bool has_columns>
struct OnBlocks : Whole {
  template <class C>
  static constexpr long workspace(long n) {
    return OnMatrices<has_columns>::template items<C>(n) * OnMatrices<has_columns>::template workspace<C>(n);
  }
  template <class C>
  static void run(const Arguments& a, long, long) {
    launch_blocks<PerMatrix<Work, C, has_columns>>(a);
  }
};

struct TriangularSystems {
  template <class C>
  __device__ static void matrix(const Arguments& a, const BlockMatrix& own, long i) {
    using T = typename C::Result;
    constexpr auto c = C::config();
    own.load(a.operand<T>(0) + i * own.n * own.n, c.transposed != 0);
    own.load_columns(a.operand<T>(1) + i * own.n * own.m);
    if ((int(c.side) == 1) == (c.transposed != 0)) own.solve_lower(c.unit_diagonal != 0);
    else own.solve_upper(c.unit_diagonal != 0);
    own.store_columns(a.result<T>() + i * own.n * own.m, true);
  }
};
/// Systems of equations, with the unit matrix on their right side for inverse matrices.
template <bool inverse>
struct Systems {
  template <class C>
  __device__ static void matrix(const Arguments& a, const BlockMatrix& own, long i) {
    using T = typename C::Result;
    constexpr auto c = C::config();
    double* const x = own.x;
    const long n = own.n;
    if constexpr (inverse) {
      own.load(a.operand<T>(0) + i * n * n, false);
      own.each(n * n, [=](long k) { x[k] = k % (n + 1) == 0; });
    } else {
      own.load(a.operand<T>(0) + i * n * n, c.transposed != 0);
      own.load_columns(a.operand<T>(1) + i * n * own.m);
    }
    const bool singular = own.eliminate().singular;
    if (!singular) {
      own.solve_lower(true);
      own.solve_upper(false);
    }
    own.store_columns(a.result<T>() + i * n * own.m, !singular);
  }
};
struct CholeskyFactors {
  template <class C>
  __device__ static void matrix(const Arguments& a, const BlockMatrix& own, long i) {
    using T = typename C::Result;
    const long n = own.n;
    own.load(a.operand<T>(0) + i * n * n, true);
    const bool valid = own.factor_cholesky();
    const double* const from = own.a;
    T* const to = a.result<T>() + i * n * n;
    own.each(n * n, [=](long k) {
      const long row = k / n, column = k % n;
      to[k] = !valid         ? std::numeric_limits<T>::quiet_NaN()
              : column > row ? T(0)
                             : static_cast<T>(from[column * n + row]);
    });
  }
};
struct Determinants {
  template <class C>
  __device__ static void matrix(const Arguments& a, const BlockMatrix& own, long i) {
    using T = typename C::Result;
    own.load(a.operand<T>(0) + i * own.n * own.n, false);
    const Elimination e = own.eliminate();
    if (threadIdx.x == 0) a.result<T>()[i] = static_cast<T>(product_of_pivots(own.a, own.n, own.n + 1, e));
  }
};
struct LogDeterminants {
  template <class C>
  __device__ static void matrix(const Arguments& a, const BlockMatrix& own, long i) {
    using T = typename C::Result;
    own.load(a.operand<T>(0) + i * own.n * own.n, false);
    const Elimination e = own.eliminate();
    if (threadIdx.x != 0) return;
    const LogOfPivots<T> y(own.a, own.n, own.n + 1, e);
    a.result<T>()[i] = y.sign;
    if constexpr (has_result<C, 1>) {
      result_of<C, 1>(a)[i] = y.log;
    }
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::SolveTriangular> : kernel::cuda::OnBlocks<kernel::cuda::TriangularSystems, true> {};
template <>
struct Kernel<Cuda, ops::MatrixSolve> : kernel::cuda::OnBlocks<kernel::cuda::Systems<false>, true> {};
template <>
struct Kernel<Cuda, ops::MatrixInverse> : kernel::cuda::OnBlocks<kernel::cuda::Systems<true>, true> {};
template <>
struct Kernel<Cuda, ops::Cholesky> : kernel::cuda::OnBlocks<kernel::cuda::CholeskyFactors, false> {};
template <>
struct Kernel<Cuda, ops::Determinant> : kernel::cuda::OnBlocks<kernel::cuda::Determinants, false> {};
template <>
struct Kernel<Cuda, ops::LogDeterminant> : kernel::cuda::OnBlocks<kernel::cuda::LogDeterminants, false> {};

}  // namespace tenon
TENON_EXACT_END
