// pad<"text">(Shape<100>{}, 0): samples of unequal size are brought to one shape.
#pragma once
#include <concepts>
#include <type_traits>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/batch/padded_sample.hpp>
#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Column I of D with each sample padded to shape S.
template <class D, int I, class S>
struct Padded : RowByRow<Padded<D, I, S>, D> {
  using From = ColumnAt<typename D::columns, I>;
  using T = typename From::type;
  using To = Column<T, S, From::name>;
  using columns = WithColumn<typename D::columns, I, To>;
  T value;

  Padded(const D& rows, T fill) : RowByRow<Padded, D>(rows), value(fill) {}

  void describe(auto& d) const { d.add(I, value); }
  long read(Place place, void* const* out, Scratch& scratch) const {
    void* before[D::columns::count];
    for (int c = 0; c < D::columns::count; ++c) before[c] = out[c];
    before[I] = detail::memory_between<From>(scratch, 1);
    const long n = this->data.read(place, before, scratch);
    if (n == 0) return 0;
    const SampleView<From> sample(before[I]);
    detail::pad_sample(sample.data(), sample.extents(), out[I], SampleView<To>(out[I]).extents(), &value, sizeof value);
    return n;
  }
};

template <ColumnKey Key, class S, class V>
struct PadMaker {
  using makes_stage = void;
  using pads_column = void;
  V value;
  template <class D>
  auto applied_to(const D& data) const {
    using List = typename D::columns;
    constexpr int I = column_place<List, Key>;
    constexpr bool single = !D::batched;
    static_assert(single, "pad works on one sample at a time: batch(32, pad<\"text\">(Shape<100>{}, 0))");
    if constexpr (I < 0) {
      using Wrong = Mistake<detail::MissingColumn<List, Key>>;
      return Wrong::corrected;
    } else if constexpr (single) {
      using From = ColumnAt<List, I>;
      constexpr bool same_rank = From::shape::rank == S::rank && S::rank > 0 && !S::dims.batched();
      static_assert(same_rank, "pad<\"text\">(Shape<...>{}, value): give the shape of one sample, with as many axes as "
                               "the column has");
      if constexpr (same_rank)
        return Padded<D, I, S>(data, detail::fill_element<typename From::type>(value, From::name.view()));
    }
  }
};

/// Brings a column's samples to one shape: smaller ones are filled up with a value at the end of each axis, larger ones
/// are cut. `batch(32, pad<"text">(Shape<100>{}, 0))`, or as a stage before batch. Throws ValueError for a value that
/// the column's dtype does not have. Source: pad_info of MindSpore's batch.
template <ColumnKey Key, int... Extents, class V = int>
auto pad(Shape<Extents...>, V value = {}) {
  return PadMaker<Key, Shape<Extents...>, V>{value};
}

// What pad without a shape makes.
template <ColumnKey Key>
struct PadValue {
  static constexpr auto key = Key;
  double value;
};
/// The value that fills up a column, an argument of bucket_batch_by_length: `pad<"next">(-1)`.
template <ColumnKey Key, class V>
requires std::is_arithmetic_v<V>
PadValue<Key> pad(V value) {
  return {static_cast<double>(value)};
}

namespace detail {
template <class... P>
struct PaddedBatchMaker {
  using makes_stage = void;
  long batch_size;
  std::tuple<P...> pads;
  template <class D>
  auto applied_to(const D& data) const {
    return std::apply([&](const P&... pad) { return (data | ... | pad) | batch(batch_size); }, pads);
  }
};
// nvcc finds no Key in a PadMaker<Key, S, V>
template <class P>
concept Pads = requires { typename P::pads_column; };
template <std::convertible_to<long> N, class First, class... More>
requires(Pads<First> && (Pads<More> && ...))
inline constexpr bool is_batch_call<N, First, More...> = true;
}  // namespace detail

/// Batches of n samples with padded columns: `batch(32, pad<"text">(Shape<100>{}, 0))`.
template <detail::Pads... P>
requires(sizeof...(P) > 0)
auto batch(long batch_size, P... pads) {
  detail::check_at_least("batch", batch_size, 1, "the batch size");
  return detail::PaddedBatchMaker<P...>{batch_size, {pads...}};
}

}  // namespace tenon::dataset
