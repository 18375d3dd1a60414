// A reference to a function object: it calls the object itself, and knows when there is none.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/core/function_ref.hpp>

using namespace tenon;

TEST_CASE("function_ref: calls the object it refers to, without a copy") {
  long sum = 0;
  const auto add = [&sum](long a, long b) { sum += 10 * a + b; };
  const FunctionRef<long, long> reference = add;
  CHECK(bool(reference));
  reference(1, 2);
  reference(3, 4);
  CHECK(sum == 46);
}

TEST_CASE("function_ref: made of nothing it is empty") { CHECK_FALSE(bool(FunctionRef<long>())); }
