// flags: -O0
// Derivatives of operators that move elements, against PyTorch.
#include "derivatives.hpp"

using namespace derivatives;

const Group shapes([] {
  check<D<dyn, 2, 3>>("reshape", [](const auto& x) { return ops::reshape<Shape<dyn, 6>>(x); });
  check<D<3, 1, 2>>("transpose", [](const auto& x) { return ops::transpose<2, 0, 1>(x); });
  check<D<2, 1, 3>>("swap_axes", [](const auto& x) { return ops::swap_axes<0, 2>(x); });
  check<D<dyn, 7>>("slice", [](const auto& x) { return ops::slice<1, Part{1, 6, 2}>(x); });
  check<D<3, 1, 4>>("slice.axes", [](const auto& x) { return ops::slice<Part{0, 2}, Part{}, Part{1, 4}>(x); });
  check<D<dyn, 6>>("split", [](const auto& x) { return ops::split<1, 3>(x)[1]; });
  check<D<dyn, 2>, D<dyn, 1>, D<dyn, 3>>(
      "concat", [](const auto& a, const auto& b, const auto& c) { return ops::concat<1>(a, b, c); });
  check<D<2, 1>, D<2, 1>>("stack", [](const auto& a, const auto& b) { return ops::stack<1>(a, b); });
  check<D<2, 1, 3>>("broadcast_to", [](const auto& x) { return ops::broadcast_to<Shape<4, 2, 5, 3>>(x); });
  check<D<dyn, 2>>("tile", [](const auto& x) { return ops::tile<1, 3>(x); });
  check<D<dyn, 3>>("repeat_interleave", [](const auto& x) { return ops::repeat_interleave<2, 1>(x); });
  check<D<dyn, 5>>("roll", [](const auto& x) { return ops::roll<2, 1>(x); });
  check<D<dyn, 2, 3>>("flip", [](const auto& x) { return ops::flip<1, 2>(x); });
  check<D<dyn, 3, 4>>("tril", [](const auto& x) { return ops::tril<1>(x); });
  check<D<3, 1>>("triu", [](const auto& x) { return ops::triu<-1>(x); });
  check<D<dyn, 3>>("pad", [](const auto& x) { return ops::pad<Margin{}, Margin{2, 1}>(x, 3); });
  check<D<dyn, 4>>("pad_reflect", [](const auto& x) { return ops::pad_reflect<Margin{}, Margin{2, 1}>(x); });
  check<D<dyn, 4>>("pad_symmetric", [](const auto& x) { return ops::pad_symmetric<Margin{}, Margin{2, 1}>(x); });
  check<D<dyn, 4>>("pad_replicate", [](const auto& x) { return ops::pad_replicate<Margin{}, Margin{2, 1}>(x); });
  check<D<dyn, 4>>("pad_circular", [](const auto& x) { return ops::pad_circular<Margin{}, Margin{2, 1}>(x); });
  check<D<dyn, 8, 1, 3>>("pixel_shuffle", [](const auto& x) { return pixel_shuffle<2>(x); });
  check<D<dyn, 1, 2, 4>>("pixel_unshuffle", [](const auto& x) { return pixel_unshuffle<2>(x); });
  check<D<2>, D<3>>("meshgrid", [](const auto& a, const auto& b) {
    const auto [x, y] = meshgrid(a, b);
    return x * y;
  });
  check<D<2>, D<3>>("outer", [](const auto& a, const auto& b) { return outer(a, b); });
  check<D<dyn, 3>>("expand_dims", [](const auto& x) { return ops::expand_dims<1>(x); });
  check<D<dyn, 1, 3>>("squeeze", [](const auto& x) { return ops::squeeze<1>(x); });
  check<D<dyn, 2, 3>>("flatten", [](const auto& x) { return flatten(x); });
  check<D<dyn, 6>>("split_sizes", [](const auto& x) { return std::get<1>(ops::split_sizes<1, 1, 3, 2>(x)); });
  check<D<dyn, 3, 4>>("diagonal", [](const auto& x) { return ops::diagonal<1>(x); });
  check<D<dyn, 3, 2>>("trace", [](const auto& x) { return trace(x); });
  check<D<dyn, 3>>("diag", [](const auto& x) { return diag(x); });
  check<D<dyn, 5>>("top_k_filter", [](const auto& x) { return softmax(top_k_filter<2>(x)); });
  check<D<dyn, 5>>("top_p_filter", [](const auto& x) { return softmax(top_p_filter(x, 0.75)); });
});

