// An operator among ranks in both modes: its values and its gradient, with equal bits.
#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "../../support/both_modes.hpp"

namespace collective {

/// f(x), and the gradient for x if dy is `seed`'s, in both modes with equal bits. That of float64 goes to
/// differences(x, dy, gradient), which compares it. Returns f(x).
template <class F, class X, class Differences>
auto checked(const F& f, const X& given, std::uint64_t seed, const Differences& differences) {
  using namespace tenon;
  using Source = support::detail::FunctionSource<F, typename tenon::detail::KeyFor<X>::type>;
  const X x = given.copy();
  const auto y = f(x);
  using Y = std::remove_cvref_t<decltype(y)>;
  const Y weight = support::random_tensor<typename Y::type, typename Y::shape_type>(seed, -1, 1, y.n());
  const auto graph = support::detail::run_graph<Compiled<Source>>(weight, x);
  REQUIRE(support::same_bits(graph.result, y));
  if constexpr (support::is_floating_tensor<X>) {
    const X gradient = [&] {
      eager::Tape tape;
      tape.watch(x);
      tape.backward(f(x), weight);
      return tape.gradient(x);
    }();
    REQUIRE(support::same_bits(std::get<0>(graph.gradient), gradient));
    if constexpr (std::is_same_v<typename X::type, double>) differences(x, weight, gradient);
  }
  return y;
}

}  // namespace collective
