// The gradient of a convolution for its weight in float32: a tile of output channels by columns per block, the columns
// being input channels and taps; the steps are the pixels of some samples. Sizes are numbers at run time.
#pragma once
#include <tenon/backend/cuda/async_copy.hpp>
#include <tenon/backend/cuda/conv/weight_work.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// How a block computes its tile: output channels and columns of a thread; blocks for which a multiprocessor has
/// registers. A warp has 4 x 8 threads, a block two warps across.
template <int Outputs, int Columns, int WarpsDown, int Resident>
struct WeightTile {
  static constexpr int threads = 2 * WarpsDown * warp, resident = Resident, thread_outputs = Outputs,
                       thread_columns = Columns, outputs = 4 * WarpsDown * Outputs, columns = 16 * Columns,
                       pitch = outputs + 4, sums = Outputs * Columns;
};
using WideWeightTile = WeightTile<8, 8, 2, 3>;
using NarrowWeightTile = WeightTile<4, 4, 2, 6>;

namespace detail {
template <class Tile>
struct WeightBlock {
  static constexpr int threads = Tile::threads, to = Tile::thread_outputs, tc = Tile::thread_columns,
                       columns_apart = Tile::columns / tc, run = ImageTile::run;

  const Arguments& a;
  const WeightPlan& plan;
  const int thread;
  int output0, column0, group, unit;  // of the tile; the unit is a number of samples, or a segment
  float *const waiting, *const stages;
  int base[tc];  // of a thread's columns, for the first pixel, in shared memory
  float sum[to][tc];

  __device__ WeightBlock(const Arguments& arguments, const WeightPlan& of)
      : a(arguments),
        plan(of),
        thread(int(threadIdx.x)),
        waiting(reinterpret_cast<float*>(dynamic_shared())),
        stages(waiting + plan.waiting() * Tile::sums * threads) {
    int index = int(blockIdx.x);
    const auto next = [&](int count) {
      const int own = index % count;
      index /= count;
      return own;
    };
    output0 = next((plan.outputs + Tile::outputs - 1) / Tile::outputs) * Tile::outputs;
    column0 = next((plan.columns() + Tile::columns - 1) / Tile::columns) * Tile::columns;
    group = next(plan.groups), unit = index;
  }

  __device__ void run_all() {
    const ImagePart lies = plan.part();
    find_places(lies);
    __syncthreads();
    clear();
    const int segments = plan.segments(), first_sample = plan.apart ? unit / segments : unit * plan.together,
              first_segment = plan.apart ? unit % segments : 0, left = plan.samples - first_sample,
              samples = left < plan.together ? left : plan.together;
    PixelWalk now(plan, first_sample, first_segment), ahead = now;
    fetch(0, ahead, lies);
    for (int stage = 0; now.sample < first_sample + samples; stage ^= 1) {
      const bool last_of_unit = ahead.next() && plan.apart;
      wait_for_copies();
      __syncthreads();
      if (ahead.sample < first_sample + samples && !last_of_unit) fetch(stage ^ 1, ahead, lies);
      const float *images = stages + stage * stage_size(), *gradients = images + plan.image();
      const int rows = now.rows(), columns = now.columns(), segment = now.segment, sample = now.sample;
      for (int i = 0; i < rows; ++i, images += lies.pitch, gradients += columns * Tile::pitch)
        multiply(images, gradients + thread_output(), columns);
      if (!now.next()) continue;
      if (plan.apart) break;
      if (finish_segment(segment, segments)) join_sample(sample - first_sample);
    }
    if (!plan.apart)
      for (int missing = samples; missing < plan.together; ++missing) join_sample(missing);
    put();
  }

