// Bilinear layer of two inputs.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/transpose.hpp>

namespace tenon::inline TENON_ABI::nn {

struct BiDenseConfig {
  bool has_bias = true;
};

/// Bilinear layer:  y_k = x1ᵀ W_k x2 + b_k
///
/// x1, x2      [..., In1] and [..., In2] with equal leading extents: `layer(x1, x2)`
/// result      [..., Out]
/// parameters  weight [Out, In1, In2]; bias [Out], absent with has_bias = false; both uniform within 1 / sqrt(In1)
/// source      MindSpore nn.BiDense, PyTorch nn.Bilinear
template <int In1, int In2, int Out, BiDenseConfig config = BiDenseConfig{}, auto weight_init = DefaultBias{float(In1)},
          auto bias_init = DefaultBias{float(In1)}>
struct BiDense : Cell<BiDense<In1, In2, Out, config, weight_init, bias_init>> {
  static_assert(In1 > 0 && In2 > 0 && Out > 0, "BiDense<In1, In2, Out> needs positive sizes");
  Parameter<float, Shape<Out, In1, In2>, weight_init> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(const auto& x1, const auto& x2) const {
    const auto at = std::source_location::current();
    // [In1, Out In2]: one product makes all x1ᵀ W_k
    const auto flat = ops::reshape<Shape<In1, Out * In2>>(ops::transpose<1, 0, 2>(value_in(x1, weight)));
    const auto rows = ops::matmul(x1, flat);
    if constexpr (is_broken<decltype(rows)>) return rows;
    else {
      constexpr TensorType apart = [] {
        TensorType t = std::remove_cvref_t<decltype(rows)>::dims;
        t.extent[t.rank - 1] = Out, t.extent[t.rank++] = In2;
        return t;
      }();
      const auto products = ops::mul(apply<ops::Reshape, ops::Reshape::to(apart)>(at, rows), ops::expand_dims<-2>(x2));
      return add_last(ops::reduce_sum<-1>(products));
    }
  }

 private:
  constexpr auto add_last(const auto& y) const {  // along the last axis, whatever the rank is
    if constexpr (config.has_bias) return ops::add(y, bias);
    else return y;
  }
};

}  // namespace tenon::nn
