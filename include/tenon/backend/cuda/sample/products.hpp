// Products in a kernel per sample: rows of a sample by a weight, and the weight's gradient over the batch.
#pragma once
#include <algorithm>
#include <bit>

#include <tenon/backend/cuda/async_copy.hpp>
#include <tenon/backend/cuda/gemm/product_update.hpp>
#include <tenon/backend/cuda/sample/strips.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

template <class C>
constexpr bool is_float_product(int left) {
  return C::result.dtype == Dtype::float32 && C::operand(left).dtype == Dtype::float32 &&
         C::operand(left + 1).dtype == Dtype::float32 && C::operand(left).rank == 2 && C::operand(left + 1).rank == 2;
}
/// True for the product of two values that both depend on n, over the batch.
template <class C>
constexpr bool sums_over_batch(int left) {
  return is_float_product<C>(left) && C::Op::first(C::config()) && !C::Op::second(C::config()) &&
         C::operand(left).batched() && C::operand(left + 1).batched() && !C::result.batched();
}
/// What a thread computes of it: one element, or neighbours of a row, of several rows one below the other where the
/// threads are still enough for all multiprocessors, because then each factor that it loads serves more of them.
template <class C, int left, bool one = false>
struct OverBatch {
  static constexpr long rows = C::operand(left).last(), columns = C::operand(left + 1).last();
  static constexpr int across = !one && columns % 4 == 0 ? 4 : 1;
  static constexpr bool many(long below) { return rows % below == 0 && rows * columns / (across * below) >= 20'000; }
  static constexpr int below = across == 1 ? 1 : many(4) ? 4 : many(2) ? 2 : 1, count = across * below;
  /// How many samples' factors are loaded at the same time. A load from the L2 cache takes some 700 cycles, a step of a
  /// chain 4.
  static constexpr int together = below == 4 ? 16 : 32;

  Neighbours<float, across> of_row[below];
  /// The first element of part `own` of the result.
  __device__ static long first_element(long own) {
    constexpr long parts = columns / across;
    return own / parts * (below * columns) + own % parts * across;
  }
  __device__ OverBatch(const Arguments& a, long first_element)
      : x_(a.operand<float>(left) + first_element / columns),
        dy_(a.operand<float>(left + 1) + first_element % columns),
        steps_(samples(a.n)) {
    static_assert(segment % together == 0);
#pragma unroll 1
    while (step_ + together <= steps_) add<together>();
    add_rest<together / 2>();
#pragma unroll
    for (int q = 0; q < count; ++q)
      of_row[q / across].element[q % across] = steps_ > segment ? total_[q] + sum_[q] : sum_[q];
  }

 private:
  static constexpr int segment = int(gemm_segment<float>);

  __device__ static int samples(long n) {
    constexpr TensorType x = C::operand(left);
    return int(x.size(0, n));
  }
  template <int some>
  __device__ void add() {
    if (step_ > 0 && step_ % segment == 0) {
#pragma unroll
      for (int q = 0; q < count; ++q) total_[q] = step_ > segment ? total_[q] + sum_[q] : sum_[q], sum_[q] = 0;
    }
    Neighbours<float, below> factor[some];
    Neighbours<float, across> own[some];
#pragma unroll
    for (int k = 0; k < some; ++k) {
      factor[k] = *reinterpret_cast<const Neighbours<float, below>*>(x_ + k * rows);
      own[k] = *reinterpret_cast<const Neighbours<float, across>*>(dy_ + k * columns);
    }
    wait_for_loads();
#pragma unroll
    for (int k = 0; k < some; ++k)
#pragma unroll
      for (int q = 0; q < count; ++q)
        sum_[q] = fmadd(factor[k].element[q / across], own[k].element[q % across], sum_[q]);
    x_ += some * rows, dy_ += some * columns, step_ += some;
  }
  template <int half>
  __device__ void add_rest() {
    if constexpr (half > 0) {
      if (steps_ - step_ >= half) add<half>();
      add_rest<half / 2>();
    }
  }

  const float *x_, *dy_;
  int steps_, step_ = 0;
  float sum_[count]{}, total_[count]{};
};

/// Rows of weights on their way to shared memory, where threads read them that have a row, or a segment of it, each.
/// Read by such threads from global memory, each weight would be in a line of its own. A warp copies pieces of the rows
/// of its own threads, some of them ahead. Beyond the end of a segment these are zeros, and x is -0: their products
/// leave every sum as it is.
template <class C>
struct RowSizes {
  static constexpr int steps = C::operand(0).last(), columns = C::result.last(), segment = int(gemm_segment<float>),
                       segments = (steps + segment - 1) / segment, width = SegmentLanes<segments>::width,
                       count = int(C::result.count(1)), rows = count / columns, piece = 8, fours = piece / 4,
                       stage = warp * piece, longest = steps < segment ? steps : segment,
                       all_pieces = (longest + piece - 1) / piece;
  static constexpr int warps = std::min(sample_threads, count* width + warp - 1) / warp;
  /// Pieces of a warp that have a place, most of them on their way; the last round of pieces is nearly full.
  static constexpr int stages_of(int most) {
    const int rounds = (all_pieces + most - 1) / most;
    return std::max(3, (all_pieces + rounds - 1) / rounds);
  }
  static constexpr int most_stages = 8, x_pitch = odd_fours((all_pieces + most_stages) * piece),
                       x_floats = rows * width * x_pitch,
                       stages = stages_of(std::clamp(
                           (most_staged_bytes / int(sizeof(float)) - x_floats) / (warps * stage), 3, most_stages)),
                       x_at = warps * stages * stage, bytes = (x_at + x_floats) * int(sizeof(float));
  static constexpr bool fits =
      C::Op::second(C::config()) && steps % 4 == 0 && segments <= warp && bytes <= most_staged_bytes;

