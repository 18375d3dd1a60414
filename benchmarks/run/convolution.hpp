// A convolution and its two gradients as works; a shape is a type, the batch size a number.
#pragma once
#include "operators.hpp"

namespace benchmark {

/// Images of C x H x W, O kernels of KH x KW. What comes twice is vertical, then horizontal.
template <int C, int H, int W, int O, int KH, int KW, int SH = 1, int SW = 1, int PH = 0, int PW = 0, int DH = 1,
          int DW = 1, int Groups = 1>
struct Convolution {
  static constexpr tenon::Conv2dOptions options{{SH, SW}, tenon::PadMode::pad, {PH, PH, PW, PW}, {DH, DW}, Groups};
  using Image = tenon::Tensor<float, tenon::Shape<tenon::dyn, C, H, W>>;
  using Weight = tenon::Tensor<float, tenon::Shape<O, C / Groups, KH, KW>>;
  static constexpr tenon::ops::Conv2dAttributes attributes =
      tenon::ops::Conv2d::config(options, Image::dims, Weight::dims);
  static constexpr auto image_gradient = tenon::ops::detail::with_extents(attributes, H, W),
                        weight_gradient = tenon::ops::detail::with_extents(attributes, KH, KW);
  using Result = decltype(tenon::ops::conv2d<options>(std::declval<Image>(), std::declval<Weight>()));

  /// The name of a work begins with conv/WHAT/N and goes on with this.
  static std::string shape_name() {
    return tenon::text("x", C, "x", H, "x", W, "-", O, "x", KH, "x", KW, "-s", SH, "x", SW, "-p", PH, "x", PW, "-d", DH,
                       "x", DW, "-g", Groups);
  }
  static Work make(const std::string& what, long n) {
    using namespace tenon;
    if (what == "forward")
      return operation([](const auto& x, const auto& w) { return ops::conv2d<options>(x, w); }, image<Image>(n, 0),
                       operand<Weight>(1, second_operand));
    if (what == "backward_input")
      return operation(
          [](const auto& w, const auto& dy) { return apply<ops::Conv2dBackwardInput, image_gradient>({}, w, dy); },
          operand<Weight>(1, second_operand), image<Result>(n, third_operand));
    return backward_weight(n);
  }
  static Work backward_weight(long n) {
    using namespace tenon;
    return operation(
        [](const auto& x, const auto& dy) { return apply<ops::Conv2dBackwardWeight, weight_gradient>({}, x, dy); },
        image<Image>(n, 0), image<Result>(n, third_operand));
  }
};

/// Finds the shape that a name tells among Shape and Others.
template <class Shape, class... Others>
Work find_convolution(const std::string& name) {
  const std::size_t what = name.find('/') + 1, sizes = name.find('/', what) + 1, rest = name.find('x', sizes);
  if (name.substr(rest) == Shape::shape_name())
    return Shape::make(name.substr(what, sizes - 1 - what), std::atol(name.c_str() + sizes));
  if constexpr (sizeof...(Others) > 0) return find_convolution<Others...>(name);
  else throw tenon::ValueError("no convolution " + name);
}

}  // namespace benchmark
