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
  using V = Simd<A>;
  for (long u = 0; u < hidden; u += V::width) {
    const long count = hidden - u;
    const auto sum = [=](long gate) {
      const V from_input = load_some(input + gate * hidden + u, count);
      return product ? from_input + load_some(product + gate * hidden + u, count) : from_input;
    };
    const V i = gate_sigmoid(sum(0)), f = gate_sigmoid(sum(1)), g = gate_tanh(sum(2)), o = gate_sigmoid(sum(3));
    const V cell = fmadd(f, V::load(c + u), i * g), out = o * gate_tanh(cell);
    cell.store(c + u);
    out.store(h + u);
    const V part[]{i, f, g, o, cell, out};
    for (long k = 0; k < 6; ++k) store_some(part[k], state + k * hidden + u, count);
  }
}

// One sample and step backward: dh is the sum of what comes from above (may be null) and from the step after (may be null), dc goes on.
// Writes the gradient of the gates' arguments twice: to the result and to a row for the next product.
template <class A>
[[gnu::noinline]] void lstm_cell_grad(long hidden, const A* state, const A* c_before, const A* above, const A* after, A* dc, A* gates, A* result) {
  using V = Simd<A>;
  const V one(A(1));
  for (long u = 0; u < hidden; u += V::width) {
    const long count = hidden - u;
    const auto own = [=](long part) { return load_some(state + part * hidden + u, count); };
    const auto given = [=](const A* from) { return from ? load_some(from + u, count) : V(A(0)); };
    const V i = own(0), f = own(1), g = own(2), o = own(3), t = gate_tanh(own(4)), dh = given(above) + given(after);
    const V sum = fmadd(dh * o, one - t * t, V::load(dc + u));
    (sum * f).store(dc + u);
    const V gradient[]{sum * g * (i * (one - i)), sum * given(c_before) * (f * (one - f)), sum * i * (one - g * g), dh * t * (o * (one - o))};
    for (long k = 0; k < 4; ++k) {
      store_some(gradient[k], gates + k * hidden + u, count);
      store_some(gradient[k], result + k * hidden + u, count);
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
      if (!from_zero) {
        Fetch next;
        for (long i = 0; i < rows && rows > 1; ++i) {
          const long at = layer.at(first + i, time_of(step, layer.steps, layer.reverse));
          next.read(projected + at * gates, gates * long(sizeof(A)));
          next.write(states + at * Lstm<A>::parts * hidden, Lstm<A>::parts * hidden * long(sizeof(A)));
        }
        weight.multiply(h, padded, rows, product, width, next);
      }
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
      if (!last) {
        Fetch next;
        for (long i = 0; i < rows && rows > 1; ++i) {
          const long sample = first + i, time = time_of(step, layer.steps, layer.reverse), at = layer.at(sample, time);
          next.read(states + at * parts, 5 * hidden * long(sizeof(A)));
          if (dh) next.read(dh + at * hidden, hidden * long(sizeof(A)));
          next.write(result + sample * sample_size + time * gates, gates * long(sizeof(A)));
        }
        weight.multiply(row, gates, rows, product, width, next);
      }
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
