// The cells of recurrent layers: what a step computes unit by unit, forward and backward.
#pragma once
#include <cstdint>

#include <tenon/backend/cpu/recurrent/gates.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

// A cell has the number of its `gates`, of the `states` that the next step gets (h, and of LSTM also c), and of the
// `parts` that are kept for the gradient. Its time loop multiplies x with a weight, or gets it `projected`. The
// functions get vectors of consecutive units, or one unit:
//   forward(own, input, carried, part)        h, from what the gates get by h (and x, if the loop multiplies it) and
//                                             from the projected input; changes the last state and writes the parts
//   backward(part, before, dh, carried, gradient)
//                                             writes the gradients of the gates' arguments, from the parts, the last
//                                             state one step earlier, and the gradients of h and of the last state,
//                                             which becomes that of the step before
//   hidden_share(part, gate, gradient)        the part of a gate's gradient that reaches its product with h

/// i, f, o = sigmoid, g = tanh of the gates' arguments;  c = f c + i g;  h = o tanh(c). Parts: i, f, g, o, c.
struct LstmCell {
  static constexpr long gates = 4, states = 2, parts = 5;
  static constexpr bool projected = false;
  template <class V, class Own, class Input>
  [[gnu::always_inline]] static constexpr V forward(Own own, Input, V& c, V (&part)[parts]) {
    const V i = gate_sigmoid(own(0)), f = gate_sigmoid(own(1)), g = gate_tanh(own(2)), o = gate_sigmoid(own(3));
    c = fmadd(f, c, i * g);
    part[0] = i, part[1] = f, part[2] = g, part[3] = o, part[4] = c;
    return o * gate_tanh(c);
  }
  template <class V>
  [[gnu::always_inline]] static constexpr void backward(const V (&part)[parts], V before, V dh, V& dc,
                                                        V (&gradient)[gates]) {
    const V one(1), i = part[0], f = part[1], g = part[2], o = part[3], t = gate_tanh(part[4]);
    const V sum = fmadd(dh * o, one - t * t, dc);
    dc = sum * f;
    gradient[0] = sum * g * (i * (one - i)), gradient[1] = sum * before * (f * (one - f));
    gradient[2] = sum * i * (one - g * g), gradient[3] = dh * t * (o * (one - o));
  }
  template <class V>
  [[gnu::always_inline]] static constexpr V hidden_share(const V (&)[parts], long, V gradient) {
    return gradient;
  }
};

/// r, z = sigmoid of (projected + own), own = h W + b;  m = tanh(projected + r own);  h = m + z (h - m). Parts: r, z,
/// m, and own of m.
struct GruCell {
  static constexpr long gates = 3, states = 1, parts = 4;
  static constexpr bool projected = true;
  template <class V, class Own, class Input>
  [[gnu::always_inline]] static constexpr V forward(Own own, Input input, V& h, V (&part)[parts]) {
    const V r = gate_sigmoid(input(0) + own(0)), z = gate_sigmoid(input(1) + own(1)), q = own(2);
    const V m = gate_tanh(fmadd(r, q, input(2)));
    part[0] = r, part[1] = z, part[2] = m, part[3] = q;
    return h = fmadd(z, h - m, m);
  }
  template <class V>
  [[gnu::always_inline]] static constexpr void backward(const V (&part)[parts], V before, V dh, V& carried,
                                                        V (&gradient)[gates]) {
    const V one(1), r = part[0], z = part[1], m = part[2], total = dh + carried;
    carried = total * z;
    gradient[2] = total * (one - z) * (one - m * m);
    gradient[1] = total * (before - m) * (z * (one - z));
    gradient[0] = gradient[2] * part[3] * (r * (one - r));
  }
  template <class V>
  [[gnu::always_inline]] static constexpr V hidden_share(const V (&part)[parts], long gate, V gradient) {
    return gate == 2 ? gradient * part[0] : gradient;
  }
};

