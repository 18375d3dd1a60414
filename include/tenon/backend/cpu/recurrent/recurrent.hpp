// Kernels of recurrent layers: LSTM, GRU, their gradients, and h one step earlier.
#pragma once
#include <tenon/backend/cpu/recurrent/time_loop.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Gru;
struct GruGrad;
struct Lstm;
struct LstmGrad;
struct RecurrentPrevious;
}  // namespace ops

namespace kernel {
/// Whether the last operand are the lengths of the samples.
template <class Call>
constexpr bool has_lengths() {
  return !is_floating(Call::operand(Call::operands - 1).dtype);
}

/// Operands: x, [the weight of x,] the weight of h, [bias,] [first states,] [lengths].
template <class Cell>
struct RecurrentKernel {
  static constexpr bool linear_work = true;
  static constexpr int weight = Cell::projected ? 1 : 2;
  template <class Call>
  static constexpr long hidden = Call::operand(weight)[1];
  template <class Call>
  static constexpr long features = Cell::projected ? 0 : Call::operand(0)[2];

  template <class Call>
  static constexpr KernelWork work(long n) {
    return {Call::result.size(0, n),
            long(Call::result[1]) * Cell::gates * hidden<Call> * (features<Call> + hidden<Call>) / 16,
            long(recurrent_workspace<Cell, typename Call::Result>(features<Call>, hidden<Call>))};
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    run_with<Call>(a, a.operand<typename Call::Result>(weight), nullptr, begin, end);
  }

  static constexpr int kept_operand = weight;
  template <class Call>
  static constexpr bool keeps_operand() {
    return true;
  }
  template <class Call>
  static long kept_bytes(long n) {
    return Call::result.size(0, n) == 1 ? recurrent_weight_bytes<Cell, typename Call::Result>(hidden<Call>) : 0;
  }
  template <class Call>
  static void keep(const void* from, long, void* to) {
    keep_recurrent_weight<Cell>(static_cast<const typename Call::Result*>(from), hidden<Call>, to);
  }
  template <class Call>
  static constexpr KernelWork kept_work(long n) {
    return work<Call>(n);
  }
  template <class Call>
  static void run_kept(const Arguments& a, long begin, long end) {
    run_with<Call>(a, nullptr, a.operand<std::byte>(weight), begin, end);
  }

 private:
  template <class Call>
  static void run_with(const Arguments& a, const typename Call::Result* own, const void* packed, long begin, long end) {
    using T = typename Call::Result;
    constexpr int operands = Call::operands - has_lengths<Call>();
    constexpr bool bias = operands > weight + 1 && Call::operand(weight + 1).rank == 1;
    constexpr bool first = operands > weight + 1 + bias;
    const Recurrent<Cell, T> layer{Call::result[1],
                                   features<Call>,
                                   hidden<Call>,
                                   Call::config().reverse != 0,
                                   Cell::projected ? nullptr : a.operand<T>(1),
                                   own,
                                   bias ? a.operand<T>(weight + 1) : nullptr,
                                   first ? a.operand<T>(operands - 1) : nullptr,
                                   packed,
                                   has_lengths<Call>() ? a.operand<std::int32_t>(operands) : nullptr};
    RecurrentResults<T> to{a.result<T>()};
    if constexpr (has_result<Call, 1>) to.last = result_of<Call, 1>(a);
    if constexpr (has_result<Call, 2>) to.kept = result_of<Call, 2>(a);
    recurrent(layer, a.operand<T>(0), to, begin, end, a.workspace);
  }
};

/// Operands: what is kept, the weight of h, [h one step earlier, if it is the only state,] [the gradient of all h,]
/// [that of the last states,] [first states, if there are others,] [lengths].
template <class Cell>
struct RecurrentGradKernel {
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr KernelWork work(long n) {
    return {Call::result.size(0, n), long(Call::result[1]) * Call::operand(1).count(1) / 16,
            long(recurrent_grad_workspace<Cell, typename Call::Result>(Call::operand(1)[1]))};
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr long hidden = Call::operand(1)[1];
    constexpr bool h_alone = Cell::states == 1;
    constexpr int all = 2 + h_alone, last = all + c.of_all, first = last + c.of_last,
                  operands = Call::operands - has_lengths<Call>();
    const Recurrent<Cell, T> layer{Call::result[1], 0,
                                   hidden,          c.reverse != 0,
                                   nullptr,         a.operand<T>(1),
                                   nullptr,         first < operands ? a.operand<T>(first) : nullptr,
                                   nullptr,         has_lengths<Call>() ? a.operand<std::int32_t>(operands) : nullptr};
    RecurrentGradient<T> g{a.operand<T>(0), h_alone ? a.operand<T>(2) : nullptr, c.of_all ? a.operand<T>(all) : nullptr,
                           c.of_last ? a.operand<T>(last) : nullptr, a.result<T>()};
    if constexpr (has_result<Call, 1>) g.first = result_of<Call, 1>(a);
    if constexpr (has_result<Call, 2>) g.own = result_of<Call, 2>(a);
    recurrent_grad(layer, g, begin, end, a.workspace);
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Lstm> : kernel::RecurrentKernel<kernel::LstmCell> {};
template <>
struct Kernel<Cpu, ops::LstmGrad> : kernel::RecurrentGradKernel<kernel::LstmCell> {};
template <>
struct Kernel<Cpu, ops::Gru> : kernel::RecurrentKernel<kernel::GruCell> {};
template <>
struct Kernel<Cpu, ops::GruGrad> : kernel::RecurrentGradKernel<kernel::GruCell> {};

template <>
struct Kernel<Cpu, ops::RecurrentPrevious> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long steps = Call::result[1], hidden = Call::result[2], later = (steps - 1) * hidden;
    constexpr bool reverse = Call::config().reverse;
    for (long sample = begin; sample < end; ++sample) {
      const T* const h = a.operand<T>(0) + sample * steps * hidden;
      T *const to = a.result<T>() + sample * steps * hidden, *const first = to + (reverse ? later : 0);
      kernel::copy_row(h + (reverse ? hidden : 0), to + (reverse ? 0 : hidden), later);
      if constexpr (Call::operands > 1)
        kernel::copy_row(a.operand<T>(1) + sample * Call::operand(1)[1] * hidden, first, hidden);
      else kernel::clear(first, hidden);
    }
  }
};

}  // namespace tenon
