// flags: -O0
// Special values through operators that others compute, empty batches, extents of 1, against PyTorch.
#include "special_values.hpp"

#include <tenon/more.hpp>

using namespace special_values;

namespace {
template <int rows, int columns = 4>
using Few = Floats<rows, columns>;
using Empty = Floats<dyn, 4>;
constexpr float small = 0x1p-10f;
using Image = Floats<1, 1, 3, 4>;
template <ops::InterpolateConfig config>
constexpr auto resized(const auto& x) {
  return ops::interpolate<Pair{5, 3}, config>(x);
}
}  // namespace

const Group rows([] {
  run<Rows>("logsumexp", [](const auto& x) { return ops::logsumexp<1>(x); });
  run<Few<6>>("norm", [](const auto& x) { return ops::norm<1>(x); });
  run<Rows>("norm.l1", [](const auto& x) { return ops::l1_norm<1>(x); });
  run<Rows>("norm.max", [](const auto& x) { return ops::max_norm<1>(x); });
  run<Few<6>>("reduce_var", [](const auto& x) { return ops::reduce_var<1>(x); });
  run<Few<6>>("reduce_var.std", [](const auto& x) { return ops::reduce_std<1>(x); });
  run<Few<3, 1>>("reduce_var.one", [](const auto& x) { return ops::reduce_var<1>(x); });
  run<Few<6>>("l2_normalize", [](const auto& x) { return ops::l2_normalize<1>(x, small); });
  run<Rows>("reduce_all", [](const auto& x) { return ops::reduce_all<1>(ops::not_equal(x, 0)); });
  run<Rows>("reduce_all.any", [](const auto& x) { return ops::reduce_any<1>(ops::not_equal(x, 0)); });
  run<Rows>("clip", [](const auto& x) { return clip_by_value(x, -1, 2); });
  run<Few<2, 2>>("clip.norm", [](const auto& x) { return clip_by_norm(x, 0.5f); });
  run<Few<2, 2>>("clip.zeros", [](const auto& x) { return clip_by_norm(x, 0.5f); });
  run<Few<6>>("group_norm", [](const auto& x) {
    return ops::normalize_groups<ops::GroupNormConfig{.groups = 2, .epsilon = small}>(x);
  });
  constexpr auto affine = [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::group_norm<ops::GroupNormConfig{.groups = 2, .epsilon = 0.25f}>(x, gamma, beta);
  };
  run<Few<8>, Floats<4>, Floats<4>>("group_norm.affine", affine);
  run<Few<3, 2>, Floats<2>, Floats<2>>("group_norm.one", affine);
  run<Few<8>, Floats<4>>("rms_norm", [](const auto& x, const auto& gamma) { return rms_norm(x, gamma, small); });
  run<Rows>("sort.topk", [](const auto& x) { return std::get<0>(topk<2, 1>(x)); });
  run<Rows>("sampling", [](const auto& x) { return top_k_filter<2>(x); });
  run<Rows>("tile", [](const auto& x) { return ops::tile<2, 1>(x); });
  run<Rows>("pad_modes", [](const auto& x) { return ops::pad_replicate<Margin{}, Margin{1, 2}>(x); });
  run<Rows>("diagonal", [](const auto& x) { return ops::diagonal(x); });
  run<Rows, Rows>("einsum", [](const auto& x, const auto& y) { return einsum<"ij,ij->i">(x, y); });
  run<Rows, Floats<4>>("tensordot", [](const auto& x, const auto& y) { return tensordot<1>(x, y); });
  run<Few<6>>("lrn", [](const auto& x) {
    constexpr LRNConfig config{.depth_radius = 1, .bias = 1, .alpha = 0.25f, .beta = 0.5f};
    return ops::reshape<Shape<6, 4>>(ops::lrn<config>(ops::reshape<Shape<6, 4, 1, 1>>(x)));
  });
  run<Rows, Tensor<std::int64_t, Shape<12>>>(
      "scatter_rows", [](const auto& x, const auto& k) { return unsorted_segment_sum<4>(x, k); });
  run<Rows, Tensor<std::int64_t, Shape<3, 2>>>("gather_nd",
                                               [](const auto& x, const auto& k) { return gather_nd(x, k); });
  run<Floats<5>, V>("searchsorted", [](const auto& s, const auto& x) { return searchsorted(s, x); });
});

