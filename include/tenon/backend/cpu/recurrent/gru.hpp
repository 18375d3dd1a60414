// GRU: the time loops of a gated recurrent unit, forward and backward.
#pragma once
#include <tenon/backend/cpu/recurrent/states.hpp>
#include <tenon/backend/cpu/recurrent/time_loop.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// A layer's sizes, and what is the same forward and backward. States of a step and sample: r, z, m, q, h, `hidden`
/// numbers each, where q = h W + b for the candidate m.
template <class A>
struct Gru {
  long steps, hidden;
  bool reverse;
  const A* weight;  // [3 hidden, hidden]
  const A* bias;    // [3 hidden], or null: zeros
  const A* h0;      // [n, hidden], or null: zeros
  static constexpr long gates = 3, parts = 5;

  constexpr long at(long sample, long time) const { return sample * steps + time; }
};

/// Bytes of scratch of one thread, aligned to 64 bytes.
template <class A>
constexpr std::size_t gru_workspace(long hidden) {
  const long width = StepWeight<A>::width(3 * hidden) + round_up(hidden, 16);
  return StepWeight<A>::bytes(hidden, 3 * hidden, recurrent_rows) + std::size_t(recurrent_rows * width) * sizeof(A);
}
template <class A>
constexpr std::size_t gru_grad_workspace(long hidden) {
  const long width = StepWeight<A>::width(hidden) + 3 * hidden + round_up(hidden, 16);
  return StepWeight<A>::bytes(3 * hidden, hidden, recurrent_rows) + std::size_t(recurrent_rows * width) * sizeof(A);
}

/// states[sample][time] = r, z, m, q, h for the samples begin .. end - 1:
///   r, z = sigmoid of (projected + (h W + b)), where h W is the sum of a product (Gemm);  m = tanh(projected + r (h W
///   + b));  h = m + z (h - m)
/// projected   [n, steps, 3 hidden]: the gates' part that comes from the input, with its bias
template <class A>
[[gnu::noinline]] void gru(const Gru<A>& layer, const A* projected, A* states, long begin, long end, void* workspace);

/// The gradient of `projected`, [n, steps, 3 hidden], from that of all h, [n, steps, hidden]. If asked for, the part of
/// the gradient of h0 that does not come through W follows after the rows of each sample.
template <class A>
[[gnu::noinline]] void gru_grad(const Gru<A>& layer, const A* states, const A* dh, A* result, bool with_h0, long begin,
                                long end, void* workspace);

/// Gradients of h W + b from those of the gates, rows begin .. end - 1: the third part times r.
template <class A>
void gru_hidden_grad(long hidden, const A* gates, const A* states, A* result, long begin, long end);

#if TENON_DEFINES
namespace detail {
// One sample and step: from the input's part of the gates, the product h W (null: zeros), and its bias (null: zeros) to
// the states.
template <class A>
[[gnu::noinline]] void gru_cell(long hidden, const A* input, const A* product, const A* bias, A* h, A* state) {
  using V = Simd<A>;
  for (long u = 0; u < hidden; u += V::width) {
    const long count = hidden - u;
    const auto given = [=](const A* from, long gate) {
      return from ? load_some(from + gate * hidden + u, count) : V(A(0));
    };
    const auto own = [=](long gate) { return given(product, gate) + given(bias, gate); };
    const V r = gate_sigmoid(given(input, 0) + own(0)), z = gate_sigmoid(given(input, 1) + own(1)), q = own(2);
    const V m = gate_tanh(fmadd(r, q, given(input, 2))), out = fmadd(z, V::load(h + u) - m, m);
    out.store(h + u);
    const V part[]{r, z, m, q, out};
    for (long k = 0; k < 5; ++k) store_some(part[k], state + k * hidden + u, count);
  }
}

// One sample and step backward; dh is what comes from the step after without its product, and continues. Writes the
// gradients of the arguments of r, z, m to `result`, and those of h W (r, z, q) to a row for the next product.
template <class A>
[[gnu::noinline]] void gru_cell_grad(long hidden, const A* state, const A* h_before, const A* above, const A* after,
                                     A* dh, A* gates, A* result) {
  using V = Simd<A>;
  const V one(A(1));
  for (long u = 0; u < hidden; u += V::width) {
    const long count = hidden - u;
    const auto own = [=](long part) { return load_some(state + part * hidden + u, count); };
    const auto given = [=](const A* from) { return from ? load_some(from + u, count) : V(A(0)); };
    const V r = own(0), z = own(1), m = own(2), total = given(above) + given(after) + V::load(dh + u);
    (total * z).store(dh + u);
    const V to_m = total * (one - z) * (one - m * m), to_z = total * (given(h_before) - m) * (z * (one - z)),
            to_r = to_m * own(3) * (r * (one - r));
    const V through_weight[]{to_r, to_z, to_m * r}, through_input[]{to_r, to_z, to_m};
    for (long k = 0; k < 3; ++k) {
      store_some(through_weight[k], gates + k * hidden + u, count);
      store_some(through_input[k], result + k * hidden + u, count);
    }
  }
}
}  // namespace detail

