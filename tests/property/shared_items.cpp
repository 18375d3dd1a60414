// What support::both_modes is there to find: a kernel whose result depends on how its items are shared.
#include <doctest/doctest.h>

#include "../support/both_modes.hpp"

using namespace tenon;

namespace {
/// Right where one thread has all items.
struct Careless : Operator<Careless, "Careless"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.gradient()); }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    float sum = 0;
    for (long i = begin; i < end; ++i) a.result<float>()[i] = sum += a.operand<float>(0)[i];
  }
};
}  // namespace

TEST_CASE("a result that depends on the first item of a thread is found" * doctest::should_fail()) {
  support::both_modes([](const auto& x) { return apply<Careless>(std::source_location::current(), x); },
                      Tensor{1.0f, 2.0f, 3.0f, 4.0f});
}
