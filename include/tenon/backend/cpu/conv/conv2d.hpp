// Convolution in two dimensions, its gradient for the input, and (conv/weight_gradient.hpp) its gradient for the
// weight. No im2col.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/plan.hpp>
#include <tenon/backend/cpu/conv/weight_gradient.hpp>
#include <tenon/core/function_ref.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/conv/channels_last.hpp>
#include <tenon/backend/cpu/conv/direct.hpp>
#include <tenon/backend/cpu/conv/pointwise.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Independent parts of the convolution: the unit in which threads divide it. A thread should take neighbouring parts.
constexpr long conv2d_items(const Conv2dSizes& s) { return s.n * s.groups * ceil_div(s.group_results(), tile_rows); }

/// Bytes of scratch that one thread needs, aligned to 64 bytes: below 1 MB (where channels are lanes: 3 MB) unless one
/// row of all channels of a group is larger.
template <class T>
constexpr std::size_t conv2d_workspace(const Conv2dSizes& s) {
  return detail::conv_bytes<T>(s, detail::conv_plan<T>(s, false), detail::conv_plan<T>(s.of(detail::many_samples)));
}

/// The kernels that a convolution may need: pixels as the lanes of vectors, if samples are many enough channels, a
/// matrix product, channels as the lanes of whole images; `any` of them.
enum class ConvWay : char { pixels, channels, product, whole_images, any };
template <class T>
constexpr ConvWay conv2d_way(const Conv2dSizes& s) {
  const detail::ConvPlan c = detail::conv_plan<T>(s.of(detail::many_samples));
  return c.product         ? ConvWay::product
         : c.whole_images  ? ConvWay::whole_images
         : c.channels_last ? ConvWay::channels
                           : ConvWay::pixels;
}

/// y from x (`from`), or of sizes that are for_input() dx from dy.
/// y(o, i, j) = chain of fmadd over (c, r, k) of the group, from +0, padded taps included with a zero; rounded once to
/// T, float32 (and bfloat16 with lanes) + 0 at last. float32: segments of c (backend/order.hpp), each a chain, added
/// one after the other. bfloat16 goes over pairs of c: at each (pair, r, k) the second channel comes first, with a
/// zero where an odd last one has no partner.
/// dx(c, i, j) = chain of fmadd over (o, r, k) of the group, in ascending order, from +0, of weight(o, c, r, k) * dy(o,
/// y, x) with y * stride + r * dilation = i + pad and likewise x. A tap without such an integer y and x (it meets one
/// of the zeros that a stride inserts into dy) is left out, of bfloat16 in pairs of o as above; a tap whose y or x lies
/// outside dy is included with a zero; float32 + 0 at last. Segments (of o) and lanes as above.
/// Computes the parts [begin, end) of conv2d_items; after the channels o0 .. o0 + count - 1 of a sample are complete,
/// finish(sample, o0, count).
/// `way`: conv2d_way or `any`, so that a program has no code for the others; the compiled part has `any` only.
template <class T, ConvWay way = ConvWay::any>
[[gnu::noinline]] void conv2d(const Conv2dSizes& s, const T* from, const T* weight, T* to, long begin, long end,
                              void* workspace, FunctionRef<long, long, long> finish);

