// The gradient of a 3 x 3 convolution for its weight in float32: a thread has 8 output channels and the nine taps of an
// input channel, a block 64 and 16 of them. Rows of pixels are copied by fours where they are aligned.
#pragma once
#include <algorithm>

#include <tenon/backend/cuda/async_copy.hpp>
#include <tenon/backend/cuda/conv/weight_work.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// `Stride` along both axes. `Resident` blocks have the registers of a multiprocessor. With `Pairs` a thread keeps the
/// sums of two neighbouring samples in registers, where samples are few pixels, and each a level of their tree.
template <int Stride, int Resident, bool Pairs>
struct Weight3x3Tile {
  static constexpr int threads = 128, resident = Resident, stride = Stride, side = 3, taps = side * side,
                       thread_outputs = 8, outputs = 64, channels = 16, columns = channels * taps,
                       sums = thread_outputs * taps;
  static constexpr bool pairs = Pairs;
};

namespace detail {

/// How rows of a chunk lie in shared memory, [channel][sample][row][place], and what is copied of each: `across`
/// floats, or fours of them.
struct ChunkLines {
  static constexpr int run = 4;
  int samples, rows, pitch;  // rows of a sample; floats from one row to the next
  int before, channel;       // places before the first pixel; floats of a channel
  int across;
  bool quads;

  /// A channel has an odd number of fours: neighbours are in other banks.
  TENON_DEVICE constexpr ChunkLines(int of_samples, int of_rows, int columns, int unused, bool aligned)
      : samples(of_samples),
        rows(of_rows),
        pitch((columns + unused + run - 1) / run * run),
        before(unused),
        channel((samples * rows * pitch / run | 1) * run),
        across(aligned ? pitch / run : columns),
        quads(aligned) {}
  TENON_DEVICE constexpr int places() const { return samples * rows * across; }
};
/// The image's. Place 3 is the first pixel that a run of four meets, so that the middle tap of each run, and the places
/// after it, are aligned.
TENON_DEVICE constexpr ChunkLines image_lines(const WeightPlan& p) {
  return {p.chunk_samples, (p.chunk_rows - 1) * p.y.step + 3, (p.chunk_columns - 1) * p.x.step + 3, 3, p.image_quads};
}
TENON_DEVICE constexpr ChunkLines gradient_lines(const WeightPlan& p) {
  return {p.chunk_samples, p.chunk_rows, p.chunk_columns, 0, p.gradient_quads};
}

/// A place to copy to, of the first channel, and what is copied there, relative to the chunk.
struct CopyPlace {
  short own, sample, y, x;
};

/// Floats of a stage.
template <class Tile>
TENON_DEVICE constexpr int weight_3x3_stage(const WeightPlan& p) {
  return Tile::channels * image_lines(p).channel + Tile::outputs * gradient_lines(p).channel;
}
/// Levels of the tree over samples that are in shared memory, and earlier segments of a sample.
template <class Tile>
TENON_DEVICE constexpr int weight_3x3_waiting(const WeightPlan& p) {
  return p.waiting() - (Tile::pairs ? 1 : 0);
}

template <class Tile>
struct Weight3x3Block {
  static constexpr int threads = Tile::threads, to = Tile::thread_outputs, side = Tile::side, taps = Tile::taps,
                       stride = Tile::stride, run = ChunkLines::run, pixels = (run - 1) * stride + side,
                       result_pitch = Tile::columns + run, level = Tile::sums * threads;
  static constexpr bool pairs = Tile::pairs;

  const Arguments& a;
  const WeightPlan& plan;
  const ChunkLines image, gradient;
  const int thread;
  static constexpr int log_threads = 7;
  static_assert(1 << log_threads == threads);
  int output0, channel0, group, unit;  // of the tile; the unit is a number of samples, or a segment
  float *const waiting, *const stages;
  float sum[pairs ? 2 : 1][to][taps];

