// apply(f): a function of a data set as a stage.
#pragma once
#include <utility>

#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

template <class F>
struct ApplyMaker {
  using makes_stage = void;
  F function;
  template <class D>
  auto applied_to(const D& data) const {
    constexpr bool makes_data = requires {
      { function(data) } -> Dataset;
    };
    static_assert(makes_data, "apply(f): f takes a data set and returns one: [](auto data) { return data | ...; }");
    if constexpr (makes_data) return function(data);
  }
};

/// f(data), written as a stage: `data | apply([](auto data) { return data | dataset::shuffle(100); })`.
template <class F>
ApplyMaker<F> apply(F function) {
  return {std::move(function)};
}

}  // namespace tenon::dataset