#if TENON_DEFINES
namespace detail {
// Where a convolution has its operands and result, of all samples and groups.
template <class T>
struct ConvOperands {
  const T *from, *weight;
  T* to;
  long n, groups;
  FunctionRef<long, long, long> finish;
};
// Computes the parts [begin, end).
template <class T, class Worker>
[[gnu::always_inline]] inline void convolve(const ConvPlan& c, Worker& worker, const ConvOperands<T>& o, long begin,
                                            long end) {
  const long planes = c.planes * c.h * c.w, from_step = o.groups * planes, to_plane = c.height * c.width,
             to_step = o.groups * c.rows * to_plane, group_weights = c.group_weights();
  const auto run = [&](long sample, long group, long row0, long rows, [[maybe_unused]] long packed = 0,
                       long samples = 1) {
    const T* const from = o.from + sample * from_step + group * planes;
    T* const to = o.to + sample * to_step + (group * c.rows + row0) * to_plane;
    if constexpr (std::is_same_v<Worker, ChannelsLastConv<T>>)
      worker.run(from, to, rows, packed, {samples, from_step, to_step},
                 sample + samples < o.n ? from + samples * from_step : nullptr);
    else
      worker.run(o.weight + group * group_weights + row0 * c.row_step, from, to, rows, packed,
                 sample + 1 < o.n ? from + from_step : nullptr);
    for (long k = 0; o.finish && k < samples; ++k) o.finish(sample + k, group * c.rows + row0, rows);
  };
  if constexpr (Worker::packs) {
    const auto pack = [&](long group, long row0, long rows) {
      worker.pack(o.weight + group * group_weights + row0 * c.row_step, rows);
    };
    each_packed_run<T>(c, o.groups, begin, end, pack, run);
  } else {
    each_run(c, o.groups, begin, end, run);
  }
}
// The same for whole images, with packed weights. An item has whole vectors of channels, so that some have none.
inline void convolve_whole(const WholeImagesPlan& c, const WholeImages& images, const ConvOperands<float>& o,
                           long begin, long end, char* workspace) {
  float *const sums = reinterpret_cast<float*>(workspace), *const padded =
                                                               reinterpret_cast<float*>(workspace + c.padded_at);
  if (c.copied) clear(padded, c.image.elements());
  each_run(c, o.groups, begin, end, [&](long sample, long group, long row0, long rows) {
    const long first = round_up(row0, simd_width<float>), count = round_up(row0 + rows, simd_width<float>) - first,
               block = sample * o.groups + group, channel = group * c.rows + first;
    if (count == 0) return;
    images.run(o.from + block * c.planes * c.h * c.w, o.to + (block * c.rows + first) * c.pixels, group, first, count,
               sums, padded);
    if (o.finish) o.finish(sample, channel, count);
  });
}
[[gnu::noinline]] inline void pack_and_convolve(const Conv2dSizes& s, const ConvOperands<float>& o, long begin,
                                                long end, void* workspace) {
  const WholeImagesPlan c = whole_images_plan(s);
  char* const packed = static_cast<char*>(workspace);
  WholeImages images(c, packed);
  images.pack(o.weight, s.groups);
  convolve_whole(c, images, o, begin, end, packed + c.packed);
}
// The same by the way that the plan says, of those that `way` leaves.
template <class T, ConvWay way>
[[gnu::always_inline]] inline void convolve_by(const Conv2dSizes& s, const ConvPlan& c, const ConvOperands<T>& o,
                                               long begin, long end, void* workspace) {
  constexpr bool any = way == ConvWay::any;
  if constexpr ((way == ConvWay::product || any) && may_add_zeros<T>)
    if (c.product) {
      PointwiseConv<T> conv(c, workspace);
      return convolve(c, conv, o, begin, end);
    }
  if constexpr ((way == ConvWay::channels || any) && may_be_channels_last<T>)
    if (c.channels_last) {
      ChannelsLastConv<T> conv(c, workspace);
      add_taps(conv, c);
      return convolve(c, conv, o, begin, end);
    }
  if constexpr ((way == ConvWay::whole_images || any) && std::is_same_v<T, float>)
    if (c.whole_images) return pack_and_convolve(s, o, begin, end, workspace);
  if constexpr (way == ConvWay::pixels || way == ConvWay::channels || any) {
    DirectConv<T> conv(c, workspace);
    add_taps(conv, c);
    convolve(c, conv, o, begin, end);
  }
}
}  // namespace detail

template <class T, ConvWay way>
void conv2d(const Conv2dSizes& s, const T* from, const T* weight, T* to, long begin, long end, void* workspace,
            FunctionRef<long, long, long> finish) {
  const detail::ConvPlan c = detail::conv_plan<T>(s, way != ConvWay::pixels);
  detail::convolve_by<T, way>(s, c, {from, weight, to, s.n, s.groups, finish}, begin, end, workspace);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
