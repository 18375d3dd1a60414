// The order of additions: where chains end and how their sums are combined, the same for every target, so that their
// results are bit-identical. It depends on the shape alone.
//
// A chain adds one term after the other, each product by one fmadd, starting from +0. No chain has more than 256 steps.
// A longer sum is a sum of chains' sums:
//   products        chains of `segment_units` steps, added one after the other: ((s0 + s1) + s2) + ...
//   convolutions    forward, and the gradient for the input: chains over (channel, row, column of the kernel) of whole
//                   channels (conv_segment), added one after the other; at last + 0. Taps that meet padding or a plane
//                   of zeros may be left out: with finite weights they change nothing
//   their weights   chains over the pixels of dy in row-major order (pixel_segments), added one after the other; then
//                   the samples (below)
//   sums of images  per channel: the same pixels in float64, each segment rounded to float32; the segments of a sample
//                   as a SumTree, then the samples (below)
//   samples         the 16 samples of a block as a tree, neighbours first, missing ones as +0; then the blocks one
//                   after the other, sums per channel in chains of `block_chain` blocks as a SumTree; at last + 0
//   sums of rows    16 lanes, element i in lane i mod 16, the lanes 8 and 8, 4 and 4, 2 and 2, 1 and 1; a lane's chain
//                   has `lane_chain` elements where the terms are the elements, `term_chain` where they are computed;
//                   the chains' sums as a SumTree
//   averages        of windows of more than `most_window_chain` elements: the order of the sums of rows, a run per row
//                   of the window, one run where the window is as wide as its plane; of others one chain
//   columns         chains of `sum_chain` rows, as a SumTree
//   running sums    chains of 256 elements; to each partial sum of a chain the sum of the chains before is added, which
//                   itself is blocks of 256 chains: (b0 + b1 + ...) + (c0 + c1 + ...)
//   elimination     of matrices, Cholesky factors, triangular systems, in float64: an element minus the sums of
//                   segments of `elimination_segment` columns (of x: rows), in the order in which they are eliminated
//                   (known), each a chain from +0; then one chain goes on with the columns of the element's own segment
//   places by index (the gradients of sort and gather_elements) one chain in float64 in ascending order of the position
//                   along the axis, rounded once
//   rows by index   (the gradient of gather): for each row of the table chains of `sum_chain` of its places in
//                   ascending order, as a SumTree
// Exceptions, with one chain of any length: convolutions of other types than float32; kernels of more than 256 taps,
// whose chains are a channel long; Winograd's algorithm, which is asked for by name, over channels; the gradients of
// pooling and resizing at a pixel with many windows; recurrence over time, and in the gradient of running products;
// CTC.
// A SumTree (cpu/reduce/sum_tree.hpp) adds up neighbours first: sums 0 and 1, 2 and 3, then these two, and so on; a sum
// without a neighbour waits for the next level, lower levels are added first.
#pragma once
#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Steps of a segment of a sum of products of type A, 256 of float32. A chain of fmadd rounds once per step to the size
/// of all that it has added so far, so its error grows with its length; a sum of short chains, added one after the
/// other, rounds that often to the size of a segment only. 1 KB of sums, whatever their type: a segment is what a
/// product has packed of its operands when it visits the sums, so that adding it costs what continuing the chain would.
template <class A>
inline constexpr long segment_units = 1024 / sizeof(A);

/// Terms of a chain: of sums that stand side by side; of a sum in lanes; and of computed terms in lanes. A plain chain
/// loses digits with its length: a million equal numbers three of seven. Chains this short lose about one, and what is
/// done between them takes little of the time.
inline constexpr long sum_chain = 32, lane_chain = 8, term_chain = 64;

/// Lanes of a sum of a row, and elements of a row whose computed terms are added up in lanes; longer rows are a tree of
/// such pieces.
inline constexpr int reduce_lanes = 16;
inline constexpr long lane_piece = term_chain * reduce_lanes;

/// Steps of a segment of the sums in the elimination of a matrix, and of those with a triangular one, in double.
inline constexpr long elimination_segment = 256;

/// Elements of the largest window that an average adds up in one chain.
inline constexpr long most_window_chain = 128;

/// The size of the pieces if `extent` is cut into the fewest pieces of at most `most`, as even as possible: all have
/// this size, the last one may have less. At least 1.
constexpr long even_piece(long extent, long most) {
  if (extent <= most) return extent > 0 ? extent : 1;
  const long pieces = (extent + most - 1) / most;
  return (extent + pieces - 1) / pieces;
}

/// Taps along an axis that a pixel of the gradient for the input of a convolution has at most. A stride leaves out the
/// others. conv_segment needs the product of both axes; forward, it needs all taps of the kernel.
constexpr long input_taps(long kernel, long stride, long dilation) {
  long divisor = stride, rest = dilation;  // the greatest common one
  while (rest > 0) {
    const long next = divisor % rest;
    divisor = rest, rest = next;
  }
  return (kernel * divisor + stride - 1) / stride;
}
/// Channels of a segment of a convolution of float32, or of the gradient for its input: segment i has the channels
/// i * conv_segment .. of the group, of x (or of dy), with all taps of each. At least one whole channel: kernels of
/// more than 256 taps have longer chains. One tap: as a product.
constexpr long conv_segment(long channels, long taps) {
  constexpr long most = segment_units<float>;
  if (taps <= 1) return most;
  return even_piece(channels, taps < most ? most / taps : 1);
}

/// The segments of a plane of `height` rows of `width` pixels: of whole rows, at most 256 pixels, or even pieces of a
/// row that is longer. They follow each other in the order of their pixels.
struct PixelSegments {
  long rows, columns;  // of a segment; the last rows and, in a longer row, the last columns may be fewer
  long height, width;

  constexpr bool several() const { return rows < height || columns < width; }
  constexpr long side_by_side() const { return (width + columns - 1) / columns; }
  constexpr long count() const { return (height + rows - 1) / rows * side_by_side(); }
  /// The pixel after the segment of a pixel, both counted from the first one of the plane.
  constexpr long end(long pixel) const {
    const long y = pixel / width, x = pixel % width, right = (x / columns + 1) * columns, below = (y / rows + 1) * rows;
    if (right < width) return y * width + right;
    return (below < height ? below : height) * width;
  }
};
constexpr PixelSegments pixel_segments(long height, long width) {
  constexpr long most = segment_units<float>;
  if (width > most) return {1, even_piece(width, most), height, width};
  const long columns = width > 0 ? width : 1;
  return {even_piece(height, most / columns), columns, height, width};
}

}  // namespace tenon::kernel
TENON_EXACT_END
