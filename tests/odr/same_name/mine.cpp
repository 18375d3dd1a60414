// A unit with its own operators "Scale", "Shift", and "Descend", and a second "Scale" beside them; checks both units.
#include <cstdio>

#include "units.hpp"

namespace my_ops {
struct Times2 : tenon::ops::Elementwise<Times2, "Scale"> {
  template <class V>
  static constexpr V eval(V x) {
    return x * V(2);
  }
  static constexpr tenon::None derivative{};
};
struct Times4 : tenon::ops::Elementwise<Times4, "Scale"> {
  template <class V>
  static constexpr V eval(V x) {
    return x * V(4);
  }
  static constexpr tenon::None derivative{};
};
}  // namespace my_ops

namespace {
struct Shift : tenon::ops::Elementwise<Shift, "Shift"> {
  template <class V>
  static constexpr V eval(V x) {
    return x + V(1);
  }
  static constexpr tenon::None derivative{};
};
struct Descend : tenon::ops::MomentUpdate<Descend, "Descend"> {
  template <auto, class C>
  static void step(tenon::ops::UpdateNumbers<C>, auto each) {
    each([]<class V>(V g, V& p) { p = p - g; });
  }
};

int mistakes = 0;
void check(const char* what, const Results& found, float wanted) {
  if (found == Results{wanted, wanted, wanted, wanted}) return;
  ++mistakes;
  std::printf("%s must make %g of 3: eager %g, graph %g, in a chain %g, behind a product %g\n", what, double(wanted),
              double(found.eager), double(found.graph), double(found.chain), double(found.epilogue));
}
void check(const char* what, float found, float wanted) {
  if (found == wanted) return;
  ++mistakes;
  std::printf("%s must make %g of 3, not %g\n", what, double(wanted), double(found));
}
}  // namespace

UnitResults mine() { return {results_of<my_ops::Times2>(), results_of<Shift>(), updated<Descend>()}; }

int main() {
  const UnitResults here = mine(), there = yours();
  check("my_ops::Times2", here.own_namespace, 6);
  check("my_ops::Times4", results_of<my_ops::Times4>(), 12);
  check("your_ops::Times10", there.own_namespace, 30);
  check("Shift of mine.cpp", here.anonymous, 4);
  check("Shift of yours.cpp", there.anonymous, 103);
  check("Descend of mine.cpp", here.update, 2);
  check("Descend of yours.cpp", there.update, -7);
  return mistakes != 0;
}
