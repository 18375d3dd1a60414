// Denormals are zero within the scope, and the thread's own setting comes back after it.
// only: x86_64 aarch64
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <thread>

#include <tenon/core/float/denormals.hpp>

using namespace tenon;

namespace {
bool result_is_kept() {
  volatile float small = 1e-30f, tiny = small * 1e-10f;
  return tiny != 0;
}
bool operand_is_kept() {
  volatile float denormal = 1e-40f, big = denormal * 1e10f;
  return big != 0;
}
}  // namespace

TEST_CASE("results and operands are flushed, only inside") {
  CHECK(result_is_kept());
  CHECK(operand_is_kept());
  {
    const FlushDenormals flush;
    CHECK(!result_is_kept());
    CHECK(!operand_is_kept());
    {
      const FlushDenormals inner;
      CHECK(!result_is_kept());
    }
    CHECK(!result_is_kept());  // the inner scope leaves the outer one's setting
  }
  CHECK(result_is_kept());
  CHECK(operand_is_kept());
}

TEST_CASE("an error leaves the scope in order") {
  try {
    const FlushDenormals flush;
    throw 1;
  } catch (int) {
  }
  CHECK(result_is_kept());
}

TEST_CASE("the setting is the thread's own") {
  const FlushDenormals flush;
  bool in_thread = false;
  std::thread([&] {
    const FlushDenormals own;
    in_thread = result_is_kept();
  }).join();
  CHECK(!in_thread);
  CHECK(!result_is_kept());
}
