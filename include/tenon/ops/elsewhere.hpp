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
// clang-format off: one function a line otherwise. Texts instead, a type for each length, took g++ twice as long.
enum class more {
  acos, acosh, adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d, addcdiv, addcmul,
  argsort, asin, asinh, atan, atan2, atanh, avg_pool1d, avg_pool3d, bernoulli, bitwise_and, bitwise_left_shift,
  bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, broadcast_to, cached_attention, ceil, celu, cholesky,
  cholesky_solve, cond, conv1d, conv1d_transpose, conv2d_transpose, conv3d, conv3d_transpose, cos, cosh, cumprod,
  cumsum, det, diag, diagonal, digamma, dot, einsum, elu, erf, erfc, exp2, expm1, eye, flip, floor, floor_mod, fmod,
  fold, full, gather_elements, gather_nd, group_norm, hardshrink, hardtanh, hsigmoid, hswish, hypot, inner, interpolate,
  inverse, isfinite, isinf, isnan, l1_norm, l1_norm_keep, l2_normalize, leaky_relu, lerp, lgamma, log10, log1p, log2,
  logaddexp, logdet, logsigmoid, logsumexp, logsumexp_keep, lrn, map, masked_attention, max_norm, max_norm_keep,
  max_pool1d, max_pool2d_with_indices, max_pool3d, max_unpool2d, meshgrid, mish, multinomial, nan_to_num, norm,
  norm_keep, normal, normalize_groups, ones, outer, pad_circular, pad_reflect, pad_replicate, pad_symmetric,
  pixel_shuffle, pixel_unshuffle, prelu, promote, rand_like, randint, randn_like, random_categorical, randperm,
  reduce_all, reduce_all_keep, reduce_any, reduce_any_keep, reduce_std, reduce_std_keep, reduce_var, reduce_var_keep,
  relu6, repeat_interleave, reverse_sequence, rms_norm, rnn_relu, rnn_tanh, roll, rotary_embedding, round, scan,
  scatter_nd, searchsorted, selu, sign, sin, sinh, slogdet, softshrink, softsign, solve, solve_triangular, sort,
  standard_normal, tan, tensor_scatter_add, tensor_scatter_elements, tensor_scatter_max, tensor_scatter_min,
  tensor_scatter_sub, tensor_scatter_update, tensordot, tile, top_k_filter, top_p_filter, topk, trace, trunc,
  truncated_normal, unfold, uniform, unique, unsorted_segment_mean, unsorted_segment_sum, while_loop, xlogy, zeros
};
// clang-format on
/// `Arguments` are the template arguments of the call: the sentence is composed where there is one. With the header
/// these functions are none: a call that the operator itself does not take is not to name the header.
template <more function, class... Arguments>
requires(!tenon::detail::is_included<tenon::detail::Header::more, Arguments...>)
using InMore = Mistake<tenon::detail::NotIncluded<function, tenon::detail::Header::more, Arguments...>>;
template <auto... number>
struct Numbers;
template <FixedString text>
struct Text;
}  // namespace detail
// The type of these functions is unknown, so that a call is the error. nvcc's front end would speak first, without the
// sentence: it gets none of them.
#if !defined(__CUDACC__)
template <auto... N, class Wrong = detail::InMore<detail::more::sin, detail::Numbers<N...>>>
auto sin(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::cos, detail::Numbers<N...>>>
auto cos(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tan, detail::Numbers<N...>>>
auto tan(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::asin, detail::Numbers<N...>>>
auto asin(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::acos, detail::Numbers<N...>>>
auto acos(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::atan, detail::Numbers<N...>>>
auto atan(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::atan2, detail::Numbers<N...>>>
auto atan2(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::sinh, detail::Numbers<N...>>>
auto sinh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::cosh, detail::Numbers<N...>>>
auto cosh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::asinh, detail::Numbers<N...>>>
auto asinh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::acosh, detail::Numbers<N...>>>
auto acosh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::atanh, detail::Numbers<N...>>>
auto atanh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::erf, detail::Numbers<N...>>>
auto erf(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::erfc, detail::Numbers<N...>>>
auto erfc(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::exp2, detail::Numbers<N...>>>
auto exp2(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::expm1, detail::Numbers<N...>>>
auto expm1(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::log1p, detail::Numbers<N...>>>
auto log1p(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::log2, detail::Numbers<N...>>>
auto log2(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::log10, detail::Numbers<N...>>>
auto log10(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::floor, detail::Numbers<N...>>>
auto floor(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::ceil, detail::Numbers<N...>>>
auto ceil(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::round, detail::Numbers<N...>>>
auto round(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::trunc, detail::Numbers<N...>>>
auto trunc(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::sign, detail::Numbers<N...>>>
auto sign(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::fmod, detail::Numbers<N...>>>
auto fmod(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::isnan, detail::Numbers<N...>>>
auto isnan(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::isinf, detail::Numbers<N...>>>
auto isinf(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::isfinite, detail::Numbers<N...>>>
auto isfinite(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::elu, detail::Numbers<N...>>>
auto elu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::selu, detail::Numbers<N...>>>
auto selu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::celu, detail::Numbers<N...>>>
auto celu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::leaky_relu, detail::Numbers<N...>>>
auto leaky_relu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::relu6, detail::Numbers<N...>>>
auto relu6(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::hardtanh, detail::Numbers<N...>>>
auto hardtanh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::hsigmoid, detail::Numbers<N...>>>
auto hsigmoid(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::hswish, detail::Numbers<N...>>>
auto hswish(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::mish, detail::Numbers<N...>>>
auto mish(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::softsign, detail::Numbers<N...>>>
auto softsign(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::logsumexp, detail::Numbers<N...>>>
auto logsumexp(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::norm, detail::Numbers<N...>>>
auto norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reduce_var, detail::Numbers<N...>>>
auto reduce_var(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reduce_std, detail::Numbers<N...>>>
auto reduce_std(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reduce_all, detail::Numbers<N...>>>
auto reduce_all(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reduce_any, detail::Numbers<N...>>>
auto reduce_any(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::cumsum, detail::Numbers<N...>>>
auto cumsum(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::cumprod, detail::Numbers<N...>>>
auto cumprod(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::sort, detail::Numbers<N...>>>
auto sort(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::argsort, detail::Numbers<N...>>>
auto argsort(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::topk, detail::Numbers<N...>>>
auto topk(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::flip, detail::Numbers<N...>>>
auto flip(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::roll, detail::Numbers<N...>>>
auto roll(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tile, detail::Numbers<N...>>>
auto tile(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::interpolate, detail::Numbers<N...>>>
auto interpolate(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::conv1d, detail::Numbers<N...>>>
auto conv1d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::conv3d, detail::Numbers<N...>>>
auto conv3d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::conv2d_transpose, detail::Numbers<N...>>>
auto conv2d_transpose(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::rand_like, detail::Numbers<N...>>>
auto rand_like(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::randn_like, detail::Numbers<N...>>>
auto randn_like(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::bernoulli, detail::Numbers<N...>>>
auto bernoulli(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::multinomial, detail::Numbers<N...>>>
auto multinomial(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::random_categorical, detail::Numbers<N...>>>
auto random_categorical(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<detail::more::uniform, S>>
auto uniform(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<detail::more::normal, S>>
auto normal(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<detail::more::standard_normal, S>>
auto standard_normal(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<detail::more::zeros, S>>
auto zeros(detail::AnyOperand, ...);
template <class S, class Wrong = detail::InMore<detail::more::broadcast_to, S>>
auto broadcast_to(detail::AnyOperand, detail::AnyOperand, ...);  // that of one operand is in tenon.hpp
template <class S, class Wrong = detail::InMore<detail::more::ones, S>>
auto ones(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::adaptive_avg_pool1d, detail::Numbers<N...>>>
auto adaptive_avg_pool1d(detail::AnyOperand, ...);
template <Pair size, auto... N,
          class Wrong = detail::InMore<detail::more::adaptive_avg_pool2d, detail::Numbers<size, N...>>>
auto adaptive_avg_pool2d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::adaptive_max_pool1d, detail::Numbers<N...>>>
auto adaptive_max_pool1d(detail::AnyOperand, ...);
template <Pair size, auto... N,
          class Wrong = detail::InMore<detail::more::adaptive_max_pool2d, detail::Numbers<size, N...>>>
auto adaptive_max_pool2d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::addcdiv, detail::Numbers<N...>>>
auto addcdiv(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::addcmul, detail::Numbers<N...>>>
auto addcmul(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::avg_pool1d, detail::Numbers<N...>>>
auto avg_pool1d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::avg_pool3d, detail::Numbers<N...>>>
auto avg_pool3d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::bitwise_and, detail::Numbers<N...>>>
auto bitwise_and(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::bitwise_left_shift, detail::Numbers<N...>>>
auto bitwise_left_shift(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::bitwise_not, detail::Numbers<N...>>>
auto bitwise_not(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::bitwise_or, detail::Numbers<N...>>>
auto bitwise_or(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::bitwise_right_shift, detail::Numbers<N...>>>
auto bitwise_right_shift(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::bitwise_xor, detail::Numbers<N...>>>
auto bitwise_xor(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::cached_attention, detail::Numbers<N...>>>
auto cached_attention(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::cholesky, detail::Numbers<N...>>>
auto cholesky(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::cholesky_solve, detail::Numbers<N...>>>
auto cholesky_solve(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::cond, detail::Numbers<N...>>>
auto cond(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::conv1d_transpose, detail::Numbers<N...>>>
auto conv1d_transpose(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::conv3d_transpose, detail::Numbers<N...>>>
auto conv3d_transpose(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::det, detail::Numbers<N...>>>
auto det(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::diag, detail::Numbers<N...>>>
auto diag(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::diagonal, detail::Numbers<N...>>>
auto diagonal(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::digamma, detail::Numbers<N...>>>
auto digamma(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::dot, detail::Numbers<N...>>>
auto dot(detail::AnyOperand, ...);
template <FixedString text, class Wrong = detail::InMore<detail::more::einsum, detail::Text<text>>>
auto einsum(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::eye, detail::Numbers<N...>>>
auto eye(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::floor_mod, detail::Numbers<N...>>>
auto floor_mod(detail::AnyOperand, ...);
template <Pair size, auto... N, class Wrong = detail::InMore<detail::more::fold, detail::Numbers<size, N...>>>
auto fold(detail::AnyOperand, ...);
template <class S, auto... N, class Wrong = detail::InMore<detail::more::full, S, detail::Numbers<N...>>>
auto full(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::gather_elements, detail::Numbers<N...>>>
auto gather_elements(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::gather_nd, detail::Numbers<N...>>>
auto gather_nd(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::group_norm, detail::Numbers<N...>>>
auto group_norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::hardshrink, detail::Numbers<N...>>>
auto hardshrink(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::hypot, detail::Numbers<N...>>>
auto hypot(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::inner, detail::Numbers<N...>>>
auto inner(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::inverse, detail::Numbers<N...>>>
auto inverse(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::l1_norm, detail::Numbers<N...>>>
auto l1_norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::l1_norm_keep, detail::Numbers<N...>>>
auto l1_norm_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::l2_normalize, detail::Numbers<N...>>>
auto l2_normalize(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::lerp, detail::Numbers<N...>>>
auto lerp(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::lgamma, detail::Numbers<N...>>>
auto lgamma(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::logaddexp, detail::Numbers<N...>>>
auto logaddexp(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::logdet, detail::Numbers<N...>>>
auto logdet(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::logsigmoid, detail::Numbers<N...>>>
auto logsigmoid(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::logsumexp_keep, detail::Numbers<N...>>>
auto logsumexp_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::lrn, detail::Numbers<N...>>>
auto lrn(detail::AnyOperand, ...);
template <class F, class Wrong = detail::InMore<detail::more::map, F>>
auto map(const F&, detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::masked_attention, detail::Numbers<N...>>>
auto masked_attention(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::max_norm, detail::Numbers<N...>>>
auto max_norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::max_norm_keep, detail::Numbers<N...>>>
auto max_norm_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::max_pool1d, detail::Numbers<N...>>>
auto max_pool1d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::max_pool2d_with_indices, detail::Numbers<N...>>>
auto max_pool2d_with_indices(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::max_pool3d, detail::Numbers<N...>>>
auto max_pool3d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::max_unpool2d, detail::Numbers<N...>>>
auto max_unpool2d(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::meshgrid, detail::Numbers<N...>>>
auto meshgrid(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::nan_to_num, detail::Numbers<N...>>>
auto nan_to_num(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::norm_keep, detail::Numbers<N...>>>
auto norm_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::normalize_groups, detail::Numbers<N...>>>
auto normalize_groups(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::outer, detail::Numbers<N...>>>
auto outer(detail::AnyOperand, ...);
template <Margin... margin, class Wrong = detail::InMore<detail::more::pad_circular, detail::Numbers<margin...>>>
auto pad_circular(detail::AnyOperand, ...);
template <Margin... margin, class Wrong = detail::InMore<detail::more::pad_reflect, detail::Numbers<margin...>>>
auto pad_reflect(detail::AnyOperand, ...);
template <Margin... margin, class Wrong = detail::InMore<detail::more::pad_replicate, detail::Numbers<margin...>>>
auto pad_replicate(detail::AnyOperand, ...);
template <Margin... margin, class Wrong = detail::InMore<detail::more::pad_symmetric, detail::Numbers<margin...>>>
auto pad_symmetric(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::pixel_shuffle, detail::Numbers<N...>>>
auto pixel_shuffle(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::pixel_unshuffle, detail::Numbers<N...>>>
auto pixel_unshuffle(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::prelu, detail::Numbers<N...>>>
auto prelu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::promote, detail::Numbers<N...>>>
auto promote(detail::AnyOperand, ...);
template <class S, auto... N, class Wrong = detail::InMore<detail::more::randint, S, detail::Numbers<N...>>>
auto randint(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::randperm, detail::Numbers<N...>>>
auto randperm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reduce_all_keep, detail::Numbers<N...>>>
auto reduce_all_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reduce_any_keep, detail::Numbers<N...>>>
auto reduce_any_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reduce_std_keep, detail::Numbers<N...>>>
auto reduce_std_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reduce_var_keep, detail::Numbers<N...>>>
auto reduce_var_keep(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::repeat_interleave, detail::Numbers<N...>>>
auto repeat_interleave(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::reverse_sequence, detail::Numbers<N...>>>
auto reverse_sequence(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::rnn_relu, detail::Numbers<N...>>>
auto rnn_relu(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::rms_norm, detail::Numbers<N...>>>
auto rms_norm(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::rnn_tanh, detail::Numbers<N...>>>
auto rnn_tanh(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::rotary_embedding, detail::Numbers<N...>>>
auto rotary_embedding(detail::AnyOperand, ...);
template <class F, class Wrong = detail::InMore<detail::more::scan, F>>
auto scan(const F&, detail::AnyOperand, ...);
template <class S, auto... N, class Wrong = detail::InMore<detail::more::scatter_nd, S, detail::Numbers<N...>>>
auto scatter_nd(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::searchsorted, detail::Numbers<N...>>>
auto searchsorted(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::slogdet, detail::Numbers<N...>>>
auto slogdet(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::softshrink, detail::Numbers<N...>>>
auto softshrink(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::solve, detail::Numbers<N...>>>
auto solve(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::solve_triangular, detail::Numbers<N...>>>
auto solve_triangular(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tensor_scatter_add, detail::Numbers<N...>>>
auto tensor_scatter_add(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tensor_scatter_elements, detail::Numbers<N...>>>
auto tensor_scatter_elements(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tensor_scatter_max, detail::Numbers<N...>>>
auto tensor_scatter_max(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tensor_scatter_min, detail::Numbers<N...>>>
auto tensor_scatter_min(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tensor_scatter_sub, detail::Numbers<N...>>>
auto tensor_scatter_sub(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tensor_scatter_update, detail::Numbers<N...>>>
auto tensor_scatter_update(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::tensordot, detail::Numbers<N...>>>
auto tensordot(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::top_k_filter, detail::Numbers<N...>>>
auto top_k_filter(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::top_p_filter, detail::Numbers<N...>>>
auto top_p_filter(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::trace, detail::Numbers<N...>>>
auto trace(detail::AnyOperand, ...);
template <class S, auto... N, class Wrong = detail::InMore<detail::more::truncated_normal, S, detail::Numbers<N...>>>
auto truncated_normal(detail::AnyOperand, ...);
template <Pair size, auto... N, class Wrong = detail::InMore<detail::more::unfold, detail::Numbers<size, N...>>>
auto unfold(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::unique, detail::Numbers<N...>>>
auto unique(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::unsorted_segment_mean, detail::Numbers<N...>>>
auto unsorted_segment_mean(detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::unsorted_segment_sum, detail::Numbers<N...>>>
auto unsorted_segment_sum(detail::AnyOperand, ...);
template <auto... N, class F, class Wrong = detail::InMore<detail::more::while_loop, detail::Numbers<N...>, F>>
auto while_loop(const F&, const auto&, detail::AnyOperand, ...);
template <auto... N, class Wrong = detail::InMore<detail::more::xlogy, detail::Numbers<N...>>>
auto xlogy(detail::AnyOperand, ...);
#endif

}  // namespace tenon::ops
