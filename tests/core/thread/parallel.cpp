// The thread pool: every item once, nested and concurrent callers, errors, after fork, and no work while idle.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/core/thread/parallel.hpp>

using namespace tenon;

namespace {
struct Threads {
  int before = ThreadPool::instance().threads();
  explicit Threads(int count) { ThreadPool::instance().set_threads(count); }
  ~Threads() { ThreadPool::instance().set_threads(before); }
};
// Items that were not visited exactly once.
long miscounted(long items, long grain) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(items));
  parallel_for(items, grain, [&](long begin, long end) {
    for (long i = begin; i < end; ++i) visits[std::size_t(i)].fetch_add(1, std::memory_order_relaxed);
  });
  long wrong = 0;
  for (const auto& v : visits) wrong += v != 1;
  return wrong;
}
double cpu_seconds() {
  std::timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
}  // namespace

TEST_CASE("every item exactly once, for any number of items, threads, and any grain") {
  for (int threads : {1, 2, 3, 8}) {
    const Threads scope(threads);
    for (long items : {0, 1, 2, 3, 7, 8, 9, 100, 1001})
      for (long grain : {0, 1, 3, 1000}) CHECK(miscounted(items, grain) == 0);
  }
}

TEST_CASE("no range is below the grain, and none is empty") {
  const Threads scope(4);
  std::atomic<int> calls{0};
  parallel_for(10, 4, [&](long begin, long end) {
    ++calls;
    CHECK(end - begin >= 4);
  });
  CHECK(calls == 2);
  parallel_for(0, 1, [&](long, long) { FAIL("there is nothing to do"); });
}

TEST_CASE("more than one thread takes part") {
  const Threads scope(2);
  bool other = false;
  for (int attempt = 0; attempt < 1000 && !other; ++attempt) {
    std::atomic<int> present{0};
    std::atomic<bool> both{false};
    parallel_for(2, 1, [&](long, long) {
      ++present;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (present < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      if (present == 2) both = true;
    });
    other = both;
  }
  CHECK(other);
}

#if defined(__linux__)
namespace {
cpu_set_t allowed() {
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  return set;
}
cpu_set_t only(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return set;
}
void allow(const cpu_set_t& set) { REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0); }
}  // namespace

TEST_CASE("a worker leaves the caller's processor, and stays free to use all that it may use") {
  const cpu_set_t before = allowed();
  if (CPU_COUNT(&before) < 2) {
    MESSAGE("SKIPPED: there is one processor only, no worker can leave it");
    return;
  }
  const Threads scope(2);
  CHECK(miscounted(2, 1) == 0);  // the worker may use what its creator might
  const int here = sched_getcpu();
  allow(only(here));
  int elsewhere = 0, same = 0;
  constexpr int tries = 200;
  for (int attempt = 0; attempt < tries; ++attempt) {
    parallel_for(2, 1, [&](long begin, long) {
      if (begin == 0) return;
      allow(only(here));
      allow(before);
    });
    parallel_for(2, 1, [&](long begin, long) {
      if (begin == 0) return;
      const cpu_set_t now = allowed();
      elsewhere += sched_getcpu() != here;
      same += CPU_EQUAL(&now, &before);
    });
  }
  allow(before);
  CHECK(elsewhere > tries / 2);
  CHECK(same == tries);
}

TEST_CASE("one processor for all threads: a worker stays there") {
  const cpu_set_t before = allowed();
  const Threads scope(2);
  CHECK(miscounted(2, 1) == 0);
  const cpu_set_t one = only(sched_getcpu());
  allow(one);
  bool stays = false;
  parallel_for(2, 1, [&](long begin, long) {
    if (begin) allow(one);
  });
  parallel_for(2, 1, [&](long begin, long) {
    if (begin == 0) return;
    const cpu_set_t now = allowed();
    stays = CPU_EQUAL(&now, &one);
    allow(before);
  });
  allow(before);
  CHECK(stays);
}
#endif

// The thread sanitizer stretches the pauses between jobs to milliseconds.
#if defined(__SANITIZE_THREAD__)
constexpr int jobs = 500;
#else
constexpr int jobs = 20000;
#endif

TEST_CASE("thousands of short jobs") {
  const Threads scope(3);
  long sum = 0;
  std::atomic<long> total{0};
  for (int job = 0; job < jobs; ++job) {
    parallel_for(3, 1, [&](long begin, long end) { total.fetch_add(job * (end - begin), std::memory_order_relaxed); });
    sum += 3L * job;
  }
  CHECK(total == sum);
}

TEST_CASE("a job may call the pool again") {
  const Threads scope(4);
  std::atomic<long> total{0};
  parallel_for(8, 1, [&](long begin, long end) {
    for (long i = begin; i < end; ++i) parallel_for(10, 1, [&](long b, long e) { total += e - b; });
  });
  CHECK(total == 80);
}

TEST_CASE("several users at the same time") {
  const Threads scope(3);
  std::vector<std::thread> users;
  std::atomic<long> wrong{0};
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&] {
      for (int job = 0; job < 200; ++job) wrong += miscounted(50, 1);
    });
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("an error in the caller's share waits for the workers and leaves the pool usable") {
  const Threads scope(3);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> finished{0};
  const auto job = [&](long, long) {
    if (std::this_thread::get_id() == caller) throw std::runtime_error("mine");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++finished;
  };
  CHECK_THROWS_WITH(parallel_for(3, 1, job), "mine");
  CHECK(finished == 2);
  CHECK(miscounted(100, 1) == 0);
}

TEST_CASE("an error in a worker's share reaches the caller after all have ended, and leaves the pool usable") {
  const Threads scope(3);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> finished{0};
  const auto job = [&](long begin, long) {
    if (std::this_thread::get_id() != caller) throw std::runtime_error("a worker's " + std::to_string(begin / 3 + 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++finished;
  };
  for (int again = 0; again < 20; ++again) {
    CHECK_THROWS_WITH_AS(parallel_for(9, 1, job), doctest::Contains("a worker's "), std::runtime_error);
    CHECK(finished == again + 1);
    CHECK(miscounted(100, 1) == 0);
  }
}

TEST_CASE("denormals are flushed on workers as well") {
  const Threads scope(2);
  const FlushDenormals flush;
  std::atomic<int> kept{0};
  parallel_for(2, 1, [&](long, long) {
    volatile float small = 1e-30f, product = small * 1e-10f;
    if (product != 0) ++kept;
  });
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(kept == 0);
#endif
}

// A sanitizer does not follow a fork of a program with threads.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a forked child has a pool of its own, whatever the old workers were doing") {
  const Threads scope(3);
  for (int round = 0; round < 20; ++round) {
    CHECK(miscounted(50, 1) == 0);
    if (round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(3));  // workers asleep
    const pid_t child = fork();
    if (child == 0) {
      alarm(600);
      bool good = ThreadPool::instance().threads() == 3;
      for (int job = 0; job < 20; ++job) {
        good = good && miscounted(50, 1) == 0;
        if (job == 10) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
      _exit(good ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}

TEST_CASE("an idle pool uses no processor time") {
  const Threads scope(4);
  CHECK(miscounted(100, 1) == 0);
  double used = 1;
  // The workers look for work a while before they sleep, on a busy machine a long one.
  for (int tries = 0; tries < 50 && used >= 0.01; ++tries) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    used = cpu_seconds() - before;
  }
  CHECK(used < 0.01);
}
#endif
