// LSTM and GRU: the products with x of all steps first, then a block of threads walks over the steps of some samples.
#pragma once
#include <tenon/backend/cpu/recurrent/recurrent.hpp>
#include <tenon/backend/cuda/attention/attention.hpp>
#include <tenon/backend/cuda/recurrent/kept_chains.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// What a call computes. Operands: x, [the weight of x,] the weight of h, [bias,] [first states,] [lengths].
template <class Call, class TheCell>
struct Layer {
  using C = Call;
  using Cell = TheCell;
  using A = typename C::Result;
  static constexpr int weight = Cell::projected ? 1 : 2;
  static constexpr long hidden = C::operand(weight)[1], gates = Cell::gates * hidden, parts = Cell::parts * hidden,
                        steps = C::result[1], features = Cell::projected ? 0 : long(C::operand(0)[2]);
  static constexpr bool lengths = has_lengths<C>();
  static constexpr int operands = C::operands - lengths;
  static constexpr bool bias = operands > weight + 1 && C::operand(weight + 1).rank == 1;
  static constexpr bool first = operands > weight + 1 + bias, reverse = C::config().reverse != 0;
  /// Whether x and h are one chain together.
  static constexpr bool one_chain = features + hidden <= segment_units<A>;

  TENON_DEVICE static constexpr long samples(long n) {
    return result_count<C>(n) / (steps * hidden > 0 ? steps * hidden : 1);
  }
  TENON_DEVICE static long at(long sample, long step) { return sample * steps + (reverse ? steps - 1 - step : step); }
  __device__ static const A* first_state(const Arguments& a, long sample, long state) {
    return a.operand<A>(operands - 1) + (sample * Cell::states + state) * hidden;
  }
  /// Whether a sample has that step.
  __device__ static bool has_step(const Arguments& a, long sample, long step) {
    if constexpr (lengths) return step < a.operand<std::int32_t>(operands)[sample];
    else return true;
  }

  // In the workspace: both weights transposed, as threads of neighbouring gates read them; products with x.
  __device__ static A* weight_of_h(const Arguments& a) { return reinterpret_cast<A*>(a.workspace); }
  __device__ static A* weight_of_x(const Arguments& a) { return weight_of_h(a) + gates * hidden; }
  __device__ static A* products(const Arguments& a) { return weight_of_x(a) + gates * features; }
  static constexpr long workspace(long n) {
    return (gates * (hidden + features) + (Cell::projected ? 0 : samples(n) * steps * gates)) * long(sizeof(A));
  }
};

template <class L>
struct TransposeWeights {
  static constexpr int threads = 256;
  static long blocks(long) { return blocks_for(L::gates * (L::hidden + L::features), threads); }
  __device__ static void block(const Arguments& a) {
    using A = typename L::A;
    const long i = thread_of_grid(), of_h = L::gates * L::hidden;
    if (i < of_h) L::weight_of_h(a)[i] = a.operand<A>(L::weight)[i % L::gates * L::hidden + i / L::gates];
    else if (i < of_h + L::gates * L::features)
      L::weight_of_x(a)[i - of_h] = a.operand<A>(1)[(i - of_h) % L::gates * L::features + (i - of_h) / L::gates];
  }
};

/// x W of all samples and steps: a thread computes the gate of several of them.
template <class L>
struct InputProducts {
  static constexpr int threads = 128, rows = 8;
  static constexpr long across = (L::gates + threads - 1) / threads;
  static long blocks(long n) { return blocks_for(L::samples(n) * L::steps, rows) * across; }
  __device__ static void block(const Arguments& a) {
    using A = typename L::A;
    const long all = L::samples(a.n) * L::steps, first = blockIdx.x / across * rows,
               gate = blockIdx.x % across * threads + threadIdx.x;
    if (gate >= L::gates) return;
    const A *const x = a.operand<A>(0), *const weight = L::weight_of_x(a) + gate;
    SegmentedSum<A> sum[rows];
    for (long begin = 0; begin < L::features; begin += segment_units<A>) {
      const long end = L::features < begin + segment_units<A> ? L::features : begin + segment_units<A>;
#pragma unroll 4
      for (long f = begin; f < end; ++f) {
        const A w = weight[f * L::gates];
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          const long row = first + r < all ? first + r : all - 1;
          sum[r].add(x[row * L::features + f], w);
        }
      }
#pragma unroll
      for (int r = 0; r < rows; ++r) sum[r].end_segment(end);
    }
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (first + r < all) L::products(a)[(first + r) * L::gates + gate] = sum[r].total;
  }
};

