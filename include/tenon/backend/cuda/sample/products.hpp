// Products in a kernel per sample: rows of a sample by a weight, and the weight's gradient over the batch.
#pragma once
#include <tenon/backend/cuda/gemm/product_update.hpp>
#include <tenon/backend/cuda/sample/work.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// A sum of `steps` products: add(k, sum) adds product k, or in_step of them. Segments of gemm_segment steps are added
/// one after the other. So many loads of a thread wait together that it waits for the L2 cache a few times only.
template <int in_step = 1, class F>
__device__ float sum_of_products(long steps, F add) {
  constexpr int segment = int(gemm_segment<float>);
  [[maybe_unused]] constexpr int together = 32 / in_step;
  static_assert(segment % in_step == 0);
  float total = 0;
  for (int first = 0; first < int(steps); first += segment) {
    const int last = int(steps) - first < segment ? int(steps) : first + segment;
    float sum = 0;
#pragma unroll together
    for (int k = first; k < last; k += in_step) sum = add(k, sum);
    total = first ? total + sum : sum;
  }
  return total;
}
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
/// `count` neighbours of a row of it, from element i on.
template <class C, int left, int count>
__device__ Neighbours<float, count> product_over_batch(const Arguments& a, long i) {
  constexpr TensorType x = C::operand(left), dy = C::operand(left + 1);
  constexpr int rows = x.last(), columns = dy.last(), segment = int(gemm_segment<float>);
  const float* const from = a.operand<float>(left) + i / columns;
  const float* const to = a.operand<float>(left + 1) + i % columns;
  const int steps = int(x.size(0, a.n));
  Neighbours<float, count> total{};
  for (int first = 0; first < steps; first += segment) {
    const int last = steps - first < segment ? steps : first + segment;
    Neighbours<float, count> sum{};
#pragma unroll 8
    for (int k = first; k < last; ++k) {
      const float factor = from[long(k) * rows];
      const auto own = load_neighbours<count>(to + long(k) * columns, 0, count);
#pragma unroll
      for (int q = 0; q < count; ++q) sum.element[q] = fmadd(factor, own.element[q], sum.element[q]);
    }
#pragma unroll
    for (int q = 0; q < count; ++q) total.element[q] = first ? total.element[q] + sum.element[q] : sum.element[q];
  }
  return total;
}

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
    return product_over_batch<C, 0, 1>(a, i).element[0];
  }
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which) {
    constexpr TensorType x = C::operand(0), y = C::result;
    constexpr int steps = x.last(), columns = y.last();
    constexpr bool transposed = C::Op::second(C::config());
    each_of_sample<y.count(1)>(which, [&](int i) {
      const int row = i / columns, column = i % columns;
      const float *const own = a.operand<float>(0) + row * steps, *const w = a.operand<float>(1);
      float sum;
      if constexpr (transposed && steps % 4 == 0)  // a row of weights, which begins at a multiple of 16 bytes
        sum = sum_of_products<4>(steps, [=](int k, float total) {
          const auto weights = *reinterpret_cast<const Neighbours<float, 4>*>(w + column * steps + k);
#pragma unroll
          for (int q = 0; q < 4; ++q) total = fmadd(own[k + q], weights.element[q], total);
          return total;
        });
      else
        sum = sum_of_products(steps, [=](int k, float total) {
          return fmadd(own[k], transposed ? w[column * steps + k] : w[k * columns + column], total);
        });
      store_result<C>(a, i, column, sum);
    });
  }
};
template <>
struct SampleWork<ops::ProductUpdate> {
  template <class C>
  static constexpr SampleRole role() {
    return sums_over_batch<C>(1) ? SampleRole::batch : SampleRole::none;
  }
  template <class C>
  static constexpr int neighbours = C::operand(2).last() % 4 == 0 ? 4 : 1;
  template <class C>
  __device__ static void update(const Arguments& a, long i) {
    constexpr int count = neighbours<C>;
    PutUpdate::ElementsOf<C>::put(a, i, 0, product_over_batch<C, 1, count>(a, i), count);
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
