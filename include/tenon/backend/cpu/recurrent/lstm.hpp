// LSTM: the time loops of a long short-term memory, forward and backward.
#pragma once
#include <tenon/backend/cpu/recurrent/states.hpp>
#include <tenon/backend/cpu/recurrent/time_loop.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// A layer, as it is seen forward and backward. States of a step and sample: i, f, g, o, c, `hidden` numbers each.
template <class A>
struct Lstm {
  long steps, features, hidden;
  bool reverse;
  const A *input_weight, *weight;  // [4 hidden, features], [4 hidden, hidden]
  const A* bias;                   // [4 hidden], or null: zeros
  const A* first;                  // h and c before the first step, [n, 2, hidden], or null: zeros
  const void* packed = nullptr;    // the second weight as keep_lstm_weight has packed it for a single sample
  static constexpr long gates = 4, parts = 5;

  constexpr long at(long sample, long step) const { return sample * steps + (reverse ? steps - 1 - step : step); }
  const A* first_h(long sample) const { return first + sample * 2 * hidden; }
  const A* first_c(long sample) const { return first_h(sample) + hidden; }
};

namespace detail {
// The scratch of a thread. Several samples have a row of x and h each, which goes through both weights together; a
// single one has a weight for either, because the products with x are made for several steps together.
template <class A>
struct LstmScratch {
  long features, hidden;
  constexpr std::size_t second_weight() const { return StepWeight<A>::bytes(features, 4 * hidden, recurrent_rows); }
  constexpr std::size_t products() const {
    return second_weight() + StepWeight<A>::bytes(hidden, 4 * hidden, recurrent_rows);
  }
  constexpr long product_row() const { return StepWeight<A>::width(4 * hidden); }
  constexpr std::size_t inputs() const { return products() + std::size_t(recurrent_rows * product_row()) * sizeof(A); }
  constexpr long cell_row() const { return round_up(hidden, 16); }
  // the odd cache line keeps rows from competing for places
  constexpr long input_row() const { return round_up(features, 16) + cell_row() + 16; }
  constexpr std::size_t cells() const { return inputs() + std::size_t(recurrent_rows * input_row()) * sizeof(A); }
  constexpr std::size_t total() const { return cells() + std::size_t(recurrent_rows * cell_row()) * sizeof(A); }
};
}  // namespace detail

/// Bytes of scratch of one thread, aligned to 64 bytes.
template <class A>
constexpr std::size_t lstm_workspace(long features, long hidden) {
  return detail::LstmScratch<A>{features, hidden}.total();
}
template <class A>
constexpr std::size_t lstm_grad_workspace(long hidden) {
  const long width = StepWeight<A>::width(hidden) + 4 * hidden + round_up(hidden, 16);
  return StepWeight<A>::bytes(4 * hidden, hidden, recurrent_rows) + std::size_t(recurrent_rows * width) * sizeof(A);
}

/// all[sample][time] = h, last[sample] = h, c of the last step, and states[sample][time] = i, f, g, o, c (not written
/// if null) for the samples begin .. end - 1:
///   i, f, o = sigmoid, g = tanh of (x W + h W) + bias, where x W + h W is one chain over the features, then the units
///   of h, if they are one segment together, else the segments of x W, then those of h W;
///   c = f c + i g;  h = o tanh(c)
/// x           [n, steps, features]
template <class A>
[[gnu::noinline]] void lstm(const Lstm<A>& layer, const A* x, A* all, A* last, A* states, long begin, long end,
                            void* workspace);

/// Packs the second weight of a layer for single samples.
template <class A>
constexpr long lstm_weight_bytes(long hidden) {
  return long(StepWeight<A>::bytes(hidden, 4 * hidden, 1));
}
template <class A>
[[gnu::noinline]] void keep_lstm_weight(const A* weight, long hidden, void* to);

/// The gradient of x W, [n, steps, 4 hidden], from those of all h ([n, steps, hidden]) or of the last h and c ([n, 2,
/// hidden]; the other one null). If there are first states, the gradient of the first c follows after the rows of each
/// sample.
template <class A>
[[gnu::noinline]] void lstm_grad(const Lstm<A>& layer, const A* states, const A* dh, const A* last, A* result,
                                 long begin, long end, void* workspace);