  __device__ Weight3x3Block(const Arguments& arguments, const WeightPlan& of)
      : a(arguments),
        plan(of),
        image(image_lines(of)),
        gradient(gradient_lines(of)),
        thread(int(threadIdx.x)),
        waiting(reinterpret_cast<float*>(dynamic_shared())),
        stages(waiting + weight_3x3_waiting<Tile>(of) * level) {
    int index = int(blockIdx.x);
    const auto next = [&](int count) {
      const int own = index % count;
      index /= count;
      return own;
    };
    output0 = next((plan.outputs + Tile::outputs - 1) / Tile::outputs) * Tile::outputs;
    channel0 = next((plan.inputs + Tile::channels - 1) / Tile::channels) * Tile::channels;
    group = next(plan.groups), unit = index;
  }

  __device__ void run_all() {
    find_places(image, image_places());
    find_places(gradient, image_places() + image.places());
    clear<0>();
    if constexpr (pairs) clear<1>();
    __syncthreads();
    const int segments = plan.segments(), first_sample = plan.apart ? unit / segments : unit * plan.together,
              first_segment = plan.apart ? unit % segments : 0, left = plan.samples - first_sample,
              samples = left < plan.together ? left : plan.together, end = first_sample + samples;
    PixelWalk now(plan, first_sample, first_segment), ahead = now;
    int joined = 0;
    for (int stage = 1, more = 1, first = 1; now.sample < end; stage ^= 1, first = 0) {
      if (!first) {
        wait_for_copies();
        __syncthreads();
      }
      if (more) {
        fetch(stage ^ 1, ahead);
        more = !(ahead.next() && plan.apart) && ahead.sample < end;
      }
      if (first) continue;
      const float *pixels = stages + stage * stage_size() + thread_channel() * image.channel,
                  *gradients = stages + stage * stage_size() + Tile::channels * image.channel +
                               thread_output() * gradient.channel;
      const int rows = now.rows(), columns = now.columns(), segment = now.segment,
                there = end - now.sample < plan.chunk_samples ? end - now.sample : plan.chunk_samples;
      const bool ends = now.next();
#pragma unroll 1
      for (int s = 0; s < there; ++s) {
#pragma unroll 1
        for (int i = 0; i < rows; ++i, gradients += gradient.pitch) {
          const float* const row = pixels + (s * image.rows + i * stride) * image.pitch;
          if (pairs && joined % 2) add_row<pairs>(row, gradients, columns);
          else add_row<0>(row, gradients, columns);
        }
        if (plan.apart || !ends) continue;
        if (finish_segment(segment, segments)) join_sample(joined++);
      }
      if (plan.apart && ends) break;
    }
    if (!plan.apart)
      while (joined < plan.together) join_sample(joined++);
    put();
  }

 private:
  __device__ int stage_size() const { return Tile::channels * image.channel + Tile::outputs * gradient.channel; }
  __device__ CopyPlace* image_places() const { return reinterpret_cast<CopyPlace*>(stages + 2 * stage_size()); }
  /// The first output of the thread, of every eighth one.
  __device__ int thread_output() const {
    const int lane = thread % warp;
    return lane % 2 + lane / 16 * 2 + thread / (2 * warp) * 4;
  }
  __device__ int thread_channel() const { return thread % warp / 2 % 8 + thread / warp % 2 * 8; }
  template <int which>
  __device__ void clear() {
#pragma unroll
    for (int o = 0; o < to; ++o)
#pragma unroll
      for (int t = 0; t < taps; ++t) sum[which][o][t] = 0;
  }