const Group pairs([] {
  run<V, V>("logaddexp", [](const auto& a, const auto& b) { return logaddexp(a, b); });
  run<V, V>("lerp", [](const auto& a, const auto& b) { return lerp(a, b, 0.25f); });
  run<V, V>("lerp.addcmul", [](const auto& a, const auto& b) { return addcmul(a, a, b, 0.5f); });
  run<V, V>("lerp.addcdiv", [](const auto& a, const auto& b) { return addcdiv(a, a, b, 0.5f); });
  run<V>("finite", [](const auto& x) { return nan_to_num(x, 2); });
  run<V>("finite.isnan", [](const auto& x) { return isnan(x); });
  run<V>("finite.isinf", [](const auto& x) { return isinf(x); });
  run<V>("finite.isfinite", [](const auto& x) { return isfinite(x); });
});

const Group images([] {
  using enum ops::Interpolation;
  run<Image>("interpolate.nearest", [](const auto& x) { return resized<InterpolateConfig{}>(x); });
  run<Image>("interpolate.bilinear", [](const auto& x) { return resized<InterpolateConfig{linear}>(x); });
  run<Image>("interpolate.bicubic", [](const auto& x) { return resized<InterpolateConfig{cubic}>(x); });
  run<Image>("interpolate.area", [](const auto& x) { return resized<InterpolateConfig{area}>(x); });
  run<Image>("interpolate.antialias",
             [](const auto& x) { return resized<InterpolateConfig{.mode = linear, .antialias = true}>(x); });
  run<Image>("unfold", [](const auto& x) { return ops::unfold<Pair{2}, UnfoldConfig{.padding = 1}>(x); });
  run<Image>("pool1d", [](const auto& x) { return max_pool1d<2>(ops::reshape<Shape<1, 3, 4>>(x)); });
  run<Image>("pool3d", [](const auto& x) {
    return max_pool3d<Pool3dOptions{.kernel = {1, 2, 2}}>(ops::reshape<Shape<1, 1, 1, 3, 4>>(x));
  });
  run<Image>("pool_indices",
             [](const auto& x) { return ops::cast<std::int32_t>(std::get<1>(ops::max_pool2d_with_indices<2>(x))); });
  run<Image>("adaptive_pool", [](const auto& x) { return adaptive_avg_pool2d<Pair{2, 3}>(x); });
  run<Image>("adaptive_pool.max", [](const auto& x) { return adaptive_max_pool2d<Pair{2, 3}>(x); });
  run<Image>("pixel_shuffle", [](const auto& x) { return pixel_shuffle<2>(ops::reshape<Shape<1, 4, 3, 1>>(x)); });
  run<Floats<1, 1, 2, 2>, Floats<1, 1, 2, 2>>("conv2d_transpose", [](const auto& x, const auto& w) {
    return conv2d_transpose<Conv2dTransposeOptions{.pad_mode = PadMode::valid}>(x, w);
  });
  run<Floats<1, 1, 5>, Floats<1, 1, 2>>("conv1d", [](const auto& x, const auto& w) {
    return conv1d<Conv1dOptions{.pad_mode = PadMode::valid}>(x, ops::expand_dims<2>(w));
  });
  run<Image, Floats<1, 1, 1, 2, 2>>("conv3d", [](const auto& x, const auto& w) {
    return conv3d<Conv3dOptions{.pad_mode = PadMode::valid}>(ops::reshape<Shape<1, 1, 1, 3, 4>>(x), w);
  });
});

const Group layers([] {
  run<Floats<1, 3, 2>, Floats<1, 2, 2>, Floats<1, 2, 2>, Tensor<bool, Shape<3, 2>>>(
      "masked_attention", [](const auto& q, const auto& k, const auto& v, const auto& mask) {
        return std::get<0>(ops::masked_attention<AttentionConfig{}>(q, k, v, mask));
      });
  run<Floats<1, 2, 4>, Floats<2, 4>>("rotary_embedding",
                                     [](const auto& x, const auto& table) { return rotary_embedding(x, table); });
  run<Floats<2, 2, 2>>("determinant", [](const auto& a) { return det(a); });
  run<Floats<3, 2, 2>, Floats<3, 2, 1>>("solve_triangular",
                                        [](const auto& a, const auto& b) { return solve_triangular(a, b); });
});

