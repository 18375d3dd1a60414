// A transform: a value that makes a sample of one column from one of another, and the stage that applies it.
//
//   struct Invert {                                             // white becomes black
//     using transforms_samples = void;                          // or `using takes = ...`, see below
//     static constexpr const char* name = "Invert";             // for messages
//     template <class In>
//     using result = ...;                                       // the column that it makes; without this, it is In
//     template <class In>                                       // if it does not take each: empty, or what is wrong
//     static constexpr Sentence wrong() { ... }
//     template <class In>
//     void apply(SampleView<In> in, SampleSlot<result<In>> out, Random& random) const { ... }  // writes all of out
//     static constexpr bool random = false;                     // it draws nothing; true, as without this, if it may
//     void describe(auto& d) const { d.add(threshold); }        // for caches: its parameters, if it has any
//   };
//
// What several transforms take is said once, by a type: `using takes = Images;`, where Images::wrong<In>(name) is
// empty, or what is wrong. It is asked before the transform's own wrong().
#pragma once
#include <type_traits>
#include <utility>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
/// Whether a transform works on whole batches (MixUp): its `apply` is given n, too.
template <class T>
inline constexpr bool transforms_batches = requires { typename T::transforms_batches; };

template <template <class> class>
struct Named;
/// The column that a transform makes of another: its `result`, or the same.
template <class T, class In>
struct ResultOf {
  using type = In;
};
template <class T, class In>
requires requires { typename Named<T::template result>; }
struct ResultOf<T, In> {
  using type = typename T::template result<In>;
};

/// Column I of each sample by a transform.
template <class D, int I, class T>
struct Transformed : RowByRow<Transformed<D, I, T>, D> {
  using From = ColumnAt<typename D::columns, I>;
  using Made = typename ResultOf<T, From>::type;
  using To = NamedAs<Made, From>;
  using columns = WithColumn<typename D::columns, I, To>;
  static constexpr bool draws = !requires { requires !T::random; };
  T transform;
  std::uint64_t seed;

  Transformed(const D& rows, T t, std::uint64_t number)
      : RowByRow<Transformed, D>(rows), transform(std::move(t)), seed(number) {}

  void describe(auto& d) const {
    d.add(I);
    d.add_value(transform);
    if constexpr (draws) d.add(seed), d.each_epoch_differs();
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    void* before[D::columns::count];
    for (int c = 0; c < D::columns::count; ++c) before[c] = out[c];
    before[I] = memory_between<From>(scratch, this->max_rows());
    const long n = this->data.read(place, before, scratch);
    if (n == 0) return 0;
    scratch.operation = T::name;
    Random random(random_key(seed, scratch));
    const SampleSlot<Made> made(out[I]);
    made.begin();
    if constexpr (transforms_batches<T>) transform.apply(SampleView<From>(before[I]), made, n, random);
    else transform.apply(SampleView<From>(before[I]), made, random);
    made.end();
    return n;
  }
};
}  // namespace detail

}  // namespace tenon::dataset
