// The time loops of a long short-term memory, forward and backward.
#pragma once
#include <tenon/kernel/cpu/recurrent.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// A layer's sizes, and what is the same forward and backward. States of a step and sample: i, f, g, o, c, h, `hidden` numbers each.
template <class A>
struct Lstm {
  long steps, hidden;
  bool reverse;
  const A* weight;       // [4 hidden, hidden]
  const A *h0, *c0;      // [n, hidden], or null: zeros
  static constexpr long gates = 4, parts = 6;

  constexpr long at(long sample, long time) const { return sample * steps + time; }
};

/// Bytes of scratch of one thread, aligned to 64 bytes.
template <class A>
constexpr std::size_t lstm_workspace(long hidden) {
  const long width = StepWeight<A>::width(4 * hidden) + 2 * round_up(hidden, 16);
  return StepWeight<A>::bytes(hidden, 4 * hidden, recurrent_rows) + std::size_t(recurrent_rows * width) * sizeof(A);
}
template <class A>
constexpr std::size_t lstm_grad_workspace(long hidden) {
  const long width = StepWeight<A>::width(hidden) + 4 * hidden + round_up(hidden, 16);
  return StepWeight<A>::bytes(4 * hidden, hidden, recurrent_rows) + std::size_t(recurrent_rows * width) * sizeof(A);
}

namespace detail {
// One sample and step: from the input's part of the gates and the product h W (null: zeros) to the states. c goes on, h is copied.
template <class A>
[[gnu::noinline]] void lstm_cell(long hidden, const A* input, const A* product, A* c, A* h, A* state) {
  const A zeros[block_length]{};
  for (long u = 0; u < hidden; u += block_length) {
    const long count = hidden - u < block_length ? hidden - u : block_length;
    A sum[4][block_length], value[6][block_length];
    for (int gate = 0; gate < 4; ++gate) {
      read_block(input + gate * hidden + u, count, sum[gate]);
      read_block(product ? product + gate * hidden + u : zeros, count, value[0]);
      for (int l = 0; l < block_length; ++l) sum[gate][l] = sum[gate][l] + value[0][l];
    }
    for (int l = 0; l < block_length; ++l) value[0][l] = logistic(sum[0][l]);
    for (int l = 0; l < block_length; ++l) value[1][l] = logistic(sum[1][l]);
    for (int l = 0; l < block_length; ++l) value[2][l] = kernel::tanh(sum[2][l]);
    for (int l = 0; l < block_length; ++l) value[3][l] = logistic(sum[3][l]);
    for (int l = 0; l < block_length; ++l) value[4][l] = fmadd(value[1][l], c[u + l], value[0][l] * value[2][l]);
    for (int l = 0; l < block_length; ++l) value[5][l] = value[3][l] * kernel::tanh(value[4][l]);
    for (int l = 0; l < block_length; ++l) c[u + l] = value[4][l], h[u + l] = value[5][l];
    for (int part = 0; part < 6; ++part) write_block(value[part], state + part * hidden + u, count);
  }
}

// One sample and step backward: dh is the sum of what comes from above (may be null) and from the step after (may be null), dc goes on.
// Writes the gradient of the gates' arguments twice: to the result and to a row for the next product.
template <class A>
[[gnu::noinline]] void lstm_cell_grad(long hidden, const A* state, const A* c_before, const A* above, const A* after, A* dc, A* gates, A* result) {
  const A zeros[block_length]{};
  for (long u = 0; u < hidden; u += block_length) {
    const long count = hidden - u < block_length ? hidden - u : block_length;
    A own[5][block_length], before[block_length], dh[block_length], d[4][block_length];
    for (int part = 0; part < 5; ++part) read_block(state + part * hidden + u, count, own[part]);
    read_block(c_before ? c_before + u : zeros, count, before);
    read_block(above ? above + u : zeros, count, dh);
    read_block(after ? after + u : zeros, count, d[0]);
    for (int l = 0; l < block_length; ++l) dh[l] = dh[l] + d[0][l];
    A* const carried = dc + u;
    for (int l = 0; l < block_length; ++l) {
      const A i = own[0][l], f = own[1][l], g = own[2][l], o = own[3][l], t = kernel::tanh(own[4][l]);
      const A sum = fmadd(dh[l] * o, A(1) - t * t, carried[l]);
      d[0][l] = sum * g * (i * (A(1) - i));
      d[1][l] = sum * before[l] * (f * (A(1) - f));
      d[2][l] = sum * i * (A(1) - g * g);
      d[3][l] = dh[l] * t * (o * (A(1) - o));
      own[4][l] = sum * f;
    }
    for (int l = 0; l < block_length; ++l) carried[l] = own[4][l];
    for (int gate = 0; gate < 4; ++gate) {
      write_block(d[gate], gates + gate * hidden + u, count);
      write_block(d[gate], result + gate * hidden + u, count);
    }
  }
}
}  // namespace detail