#if TENON_DEFINES
namespace detail {
// `count` elements of a row, which are a whole vector nearly always; zeros after them.
template <class A>
[[gnu::always_inline]] inline Simd<A> load_some(const A* from, long count) {
  if (count >= Simd<A>::width) [[likely]]
    return Simd<A>::load(from);
  A lane[Simd<A>::width]{};
  for (long l = 0; l < count; ++l) lane[l] = from[l];
  return Simd<A>::load(lane);
}
template <class A>
[[gnu::always_inline]] inline void store_some(Simd<A> value, A* to, long count) {
  if (count >= Simd<A>::width) [[likely]]
    return value.store(to);
  for (long l = 0; l < count; ++l) to[l] = value[int(l)];
}
// Of this size on results do not enter the caches: they would have left the second one before they are read, and each
// line would be read from memory before it is written.
inline constexpr long recurrent_cached_bytes = 1 << 20;
template <class A>
inline bool goes_past_caches(const A* rows, long row_length, long size) {
  constexpr long lanes = Simd<A>::width;
  return size * long(sizeof(A)) > recurrent_cached_bytes && row_length % lanes == 0 &&
         reinterpret_cast<std::uintptr_t>(rows) % sizeof(Simd<A>) == 0;
}
// A vector of a long row; if it stays in the caches, the place of a later one is fetched meanwhile: stores that wait
// for memory would take as long as the arithmetic.
template <bool past_caches, class A>
[[gnu::always_inline]] inline void store_part(Simd<A> value, A* to, long count, const A* later) {
  if constexpr (past_caches) store_past_caches(value, to);
  else {
    store_some(value, to, count);
    __builtin_prefetch(later, 1, 2);
  }
}
// Brings `count` elements that are read soon into the second cache.
template <class A>
inline void fetch(const A* from, long count) {
  for (long i = 0; i < count; i += 64 / long(sizeof(A))) __builtin_prefetch(from + i, 0, 2);
}

// One sample and step: from the projected input (of a cell that gets it), the products, and the bias (null: zeros) to
// the states, which continue, the result, and the parts, if they are kept.
template <class Cell, bool keeps, bool past_caches, class A>
[[gnu::noinline]] void forward_step(long hidden, const A* input, const A* product, const A* bias, A* carried, A* h,
                                    A* result, A* kept, A* next) {
  using V = Simd<A>;
  for (long u = 0; u < hidden; u += V::width) {
    const long count = hidden - u;
    const auto own = [=](long gate) {
      const V products = V::load(product + gate * hidden + u);
      return bias ? products + load_some(bias + gate * hidden + u, count) : products;
    };
    const auto given = [=](long gate) { return load_some(input + gate * hidden + u, count); };
    V part[Cell::parts], state = V::load(carried + u);
    const V out = Cell::forward(own, given, state, part);
    if constexpr (Cell::states > 1) state.store(carried + u);
    out.store(h + u);
    store_some(out, result + u, count);
    if constexpr (keeps) {
#pragma GCC unroll 5
      for (long k = 0; k < Cell::parts; ++k)
        store_part<past_caches>(part[k], kept + k * hidden + u, count, next + k * hidden + u);
    }
  }
}

// What a step backward reads and writes of one sample. Null: above and after, where no gradient comes from there;
// before, for zeros; own, if no node reads it. Between the arithmetic the step prefetches, line by line, what later
// steps read and write.
template <class A>
struct StepGradient {
  const A *parts, *before, *above, *after;
  A *carried, *row, *result, *own;
  const A *parts_ahead, *above_ahead;
  A* result_ahead;
};

// One sample and step backward: the gradient of h is the sum of what comes from above and from the step after. Writes
// the gradients of the gates' arguments to the result; and the shares of the products with h to `own`, and to a row for
// the next product.
template <class Cell, bool past_caches, class A>
[[gnu::noinline]] void backward_step(long hidden, const StepGradient<A>& of) {
  using V = Simd<A>;
  const StepGradient<A> s = of;  // whose addresses no store can change
  for (long u = 0; u < hidden; u += V::width) {
    const long count = hidden - u;
    const auto given = [=](const A* from) { return from ? load_some(from + u, count) : V(A(0)); };
    V part[Cell::parts], gradient[Cell::gates], carried = V::load(s.carried + u);
#pragma GCC unroll 5
    for (long k = 0; k < Cell::parts; ++k) part[k] = load_some(s.parts + k * hidden + u, count);
    Cell::backward(part, given(s.before), given(s.above) + given(s.after), carried, gradient);
    carried.store(s.carried + u);
#pragma GCC unroll 4
    for (long k = 0; k < Cell::gates; ++k) {
      const V share = Cell::hidden_share(part, k, gradient[k]);
      store_some(share, s.row + k * hidden + u, count);
      if (Cell::projected && s.own) store_some(share, s.own + k * hidden + u, count);
      store_part<past_caches>(gradient[k], s.result + k * hidden + u, count, s.result_ahead + k * hidden + u);
    }
    for (long k = 0; k < Cell::parts; ++k) __builtin_prefetch(s.parts_ahead + k * hidden + u, 0, 2);
    if (s.above_ahead) __builtin_prefetch(s.above_ahead + u, 0, 2);
  }
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
