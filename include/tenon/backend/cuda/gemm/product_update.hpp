// A product that computes a weight's gradient, with the weight's update in the place of a store.
#pragma once
#include <tenon/backend/cpu/gemm/product_update.hpp>
#include <tenon/backend/cuda/gemm/matmul.hpp>
#include <tenon/backend/cuda/optimizer/update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

namespace detail {
template <template <class, int, int...> class Elements, class C, int... I>
auto elements_of_update(std::integer_sequence<int, I...>)
    -> Elements<typename C::Joined, C::operands, C::config().setting[I]...>;
}  // namespace detail

/// Operands parameter, the product's two, moments, numbers.
struct PutUpdate {
  using Cpu = Kernel<tenon::Cpu, ops::ProductUpdate>;
  template <class C>
  static constexpr Kernel<tenon::Cpu, ops::MatMul>::Sizes sizes(long n) {
    const auto g = Cpu::gradient_layout<C>(n);
    return {g.m, g.n, g.k, 1};
  }
  template <class C, int which>
  static constexpr long matrix_of(long, long) {
    return 0;
  }
  template <class C>
  __device__ static void element(const Arguments& a, long i, long, typename C::Result gradient) {
    ElementsOf<C>::put(a, i, 0, Neighbours<typename C::Result, 1>{gradient}, 1);
  }
  /// What there is to know of a call without its shapes: the update, and the words of its settings.
  template <class Update, int operands, int... setting>
  struct Elements {
    template <class T, int count>
    __device__ static void put(const Arguments& a, long i, long, const Neighbours<T, count>& gradients, long left) {
      constexpr auto settings = unpack<typename Update::Config>(Attributes{{setting...}});
      Update::template step<settings, Compute<T>>(a.operand<float>(operands - 1),
                                                  Each<T, count>{a, gradients, {i, left}});
    }

   private:
    static constexpr int arrays = operands - 3;
    template <class T, int count>
    struct Each {
      const Arguments& a;
      const Neighbours<T, count>& gradients;
      Own<count> own;

      template <class F>
      __device__ void operator()(F f) const {
        T* changed[arrays]{a.template changed<T>(0)};
#pragma unroll
        for (int k = 1; k < arrays; ++k) changed[k] = a.template changed<T>(k + 2);
        own.template update<arrays>(f, changed, gradients);
      }
    };
  };
  template <class C>
  using ElementsOf = decltype(detail::elements_of_update<Elements, C>(
      std::make_integer_sequence<int, max_attributes - update_settings_begin>()));
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::ProductUpdate> : kernel::cuda::Whole {
  template <class C>
  static void run(const Arguments& a, long, long) {
    if (kernel::cuda::multiply_fast<C, 1, kernel::cuda::PutUpdate, false>(a)) return;
    kernel::cuda::launch_matrices<C, 1, kernel::cuda::PutUpdate>(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
