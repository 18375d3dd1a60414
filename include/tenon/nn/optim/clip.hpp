// Gradient clipping: optimizers that limit or scale down gradients before the update.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/ops/clip_norm.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/neg.hpp>

namespace tenon::inline TENON_ABI::nn {

/// What a clipping optimizer does with gradients.
enum class Clipping { none, by_value, by_norm, by_global_norm };

template <Optimizer O>
struct ClipByGlobalNorm;
template <Optimizer O>
struct ClipByNorm;
template <Optimizer O>
struct ClipByValue;

namespace detail {
template <Clipping clipping>
using ClippingIs = std::integral_constant<Clipping, clipping>;
ClippingIs<Clipping::none> clipping_in(const void*);
template <class O>
ClippingIs<Clipping::by_global_norm> clipping_in(const ClipByGlobalNorm<O>*);
template <class O>
ClippingIs<Clipping::by_norm> clipping_in(const ClipByNorm<O>*);
template <class O>
ClippingIs<Clipping::by_value> clipping_in(const ClipByValue<O>*);
/// Of an optimizer or that of its bases that clips.
template <class O>
inline constexpr Clipping clipping_of = decltype(clipping_in(static_cast<const O*>(nullptr)))::value;
}  // namespace detail

/// An optimizer that scales all gradients of a step by one factor if the norm of all of them together is larger than
/// max_norm: `nn::ClipByGlobalNorm{nn::Adam{.learning_rate = 1e-3}, 1.0f}`.
///
///     factor = max_norm / max(norm, max_norm),   norm = √(Σ g²) over all parameters that require a gradient
///
/// The norm is computed in double, from gradients divided by the loss scale, without weight decay. A norm that is NaN
/// makes all gradients NaN; an infinite norm makes finite gradients 0 and infinite gradients NaN, as PyTorch's
/// clip_grad_norm_ with error_if_nonfinite=False. A Model throws ValueError unless max_norm is above 0. Source: Pascanu
/// et al., arXiv 1211.5063; MindSpore clip_by_global_norm (PyTorch's clip_grad_norm_ adds 1e-6 to the norm).
template <Optimizer O>
struct ClipByGlobalNorm : O {
  static_assert(detail::clipping_of<O> == Clipping::none,
                "one optimizer clips gradients in one way: ClipByGlobalNorm is around an optimizer that clips already");
  float max_norm;

  float largest() const { return max_norm; }
  void check() const {
    O::check();
    check_positive("ClipByGlobalNorm", "max_norm", max_norm);
  }
};
template <class O>
ClipByGlobalNorm(O, float) -> ClipByGlobalNorm<O>;
template <class N, Optimizer O>
requires std::is_arithmetic_v<N>
ClipByGlobalNorm(N, O) -> ClipByGlobalNorm<detail::OtherOrder<"ClipByGlobalNorm", O>>;

/// The same for the gradient of each parameter separately. Source: MindSpore nn.ClipByNorm (its ops.clip_by_norm scales
/// a list by the norm of all).
template <Optimizer O>
struct ClipByNorm : O {
  static_assert(detail::clipping_of<O> == Clipping::none,
                "one optimizer clips gradients in one way: ClipByNorm is around an optimizer that clips already");
  float max_norm;

  float largest() const { return max_norm; }
  void check() const {
    O::check();
    check_positive("ClipByNorm", "max_norm", max_norm);
  }
};
template <class O>
ClipByNorm(O, float) -> ClipByNorm<O>;
template <class N, Optimizer O>
requires std::is_arithmetic_v<N>
ClipByNorm(N, O) -> ClipByNorm<detail::OtherOrder<"ClipByNorm", O>>;

/// An optimizer that limits each element of a gradient to [-max_value, max_value]; NaN stays NaN. Source: PyTorch
/// clip_grad_value_.
template <Optimizer O>
struct ClipByValue : O {
  static_assert(detail::clipping_of<O> == Clipping::none,
                "one optimizer clips gradients in one way: ClipByValue is around an optimizer that clips already");
  float max_value;

  float largest() const { return max_value; }
  void check() const {
    O::check();
    check_positive("ClipByValue", "max_value", max_value);
  }
};
template <class O>
ClipByValue(O, float) -> ClipByValue<O>;
template <class N, Optimizer O>
requires std::is_arithmetic_v<N>
ClipByValue(N, O) -> ClipByValue<detail::OtherOrder<"ClipByValue", O>>;

namespace detail {
/// What clipping adds to a step while it is traced: sums of squares of the gradients, and what becomes of each.
template <Clipping clipping>
class TracedClip {
 public:
  /// Takes note of the gradient of a parameter, in the order of the parameters. `sliced`: it is that of a slice. The
  /// node knows the parameter: two may have one gradient, of which only one is frozen.
  constexpr void see(Builder& b, int entry, int gradient, bool sliced) {
    if constexpr (clipping == Clipping::by_global_norm) {
      int& sum = sliced ? slice_sum_ : sum_;
      if (sum < 0)
        sum = b.leaf(&info<ops::StateLeaf>, type_of<double, Shape<>>,
                     std::uint64_t(sliced ? slice_squares_state : gradient_squares_state));
      b.scope = entry;
      sum = b.template call<ops::AddSquares>(NoConfig{}, sum, gradient);
      b.scope = 0;
    }
  }
  /// After all gradients: the norm is that of all slices.
  constexpr void join(Builder& b, const SliceEntry& slice) {
    if (slice_sum_ < 0) return;
    slice_sum_ = slice.sum(b, slice_sum_);
    sum_ = sum_ < 0 ? slice_sum_ : b.template call<ops::Add>(NoConfig{}, sum_, slice_sum_);
  }
  /// The gradient as the update gets it.
  constexpr int gradient(Builder& b, int gradient) {
    if constexpr (clipping == Clipping::by_value) {
      const Dtype dtype = b.nodes[std::size_t(gradient)].type.dtype;
      int most = largest(b);
      if (dtype != Dtype::float32) most = b.template call<ops::Cast>(ops::Cast::Config{dtype}, most);
      const int least = b.template call<ops::Neg>(NoConfig{}, most);
      gradient = b.template call<ops::Minimum>(NoConfig{}, gradient, most);
      return b.template call<ops::Maximum>(NoConfig{}, gradient, least);
    } else return gradient;
  }
  /// The numbers of its update.
  constexpr int numbers(Builder& b, int numbers, int gradient, const SliceEntry& slice) {
    int sum = sum_;
    if constexpr (clipping == Clipping::by_norm) {
      sum = b.template call<ops::SumOfSquares>(NoConfig{}, gradient);
      if (slice.slices > 1) sum = slice.sum(b, sum);
    }
    if constexpr (clipping == Clipping::by_norm || clipping == Clipping::by_global_norm)
      return b.template call<ops::ClipNumbers>(NoConfig{}, numbers, sum, largest(b));
    else return numbers;
  }

 private:
  template <class = void>
  static constexpr int largest(Builder& b) {
    return b.leaf(&info<ops::StateLeaf>, type_of<float, Shape<>>, std::uint64_t(gradient_clip_state));
  }
  int sum_ = -1, slice_sum_ = -1;
};
}  // namespace detail

}  // namespace tenon::nn