#if TENON_DEFINES
namespace detail {
// One sample and step: from the products, x W + h W, and the bias (null: zeros) to the states, if they are kept. c
// continues, h is copied.
template <bool keeps, bool past_caches, class A>
[[gnu::noinline]] void lstm_cell(long hidden, const A* product, const A* bias, A* c, A* h, A* result, A* state,
                                 A* next) {
  using V = Simd<A>;
  for (long u = 0; u < hidden; u += V::width) {
    const long count = hidden - u;
    const auto sum = [=](long gate) {
      const V products = V::load(product + gate * hidden + u);
      return bias ? products + load_some(bias + gate * hidden + u, count) : products;
    };
    const V i = gate_sigmoid(sum(0)), f = gate_sigmoid(sum(1)), g = gate_tanh(sum(2)), o = gate_sigmoid(sum(3));
    const V cell = fmadd(f, V::load(c + u), i * g), out = o * gate_tanh(cell);
    cell.store(c + u);
    out.store(h + u);
    store_some(out, result + u, count);
    if constexpr (keeps) {
      const V part[]{i, f, g, o, cell};
#pragma GCC unroll 5
      for (long k = 0; k < 5; ++k)
        store_part<past_caches>(part[k], state + k * hidden + u, count, next + k * hidden + u);
    }
  }
}

// What a step backward fetches for those that follow, line by line between its arithmetic. above: null if there is
// none.
template <class A>
struct LstmAhead {
  const A *state, *above;
  A* result;
};

// One sample and step backward: dh is the sum of what comes from above (may be null) and from the step after (may be
// null), dc continues. Writes the gradient of the gates' arguments twice: to the result and to a row for the next
// product.
template <bool past_caches, class A>
[[gnu::noinline]] void lstm_cell_grad(long hidden, const A* state, const A* c_before, const A* above, const A* after,
                                      A* dc, A* gates, A* result, const LstmAhead<A>& ahead) {
  using V = Simd<A>;
  const V one(A(1));
  for (long u = 0; u < hidden; u += V::width) {
    const long count = hidden - u;
    const auto own = [=](long part) { return load_some(state + part * hidden + u, count); };
    const auto given = [=](const A* from) { return from ? load_some(from + u, count) : V(A(0)); };
    const V i = own(0), f = own(1), g = own(2), o = own(3), t = gate_tanh(own(4)), dh = given(above) + given(after);
    const V sum = fmadd(dh * o, one - t * t, V::load(dc + u));
    (sum * f).store(dc + u);
    const V gradient[]{sum * g * (i * (one - i)), sum * given(c_before) * (f * (one - f)), sum * i * (one - g * g),
                       dh * t * (o * (one - o))};
    for (long k = 0; k < 4; ++k) {
      store_some(gradient[k], gates + k * hidden + u, count);
      store_part<past_caches>(gradient[k], result + k * hidden + u, count, ahead.result + k * hidden + u);
    }
    for (long k = 0; k < 5; ++k) __builtin_prefetch(ahead.state + k * hidden + u, 0, 2);
    if (ahead.above) __builtin_prefetch(ahead.above + u, 0, 2);
  }
}
}  // namespace detail

