// Dropout as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/freezing.hpp>
#include <tenon/nn/setting.hpp>
#include <tenon/ops/dropout.hpp>

namespace tenon::inline TENON_ABI::nn {

/// `p` is the probability of dropping an element, as in MindSpore 2.x (1.x had the opposite, keep_prob).
struct DropoutConfig {
  float p = 0.5f;
};

/// Drops elements in training and scales the rest by 1 / (1 - p); does nothing in evaluation.
///
/// x           any shape; floating-point
/// result      shape and dtype of x
/// rate        p, a setting: `net.dropout.set_rate(0.1f)` takes effect at the next step, without a new graph;
///             checkpoints do not contain the rate
/// frozen      set_train(false) of a part of a network stops it in training steps, too, like PyTorch's eval();
///             requires_grad(false) and nn::Frozen do not, as in Keras
/// random      every call of every cell draws a separate mask, which depends on the seed, the step, the cell's path in
///             the network, and the number of the call in that cell, but not on source lines or compilers
/// source      MindSpore nn.Dropout
template <DropoutConfig config = DropoutConfig{}>
struct Dropout : Cell<Dropout<config>> {
  static_assert(config.p >= 0 && config.p < 1, "Dropout needs a probability p with 0 <= p < 1");
  Setting<config.p> rate;
  Freezing freezing;

  template <ops::Operand X>
  constexpr auto construct(const X& x) const {
    if constexpr (is_broken<X>) return x;
    else if constexpr (!is_floating(X::dims.dtype)) return ops::dropout(x, rate);  // says what it needs
    else {
      if (is_training(x)) return ops::random_call<ops::Dropout>(std::source_location::current(), x, rate, freezing);
      return x;
    }
  }

  /// Changes p. Throws ValueError unless 0 <= p < 1.
  void set_rate(float p) const {
    if (!(p >= 0 && p < 1)) throw_error<ValueError>("Dropout.set_rate: p must be in [0, 1), got ", p, ".");
    rate.set(p);
  }
};

}  // namespace tenon::nn
