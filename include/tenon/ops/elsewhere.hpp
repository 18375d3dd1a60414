// Operators of <tenon/more.hpp>: a call without that header stops the compilation with a sentence that names it.
#pragma once
#include <tenon/core/elsewhere.hpp>
#include <tenon/core/value.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Any operand, by a conversion: with the header the operator itself, which takes it as it is, wins the call.
struct AnyOperand {
  template <Operand X>
  constexpr AnyOperand(const X&) {}
};
/// `Arguments` are the template arguments of the call: the sentence is composed where there is one. With the header
/// these functions are none: a call that the operator itself does not take is not to name the header.
template <FixedString function, class... Arguments>
requires(!tenon::detail::is_included<"tenon/more.hpp", Arguments...>)
using InMore = Mistake<tenon::detail::NotIncluded<function, "tenon/more.hpp", Arguments...>>;
template <auto... number>
struct Numbers;
}  // namespace detail

// The type of these functions is unknown, so that a call is the error. nvcc's front end would speak first, without the
// sentence: it gets none of them.
#if !defined(__CUDACC__)
template <auto... N, class Wrong = detail::InMore<"sin", detail::Numbers<N...>>>
auto sin(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"cos", detail::Numbers<N...>>>
auto cos(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tan", detail::Numbers<N...>>>
auto tan(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"asin", detail::Numbers<N...>>>
auto asin(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"acos", detail::Numbers<N...>>>
auto acos(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"atan", detail::Numbers<N...>>>
auto atan(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"atan2", detail::Numbers<N...>>>
auto atan2(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"sinh", detail::Numbers<N...>>>
auto sinh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"cosh", detail::Numbers<N...>>>
auto cosh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"asinh", detail::Numbers<N...>>>
auto asinh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"acosh", detail::Numbers<N...>>>
auto acosh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"atanh", detail::Numbers<N...>>>
auto atanh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"erf", detail::Numbers<N...>>>
auto erf(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"erfc", detail::Numbers<N...>>>
auto erfc(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"exp2", detail::Numbers<N...>>>
auto exp2(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"expm1", detail::Numbers<N...>>>
auto expm1(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"log1p", detail::Numbers<N...>>>
auto log1p(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"log2", detail::Numbers<N...>>>
auto log2(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"log10", detail::Numbers<N...>>>
auto log10(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"floor", detail::Numbers<N...>>>
auto floor(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"ceil", detail::Numbers<N...>>>
auto ceil(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"round", detail::Numbers<N...>>>
auto round(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"trunc", detail::Numbers<N...>>>
auto trunc(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"sign", detail::Numbers<N...>>>
auto sign(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"fmod", detail::Numbers<N...>>>
auto fmod(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"isnan", detail::Numbers<N...>>>
auto isnan(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"isinf", detail::Numbers<N...>>>
auto isinf(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"isfinite", detail::Numbers<N...>>>
auto isfinite(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"elu", detail::Numbers<N...>>>
auto elu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"selu", detail::Numbers<N...>>>
auto selu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"celu", detail::Numbers<N...>>>
auto celu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"leaky_relu", detail::Numbers<N...>>>
auto leaky_relu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"relu6", detail::Numbers<N...>>>
auto relu6(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"hardtanh", detail::Numbers<N...>>>
auto hardtanh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"hsigmoid", detail::Numbers<N...>>>
auto hsigmoid(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"hswish", detail::Numbers<N...>>>
auto hswish(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"mish", detail::Numbers<N...>>>
auto mish(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"softsign", detail::Numbers<N...>>>
auto softsign(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"logsumexp", detail::Numbers<N...>>>
auto logsumexp(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"norm", detail::Numbers<N...>>>
auto norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reduce_var", detail::Numbers<N...>>>
auto reduce_var(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reduce_std", detail::Numbers<N...>>>
auto reduce_std(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reduce_all", detail::Numbers<N...>>>
auto reduce_all(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reduce_any", detail::Numbers<N...>>>
auto reduce_any(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"cumsum", detail::Numbers<N...>>>
auto cumsum(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"cumprod", detail::Numbers<N...>>>
auto cumprod(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"sort", detail::Numbers<N...>>>
auto sort(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"argsort", detail::Numbers<N...>>>
auto argsort(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"topk", detail::Numbers<N...>>>
auto topk(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"flip", detail::Numbers<N...>>>
auto flip(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"roll", detail::Numbers<N...>>>
auto roll(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tile", detail::Numbers<N...>>>
auto tile(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"interpolate", detail::Numbers<N...>>>
auto interpolate(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"conv1d", detail::Numbers<N...>>>
auto conv1d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"conv3d", detail::Numbers<N...>>>
auto conv3d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"conv2d_transpose", detail::Numbers<N...>>>
auto conv2d_transpose(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"rand_like", detail::Numbers<N...>>>
auto rand_like(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"randn_like", detail::Numbers<N...>>>
auto randn_like(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"bernoulli", detail::Numbers<N...>>>
auto bernoulli(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"multinomial", detail::Numbers<N...>>>
auto multinomial(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"random_categorical", detail::Numbers<N...>>>
auto random_categorical(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<"uniform", S>>
auto uniform(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<"normal", S>>
auto normal(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<"standard_normal", S>>
auto standard_normal(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<"zeros", S>>
auto zeros(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<"ones", S>>
auto ones(detail::AnyOperand, ...);
#endif

}  // namespace tenon::ops
