// AdaFactor by its formulas: sums are in double.
#pragma once
#include <cmath>
#include <vector>

#include <tenon/backend/reference/optimizer/norms.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct AdafactorFactors;
struct AdafactorMeans;
struct AdafactorSquares;
struct ApplyAdafactor;
}  // namespace ops

namespace kernel::reference {
/// A parameter as matrices over its last two axes, and in which row and column of all of them an element is.
struct MatrixPlace {
  long rows, columns;
  explicit MatrixPlace(const TensorType& t)
      : rows(t.rank < 2 ? 1 : t.extent[t.rank - 2]), columns(t.rank < 1 ? 1 : t.extent[t.rank - 1]) {}
  long row(long i) const { return i / columns; }
  long column(long i) const { return i / (rows * columns) * columns + i % columns; }
};
/// The factor of element i of operand 0, whose factors of rows, if there are any, are operand 2.
template <class Call, bool has_rows>
double adafactor_factor(const Arguments& a, long i) {
  using A = typename Call::template Operand<2>;
  const MatrixPlace place(Call::operand(0));
  const double column = static_cast<double>(a.operand<A>(has_rows ? 3 : 2)[place.column(i)]);
  return has_rows ? static_cast<double>(a.operand<A>(2)[place.row(i)]) * column : column;
}
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::AdafactorMeans> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using A = typename Call::Result;
    const float* const n = a.operand<float>(2);
    const kernel::reference::MatrixPlace place(Call::operand(1));
    const bool of_rows = Call::config().of_rows;
    std::vector<double> sum(std::size_t(Call::result.count(1)));
    for (long i = 0; i < Call::operand(1).count(1); ++i) {
      const double g = n[2] * static_cast<double>(a.operand<typename Call::template Operand<1>>(1)[i]);
      sum[std::size_t(of_rows ? place.row(i) : place.column(i))] += g * g;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      A& mean = a.changed<A>(0)[i];
      const double square = sum[i] / static_cast<double>(of_rows ? place.columns : place.rows) + n[6];
      mean = kernel::reference::rounded<A>(n[4] * static_cast<double>(mean) + n[5] * square);
    }
  }
};

template <>
struct Kernel<Reference, ops::AdafactorFactors> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using A = typename Call::Result;
    const long length = kernel::reference::MatrixPlace(Call::result).columns;
    for (long i = 0; i < Call::result.count(1); ++i) {
      double mean = 0;
      for (long k = i / length * length; k < (i / length + 1) * length; ++k)
        mean += static_cast<double>(a.operand<A>(0)[k]) / static_cast<double>(length);
      const double divisor = Call::config().of_rows ? mean : 1;
      a.result<A>()[i] =
          kernel::reference::rounded<A>(1 / std::sqrt(static_cast<double>(a.operand<A>(0)[i]) / divisor));
    }
  }
};

template <>
struct Kernel<Reference, ops::AdafactorSquares> : kernel::reference::WholeSums<ops::AdafactorSquares> {
  template <class Call>
  static double term(const kernel::reference::Summed<Call>& x, const float* n) {
    const double u = n[2] * x.gradient() * kernel::reference::adafactor_factor < Call, Call::operands == 5 > (x.a, x.i);
    return u * u;
  }
};

template <>
struct Kernel<Reference, ops::ApplyAdafactor> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using kernel::reference::rounded;
    using T = typename Call::Result;
    constexpr bool rows = Call::config().has_rows;
    const float* const n = a.operand<float>(Call::operands - 1);
    for (long i = 0; i < Call::result.count(1); ++i) {
      const double g = n[2] * static_cast<double>(a.operand<typename Call::template Operand<1>>(1)[i]);
      double step = n[3] * g * kernel::reference::adafactor_factor<Call, rows>(a, i);
      if constexpr (Call::config().has_moment) {
        T& moment = a.changed<T>(rows ? 4 : 3)[i];
        step = n[9] * static_cast<double>(moment) + (1.0 - n[9]) * step;
        moment = rounded<T>(step);
      }
      T& p = a.changed<T>(0)[i];
      p = rounded<T>(static_cast<double>(p) * (1.0 - double(n[0]) * n[1]) - step);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
