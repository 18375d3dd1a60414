// The time loop of a recurrent layer, forward and backward.
#pragma once
#include <tenon/backend/cpu/recurrent/cells.hpp>
#include <tenon/backend/cpu/recurrent/step_weight.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// A layer, as it is seen forward and backward.
template <class Cell, class A>
struct Recurrent {
  long steps, features, hidden;  // features: 0 if x comes projected
  bool reverse;
  const A *input_weight, *weight;  // [gates hidden, features], [gates hidden, hidden]
  const A* bias;                   // [gates hidden], or null: zeros
  const A* first;                  // the states before the first step, [n, states, hidden], or null: zeros
  const void* packed = nullptr;    // the second weight as keep_recurrent_weight has packed it for a single sample
  const std::int32_t* lengths = nullptr;  // the steps of each sample, [n], or null: all. Such a layer is not reversed

  constexpr long at(long sample, long step) const { return sample * steps + (reverse ? steps - 1 - step : step); }
  constexpr long length(long sample) const { return lengths && lengths[sample] < steps ? lengths[sample] : steps; }
  const A* first_h(long sample) const { return first + sample * Cell::states * hidden; }
  const A* first_carried(long sample) const { return first_h(sample) + (Cell::states - 1) * hidden; }
};
/// What a layer writes: h of all steps, [n, steps, hidden]; the states after the last step, [n, states, hidden]; and
/// the parts that its gradient reads, [n, steps, parts hidden]. Null: not written.
template <class A>
struct RecurrentResults {
  A *all, *last = nullptr, *kept = nullptr;
};
/// What the gradient reads and writes. Null: zeros, or not written.
/// previous   h one step earlier, [n, steps, hidden], of a cell without other states
/// all, last  the gradients of all h and of the last states
/// result     the gradients of the gates' arguments, [n, steps, gates hidden]
/// first      that of the last of the first states, as far as it does not come through the weight, [n, hidden]
/// own        those of the products with h, if they are others than `result`
template <class A>
struct RecurrentGradient {
  const A *kept, *previous, *all, *last;
  A *result, *first = nullptr, *own = nullptr;
};

namespace detail {
// The scratch of a thread. Several samples have a row of x and h each, which goes through both weights together; a
// single one has a weight for either, because the products with x are made for several steps together.
template <class Cell, class A>
struct RecurrentScratch {
  long features, hidden;
  constexpr std::size_t second_weight() const {
    return Cell::projected ? 0 : StepWeight<A>::bytes(features, Cell::gates * hidden, recurrent_rows);
  }
  constexpr std::size_t products() const {
    return second_weight() + StepWeight<A>::bytes(hidden, Cell::gates * hidden, recurrent_rows);
  }
  constexpr long product_row() const { return StepWeight<A>::width(Cell::gates * hidden); }
  constexpr std::size_t inputs() const { return products() + std::size_t(recurrent_rows * product_row()) * sizeof(A); }
  constexpr long cell_row() const { return round_up(hidden, 16); }
  // the odd cache line keeps rows from competing for places
  constexpr long input_row() const { return round_up(features, 16) + cell_row() + 16; }
  constexpr std::size_t cells() const { return inputs() + std::size_t(recurrent_rows * input_row()) * sizeof(A); }
  constexpr std::size_t total() const {
    return cells() + (Cell::states > 1 ? std::size_t(recurrent_rows * cell_row()) * sizeof(A) : 0);
  }
};
}  // namespace detail

/// Bytes of scratch of one thread, aligned to 64 bytes.
template <class Cell, class A>
constexpr std::size_t recurrent_workspace(long features, long hidden) {
  return detail::RecurrentScratch<Cell, A>{features, hidden}.total();
}
template <class Cell, class A>
constexpr std::size_t recurrent_grad_workspace(long hidden) {
  const long width = StepWeight<A>::width(hidden) + Cell::gates * hidden + round_up(hidden, 16);
  return StepWeight<A>::bytes(Cell::gates * hidden, hidden, recurrent_rows) +
         std::size_t(recurrent_rows * width) * sizeof(A);
}

/// The samples begin .. end - 1 of a layer. A cell whose loop multiplies x gets x W + h W as one chain over the
/// features, then the units of h, if they are one segment together, else the segments of x W, then those of h W.
/// x           [n, steps, features], or projected [n, steps, gates hidden]
template <class Cell, class A>
[[gnu::noinline]] void recurrent(const Recurrent<Cell, A>& layer, const A* x, const RecurrentResults<A>& to, long begin,
                                 long end, void* workspace);

/// Packs the second weight of a layer for single samples.
template <class Cell, class A>
constexpr long recurrent_weight_bytes(long hidden) {
  return long(StepWeight<A>::bytes(hidden, Cell::gates * hidden, 1));
}
template <class Cell, class A>
[[gnu::noinline]] void keep_recurrent_weight(const A* weight, long hidden, void* to);

