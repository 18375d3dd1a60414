// A convolution of a constant, such as one of encoded positions.
#pragma once
#include "computing.hpp"
#include "windows.hpp"

namespace importer::evaluation {

inline Computed convolved(const Computation& c) {
  const Array &x = c.in(0), &weight = c.in(1);
  const std::size_t rank = x.extents.size(), axes = rank - 2;
  const long groups = c.n.whole("group", 1);
  if (rank < 3 || rank > 5 || weight.extents.size() != rank || groups < 1) return std::nullopt;
  Windows w(c.n, {weight.extents.begin() + 2, weight.extents.end()});
  const long after = weight.extents[0], own = weight.extents[1];
  if (own * groups != x.extents[1] || after % groups != 0 || (c.has(2) && long(c.in(2).count()) != after))
    return std::nullopt;
  const auto to = c.sample_of(w.result(c.n, c.n.shape(0), after));
  if (!to) return std::nullopt;
  const Extents from = strides_of(x.extents), kernel = w.kernel, positions(to->begin() + 2, to->end());
  const std::size_t all_taps = elements_in(kernel), places = elements_in(positions);
  if (double(elements_in(*to)) * double(all_taps) * double(own) > 0x1p32) return std::nullopt;  // minutes
  Array y(x.type, *to);
  for (long sample = 0; sample < (*to)[0]; ++sample)
    for (long channel = 0; channel < after; ++channel)
      for (std::size_t place = 0; place < places; ++place) {
        double all = c.has(2) ? c.in(2).reals[std::size_t(channel)] : 0;
        for (std::size_t tap = 0; tap < all_taps; ++tap) {
          long at = sample * from[0] + channel / (after / groups) * own * from[1];
          bool is_inside = true;
          for (std::size_t k = axes, p = place, t = tap; k-- > 0;) {
            const long i = long(p) % positions[k] * w.stride[k] + long(t) % kernel[k] * w.dilation[k] - w.pads[k];
            p /= std::size_t(positions[k]), t /= std::size_t(kernel[k]);
            is_inside = is_inside && i >= 0 && i < x.extents[2 + k];
            at += i * from[2 + k];
          }
          for (long k = 0; is_inside && k < own; ++k)
            all +=
                x.reals[std::size_t(at + k * from[1])] * weight.reals[std::size_t(channel * own + k) * all_taps + tap];
        }
        y.reals.push_back(rounded(y.type, all));
      }
  return y;
}

}  // namespace importer::evaluation