  __device__ void find_places(const ChunkLines& lines, CopyPlace* places) const {
    for (int i = thread; i < lines.places(); i += threads) {
      const int line = i / lines.across, step = i % lines.across * (lines.quads ? run : 1);
      places[i] = {short(line * lines.pitch + step + (lines.quads ? 0 : lines.before)), short(line / lines.rows),
                   short(line % lines.rows), short(step - (lines.quads ? lines.before : 0))};
    }
  }
  /// Starts to copy a chunk.
  __device__ void fetch(int into, const PixelWalk& chunk) {
    const int row = chunk.row, column = chunk.column;
    float* const to = stages + into * stage_size();
    copy(image, image_places(), to,
         {0, chunk.sample, plan.groups * plan.inputs, group * plan.inputs + channel0, plan.image_h, plan.image_w,
          row * stride - plan.pad_top(), column * stride - plan.pad_left()},
         plan.inputs - channel0 < Tile::channels ? plan.inputs - channel0 : Tile::channels);
    copy(gradient, image_places() + image.places(), to + Tile::channels * image.channel,
         {1, chunk.sample, plan.groups * plan.outputs, group * plan.outputs + output0, plan.height, plan.width, row,
          column},
         plan.outputs - output0 < Tile::outputs ? plan.outputs - output0 : Tile::outputs);
  }
  /// An operand: the chunk's first sample, channel, row, and column.
  struct From {
    int operand, sample, channels, channel, height, width, y, x;
  };
  /// Copies rows of some channels. Outside of the planes and of the batch are zeros.
  __device__ void copy(const ChunkLines& lines, const CopyPlace* places, float* to, const From& from, int channels) {
    int log = 0;  // threads share places, and channels where places are few
    while (log < log_threads && 1 << log < lines.places()) ++log;
    const int down = threads >> log, plane = from.height * from.width;
    for (int i = thread & ((1 << log) - 1); i < lines.places(); i += threads) {
      const CopyPlace place = places[i];
      const int sample = from.sample + place.sample, y = from.y + place.y, x = from.x + place.x;
      const bool inside =
          sample < plan.samples && unsigned(y) < unsigned(from.height) && unsigned(x) < unsigned(from.width);
      const int c = thread >> log, left = channels - 1 - c,  // channels: c and every `down`th one from there
          count = left < 0 ? 0 : (left >> (log_threads - log)) + 1;
      const float* at = a.operand<float>(from.operand);
      if (inside) at += (long(sample) * from.channels + from.channel + c) * plane + y * from.width + x;
      float* own = to + place.own + c * lines.channel;
      const int next = inside ? down * plane : 0, next_own = down * lines.channel;
      if (lines.quads) {
#pragma unroll 4
        for (int k = 0; k < count; ++k) copy_four_async(own + k * next_own, at + k * next, inside);
      } else {
#pragma unroll 4
        for (int k = 0; k < count; ++k) copy_async(own + k * next_own, at + k * next, inside);
      }
    }
  }

