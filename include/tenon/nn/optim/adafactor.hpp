// AdaFactor: Adam with the second moment factored into a value per row and a value per column.
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/norms.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// Moves the mean squares of rows, of columns, or of single elements on, in place. Operands: means, gradient, numbers.
struct AdafactorMeans : Operator<AdafactorMeans, "AdaFactorMeans"> {
  struct Config {
    int of_rows = 0;
  };
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};
/// 1 / root of means; those of rows are divided by their mean first.
struct AdafactorFactors : Operator<AdafactorFactors, "AdaFactorFactors"> {
  using Config = AdafactorMeans::Config;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};
/// Sums of squares of the parameter and of the gradient times its factors. Operands: parameter, gradient, (factors of
/// rows,) factors of columns, numbers.
struct AdafactorSquares : UpdateSums<AdafactorSquares, "AdaFactorSquares"> {
  template <class C>
  TENON_DEVICE static void direction(UpdateNumbers<C> n, C row, auto each) {
    const C factor = n.scale * row;
    each([=]<class V>(V g, V, V column) __attribute__((always_inline)) { return g * factor * column; });
  }
};
/// The learning rate in proportion to the parameter, and after the common three what it is after clipping.
struct AdafactorNumbers : RenewedNumbers<AdafactorNumbers, "AdaFactorNumbers"> {
  template <class A>
  TENON_DEVICE static void renew(const A (&sum)[2], long count, float* number) {
    const A size = math::sqrt(sum[0] / A(count)), smallest = A(number[7]);
    const A excess = math::sqrt(sum[1] / A(count)) / A(number[8]);
    const A rate = A(number[0]) * (number[10] == 0 ? A(1) : size <= smallest ? smallest : size);
    number[0] = static_cast<float>(rate);
    number[3] = static_cast<float>(excess <= 1 ? rate : rate / excess);
  }
};
/// One step of AdaFactor, in place. Operands: parameter, gradient, (factors of rows,) factors of columns,
/// (first moment,) numbers.
struct ApplyAdafactor : Operator<ApplyAdafactor, "AdaFactor"> {
  struct Config {
    int has_rows = 0, has_moment = 0;
  };
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, C row, auto each) {
    const C keep = C(1) - n.rate * n.decay, factor = n.scale * n[3] * row, beta1 = n[9], rest = C(1) - beta1;
    each([=]<class V>(V g, V column, V& p, auto&... moment) __attribute__((always_inline)) {
      V moved = g * factor * column;
      ((moved = moment = beta1 * moment + rest * moved), ...);
      p = keep * p - moved;
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// s = lr max(eps[1], rms(p));  V = b V + (1 - b) (g² + eps[0]),  b = 1 - t^-decay_rate,  t counted from 1;
/// u = g / √V;  u = s u / max(1, rms(u) / clip_threshold);
/// m = beta1 m + (1 - beta1) u;  p = p - weight_decay s p - m.
///
/// For a parameter with two or more axes, V is not stored. Instead the means R of its rows and C of its columns are
/// stored, over the last two axes, and V = R C / mean(R). Without scale_parameter s = lr; without use_first_moment u
/// replaces m. rms is the root of the mean square of the whole parameter, g the gradient / loss_scale. Without groups,
/// weight decay skips parameters with beta or gamma in their names. The learning rate is min(0.01, 1 / √t),
/// MindSpore's relative_step; its warmup_init is min(1e-6 t, 1 / √t), a function to be given as learning rate. Means
/// are float32, also of 16-bit parameters. Four passes over the gradient, two over the parameter. A Model throws
/// ValueError unless eps[0] and clip_threshold are above 0, eps[1] is 0 or more, decay_rate is inside (0, 1), and beta1
/// in [0, 1).
/// Source: Shazeer and Stern, arXiv 1804.04235; MindSpore nn.AdaFactor.
template <bool use_first_moment>
struct AdaFactorWith {
  LearningRate learning_rate = [](long step) {
    return math::min(0.01, 1 / tenon::detail::libm::sqrt(double(step) + 1));
  };
  float eps[2]{1e-30f, 1e-3f};
  float clip_threshold = 1;
  float decay_rate = 0.8f;
  float beta1 = 0.9f;
  float weight_decay = 0;
  bool scale_parameter = true;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "AdaFactor";
  static constexpr bool whole_parameters = true;
  static constexpr int slots = use_first_moment ? 4 : 3;
  static constexpr std::string_view slot_names[4]{"exp_avg_sq_row", "exp_avg_sq_col", "exp_avg_sq", "exp_avg"};
  static constexpr TensorType slot_type(int slot, const TensorType& parameter) {
    const bool factored = parameter.rank > 1;
    if (slot == 3) return parameter;
    if (factored != (slot < 2)) return no_slot;
    TensorType t = parameter;
    t.dtype = t.dtype == Dtype::float64 ? t.dtype : Dtype::float32;
    if (slot == 0 || slot == 1) t.rank = t.rank - 1;
    if (slot == 0 || slot == 1) t.extent[t.rank] = 0;
    if (slot == 1) t.extent[t.rank - 1] = parameter.extent[t.rank];
    return t;
  }
  void check() const {
    check_positive(name, "eps[0]", eps[0]);
    check_not_negative(name, "eps[1]", eps[1]);
    check_positive(name, "clip_threshold", clip_threshold);
    check_inside_unit(name, "decay_rate", decay_rate);
    check_below_one(name, "beta1", beta1);
  }
  void numbers(long step, Numbers& n) const {
    const double share = tenon::detail::libm::pow(static_cast<double>(step) + 1, -double(decay_rate));
    n.value[4] = static_cast<float>(1 - share);
    n.value[5] = static_cast<float>(share);
    n.value[6] = eps[0];
    n.value[7] = eps[1];
    n.value[8] = clip_threshold;
    n.value[9] = beta1;
    n.value[10] = scale_parameter ? 1 : 0;
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    const auto factors = [&](int of, bool rows) {
      const ops::AdafactorMeans::Config config{rows};
      return b.template call<ops::AdafactorFactors>(
          config, b.template call<ops::AdafactorMeans>(config, slot[of], gradient, numbers));
    };
    const auto apply = [&](auto... factor) {
      constexpr ops::ApplyAdafactor::Config config{sizeof...(factor) > 1, use_first_moment};
      const int squares = b.template call<ops::AdafactorSquares>(NoConfig{}, parameter, gradient, factor..., numbers);
      const int renewed_numbers = renewed<ops::AdafactorNumbers>(b, squares, numbers, parameter);
      if constexpr (use_first_moment)
        b.template call<ops::ApplyAdafactor>(config, parameter, gradient, factor..., slot[3], renewed_numbers);
      else b.template call<ops::ApplyAdafactor>(config, parameter, gradient, factor..., renewed_numbers);
    };
    if (b.nodes[std::size_t(parameter)].type.rank > 1) {
      const int rows = factors(0, true);
      apply(rows, factors(1, false));
    } else apply(factors(2, false));
  }
};
/// `nn::AdaFactor{}`; without a first moment, which takes as much memory as the parameters,
/// `nn::AdaFactorWith<false>{}`.
using AdaFactor = AdaFactorWith<true>;

}  // namespace nn
}  // namespace tenon
