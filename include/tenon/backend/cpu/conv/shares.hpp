// How threads share a convolution: which rows of which samples each computes.
#pragma once
#include <tenon/backend/cpu/conv/plan.hpp>

namespace tenon::inline TENON_ABI::kernel::detail {

// Walks the items [begin, end): neighbouring row blocks of one sample and group go in one call of body(sample, group,
// row0, rows).
template <class Geometry, class Body>
[[gnu::always_inline]] inline void each_run(const Geometry& c, long groups, long begin, long end, Body&& body) {
  for (long item = begin; item < end;) {
    const long block = item % c.row_blocks, plane = item / c.row_blocks;
    const long left = c.row_blocks - block, run = end - item < left ? end - item : left;
    const long row0 = border(c.rows, c.row_blocks, block);
    body(plane / groups, plane % groups, row0, border(c.rows, c.row_blocks, block + run) - row0);
    item += run;
  }
}
// The first row of an item where weights are packed. Rows that are lanes come in whole vectors: half a vector would
// take as long as a whole one. So some items have no rows.
template <class T>
constexpr long packed_border(const ConvPlan& c, long block) {
  const long row = border(c.rows, c.row_blocks, block);
  if (!c.channels_last) return row;
  const long whole = round_up(row, tile_step<ProductSum<T>>);
  return whole < c.rows ? whole : c.rows;
}
// The same items where weights are packed: pack(group, row0, rows) for as many rows as fit, then the runs within them
// of all samples, body(sample, group, row0, rows, rows after the first packed one, samples): up to `together` samples
// of which all these rows are asked.
template <class T, class Pack, class Body>
[[gnu::always_inline]] inline void each_packed_run(const ConvPlan& c, long groups, long begin, long end, Pack&& pack,
                                                   Body&& body) {
  const long blocks = packed_blocks<T>(c), row_blocks = c.row_blocks;
  // of one sample and group only these blocks
  const bool one = begin < end && begin / row_blocks == (end - 1) / row_blocks;
  const long begins = one ? begin % row_blocks : 0, ends = one ? begins + end - begin : row_blocks;
  for (long group = 0; group < groups; ++group)
    for (long first = begins; first < ends; first += blocks) {
      const long last = first + blocks < ends ? first + blocks : ends;
      const long packed0 = packed_border<T>(c, first);
      bool packed = false;
      for (long plane = begin / row_blocks / groups * groups + group, samples; plane * row_blocks < end;
           plane += samples * groups) {
        samples = 1;
        const long at = plane * row_blocks, from = begin > at + first ? begin - at : first,
                   to = end < at + last ? end - at : last;
        if (from >= to) continue;
        const long row0 = packed_border<T>(c, from), rows = packed_border<T>(c, to) - row0;
        if (rows == 0) continue;
        if (!packed) pack(group, packed0, packed_border<T>(c, last) - packed0);
        packed = true;
        if (from == first && to == last)
          while (samples < samples_together(c) && (plane + samples * groups) * row_blocks + last <= end) ++samples;
        body(plane / groups, group, row0, rows, row0 - packed0, samples);
      }
    }
}

}  // namespace tenon::kernel::detail
