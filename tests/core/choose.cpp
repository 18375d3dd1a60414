// Numbers of a run as template arguments.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>

#include <tenon/core/choose.hpp>

using namespace tenon;

namespace {
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}
}  // namespace

TEST_CASE("lists") {
  static_assert(std::is_same_v<decltype(range<16, 64, 16>), const OneOf<16, 32, 48, 64>>);
  static_assert(std::is_same_v<decltype(range<3, 7, 3>), const OneOf<3, 6>>);
  static_assert(std::is_same_v<detail::ListOf<1, one_of<5, 6>, range<7, 8>>, OneOf<1, 5, 6, 7, 8>>);
  int sum = 0;
  for (const int value : one_of<3, 4, 5>) sum += value;
  CHECK(sum == 12);
}

TEST_CASE("choose: the number that equals the value") {
  const auto doubled = []<int N>() { return 2 * N; };
  CHECK(choose<64, 128, 256>(128, doubled) == 256);
  CHECK(choose<one_of<1, 2>, 9>(9, doubled) == 18);
  int called = 0;
  choose<5, 6>(6, [&]<int N>() { called = N; });
  CHECK(called == 6);
  // results of several types have a common one
  CHECK(choose<1, 2>(2, []<int N>() {
          if constexpr (N == 1) return 1;
          else return 0.5;
        }) == 0.5);
  CHECK(refusal([&] { choose<64, 128, 256>(96, doubled); }) ==
        "choose: 96 is none of 64, 128, 256. What is part of a shape is compiled in: add it to the list.");
}

TEST_CASE("choose_bucket: the smallest number that is large enough") {
  const auto itself = []<int N>() { return N; };
  CHECK(choose_bucket<32, 64, 128>(0, itself) == 32);
  CHECK(choose_bucket<32, 64, 128>(32, itself) == 32);
  CHECK(choose_bucket<128, 64, 32>(33, itself) == 64);
  CHECK(choose_bucket<range<16, 256, 16>>(241, itself) == 256);
  CHECK(refusal([&] { choose_bucket<32, 64, 128>(129, itself); }) ==
        "choose_bucket: a length of 129 is more than the largest bucket, 128: add a larger bucket, or cut what is "
        "longer.");
  CHECK(refusal([&] { choose_bucket<32>(-1, itself); }) == "choose_bucket: a length of -1, it must be 0 or more.");
}
