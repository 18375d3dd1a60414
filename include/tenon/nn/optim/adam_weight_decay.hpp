// Adam with decoupled weight decay.
#pragma once
#include <tenon/kernel/cpu/elementwise/math.hpp>
#include <tenon/kernel/cpu/elementwise/unrolled.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of AdamWeightDecay, in place. Operands: parameter, gradient, first moment, second moment, numbers. 16-bit
/// floats compute in float.
struct ApplyAdamWeightDecay : Operator<ApplyAdamWeightDecay, "AdamWeightDecay"> {
  static constexpr bool effect = true, half_gradient = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return 8;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using C = Compute<T>;
    const float* number = a.operand<float>(4);
    const C rate = C(number[0]), decay = C(number[1]), scale = C(number[2]), beta1 = C(number[3]), beta2 = C(number[4]),
            epsilon = C(number[5]);
    const C rest1 = C(1) - beta1, rest2 = C(1) - beta2;
    T* __restrict p = a.target<T>(0);
    const auto* __restrict g = a.operand<typename Call::template Operand<1>>(1);
    T* __restrict m = a.target<T>(2);
    T* __restrict v = a.target<T>(3);
    kernel::each_block(begin, end, [=](long i, auto block_length) {
      C slope[block_length()], root[block_length()], first[block_length()];
      kernel::load_all(g + i, slope);
      for (int l = 0; l < block_length(); ++l) {
        const C gradient = slope[l] * scale;
        first[l] = beta1 * C(m[i + l]) + rest1 * gradient;
        root[l] = beta2 * C(v[i + l]) + rest2 * gradient * gradient;
        m[i + l] = T(first[l]);
        v[i + l] = T(root[l]);
      }
      kernel::sqrt_all(root);
      for (int l = 0; l < block_length(); ++l)
        p[i + l] = T(C(p[i + l]) - rate * (first[l] / (root[l] + epsilon) + decay * C(p[i + l])));
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²;  p = p - lr (m / (√v + eps) + weight_decay p).
///
/// There is no bias correction, as in MindSpore: the first steps are larger than Adam's. g is the gradient /
/// loss_scale; the decay does not enter the moments. Without groups, it skips parameters with beta or gamma in their
/// names. A Model throws ValueError unless beta1 and beta2 are inside (0, 1) and eps is above 0.
/// Source: Loshchilov and Hutter, arXiv 1711.05101; MindSpore nn.AdamWeightDecay.
struct AdamWeightDecay {
  LearningRate learning_rate = 1e-3;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-6f;
  float weight_decay = 0;
  float loss_scale = 1;
  std::vector<ParameterGroup> groups{};

  static constexpr std::string_view name = "AdamWeightDecay";
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"adam_m", "adam_v"};
  void check() const {
    check_inside_unit(name, "beta1", beta1);
    check_inside_unit(name, "beta2", beta2);
    check_positive(name, "eps", eps);
  }
  void numbers(long, Numbers& n) const {
    n.value[3] = beta1;
    n.value[4] = beta2;
    n.value[5] = eps;
  }
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyAdamWeightDecay>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
