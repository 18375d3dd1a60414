// Fully connected layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/matmul.hpp>

namespace tenon::inline TENON_ABI::nn {

struct DenseConfig {
  bool has_bias = true;
};

/// Fully connected layer:  y = x · Wᵀ + b
///
/// x           [..., In]
/// result      [..., Out]
/// parameters  weight [Out, In];  bias [Out], absent with has_bias = false; both uniform within 1 / sqrt(In) by default
/// source      MindSpore nn.Dense
template <int In, int Out, DenseConfig config = DenseConfig{}, auto weight_init = default_weight,
          auto bias_init = DefaultBias{float(In)}>
struct Dense : Cell<Dense<In, Out, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0, "Dense<In, Out> needs positive sizes");
  Parameter<float, Shape<Out, In>, weight_init> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(ops::Operand auto x) const {
    return add_bias(ops::matmul<ops::Transposed::second>(x, weight), bias);
  }
};

/// PyTorch's name of Dense; its use is a compile error that names Dense.
template <int In, int Out, auto...>
struct Linear {
  static_assert(In < 0 && In > 0,
                "a fully connected layer is nn::Dense here, as in MindSpore: nn::Dense<16, 10> head;");
};

}  // namespace tenon::nn