  /// Adds the products of a row of pixels.
  template <int which>
  __device__ void add_row(const float* row, const float* gradients, int columns) {
    int j = 0;
#pragma unroll 1
    for (; j + run <= columns; j += run, row += run * stride) {
      // Half of the gradients before the pixels: then nvcc finds an order with fewer conflicts of registers' banks.
      float pixel[side][pixels], d[run][run];
      const auto load_gradients = [&](int half) {
#pragma unroll
        for (int o = 0; o < run; ++o) load<run>(gradients + (half + o) * 8 * gradient.channel + j, d[o]);
      };
      load_gradients(0);
#pragma unroll
      for (int r = 0; r < side; ++r) {
        const float* const own = row + r * image.pitch;
        pixel[r][0] = own[run - 1];
        load<run>(own + run, pixel[r] + 1);
        if constexpr (stride == 1) pixel[r][run + 1] = own[2 * run];
        else load<run>(own + 2 * run, pixel[r] + 1 + run);
      }
#pragma unroll
      for (int half = 0; half < to; half += run) {
        if (half > 0) load_gradients(half);
#pragma unroll
        for (int p = 0; p < run; ++p)
#pragma unroll
          for (int o = 0; o < run; ++o) add_taps(sum[which][half + o], o % 2, pixel, p * stride, d[o][p]);
      }
    }
#pragma unroll 1
    for (; j < columns; ++j, row += stride) {
      float pixel[side][side];
#pragma unroll
      for (int r = 0; r < side; ++r)
#pragma unroll
        for (int k = 0; k < side; ++k) pixel[r][k] = row[r * image.pitch + run - 1 + k];
#pragma unroll
      for (int o = 0; o < to; ++o) add_taps(sum[which][o], o % 2, pixel, 0, gradients[o * 8 * gradient.channel + j]);
    }
  }
  template <int width>
  __device__ static void add_taps(float (&own)[taps], bool backwards, const float (&pixel)[side][width], int first,
                                  float d) {
#pragma unroll
    for (int i = 0; i < taps; ++i) {  // to and fro, as in ProductBlocks
      const int t = backwards ? taps - 1 - i : i;
      own[t] = fmadd(pixel[t / side][first + t % side], d, own[t]);
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
    float* const kept = waiting + plan.levels() * level + thread;
#pragma unroll
    for (int q = 0; q < Tile::sums; ++q) {
      float& own = sum[0][q / taps][q % taps];
      own = segment == 0 ? own : kept[q * threads] + own;
      if (!last) kept[q * threads] = own, own = 0;
    }
    return last;
  }
  /// `sum` is that of sample number `index`: adds those before it whose neighbour it completes.
  __device__ void join_sample(int index) {
    int levels = plan.levels();
    if constexpr (pairs) {
      if (index % 2 == 0) return;
#pragma unroll
      for (int q = 0; q < Tile::sums; ++q) {
        float& other = sum[1][q / taps][q % taps];
        sum[0][q / taps][q % taps] += other;
        other = 0;
      }
      index /= 2, --levels;
    }
    float* kept = waiting + thread;
    const float* const top = kept + levels * level;
    for (; index & 1; index >>= 1, kept += level)
#pragma unroll
      for (int q = 0; q < Tile::sums; ++q) sum[0][q / taps][q % taps] = kept[q * threads] + sum[0][q / taps][q % taps];
    if (kept == top) return;
#pragma unroll
    for (int q = 0; q < Tile::sums; ++q) {
      float& own = sum[0][q / taps][q % taps];
      kept[q * threads] = own, own = 0;
    }
  }
  /// Stores the sums by way of shared memory, so that neighbouring threads write to neighbouring places.
  __device__ void put() {
    float* const tile = reinterpret_cast<float*>(dynamic_shared());
    __syncthreads();
#pragma unroll
    for (int o = 0; o < to; ++o)
#pragma unroll
      for (int t = 0; t < taps; ++t)
        tile[(thread_output() + 8 * o) * result_pitch + thread_channel() * taps + t] = sum[0][o][t];
    __syncthreads();
    const int left = plan.columns() - channel0 * taps, columns = left < Tile::columns ? left : Tile::columns,
              rows_left = plan.outputs - output0, rows = rows_left < Tile::outputs ? rows_left : Tile::outputs;
    float* const result = reinterpret_cast<float*>(a.workspace) + unit * plan.slot() +
                          (long(group) * plan.outputs + output0) * plan.columns() + channel0 * taps;
    if (plan.columns() % run == 0 && columns % run == 0) {
      for (int i = thread; i < rows * (columns / run); i += threads) {
        const int row = i / (columns / run), at = i % (columns / run) * run;
        *reinterpret_cast<Neighbours<float, run>*>(result + long(row) * plan.columns() + at) =
            *reinterpret_cast<const Neighbours<float, run>*>(tile + row * result_pitch + at);
      }
    } else {
      for (int i = thread; i < rows * columns; i += threads)
        result[long(i / columns) * plan.columns() + i % columns] = tile[i / columns * result_pitch + i % columns];
    }
  }
};
}  // namespace detail

/// All blocks of a plan.
template <class Tile>
struct Weight3x3Tiles {
  static constexpr int threads = Tile::threads;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000  // there 128 registers per thread spill
  static constexpr int resident = Tile::resident < 3 ? Tile::resident : 3;
#else
  static constexpr int resident = Tile::resident;
#endif
  WeightPlan plan;
  __device__ void block(const Arguments& a) const { detail::Weight3x3Block<Tile>(a, plan).run_all(); }

  static constexpr long shared_bytes(const WeightPlan& p) {
    const long waiting = long(detail::weight_3x3_waiting<Tile>(p)) * Tile::sums * Tile::threads,
               result = Tile::outputs * detail::Weight3x3Block<Tile>::result_pitch;
    const int places = detail::image_lines(p).places() + detail::gradient_lines(p).places();
    return std::max((waiting + 2 * detail::weight_3x3_stage<Tile>(p)) * long(sizeof(float)) +
                        places * long(sizeof(detail::CopyPlace)),
                    result * long(sizeof(float)));
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
