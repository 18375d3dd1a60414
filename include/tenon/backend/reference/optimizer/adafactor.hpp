// AdaFactor by its formulas: sums are in double.
#pragma once
#include <cmath>
#include <vector>

#include <tenon/backend/reference/optimizer/norms.hpp>
#include <tenon/backend/reference/optimizer/update.hpp>

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
/// The factors of element i of a parameter: that of its row, operand k, if there is one, and that of its column, the
/// next operand.
template <class A>
struct ElementFactors {
  double row = 1, column;
  ElementFactors(const Arguments& a, int k, bool rows, const TensorType& parameter, long i) {
    const MatrixPlace place(parameter);
    if (rows) row = static_cast<double>(a.operand<A>(k)[place.row(i)]);
    column = static_cast<double>(a.operand<A>(k + rows)[place.column(i)]);
  }
};
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
  static double term(const Arguments& a, long i) {
    const kernel::reference::ElementFactors<typename Call::Result> factor(a, 2, Call::operands == 5, Call::operand(0),
                                                                          i);
    double term = 0;
    Call::Op::template direction<double>(a.operand<float>(Call::operands - 1), factor.row, [&](auto f) {
      term = f(static_cast<double>(a.operand<typename Call::template Operand<1>>(1)[i]), 0.0, factor.column);
    });
    return term;
  }
};

template <>
struct Kernel<Reference, ops::ApplyAdafactor> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr bool rows = Call::config().has_rows, moment = Call::config().has_moment;
    T* const changed[]{a.changed<T>(0), moment ? a.changed<T>(3 + rows) : nullptr};
    for (long i = 0; i < Call::result.count(1); ++i) {
      const double gradient = static_cast<double>(a.operand<typename Call::template Operand<1>>(1)[i]);
      const kernel::reference::ElementFactors<typename Call::template Operand<2>> factor(a, 2, rows, Call::result, i);
      Call::Op::template step<Call::config(), double>(a.operand<float>(Call::operands - 1), factor.row, [&](auto f) {
        kernel::reference::update_element<1 + moment>(f, changed, i, gradient, factor.column);
      });
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
