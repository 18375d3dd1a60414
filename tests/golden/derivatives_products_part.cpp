// flags: -O0
// Derivatives of products, attention, and normalizations, against PyTorch.
#include "derivatives.hpp"

using namespace derivatives;

const Group products([] {
  check<D<dyn, 3>, D<3, 4>>("matmul", [](const auto& a, const auto& b) { return matmul(a, b); });
  check<D<dyn, 3, 2>, D<dyn, 3, 4>>("matmul.stacks",
                                    [](const auto& a, const auto& b) { return ops::matmul<Transposed::first>(a, b); });
  check<D<1, 3>, D<4, 3>>("matmul.transposed",
                          [](const auto& a, const auto& b) { return ops::matmul<Transposed::second>(a, b); });
  check<D<dyn, 3, 4>, D<dyn, 5, 4>, D<dyn, 5, 4>>("attention", [](const auto& q, const auto& k, const auto& v) {
    return ops::attention<AttentionConfig{.heads = 2}>(q, k, v);
  });
  check<D<dyn, 4, 12>>("attention.packed", [](const auto& x) {
    return ops::attention<AttentionConfig{.heads = 2, .causal = true, .scale = 0.25f}>(x);
  });
  check<D<dyn, 3, 4>, D<dyn, 5, 4>, D<dyn, 5, 4>, B<3, 5>>(
      "masked_attention", [](const auto& q, const auto& k, const auto& v, const auto& m) {
        return std::get<0>(ops::masked_attention<AttentionConfig{.heads = 2}>(q, k, v, m));
      });
  check<D<dyn, 3, 4>, D<dyn, 5, 4>, D<dyn, 5, 4>, B<3, 5>>(
      "masked_attention.weights", [](const auto& q, const auto& k, const auto& v, const auto& m) {
        return std::get<1>(ops::masked_attention<AttentionConfig{.heads = 2}>(q, k, v, m));
      });
  check<D<dyn, 3, 8>, D<5, 4>>("rotary_embedding", [](const auto& x, const auto& t) { return rotary_embedding(x, t); });
  check<D<dyn, 3, 8>, D<5, 4>, I<dyn>>("rotary_embedding.interleaved",
                                       [](const auto& x, const auto& t, const auto& position) {
                                         return rotary_embedding<RotaryForm::interleaved>(x * x, t, position);
                                       });
  check<D<dyn, 2, 3>, D<dyn, 3, 4>>("einsum",
                                    [](const auto& a, const auto& b) { return einsum<"bij,bjk->bik">(a, b); });
  check<D<3, 3>>("einsum.diagonal", [](const auto& a) { return einsum<"ii->i">(a * a); });
  check<D<dyn, 2>, D<2, 3>, D<4, 3>>(
      "einsum.three", [](const auto& a, const auto& b, const auto& c) { return einsum<"ij,jk,lk->il">(a, b, c); });
  check<D<dyn, 2>, D<dyn, 3>>("einsum.batch", [](const auto& a, const auto& b) { return einsum<"ni,nj->ij">(a, b); });
  check<D<dyn, 2, 3>, D<3, 1>>("einsum.dots",
                               [](const auto& a, const auto& b) { return einsum<"...ij,jk->...i">(a, b); });
  check<D<dyn, 3, 2>, D<3, 2, 4>>("tensordot", [](const auto& a, const auto& b) { return tensordot<2>(a, b); });
  check<D<2, 3, 4>, D<4, 2, 5>>(
      "tensordot.axes", [](const auto& a, const auto& b) { return tensordot<ops::Axes<0, 2>, ops::Axes<1, 0>>(a, b); });
  check<D<dyn, 3>, D<4, 3>>("inner", [](const auto& a, const auto& b) { return inner(a, b); });
  check<D<dyn, 3>, D<2, 3, 4>>("dot", [](const auto& a, const auto& b) { return dot(a, b); });
});

const Group normalizations([] {
  check<D<dyn, 5>, D<5>, D<5>>("layer_norm", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::layer_norm<ops::LayerNormAttributes{.epsilon = 0x1p-10f}>(x, gamma, beta);
  });
  check<D<2, 1, 2, 3>, D<2, 3>, D<2, 3>>("layer_norm.axes", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::layer_norm<ops::LayerNormAttributes{.epsilon = 0x1p-10f}>(x, gamma, beta);
  });
  const auto root_mean_square = [](const auto& x, const auto& gamma) { return rms_norm(x, gamma, 0x1p-10f); };
  check<D<dyn, 5>, D<5>>("rms_norm", root_mean_square);
  check<D<2, 1, 2, 3>, D<2, 3>>("rms_norm.axes", root_mean_square);
  check<D<5, 3>, D<3>, D<3>>("batch_norm", [](const auto& x, const auto& gamma, const auto& beta) {
    constexpr ops::BatchNormAttributes attributes{0x1p-10f, 2};
    return apply<ops::BatchNorm, attributes>({}, x, apply<ops::BatchNormStatistics, attributes>({}, x), gamma, beta);
  });
  check<D<dyn, 2, 1, 3>, D<2>, D<2>>("batch_norm.images", [](const auto& x, const auto& gamma, const auto& beta) {
    constexpr ops::BatchNormAttributes attributes{0x1p-10f, 4};
    return apply<ops::BatchNorm, attributes>({}, x, apply<ops::BatchNormStatistics, attributes>({}, x), gamma, beta);
  });
  check<D<dyn, 4, 2, 3>, D<4>, D<4>>("group_norm", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::group_norm<ops::GroupNormConfig{.groups = 2, .epsilon = 0x1p-10f}>(x, gamma, beta);
  });
  check<D<dyn, 4, 3>>("normalize_groups", [](const auto& x) {
    return ops::normalize_groups<ops::GroupNormConfig{.groups = 2, .epsilon = 0x1p-10f}>(x);
  });
});