  /// The block brings x there.
  __device__ static void stage_x(const float* x, float* staged, int thread) {
#pragma unroll 1
    for (int i = thread; i < x_floats; i += sample_threads) {
      const int k = i % x_pitch, part = i / x_pitch, at = part % width * segment + k;
      staged[x_at + i] = k < segment && at < steps ? x[part / width * steps + at] : -0.0f;
    }
  }
};
template <class C, int stages>
struct StagedRows : RowSizes<C> {
  using Sizes = RowSizes<C>;
  using Sizes::columns, Sizes::count, Sizes::fours, Sizes::piece, Sizes::segment, Sizes::stage, Sizes::steps,
      Sizes::width, Sizes::x_at, Sizes::x_pitch;
  static constexpr int pieces = (Sizes::all_pieces + stages - 1) / stages * stages;

  /// `all`: the number of this thread's segment among those of the block.
  __device__ StagedRows(const Arguments& a, float* staged, SampleOfBatch which, int all) {
    using Lanes = SegmentLanes<Sizes::segments>;
    const int lane = which.thread % warp, first = which.begin(count) + all / warp * Lanes::sums;
    float* const stages_of_warp = staged + which.thread / warp * (stages * stage);
    const int row = Sizes::rows > 1 ? (first + lane % Lanes::sums) / columns % Sizes::rows : 0;
    x_ = staged + x_at + (row * width + Lanes::segment_of(lane)) * x_pitch;
#pragma unroll
    for (int four = 0; four < fours; ++four) weight_[four] = stages_of_warp + lane * piece + turned(four, lane) * 4;
#pragma unroll
    for (int part = 0; part < fours; ++part) {
      const int of_lane = part * (warp / fours) + lane / fours, i = first + of_lane % Lanes::sums,
                segment_begin = Lanes::segment_of(of_lane) * segment, begin = segment_begin + lane % fours * 4,
                end = segment_begin + segment < steps ? segment_begin + segment : steps;
      const bool there = i < which.end(count) && begin < end;
      from_[part] = a.operand<float>(1) + (there ? (Sizes::rows > 1 ? i % columns : i) * steps + begin : 0);
      left_[part] = there ? end - begin : 0;
      to_[part] = stages_of_warp + of_lane * piece + turned(lane % fours, of_lane) * 4;
    }
  }
  /// The sum of the products of this thread's segment. What is multiplied next is loaded before.
  __device__ float sum() {
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) start(s, s);
    skip(stages - 1);
    wait_for_groups_but<stages - 2>();
    __syncwarp();
    float total = 0;
    Factors now = load(0, 0);
#pragma unroll 1
    for (int k = 0; k < pieces; k += stages) {
#pragma unroll
      for (int s = 0; s < stages; ++s) {
        wait_for_groups_but<stages - 3>();
        __syncwarp();
        start((s + stages - 1) % stages, s);  // where all lanes have read the piece before
        const Factors next = load((s + 1) % stages, s + 1);
        now.add_to(total);
        now = next;
      }
      skip(stages), x_ += stages * piece;
    }
    wait_for_copies();
    __syncwarp();
    return total;
  }

