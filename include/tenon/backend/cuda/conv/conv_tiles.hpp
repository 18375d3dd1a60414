// Convolution and its gradient for the input in float32: a tile of pixels and channels per block, a smaller one in the
// registers of a thread. Sizes are numbers at run time, so that the calls of a network share a few kernels.
#pragma once
#include <tenon/backend/cuda/async_copy.hpp>
#include <tenon/backend/cuda/conv/conv_place.hpp>
#include <tenon/backend/cuda/epilogue.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

namespace detail {
/// A block of ConvTiles.
template <class Taps, class Tile, class Steps>
struct ConvBlock {
  static constexpr int threads = Tile::threads, tc = Tile::thread_channels, tr = Tile::thread_runs,
                       pixels = Tile::thread_pixels, run = ImageTile::run, side = Taps::side;
  using Run = Neighbours<float, run>;
  using Four = Neighbours<float, 4>;

  const Arguments& a;
  const ConvPlan& plan;
  const int thread;
  ConvPlace& at;
  float *const kept, *const stages;
  int base[tr];  // of a thread's runs: where they begin in shared memory
  float sum[pixels][tc];

  __device__ ConvBlock(const Arguments& arguments, const ConvPlan& of)
      : a(arguments),
        plan(of),
        thread(int(threadIdx.x)),
        at(*reinterpret_cast<ConvPlace*>(dynamic_shared())),
        kept(reinterpret_cast<float*>(dynamic_shared() + conv_place_bytes)),
        stages(kept + Tile::sums * threads) {}
  __device__ int stage() const { return plan.planes * (plan.size + plan.taps * Tile::pitch); }
  __device__ int taps() const { return side > 1 ? side * side : at.y.taps * at.x.taps; }
  // Tables. Of the tile's part of a plane, in the first plane; -1: outside. Of the weights of a stage. Of the taps.
  __device__ int* image_places() const { return reinterpret_cast<int*>(stages + 2 * stage()); }
  __device__ int* weight_places() const { return image_places() + plan.size; }
  __device__ int* tap_places() const { return weight_places() + plan.planes * plan.taps; }

  __device__ void run_all() {
    if (thread == 0) at = ConvPlace::of(plan, a, int(blockIdx.x), Tile::channels);
    __syncthreads();
    if (at.is_empty()) return;
    find_places();
    __syncthreads();
    clear();
    const int length = plan.sides.segment, first = plan.first_segment(at.part),
              last = plan.first_segment(at.part + 1) * length,
              end = last < plan.sides.planes ? last : plan.sides.planes;
    int segment = first, left = length, plane = segment * length;
    const auto finish_segment = [&] {
      keep(segment, segment == first);
      ++segment, left = length;
    };
    if (side <= 1 && taps() == 0) {
      for (; plane < end; plane += length) finish_segment();
    } else fetch(0, plane, end);
    for (int now = 0; plane < end; plane += plan.planes, now ^= 1) {
      wait_for_copies();
      __syncthreads();
      if (plane + plan.planes < end) fetch(now ^ 1, plane + plan.planes, end);
      const float *images = stages + now * stage(), *factors = images + plan.planes * plan.size + thread_channel();
      const int count = end - plane < plan.planes ? end - plane : plan.planes, size = at.lies.size,
                pitch = at.lies.pitch, step = taps() * Tile::pitch, odd_rows = at.lies.row_length * pitch,
                odd_columns = at.lies.column_length;
      for (int q = 0; q < count;) {
        const int together = count - q < left ? count - q : left;
        [[maybe_unused]] constexpr int unrolled = side == 1 ? 4 : 1;
#pragma unroll unrolled
        for (int k = 0; k < together; ++k, images += size, factors += step)
          multiply(images, factors, pitch, odd_rows, odd_columns);
        q += together, left -= together;
        if (left == 0) finish_segment();
      }
    }
    if (left < length) finish_segment();
    if (at.part == 0) put();
  }

