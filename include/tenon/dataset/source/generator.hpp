// generator<Columns<...>>(size, function): rows that a function makes, in any order.
#pragma once
#include <type_traits>
#include <utility>

#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class List, class F>
struct Generated : Source<Generated<List, F>> {
  using columns = List;
  long count;
  F function;

  Generated(long samples, F f) : count(samples), function(std::move(f)) {}
  long size() const { return count; }
  void describe(auto& d) const {
    d.add(count);
    d.add_function(function);
  }
  void sample(long index, void* const* out) const {
    [&]<std::size_t... C>(std::index_sequence<C...>) {
      function(index, detail::sample_out<ColumnAt<List, int(C)>>(out[C])...);
      (detail::check_sized<ColumnAt<List, int(C)>>(out[C]), ...);
    }(std::make_index_sequence<std::size_t(List::count)>{});
  }
};

namespace detail {
template <class F, class List>
inline constexpr bool generates = false;
template <class F, class... C>
inline constexpr bool generates<F, Columns<C...>> =
    std::is_invocable_v<const F&, long, decltype(sample_out<C>(nullptr))...>;
}  // namespace detail

/// A data set of `size` samples, each made by a function of its number:
/// `generator<Columns<Column<float, Shape<2>, "x">, Column<int, Shape<>, "label">>>(1000, [](long index,
/// std::span<float> x, std::span<int> label) { ... })`. The columns begin as zeros. A ragged column is a SampleSlot,
/// whose resize(...), which each sample needs, returns the memory, also zeros. The function is copied with the data set
/// and called on any thread, in any order. Throws ValueError if size < 1, and while reading if a ragged sample is not
/// resized, or to extents that its column does not have. Source: MindSpore's GeneratorDataset of an object with
/// __getitem__ and __len__.
template <class List, class F>
auto generator(long size, F function) {
  constexpr bool callable = detail::generates<F, List>;
  static_assert(callable, "generator<Columns<...>>(size, f): f takes (long index, std::span<T>...), a span for each "
                          "column, or a SampleSlot if it is Ragged");
  detail::check_at_least("generator", size, 1, "the number of samples");
  if constexpr (callable) return Generated<List, F>(size, std::move(function));
}

}  // namespace tenon::dataset
