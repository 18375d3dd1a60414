// Observers on a target with a queue: after() comes when the operation has run, not when it is queued.
// flags: -DTENON_OBSERVE
#define TENON_TARGET reference
#include <doctest/doctest.h>

#include <chrono>

#include <tenon/tenon.hpp>

#include "../support/tensors.hpp"

using namespace tenon;

namespace {
double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
/// The time between before() and after() of products.
struct Stopwatch {
  double begin = 0, total = 0;
  void before(const Operation&) { begin = seconds(); }
  void after(const Operation& operation) {
    if (operation.type == "MatMul") total += seconds() - begin;
  }
};
struct Product : nn::Cell<Product> {
  nn::Dense<300, 300> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
}  // namespace

TEST_CASE("most of the time of a large product is that of the product, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .device_target = "Reference"});
    Product net;
    Model model{net};
    const auto x = support::random_tensor<float, Shape<dyn, 300>>(1, -1, 1, 400);
    model.predict(x).data();
    Stopwatch watch;
    const double begin = seconds();
    {
      const Observing observing(watch);
      model.predict(x).data();
    }
    CHECK(watch.total > 0.5 * (seconds() - begin));
  }
}
