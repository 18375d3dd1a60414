// map<I>(function): computes new columns, element by element or sample by sample.
#pragma once
#include <span>
#include <type_traits>
#include <utility>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/map/transform.hpp>
#include <tenon/dataset/stage/seed.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// Column I becomes New by function, called as `function(element) -> element`. An element of the same type replaces the
/// old one where it lies; all else is read beside and written over.
template <class D, int I, class New, class F>
struct ElementMapped : RowByRow<ElementMapped<D, I, New, F>, D> {
  using columns = WithColumn<typename D::columns, I, New>;
  using From = ColumnAt<typename D::columns, I>;
  using T = typename From::type;
  using To = typename New::type;
  static constexpr bool in_place = std::is_same_v<T, To>;
  static constexpr auto label = operation_name<I>("map");
  F function;

  ElementMapped(const D& rows, F f) : RowByRow<ElementMapped, D>(rows), function(std::move(f)) {}

  void describe(auto& d) const {
    d.add(I);
    d.add_function(function);
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    void* before[D::columns::count];
    for (int c = 0; c < D::columns::count; ++c) before[c] = out[c];
    if constexpr (!in_place) before[I] = memory_between<From>(scratch, this->max_rows());
    const long n = this->data.read(place, before, scratch);
    if (n > 0) {
      scratch.operation = label.text;
      apply(before[I], out[I], n);
    }
    return n;
  }

 private:
  void apply(const void* before, void* after, long n) const {
    if constexpr (From::ragged) {
      const SampleView<From> in(before);
      const T* const from = in.data();
      const std::int64_t count = in.count();
      To* const to = in_place ? static_cast<To*>(const_cast<void*>(static_cast<const void*>(from)))
                              : SampleSlot<New>(after).resize(in.extents());
      for (std::int64_t i = 0; i < count; ++i) to[i] = function(from[i]);
    } else {
      const T* const from = static_cast<const T*>(before);
      To* const to = static_cast<To*>(after);
      const long count = From::tensor_type.count(n);
      for (long i = 0; i < count; ++i) to[i] = function(from[i]);
    }
  }
};

template <ColumnKey Key, class List>
struct NoSuchColumn {
  static constexpr Sentence sentence = no_such_column<Key>(List{});
};

// The makers check in plain words before the types above are formed. Each condition has a name of its own: compilers
// then print the sentence without taking the condition apart.

template <ColumnKey Key, class F>
struct ElementMapMaker {
  using makes_stage = void;
  F function;
  template <class D>
  auto applied_to(const D& data) const {
    constexpr int I = column_place<typename D::columns, Key>;
    if constexpr (I < 0) {
      using Wrong = Mistake<NoSuchColumn<Key, typename D::columns>>;
      return Wrong::corrected;
    } else {
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
          return ElementMapped<D, I, Column<Result, typename Old::shape, Old::name>, F>(data, function);
      }
    }
  }
};

/// What is wrong with a column that a transform cannot take: what its `takes` says, then its own `wrong<In>()`.
template <class T, class In>
constexpr Sentence refusal_of() {
  Sentence s;
  if constexpr (requires { typename T::takes; }) s = T::takes::template wrong<In>(T::name);
  if constexpr (requires { T::template wrong<In>(); })
    if (s.empty()) s = T::template wrong<In>();
  return s;
}
/// The first of several transforms, one after the other, that cannot take its column, and what it says.
template <class In, class... T>
struct FirstRefusal {
  static constexpr Sentence sentence{};
};
template <class In, class First, class... Rest>
requires(!refusal_of<First, In>().empty())
struct FirstRefusal<In, First, Rest...> {
  static constexpr Sentence sentence = refusal_of<First, In>();
};
template <class In, class First, class... Rest>
requires(refusal_of<First, In>().empty())
struct FirstRefusal<In, First, Rest...> : FirstRefusal<NamedAs<typename ResultOf<First, In>::type, In>, Rest...> {};

/// Whether transforms can take column Key of a list, and what is said if they cannot.
template <ColumnKey Key, class List, class... T>
struct CheckedTransforms {
  static constexpr Sentence find() {
    constexpr int I = column_place<List, Key>;
    if constexpr (I < 0) return NoSuchColumn<Key, List>::sentence;
    else return FirstRefusal<ColumnAt<List, I>, T...>::sentence;
  }
  static constexpr Sentence sentence = find();
  static constexpr bool ok = sentence.empty();
};

