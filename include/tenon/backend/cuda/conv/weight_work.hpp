// How the gradient of a convolution for its weight is cut: samples and segments of a block, chunks of pixels.
#pragma once
#include <tenon/backend/cuda/conv/image_tile.hpp>
#include <tenon/backend/cuda/device.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Where the parts of the work are. A block has `together` samples, a power of two; or one segment of one sample, where
/// segments are `apart`. It has `chunk_rows` x `chunk_columns` pixels of dy in shared memory at a time.
struct WeightPlan {
  int samples, groups, inputs, outputs;  // channels of a group
  int image_h, image_w, height, width;   // height and width of dy
  PixelAxis y, x;
  int segment_rows, segment_columns, across, segment_count;  // of PixelSegments; `across` side by side
  int together;
  bool apart;
  int chunk_rows, chunk_columns;
  int channels, size;                // of the image in shared memory, and floats of each
  int chunk_samples;                 // whole ones, in a chunk of all of their pixels
  bool image_quads, gradient_quads;  // rows can be copied by four aligned floats

  TENON_DEVICE constexpr int taps() const { return y.taps * x.taps; }
  TENON_DEVICE constexpr int columns() const { return inputs * taps(); }
  TENON_DEVICE constexpr long count() const { return long(groups) * outputs * columns(); }
  /// Floats of a slot of the workspace: aligned to 16 bytes.
  TENON_DEVICE constexpr long slot() const { return (count() + 3) / 4 * 4; }
  TENON_DEVICE constexpr int pad_top() const { return -y.image; }
  TENON_DEVICE constexpr int pad_left() const { return -x.image; }
  TENON_DEVICE constexpr int segments() const { return segment_count; }
  TENON_DEVICE constexpr ImagePart part() const {
    return {{(chunk_columns + ImageTile::run - 1) / ImageTile::run, chunk_rows, 1}, y, x};
  }
  /// Floats of the image in a stage, after which the gradients begin at a multiple of 16 bytes.
  TENON_DEVICE constexpr int image() const { return (channels * size + 3) / 4 * 4; }
  /// Sums per element in the workspace.
  TENON_DEVICE constexpr long slots() const {
    return apart ? long(samples) * segments() : (samples + together - 1) / together;
  }
  TENON_DEVICE constexpr int levels() const {
    int all = 0;
    for (int left = together; left > 1; left /= 2) ++all;
    return all;
  }
  /// Sums per element that wait in shared memory: of each level of the tree over samples, and of earlier segments.
  TENON_DEVICE constexpr int waiting() const { return levels() + (!apart && segments() > 1 ? 1 : 0); }
};

namespace detail {
/// The chunks of the pixels of some samples, in the order of backend/order.hpp.
struct PixelWalk {
  const WeightPlan& plan;
  int sample, segment, row, column;

  __device__ PixelWalk(const WeightPlan& of, int first_sample, int first_segment)
      : plan(of), sample(first_sample), segment(first_segment) {
    to_segment();
  }
  __device__ int first_row() const { return (plan.across > 1 ? segment / plan.across : segment) * plan.segment_rows; }
  __device__ int first_column() const { return plan.across > 1 ? segment % plan.across * plan.segment_columns : 0; }
  __device__ int end_row() const { return least(first_row() + plan.segment_rows, plan.height); }
  __device__ int end_column() const { return least(first_column() + plan.segment_columns, plan.width); }
  __device__ int rows() const { return least(end_row() - row, plan.chunk_rows); }
  __device__ int columns() const { return least(end_column() - column, plan.chunk_columns); }
  __device__ void to_segment() { row = first_row(), column = first_column(); }
  /// To the next chunk; true if a segment has ended.
  __device__ bool next() {
    if (plan.chunk_samples > 1) {
      sample += plan.chunk_samples;
      return true;
    }
    if ((column += plan.chunk_columns) < end_column()) return false;
    column = first_column();
    if ((row += plan.chunk_rows) < end_row()) return false;
    if (++segment == plan.segments()) segment = 0, ++sample;
    to_segment();
    return true;
  }

 private:
  __device__ static int least(int a, int b) { return a < b ? a : b; }
};
}  // namespace detail

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
