// Batch normalization as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/batch_norm.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a batch normalization, with MindSpore's defaults. Beware: other frameworks call 1 - momentum momentum.
struct BatchNormConfig {
  float epsilon = 1e-5f;
  float momentum = 0.9f;  // moving = momentum moving + (1 - momentum) batch
};

/// What BatchNorm1d and BatchNorm2d share; `rank` is that of the input.
template <int rank, int features, BatchNormConfig config>
struct BatchNorm : Cell<BatchNorm<rank, features, config>> {
  static_assert(features > 0, "a batch normalization needs a positive number of features");
  static_assert(config.epsilon > 0 && config.momentum >= 0 && config.momentum <= 1, "a batch normalization needs epsilon > 0 and a momentum in [0, 1]");
  Parameter<float, Shape<features>, One{}> gamma;
  Parameter<float, Shape<features>, Zero{}> beta;
  Parameter<float, Shape<features>, Zero{}, false> moving_mean;
  Parameter<float, Shape<features>, One{}, false> moving_variance;

  static constexpr ops::BatchNormAttributes attributes{config.epsilon, rank};

  template <class X>
  constexpr auto construct(const X& x) const {
    if constexpr (is_broken<X>) return x;
    else if constexpr (!detail::fits_batch_norm(X::dims, rank, features)) return ops::apply<ops::BatchNormTable, attributes>(std::source_location::current(), x, gamma, beta);
    else if (is_training(x)) return train(x);
    else return evaluate(x);
  }

 private:
};

}  // namespace tenon::nn