/// Column Key by one transform after the other.
template <ColumnKey Key, class... T>
struct TransformMaker {
  using makes_stage = void;
  template <class D>
  using Checked = CheckedTransforms<Key, typename D::columns, T...>;
  std::tuple<T...> transforms;
  std::uint64_t seed;
  template <class D>
  auto applied_to(const D& data) const {
    if constexpr (!Checked<D>::ok) {
      using Wrong = Mistake<Checked<D>>;
      return Wrong::corrected;
    } else {
      return chain<column_place<typename D::columns, Key>>(data, std::integral_constant<std::size_t, 0>{});
    }
  }

 private:
  template <int I, class D, std::size_t K>
  auto chain(const D& data, std::integral_constant<std::size_t, K>) const {
    if constexpr (K == sizeof...(T)) return data;
    else {
      using Step = std::tuple_element_t<K, std::tuple<T...>>;
      constexpr bool by_sample = !D::batched || transforms_batches<Step>;
      static_assert(by_sample, "map<I>(transform) works on one sample at a time: write it before batch");
      if constexpr (by_sample)
        return chain<I>(Transformed<D, I, Step>(data, std::get<K>(transforms), hash_number(stages_before<D>(), seed)),
                        std::integral_constant<std::size_t, K + 1>{});
    }
  }
};

template <class In, class Out, class F>
struct SampleMapMaker {
  using makes_stage = void;
  F function;
  std::uint64_t seed;
  template <class D>
  auto applied_to(const D& data) const {
    constexpr bool by_sample = !D::batched;
    static_assert(by_sample, "map<I, Column<...>>(f) works on one sample at a time: write it before batch");
    if constexpr (by_sample) return map_columns<In, Out>(data, function, hash_number(stages_before<D>(), seed));
  }
};

template <class F>
concept TransformLike = requires { typename std::remove_cvref_t<F>::transforms_samples; } ||
                        requires { typename std::remove_cvref_t<F>::takes; };

}  // namespace detail

/// Replaces each element of a column by f(element): `map<0>([](float pixel) { return (pixel - 0.1307f) / 0.3081f;
/// })`, or `map<"image">(...)`. The shape does not change; the dtype is the type that the function returns (1.0 is a
/// double, 1.0f a float). Before or after batch.
///
/// The function is copied with the data set and may be called on any thread: it must not depend on earlier calls.
template <ColumnKey Key, class F>
requires(!detail::TransformLike<F>)
auto map(F function) {
  return detail::ElementMapMaker<Key, F>{std::move(function)};
}
/// Transforms a column of samples, one after the other: `map<"image">(vision::Decode{}, vision::Resize<224, 224>{})`.
/// Random transforms depend only on the seed, the epoch, and the sample. Before batch.
template <ColumnKey Key, detail::TransformLike... T>
requires(sizeof...(T) > 0)
auto map(T... transforms) {
  return detail::TransformMaker<Key, T...>{{std::move(transforms)...}, default_seed()};
}

/// Says that the column is missing.
template <class F>
auto map(F) {
  constexpr bool names_column = !std::is_same_v<F, F>;
  static_assert(names_column, "map needs the number of the column that it changes: map<0>(f)");
}

/// Replaces a column of each sample by a column of another shape or type: `map<0, Column<float, Shape<1, 32,
/// 32>>>([](std::span<const float> in, std::span<float> out) { ... })`. `out` begins as zeros. A ragged input is a
/// SampleView, which has the extents; a ragged output is a SampleSlot, whose resize(...) returns the memory, also
/// zeros. A ragged sample that is not resized is a ValueError, as are extents that its column does not have. If the
/// function has a further parameter Random&, it receives a stream of numbers that depends only on the seed, the epoch,
/// and the sample. Before batch only.
template <ColumnKey Key, class New, class F>
auto map(F function) {
  return detail::SampleMapMaker<detail::KeyList<Key>, Columns<New>, F>{std::move(function), default_seed()};
}
/// The columns that a function of several columns receives, by position or name: `Inputs<"image", "box">`.
template <ColumnKey... Key>
struct Inputs : detail::KeyList<Key...> {};
/// Computes new columns of each sample from several columns: `map<Inputs<"a", "b">, Columns<Column<float, Shape<2>,
/// "sum">>>([](std::span<const float> a, std::span<const float> b, std::span<float> sum) { ... })`. The new columns
/// replace the input columns, at the position of the first input; the order of the other columns does not change. To
/// keep an input, name it among the new columns.
template <class In, class Out, class F>
requires requires { typename In::keys; }
auto map(F function) {
  return detail::SampleMapMaker<typename In::keys, Out, F>{std::move(function), default_seed()};
}

}  // namespace tenon::dataset
