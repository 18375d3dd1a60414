// Fits WeightCosts (backend/cuda/conv/weight_plan.hpp) to a GPU: times all plans of some layers, then prints, per tile,
// the costs whose times are nearest, and what the present ones lose. It needs a GPU:
//   nvcc -x cu -std=c++20 -O2 --expt-relaxed-constexpr --extended-lambda -fmad=false -ftz=true -DTENON_TARGET=cuda
//        -Xcompiler=-march=native -arch=native -Iinclude benchmarks/cuda/refit.cpp -o refit
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <tenon/backend/cuda/conv/weight_plan.hpp>

using namespace tenon;
using namespace tenon::kernel;
using namespace tenon::kernel::cuda;

namespace {
struct Memory {
  void* at = nullptr;
  explicit Memory(long bytes) {
    check(cudaMalloc(&at, std::size_t(bytes)), "cudaMalloc");
    check(cudaMemset(at, 0, std::size_t(bytes)), "cudaMemset");
  }
  Memory(const Memory&) = delete;
  ~Memory() { static_cast<void>(cudaFree(at)); }
};

/// The least time of some runs in microseconds.
double time_of(const auto& run) {
  constexpr int rounds = 3, runs = 4;
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  double least = 1e30;
  run();
  for (int round = 0; round < rounds; ++round) {
    check(cudaEventRecord(begin, nullptr), "cudaEventRecord");
    for (int i = 0; i < runs; ++i) run();
    check(cudaEventRecord(end, nullptr), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    least = std::min(least, 1e3 * milliseconds / runs);
  }
  static_cast<void>(cudaEventDestroy(begin)), static_cast<void>(cudaEventDestroy(end));
  return least;
}

struct Measured {
  WeightPlan plan;
  double microseconds;
};
/// All plans of a layer by a tile, with their times.
template <class Tile>
std::vector<Measured> measure(const Conv2dSizes& s) {
  constexpr long most_workspace = 1l << 30, fewest_blocks = 60;
  const Memory x(s.n * s.c * s.h * s.w * 4), dy(s.n * s.o * s.oh * s.ow * 4), dw(s.o * s.c * s.taps() * 4),
      workspace(most_workspace);
  Arguments a;
  a.n = s.n, a.buffer[0] = dw.at, a.buffer[1] = x.at, a.buffer[2] = dy.at;
  a.workspace = static_cast<std::byte*>(workspace.at);
  std::vector<Measured> all;
  for (int together = 0; together <= block_samples; together = together > 0 ? 2 * together : 1)
    for (long pixels = most_chunk_pixels; pixels >= least_chunk_pixels; pixels /= 2) {
      if (!WeightPlanOf<Tile>::takes(s, together)) continue;
      const WeightPlan plan = weight_plan<Tile>(s, std::max(together, 1), together == 0, pixels);
      const bool is_first = together > 0 || plan.segments() > 1;
      if (!is_first || weight_shared_bytes<Tile>(plan) > most_shared_bytes ||
          plan.slots() * plan.slot() * 4 > most_workspace || weight_blocks<Tile>(plan) < fewest_blocks)
        continue;
      all.push_back({plan, time_of([&] {
                       launch_weight_tiles<Tile>(a, plan);
                       launch_weight_sums(a, plan.samples, plan.together, plan.apart ? plan.segments() : 1,
                                          plan.count());
                     })});
    }
  return all;
}

template <class Tile>
double microseconds(const WeightPlan& plan, const WeightCosts& costs) {
  constexpr double cycles_per_microsecond = 1960;
  return double(weight_cost<Tile>(plan, costs)) / cycles_per_microsecond;
}
/// The mean square of the logarithms of computed / measured times.
template <class Tile>
double error(const std::vector<std::vector<Measured>>& layers, const WeightCosts& costs) {
  double sum = 0, count = 0;
  for (const auto& layer : layers)
    for (const Measured& m : layer) {
      const double off = std::log(microseconds<Tile>(m.plan, costs) / m.microseconds);
      sum += off * off, ++count;
    }
  return std::sqrt(sum / std::max(count, 1.0));
}
/// The time of the plans that costs choose, as a multiple of that of the fastest ones.
template <class Tile>
double lost(const std::vector<std::vector<Measured>>& layers, const WeightCosts& costs) {
  double sum = 0, count = 0;
  for (const auto& layer : layers) {
    if (layer.empty()) continue;
    const auto least = [&](auto of) {
      return std::min_element(layer.begin(), layer.end(), [&](const auto& p, const auto& q) { return of(p) < of(q); });
    };
    const auto chosen = least([&](const Measured& m) { return microseconds<Tile>(m.plan, costs); });
    const auto fastest = least([](const Measured& m) { return m.microseconds; });
    sum += std::log(chosen->microseconds / fastest->microseconds), ++count;
  }
  return std::exp(sum / std::max(count, 1.0));
}

template <class Tile>
void fit(const char* name, const std::vector<Conv2dSizes>& layers) {
  constexpr int tries = 20000;
  std::vector<std::vector<Measured>> measured;
  for (const Conv2dSizes& s : layers) measured.push_back(measure<Tile>(s));
  const auto print = [&](const char* which, const WeightCosts& c) {
    std::printf("%-8s %-8s {%d, %d, %d, %d, %d}: times are %.0f %% off, plans take %.3f of the fastest ones\n", name,
                which, c.limit, c.half, c.join, c.chunk, c.begin, 100 * error<Tile>(measured, c),
                lost<Tile>(measured, c));
  };
  WeightCosts best = weight_costs<Tile>;
  print("present", best);
  std::mt19937 random(1);
  std::normal_distribution<double> factor(0, 0.2);
  for (int i = 0; i < tries; ++i) {
    WeightCosts other = best;
    for (int* cost : {&other.limit, &other.half, &other.join, &other.chunk, &other.begin})
      *cost = int(std::lround((*cost + 0.5) * std::exp(factor(random)) - 0.5));
    other.limit = std::max(other.limit, 1);
    if (error<Tile>(measured, other) < error<Tile>(measured, best)) best = other;
  }
  print("fitted", best);
}
/// x [n, c, h, h], o kernels of k x k.
Conv2dSizes layer(long n, long c, long h, long o, int k, int stride) {
  const int pad = k / 2;
  const long oh = (h + 2 * pad - k) / stride + 1;
  return {n, c, h, h, o, oh, oh, k, k, stride, stride, pad, pad, 1, 1, 1};
}
}  // namespace

int main() {
  std::vector<Conv2dSizes> same, halved, any;
  for (const long n : {32, 256}) {
    for (const long c : {64, 128, 256, 512}) same.push_back(layer(n, c, 2048 / c, c, 3, 1));
    for (const long c : {64, 128, 256}) {
      halved.push_back(layer(n, c, 2048 / c, 2 * c, 3, 2));
      any.push_back(layer(n, c, 2048 / c, 2 * c, 1, 2));
    }
    any.push_back(layer(n, 3, 32, 64, 3, 1));
  }
  fit<Weight3x3Tile<1, 4, false>>("3x3", same);
  fit<Weight3x3Tile<1, 2, true>>("pairs", same);
  fit<Weight3x3Tile<2, 4, false>>("3x3/2", halved);
  fit<Weight3x3Tile<2, 2, true>>("pairs/2", halved);
  fit<WideWeightTile>("wide", any);
  fit<NarrowWeightTile>("narrow", any);
}
