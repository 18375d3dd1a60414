// Convolution of volumes, and its transpose.
#pragma once
#include <tenon/ops/add.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/conv2d_transpose.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/transpose.hpp>

namespace tenon::inline TENON_ABI {

/// Depth, height, and width; one number sets all.
struct Triple {
  int d = 1, h = 1, w = 1;
  constexpr Triple() = default;
  constexpr Triple(std::integral auto all) : d(int(all)), h(int(all)), w(int(all)) {}
  constexpr Triple(int depth, int height, int width) : d(depth), h(height), w(width) {}
  constexpr Pair plane() const { return {h, w}; }
  constexpr bool operator==(const Triple&) const = default;
};
/// Padding of a volume, in MindSpore's order; one number sets all sides.
struct Padding3d {
  int front = 0, back = 0, top = 0, bottom = 0, left = 0, right = 0;
  constexpr Padding3d() = default;
  constexpr Padding3d(std::integral auto all)
      : front(int(all)), back(int(all)), top(int(all)), bottom(int(all)), left(int(all)), right(int(all)) {}
  constexpr Padding3d(int f, int back_, int t, int b, int l, int r)
      : front(f), back(back_), top(t), bottom(b), left(l), right(r) {}
  constexpr Padding plane() const { return {top, bottom, left, right}; }
  constexpr bool operator==(const Padding3d&) const = default;
};

/// Settings of a convolution of volumes. `padding` counts only with PadMode::pad.
struct Conv3dOptions {
  Triple stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding3d padding = 0;
  Triple dilation = 1;
  int groups = 1;
  constexpr Conv2dOptions plane() const {
    return {stride.plane(), pad_mode, padding.plane(), dilation.plane(), groups};
  }
};
/// Settings of a transposed convolution of volumes; output_padding counts only with PadMode::pad.
struct Conv3dTransposeOptions {
  Triple stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding3d padding = 0;
  Triple output_padding = 0;
  Triple dilation = 1;
  int groups = 1;
  constexpr Conv2dTransposeOptions plane() const {
    return {stride.plane(), pad_mode, padding.plane(), output_padding.plane(), dilation.plane(), groups};
  }
};

namespace ops {

/// The planes of volumes [n, C, D, H, W] that a kernel of several planes meets, side by side as channels of images, for
/// each of its places along the depth: [n places, groups · kernel · C / groups, H, W]. 0 beyond the volume. Not for
/// users.
struct StackedPlanes : Operator<StackedPlanes, "StackedPlanes"> {
  struct Config {
    int groups = 1, kernel = 1, stride = 1, dilation = 1, front = 0, places = 1;
    /// The plane of the volume that plane k of the kernel meets at a place.
    constexpr long plane(long place, long k) const { return place * stride + k * dilation - front; }
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[0][0] * c.places, c.kernel * in[0][1], in[0][3], in[0][4]}, 4, in[0].dtype};
  }
  /// The sum over the planes of the kernel, from the last one on, of what each met.
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<StackedPlanes>();
    const TensorType x = d.type(0);
    const int own = x[1] / c.groups, pixels = x[3] * x[4];
    const TensorType parts{{x[0], c.places, c.groups, c.kernel, own, pixels}, 6, x.dtype},
        planes{{x[0], x[1], x[2], pixels}, 4, x.dtype};
    const int dy = d.call_with<Reshape>(Reshape::to(parts), d.gradient());
    int sum = -1;
    for (int k = c.kernel; k-- > 0;) {
      int first = 0, last = c.places;  // places where it meets the volume
      while (first < last && c.plane(first, k) < 0) ++first;
      while (first < last && c.plane(last - 1, k) >= x[2]) --last;
      if (first == last) continue;
      SliceWindow met = SliceWindow::all(parts, 3), put = SliceWindow::all(planes, 2);
      met.first[0] = first, met.part[0] = last - first, met.first[2] = k, met.part[2] = 1;
      put.first[2] = int(c.plane(first, k)), put.step[2] = c.stride;
      const TensorType images{{x[0], last - first, x[1], pixels}, 4, x.dtype};
      const int image = d.call_with<Reshape>(Reshape::to(images), d.call_with<Slice>(met, dy));
      const int term =
          d.call_with<SliceGrad>(put, d.call_with<Transpose>(detail::transpose_order<0, 2, 1, 3>(4), image));
      sum = sum < 0 ? term : d.call<Add>(sum, term);
    }
    if (sum < 0) d.no_gradient(0);
    else d.flows_to(0, d.call_with<Reshape>(Reshape::to(x), sum));
  }
};

namespace detail {
template <class W, int groups, bool transposed>
struct VolumeRule {
  static constexpr FixedString name{"Conv3d"};
  static constexpr TensorType w = W::dims;
  static constexpr int channels = transposed ? w[0] : w[1] * groups;
  static constexpr bool holds(const TensorType& x) {
    return x.rank == 5 && w.rank == 5 && x[1] == channels && groups > 0 && w[0] % groups == 0;
  }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << (transposed ? "Conv3dTranspose" : "Conv3d") << " needs an input [n," << channels
          << ",D,H,W] and groups that divide the channels, got " << x << " for its weight " << w << " and " << groups
          << " groups";
  }
};
template <class W>
struct SmallVolumeRule {
  static constexpr FixedString name{"Conv3d"};
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "Conv3d got an input " << x << " smaller than its kernel " << W::dims;
  }
};
/// Images [n D, C, H, W] as volumes [n, C, D, H, W].
template <int depth, class X>
constexpr auto as_volumes(const X& x, const std::source_location& at) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr TensorType t = X::dims;
    constexpr TensorType images{{t[0] / depth, depth, t[1], t[2], t[3]}, 5, t.dtype};
    return transpose<0, 2, 1, 3, 4>(apply<Reshape, Reshape::to(images)>(at, x), at);
  }
}
/// The images that a plane of the result is the convolution of: [n OD, groups · kernel depth · C / groups, H, W].
template <Conv3dOptions o, WindowAxis depth, int kernel, class X>
constexpr auto stacked_planes(const X& x, const std::source_location& at) {
  return apply<StackedPlanes,
               StackedPlanes::Config{o.groups, kernel, o.stride.d, o.dilation.d, depth.before, depth.extent}>(at, x);
}
}  // namespace detail

