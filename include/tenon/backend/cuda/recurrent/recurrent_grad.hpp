// The gradients of LSTM and GRU: a block of threads walks back over the steps of a sample.
#pragma once
#include <tenon/backend/cuda/recurrent/recurrent.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Operands: what is kept, the weight of h, [h one step earlier, if it is the only state,] [the gradient of all h,]
/// [that of the last states,] [first states, if there are others,] [lengths].
template <class C, class Cell>
struct TimeLoopBack {
  using A = typename C::Result;
  static constexpr long hidden = C::operand(1)[1], gates = Cell::gates * hidden, parts = Cell::parts * hidden,
                        steps = C::result[1], segments = (gates + segment_units<A> - 1) / segment_units<A>;
  static constexpr bool h_alone = Cell::states == 1, reverse = C::config().reverse != 0,
                        of_all = C::config().of_all != 0, of_last = C::config().of_last != 0;
  static constexpr int all = 2 + h_alone, last = all + of_all, first = last + of_last,
                       operands = C::operands - has_lengths<C>();
  static constexpr long wanted = hidden * segments;  // chains at a time
  static constexpr int threads = threads_for(wanted), units = int((hidden + threads - 1) / threads);
  static constexpr long chain = gates < segment_units<A> ? gates : segment_units<A>;
  using Kept = KeptChains<A, segments * chain == gates ? chain : 0, wanted, threads, hidden>;
  static constexpr long own_elements = gates + hidden + Kept::shared;
  /// Of wide layers there is no room in shared memory for the sums of all segments.
  static constexpr bool sums_in_memory = (own_elements + wanted) * long(sizeof(A)) > most_shared_bytes;
  static constexpr int bytes = int((own_elements + (sums_in_memory ? 0 : wanted)) * long(sizeof(A)));

  static constexpr long workspace(long n) { return sums_in_memory ? samples(n) * wanted * long(sizeof(A)) : 0; }
  TENON_DEVICE static constexpr long samples(long n) {
    return result_count<C>(n) / (steps * gates > 0 ? steps * gates : 1);
  }
  TENON_DEVICE static long at(long sample, long step) { return sample * steps + (reverse ? steps - 1 - step : step); }
  static long blocks(long n) { return samples(n); }
  /// The steps of a sample.
  __device__ static long length(const Arguments& a, long sample) {
    if constexpr (has_lengths<C>()) {
      const long own = a.operand<std::int32_t>(operands)[sample];
      return own < steps ? own : steps;
    } else return steps;
  }
  __device__ static void block(const Arguments& a) {
    const long sample = blockIdx.x;
    A *const row = reinterpret_cast<A*>(dynamic_shared()), *const carried = row + gates,
             *const sums = sums_in_memory ? reinterpret_cast<A*>(a.workspace) + sample * wanted : carried + hidden;
    const A* const weight = a.operand<A>(1);
    const long segment = threadIdx.x / hidden, unit = threadIdx.x % hidden;
    const Kept kept(weight + segment * chain * hidden + unit, sums + segments * hidden);
    for (long u = threadIdx.x; u < hidden; u += threads) {
      carried[u] = 0;
      if constexpr (Cell::states > 1 && of_last) carried[u] = a.operand<A>(last)[(2 * sample + 1) * hidden + u];
    }
    const long own_steps = length(a, sample);
    if constexpr (has_lengths<C>()) no_gradient(a, sample, own_steps);
    for (long step = own_steps; step-- > 0;) {
      const bool at_end = step + 1 == own_steps;
      Given given[units];  // on its way while the products are computed
#pragma unroll
      for (int k = 0; k < units; ++k)
        if (const long u = k * threads + threadIdx.x; u < hidden) given[k] = of_unit(a, sample, step, u);
      __syncthreads();
      if (!at_end) {
        if constexpr (Kept::length > 0) {
          if (threadIdx.x < wanted) sums[threadIdx.x] = kept.continued(A(0), row + segment * chain);
        } else multiply(weight, row, sums);
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < units; ++k) {
        const long u = k * threads + threadIdx.x;
        if (u >= hidden) break;
        A after = 0;
        if (!at_end) {
          after = sums[u];
          for (long s = 1; s < segments; ++s) after += sums[s * hidden + u];
        } else if constexpr (of_last) after = a.operand<A>(last)[sample * Cell::states * hidden + u];
        go_back(a, sample, step, u, given[k], after, row, carried[u]);
      }
    }
    if constexpr (has_result<C, 1>) {
      for (long u = threadIdx.x; u < hidden; u += threads) result_of<C, 1>(a)[sample * hidden + u] = carried[u];
    }
  }

