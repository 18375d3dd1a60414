// Mixed precision: which 16-bit type a Model computes in, and how its loss is scaled.
#pragma once
#include <tenon/core/log/log.hpp>
#include <tenon/core/simd/simd_half.hpp>
#include <tenon/ops/cast.hpp>

namespace tenon::inline TENON_ABI {

/// How much of a network computes in 16-bit floats. The parameters stay float32, and so do gradients where they reach
/// them, optimizer states, checkpoints, and the loss.
enum class AmpLevel {
  O0,  // nothing: float32
  // all of it; statistics and parameters of normalizations stay float32. float16 gets a DynamicLossScaleManager if no
  // other is given
  O2,
  // as O2, but no loss scale unless one is given: an operator computes 16-bit floats in float32 anyway and rounds once
  O3,
  automatic  // for devices that choose: none so far
};

/// Tag for a Model in mixed precision, `Model model{net, loss, optimizer, nn::Accuracy{}, amp<AmpLevel::O2>}`:
/// floating-point inputs of the network are cast to T, its outputs to float32. In between, the dtypes of the values
/// decide: a float32 parameter is cast to the dtype of the 16-bit values with which it is combined, and so are the rows
/// of a table that integers look up. Explicit casts in construct keep their dtype.
///
/// T       bfloat16, which needs no loss scale, or float16 (MindSpore's only choice): `amp<AmpLevel::O2, float16>`
/// source  MindSpore's amp_level
template <AmpLevel level, class T = bfloat16>
struct Amp {
  static_assert(std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>,
                "amp<level, T> computes in bfloat16 or float16");
};
template <AmpLevel level, class T = bfloat16>
inline constexpr Amp<level, T> amp{};

/// A constant factor for the loss, so that small gradients do not vanish in 16 bits: `FixedLossScaleManager{.loss_scale
/// = 1024}`.
///
/// drop_overflow_update  true: the gradients are divided by the factor, and a step with an infinite or NaN gradient
///                       updates nothing. false: the gradients are not checked; the optimizer's loss_scale must be the
///                       same number
/// A Model throws ValueError for a factor below 1. Source: MindSpore's FixedLossScaleManager
template <bool drop_overflow_update = true>
struct FixedLossScaleManager {
  float loss_scale = 128;
};

/// A factor for the loss that adapts its size: an overflow (a gradient that is infinite or NaN) skips the update of its
/// step and divides the factor, but not below 1; scale_window steps without one multiply it.
///
/// A Model throws ValueError for init_loss_scale or scale_factor below 1 and for scale_window below 1; train() throws
/// RuntimeError after more than 1000 overflows in a row. Source: MindSpore's DynamicLossScaleManager
struct DynamicLossScaleManager {
  float init_loss_scale = 16777216;
  float scale_factor = 2;
  long scale_window = 2000;
};

/// The precision settings in a Model's parts that change the graph.
struct MixedPrecision {
  Dtype values = Dtype::float32;  // of the network's floating-point values
  bool scales_loss = false, drops_overflow = false;
};

namespace detail {

/// What follows a Model's optimizer: metrics, or what this file has.
template <class P>
struct PartOfPrecision {
  static constexpr bool known = false, scale = false, automatic = false;
  static constexpr void apply(MixedPrecision&) {}
};
template <AmpLevel level, class T>
struct PartOfPrecision<Amp<level, T>> {
  static constexpr bool known = true, scale = false, automatic = level == AmpLevel::automatic;
  static constexpr void apply(MixedPrecision& p) {
    if (level != AmpLevel::O0) p.values = dtype_of<T>;
    if (level == AmpLevel::O2 && std::is_same_v<T, float16>) p.scales_loss = p.drops_overflow = true;
  }
};
template <bool drop>
struct PartOfPrecision<FixedLossScaleManager<drop>> {
  static constexpr bool known = true, scale = true, automatic = false;
  static constexpr void apply(MixedPrecision& p) { p.scales_loss = true, p.drops_overflow = drop; }
};
template <>
struct PartOfPrecision<DynamicLossScaleManager> {
  static constexpr bool known = true, scale = true, automatic = false;
  static constexpr void apply(MixedPrecision& p) { p.scales_loss = p.drops_overflow = true; }
};
template <class P>
inline constexpr bool is_precision = PartOfPrecision<P>::known;
template <class P>
inline constexpr bool is_loss_scale = PartOfPrecision<P>::scale;

/// The precision that parts of a Model ask for; a manager goes before the default of a level. Without an optimizer
/// nothing is scaled.
template <class... P>
constexpr MixedPrecision precision_of(bool trains = true) {
  MixedPrecision p;
  ((is_loss_scale<P> ? void() : PartOfPrecision<P>::apply(p)), ...);
  ((is_loss_scale<P> ? PartOfPrecision<P>::apply(p) : void()), ...);
  if (!trains) p.scales_loss = p.drops_overflow = false;
  return p;
}

/// Says once in a program that mixed precision saves memory but no time.
[[gnu::cold]] inline void tell_of_slow_products(Dtype values) {
  static const bool told = [values] {
    logging::warning(values == Dtype::bfloat16
                         ? "amp: this program is built for processors without products of bfloat16 (AVX-512 BF16), "
                           "which are computed in float32: that saves memory, but no time"
                         : "amp: products of float16 are computed in float32: that saves memory, but no time");
    return true;
  }();
  static_cast<void>(told);
}
/// Whether an instruction multiplies values of a network of this precision.
template <MixedPrecision precision>
inline constexpr bool has_products =
    !is_half_dtype(precision.values) || (precision.values == Dtype::bfloat16 && multiplies_pairs<simd_width<float>>);

/// An input as a network of this precision sees it: floating-point values in the 16-bit dtype, integers in a shape that
/// remembers it.
template <MixedPrecision precision, class X>
constexpr decltype(auto) entering(const X& x) {
  if constexpr (!is_half_dtype(precision.values) || is_broken<X>) return (x);
  else if constexpr (is_floating(X::dims.dtype)) return ops::cast<CppType<precision.values>>(x);
  else {
    return [&x]<class T, int... E>(TypeKey<dtype_of<T>, E...>, T) {
      using S = HalfShape<precision.values, E...>;
      if constexpr (is_traced<X>) return Traced<T, S>(x.builder, x.id);
      else return Tensor<T, S>(x);
    }(typename KeyFor<X>::type{}, typename X::type{});
  }
}
/// An output of such a network as the loss and callers see it.
template <MixedPrecision precision, class Y>
constexpr auto leaving(const Y& y) {
  if constexpr (!is_half_dtype(precision.values) || is_broken<Y>) return y;
  else if constexpr (requires { std::tuple_size<Y>::value; })
    return std::apply([](const auto&... one) { return std::tuple(leaving<precision>(one)...); }, y);
  else if constexpr (is_half_dtype(Y::dims.dtype)) return ops::cast<float>(y);
  else return y;
}

}  // namespace detail
}  // namespace tenon