template <class A>
void lstm(const Lstm<A>& layer, const A* x, A* all, A* last, A* states, long begin, long end, void* workspace) {
  const long hidden = layer.hidden, gates = 4 * hidden, features = layer.features, parts = Lstm<A>::parts * hidden;
  const detail::LstmScratch<A> scratch{features, hidden};
  const long width = scratch.product_row(), input_row = scratch.input_row(), cell_row = scratch.cell_row();
  char* const base = static_cast<char*>(workspace);
  A *const product = reinterpret_cast<A*>(base + scratch.products()),
           *const input = reinterpret_cast<A*>(base + scratch.inputs()), *const h = input + features;
  A* const c = reinterpret_cast<A*>(base + scratch.cells());
  const bool alone = end - begin == 1;
  const long before_h = alone ? 0 : features;
  const bool packed = alone && layer.packed;
  StepWeight<A> input_weight(features, gates, recurrent_rows, base),
      weight(before_h + hidden, gates, recurrent_block(begin, end),
             packed ? const_cast<void*>(layer.packed) : base + (alone ? scratch.second_weight() : 0));
  if (alone) input_weight.pack(layer.input_weight, 1, features);
  else weight.pack(layer.input_weight, 1, features, 0, features);
  if (!packed) weight.pack(layer.weight, 1, hidden, before_h, before_h + hidden);
  const bool one_chain = features + hidden <= segment_units<A>;
  const StepSums onto_x = one_chain ? StepSums::resume : StepSums::add;
  const bool past_caches = states && detail::goes_past_caches(states, hidden, (end - begin) * layer.steps * parts);
  const auto cell = past_caches ? &detail::lstm_cell<true, true, A>
                    : states    ? &detail::lstm_cell<true, false, A>
                                : &detail::lstm_cell<false, false, A>;
  is_nchw16n(begin, end, [&](long first, long rows) {
    clear(input, recurrent_rows * input_row);
    clear(c, recurrent_rows * cell_row);
    for (long i = 0; layer.first && i < rows; ++i) {
      copy_row(layer.first_h(first + i), h + i * input_row, hidden);
      copy_row(layer.first_c(first + i), c + i * cell_row, hidden);
    }
    for (long step = 0; step < layer.steps; ++step) {
      const bool has_h = step || layer.first;
      A* const here = alone ? product + step % recurrent_rows * width : product;
      if (!alone) {
        copy_matrix(x + layer.at(first, step) * features, layer.steps * features, 1, input, input_row, rows, features,
                    0);
        const long together = has_h && one_chain ? features + hidden : features;
        weight.multiply(input, input_row, rows, product, width, StepSums::fresh, 0, together);
        if (has_h && !one_chain)
          weight.multiply(input, input_row, rows, product, width, onto_x, features, features + hidden);
      } else {
        const long together = layer.steps - step < recurrent_rows ? layer.steps - step : recurrent_rows;
        if (here == product)
          input_weight.multiply(x + layer.at(first, step) * features, layer.reverse ? -features : features, together,
                                product, width);
        if (has_h) weight.multiply(h, input_row, 1, here, width, onto_x);
      }
      for (long i = 0; i < rows; ++i) {
        const bool at_end = step + 1 == layer.steps;
        const long own = layer.at(first + i, step), next = at_end ? own : layer.at(first + i, step + 1);
        if (!alone && !at_end) detail::fetch(x + next * features, features);
        cell(hidden, here + i * width, layer.bias, c + i * cell_row, h + i * input_row, all + own * hidden,
             states ? states + own * parts : nullptr, states ? states + next * parts : nullptr);
      }
    }
    for (long i = 0; last && i < rows; ++i) {
      copy_row(h + i * input_row, last + (first + i) * 2 * hidden, hidden);
      copy_row(c + i * cell_row, last + ((first + i) * 2 + 1) * hidden, hidden);
    }
  });
  if (past_caches) settle_stores();
}

template <class A>
void keep_lstm_weight(const A* weight, long hidden, void* to) {
  StepWeight<A>(hidden, 4 * hidden, 1, to).pack(weight, 1, hidden);
}

template <class A>
void lstm_grad(const Lstm<A>& layer, const A* states, const A* dh, const A* last, A* result, long begin, long end,
               void* workspace) {
  const long hidden = layer.hidden, gates = 4 * hidden, padded = round_up(hidden, 16), parts = Lstm<A>::parts * hidden,
             width = StepWeight<A>::width(hidden);
  const long sample_size = layer.steps * gates + (layer.first ? hidden : 0);
  StepWeight<A> weight(gates, hidden, recurrent_block(begin, end), workspace);
  weight.pack(layer.weight, hidden, 1);
  const bool past_caches = detail::goes_past_caches(result, hidden, (end - begin) * sample_size);
  const auto cell = past_caches ? &detail::lstm_cell_grad<true, A> : &detail::lstm_cell_grad<false, A>;
  A* const product =
      reinterpret_cast<A*>(static_cast<char*>(workspace) + StepWeight<A>::bytes(gates, hidden, recurrent_rows));
  A *const row = product + recurrent_rows * width, *const dc = row + recurrent_rows * gates;
  is_nchw16n(begin, end, [&](long first, long rows) {
    clear(dc, recurrent_rows * padded);
    if (last) copy_matrix(last + (2 * first + 1) * hidden, 2 * hidden, 1, dc, padded, rows, hidden, 0);
    for (long step = layer.steps; step-- > 0;) {
      const bool at_end = step + 1 == layer.steps;
      const auto result_of = [&](long i, long at) {
        return result + (first + i) * sample_size + layer.at(0, at) * gates;
      };
      if (!at_end) weight.multiply(row, gates, rows, product, width);
      for (long i = 0; i < rows; ++i) {
        const long sample = first + i, at = layer.at(sample, step);
        const long before = step ? step - 1 : 0;  // its states are fetched already, for its c
        const detail::LstmAhead<A> ahead{states + layer.at(sample, before ? before - 1 : 0) * parts,
                                         dh ? dh + layer.at(sample, before) * hidden : nullptr, result_of(i, before)};
        const A* const c_before = step          ? states + layer.at(sample, step - 1) * parts + 4 * hidden
                                  : layer.first ? layer.first_c(sample)
                                                : nullptr;
        const A* const above = dh ? dh + at * hidden : at_end ? last + sample * 2 * hidden : nullptr;
        cell(hidden, states + at * parts, c_before, above, at_end ? nullptr : product + i * width, dc + i * padded,
             row + i * gates, result_of(i, step), ahead);
      }
    }
    if (layer.first)
      copy_matrix(dc, padded, 1, result + first * sample_size + layer.steps * gates, sample_size, rows, hidden, 0);
  });
  if (past_caches) settle_stores();
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct LstmGrad;
struct Lstm;
}  // namespace ops

