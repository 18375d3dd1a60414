// The kernel of a product that computes a weight's gradient and of the weight's update, as one.
#pragma once
#include <tenon/kernel/cpu/update.hpp>
#include <tenon/ops/matmul.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <class Call> using UpdateOf = OperatorById<Call::config().update>;
template <class Call>
constexpr auto update_settings() {
  Attributes a;
  for (int i = 0; i < max_attributes - 2; ++i) a.word[i] = Call::config().setting[i];
  return unpack<typename UpdateOf<Call>::Config>(a);
}
// The gradient as a product.
template <class Call>
constexpr kernel::Gemm<typename Call::Result> gradient_layout(long n) {
  const bool fa = MatMul::first({Call::config().transposed}), fb = MatMul::second({Call::config().transposed});
  const long rows = Call::result.extent[0], columns = Call::result.extent[1], k = Call::operand(1).size(fa ? 0 : 1, n);
  return {rows, columns, k, nullptr, fa ? 1 : k, fa ? rows : 1, nullptr, fb ? 1 : columns, fb ? k : 1, nullptr, columns};
}
template <class Call>
constexpr auto small_gradient() {
  constexpr int k = Call::operand(1).extent[MatMul::first({Call::config().transposed}) ? 0 : 1];
  return kernel::SmallProduct<typename Call::Result, Call::result.extent[0], Call::result.extent[1], (k < 0 ? 0 : k), MatMul::second({Call::config().transposed})>();
}
// A small gradient has room on the stack.
template <class Call>
constexpr bool has_small_gradient() {
  constexpr auto small = small_gradient<Call>();
  return (small.by_rows || small.by_tiles) && Call::result.count(1) <= 1024;
}
}  // namespace detail

template <class Call>
constexpr long ProductUpdate::items(long n) {
  return detail::has_small_gradient<Call>() ? 1 : kernel::gemm_rows_items(detail::gradient_layout<Call>(n));
}
template <class Call>
constexpr long ProductUpdate::cost(long n) {
  return Call::result.count(1) * (detail::gradient_layout<Call>(n).k / 16 + 1) / items<Call>(n) + 1;
}
template <class Call>
constexpr long ProductUpdate::workspace(long n) {
  const auto g = detail::gradient_layout<Call>(n);
  return detail::has_small_gradient<Call>() ? 0 : long(kernel::gemm_rows_workspace<typename Call::Result>(g.m, g.n, g.k));
}

TENON_EXACT_BEGIN
template <class Call>
void ProductUpdate::run(const Arguments& arguments, long begin, long end) {
  using T = typename Call::Result;
  constexpr int moments = Call::operands - 4;
  constexpr auto small = detail::small_gradient<Call>();
  kernel::Gemm<T> g = detail::gradient_layout<Call>(arguments.n);
  g.a = arguments.operand<T>(1);
  g.b = arguments.operand<T>(2);
  const auto apply = [&](long first, long count, auto gradient) {
    T* changed[moments + 1]{arguments.target<T>(0) + first};
    for (int s = 0; s < moments; ++s) changed[s + 1] = arguments.target<T>(3 + s) + first;
    detail::UpdateOf<Call>::template apply<T, detail::update_settings<Call>()>(arguments.operand<float>(Call::operands - 1), count, gradient, changed);
  };
  if constexpr (detail::has_small_gradient<Call>()) {
    T gradient[Call::result.count(1)];
    g.c = gradient;
    if constexpr (small.by_rows) small.rows(g, 0, g.m);
    else small.tiles(g);
    apply(0, g.m * g.n, kernel::GradientAt<T>{gradient});
  } else if (g.k == 1) {  // a row of the gradient is the row of b times a number
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