const Group recurrent([] {
  using X = Floats<3, 2, 2>;
  run<X, Floats<1, 2>, Floats<1, 1>>(
      "rnn", [](const auto& x, const auto& w, const auto& r) { return std::get<0>(rnn_tanh(x, w, r)); });
  run<X, Floats<1, 2>, Floats<1, 1>>(
      "rnn.relu", [](const auto& x, const auto& w, const auto& r) { return std::get<0>(rnn_relu(x, w, r)); });
  run<Floats<3, 2, 3>, Floats<3, 1>>("gru", [](const auto& x, const auto& w) { return std::get<0>(gru(x, w)); });
});

const Group sizes([] {
  run<Empty>("softmax.empty", [](const auto& x) { return softmax(x); });
  run<Empty>("logsumexp.empty", [](const auto& x) { return ops::logsumexp<1>(x); });
  run<Empty>("norm.empty", [](const auto& x) { return ops::norm<1>(x); });
  run<Empty>("sort.empty", [](const auto& x) { return std::get<0>(sort<1>(x)); });
  run<Empty>("cumsum.empty", [](const auto& x) { return cumsum<1>(x); });
  run<Empty, Floats<4>, Floats<4>>("layer_norm.empty", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::layer_norm<ops::LayerNormAttributes{.epsilon = 1e-5f}>(x, gamma, beta);
  });
  run<Empty, Floats<4>, Floats<4>>("group_norm.empty", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::group_norm<ops::GroupNormConfig{.groups = 2, .epsilon = small}>(x, gamma, beta);
  });
  using Images = Floats<dyn, 1, 4, 4>;
  run<Images>("pool2d.empty", [](const auto& x) { return ops::max_pool2d<2>(x); });
  run<Images, Floats<2, 1, 3, 3>>("conv2d.empty", [](const auto& x, const auto& w) {
    return ops::conv2d<Conv2dOptions{.pad_mode = PadMode::valid}>(x, w);
  });
  run<Images>("interpolate.empty",
              [](const auto& x) { return resized<InterpolateConfig{ops::Interpolation::linear}>(x); });
  run<Floats<2, 1, 1, 1>>("interpolate.one",
                          [](const auto& x) { return ops::interpolate<Pair{3, 1}, ops::Interpolation::cubic>(x); });
  run<Floats<2, 2>, L>("gather.empty", [](const auto& t, const auto& i) { return gather(t, i); });
  run<Empty, L>("scatter_rows.empty", [](const auto& x, const auto& k) { return unsorted_segment_sum<4>(x, k); });
  run<Floats<3, 1>, Floats<1>, Floats<1>>("layer_norm.one", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::layer_norm<ops::LayerNormAttributes{.epsilon = 1e-5f}>(x, gamma, beta);
  });
  run<Floats<2, 1>>("sort.one", [](const auto& x) { return std::get<0>(sort<1>(x)); });
  run<Floats<2, 1>>("argmax.one", [](const auto& x) { return ops::argmax<1>(x); });
});

const Group integers([] {
  using Nine = Tensor<std::int32_t, Shape<9>>;
  run<Nine>("cumsum.int32", [](const auto& x) { return cumsum<0>(x); });
  run<I>("reduce_prod.int32", [](const auto& x) { return reduce_prod(x); });
  run<Nine>("sort.int32", [](const auto& x) { return std::get<0>(sort<0>(x)); });
  run<I>("clip.int32", [](const auto& x) { return clip_by_value(x, -3, 5); });
  run<Nine>("matmul.int32", [](const auto& x) {
    const auto square = ops::reshape<Shape<3, 3>>(x);
    return matmul(square, square);
  });
  run<Nine, Tensor<std::int64_t, Shape<9>>>("scatter_rows.int32",
                                            [](const auto& x, const auto& k) { return unsorted_segment_sum<2>(x, k); });
});
