// Where the parts of the work of a convolution are: its tiles, the place of a block, its weights in the workspace.
#pragma once
#include <tenon/backend/cuda/conv/image_tile.hpp>
#include <tenon/backend/cuda/device.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// How a block computes its tile: channels and runs of pixels of a thread; blocks for which a multiprocessor has
/// registers; bytes of shared memory for the factors of a stage, more if a multiprocessor has two blocks at most. A
/// warp has 4 x 8 threads, a block 2 x 2 warps.
template <int Channels, int Runs, int Resident, int StageBytes, int Phases = 1>
struct ConvTile {
  static constexpr int threads = 128, resident = Resident, stage_bytes = StageBytes,
                       large_stage_bytes = StageBytes * 9 / 5, thread_channels = Channels, thread_runs = Runs,
                       channels = 8 * Channels, runs = 16 * Runs, pitch = channels + 4,
                       thread_pixels = Runs * Phases * ImageTile::run, sums = Channels * thread_pixels;
  static constexpr bool wide = Channels == 8;
};
using WideConvTile = ConvTile<8, 2, 3, 20 << 10>;
using NarrowConvTile = ConvTile<4, 1, 6, 12 << 10>;
/// Those of ConvSides::is_fourfold(), whose runs have four phases each.
using WideFourfoldTile = ConvTile<8, 1, 2, 20 << 10, 4>;
using NarrowFourfoldTile = ConvTile<4, 1, 3, 7 << 10, 4>;

/// Taps that a kernel of the GPU is compiled for: ConvSides::side(), met in the image backwards if `mirrored`; places
/// of the image from one pixel to the next; if both, fourfold.
template <int Side, bool Mirrored = false, int Step = 1>
struct ConvTaps {
  static constexpr int side = Side, step = Step;
  static constexpr bool mirrored = Mirrored, fourfold = Mirrored && Step == 2;
};

/// Where the parts of the work of a convolution are. Blocks compute no quotients of what is known before.
struct ConvPlan {
  ConvSides sides;
  ImageTile tile;
  PixelAxis y, x;                       // of the first phase, which has the most pixels
  int columns, rows, stacks, channels;  // tiles: beside and below each other, of samples, of results
  int samples;
  int planes;      // that are in shared memory at a time
  int parts;       // blocks that share the segments of a tile; with several, sums of segments go to the workspace
  int size, taps;  // of ImagePart, and taps: the most of a phase
  bool quads;      // rows of the image are copied by four aligned floats
  bool turns;      // the weights are put into the workspace before, as [group][plane][tap][result]

  /// Of turned weights: floats from one tap to the next, and of all.
  TENON_DEVICE constexpr int line() const { return (sides.results + 3) / 4 * 4; }
  TENON_DEVICE constexpr long turned() const {
    return turns ? long(sides.groups) * sides.planes * sides.kernel_taps() * line() : 0;
  }
  /// Floats from a plane's weights to the next one's, and from a tap to the next.
  TENON_DEVICE constexpr long plane_step() const {
    return turns ? long(sides.kernel_taps()) * line() : sides.plane_step();
  }
  TENON_DEVICE constexpr int tap_step() const { return turns ? line() : 1; }

  TENON_DEVICE constexpr int first_segment(int part) const {
    const int all = sides.segments(), each = all / parts, more = all % parts;
    return part * each + (part < more ? part : more);
  }
  /// Sums per element in the workspace: one of the first part, those of all later segments.
  TENON_DEVICE constexpr int slots() const { return parts > 1 ? 1 + sides.segments() - first_segment(1) : 0; }
  constexpr long blocks() const {
    return long(columns) * rows * stacks * channels * sides.groups * sides.phases_h() * sides.phases_w() * parts;
  }
};

namespace detail {
/// What the threads of a block have in common. It is in shared memory, and takes no registers while they multiply.
struct ConvPlace {
  PixelAxis y, x;
  ImagePart lies;
  int part, group, row0, column0, sample0, channel0;  // where the tile is
  const float *image, *weights;                       // of the group: the first plane of sample0, and of channel0

  /// The place of block `index`: pixels are counted first, then channels, phases, of which the last have most taps,
  /// groups, and parts.
  __device__ static ConvPlace of(const ConvPlan& plan, const Arguments& a, int index, int tile_channels) {
    const ConvSides& s = plan.sides;
    const auto next = [&](int count) {  // mostly 1, and all threads wait for these divisions
      if (count == 1) return 0;
      const int own = index % count;
      index /= count;
      return own;
    };
    const int column0 = next(plan.columns) * ImageTile::run * plan.tile.across, row0 = next(plan.rows) * plan.tile.rows,
              sample0 = next(plan.stacks) * plan.tile.samples, channel0 = next(plan.channels) * tile_channels,
              phases_w = s.phases_w(), phases_h = s.phases_h(), phase_w = phases_w - 1 - next(phases_w),
              phase_h = phases_h - 1 - next(phases_h), group = next(s.groups), part = index;
    const PixelAxis y = phases_h == 1 ? plan.y : s.rows(phase_h), x = phases_w == 1 ? plan.x : s.columns(phase_w);
    const float* const image = a.operand<float>(s.input_gradient ? 1 : 0) + sample0 * s.image() +
                               long(group) * s.planes * s.image_h * s.image_w;
    const float* const weights =
        plan.turns ? reinterpret_cast<const float*>(a.workspace) + long(group) * s.planes * plan.plane_step() + channel0
                   : a.operand<float>(s.input_gradient ? 0 : 1) + long(group) * s.planes * s.results * s.kernel_taps() +
                         channel0 * s.result_step();
    return {y, x, ImagePart::of(s, plan.tile, y, x), part, group, row0, column0, sample0, channel0, image, weights};
  }
  __device__ bool is_empty() const { return row0 >= y.count || column0 >= x.count; }
};

inline constexpr int conv_place_bytes = (sizeof(ConvPlace) + 15) / 16 * 16;
}  // namespace detail

/// Puts the weights into the workspace as [group][plane][tap][result], by squares of 32 x 32.
struct TurnedWeights {
  static constexpr int threads = 256, side = 32, down = threads / side;
  int which, results, taps, line, down_squares;  // operand; squares from one group's first result to the next one's
  int lines, result_step, plane_step;            // of a group
  __device__ void block(const Arguments& a) const {
    __shared__ float square[side][side + 1];
    const int column = int(threadIdx.x) % side, row = int(threadIdx.x) / side, squares = (lines + side - 1) / side,
              index = int(blockIdx.x) / squares, first = index % down_squares * side, group = index / down_squares,
              line0 = int(blockIdx.x) % squares * side, own = line0 + column;
    const float* const from =
        a.operand<float>(which) + long(group) * lines * results + own / taps * plane_step + own % taps;
#pragma unroll
    for (int i = row; i < side; i += down)
      square[i][column] = own < lines && first + i < results ? from[long(first + i) * result_step] : 0;
    __syncthreads();
    float* const to = reinterpret_cast<float*>(a.workspace) + (long(group) * lines + line0) * line + first + column;
#pragma unroll
    for (int i = row; i < side; i += down)
      if (line0 + i < lines && first + column < line) to[i * line] = square[column][i];
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