 private:
  __device__ int stage_size() const { return plan.image() + plan.chunk_rows * plan.chunk_columns * Tile::pitch; }
  __device__ int* places() const { return reinterpret_cast<int*>(stages + 2 * stage_size()); }
  __device__ int thread_output() const {
    const int lane = thread % warp;
    return (lane % 2 + lane / 16 * 2 + thread / warp / 2 * 4) * to;
  }
  /// Column j of the thread in the tile.
  __device__ int thread_column(int j) const {
    const int own = thread % warp / 2 % 8 + thread / warp % 2 * 8;
    return own + columns_apart * j;
  }
  __device__ void clear() {
#pragma unroll
    for (int o = 0; o < to; ++o)
#pragma unroll
      for (int c = 0; c < tc; ++c) sum[o][c] = 0;
  }
  /// Row and column in the image of each place in shared memory, from those of the first pixel of a chunk.
  __device__ void find_places(const ImagePart& lies) {
    const PixelAxis y = plan.y, x = plan.x;
    for (int i = thread; i < lies.size; i += threads) {
      const int row = i / lies.pitch, column = i % lies.pitch,
                down = row % lies.row_length * y.step + row / lies.row_length,
                right = column % lies.column_length * x.step + column / lies.column_length;
      places()[i] = down << 16 | right;
    }
    const int taps = plan.taps(), first = column0 / taps;
#pragma unroll
    for (int j = 0; j < tc; ++j) {
      const int column = column0 + thread_column(j), tap = column % taps;
      const int at = (column / taps - first) * plan.size + y.place(tap / x.taps, lies.row_length) * lies.pitch +
                     x.place(tap % x.taps, lies.column_length);
      base[j] = column < plan.columns() ? at : 0;
    }
  }
  /// Starts to copy a chunk: the image at its taps, and the gradients as [pixel][output].
  __device__ void fetch(int into, const PixelWalk& chunk, const ImagePart& lies) {
    float* const images = stages + into * stage_size();
    const int size = plan.image_h * plan.image_w, first = column0 / plan.taps(), left = plan.inputs - first,
              channels = left < plan.channels ? left : plan.channels;
    const float* const from =
        a.operand<float>(0) + ((long(chunk.sample) * plan.groups + group) * plan.inputs + first) * size;
    // Threads share places, and channels where places are few.
    const int across = lies.size < threads ? (lies.size + warp - 1) / warp * warp : threads, down = threads / across,
              y0 = plan.y.lowest() + chunk.row * plan.y.step, x0 = plan.x.lowest() + chunk.column * plan.x.step;
    if (thread / across < down)
      for (int i = thread % across; i < lies.size; i += across) {
        const int place = places()[i], y = y0 + (place >> 16), x = x0 + (place & 0xffff);
        const bool inside = unsigned(y) < unsigned(plan.image_h) && unsigned(x) < unsigned(plan.image_w);
        const float* const own = from + (inside ? y * plan.image_w + x : 0);
        for (int c = thread / across; c < channels; c += down)
          copy_async(images + c * plan.size + i, own + long(c) * size, inside);
      }
    fetch_gradients(images + plan.image(), chunk);
  }
  /// Four outputs of eight pixels per warp: no two lanes write to the same bank, and neighbours read neighbours.
  __device__ void fetch_gradients(float* gradients, const PixelWalk& chunk) {
    constexpr int quads = Tile::outputs / 4, warps = threads / warp;
    static_assert(quads % warps == 0);
    const int lane = thread % warp, pixels = chunk.rows() * chunk.columns(), size = plan.height * plan.width,
              left = plan.outputs - output0;
    const float* const from = a.operand<float>(1) +
                              ((long(chunk.sample) * plan.groups + group) * plan.outputs + output0) * size +
                              chunk.row * plan.width + chunk.column;
#pragma unroll
    for (int q = 0; q < quads / warps; ++q) {
      const int output = (thread / warp + q * warps) * 4 + lane / 8;
      const bool there = output < left;
      const float* const own = from + (there ? long(output) * size : 0);
      for (int p = lane % 8; p < pixels; p += 8) copy_async(gradients + p * Tile::pitch + output, own + p, there);
    }
  }
  /// Adds the products of a row of pixels.
  __device__ void multiply(const float* images, const float* gradients, int columns) {
    int j = 0;
#pragma unroll 1
    for (; j + run <= columns; j += run, gradients += run * Tile::pitch) multiply_run<run>(images + j, gradients);
#pragma unroll 1
    for (; j < columns; ++j, gradients += Tile::pitch) multiply_run<1>(images + j, gradients);
  }
  template <int count>
  __device__ void multiply_run(const float* images, const float* gradients) {
#pragma unroll
    for (int p = 0; p < count; ++p) {
      float pixel[tc];
#pragma unroll
      for (int c = 0; c < tc; ++c) pixel[c] = images[base[c] + p];
      add_pixel(gradients + p * Tile::pitch, [&](int c) { return pixel[c]; });
    }
  }
  template <class Pixel>
  __device__ void add_pixel(const float* gradients, Pixel pixel) {
    float d[to];
#pragma unroll
    for (int o = 0; o < to; o += 4) load<4>(gradients + o, d + o);
#pragma unroll
    for (int o = 0; o < to; ++o)
#pragma unroll
      for (int i = 0; i < tc; ++i) {  // to and fro, as in ProductBlocks
        const int c = o % 2 ? tc - 1 - i : i;
        sum[o][c] = fmadd(pixel(c), d[o], sum[o][c]);
      }
  }
  template <int count>
  __device__ static void load(const float* from, float* values) {
    const auto loaded = *reinterpret_cast<const Neighbours<float, count>*>(from);
#pragma unroll
    for (int i = 0; i < count; ++i) values[i] = loaded.element[i];
  }
  /// Adds a segment to those of its sample before it. True if it is the last one: `sum` is that of the sample then.
  __device__ bool finish_segment(int segment, int segments) {
    if (segments == 1) return true;
    const bool last = segment + 1 == segments;
#pragma unroll
    for (int q = 0; q < Tile::sums; ++q) {
      float &own = sum[q / tc][q % tc], &kept = waiting[(plan.levels() * Tile::sums + q) * threads + thread];
      own = segment == 0 ? own : kept + own;
      if (!last) kept = own, own = 0;
    }
    return last;
  }
  /// `sum` is that of sample number `index`: adds those before it whose neighbour it completes.
  __device__ void join_sample(int index) {
    constexpr int step = Tile::sums * threads;
    float* level = waiting + thread;
    const float* const top = level + plan.levels() * step;
    for (; index & 1; index >>= 1, level += step)
#pragma unroll
      for (int q = 0; q < Tile::sums; ++q) sum[q / tc][q % tc] = level[q * threads] + sum[q / tc][q % tc];
    if (level == top) return;
#pragma unroll
    for (int q = 0; q < Tile::sums; ++q) level[q * threads] = sum[q / tc][q % tc], sum[q / tc][q % tc] = 0;
  }
  __device__ void put() {
    const int columns = plan.columns(), left = plan.outputs - output0 - thread_output(),
              first = column0 + thread_column(0);
    float* row = reinterpret_cast<float*>(a.workspace) + unit * plan.slot() +
                 (long(group) * plan.outputs + output0 + thread_output()) * columns + first;
#pragma unroll
    for (int o = 0; o < to; ++o, row += columns) {
      if (o >= left) return;
#pragma unroll
      for (int c = 0; c < tc; ++c)
        if (first + columns_apart * c < columns) row[columns_apart * c] = sum[o][c];
    }
  }
};
}  // namespace detail

/// All blocks of a plan.
template <class Tile>
struct WeightTiles {
  static constexpr int threads = Tile::threads, resident = Tile::resident;
  WeightPlan plan;
  __device__ void block(const Arguments& a) const { detail::WeightBlock<Tile>(a, plan).run_all(); }
};
}  // namespace tenon::kernel::cuda
TENON_EXACT_END