template <class A>
void gru(const Gru<A>& layer, const A* projected, A* states, long begin, long end, void* workspace) {
  const long hidden = layer.hidden, gates = 3 * hidden, block = recurrent_block(begin, end),
             padded = round_up(hidden, 16);
  StepWeight<A> weight(hidden, gates, block, workspace);
  weight.pack(layer.weight, 1, hidden);
  const long width = StepWeight<A>::width(gates);
  A* const product =
      reinterpret_cast<A*>(static_cast<char*>(workspace) + StepWeight<A>::bytes(hidden, gates, recurrent_rows));
  A* const h = product + recurrent_rows * width;
  is_nchw16n(begin, end, [&](long first, long rows) {
    clear(h, recurrent_rows * padded);
    if (layer.h0) copy_matrix(layer.h0 + first * hidden, hidden, 1, h, padded, rows, hidden, 0);
    for (long step = 0; step < layer.steps; ++step) {
      const bool from_zero = step == 0 && !layer.h0;
      if (!from_zero) weight.multiply(h, padded, rows, product, width);
      for (long i = 0; i < rows; ++i) {
        const long at = layer.at(first + i, time_of(step, layer.steps, layer.reverse));
        detail::gru_cell(hidden, projected + at * gates, from_zero ? nullptr : product + i * width, layer.bias,
                         h + i * padded, states + at * Gru<A>::parts * hidden);
      }
    }
  });
}

template <class A>
void gru_grad(const Gru<A>& layer, const A* states, const A* dh, A* result, bool with_h0, long begin, long end,
              void* workspace) {
  const long hidden = layer.hidden, gates = 3 * hidden, block = recurrent_block(begin, end),
             padded = round_up(hidden, 16), parts = Gru<A>::parts * hidden;
  const long sample_size = layer.steps * gates + (with_h0 ? hidden : 0);
  StepWeight<A> weight(gates, hidden, block, workspace);
  weight.pack(layer.weight, hidden, 1);
  const long width = StepWeight<A>::width(hidden);
  A* const product =
      reinterpret_cast<A*>(static_cast<char*>(workspace) + StepWeight<A>::bytes(gates, hidden, recurrent_rows));
  A *const row = product + recurrent_rows * width, *const carried = row + recurrent_rows * gates;
  is_nchw16n(begin, end, [&](long first, long rows) {
    clear(carried, recurrent_rows * padded);
    for (long step = layer.steps; step-- > 0;) {
      const bool last = step + 1 == layer.steps;
      if (!last) weight.multiply(row, gates, rows, product, width);
      for (long i = 0; i < rows; ++i) {
        const long sample = first + i, time = time_of(step, layer.steps, layer.reverse), at = layer.at(sample, time);
        const long earlier = step ? layer.at(sample, time_of(step - 1, layer.steps, layer.reverse)) : 0;
        const A* const h_before = step       ? states + earlier * parts + 4 * hidden
                                  : layer.h0 ? layer.h0 + sample * hidden
                                             : nullptr;
        detail::gru_cell_grad(hidden, states + at * parts, h_before, dh + at * hidden,
                              last ? nullptr : product + i * width, carried + i * padded, row + i * gates,
                              result + sample * sample_size + time * gates);
      }
    }
    if (with_h0)
      copy_matrix(carried, padded, 1, result + first * sample_size + layer.steps * gates, sample_size, rows, hidden, 0);
  });
}

template <class A>
inline void gru_hidden_grad(long hidden, const A* gates, const A* states, A* result, long begin, long end) {
  for (long row = begin; row < end; ++row) {
    const A *const from = gates + row * 3 * hidden, *const r = states + row * Gru<A>::parts * hidden;
    A* const to = result + row * 3 * hidden;
    kernel::copy_row(from, to, 2 * hidden);
    store_unrolled(to + 2 * hidden, hidden, [=](long u) { return from[2 * hidden + u] * r[u]; });
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct GruStates;
struct GruGrad;
struct GruHiddenGrad;
struct Gru;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::GruStates> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return long(Call::result[1]) * Call::operand(1).count(1) / 16;
  }
  template <class Call>
  static constexpr long workspace(long) {
    return long(kernel::gru_workspace<typename Call::Result>(Call::operand(1)[1]));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr bool bias = Call::operands > 2 && Call::operand(2).rank == 1, state = Call::operands > 2 + bias;
    const kernel::Gru<T> layer{Call::result[1],
                               Call::operand(1)[1],
                               Call::config().reverse != 0,
                               a.operand<T>(1),
                               bias ? a.operand<T>(2) : nullptr,
                               state ? a.operand<T>(2 + bias) : nullptr};
    kernel::gru(layer, a.operand<T>(0), a.result<T>(), begin, end, a.workspace);
  }
};

template <>
struct Kernel<Cpu, ops::GruGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return long(Call::operand(0)[1]) * Call::operand(1).count(1) / 16;
  }
  template <class Call>
  static constexpr long workspace(long) {
    return long(kernel::gru_grad_workspace<typename Call::Result>(Call::operand(1)[1]));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr bool state = Call::operands > 3;
    const kernel::Gru<T> layer{Call::operand(0)[1],
                               Call::operand(1)[1],
                               Call::config().reverse != 0,
                               a.operand<T>(1),
                               nullptr,
                               state ? a.operand<T>(3) : nullptr};
    kernel::gru_grad(layer, a.operand<T>(0), a.operand<T>(2), a.result<T>(), state, begin, end, a.workspace);
  }
};

template <>
struct Kernel<Cpu, ops::GruHiddenGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n) / Call::result[2];
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::result[2];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    kernel::gru_hidden_grad(Call::result[2] / 3, a.operand<T>(0), a.operand<T>(1), a.result<T>(), begin, end);
  }
};

template <>
struct Kernel<Cpu, ops::Gru> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long steps = Call::operand(0)[1];
    kernel::copy_states(a.operand<T>(0), steps, Call::operand(0)[2], Call::result[2], Call::Op::h, a.result<T>(), begin,
                        end);
  }
};

}  // namespace tenon