namespace kernel {
/// Which operands of a call, after x and the two weights, there are. `From` is the place of x.
template <class Call, int From = 0>
struct LstmOperands {
  static constexpr bool bias = Call::operands > From + 3 && Call::operand(From + 3).rank == 1;
  static constexpr bool state = Call::operands > From + 3 + bias;
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Lstm> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return long(Call::result[1]) * (Call::operand(1).count(1) + Call::operand(2).count(1)) / 16;
  }
  template <class Call>
  static constexpr long workspace(long) {
    return long(kernel::lstm_workspace<typename Call::Result>(Call::operand(0)[2], Call::operand(2)[1]));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    run_with<Call>(a, a.operand<typename Call::Result>(2), nullptr, begin, end);
  }

  static constexpr int kept_operand = 2;
  template <class Call>
  static constexpr bool keeps_operand() {
    return true;
  }
  template <class Call>
  static long kept_bytes(long n) {
    return Call::result.size(0, n) == 1 ? kernel::lstm_weight_bytes<typename Call::Result>(Call::operand(2)[1]) : 0;
  }
  template <class Call>
  static void keep(const void* weight, long, void* to) {
    kernel::keep_lstm_weight(static_cast<const typename Call::Result*>(weight), Call::operand(2)[1], to);
  }
  template <class Call>
  static constexpr KernelWork kept_work(long n) {
    return kernel_work<Call>(n);
  }
  template <class Call>
  static void run_kept(const Arguments& a, long begin, long end) {
    run_with<Call>(a, nullptr, a.operand<std::byte>(2), begin, end);
  }

 private:
  template <class Call>
  static void run_with(const Arguments& a, const typename Call::Result* weight, const void* packed, long begin,
                       long end) {
    using T = typename Call::Result;
    using Has = kernel::LstmOperands<Call>;
    const kernel::Lstm<T> layer{Call::result[1],
                                Call::operand(0)[2],
                                Call::operand(2)[1],
                                Call::config().reverse != 0,
                                a.operand<T>(1),
                                weight,
                                Has::bias ? a.operand<T>(3) : nullptr,
                                Has::state ? a.operand<T>(3 + Has::bias) : nullptr,
                                packed};
    T *last = nullptr, *states = nullptr;
    if constexpr (has_result<Call, 1>) last = result_of<Call, 1>(a);
    if constexpr (has_result<Call, 2>) states = result_of<Call, 2>(a);
    kernel::lstm(layer, a.operand<T>(0), a.result<T>(), last, states, begin, end, a.workspace);
  }
};

template <>
struct Kernel<Cpu, ops::LstmGrad> {
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
    return long(kernel::lstm_grad_workspace<typename Call::Result>(Call::operand(1)[1]));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr bool last = Call::config().last;
    const T *const all_h = last ? nullptr : a.operand<T>(2), *const last_states = last ? a.operand<T>(2) : nullptr;
    const kernel::Lstm<T> layer{Call::operand(0)[1],
                                0,
                                Call::operand(1)[1],
                                Call::config().reverse != 0,
                                nullptr,
                                a.operand<T>(1),
                                nullptr,
                                Call::operands > 3 ? a.operand<T>(3) : nullptr};
    kernel::lstm_grad(layer, a.operand<T>(0), all_h, last_states, a.result<T>(), begin, end, a.workspace);
  }
};

}  // namespace tenon
