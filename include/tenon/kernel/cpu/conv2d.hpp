// Convolution in two dimensions, its gradient for the input, and (conv2d_weight.hpp) its gradient for the weight. No im2col.
#pragma once
#include <cstddef>

#include <tenon/core/function_ref.hpp>
#include <tenon/kernel/cpu/conv2d_weight.hpp>
#include <tenon/kernel/cpu/correlate.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Independent parts of the convolution: the unit in which threads divide it. A thread should take neighbouring parts.
constexpr long conv2d_items(const Conv2dSizes& s) { return s.n * s.groups * ceil_div(s.group_outputs(), tile_rows); }
constexpr long conv2d_backward_input_items(const Conv2dSizes& s) { return s.n * s.groups * ceil_div(s.group_inputs(), tile_rows); }

/// Bytes of scratch that one thread needs, aligned to 64 bytes: below 1 MB (bfloat16: 2 MB) unless one row of all channels of a group is larger.
template <class T>
constexpr std::size_t conv2d_workspace(const Conv2dSizes& s) {
  return detail::conv_scratch<T>(detail::forward<T>(s)).total;
}
template <class T>
constexpr std::size_t conv2d_backward_input_workspace(const Conv2dSizes& s) {
  return detail::conv_scratch<T>(detail::backward_input<T>(s)).total;
}

namespace detail {
// The taps of a convolution, whose weights these are.
template <class T>
[[gnu::noinline]] void add_forward_taps(Correlator<T>& correlator, const Correlation& c, const Conv2dSizes& s, [[maybe_unused]] const T* weight) {
  for (long r = 0; r < s.kh; ++r)
    for (long k = 0; k < s.kw; ++k) correlator.add(r * s.kw + k, c.image.offset(0, r * s.dilation_h, k * s.dilation_w));
  correlator.repeat_for_planes(steps_per_unit<T> * s.taps());
  correlator.end_phase();
  if constexpr (std::is_same_v<T, float> || steps_per_unit<T> == 2)
    if ((c.by_rows || channels_in_lanes<T>(c)) && all_finite(weight, s.o * c.row_step)) correlator.leave_out_padding();
}
}  // namespace detail

/// y(o, i, j) = chain of fmadd over (c, r, k) of the group, from +0, padded taps included with a zero; rounded once to T, float32 + 0 at last.
/// bfloat16 goes over pairs of c: at each (pair, r, k) the second channel comes first, with a zero where an odd last one has no partner.
/// Computes the parts [begin, end) of conv2d_items; after the channels o0 .. o0 + count - 1 of a sample are complete, finish(sample, o0, count).
template <class T>
[[gnu::noinline]] void conv2d(const Conv2dSizes& s, const T* x, const T* weight, T* y, long begin, long end, void* workspace, FunctionRef<long, long, long> finish) {
  const detail::Correlation c = detail::forward<T>(s);
  detail::Correlator<T> correlator(c, workspace);
  detail::add_forward_taps(correlator, c, s, weight);
  const auto run = [&](long sample, long group, long row0, long rows, long packed = 0, long samples = 1) {
    const long o = group * c.rows + row0, image = s.c * s.h * s.w;
    const T* const from = x + sample * image + group * s.group_inputs() * s.h * s.w;
    correlator.run(weight + o * c.row_step, from, y + (sample * s.o + o) * s.oh * s.ow, rows, packed, {samples, image, s.o * s.oh * s.ow}, sample + 1 < s.n ? from + image : nullptr);
    for (long k = 0; finish && k < samples; ++k) finish(sample + k, o, rows);
  };
  if constexpr (correlator.widen)
    detail::each_packed_run<T>(c, s.groups, begin, end, [&](long group, long row0, long rows) { correlator.pack(weight + (group * c.rows + row0) * c.row_step, rows); }, run);
  else detail::each_run(c, s.groups, begin, end, run);
}

/// dx(c, i, j) = chain of fmadd over (o, r, k) of the group, in ascending order, from +0, of weight(o, c, r, k) * dy(o, y, x) with
/// y * stride + r * dilation = i + pad and likewise x. A tap without such an integer y and x (it meets one of the zeros that a stride
/// inserts into dy) is left out, of bfloat16 in pairs of o as above; a tap whose y or x lies outside dy is included with a zero; float32 + 0 at last. Parts and finish as for conv2d.
template <class T>
[[gnu::noinline]] void conv2d_backward_input(const Conv2dSizes& s, const T* weight, const T* dy, T* dx, long begin, long end, void* workspace, FunctionRef<long, long, long> finish) {
  const detail::Correlation c = detail::backward_input<T>(s);
  detail::Correlator<T> correlator(c, workspace);
  for (int phase_h = 0; phase_h < s.stride_h; ++phase_h)
    for (int phase_w = 0; phase_w < s.stride_w; ++phase_w, correlator.end_phase()) {
      for (long r = 0; r < s.kh; ++r)
        for (long k = 0; k < s.kw; ++k) {
          const long y = phase_h + s.pad_top - r * s.dilation_h, x = phase_w + s.pad_left - k * s.dilation_w;
          if (y % s.stride_h != 0 || x % s.stride_w != 0) continue;
          correlator.add(r * s.kw + k, c.image.offset(0, y / s.stride_h + c.image.top, x / s.stride_w + c.image.left));
        }
      correlator.repeat_for_planes(steps_per_unit<T> * c.rows * s.taps());
    }
  const long group_weights = s.group_outputs() * c.rows * s.taps();
  if constexpr (std::is_same_v<T, float> || steps_per_unit<T> == 2)
    if ((c.by_rows || detail::channels_in_lanes<T>(c)) && all_finite(weight, s.groups * group_weights)) correlator.leave_out_padding();
  const auto run = [&](long sample, long group, long row0, long rows, long packed = 0, long samples = 1) {
    const long image = s.o * s.oh * s.ow;
    const T* const from = dy + sample * image + group * s.group_outputs() * s.oh * s.ow;
    correlator.run(weight + group * group_weights + row0 * c.row_step, from, dx + (sample * s.c + group * c.rows + row0) * s.h * s.w, rows, packed,
                   {samples, image, s.c * s.h * s.w}, sample + 1 < s.n ? from + image : nullptr);
    for (long k = 0; finish && k < samples; ++k) finish(sample + k, group * c.rows + row0, rows);
  };
  if constexpr (correlator.widen)
    detail::each_packed_run<T>(c, s.groups, begin, end, [&](long group, long row0, long rows) { correlator.pack(weight + group * group_weights + row0 * c.row_step, rows); }, run);
  else detail::each_run(c, s.groups, begin, end, run);
}

}  // namespace tenon::kernel
TENON_EXACT_END