/// The gradients of a layer, of the samples begin .. end - 1.
template <class Cell, class A>
[[gnu::noinline]] void recurrent_grad(const Recurrent<Cell, A>& layer, const RecurrentGradient<A>& g, long begin,
                                      long end, void* workspace);

#if TENON_DEFINES
namespace detail {
/// Calls f(first, rows) for consecutive blocks of the samples begin .. end - 1, of almost equal size.
template <class F>
inline void each_sample_block(long begin, long end, F f) {
  const long blocks = ceil_div(end - begin, recurrent_rows);
  for (long block = 0; block < blocks; ++block) {
    const long first = begin + border(end - begin, blocks, block);
    f(first, begin + border(end - begin, blocks, block + 1) - first);
  }
}
/// The number of rows for which a StepWeight is to be packed: one sample takes other panels than several.
constexpr long recurrent_block(long begin, long end) { return end - begin == 1 ? 1 : recurrent_rows; }

// The states of a block of samples, and the products of a step: the weights are packed once for all blocks.
template <class Cell, class A>
class Products {
 public:
  Products(const Recurrent<Cell, A>& layer, bool alone, char* memory)
      : layer_(layer),
        scratch_{layer.features, layer.hidden},
        alone_(alone),
        packed_(alone && layer.packed),
        input_weight_(layer.features, Cell::gates * layer.hidden, recurrent_rows, memory),
        weight_(before_h() + layer.hidden, Cell::gates * layer.hidden, alone ? 1 : recurrent_rows,
                packed_ ? const_cast<void*>(layer.packed) : memory + (alone ? scratch_.second_weight() : 0)),
        product_(reinterpret_cast<A*>(memory + scratch_.products())),
        input_(reinterpret_cast<A*>(memory + scratch_.inputs())),
        cells_(reinterpret_cast<A*>(memory + scratch_.cells())) {
    if constexpr (!Cell::projected) {
      if (alone) input_weight_.pack(layer.input_weight, 1, layer.features);
      else weight_.pack(layer.input_weight, 1, layer.features, 0, layer.features);
    }
    if (!packed_) weight_.pack(layer.weight, 1, layer.hidden, before_h(), before_h() + layer.hidden);
  }

  A* h(long row) const { return input_ + layer_.features + row * scratch_.input_row(); }
  A* carried(long row) const { return Cell::states > 1 ? cells_ + row * scratch_.cell_row() : h(row); }

  void start(long first, long rows) {
    clear(input_, recurrent_rows * scratch_.input_row());
    if (Cell::states > 1) clear(cells_, recurrent_rows * scratch_.cell_row());
    for (long i = 0; layer_.first && i < rows; ++i) {
      copy_row(layer_.first_h(first + i), h(i), layer_.hidden);
      if (Cell::states > 1) copy_row(layer_.first_carried(first + i), carried(i), layer_.hidden);
    }
  }
  // The products of a step, of which row i is at i * scratch.product_row().
  const A* of_step(const A* x, long first, long rows, long step) {
    const long features = layer_.features, width = scratch_.product_row(), input_row = scratch_.input_row();
    const bool has_h = step || layer_.first;
    if constexpr (Cell::projected) {
      if (has_h) weight_.multiply(h(0), input_row, rows, product_, width);
      else clear(product_, recurrent_rows * width);
      return product_;
    }
    const bool one_chain = features + layer_.hidden <= segment_units<A>;
    const StepSums onto_x = one_chain ? StepSums::resume : StepSums::add;
    const A* const own = x + layer_.at(first, step) * features;
    if (alone_) {
      A* const here = product_ + step % recurrent_rows * width;
      const long together = layer_.steps - step < recurrent_rows ? layer_.steps - step : recurrent_rows;
      if (here == product_)
        input_weight_.multiply(own, layer_.reverse ? -features : features, together, product_, width);
      if (has_h) weight_.multiply(h(0), input_row, 1, here, width, onto_x);
      return here;
    }
    copy_matrix(own, layer_.steps * features, 1, input_, input_row, rows, features, 0);
    const long both = features + layer_.hidden;
    weight_.multiply(input_, input_row, rows, product_, width, StepSums::fresh, 0,
                     has_h && one_chain ? both : features);
    if (has_h && !one_chain) weight_.multiply(input_, input_row, rows, product_, width, onto_x, features, both);
    return product_;
  }

 private:
  long before_h() const { return alone_ ? 0 : layer_.features; }

  const Recurrent<Cell, A>& layer_;
  RecurrentScratch<Cell, A> scratch_;
  bool alone_, packed_;
  StepWeight<A> input_weight_, weight_;
  A *product_, *input_, *cells_;
};
}  // namespace detail

