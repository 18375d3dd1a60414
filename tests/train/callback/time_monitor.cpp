// TimeMonitor: the line of MindSpore, with times that are true.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>

#include <tenon/train/callback/time_monitor.hpp>

#include "../../support/comma_locale.hpp"
#include "output.hpp"

using namespace tenon;

namespace {
struct Times {
  double epoch = 0, step = 0;
  int end = 0;
};
Times read(const std::string& line) {
  Times t;
  CHECK(std::sscanf(line.c_str(), "epoch time: %lf ms, per step time: %lf ms\n%n", &t.epoch, &t.step, &t.end) == 2);
  return t;
}
void nap(long) { ::usleep(5000); }
}  // namespace

TEST_CASE("time monitor: one line per epoch") {
  const std::string out = printed([] {
    TimeMonitor monitor;
    play(monitor, 2, 4, nap);
  });
  const Times first = read(out), second = read(out.substr(std::size_t(first.end)));
  CHECK(std::size_t(first.end + second.end) == out.size());
  for (const Times& t : {first, second}) {
    CHECK(t.epoch >= 20);
    CHECK(t.step == doctest::Approx(t.epoch / 4).epsilon(0.001));
  }
}

TEST_CASE("time monitor: numbers have a point in every locale") {
  const support::CommaLocale locale;
  const std::string out = printed([] {
    TimeMonitor monitor;
    play(monitor, 1, 1, [](long) {});
  });
  CHECK(std::count(out.begin(), out.end(), ',') == 1);  // between the two times
  CHECK(std::count(out.begin(), out.end(), '.') == 2);
}

TEST_CASE("time monitor: a resumed epoch is divided by the steps that ran") {
  const Times t = read(printed([] {
    TimeMonitor monitor;
    RunInfo run;
    run.cur_step_num = 98, run.steps_before = 0;
    monitor.epoch_begin(run);
    for (; run.cur_step_num < 100; ++run.cur_step_num) nap(0);
    monitor.epoch_end(run);
  }));
  CHECK(t.step == doctest::Approx(t.epoch / 2).epsilon(0.001));
}

TEST_CASE("time monitor: a stopped epoch is divided by the steps that ran") {
  const Times t = read(printed([] {
    TimeMonitor monitor;
    play(monitor, 1, 100, nap, 2);
  }));
  CHECK(t.step == doctest::Approx(t.epoch / 2).epsilon(0.001));
}
