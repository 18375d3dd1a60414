// Products in a kernel per sample: rows of a sample by a weight, and the weight's gradient over the batch.
#pragma once
#include <algorithm>
#include <bit>

#include <tenon/backend/cuda/async_copy.hpp>
#include <tenon/backend/cuda/gemm/product_update.hpp>
#include <tenon/backend/cuda/sample/parts.hpp>

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
/// of its own threads.
template <class C>
struct StagedRows {
  static constexpr int steps = C::operand(0).last(), columns = C::result.last(), segment = int(gemm_segment<float>),
                       segments = (steps + segment - 1) / segment, width = int(std::bit_ceil(unsigned(segments))),
                       count = int(C::result.count(1)), piece = 8, stage = warp * piece,
                       pieces = ((steps < segment ? steps : segment) + piece - 1) / piece;
  static constexpr int warps = std::min(sample_threads, count* width + warp - 1) / warp,
                       stages = std::clamp(most_staged_bytes / (warps * stage * int(sizeof(float))), 2, 2 * pieces);
  static constexpr bool fits = C::Op::second(C::config()) && steps % 4 == 0 && width <= warp;
  static constexpr int bytes = warps * stages * stage * int(sizeof(float));

  /// `all`: the number of this thread's segment among those of the block.
  __device__ StagedRows(const Arguments& a, std::byte* staged, SampleOfBatch which, int all)
      : lane_(which.thread % warp) {
    const int items = (which.end(count) - which.begin(count)) * width,
              busy = items < sample_threads ? (items + warp - 1) / warp : sample_threads / warp,
              all_stages = warps * stages;
    half_ = all_stages / busy / 2;
    half_ = half_ < pieces ? half_ : pieces;
    own_ = reinterpret_cast<float*>(staged) + which.thread / warp * (2 * half_ * stage);
    const int first = which.begin(count) * width + all / warp * warp, own = first + lane_, at = own % width * segment;
    x_ = a.operand<float>(0) + own / width / columns % (count / columns) * steps + at;
    rest_ = (at + segment < steps ? at + segment : steps) - at;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int row = part * (warp / 2) + lane_ / 2, half = lane_ % 2, i = (first + row) / width,
                begin = (first + row) % width * segment + half * 4, end = begin - half * 4 + segment;
      const bool there = i < which.end(count) && begin < steps;
      from_[part] = a.operand<float>(1) + (there ? i % columns * steps + begin : 0);
      left_[part] = there ? (end < steps ? end : steps) - begin : 0;
      to_[part] = row * piece + (half ^ (row >> 2 & 1)) * 4;
    }
  }
  /// The sum of the products of this thread's segment. Pieces are copied to one half of the stages while those of the
  /// other half are used.
  __device__ float sum() {
    float total = 0;
    start(own_);
    float *reading = own_, *writing = own_ + half_ * stage;
#pragma unroll 1
    for (int first = 0; first < pieces; first += half_) {
      start(writing);
      wait_for_groups_but<1>();
      __syncwarp();
#pragma unroll 2
      for (int k = 0; k < half_; ++k) add(reading + k * stage, total);
      __syncwarp();
      float* const done = reading;
      reading = writing, writing = done;
    }
    wait_for_copies();
    __syncwarp();
    return total;
  }

 private:
  __device__ void add(const float* weights, float& total) {
    const int turned = lane_ >> 2 & 1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (half * 4 >= rest_) continue;
      const auto w = *reinterpret_cast<const Neighbours<float, 4>*>(weights + lane_ * piece + (half ^ turned) * 4);
      const auto factor = *reinterpret_cast<const Neighbours<float, 4>*>(x_ + half * 4);
#pragma unroll
      for (int q = 0; q < 4; ++q) total = fmadd(factor.element[q], w.element[q], total);
    }
    x_ += piece, rest_ -= piece;
  }
  /// Starts to copy the next half of the stages, of a row 32 bytes by two lanes. Every other four rows have their two
  /// parts exchanged, so that 8 lanes which read 16 bytes each meet in no bank.
  __device__ void start(float* to) {
#pragma unroll 1
    for (int k = 0; k < half_; ++k, to += stage)
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        copy_four_async(to + to_[part], from_[part], left_[part] > 0);
        from_[part] += piece, left_[part] -= piece;
      }
    end_group_of_copies();
  }

  float* own_;  // stages of this warp
  int half_;    // of their number
  int lane_, rest_, left_[2], to_[2];
  const float *x_, *from_[2];
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
  static constexpr int shared_items =
      C::result.count(1) * C::operand(0).last() >= least_shared_work ? int(C::result.count(1)) : 0;
  template <class C>
  __device__ static int elements_before(int item) {
    return item;
  }
  template <class C>
  static constexpr int staged_bytes = StagedRows<C>::fits ? StagedRows<C>::bytes : 0;
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which, std::byte* staged) {
    using Rows = StagedRows<C>;
    const int begin = which.begin(Rows::count), end = which.end(Rows::count);
#pragma unroll 1
    for (int all = which.thread;; all += sample_threads) {
      if (begin + all / warp * (warp / Rows::width) >= end) return;  // none of the warp has one
      const int i = begin + all / Rows::width;
      const float own = Rows(a, staged, which, all).sum();
      float total = own;
#pragma unroll
      for (int k = 1; k < Rows::segments; ++k) total = total + __shfl_sync(~0u, own, k, Rows::width);
      if (all % Rows::width == 0 && i < end) store_result<C>(a, i, i % Rows::columns, total);
    }
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
#pragma unroll 32  // 32 loads are under way at the same time
          for (int k = first; k < last; ++k)
            sum.sum[0] = fmadd(own[k], transposed ? w[column * steps + k] : w[k * columns + column], sum.sum[0]);
          return sum;
        },
        [&](int i, const StripSums<1>& total) { store_result<C>(a, i, i % columns, total.sum[0]); });
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
