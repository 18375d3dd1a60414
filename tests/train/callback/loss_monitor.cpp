// LossMonitor: the lines of MindSpore.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/train/callback/loss_monitor.hpp>

#include "../../support/comma_locale.hpp"
#include "output.hpp"

using namespace tenon;

namespace {
std::string lines(long every) {
  return printed([&] {
    LossMonitor monitor(every);
    play(monitor, 2, 3, [](long) {});
  });
}
}  // namespace

TEST_CASE("loss monitor: epoch, step within the epoch, and loss, every so many steps of the run") {
  CHECK(lines(2) ==
        "epoch: 1 step: 2, loss is 0.5\nepoch: 2 step: 1, loss is 0.25\nepoch: 2 step: 3, loss is 0.1666667\n");
  CHECK(lines(6) == "epoch: 2 step: 3, loss is 0.1666667\n");
  CHECK(lines(7).empty());
  CHECK(lines(0).empty());
  CHECK_THROWS_WITH_AS(LossMonitor(-1), "LossMonitor: per_print_times must be 0 or more, got -1.", ValueError);
}

TEST_CASE("loss monitor: numbers have a point in every locale") {
  const support::CommaLocale locale;
  CHECK(lines(2) ==
        "epoch: 1 step: 2, loss is 0.5\nepoch: 2 step: 1, loss is 0.25\nepoch: 2 step: 3, loss is 0.1666667\n");
}

TEST_CASE("loss monitor: says nothing in an evaluation") {
  CHECK(printed([] {
          LossMonitor monitor;
          RunInfo run;
          run.training = false;
          run.cur_step_num = 1;
          monitor.step_end(run);
        }).empty());
}
