// Adam: steps scaled by running means of the gradient and of its square.
#pragma once
#include <cmath>

#include <tenon/kernel/cpu/elementwise/math.hpp>
#include <tenon/kernel/cpu/elementwise/unrolled.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

struct ApplyAdamConfig {
  int use_nesterov = 0, use_amsgrad = 0;
};

TENON_EXACT_BEGIN
/// One step of Adam, in place. Operands: parameter, gradient, first moment, second moment, (with AMSGrad: largest
/// second moment,) numbers. The learning rate among the numbers is corrected for the bias. 16-bit floats compute in
/// float.
struct ApplyAdam : Operator<ApplyAdam, "Adam"> {
  using Config = ApplyAdamConfig;
  static constexpr bool effect = true, half_gradient = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
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
    constexpr Config config = Call::config();
    const float* number = a.operand<float>(config.use_amsgrad ? 5 : 4);
    const C rate = C(number[0]), decay = C(number[1]), scale = C(number[2]), beta1 = C(number[3]), beta2 = C(number[4]),
            epsilon = C(number[5]);
    const C rest1 = C(1) - beta1, rest2 = C(1) - beta2;
    T* __restrict p = a.target<T>(0);
    const auto* __restrict g = a.operand<typename Call::template Operand<1>>(1);
    T* __restrict m = a.target<T>(2);
    T* __restrict v = a.target<T>(3);
    [[maybe_unused]] T* __restrict largest = a.target<T>(config.use_amsgrad ? 4 : 3);
    kernel::each_block(begin, end, [=](long i, auto block_length) {
      C slope[block_length()], root[block_length()], direction[block_length()];
      kernel::load_all(g + i, slope);
      for (int l = 0; l < block_length(); ++l) {
        const C gradient = slope[l] * scale + decay * C(p[i + l]);
        const C first = beta1 * C(m[i + l]) + rest1 * gradient,
                second = beta2 * C(v[i + l]) + rest2 * gradient * gradient;
        m[i + l] = T(first);
        v[i + l] = T(second);
        root[l] = second;
        if constexpr (Call::config().use_amsgrad)
          largest[i + l] = T(root[l] = C(largest[i + l]) > second ? C(largest[i + l]) : second);
        direction[l] = Call::config().use_nesterov ? beta1 * first + rest1 * gradient : first;
      }
      kernel::sqrt_all(root);
      for (int l = 0; l < block_length(); ++l) p[i + l] = T(C(p[i + l]) - rate * direction[l] / (root[l] + epsilon));
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

struct AdamConfig {
  bool use_nesterov = false, use_amsgrad = false;
};

/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²;
/// p = p - lr √(1 - beta2ᵗ) / (1 - beta1ᵗ) · m / (√v + eps),  t counted from 1.
///
/// use_nesterov puts beta1 m + (1 - beta1) g in place of m in the last line, use_amsgrad the largest v so far in place
/// of v. g is the gradient / loss_scale + weight_decay p; see AdamWeightDecay for decoupled decay. Without groups,
/// weight decay skips parameters with beta or gamma in their names. A Model throws ValueError unless beta1 and beta2
/// are inside (0, 1) and eps is above 0. Source: Kingma and Ba, arXiv 1412.6980; Reddi et al. 2018 (AMSGrad); MindSpore
/// nn.Adam.
template <AdamConfig config>
struct AdamWith {
  LearningRate learning_rate = 1e-3;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0;
  float loss_scale = 1;
  std::vector<ParameterGroup> groups{};

  static constexpr std::string_view name = "Adam";
  static constexpr int slots = config.use_amsgrad ? 3 : 2;
  static constexpr std::string_view slot_names[3]{"moment1", "moment2", "vhat"};
  void check() const {
    check_inside_unit(name, "beta1", beta1);
    check_inside_unit(name, "beta2", beta2);
    check_positive(name, "eps", eps);
  }
  void numbers(long step, Numbers& n) const {
    const double t = static_cast<double>(step) + 1;
    n.learning_rate() = static_cast<float>(n.learning_rate() * std::sqrt(1 - std::pow(double(beta2), t)) /
                                           (1 - std::pow(double(beta1), t)));
    n.value[3] = beta1;
    n.value[4] = beta2;
    n.value[5] = eps;
  }
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    constexpr ops::ApplyAdamConfig settings{config.use_nesterov, config.use_amsgrad};
    if constexpr (config.use_amsgrad)
      b.template call<ops::ApplyAdam>(settings, parameter, gradient, slot[0], slot[1], slot[2], numbers);
    else b.template call<ops::ApplyAdam>(settings, parameter, gradient, slot[0], slot[1], numbers);
  }
};
/// `nn::Adam{.learning_rate = 0.001f}`; the others are `nn::AdamWith<nn::AdamConfig{.use_amsgrad = true}>{...}`.
using Adam = AdamWith<AdamConfig{}>;

}  // namespace nn
}  // namespace tenon