template <class Cell, class A>
void recurrent(const Recurrent<Cell, A>& layer, const A* x, const RecurrentResults<A>& to, long begin, long end,
               void* workspace) {
  const long hidden = layer.hidden, parts = Cell::parts * hidden, width = StepWeight<A>::width(Cell::gates * hidden),
             input = Cell::projected ? Cell::gates * hidden : layer.features;
  const bool alone = end - begin == 1;
  detail::Products<Cell, A> products(layer, alone, static_cast<char*>(workspace));
  const bool past_caches = to.kept && detail::goes_past_caches(to.kept, hidden, (end - begin) * layer.steps * parts);
  const auto step_of = past_caches ? &detail::forward_step<Cell, true, true, A>
                       : to.kept   ? &detail::forward_step<Cell, true, false, A>
                                   : &detail::forward_step<Cell, false, false, A>;
  detail::each_sample_block(begin, end, [&](long first, long rows) {
    products.start(first, rows);
    for (long step = 0; step < layer.steps; ++step) {
      const A* const product = products.of_step(x, first, rows, step);
      const bool at_end = step + 1 == layer.steps;
      for (long i = 0; i < rows; ++i) {
        const long own = layer.at(first + i, step), next = at_end ? own : layer.at(first + i, step + 1);
        if (layer.lengths && step >= layer.length(first + i)) {  // the states stay
          clear(to.all + own * hidden, hidden);
          if (to.kept) clear(to.kept + own * parts, parts);
          continue;
        }
        if (!alone && !at_end) detail::fetch(x + next * input, input);
        step_of(hidden, x + own * input, product + i * width, layer.bias, products.carried(i), products.h(i),
                to.all + own * hidden, to.kept ? to.kept + own * parts : nullptr,
                to.kept ? to.kept + next * parts : nullptr);
      }
    }
    for (long i = 0; to.last && i < rows; ++i) {
      A* const last = to.last + (first + i) * Cell::states * hidden;
      copy_row(products.h(i), last, hidden);
      if (Cell::states > 1) copy_row(products.carried(i), last + hidden, hidden);
    }
  });
  if (past_caches) settle_stores();
}

template <class Cell, class A>
void keep_recurrent_weight(const A* weight, long hidden, void* to) {
  StepWeight<A>(hidden, Cell::gates * hidden, 1, to).pack(weight, 1, hidden);
}

template <class Cell, class A>
void recurrent_grad(const Recurrent<Cell, A>& layer, const RecurrentGradient<A>& g, long begin, long end,
                    void* workspace) {
  const long hidden = layer.hidden, gates = Cell::gates * hidden, parts = Cell::parts * hidden,
             padded = round_up(hidden, 16), width = StepWeight<A>::width(hidden);
  StepWeight<A> weight(gates, hidden, detail::recurrent_block(begin, end), workspace);
  weight.pack(layer.weight, hidden, 1);
  const bool past_caches = detail::goes_past_caches(g.result, hidden, (end - begin) * layer.steps * gates);
  const auto step_of = past_caches ? &detail::backward_step<Cell, true, A> : &detail::backward_step<Cell, false, A>;
  A* const product =
      reinterpret_cast<A*>(static_cast<char*>(workspace) + StepWeight<A>::bytes(gates, hidden, recurrent_rows));
  A *const row = product + recurrent_rows * width, *const carried = row + recurrent_rows * gates;
  detail::each_sample_block(begin, end, [&](long first, long rows) {
    clear(carried, recurrent_rows * padded);
    if (Cell::states > 1 && g.last)
      copy_matrix(g.last + (2 * first + 1) * hidden, 2 * hidden, 1, carried, padded, rows, hidden, 0);
    for (long step = layer.steps; step-- > 0;) {
      if (step + 1 < layer.steps) weight.multiply(row, gates, rows, product, width);
      for (long i = 0; i < rows; ++i) {
        const long sample = first + i, after = layer.length(sample);
        const bool at_end = step + 1 == after;
        if (step >= after) {
          clear(row + i * gates, gates);
          clear(g.result + layer.at(sample, step) * gates, gates);
          if (g.own) clear(g.own + layer.at(sample, step) * gates, gates);
          continue;
        }
        const long at = layer.at(sample, step), earlier = layer.at(sample, step ? step - 1 : 0);
        const A* const from_last = g.last ? g.last + sample * Cell::states * hidden : nullptr;
        step_of(hidden,
                {.parts = g.kept + at * parts,
                 .before = Cell::states == 1 ? g.previous + at * hidden
                           : step            ? g.kept + earlier * parts + (Cell::parts - 1) * hidden
                           : layer.first     ? layer.first_carried(sample)
                                             : nullptr,
                 .above = g.all ? g.all + at * hidden : nullptr,
                 .after = at_end ? from_last : product + i * width,
                 .carried = carried + i * padded,
                 .row = row + i * gates,
                 .result = g.result + at * gates,
                 .own = g.own ? g.own + at * gates : nullptr,
                 // those one step earlier are there already if `before` is one of them
                 .parts_ahead = g.kept + layer.at(sample, step > Cell::states ? step - Cell::states : 0) * parts,
                 .above_ahead = g.all ? g.all + earlier * hidden : nullptr,
                 .result_ahead = g.result + earlier * gates});
      }
    }
    if (g.first) copy_matrix(carried, padded, 1, g.first + first * hidden, hidden, rows, hidden, 0);
  });
  if (past_caches) settle_stores();
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
