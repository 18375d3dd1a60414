// Sums over the batch, of samples or of what samples add to them, and updates by sums.
#pragma once
#include <tenon/backend/cuda/optimizer/update.hpp>
#include <tenon/backend/cuda/reduce/reduction.hpp>
#include <tenon/backend/cuda/reduce/sum_to.hpp>
#include <tenon/backend/cuda/sample/parts.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace ops {
struct ReduceMean;
}

namespace kernel::cuda {

template <class Reduction>
struct BatchReduction {
  using W = DeviceWalk<Reduction>;
  static constexpr int lanes = W::vertical ? 1 : reduce_lanes;
  using T = typename Reduction::R;
  // The result's element `kept`, by a thread or by a half warp, whose lane 0 has it.
  __device__ static T element(const Arguments& a, long kept) {
    using A = typename Reduction::A;
    const OneResult<Reduction> elements(a, kept);
    A total;
    if constexpr (W::one_chain) total = elements.entry(0);
    else
      total = elements.finished(
          sum_of_entries<A>(0, W::entries(a.n), typename Reduction::F(), [&](long c) { return elements.entry(c); }));
    if constexpr (!W::vertical) total = fold_half_warp(total, typename Reduction::F());
    return Reduction::Finish::template of<typename Reduction::C>(total, a.n);
  }
};

/// The segments of a plane, as a SumTree.
template <int levels>
struct PlaneSum {
  float last;
  Tree<float, levels> tree{};

  __device__ void add(const PlaneSum& next) {
    tree.add(last, Add());
    last = next.last;
  }
  __device__ float finished() const { return tree.finish(last, Add()); }
  __device__ PlaneSum from_lane(int lane) const { return {__shfl_sync(~0u, last, lane)}; }
};
/// Sums of images per channel are sums of a sample; others are sums over the rows of the batch.
template <>
struct SampleWork<ops::SumTo> {
  using Own = Kernel<Cuda, ops::SumTo>;
  template <class C>
  using Rows = BatchReduction<Own::Sum<C>>;
  template <class C>
  static constexpr SampleRole role() {
    if (!std::is_same_v<typename C::Result, float> || C::result.batched()) return SampleRole::none;
    if (Own::per_channel<C>()) return SampleRole::part;
    return C::operand(0).batched() && Rows<C>::lanes == 1 ? SampleRole::batch : SampleRole::none;
  }
  template <class C>
  static constexpr int threads = [] {
    if constexpr (Own::per_channel<C>())
      return SegmentLanes<int(pixel_segments(C::operand(0)[2], C::operand(0)[3]).count())>::width *
             int(C::operand(0)[1]);
    else return sample_threads;
  }();
  template <class C>
  __device__ static void part(const Arguments& a, SampleOfBatch which, float* to) {
    constexpr TensorType x = C::operand(0);
    constexpr PixelSegments planes = pixel_segments(x[2], x[3]);
    constexpr int segments = int(planes.count()), across = int(planes.side_by_side());
    using Plane = PlaneSum<(segments <= warp ? 6 : tree_levels)>;
    each_in_segments<segments, x[1]>(
        which,
        [&](int channel, int segment) {
          const float* const plane = a.operand<float>(0) + channel * (x[2] * x[3]);
          const int top = segment / across * int(planes.rows), left = segment % across * int(planes.columns),
                    bottom = top + int(planes.rows) < x[2] ? top + int(planes.rows) : x[2],
                    right = left + int(planes.columns) < x[3] ? left + int(planes.columns) : x[3];
          constexpr int piece = int(even_piece(planes.columns, 16));  // numbers that are on their way together
          double sum = 0;
#pragma unroll 1
          for (int y = top; y < bottom; ++y)
#pragma unroll 1
            for (int q = left; q < right; q += piece) {
              float value[piece];
#pragma unroll
              for (int k = 0; k < piece; ++k) value[k] = plane[y * x[3] + (q + k < right ? q + k : right - 1)];
#pragma unroll
              for (int k = 0; k < piece; ++k)
                if (q + k < right) sum += double(value[k]);
            }
          return Plane{float(sum)};
        },
        [&](int channel, const Plane& total) { to[channel] = total.finished(); });
  }
  template <class C>
  __device__ static float join(const float* parts, long n) {
    return sum_of_parts_of_samples<true>(parts, result_count<C>(1), n);
  }
  template <class C>
  __device__ static float element(const Arguments& a, long i) {
    return Rows<C>::element(a, i);
  }
};
template <>
struct SampleWork<ops::ReduceMean> {
  template <class C>
  using Rows = BatchReduction<decltype(reduction_of<C>())>;
  template <class C>
  static constexpr int lanes = Rows<C>::lanes;
  template <class C>
  static constexpr SampleRole role() {
    const bool fits = std::is_same_v<typename C::Result, float> && C::operand(0).batched() && !C::result.batched();
    return fits ? SampleRole::batch : SampleRole::none;
  }
  template <class C>
  __device__ static float element(const Arguments& a, long i) {
    return Rows<C>::element(a, i);
  }
};

/// An update of each element by its gradient.
template <class Op>
requires requires { requires tenon::detail::is_set(Op::updates_elements); }
struct SampleWork<Op> {
  template <class C>
  static constexpr SampleRole role() {
    const bool fits =
        std::is_same_v<typename C::Result, float> && std::is_same_v<typename C::template Operand<1>, float>;
    return fits ? SampleRole::update : SampleRole::none;
  }
  template <class C>
  __device__ static void update(const Arguments& a, long i, float gradient) {
    using Number = typename C::template Operand<C::operands - 1>;
    C::Op::template step<C::config(), float>(a.operand<Number>(C::operands - 1), Each<C>{a, i, gradient});
  }

 private:
  template <class C>
  struct Each {
    static constexpr int arrays = C::operands - 2;
    const Arguments& a;
    long i;
    float gradient;

    template <class F>
    __device__ void operator()(F f) const {
      float* changed[arrays]{a.template changed<float>(0)};
#pragma unroll
      for (int k = 1; k < arrays; ++k) changed[k] = a.template changed<float>(k + 1);
      Own<1>{i, 1}.template update<arrays>(f, changed, Neighbours<float, 1>{{gradient}});
    }
  };
};

}  // namespace kernel::cuda

}  // namespace tenon
TENON_EXACT_END
