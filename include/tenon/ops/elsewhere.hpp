// Operators of <tenon/more.hpp>: a call without that header stops the compilation with a sentence that names it.
#pragma once
#include <tenon/core/elsewhere.hpp>
#include <tenon/core/value.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/window.hpp>

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
template <FixedString text>
struct Text;
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
template <auto... N, class Wrong = detail::InMore<"adaptive_avg_pool1d", detail::Numbers<N...>>>
auto adaptive_avg_pool1d(detail::AnyOperand, ...);
template <Pair size, auto... N, class Wrong = detail::InMore<"adaptive_avg_pool2d", detail::Numbers<size, N...>>>
auto adaptive_avg_pool2d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"adaptive_max_pool1d", detail::Numbers<N...>>>
auto adaptive_max_pool1d(detail::AnyOperand, ...);
template <Pair size, auto... N, class Wrong = detail::InMore<"adaptive_max_pool2d", detail::Numbers<size, N...>>>
auto adaptive_max_pool2d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"addcdiv", detail::Numbers<N...>>>
auto addcdiv(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"addcmul", detail::Numbers<N...>>>
auto addcmul(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"avg_pool1d", detail::Numbers<N...>>>
auto avg_pool1d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"avg_pool3d", detail::Numbers<N...>>>
auto avg_pool3d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"bitwise_and", detail::Numbers<N...>>>
auto bitwise_and(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"bitwise_left_shift", detail::Numbers<N...>>>
auto bitwise_left_shift(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"bitwise_not", detail::Numbers<N...>>>
auto bitwise_not(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"bitwise_or", detail::Numbers<N...>>>
auto bitwise_or(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"bitwise_right_shift", detail::Numbers<N...>>>
auto bitwise_right_shift(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"bitwise_xor", detail::Numbers<N...>>>
auto bitwise_xor(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"cached_attention", detail::Numbers<N...>>>
auto cached_attention(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"cholesky", detail::Numbers<N...>>>
auto cholesky(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"cholesky_solve", detail::Numbers<N...>>>
auto cholesky_solve(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"cond", detail::Numbers<N...>>>
auto cond(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"conv1d_transpose", detail::Numbers<N...>>>
auto conv1d_transpose(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"conv3d_transpose", detail::Numbers<N...>>>
auto conv3d_transpose(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"det", detail::Numbers<N...>>>
auto det(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"diag", detail::Numbers<N...>>>
auto diag(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"diagonal", detail::Numbers<N...>>>
auto diagonal(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"digamma", detail::Numbers<N...>>>
auto digamma(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"dot", detail::Numbers<N...>>>
auto dot(detail::AnyOperand, ...);
template <FixedString text, class Wrong = detail::InMore<"einsum", detail::Text<text>>>
auto einsum(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"eye", detail::Numbers<N...>>>
auto eye(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"floor_mod", detail::Numbers<N...>>>
auto floor_mod(detail::AnyOperand, ...);
template <Pair size, auto... N, class Wrong = detail::InMore<"fold", detail::Numbers<size, N...>>>
auto fold(detail::AnyOperand, ...);
template <class S, auto... N, class Wrong = detail::InMore<"full", S, detail::Numbers<N...>>>
auto full(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"gather_elements", detail::Numbers<N...>>>
auto gather_elements(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"gather_nd", detail::Numbers<N...>>>
auto gather_nd(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"group_norm", detail::Numbers<N...>>>
auto group_norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"hardshrink", detail::Numbers<N...>>>
auto hardshrink(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"hypot", detail::Numbers<N...>>>
auto hypot(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"inner", detail::Numbers<N...>>>
auto inner(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"inverse", detail::Numbers<N...>>>
auto inverse(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"l1_norm", detail::Numbers<N...>>>
auto l1_norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"l1_norm_keep", detail::Numbers<N...>>>
auto l1_norm_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"l2_normalize", detail::Numbers<N...>>>
auto l2_normalize(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"lerp", detail::Numbers<N...>>>
auto lerp(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"lgamma", detail::Numbers<N...>>>
auto lgamma(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"logaddexp", detail::Numbers<N...>>>
auto logaddexp(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"logdet", detail::Numbers<N...>>>
auto logdet(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"logsigmoid", detail::Numbers<N...>>>
auto logsigmoid(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"logsumexp_keep", detail::Numbers<N...>>>
auto logsumexp_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"lrn", detail::Numbers<N...>>>
auto lrn(detail::AnyOperand, ...);
template <class F, class Wrong = detail::InMore<"map", F>>
auto map(const F&, detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"masked_attention", detail::Numbers<N...>>>
auto masked_attention(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"max_norm", detail::Numbers<N...>>>
auto max_norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"max_norm_keep", detail::Numbers<N...>>>
auto max_norm_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"max_pool1d", detail::Numbers<N...>>>
auto max_pool1d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"max_pool2d_with_indices", detail::Numbers<N...>>>
auto max_pool2d_with_indices(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"max_pool3d", detail::Numbers<N...>>>
auto max_pool3d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"max_unpool2d", detail::Numbers<N...>>>
auto max_unpool2d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"meshgrid", detail::Numbers<N...>>>
auto meshgrid(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"nan_to_num", detail::Numbers<N...>>>
auto nan_to_num(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"norm_keep", detail::Numbers<N...>>>
auto norm_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"normalize_groups", detail::Numbers<N...>>>
auto normalize_groups(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"outer", detail::Numbers<N...>>>
auto outer(detail::AnyOperand, ...);
template <Margin... margin, class Wrong = detail::InMore<"pad_circular", detail::Numbers<margin...>>>
auto pad_circular(detail::AnyOperand, ...);
template <Margin... margin, class Wrong = detail::InMore<"pad_reflect", detail::Numbers<margin...>>>
auto pad_reflect(detail::AnyOperand, ...);
template <Margin... margin, class Wrong = detail::InMore<"pad_replicate", detail::Numbers<margin...>>>
auto pad_replicate(detail::AnyOperand, ...);
template <Margin... margin, class Wrong = detail::InMore<"pad_symmetric", detail::Numbers<margin...>>>
auto pad_symmetric(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"pixel_shuffle", detail::Numbers<N...>>>
auto pixel_shuffle(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"pixel_unshuffle", detail::Numbers<N...>>>
auto pixel_unshuffle(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"prelu", detail::Numbers<N...>>>
auto prelu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"promote", detail::Numbers<N...>>>
auto promote(detail::AnyOperand, ...);
template <class S, auto... N, class Wrong = detail::InMore<"randint", S, detail::Numbers<N...>>>
auto randint(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"randperm", detail::Numbers<N...>>>
auto randperm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reduce_all_keep", detail::Numbers<N...>>>
auto reduce_all_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reduce_any_keep", detail::Numbers<N...>>>
auto reduce_any_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reduce_std_keep", detail::Numbers<N...>>>
auto reduce_std_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reduce_var_keep", detail::Numbers<N...>>>
auto reduce_var_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"repeat_interleave", detail::Numbers<N...>>>
auto repeat_interleave(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"reverse_sequence", detail::Numbers<N...>>>
auto reverse_sequence(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"rnn_relu", detail::Numbers<N...>>>
auto rnn_relu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"rnn_tanh", detail::Numbers<N...>>>
auto rnn_tanh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"rotary_embedding", detail::Numbers<N...>>>
auto rotary_embedding(detail::AnyOperand, ...);
template <class F, class Wrong = detail::InMore<"scan", F>>
auto scan(const F&, detail::AnyOperand, ...);
template <class S, auto... N, class Wrong = detail::InMore<"scatter_nd", S, detail::Numbers<N...>>>
auto scatter_nd(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"searchsorted", detail::Numbers<N...>>>
auto searchsorted(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"slogdet", detail::Numbers<N...>>>
auto slogdet(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"softshrink", detail::Numbers<N...>>>
auto softshrink(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"solve", detail::Numbers<N...>>>
auto solve(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"solve_triangular", detail::Numbers<N...>>>
auto solve_triangular(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tensor_scatter_add", detail::Numbers<N...>>>
auto tensor_scatter_add(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tensor_scatter_elements", detail::Numbers<N...>>>
auto tensor_scatter_elements(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tensor_scatter_max", detail::Numbers<N...>>>
auto tensor_scatter_max(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tensor_scatter_min", detail::Numbers<N...>>>
auto tensor_scatter_min(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tensor_scatter_sub", detail::Numbers<N...>>>
auto tensor_scatter_sub(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tensor_scatter_update", detail::Numbers<N...>>>
auto tensor_scatter_update(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"tensordot", detail::Numbers<N...>>>
auto tensordot(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"top_k_filter", detail::Numbers<N...>>>
auto top_k_filter(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"top_p_filter", detail::Numbers<N...>>>
auto top_p_filter(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"trace", detail::Numbers<N...>>>
auto trace(detail::AnyOperand, ...);
template <class S, auto... N, class Wrong = detail::InMore<"truncated_normal", S, detail::Numbers<N...>>>
auto truncated_normal(detail::AnyOperand, ...);
template <Pair size, auto... N, class Wrong = detail::InMore<"unfold", detail::Numbers<size, N...>>>
auto unfold(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"unique", detail::Numbers<N...>>>
auto unique(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"unsorted_segment_mean", detail::Numbers<N...>>>
auto unsorted_segment_mean(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"unsorted_segment_sum", detail::Numbers<N...>>>
auto unsorted_segment_sum(detail::AnyOperand, ...);
template <auto... N, class F, class Wrong = detail::InMore<"while_loop", detail::Numbers<N...>, F>>
auto while_loop(const F&, const auto&, detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<"xlogy", detail::Numbers<N...>>>
auto xlogy(detail::AnyOperand, ...);
#endif

}  // namespace tenon::ops