/// A thread per gate, as far as a block has threads, for `samples` samples at a time. A block of one sample keeps what
/// it can of the weight of h.
template <class L, int samples_of_block>
struct TimeLoop {
  using Cell = typename L::Cell;
  using A = typename L::A;
  static constexpr int threads = threads_for(L::gates), samples = samples_of_block;
  using Kept =
      KeptChains<A, samples == 1 && L::hidden <= segment_units<A> ? L::hidden : 0, L::gates, threads, L::gates>;
  static constexpr long own_elements = samples * (L::gates + 2 * L::hidden);
  static constexpr int bytes = int((own_elements + Kept::shared) * long(sizeof(A)));
  static constexpr int gates_of_thread = int((L::gates + threads - 1) / threads);
  static long blocks(long n) { return blocks_for(L::samples(n), samples); }

  __device__ static void block(const Arguments& a) {
    A *const h = reinterpret_cast<A*>(dynamic_shared()), *const carried = h + samples * L::hidden,
             *const product = carried + samples * L::hidden;
    const long first = long(blockIdx.x) * samples, all = L::samples(a.n), left = all - first,
               own = left < samples ? left : samples;
    const Kept weight(L::weight_of_h(a) + threadIdx.x, product + samples * L::gates);
    for (long i = threadIdx.x; i < samples * L::hidden; i += threads) {
      const long sample = first + i / L::hidden, unit = i % L::hidden;
      A state = 0, cell = 0;
      if constexpr (L::first)
        if (sample < all) {
          state = L::first_state(a, sample, 0)[unit];
          cell = L::first_state(a, sample, Cell::states - 1)[unit];
        }
      h[i] = state, carried[i] = cell;
    }
    __syncthreads();
    A of_x[gates_of_thread][samples];
    load_products(a, first, own, 0, of_x);
    for (long step = 0; step < L::steps; ++step) {
      A now[gates_of_thread][samples];
#pragma unroll
      for (int g = 0; g < gates_of_thread; ++g)
#pragma unroll
        for (int s = 0; s < samples; ++s) now[g][s] = of_x[g][s];
      if (step + 1 < L::steps) load_products(a, first, own, step + 1, of_x);  // while this step is multiplied
      multiply(a, step > 0 || L::first, weight, h, now, product);
      __syncthreads();
      for (long i = threadIdx.x; i < own * L::hidden; i += threads)
        advance(a, first + i / L::hidden, step, i % L::hidden, product + i / L::hidden * L::gates, h[i], carried[i]);
      __syncthreads();
    }
    if constexpr (has_result<typename L::C, 1>) {
      A* const last = result_of<typename L::C, 1>(a) + first * Cell::states * L::hidden;
      for (long i = threadIdx.x; i < own * L::hidden; i += threads) {
        A* const to = last + i / L::hidden * Cell::states * L::hidden + i % L::hidden;
        to[0] = h[i];
        if constexpr (Cell::states > 1) to[L::hidden] = carried[i];
      }
    }
  }

