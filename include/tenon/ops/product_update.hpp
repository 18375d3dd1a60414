// The product that computes a weight's gradient, and the weight's update, as one operator.
#pragma once
#include <tenon/kernel/cpu/update.hpp>
#include <tenon/ops/matmul.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Words of an update's settings; the first two of its operator's attributes are the product's.
struct ProductUpdateConfig {
  Transposed transposed = Transposed::none;
  int update = 0;  // the id of its operator
  int setting[max_attributes - 2]{};
};

/// An update whose gradient is a product of two matrices: graph/pass/fuse_update.hpp makes it of the two. Operands: parameter, the
/// product's two, moments, numbers. The gradient is there for a few rows at a time, with the bits of MatMul. Not for users.
struct ProductUpdate : Operator<ProductUpdate, "MatMulUpdate"> {
  using Config = ProductUpdateConfig;
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }

  template <class Call> using Update = OperatorById<Call::config().update>;
  template <class Call>
  static constexpr auto settings() {
    Attributes a;
    for (int i = 0; i < max_attributes - 2; ++i) a.word[i] = Call::config().setting[i];
    return unpack<typename Update<Call>::Config>(a);
  }
  template <class Call>
  static constexpr kernel::Gemm<typename Call::Result> layout(long n) {
    const bool fa = MatMul::first({Call::config().transposed}), fb = MatMul::second({Call::config().transposed});
    const long rows = Call::result.extent[0], columns = Call::result.extent[1], k = Call::operand(1).size(fa ? 0 : 1, n);
    return {rows, columns, k, nullptr, fa ? 1 : k, fa ? rows : 1, nullptr, fb ? 1 : columns, fb ? k : 1, nullptr, columns};
  }
  // A small gradient has room on the stack. One with one step is not stored at all: a row of it is the row of b times a number.
  template <class Call>
  static constexpr auto small() {
    constexpr TensorType a = Call::operand(1);
    constexpr int k = a.extent[MatMul::first({Call::config().transposed}) ? 0 : 1];
    return kernel::SmallProduct<typename Call::Result, Call::result.extent[0], Call::result.extent[1], k < 0 ? 0 : k, MatMul::second({Call::config().transposed})>();
  }
  template <class Call>
  static constexpr bool is_small() {
    constexpr auto small = ProductUpdate::small<Call>();
    return (small.by_rows || small.by_tiles) && Call::result.count(1) <= 1024;
  }
  template <class Call>
  static constexpr long items(long n) {
    return is_small<Call>() ? 1 : kernel::gemm_rows_items(layout<Call>(n));
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::result.count(1) * (layout<Call>(n).k / 16 + 1) / items<Call>(n) + 1;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    const auto g = layout<Call>(n);
    return is_small<Call>() ? 0 : long(kernel::gemm_rows_workspace<typename Call::Result>(g.m, g.n, g.k));
  }
  template <class Call>
  static void run(const Arguments& arguments, long begin, long end);
};

TENON_EXACT_BEGIN
template <class Call>
void ProductUpdate::run(const Arguments& arguments, long begin, long end) {
  using T = typename Call::Result;
  constexpr int moments = Call::operands - 4;
  constexpr auto small = ProductUpdate::small<Call>();
  kernel::Gemm<T> g = layout<Call>(arguments.n);
  g.a = arguments.operand<T>(1);
  g.b = arguments.operand<T>(2);
  const auto apply = [&](long first, long count, auto gradient) {
    T* changed[moments + 1]{arguments.target<T>(0) + first};
    for (int s = 0; s < moments; ++s) changed[s + 1] = arguments.target<T>(3 + s) + first;
    Update<Call>::template apply<T, settings<Call>()>(arguments.operand<float>(Call::operands - 1), count, gradient, changed);
  };
  if constexpr (is_small<Call>()) {
    T gradient[Call::result.count(1)];
    g.c = gradient;
    if constexpr (small.by_rows) small.rows(g, 0, g.m);
    else small.tiles(g);
    apply(0, g.m * g.n, kernel::GradientAt<T>{gradient});
  } else if (g.k == 1) {
    const long parts = items<Call>(arguments.n);
    for (long row = g.m * begin / parts; row < g.m * end / parts; ++row) apply(row * g.n, g.n, kernel::GradientTimes<T>{g.a[row * g.a_row], g.b});
  } else {
    const auto rows_done = [&](long row, long rows, long column, long columns, const T* sums, long sums_row) {
      for (long r = 0; r < rows; ++r) apply((row + r) * g.n + column, columns, kernel::GradientAt<T>{sums + r * sums_row});
    };
    kernel::gemm_rows(g, begin, end, arguments.workspace, rows_done);
  }
}
TENON_EXACT_END

}  // namespace tenon::ops