/// Convolution of volumes: `conv3d<Conv3dOptions{.stride = 2}>(x, weight)`.
///
/// x           [n, C, D, H, W]; floating-point
/// weight      [O, C / groups, kd, kh, kw]
/// result      [n, O, OD, OH, OW], extents by pad_mode
/// derivative  of the operators it consists of
/// order       as conv2d of images of kd C channels, which are copied side by side: a chain over (kd, C, kh, kw)
/// source      MindSpore's Conv3D, PyTorch's conv3d
template <Conv3dOptions options = Conv3dOptions{}, Operand X, Operand W>
constexpr auto conv3d(const X& x, const W& weight, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<W>) return weight;
  else
    return where_fits<detail::VolumeRule<W, options.groups, false>>(at, x, [&](const auto& v) {
      constexpr TensorType w = W::dims;
      constexpr WindowAxis depth = window_axis(options.pad_mode, X::dims[2], w[2], options.stride.d, options.dilation.d,
                                               options.padding.front, options.padding.back);
      if constexpr (depth.extent < 1) return apply<Refused<detail::SmallVolumeRule<W>>>(at, v);
      else {
        constexpr TensorType flat{{w[0], w[2] * w[1], w[3], w[4]}, 4, w.dtype};
        const auto kernel = apply<Reshape, Reshape::to(flat)>(at, transpose<0, 2, 1, 3, 4>(weight, at));
        return detail::as_volumes<depth.extent>(
            conv2d<options.plane()>(detail::stacked_planes<options, depth, w[2]>(v, at), kernel, at), at);
      }
    });
}

/// Transposed convolution of volumes: what the gradient of conv3d with respect to its input computes.
///
/// x           [n, C, D, H, W]; floating-point
/// weight      [C, O / groups, kd, kh, kw]
/// result      [n, O, OD, OH, OW], extents as of conv2d_transpose
/// order       conv2d_transpose of each plane of the kernel; these are added in the order of planes
/// source      MindSpore's Conv3DTranspose, PyTorch's conv_transpose3d
template <Conv3dTransposeOptions options = Conv3dTransposeOptions{}, Operand X, Operand W>
constexpr auto conv3d_transpose(const X& x, const W& weight,
                                std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<W>) return weight;
  else
    return where_fits<detail::VolumeRule<W, options.groups, true>>(at, x, [&](const auto& v) {
      constexpr TensorType t = X::dims, w = W::dims;
      constexpr int kernel = w[2], stride = options.stride.d, dilation = options.dilation.d,
                    out = w[1] * options.groups, whole = t[2] * stride + (kernel - 1) * dilation;
      constexpr WindowAxis depth =
          transposed_axis(options.pad_mode, t[2], kernel, stride, dilation, options.padding.front, options.padding.back,
                          options.output_padding.d);
      constexpr TensorType images{{t[0] * t[2], t[1], t[3], t[4]}, 4, t.dtype},
          flat{{w[0], w[1] * w[2], w[3], w[4]}, 4, w.dtype};
      const auto planes =
          conv2d_transpose<options.plane()>(apply<Reshape, Reshape::to(images)>(at, transpose<0, 2, 1, 3, 4>(v, at)),
                                            apply<Reshape, Reshape::to(flat)>(at, weight), at);
      if constexpr (is_broken<decltype(planes)>) return planes;
      else {
        constexpr TensorType y = decltype(planes)::dims;
        constexpr int pixels = y[2] * y[3];
        constexpr TensorType parts{{t[0] * t[2], out, kernel, pixels}, 4, y.dtype},
            spread{{t[0], t[2], 1, out * pixels}, 4, y.dtype}, line{{t[0], t[2] * stride, out * pixels}, 3, y.dtype},
            result{{t[0] * depth.extent, out, y[2], y[3]}, 4, y.dtype};
        const auto all = apply<Reshape, Reshape::to(parts)>(at, planes);
        // plane k of the kernel, at every stride-th depth from k on
        const auto placed = [&]<int k>(std::integral_constant<int, k>) {
          const auto own = slice<Part{}, Part{}, Part{k, k + 1}>(all, at);
          const auto apart =
              pad<Margin{}, Margin{}, Margin{0, stride - 1}>(apply<Reshape, Reshape::to(spread)>(at, own), 0, at);
          constexpr int missing = depth.before + depth.extent > whole ? depth.before + depth.extent - whole : 0;
          return pad<Margin{}, Margin{k * dilation, (kernel - 1 - k) * dilation + missing}>(
              apply<Reshape, Reshape::to(line)>(at, apart), 0, at);
        };
        const auto sum = [&]<int... K>(std::integer_sequence<int, K...>) {
          auto total = placed(std::integral_constant<int, 0>{});
          ((total = add(total, placed(std::integral_constant<int, K + 1>{}), at)), ...);
          return total;
        }(std::make_integer_sequence<int, kernel - 1>{});
        const auto cut = slice<Part{}, Part{depth.before, depth.before + depth.extent}>(sum, at);
        return detail::as_volumes<depth.extent>(apply<Reshape, Reshape::to(result)>(at, cut), at);
      }
    });
}

}  // namespace ops
}  // namespace tenon