 private:
  /// Where a four of a row is: eight lanes that read fours of their rows meet in no bank.
  __device__ static int turned(int four, int row) { return four ^ (row / 4 % fours); }
  struct Factors {
    Neighbours<float, 4> weight[fours], x[fours];
    __device__ void add_to(float& total) const {
#pragma unroll
      for (int four = 0; four < fours; ++four)
#pragma unroll
        for (int q = 0; q < 4; ++q) total = fmadd(x[four].element[q], weight[four].element[q], total);
    }
  };
  /// From a stage, and piece k of x from here on.
  __device__ Factors load(int at, int k) const {
    Factors loaded;
#pragma unroll
    for (int four = 0; four < fours; ++four) {
      loaded.weight[four] = *reinterpret_cast<const Neighbours<float, 4>*>(weight_[four] + at * stage);
      loaded.x[four] = *reinterpret_cast<const Neighbours<float, 4>*>(x_ + k * piece + four * 4);
    }
    return loaded;
  }
  /// Starts to copy piece k of the rows from here on to a stage, of each 32 bytes by two lanes.
  __device__ void start(int at, int k) {
#pragma unroll
    for (int part = 0; part < fours; ++part)
      copy_four_async(to_[part] + at * stage, from_[part] + k * piece, k * piece < left_[part]);
    end_group_of_copies();
  }
  __device__ void skip(int some) {
#pragma unroll
    for (int part = 0; part < fours; ++part) from_[part] += some * piece, left_[part] -= some * piece;
  }

  const float *x_, *weight_[fours], *from_[fours];
  float* to_[fours];
  int left_[fours];
};

