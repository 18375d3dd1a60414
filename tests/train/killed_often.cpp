// A thousand kills of a training: 700 failpoints, 300 at random.
// label: long
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../support/sanitized.hpp"
#include "../support/skip.hpp"
#include "killed.hpp"

TEST_CASE("a thousand kills: nothing unreadable, no bit another") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const killed::Ledger ledger = killed::kill_many(700, 300);
  ledger.print();
  CHECK(ledger.all() >= 1000);
  CHECK(ledger.unreadable == 0);
  CHECK(ledger.failed == 0);
  CHECK(ledger.diverged == 0);
  CHECK(ledger.left_behind == 0);
}
