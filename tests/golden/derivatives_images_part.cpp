// flags: -O0
// Derivatives of convolutions and pooling, against PyTorch.
#include "derivatives.hpp"

using namespace derivatives;

const Group convolutions([] {
  check<D<dyn, 2, 5, 4>, D<3, 2, 3, 3>>("conv2d", [](const auto& x, const auto& w) { return ops::conv2d<>(x, w); });
  check<D<dyn, 2, 5, 6>, D<4, 1, 2, 3>>("conv2d.groups", [](const auto& x, const auto& w) {
    return ops::conv2d<Conv2dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = 1, .groups = 2}>(x, w);
  });
  check<D<1, 2, 7, 6>, D<1, 2, 2, 2>>("conv2d.dilation", [](const auto& x, const auto& w) {
    return ops::conv2d<Conv2dOptions{.pad_mode = PadMode::valid, .dilation = Pair{3, 2}}>(x, w);
  });
  check<D<dyn, 2, 7>, D<3, 2, 1, 3>>("conv1d", [](const auto& x, const auto& w) {
    return conv1d<Conv1dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = 1}>(x, w);
  });
  check<D<dyn, 2, 3, 4, 3>, D<2, 1, 2, 2, 3>>("conv3d", [](const auto& x, const auto& w) {
    return conv3d<Conv3dOptions{.pad_mode = PadMode::valid, .groups = 2}>(x, w);
  });
  check<D<dyn, 2, 3, 2>, D<2, 3, 3, 2>>("conv2d_transpose", [](const auto& x, const auto& w) {
    return conv2d_transpose<Conv2dTransposeOptions{
        .stride = 2, .pad_mode = PadMode::pad, .padding = 1, .output_padding = 1}>(x, w);
  });
  check<D<1, 4, 3, 1>, D<4, 1, 2, 2>>("conv2d_transpose.groups", [](const auto& x, const auto& w) {
    return conv2d_transpose<Conv2dTransposeOptions{.pad_mode = PadMode::valid, .dilation = 2, .groups = 2}>(x, w);
  });
  check<D<dyn, 2, 4>, D<2, 2, 1, 3>>("conv1d_transpose", [](const auto& x, const auto& w) {
    return conv1d_transpose<Conv1dTransposeOptions{.stride = 2, .pad_mode = PadMode::valid}>(x, w);
  });
  check<D<dyn, 2, 2, 2, 3>, D<2, 1, 2, 2, 1>>("conv3d_transpose", [](const auto& x, const auto& w) {
    return conv3d_transpose<Conv3dTransposeOptions{.stride = 2, .pad_mode = PadMode::pad}>(x, w);
  });
});

const Group pooling([] {
  static constexpr Pool2dOptions overlapping{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1};
  check<D<dyn, 2, 4, 6>>("max_pool2d", [](const auto& x) { return ops::max_pool2d<2>(x); });
  check<D<dyn, 1, 5, 6>>("max_pool2d.overlapping", [](const auto& x) { return ops::max_pool2d<overlapping>(x); });
  check<D<dyn, 2, 4, 6>>("avg_pool2d", [](const auto& x) { return ops::avg_pool2d<2>(x); });
  check<D<dyn, 1, 5, 6>>("avg_pool2d.overlapping", [](const auto& x) { return ops::avg_pool2d<overlapping>(x); });
  check<D<dyn, 2, 7>>("max_pool1d", [](const auto& x) { return max_pool1d<2>(x); });
  check<D<dyn, 2, 7>>("avg_pool1d", [](const auto& x) { return avg_pool1d<3, 2>(x); });
  check<D<dyn, 1, 5, 7>>("adaptive_avg_pool2d", [](const auto& x) { return adaptive_avg_pool2d<Pair{3, 2}>(x); });
  check<D<dyn, 1, 5, 7>>("adaptive_max_pool2d", [](const auto& x) { return adaptive_max_pool2d<Pair{3, 2}>(x); });
  check<D<dyn, 2, 7>>("adaptive_avg_pool1d", [](const auto& x) { return adaptive_avg_pool1d<3>(x); });
  check<D<dyn, 2, 7>>("adaptive_max_pool1d", [](const auto& x) { return adaptive_max_pool1d<3>(x); });
  static constexpr Pool3dOptions volume{.kernel = 2, .stride = {2, 1, 1}, .pad_mode = PadMode::pad, .padding = 1};
  check<D<dyn, 1, 2, 4, 3>>("max_pool3d", [](const auto& x) { return max_pool3d<2>(x); });
  check<D<dyn, 1, 3, 2, 3>>("max_pool3d.overlapping", [](const auto& x) { return max_pool3d<volume>(x); });
  check<D<dyn, 1, 2, 4, 3>>("avg_pool3d", [](const auto& x) { return avg_pool3d<2>(x); });
  check<D<dyn, 1, 3, 2, 3>>("avg_pool3d.overlapping", [](const auto& x) { return avg_pool3d<volume>(x); });
  check<D<dyn, 2, 4, 6>>("max_unpool2d", [](const auto& x) {
    const auto [y, pixels] = ops::max_pool2d_with_indices<2>(x);
    return max_unpool2d<4, 6>(y * y, pixels);
  });
  check<D<dyn, 5, 2, 3>>("lrn", [](const auto& x) {
    return ops::lrn<LRNConfig{.depth_radius = 1, .bias = 1, .alpha = 0.25f, .beta = 0.5f}>(x);
  });
});
