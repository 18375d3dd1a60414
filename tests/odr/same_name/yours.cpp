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
  template <class T, auto, class Gradient>
  static void apply(const float*, long count, Gradient gradient, T* const* changed) {
    tenon::kernel::update_elements(count, []<class V>(V g, V& p) { p = p - V(10) * g; }, gradient, changed[0]);
  }
};
}  // namespace

UnitResults yours() { return {results_of<your_ops::Times10>(), results_of<Shift>(), updated<Descend>()}; }
