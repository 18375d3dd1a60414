// AdamW: Adam with decoupled weight decay and correction of the bias, as in PyTorch.
#pragma once
#include <tenon/core/math/libm.hpp>
#include <tenon/nn/optim/adam_weight_decay.hpp>

namespace tenon::inline TENON_ABI::nn {

/// AdamWeightDecay with Adam's correction of the bias, with the defaults of torch.optim.AdamW:
/// m = bₜ m + (1 - bₜ) g;  v = cₜ v + (1 - cₜ) g²;  p = p - lr (m / (√v + eps) + weight_decay p)
///
/// with bₜ = beta1 (1 - beta1ᵗ⁻¹) / (1 - beta1ᵗ), likewise cₜ of beta2, and t counted from 1. So m and v are
/// PyTorch's moments after their correction. g is the gradient / loss_scale. Without groups, the decay skips
/// parameters with beta or gamma in their names; PyTorch's decays those of norms, too. A Model throws ValueError unless
/// beta1 and beta2 are inside (0, 1) and eps is above 0.
/// Source: Loshchilov and Hutter, arXiv 1711.05101; PyTorch's optim.AdamW.
struct AdamW {
  LearningRate learning_rate = 1e-3;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0.01f;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "AdamW";
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"adamw_m", "adamw_v"};
  void check() const {
    check_inside_unit(name, "beta1", beta1);
    check_inside_unit(name, "beta2", beta2);
    check_positive(name, "eps", eps);
  }
  void numbers(long step, Numbers& n) const {
    const auto corrected = [t = static_cast<double>(step) + 1](double beta) {
      namespace libm = tenon::detail::libm;
      return static_cast<float>(beta * (1 - libm::pow(beta, t - 1)) / (1 - libm::pow(beta, t)));
    };
    n.value[3] = corrected(double(beta1));
    n.value[4] = corrected(double(beta2));
    n.value[5] = eps;
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyAdamWeightDecay>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
  }
};

}  // namespace tenon::nn
