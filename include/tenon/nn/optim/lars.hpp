// LARS: the steps of another optimizer, scaled in proportion to the parameter's norm.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/norms.hpp>

namespace tenon::inline TENON_ABI {

namespace nn {
/// The positions of LARS's numbers, after those of the inner optimizer.
inline constexpr int lars_numbers = max_numbers - 4;
}  // namespace nn

namespace ops {

TENON_EXACT_BEGIN
/// Sums of squares of the parameter and of its gradient. Operands: parameter, gradient, numbers.
struct LarsSquares : UpdateSums<LarsSquares, "LarsSquares"> {
  template <class C>
  TENON_DEVICE static void direction(UpdateNumbers<C> n, auto each) {
    each([=]<class V>(V g, V) __attribute__((always_inline)) { return g * n.scale; });
  }
};
/// The numbers of the optimizer inside, by which it multiplies gradient and decay with the ratio of the norms. Weight
/// decay, coefficient, epsilon, and the learning rate at which the ratio is clipped (0 if it is not clipped) follow.
struct LarsNumbers : RenewedNumbers<LarsNumbers, "LarsNumbers"> {
  template <class A>
  TENON_DEVICE static void renew(const A (&sum)[2], long, float* number) {
    const float* const own = number + nn::lars_numbers;
    const A parameter = math::sqrt(sum[0]), gradient = math::sqrt(sum[1]), decay = A(own[0]), rate = A(own[3]);
    A ratio = 1;
    if (parameter != 0 && gradient != 0) ratio = A(own[1]) * parameter / (gradient + decay * parameter + A(own[2]));
    if (rate > 0) ratio = ratio >= rate ? A(1) : ratio / rate;
    number[1] = static_cast<float>(decay * ratio);
    number[2] = static_cast<float>(A(number[2]) * ratio);
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

struct LARSConfig {
  float epsilon = 1e-5f;
  float coefficient = 1e-3f;
  bool use_clip = false;
};

/// `nn::LARS{nn::Momentum{.learning_rate = 3.2f, .momentum = 0.9f, .weight_decay = 1e-4f}, {.coefficient = 0.01f}}`:
/// the optimizer inside gets r (g + weight_decay p) for its gradient, with
/// r = coefficient |p| / (|g| + weight_decay |p| + epsilon), or 1 where a norm is 0; with use_clip min(r / lr, 1).
///
/// Norms are those of the whole parameter; g is the gradient / loss_scale. For an optimizer whose decay does not enter
/// the gradient (AdamWeightDecay), the decay is also multiplied by r. Biases and parameters of a LayerNorm (with "bias"
/// or "LayerNorm" in their names, or in a cell of that class) keep their gradient and do not decay; MindSpore uses only
/// the names. Fields are those of the inner optimizer, and `lars`. It needs one more pass over memory. A Model throws
/// ValueError unless coefficient is above 0 and epsilon is 0 or more. Source: You and others, arXiv 1708.03888;
/// MindSpore nn.LARS.
template <Optimizer Inside>
struct LARS : Inside {
  LARSConfig lars;

  LARS(Inside optimizer, LARSConfig config = {}) : Inside(std::move(optimizer)), lars(config) {}

  static constexpr std::string_view name = "LARS";
  static constexpr bool whole_parameters = true;
  void check() const {
    Inside::check();
    check_not_negative(name, "epsilon", lars.epsilon);
    check_positive(name, "coefficient", lars.coefficient);
  }
  void numbers(long step, Numbers& n) const {
    float* const own = n.value + lars_numbers;
    own[0] = n.weight_decay();
    own[1] = lars.coefficient;
    own[2] = lars.epsilon;
    own[3] = lars.use_clip ? n.learning_rate() : 0;
    n.weight_decay() = 0;
    Inside::numbers(step, n);
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    if (!keeps_gradient(b.entries, b.scope))
      numbers =
          renewed<ops::LarsNumbers>(b, b.call<ops::LarsSquares>(NoConfig{}, parameter, gradient, numbers), numbers);
    Inside::update(b, parameter, gradient, slot, numbers);
  }

 private:
  static constexpr bool keeps_gradient(const Entry* entries, int entry) {
    for (; entry >= 0; entry = entries[entry].parent)
      if (entries[entry].name.find("bias") != std::string_view::npos ||
          entries[entry].name.find("LayerNorm") != std::string_view::npos ||
          entries[entry].class_name.starts_with("LayerNorm"))
        return true;
    return false;
  }
};
template <class Inside>
LARS(Inside) -> LARS<Inside>;
template <class Inside>
LARS(Inside, LARSConfig) -> LARS<Inside>;

}  // namespace nn
}  // namespace tenon
