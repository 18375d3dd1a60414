// The kernel of a product that computes a weight's gradient and of the weight's update, as one.
#pragma once
#include <tenon/kernel/cpu/gemm/fused_update.hpp>
#include <tenon/ops/matmul.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <class Call>
using UpdateOf = typename Call::Joined;
template <class Call>
constexpr auto update_settings() {
  Attributes a;
  for (int i = 0; i < max_attributes - update_settings_begin; ++i) a.word[i] = Call::config().setting[i];
  return unpack<typename UpdateOf<Call>::Config>(a);
}
// The gradient as a product.
template <class Call>
constexpr MatMul::Config product_settings() {
  return MatMul::Config{Call::config().transposed};
}
template <class Call>
constexpr kernel::Gemm<typename Call::Result> gradient_layout(long n) {
  const bool fa = MatMul::first(product_settings<Call>()), fb = MatMul::second(product_settings<Call>());
  return any_gemm<typename Call::Result>(Call::result.extent[0], Call::result.extent[1],
                                         Call::operand(1).size(fa ? 0 : 1, n), fa, fb);
}
template <class Call>
constexpr auto small_gradient() {
  constexpr int k = Call::operand(1).extent[MatMul::first(product_settings<Call>()) ? 0 : 1];
  return kernel::SmallProduct<typename Call::Result, Call::result.extent[0], Call::result.extent[1], (k < 0 ? 0 : k),
                              MatMul::second(product_settings<Call>())>();
}
// A small gradient has room on the stack.
template <class Call>
constexpr bool has_small_gradient() {
  constexpr auto small = small_gradient<Call>();
  return (small.by_rows || small.by_tiles) && Call::result.count(1) <= 256;
}
}  // namespace detail

namespace detail {
template <class T>
[[gnu::noinline]] constexpr KernelWork update_work(const kernel::Gemm<T>& g) {
  const long items = kernel::gemm_rows_items(g);
  return {items, g.m * g.n * (g.k / 16 + 1) / items + 1, aligned(long(kernel::gemm_rows_workspace<T>(g.m, g.n, g.k)))};
}
}  // namespace detail
template <class Call>
constexpr KernelWork ProductUpdate::work(long n) {
  if constexpr (detail::has_small_gradient<Call>())
    return {1, Call::result.count(1) * (detail::gradient_layout<Call>(n).k / 16 + 1) + 1, 0};
  else return detail::update_work(detail::gradient_layout<Call>(n));
}

TENON_EXACT_BEGIN
template <class Call>
void ProductUpdate::run(const Arguments& arguments, long begin, long end) {
  using T = typename Call::Result;
  using Update = detail::UpdateOf<Call>;
  constexpr auto settings = detail::update_settings<Call>();
  kernel::Gemm<T> g = detail::gradient_layout<Call>(arguments.n);
  g.a = arguments.operand<T>(1);
  g.b = arguments.operand<T>(2);
  kernel::MatrixUpdate<T> update{&Update::template apply<T, settings, kernel::GradientAt<T>>,
                                 arguments.operand<float>(Call::operands - 1),
                                 {arguments.target<T>(0)},
                                 Call::operands - 3};
  for (int k = 1; k < Call::operands - 3; ++k) update.changed[k] = arguments.target<T>(k + 2);
  if constexpr (detail::has_small_gradient<Call>()) {
    constexpr auto small = detail::small_gradient<Call>();
    T gradient[Call::result.count(1)];
    g.c = gradient;
    if constexpr (small.by_rows) small.rows(g, 0, g.m);
    else small.tiles(g);
    update(0, g.m * g.n, gradient);
  } else {
    kernel::update_by_product(g, begin, end, arguments.workspace, update);
  }
}
TENON_EXACT_END

}  // namespace tenon::ops