template <>
struct SampleWork<ops::MatMul> {
  template <class C>
  static constexpr SampleRole role() {
    if (!is_float_product<C>(0)) return SampleRole::none;
    if (sums_over_batch<C>(0) && C::steps == 0) return SampleRole::batch;
    const bool rows = C::operand(0).batched() && !C::operand(1).batched() && !C::Op::first(C::config());
    const bool small =
        C::operand(1).bytes(1) <= most_sample_weight && C::result.count(1) * C::operand(0).last() <= most_sample_work;
    return rows && small ? SampleRole::sample : SampleRole::none;
  }
  template <class C>
  __device__ static float element(const Arguments& a, long i) {
    return OverBatch<C, 0, true>(a, i).of_row[0].element[0];
  }
  template <class C>
  static constexpr bool is_shared = C::result.count(1) * C::operand(0).last() >= least_shared_work;
  template <class C>
  static constexpr int threads = RowSizes<C>::count * RowSizes<C>::width;
  template <class C>
  static constexpr int staged_bytes = RowSizes<C>::fits ? RowSizes<C>::bytes : 0;
  template <class C>
  static constexpr bool has_barrier = true;
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which, std::byte* memory) {
    using Sizes = RowSizes<C>;
    float* const staged = reinterpret_cast<float*>(memory);
    Sizes::stage_x(a.operand<float>(0), staged, which.thread);
    __syncthreads();
    constexpr int more = Sizes::stages_of(Sizes::most_stages);
    const int busy = ((which.end(Sizes::count) - which.begin(Sizes::count)) * Sizes::width + warp - 1) / warp;
    if (more > Sizes::stages && busy * more <= Sizes::warps * Sizes::stages) rows<C, more>(a, which, staged);
    else rows<C, Sizes::stages>(a, which, staged);
  }
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which) {
    constexpr TensorType x = C::operand(0), y = C::result;
    constexpr int steps = x.last(), columns = y.last(), length = int(gemm_segment<float>),
                  segments = (steps + length - 1) / length;
    constexpr bool transposed = C::Op::second(C::config());
    each_in_segments<segments, y.count(1)>(
        which,
        [&](int i, int segment) {
          const int row = i / columns, column = i % columns, first = segment * length,
                    last = first + length < steps ? first + length : steps;
          const float *const own = a.operand<float>(0) + row * steps, *const w = a.operand<float>(1);
          StripSums<1> sum;
          if constexpr (transposed) {
#pragma unroll 16
            for (int k = first; k < last; ++k) sum.sum[0] = fmadd(own[k], w[column * steps + k], sum.sum[0]);
          } else {
            constexpr int piece = int(even_piece(steps < length ? steps : length, 24));
            add_column<columns, piece>(own, w + column, first, last, sum.sum[0]);
          }
          return sum;
        },
        [&](int i, const StripSums<1>& total) {
          put_results<C, 1>(a, which, i, 1, i % columns, [&](int) { return total.sum[0]; });
        });
  }

 private:
  /// The products of steps first .. last - 1 by a column of a weight. So many of its numbers are on their way together.
  template <int columns, int piece>
  __device__ static void add_column(const float* x, const float* column, int first, int last, float& sum) {
    const float* from = column + long(first) * columns;
    int k = first;
#pragma unroll 1
    for (; k + piece <= last; k += piece, from += piece * columns) {
      float weight[piece];
#pragma unroll
      for (int j = 0; j < piece; ++j) weight[j] = from[j * columns];
      wait_for_loads();
#pragma unroll
      for (int j = 0; j < piece; ++j) sum = fmadd(x[k + j], weight[j], sum);
    }
#pragma unroll 4
    for (; k < last; ++k, from += columns) sum = fmadd(x[k], *from, sum);
  }
  template <class C, int stages>
  __device__ static void rows(const Arguments& a, SampleOfBatch which, float* staged) {
    using Rows = StagedRows<C, stages>;
    using Lanes = SegmentLanes<Rows::segments>;
    const int begin = which.begin(Rows::count), end = which.end(Rows::count);
#pragma unroll 1
    for (int all = which.thread;; all += sample_threads) {
      if (begin + all / warp * Lanes::sums >= end) return;  // none of the warp has one
      const int i = begin + Lanes::sum_of(all);
      const float own = Rows(a, staged, which, all).sum();
      float total = own;
#pragma unroll
      for (int k = 1; k < Rows::segments; ++k) total = total + __shfl_sync(~0u, own, Lanes::lane_of(all, k));
      if (Lanes::segment_of(all) == 0 && i < end)
        put_results<C, 1>(a, which, i, 1, Rows::rows > 1 ? i % Rows::columns : i, [&](int) { return total; });
    }
  }
};
template <>
struct SampleWork<ops::ProductUpdate> {
  template <class C>
  static constexpr SampleRole role() {
    return sums_over_batch<C>(1) ? SampleRole::batch : SampleRole::none;
  }
  template <class C>
  static constexpr int neighbours = OverBatch<C, 1>::count;
  template <class C>
  __device__ static void update(const Arguments& a, long i) {
    using Own = OverBatch<C, 1>;
    constexpr long columns = Own::columns;
    const long first = Own::first_element(i / Own::count);
    const Own gradient(a, first);
#pragma unroll
    for (int row = 0; row < Own::below; ++row)
      PutUpdate::ElementsOf<C>::put(a, first + row * columns, 0, gradient.of_row[row], Own::across);
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