/// states[sample][time] = i, f, g, o, c, h for the samples begin .. end - 1, in this order of steps:
///   i, f, o = sigmoid, g = tanh of (projected + h W), where h W is one chain over ascending k;  c = f c + i g;  h = o tanh(c)
/// projected   [n, steps, 4 hidden]: the gates' part that comes from the input, with the biases
template <class A>
[[gnu::noinline]] void lstm(const Lstm<A>& layer, const A* projected, A* states, long begin, long end, void* workspace) {
  const long hidden = layer.hidden, gates = 4 * hidden, block = recurrent_block(begin, end), padded = round_up(hidden, 16);
  StepWeight<A> weight(hidden, gates, block, workspace);
  weight.pack(layer.weight, 1, hidden);
  const long width = StepWeight<A>::width(gates);
  A* const product = reinterpret_cast<A*>(static_cast<char*>(workspace) + StepWeight<A>::bytes(hidden, gates, recurrent_rows));
  A *const h = product + recurrent_rows * width, *const c = h + recurrent_rows * padded;
  in_sample_blocks(begin, end, [&](long first, long rows) {
    clear(h, 2 * recurrent_rows * padded);
    if (layer.h0) copy_matrix(layer.h0 + first * hidden, hidden, 1, h, padded, rows, hidden, 0);
    if (layer.c0) copy_matrix(layer.c0 + first * hidden, hidden, 1, c, padded, rows, hidden, 0);
    for (long step = 0; step < layer.steps; ++step) {
      const bool from_zero = step == 0 && !layer.h0;
      if (!from_zero) weight.multiply(h, padded, rows, product, width);
      for (long i = 0; i < rows; ++i) {
        const long at = layer.at(first + i, time_of(step, layer.steps, layer.reverse));
        detail::lstm_cell(hidden, projected + at * gates, from_zero ? nullptr : product + i * width, c + i * padded, h + i * padded,
                          states + at * Lstm<A>::parts * hidden);
      }
    }
  });
}

/// The gradient of `projected`, [n, steps, 4 hidden], from those of all h ([n, steps, hidden]) or of the last c ([n, hidden]; the other
/// one null). If asked for, the gradient of c0 follows behind the rows of each sample.
template <class A>
[[gnu::noinline]] void lstm_grad(const Lstm<A>& layer, const A* states, const A* dh, const A* last_dc, A* result, bool with_c0, long begin, long end, void* workspace) {
  const long hidden = layer.hidden, gates = 4 * hidden, block = recurrent_block(begin, end), padded = round_up(hidden, 16), parts = Lstm<A>::parts * hidden;
  const long sample_size = layer.steps * gates + (with_c0 ? hidden : 0);
  StepWeight<A> weight(gates, hidden, block, workspace);
  weight.pack(layer.weight, hidden, 1);
  const long width = StepWeight<A>::width(hidden);
  A* const product = reinterpret_cast<A*>(static_cast<char*>(workspace) + StepWeight<A>::bytes(gates, hidden, recurrent_rows));
  A *const row = product + recurrent_rows * width, *const dc = row + recurrent_rows * gates;
  in_sample_blocks(begin, end, [&](long first, long rows) {
    clear(dc, recurrent_rows * padded);
    if (last_dc) copy_matrix(last_dc + first * hidden, hidden, 1, dc, padded, rows, hidden, 0);
    for (long step = layer.steps; step-- > 0;) {
      const bool last = step + 1 == layer.steps;
      if (!last) weight.multiply(row, gates, rows, product, width);
      for (long i = 0; i < rows; ++i) {
        const long sample = first + i, time = time_of(step, layer.steps, layer.reverse), at = layer.at(sample, time);
        const long earlier = step ? layer.at(sample, time_of(step - 1, layer.steps, layer.reverse)) : 0;
        const A* const c_before = step ? states + earlier * parts + 4 * hidden : layer.c0 ? layer.c0 + sample * hidden : nullptr;
        detail::lstm_cell_grad(hidden, states + at * parts, c_before, dh ? dh + at * hidden : nullptr, last ? nullptr : product + i * width, dc + i * padded,
                               row + i * gates, result + sample * sample_size + time * gates);
      }
    }
    if (with_c0) copy_matrix(dc, padded, 1, result + first * sample_size + layer.steps * gates, sample_size, rows, hidden, 0);
  });
}

}  // namespace tenon::kernel
TENON_EXACT_END
