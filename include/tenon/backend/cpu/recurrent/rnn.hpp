// Kernels of plain recurrent layers.
#pragma once
#include <tenon/backend/cpu/recurrent/recurrent.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct RnnRelu;
struct RnnReluGrad;
struct RnnTanh;
struct RnnTanhGrad;
}  // namespace ops

namespace kernel {

/// h = tanh of the argument, or relu. The part is h itself, which the layer's result has.
template <bool relu>
struct RnnCell {
  static constexpr long gates = 1, states = 1, parts = 1;
  static constexpr bool projected = false;
#if TENON_DEFINES
  template <class V, class Own, class Input>
  [[gnu::always_inline]] static constexpr V forward(Own own, Input, V& h, V (&part)[parts]) {
    if constexpr (relu) h = math::larger(V(0), own(0));
    else h = gate_tanh(own(0));
    return part[0] = h;
  }
  template <class V>
  [[gnu::always_inline]] static constexpr void backward(const V (&part)[parts], V, V dh, V& carried,
                                                        V (&gradient)[gates]) {
    if constexpr (!relu) gradient[0] = dh * (V(1) - part[0] * part[0]);
    else if constexpr (std::is_arithmetic_v<V>) gradient[0] = part[0] <= V(0) ? V(0) : dh;
    else gradient[0] = V((part[0].lanes <= V(0).lanes) ? V(0).lanes : dh.lanes);
    carried = V(0);  // all comes through the weight
  }
  template <class V>
  [[gnu::always_inline]] static constexpr V hidden_share(const V (&)[parts], long, V gradient) {
    return gradient;
  }
#endif
};

}  // namespace kernel

template <>
struct Kernel<Cpu, ops::RnnTanh> : kernel::RecurrentKernel<kernel::RnnCell<false>> {};
template <>
struct Kernel<Cpu, ops::RnnTanhGrad> : kernel::RecurrentGradKernel<kernel::RnnCell<false>> {};
template <>
struct Kernel<Cpu, ops::RnnRelu> : kernel::RecurrentKernel<kernel::RnnCell<true>> {};
template <>
struct Kernel<Cpu, ops::RnnReluGrad> : kernel::RecurrentGradKernel<kernel::RnnCell<true>> {};

}  // namespace tenon
TENON_EXACT_END