 private:
  __device__ static void load_products([[maybe_unused]] const Arguments& a, [[maybe_unused]] long first,
                                       [[maybe_unused]] long own, [[maybe_unused]] long step,
                                       A (&of_x)[gates_of_thread][samples]) {
#pragma unroll
    for (int g = 0; g < gates_of_thread; ++g)
#pragma unroll
      for (int s = 0; s < samples; ++s) {
        of_x[g][s] = 0;
        const long gate = g * threads + threadIdx.x;
        if constexpr (!Cell::projected)
          if (s < own && gate < L::gates) of_x[g][s] = L::products(a)[L::at(first + s, step) * L::gates + gate];
      }
  }
  /// Products with h, added to those with x, and the bias.
  __device__ static void multiply(const Arguments& a, bool has_h, const Kept& weight, const A* h,
                                  A (&total)[gates_of_thread][samples], A* product) {
    constexpr bool resumes = !Cell::projected && L::one_chain;
#pragma unroll
    for (int g = 0; g < gates_of_thread; ++g) {
      const long gate = g * threads + threadIdx.x;
      if (gate >= L::gates) return;
      if constexpr (Kept::length > 0) {
        if (has_h) {
          const A chain = weight.continued(resumes ? total[g][0] : A(0), h);
          total[g][0] = resumes || Cell::projected ? chain : total[g][0] + chain;
        }
      } else {
        for (long begin = 0; has_h && begin < L::hidden; begin += segment_units<A>)
          add_segment(L::weight_of_h(a) + gate, h, begin, total[g]);
      }
      A bias = 0;
      if constexpr (L::bias) bias = a.operand<A>(L::weight + 1)[gate];
#pragma unroll
      for (int s = 0; s < samples; ++s) product[s * L::gates + gate] = L::bias ? total[g][s] + bias : total[g][s];
    }
  }
  __device__ static void add_segment(const A* weight, const A* h, long begin, A (&total)[samples]) {
    constexpr bool resumes = !Cell::projected && L::one_chain;
    const long end = L::hidden < begin + segment_units<A> ? L::hidden : begin + segment_units<A>;
    A chain[samples];
#pragma unroll
    for (int s = 0; s < samples; ++s) chain[s] = resumes ? total[s] : A(0);
#pragma unroll 8
    for (long p = begin; p < end; ++p) {
      const A w = weight[p * L::gates];
#pragma unroll
      for (int s = 0; s < samples; ++s) chain[s] = fmadd(h[s * L::hidden + p], w, chain[s]);
    }
#pragma unroll
    for (int s = 0; s < samples; ++s)
      total[s] = resumes || (Cell::projected && begin == 0) ? chain[s] : total[s] + chain[s];
  }
  __device__ static void advance(const Arguments& a, long sample, long step, long unit, const A* product, A& h,
                                 A& carried) {
    using C = typename L::C;
    const long at = L::at(sample, step);
    const auto own = [&](long gate) { return product[gate * L::hidden + unit]; };
    const auto given = [&](long gate) { return a.operand<A>(0)[at * L::gates + gate * L::hidden + unit]; };
    if (!L::has_step(a, sample, step)) {  // the states stay
      a.result<A>()[at * L::hidden + unit] = A(0);
      return;
    }
    A part[Cell::parts], state = Cell::states > 1 ? carried : h;
    const A out = Cell::forward(own, given, state, part);
    if constexpr (Cell::states > 1) carried = state;
    h = out;
    a.result<A>()[at * L::hidden + unit] = out;
    if constexpr (has_result<C, 2>) {
      A* const kept = result_of<C, 2>(a) + at * L::parts + unit;
#pragma unroll
      for (int k = 0; k < int(Cell::parts); ++k) kept[k * L::hidden] = part[k];
    }
  }
};

template <class Cell>
struct RecurrentLayer : Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return Layer<Call, Cell>::workspace(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using L = Layer<Call, Cell>;
    constexpr long busy = 528;  // blocks that keep a GPU busy
    launch_blocks<TransposeWeights<L>>(a);
    if constexpr (!Cell::projected) launch_blocks<InputProducts<L>>(a);
    if constexpr (TimeLoop<L, 4>::bytes <= most_shared_bytes)  // of wide layers a block has room for one sample alone
      if (L::samples(a.n) >= busy) return loop<TimeLoop<L, 4>>(a);
    loop<TimeLoop<L, 1>>(a);
  }

 private:
  template <class Loop>
  static void loop(const Arguments& a) {
    launch_blocks<Loop>(a, Loop::blocks(a.n), Loop::bytes);
  }
};

/// h one step earlier.
struct PreviousStep {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    constexpr long steps = C::result[1], hidden = C::result[2];
    constexpr bool reverse = C::config().reverse != 0;
    const long step = i / hidden % steps, before = reverse ? step + 1 : step - 1;
    T value = 0;
    if (before >= 0 && before < steps) value = a.operand<T>(0)[i + (before - step) * hidden];
    else if constexpr (C::operands > 1) {
      constexpr long states = C::operand(1)[1];
      value = a.operand<T>(1)[i / (steps * hidden) * states * hidden + i % hidden];
    }
    a.result<T>()[i] = value;
  }
};

}  // namespace tenon::kernel::cuda

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::Lstm> : kernel::cuda::RecurrentLayer<kernel::LstmCell> {};
template <>
struct Kernel<Cuda, ops::Gru> : kernel::cuda::RecurrentLayer<kernel::GruCell> {};
template <>
struct Kernel<Cuda, ops::RecurrentPrevious> : kernel::cuda::Elements<kernel::cuda::PreviousStep> {};

}  // namespace tenon
TENON_EXACT_END