 private:
  __device__ int thread_channel() const {
    const int lane = thread % warp;
    return (lane % 2 + lane / 16 * 2 + thread / warp % 2 * 4) * tc;
  }
  /// A run of the thread in the tile.
  struct Place {
    int sample, row, column;
  };
  __device__ Place place_of(int r) const {
    const ImageTile& t = plan.tile;
    const int own = thread % warp / 2 % 8 + thread / warp / 2 * 8 + r * 16, line = own / t.across;
    return {line / t.rows, line % t.rows, own % t.across * run};
  }
  __device__ void clear() {
    each_four([](int, float* sums) { sums[0] = sums[1] = sums[2] = sums[3] = 0; });
  }
  /// body(number, sums of four neighbouring channels) of all fours of a thread.
  template <class Body>
  __device__ void each_four(Body body) {
#pragma unroll
    for (int p = 0; p < pixels; ++p)
#pragma unroll
      for (int c = 0; c < tc; c += 4) body((p * tc + c) / 4, sum[p] + c);
  }
  __device__ Four& kept_four(int q) const { return reinterpret_cast<Four*>(kept)[q * threads + thread]; }
  __device__ void find_places() {
    const ConvSides& s = plan.sides;
    const PixelAxis y = at.y, x = at.x;
    const ImagePart lies = at.lies;
    int* const images = image_places();
    const int count = taps();
    if (count == 0) return;  // the image's part may have no columns then
    const int apart = plan.quads ? run : 1;
    for (int i = thread; i * apart < lies.size; i += threads) {
      const int place = i * apart, sample = place / lies.sample, row = place % lies.sample / lies.pitch,
                column = place % lies.sample % lies.pitch;
      const int place_y = y.lowest() + (at.row0 + row % lies.row_length) * y.step + row / lies.row_length,
                place_x = x.lowest() - s.unused() + (at.column0 + column % lies.column_length) * x.step +
                          column / lies.column_length;
      const bool inside = at.sample0 + sample < plan.samples && row < y.remainders() * lies.row_length &&
                          unsigned(place_y) < unsigned(s.image_h) && unsigned(place_x) < unsigned(s.image_w);
      images[i] = inside ? sample * int(s.image()) + place_y * s.image_w + place_x : -1;
    }
    if constexpr (side <= 1) {
      for (int i = thread; i < plan.planes * count; i += threads) {
        const int tap = i % count, r = tap / x.taps, k = tap % x.taps,
                  own = (y.first_tap + r * y.next_tap) * s.kernel_w + x.first_tap + k * x.next_tap;
        weight_places()[i] = i / count * int(plan.plane_step()) + own * plan.tap_step();
      }
    }
    if constexpr (side == 0) {
      for (int tap = thread; tap <= count; tap += threads) {
        const int place =
            y.place(tap / x.taps, lies.row_length) * lies.pitch + x.place(tap % x.taps, lies.column_length);
        tap_places()[tap] = tap < count ? place : 0;
      }
    }
#pragma unroll
    for (int r = 0; r < tr; ++r) {
      const Place own = place_of(r);
      base[r] = own.sample < plan.tile.samples ? own.sample * lies.sample + own.row * lies.pitch + own.column : 0;
    }
  }
  /// Starts to copy planes and their weights.
  __device__ void fetch(int into, int plane, int end) {
    const ConvSides& s = plan.sides;
    const int count = end - plane < plan.planes ? end - plane : plan.planes, own = at.lies.size,
              size = s.image_h * s.image_w;
    float* const to = stages + into * stage();
    const float* const image = at.image + long(plane) * size;
    const int* const places = image_places();
    if (plan.quads) {
      for (int i = thread; i * run < own; i += threads) {
        const int place = places[i];
        const float* from = image + (place < 0 ? 0 : place);
        for (int q = 0; q < count; ++q, from += size) copy_four_async(to + q * own + i * run, from, place >= 0);
      }
    } else {
      for (int i = thread; i < own; i += threads) {
        const int place = places[i];
        const float* from = image + (place < 0 ? 0 : place);
        for (int q = 0; q < count; ++q, from += size) copy_async(to + q * own + i, from, place >= 0);
      }
    }
    float* const weights = to + plan.planes * plan.size;
    const float* const of_plane = at.weights + plane * plan.plane_step();
    if (plan.turns) fetch_turned(weights, of_plane, count * taps());
    else fetch_weights(weights, of_plane, count * taps());
  }
  /// Where weights that are not turned begin, of tap i of the planes of a stage.
  __device__ int weight_place(int i) const {
    if constexpr (side > 1) return i / (side * side) * int(plan.plane_step()) + i % (side * side) * plan.tap_step();
    else return weight_places()[i];
  }
  /// Four channels of a tap per thread.
  __device__ void fetch_turned(float* to, const float* from, int count) {
    constexpr int across = Tile::channels / run, down = threads / across;
    const int first = thread % across * run, line = plan.line();
    const bool there = at.channel0 + first < line;
    const float* const own = from + (there ? first : 0);  // aligned, too, where nothing is read
    to += thread / across * Tile::pitch + first;
#pragma unroll 4
    for (int i = thread / across; i < count; i += down, to += down * Tile::pitch)
      copy_four_async(to, own + (!there ? 0 : side > 1 ? i * line : weight_places()[i]), there);
  }
  /// Four channels of eight taps per warp: no two lanes write to the same bank, and neighbours read neighbours.
  __device__ void fetch_weights(float* to, const float* from, int count) {
    constexpr int groups = Tile::channels / (4 * threads / warp);
    const int lane = thread % warp, channel = thread / warp * groups * 4 + lane / 8,
              left = plan.sides.results - at.channel0 - channel, step = int(plan.sides.result_step());
    to += channel, from += channel * step;
#pragma unroll 4
    for (int i = lane % 8; i < count; i += 8) {
      const float* const tap = from + weight_place(i);
#pragma unroll
      for (int g = 0; g < groups; ++g) copy_async(to + i * Tile::pitch + 4 * g, tap + 4 * g * step, 4 * g < left);
    }
  }
  /// Adds the products of a plane.
  __device__ void multiply(const float* images, const float* factors, [[maybe_unused]] int pitch,
                           [[maybe_unused]] int odd_rows, [[maybe_unused]] int odd_columns) {
    if constexpr (Taps::fourfold) multiply_phases(images, factors, pitch);
    else if constexpr (side > 0) {
#pragma unroll
      for (int r = 0; r < side; ++r) {
        // with a step of 2 even rows are before odd ones
        const float* const row =
            images + (Taps::step == 1 ? (Taps::mirrored ? side - 1 - r : r) * pitch : r / 2 * pitch + r % 2 * odd_rows);
        // Weights before pixels: then nvcc finds an order of products with fewer conflicts of registers' banks.
        float w[side][tc], pixel[tr][(run - 1) * Taps::step + side];
#pragma unroll
        for (int k = 0; k < side; ++k) load_channels(factors + (r * side + k) * Tile::pitch, w[k]);
#pragma unroll
        for (int k = 0; k < tr; ++k) load_pixels(row + base[k], odd_columns, pixel[k]);
#pragma unroll
        for (int k = 0; k < side; ++k) {
          const int first = Taps::mirrored ? side - 1 - k : k;
          add_tap(w[k], [&](int own, int j) { return pixel[own][first + j * Taps::step]; }, Tile::wide && (r + k) % 2);
        }
      }
    } else {
      const int count = taps();
      const int* const places = tap_places();
      int place = places[0];
#pragma unroll 4
      for (int tap = 0; tap < count; ++tap, factors += Tile::pitch) {
        const float* const from = images + place;
        place = places[tap + 1];  // one more is there
        float pixel[tr][run];
#pragma unroll
        for (int k = 0; k < tr; ++k)
#pragma unroll
          for (int j = 0; j < run; ++j) pixel[k][j] = from[base[k] + j];
        float w[tc];
        load_channels(factors, w);
        add_tap(w, [&](int own, int j) { return pixel[own][j]; });
      }
    }
  }
  /// The sums of a run of dy are those of two rows of eight pixels. Even ones meet the middle tap, odd ones first their
  /// neighbour to the right, or below.
  __device__ void multiply_phases(const float* images, const float* factors, int pitch) {
    float pixel[2][run + 1];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      load<run>(images + base[0] + r * pitch, pixel[r]);
      pixel[r][run] = images[base[0] + r * pitch + run];
    }
#pragma unroll
    for (int tap = 0; tap < side * side; ++tap) {
      const int down = tap / side == 0, right = tap % side == 0, first = tap / side % 2 == 0 ? 2 * run : 0,
                odd = tap % side % 2 == 0;
      float w[tc];
#pragma unroll
      for (int c = 0; c < tc; c += 4) load<4>(factors + tap * Tile::pitch + c, w + c);
#pragma unroll
      for (int c = 0; c < tc; ++c)
#pragma unroll
        for (int i = 0; i < run; ++i) {
          const int j = c % 2 ? run - 1 - i : i, p = first + 2 * j + odd;
          sum[p][c] = fmadd(w[c], pixel[down][j + right], sum[p][c]);
        }
    }
  }
  /// The pixels of a row that a run meets. With a step of 2 even and odd ones are apart.
  template <int count>
  __device__ static void load_pixels(const float* row, [[maybe_unused]] int odd_columns, float (&pixel)[count]) {
    if constexpr (side == 1) load<run>(row, pixel);
    else if constexpr (Taps::step == 1) {
      pixel[0] = row[run - 1];
      load<run>(row + run, pixel + 1);
      pixel[run + 1] = row[2 * run];
    } else {
      float even[run], odd[run];
      load<run>(row, even);
      load<run>(row + odd_columns, odd);
#pragma unroll
      for (int i = 0; i < run; ++i) pixel[2 * i] = even[i], pixel[2 * i + 1] = odd[i];
      pixel[2 * run] = row[run];
    }
  }
  __device__ static void load_channels(const float* factors, float (&w)[tc]) {
#pragma unroll
    for (int c = 0; c < tc; c += 4) load<4>(factors + c, w + c);
  }
  /// To and fro, as in ProductBlocks: `backwards` from the last channel on.
  template <class Pixel>
  __device__ void add_tap(const float (&w)[tc], Pixel pixel, bool backwards = false) {
#pragma unroll
    for (int k = 0; k < tc; ++k)
#pragma unroll
      for (int i = 0; i < tr * run; ++i) {
        const int c = backwards ? tc - 1 - k : k, p = c % 2 ? tr * run - 1 - i : i;
        sum[p][c] = fmadd(w[c], pixel(p / run, p % run), sum[p][c]);
      }
  }
  template <int count>
  __device__ static void load(const float* from, float* to) {
    const auto loaded = *reinterpret_cast<const Neighbours<float, count>*>(from);
#pragma unroll
    for (int i = 0; i < count; ++i) to[i] = loaded.element[i];
  }
  /// Takes the sums of a segment: the first part adds them up, others leave them in the workspace.
  __device__ void keep(int segment, bool is_first) {
    if (at.part > 0) {
      const int slot = 1 + segment - plan.first_segment(1);
      each_run([&](int c, int r, long i, int, int count, int next) {
        Run own;
#pragma unroll
        for (int j = 0; j < run; ++j) own.element[j] = sum[r * run + j][c];
        store(sums_of(slot) + i, own, count, next);
      });
    } else {
      each_four([&](int q, const float* sums) {
        Four own = kept_four(q);
#pragma unroll
        for (int i = 0; i < 4; ++i) own.element[i] = is_first ? sums[i] : own.element[i] + sums[i];
        kept_four(q) = own;
      });
    }
    clear();
  }
  __device__ void put() {
    each_four([&](int q, float* sums) { load<4>(kept_four(q).element, sums); });
    each_run([&](int c, int r, long i, int channel, int count, int next) {
      Run own;
#pragma unroll
      for (int j = 0; j < run; ++j) own.element[j] = sum[r * run + j][c];
      if (plan.parts > 1) return store(sums_of(0) + i, own, count, next);
#pragma unroll
      for (int j = 0; j < run; ++j)
        if (j < count) own.element[j] = Steps::of(a, own.element[j] + 0, i + j * next, channel);
      store(a.result<float>() + i, own, count, next);
    });
  }
  /// body(channel and run of the thread, first element, channel of the result, pixels, from one to the next) for each.
  template <class Body>
  __device__ void each_run(Body body) {
    const ConvSides& s = plan.sides;
    const int channel0 = at.channel0 + thread_channel(), plane = s.result_h * s.result_w,
              channel = at.group * s.results + channel0;
#pragma unroll
    for (int r = 0; r < pixels / run; ++r) {
      const Place own = place_of(Taps::fourfold ? 0 : r);
      const int sample = at.sample0 + own.sample;
      int row = at.row0 + own.row, column = at.column0 + own.column, next = at.x.next, count = at.x.count - column;
      if (own.sample >= plan.tile.samples || sample >= plan.samples || row >= at.y.count || count <= 0) continue;
      if constexpr (Taps::fourfold) {
        row = 2 * row + r / 2, column = 2 * column + r % 2 * run, count = s.result_w - column;
        if (row >= s.result_h || count <= 0) continue;
      } else row = at.y.first + row * at.y.next, column = at.x.first + column * next;
      if (count > run) count = run;
      long i = sample * s.result() + long(channel) * plane + row * s.result_w + column;
#pragma unroll
      for (int c = 0; c < tc; ++c, i += plane)
        if (channel0 + c < s.results) body(c, r, i, channel + c, count, next);
    }
  }
  __device__ float* sums_of(int slot) const {
    return reinterpret_cast<float*>(a.workspace) + plan.turned() + slot * (plan.samples * plan.sides.result());
  }
  __device__ static void store(float* to, const Run& own, int count, int next) {
    if (next == 1) return store_neighbours(own, to, 0, count);
#pragma unroll
    for (int j = 0; j < run; ++j)
      if (j < count) to[j * next] = own.element[j];
  }
};
}  // namespace detail

/// All blocks of a plan.
template <class Taps, class Tile, class Steps>
struct ConvTiles {
  static constexpr int threads = Tile::threads, resident = Tile::resident;
  ConvPlan plan;
  __device__ void block(const Arguments& a) const { detail::ConvBlock<Taps, Tile, Steps>(a, plan).run_all(); }
};
/// Adds up the sums of segments that several parts have left in the workspace.
template <class Steps>
struct JoinedSegments {
  static constexpr int threads = 256;
  int slots, channels, plane;
  long count, before;  // elements of a slot, and floats of the workspace before the sums
  __device__ void block(const Arguments& a) const {
    const long i = thread_of_grid();
    if (i >= count) return;
    const float* const sums = reinterpret_cast<const float*>(a.workspace) + before + i;
    float total = sums[0];
#pragma unroll 8
    for (int slot = 1; slot < slots; ++slot) total = total + sums[slot * count];
    a.result<float>()[i] = Steps::of(a, total + 0, i, int(i / plane % channels));
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
