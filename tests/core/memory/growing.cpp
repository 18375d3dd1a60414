// Growing: elements keep their values, are destroyed once, and a copy that fails leaves nothing.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include <tenon/core/memory/growing.hpp>

using tenon::detail::Growing;

namespace {

/// Counts how many there are; a copy of one that is `bad` throws.
struct Counted {
  static inline int alive = 0;
  std::string name;
  bool bad = false;
  Counted(std::string name, bool bad = false) : name(std::move(name)), bad(bad) { ++alive; }
  Counted(const Counted& other) : name(other.name), bad(other.bad) {
    if (bad) throw std::runtime_error("a copy of a bad one");
    ++alive;
  }
  Counted(Counted&& other) noexcept : name(std::move(other.name)), bad(other.bad) { ++alive; }
  ~Counted() { --alive; }
};

}  // namespace

TEST_CASE("elements stay as they are while there is more room") {
  Growing<int> numbers;
  CHECK(numbers.empty());
  for (int i = 0; i < 1000; ++i) CHECK(numbers.push_back(i * i) == i * i);
  REQUIRE(numbers.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(numbers[std::size_t(i)] == i * i);
  CHECK(numbers.back() == 999 * 999);
  numbers.fill(1500);
  CHECK(numbers.size() == 1500);
  CHECK(numbers[999] == 999 * 999);
  CHECK(numbers[1499] == 0);
  numbers.fill(3);
  CHECK(numbers.size() == 1500);  // it only grows
  numbers.clear();
  CHECK(numbers.empty());
}

TEST_CASE("elements with destructors move, are copied, and go") {
  {
    Growing<Counted> some;
    for (int i = 0; i < 100; ++i) some.push_back(Counted(std::to_string(i)));
    CHECK(Counted::alive == 100);
    for (int i = 0; i < 100; ++i) CHECK(some[std::size_t(i)].name == std::to_string(i));

    Growing<Counted> copy = some;
    CHECK(Counted::alive == 200);
    Growing<Counted> moved = std::move(some);
    CHECK(Counted::alive == 200);
    CHECK(moved.size() == 100);
    moved = copy;
    CHECK(Counted::alive == 200);  // what it had is gone
    CHECK(moved.back().name == "99");
    copy = std::move(moved);
    CHECK(Counted::alive == 100);
    copy.clear();
    CHECK(copy.empty());
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("a copy that fails leaves nothing") {
  {
    Growing<Counted> some;
    some.push_back(Counted("good"));
    some.push_back(Counted("bad", true));
    CHECK_THROWS_AS(Growing<Counted>{some}, std::runtime_error);
    CHECK(Counted::alive == 2);
  }
  CHECK(Counted::alive == 0);
}