const Group numbers([] {
  check<D<4, 3>, I<dyn, 2>>("gather", [](const auto& x, const auto& k) { return gather(x, k); });
  check<D<dyn, 4>, I<dyn, 3>>("gather_elements", [](const auto& x, const auto& k) { return gather_elements<1>(x, k); });
  check<D<2, 3, 2>, I<dyn, 2>>("gather_nd", [](const auto& x, const auto& k) { return gather_nd(x, k); });
  check<D<dyn, 4>, I<dyn, 1>, D<dyn, 1>>("tensor_scatter_elements", [](const auto& x, const auto& k, const auto& v) {
    return tensor_scatter_elements<1>(x, k, v);
  });
  check<D<dyn, 4>, I<dyn, 3>, D<dyn, 3>>("tensor_scatter_elements.add",
                                         [](const auto& x, const auto& k, const auto& v) {
                                           return tensor_scatter_elements<1, ops::ScatterReduction::add>(x, k, v);
                                         });
  using enum ops::ScatterReduction;
  check<D<dyn, 4>, I<dyn, 1>, D<dyn, 1>>(
      "tensor_scatter_elements.max",
      [](const auto& x, const auto& k, const auto& v) { return tensor_scatter_elements<1, max>(x, k, v); });
  check_to<1, D<dyn, 4>, I<dyn, 1>, D<dyn, 1>>(
      "tensor_scatter_elements.mul",
      [](const auto& x, const auto& k, const auto& v) { return tensor_scatter_elements<1, mul>(x, k, v); });
  check<I<dyn, 1>, D<dyn, 3>>("scatter_nd", [](const auto& k, const auto& v) { return scatter_nd<Shape<4, 3>>(k, v); });
  using X = D<4, 3>;
  check<X, I<dyn, 1>, D<dyn, 3>>(
      "tensor_scatter_add", [](const auto& x, const auto& k, const auto& v) { return tensor_scatter_add(x, k, v); });
  check<X, I<dyn, 1>, D<dyn, 3>>(
      "tensor_scatter_sub", [](const auto& x, const auto& k, const auto& v) { return tensor_scatter_sub(x, k, v); });
  check<X, I<1, 1>, D<1, 3>>("tensor_scatter_update", [](const auto& x, const auto& k, const auto& v) {
    return tensor_scatter_update(x, k, v);
  });
  check<X, I<1, 1>, D<1, 3>>("tensor_scatter_max",
                             [](const auto& x, const auto& k, const auto& v) { return tensor_scatter_max(x, k, v); });
  check<X, I<1, 1>, D<1, 3>>("tensor_scatter_min",
                             [](const auto& x, const auto& k, const auto& v) { return tensor_scatter_min(x, k, v); });
  check<D<dyn, 3>, I<dyn>>("unsorted_segment_sum",
                           [](const auto& x, const auto& k) { return unsorted_segment_sum<4>(x, k); });
  check<D<dyn, 3>, I<dyn>>("unsorted_segment_mean",
                           [](const auto& x, const auto& k) { return unsorted_segment_mean<4>(x, k); });
  check<D<dyn, 5, 2>, I<dyn>>("reverse_sequence", [](const auto& x, const auto& k) { return reverse_sequence(x, k); });
  check<D<dyn, 3>, B<dyn, 3>>("masked_fill", [](const auto& x, const auto& m) { return masked_fill(x, m, -1.5); });
});

const Group sizes([] {
  using enum ops::Interpolation;
  using Image = D<dyn, 2, 3, 4>;
  check<Image>("interpolate.nearest", [](const auto& x) { return ops::interpolate<Pair{5, 3}>(x); });
  check<Image>("interpolate.linear", [](const auto& x) { return ops::interpolate<Pair{5, 3}, linear>(x); });
  check<Image>("interpolate.corners",
               [](const auto& x) { return ops::interpolate<Pair{2, 7}, linear, Coordinates::align_corners>(x); });
  check<Image>("interpolate.cubic", [](const auto& x) { return ops::interpolate<Pair{5, 8}, cubic>(x); });
  check<D<dyn, 1, 6, 4>>("interpolate.area", [](const auto& x) { return ops::interpolate<Pair{3, 3}, area>(x); });
  check<Image>("interpolate.exact",
               [](const auto& x) { return ops::interpolate<Pair{5, 3}, nearest, Coordinates::half_pixel>(x); });
  check<D<dyn, 1, 6, 4>>("interpolate.antialias", [](const auto& x) {
    return ops::interpolate<Pair{3, 5}, InterpolateConfig{.mode = linear, .antialias = true}>(x);
  });
  check<D<dyn, 1, 7, 4>>("interpolate.antialias_cubic", [](const auto& x) {
    return ops::interpolate<Pair{2, 3}, InterpolateConfig{.mode = cubic, .antialias = true}>(x);
  });
  check<Image>("interpolate.scale", [](const auto& x) { return ops::interpolate<Scale{3, 2}, linear>(x); });
  check<D<dyn, 2, 5>>("interpolate.scale_sequence", [](const auto& x) { return ops::interpolate<Scale{3, 4}>(x); });
  check<D<dyn, 2, 5>>("interpolate.sequence", [](const auto& x) { return ops::interpolate<8, linear>(x); });
  check<D<dyn, 2, 4, 5>>(
      "unfold", [](const auto& x) { return ops::unfold<Pair{3, 2}, UnfoldConfig{.stride = 2, .padding = 1}>(x); });
  check<D<dyn, 12, 6>>("fold", [](const auto& x) {
    return ops::fold<Pair{4, 5}, Pair{3, 2}, UnfoldConfig{.stride = 2, .padding = 1}>(x);
  });
});
