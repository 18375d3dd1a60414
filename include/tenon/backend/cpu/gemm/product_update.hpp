// The kernel of a product that computes a weight's gradient and of the weight's update, as one.
#pragma once
#include <tenon/backend/cpu/gemm/fused_update.hpp>
#include <tenon/backend/cpu/gemm/matmul.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ProductUpdate;
}

namespace kernel::detail {
// An element's update in elements of a product of 16 steps: it reads and writes the parameter and its moments, and a
// line that another thread has read takes long to write (Zen 4: 1.2 ns per element in all).
inline constexpr long update_cost = 6;

template <class T>
[[gnu::noinline]] constexpr KernelWork update_work(const Gemm<T>& g) {
  const long items = gemm_rows_items(g);
  return {items, g.m * g.n * (g.k / 16 + update_cost) / items + 1,
          aligned(long(gemm_rows_workspace<T>(g.m, g.n, g.k)))};
}
}  // namespace kernel::detail

template <>
struct Kernel<Cpu, ops::ProductUpdate> {
  template <class Call>
  using UpdateOf = typename Call::Joined;
  template <class Call>
  static constexpr auto update_settings() {
    Attributes a;
    for (int i = 0; i < max_attributes - update_settings_begin; ++i) a.word[i] = Call::config().setting[i];
    return unpack<typename UpdateOf<Call>::Config>(a);
  }
  // The gradient as a product.
  template <class Call>
  static constexpr kernel::Gemm<typename Call::Result> gradient_layout(long n) {
    const bool fa = Call::Op::first(Call::config()), fb = Call::Op::second(Call::config());
    return kernel::detail::any_gemm<typename Call::Result>(Call::result.extent[0], Call::result.extent[1],
                                                           Call::operand(1).size(fa ? 0 : 1, n), fa, fb);
  }
  template <class Call>
  static constexpr auto small_gradient() {
    constexpr int k = Call::operand(1).extent[Call::Op::first(Call::config()) ? 0 : 1];
    return kernel::SmallProduct<typename Call::Result, Call::result.extent[0], Call::result.extent[1], (k < 0 ? 0 : k),
                                Call::Op::second(Call::config())>();
  }
  // A small gradient has room on the stack.
  template <class Call>
  static constexpr bool has_small_gradient() {
    constexpr auto small = small_gradient<Call>();
    return (small.by_rows || small.by_tiles) && Call::result.count(1) <= 256;
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    if constexpr (has_small_gradient<Call>())
      return {1, Call::result.count(1) * (gradient_layout<Call>(n).k / 16 + 1) + 1, 0};
    else return kernel::detail::update_work(gradient_layout<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& arguments, long begin, long end);
};

TENON_EXACT_BEGIN
template <class Call>
void Kernel<Cpu, ops::ProductUpdate>::run(const Arguments& arguments, long begin, long end) {
  using T = typename Call::Result;
  using Update = UpdateOf<Call>;
  constexpr auto settings = update_settings<Call>();
  kernel::Gemm<T> g = gradient_layout<Call>(arguments.n);
  g.a = arguments.operand<T>(1);
  g.b = arguments.operand<T>(2);
  constexpr int arrays = Call::operands - 3;
  kernel::MatrixUpdate<T> update{&kernel::update_by_step<Update, settings, arrays, T, T, float>,
                                 arguments.operand<float>(Call::operands - 1),
                                 {arguments.changed<T>(0)},
                                 arrays};
  for (int k = 1; k < arrays; ++k) update.changed[k] = arguments.changed<T>(k + 2);
  if constexpr (has_small_gradient<Call>()) {
    constexpr auto small = small_gradient<Call>();
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

}  // namespace tenon
TENON_INT_SIZES_END
