// Plain recurrent layers step by step.
#pragma once
#include <tenon/backend/reference/recurrent/recurrent.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct RnnRelu;
struct RnnReluGrad;
struct RnnTanh;
struct RnnTanhGrad;
}  // namespace ops

namespace kernel::reference {

/// h = tanh(x W_inputᵀ + h Wᵀ + bias), or relu.
template <bool relu>
struct RnnUnit {
  static constexpr long gates = 1, states = 1, parts = 1;
  static constexpr int weight = 2;
  template <class Own, class Projected>
  static double forward(Own own, Projected, double& h, double (&part)[parts]) {
    const double x = own(0);
    return part[0] = h = !relu ? std::tanh(x) : x < 0 ? 0 : x;
  }
  static void backward(const double (&part)[parts], double, double dh, double& direct, double (&d)[gates]) {
    d[0] = !relu ? dh * (1 - part[0] * part[0]) : part[0] <= 0 ? 0 : dh;
    direct = 0;
  }
  static double hidden_share(const double (&)[parts], long, double gradient) { return gradient; }
};

}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::RnnTanh> : kernel::reference::RecurrentLoop<kernel::reference::RnnUnit<false>> {};
template <>
struct Kernel<Reference, ops::RnnTanhGrad> : kernel::reference::RecurrentGradLoop<kernel::reference::RnnUnit<false>> {};
template <>
struct Kernel<Reference, ops::RnnRelu> : kernel::reference::RecurrentLoop<kernel::reference::RnnUnit<true>> {};
template <>
struct Kernel<Reference, ops::RnnReluGrad> : kernel::reference::RecurrentGradLoop<kernel::reference::RnnUnit<true>> {};

}  // namespace tenon
TENON_EXACT_END
