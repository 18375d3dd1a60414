// flags: -O0
// Derivatives of products, attention, recurrent layers, normalizations, and losses, against PyTorch.
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
});

const Group recurrent([] {
  check_to<1, D<dyn, 4, 3>, D<8, 3>, D<8, 2>, D<8>>(
      "lstm", [](const auto& x, const auto& v, const auto& w, const auto& b) { return std::get<0>(lstm(x, v, w, b)); });
  check_to<1, D<dyn, 3, 2>, D<12, 2>, D<12, 3>>("lstm.reverse", [](const auto& x, const auto& v, const auto& w) {
    return std::get<1>(ops::lstm<true>(x, v, w));
  });
  check_to<1, D<dyn, 4, 3>, D<2, 3>, D<2, 2>, D<2>>(
      "rnn_tanh",
      [](const auto& x, const auto& v, const auto& w, const auto& b) { return std::get<0>(rnn_tanh(x, v, w, b)); });
  check_to<1, D<dyn, 3, 2>, D<3, 2>, D<3, 3>>("rnn_relu", [](const auto& x, const auto& v, const auto& w) {
    return std::get<0>(ops::rnn_relu<true>(x, v, w));
  });
});

const Group normalizations([] {
  check<D<dyn, 5>, D<5>, D<5>>("layer_norm", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::layer_norm<ops::LayerNormAttributes{.epsilon = 0x1p-10f}>(x, gamma, beta);
  });
  check<D<2, 1, 2, 3>, D<2, 3>, D<2, 3>>("layer_norm.axes", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::layer_norm<ops::LayerNormAttributes{.epsilon = 0x1p-10f}>(x, gamma, beta);
  });
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
});

const Group losses([] {
  check<D<dyn, 4>, I<dyn>>("softmax_cross_entropy",
                           [](const auto& x, const auto& t) { return softmax_cross_entropy(x, t); });
  check<D<2, 1, 3>, D<2, 1, 3>>("softmax_cross_entropy.shares", [](const auto& x, const auto& t) {
    return softmax_cross_entropy(x, stop_gradient(t));
  });
});
