// A training that is killed goes on with the same bits: 200 failpoints, 100 kills at random.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../support/sanitized.hpp"
#include "../support/skip.hpp"
#include "killed.hpp"

TEST_CASE("killed anywhere, and resumed: nothing unreadable, no bit another") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const killed::Ledger ledger = killed::kill_many(200, 100);
  ledger.print();
  CHECK(ledger.all() >= 300);
  CHECK(ledger.unreadable == 0);
  CHECK(ledger.failed == 0);
  CHECK(ledger.diverged == 0);
  CHECK(ledger.left_behind == 0);
}
