// map<I>(function): computes a column anew, element by element or sample by sample.
#pragma once
#include <span>
#include <type_traits>
#include <utility>

#include <tenon/dataset/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// Column I becomes New by function, called as `function(element) -> element` if Elementwise, else as `function(in,
/// out)`.
template <class D, int I, class New, class F, bool Elementwise>
struct Mapped : Stage<Mapped<D, I, New, F, Elementwise>> {
  using columns = WithColumn<typename D::columns, I, New>;
  static constexpr bool batched = D::batched;
  using From = typename ColumnAt<typename D::columns, I>::type;
  using To = typename New::type;
  static constexpr TensorType from_type = D::columns::types[I];
  /// An element of the same type replaces the old one where it lies; all else is read beside and written over.
  static constexpr bool in_place = Elementwise && std::is_same_v<From, To>;

  D data;
  F function;

  Mapped(const D& rows, F f) : data(rows), function(std::move(f)) {}

  long size() const { return data.size(); }
  long max_rows() const { return data.max_rows(); }
  std::size_t scratch_bytes() const { return own_bytes() + data.scratch_bytes(); }
  long read(Place place, void* const* out, std::byte* scratch) const {
    if constexpr (in_place) {
      const long n = data.read(place, out, scratch);
      apply(static_cast<const From*>(out[I]), static_cast<To*>(out[I]), n);
      return n;
    } else {
      void* before[D::columns::count];
      for (int c = 0; c < D::columns::count; ++c) before[c] = c == I ? scratch : out[c];
      const long n = data.read(place, before, scratch + own_bytes());
      apply(static_cast<const From*>(before[I]), static_cast<To*>(out[I]), n);
      return n;
    }
  }

 private:
  std::size_t own_bytes() const { return in_place ? 0 : std::size_t(aligned(from_type.bytes(max_rows()))); }
  void apply(const From* in, To* out, long n) const {
    const std::size_t count = static_cast<std::size_t>(from_type.count(n));
    if constexpr (Elementwise) {
      for (std::size_t i = 0; i < count; ++i) out[i] = function(in[i]);
    } else {
      function(std::span<const From>(in, count),
               std::span<To>(out, static_cast<std::size_t>(New::tensor_type.count(n))));
    }
  }
};

// The makers check in plain words before the types above are formed. Each condition has a name of its own: compilers
// then print the sentence without taking the condition apart.

template <int I, class F>
struct ElementMapMaker {
  using makes_stage = void;
  F function;
  template <class D>
  auto applied_to(const D& data) const {
    constexpr bool has_column = I >= 0 && I < D::columns::count;
    static_assert(has_column, "map<I>: the data set has no column I; columns count from 0");
    if constexpr (has_column) {
      using Old = ColumnAt<typename D::columns, I>;
      constexpr bool callable = std::is_invocable_v<const F&, typename Old::type>;
      static_assert(callable, "map<I>(f): f takes one element of the column and returns one; "
                              "name the new column's type, map<I, Column<...>>(f), for a function of spans");
      if constexpr (callable) {
        using Result = std::remove_cvref_t<std::invoke_result_t<const F&, typename Old::type>>;
        constexpr bool returns_element = Element<Result>;
        static_assert(returns_element,
                      "map<I>(f): f must return an element: bool, an integer, float16, bfloat16, float or double");
        if constexpr (returns_element)
          return Mapped<D, I, Column<Result, typename Old::shape>, F, true>(data, function);
      }
    }
  }
};

template <int I, class New, class F>
struct SampleMapMaker {
  using makes_stage = void;
  F function;
  template <class D>
  auto applied_to(const D& data) const {
    constexpr bool has_column = I >= 0 && I < D::columns::count, by_sample = !D::batched,
                   static_shape = !New::tensor_type.batched();
    static_assert(has_column, "map<I>: the data set has no column I; columns count from 0");
    static_assert(by_sample, "map<I, Column<...>>(f) works on one sample at a time: write it before batch");
    static_assert(static_shape,
                  "map<I, Column<T, Shape<...>>>: give the shape of one sample, without a dynamic extent");
    if constexpr (has_column && by_sample && static_shape) {
      using From = typename ColumnAt<typename D::columns, I>::type;
      constexpr bool callable = std::is_invocable_v<const F&, std::span<const From>, std::span<typename New::type>>;
      static_assert(callable,
                    "map<I, Column<T, S>>(f): f takes (std::span<const Old>, std::span<T>), one sample in and out");
      if constexpr (callable) return Mapped<D, I, New, F, false>(data, function);
    }
  }
};

}  // namespace detail

/// Computes each element of column I anew: `map<0>([](float pixel) { return (pixel - 0.1307f) / 0.3081f; })`.
/// The shape stays, the dtype becomes what the function returns (1.0 is a double, 1.0f a float). Before or after batch.
///
/// The function is copied with the data set and may be called on another thread: it must not depend on earlier calls.
template <int I, class F>
auto map(F function) {
  return detail::ElementMapMaker<I, F>{std::move(function)};
}

/// Says that the column is missing.
template <class F>
auto map(F) {
  constexpr bool names_column = !std::is_same_v<F, F>;
  static_assert(names_column, "map needs the number of the column that it changes: map<0>(f)");
}

/// Computes column I of each sample anew, with another shape or type:
/// `map<0, Column<float, Shape<1, 32, 32>>>([](std::span<const float> in, std::span<float> out) { ... })`.
/// The function must write all of out, which holds anything before. Before batch only.
template <int I, class New, class F>
auto map(F function) {
  return detail::SampleMapMaker<I, New, F>{std::move(function)};
}

}  // namespace tenon::dataset
