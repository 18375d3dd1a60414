// flags: -DTENON_OBSERVE
// link: protozero sqlite json
// Two and four runs at once in one folder, for each kind of output: 2 rounds.
#include <doctest/doctest.h>

#if __has_include(<protozero/pbf_writer.hpp>) && __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include "../support/sanitized.hpp"
#include "../support/skip.hpp"
#include "together.hpp"

TEST_CASE("two and four runs at once in one folder: nothing is lost, nothing is mixed") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  for (const together::Kind& kind : together::kinds)
    for (const int runs : {2, 4})
      for (int i = 0; i < 2; ++i) CHECK(together::round(kind, runs) == "");
}

TEST_CASE("several runs at once: one that fails is reported, and the others do not wait for it") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const auto killed = [](together::Member& run) {
    if (run.number == 0) ::raise(SIGKILL);
    run.meet();
  };
  CHECK(together::round({"killed", killed}, 2) == "killed: a run was killed by signal 9");
  const auto throws = [](together::Member& run) {
    together::need(run.number != 1, "a line is lost");
    run.meet();
    throw std::runtime_error("the other is missing");
  };
  CHECK(together::round({"throws", throws}, 4) == "throws: a line is lost");
}
#endif