 private:
  /// Zeros for the steps from `first_step` on, which are forward.
  __device__ static void no_gradient(const Arguments& a, long sample, long first_step) {
    const long end = (sample + 1) * steps * gates;
    for (long i = (sample * steps + (first_step > 0 ? first_step : 0)) * gates + threadIdx.x; i < end; i += threads) {
      a.result<A>()[i] = A(0);
      if constexpr (Cell::projected && has_result<C, 2>) result_of<C, 2>(a)[i] = A(0);
    }
  }
  /// sums[segment][unit] of the row of shares times the weight.
  __device__ static void multiply(const A* weight, const A* row, A* sums) {
    for (long i = threadIdx.x; i < wanted; i += threads) {
      const long begin = i / hidden * segment_units<A>,
                 end = gates < begin + segment_units<A> ? gates : begin + segment_units<A>;
      A sum = 0;
#pragma unroll 8
      for (long p = begin; p < end; ++p) sum = fmadd(row[p], weight[p * hidden + i % hidden], sum);
      sums[i] = sum;
    }
  }
  /// What a step gets from elsewhere.
  struct Given {
    A part[Cell::parts], before, above;
  };
  __device__ static Given of_unit(const Arguments& a, long sample, long step, long u) {
    const long own = at(sample, step);
    Given given;
#pragma unroll
    for (int k = 0; k < int(Cell::parts); ++k) given.part[k] = a.operand<A>(0)[own * parts + k * hidden + u];
    given.before = before(a, sample, step, u);
    given.above = 0;
    if constexpr (of_all) given.above = a.operand<A>(all)[own * hidden + u];
    return given;
  }
  __device__ static A before(const Arguments& a, long sample, long step, long u) {
    if constexpr (h_alone) return a.operand<A>(2)[at(sample, step) * hidden + u];
    else {
      if (step > 0) return a.operand<A>(0)[at(sample, step - 1) * parts + (Cell::parts - 1) * hidden + u];
      if constexpr (first < operands)
        return a.operand<A>(first)[(sample * Cell::states + Cell::states - 1) * hidden + u];
      else return A(0);
    }
  }
  __device__ static void go_back(const Arguments& a, long sample, long step, long u, const Given& given, A after,
                                 A* row, A& carried) {
    const long own = at(sample, step);
    A gradient[Cell::gates], state = carried;
    Cell::backward(given.part, given.before, given.above + after, state, gradient);
    carried = state;
#pragma unroll
    for (int k = 0; k < int(Cell::gates); ++k) {
      const A share = Cell::hidden_share(given.part, k, gradient[k]);
      row[k * hidden + u] = share;
      if constexpr (Cell::projected && has_result<C, 2>) result_of<C, 2>(a)[own * gates + k * hidden + u] = share;
      a.result<A>()[own * gates + k * hidden + u] = gradient[k];
    }
  }
};

template <class Cell>
struct RecurrentLayerGrad : Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return TimeLoopBack<Call, Cell>::workspace(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Loop = TimeLoopBack<Call, Cell>;
    launch_blocks<Loop>(a, Loop::blocks(a.n), Loop::bytes);
  }
};

}  // namespace tenon::kernel::cuda

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::LstmGrad> : kernel::cuda::RecurrentLayerGrad<kernel::LstmCell> {};
template <>
struct Kernel<Cuda, ops::GruGrad> : kernel::cuda::RecurrentLayerGrad<kernel::GruCell> {};

}  // namespace tenon
TENON_EXACT_END
