// Work beside a training: its errors, and a system that makes no thread for it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

#include <tenon/train/file/background_writer.hpp>

#include "../../support/few_threads.hpp"

using tenon::detail::BackgroundWriter;

TEST_CASE("work is done, and its error comes with finish(), also without a thread for it") {
  for (const bool with_thread : {true, false}) {
    CAPTURE(with_thread);
    const support::FewThreads scope(with_thread ? 9 : 0);
    BackgroundWriter writer;
    CHECK_FALSE(writer.busy());
    std::thread::id who;
    writer.start([&] { who = std::this_thread::get_id(); });
    CHECK(writer.busy());
    writer.finish();
    CHECK_FALSE(writer.busy());
    CHECK((who == std::this_thread::get_id()) == !with_thread);
    writer.start([] { throw std::runtime_error("no space"); });
    CHECK_THROWS_AS(writer.finish(), std::runtime_error);
    CHECK_FALSE(writer.busy());
    CHECK_NOTHROW(writer.finish());
  }
}
