// From sums over some samples, or segments of one, in the workspace to the gradient of a convolution for its weight.
#pragma once
#include <tenon/backend/cuda/step/neighbours.hpp>
#include <tenon/core/nchw16n.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Segments one after the other, the 16 samples of a block as a tree, then the blocks one after the other. A slot of
/// the workspace has the sums of `together` samples, or of one of the `segments` of a sample. A warp has some lanes for
/// the samples of a block, each for two slots, and the others for fours of elements.
struct WeightSums {
  static constexpr int threads = 256, quad = 4;
  using Quad = Neighbours<float, quad>;
  int samples, together, segments;
  long count;

  constexpr long slot() const { return (count + quad - 1) / quad * quad; }
  TENON_DEVICE constexpr int of_block() const { return block_samples / together; }
  /// Lanes that share the samples of a block: no more than samples are there.
  TENON_DEVICE constexpr int lanes() const {
    int all = of_block() > 1 ? of_block() / 2 : 1;
    while (all > 1 && all * together >= samples) all /= 2;
    return all;
  }
  constexpr long blocks() const { return blocks_for(slot() / quad * lanes(), threads); }

  __device__ void block(const Arguments& a) const {
    const int of = lanes(), across = warp / of, lane = int(threadIdx.x) % warp, own = lane / across;
    const long all_quads = (count + quad - 1) / quad, place = thread_of_grid() / warp * across + lane % across,
               at = place < all_quads ? place : all_quads - 1;
    const int all = (samples + together - 1) / together, block = of_block();
    const float* const sums = reinterpret_cast<const float*>(a.workspace) + at * quad;
    Quad total{};
#pragma unroll 2
    for (int first = 0; first < all; first += block) {
      const int leaf = first + 2 * own;
      Quad sum = of_sample(sums, leaf, all);
      if (block > 1) add(sum, of_sample(sums, leaf + 1, all));
      for (int step = across; step < warp; step *= 2)
#pragma unroll
        for (float& x : sum.element) x += __shfl_xor_sync(~0u, x, step);
      if (first == 0) total = sum;
      else add(total, sum);
    }
#pragma unroll
    for (float& x : total.element) x += 0.0f;
    if (own == 0 && place < all_quads) store_neighbours(total, a.result<float>(), at * quad, count - at * quad);
  }

 private:
  __device__ static void add(Quad& to, const Quad& other) {
#pragma unroll
    for (int i = 0; i < quad; ++i) to.element[i] += other.element[i];
  }
  /// Zeros where there is none.
  __device__ Quad of_sample(const float* sums, int leaf, int all) const {
    Quad sum{};
    if (leaf >= all) return sum;
    const long step = (count + quad - 1) / quad * quad;
    const float* own = sums + long(leaf) * segments * step;
    sum = *reinterpret_cast<const Quad*>(own);
#pragma unroll 4
    for (int segment = 1; segment < segments; ++segment) add(sum, *reinterpret_cast<const Quad*>(own += step));
    return sum;
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
