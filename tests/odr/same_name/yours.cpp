// A unit with operators of the names that mine.cpp uses.
#include "units.hpp"

namespace your_ops {
struct Times10 : tenon::ops::Elementwise<Times10, "Scale"> {
  template <class V>
  static constexpr V eval(V x) {
    return x * V(10);
  }
  static constexpr tenon::None derivative{};
};
}  // namespace your_ops

namespace {
struct Shift : tenon::ops::Elementwise<Shift, "Shift"> {
  template <class V>
  static constexpr V eval(V x) {
    return x + V(100);
  }
  static constexpr tenon::None derivative{};
};
struct Descend : tenon::ops::MomentUpdate<Descend, "Descend"> {
  template <auto, class C>
  static void step(tenon::ops::UpdateNumbers<C>, auto each) {
    each([]<class V>(V g, V& p) { p = p - V(10) * g; });
  }
};
}  // namespace

UnitResults yours() { return {results_of<your_ops::Times10>(), results_of<Shift>(), updated<Descend>()}; }
