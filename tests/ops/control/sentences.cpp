// What a loop or a condition that is wrong says.
#include <doctest/doctest.h>

#include <tenon/more.hpp>

using namespace tenon;

namespace {
/// The sentence of a function that cannot be traced.
template <class F, class... Keys>
struct Function {
  static constexpr const Entry* entries = nullptr;
  static constexpr Builder trace() {
    Builder b;
    const auto y =
        F{}(Traced<typename Keys::type, typename Keys::shape>(&b, b.leaf(&info<ops::Input>, Keys::value, 0))...);
    if constexpr (!is_broken<decltype(y)>) {
      b.outputs.push_back(y.id);
      if constexpr (requires { F::with_gradient; })
        static_cast<void>(backward(b, y.id, b.leaf(&info<ops::Input>, decltype(y)::dims, 1), {1}));
    }
    return b;
  }
};
using Rows = TypeKey<Dtype::float32, dyn, 5, 3>;
template <class F>
std::string said(F) {
  static constexpr Sentence sentence = Function<F, Rows>::trace().error;
  const std::string_view text = sentence.view();
  return std::string(text.substr(0, text.find(" (sentences.cpp")));
}
struct Unbounded {
  static constexpr bool with_gradient = true;
  constexpr auto operator()(auto x) const {
    return while_loop([](auto y) { return reduce_sum(y) > 0.0f; }, [](auto y) { return y - 1.0f; }, x);
  }
};
}  // namespace

TEST_CASE("loops and conditions: sentences") {
  CHECK(said([](auto x) {
          return scan([](auto h, auto v) { return reduce_sum(h + v); }, zeros<Shape<dyn, 3>>(x), x);
        }) == "scan: the body got float32 [n,3] as value 0 that is carried on, and returned float32 []: it returns "
              "std::tuple(carried, y), with the types that it got, or the carried values alone");
  CHECK(
      said([](auto x) {
        return std::get<1>(scan([](auto h, auto s) { return std::tuple(h, std::get<0>(s)); }, zeros<Shape<dyn, 3>>(x),
                                std::tuple(x, zeros<Shape<dyn, 4, 3>>(x))));
      }) ==
      "scan got 5 turns, and 4 for [n,4,3]: all must have the same extent along the first axis that is not the batch");
  CHECK(
      said([](auto x) { return cond(x > 0.0f, [](auto v) { return v; }, [](auto v) { return v + v; }, x); }) ==
      "cond needs one bool for the whole batch, got bool [n,5,3]: compare, then reduce, or use select(condition, a, b) "
      "for a choice per element");
  CHECK(said([](auto x) {
          return cond(reduce_sum(x) > 0.0f, [](auto v) { return v; }, [](auto v) { return reduce_sum(v); }, x);
        }) == "cond: both functions must return the same types, got float32 [n,5,3] and float32 []");
  CHECK(said([](auto x) {
          return scan([](auto h, auto v) { return h + cast<double>(v); }, cast<double>(zeros<Shape<dyn, 3>>(x)), x);
        }) ==
        "a body uses float64 and float32 [n,5,3]: cast one of them, its floating-point values must have one dtype");
  CHECK(
      said(Unbounded{}) ==
      "while_loop has a derivative only if it is given the most turns that it takes: while_loop<100>(condition, body, "
      "...)");
}
