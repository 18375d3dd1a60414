// Calls of a step that become parts of one launch: only those that do not wait for each other, and with equal bits.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include <tenon/tenon.hpp>

#include "../../support/tensors.hpp"

#if defined(TENON_CUDA_EMULATOR)  // looks at works, and lets calls of CUDA fail
using namespace tenon;
using namespace tenon::kernel::cuda;

namespace {
constexpr int buffers = 12, most_floats = 700;

/// to = factor to + from.
template <int factor>
struct Step {
  struct Part {
    float* to;
    const float* from;
    long count;
  };
  static constexpr int threads = 64;
  static long blocks(const Part& part) { return blocks_for(part.count, threads); }
  TENON_DEVICE static void at(const Part& part, long i) { part.to[i] = factor * part.to[i] + part.from[i]; }
  __device__ static void block(const Part& part, long block) {
    if (const long i = block * threads + threadIdx.x; i < part.count) at(part, i);
  }
};
using Doubled = Step<2>;
/// The same as a kernel that is never a part.
struct Alone {
  static constexpr int threads = 64;
  static Step<-1>::Part part(const Arguments& a) { return {a.changed<float>(0), a.operand<float>(1), a.n}; }
  static long blocks(long n) { return blocks_for(n, threads); }
  __device__ static void block(const Arguments& a) { Step<-1>::block(part(a), blockIdx.x); }
};
template <int factor>
void run(const Arguments& a, long, long) {
  if constexpr (factor < 0) launch_blocks<Alone>(a);
  else launch_part<Step<factor>>({a.changed<float>(0), a.operand<float>(1), a.n});
}

/// Random calls on some buffers.
struct Calls {
  struct Call {
    void (*run)(const Arguments&, long, long);
    Arguments arguments;
    const std::int32_t* unless = nullptr;
    int factor, to, from;
  };
  std::vector<std::vector<float>> memory{buffers, std::vector<float>(most_floats)};
  std::vector<Call> calls;
  std::int32_t flag[2]{0, 1};

  Calls(unsigned seed, int count) {
    std::mt19937 random(seed);
    for (auto& buffer : memory)
      for (float& x : buffer) x = float(random() % 1000) / 64;
    constexpr void (*kinds[])(const Arguments&, long, long){run<2>, run<3>, run<-1>};
    for (int i = 0; i < count; ++i) {
      const int kind = int(random() % 8), which = kind < 4 ? 0 : kind < 7 ? 1 : 2;
      Call call{kinds[which],           {}, nullptr, which == 2 ? -1 : which + 2, int(random() % buffers),
                int(random() % buffers)};
      if (random() % 4 == 0) call.unless = &flag[random() % 2];
      call.arguments.n = 1 + long(random() % most_floats);
      call.arguments.buffer[1] = memory[std::size_t(call.to)].data();
      call.arguments.buffer[2] = memory[std::size_t(call.from)].data();
      if (call.to != call.from) calls.push_back(call);
    }
  }
  template <class F>
  void each_access(const Call& call, F f) const {
    f(call.arguments.buffer[1], call.arguments.n * long(sizeof(float)), true);
    f(call.arguments.buffer[2], call.arguments.n * long(sizeof(float)), false);
    if (call.unless) f(call.unless, long(sizeof(std::int32_t)), false);
  }
  Works works(const Order& order) const {
    return Works(order, calls, [&](int i) {
      SeenCall seen;
      run_with({.seen = &seen}, [&] { calls[std::size_t(i)].run(calls[std::size_t(i)].arguments, 0, 1); });
      return seen;
    });
  }
  /// All calls as a graph; how many launches it has.
  int replay(const Works& works) {
    const OwnedGraph graph = Recording().record(works.order(), works.count(), [&](int i, cudaStream_t stream, int) {
      const Work& work = works[i];
      const Call& first = calls[std::size_t(work.calls[0])];
      run_with({stream, first.unless}, [&] {
        if (work.start) work.start(work.parts.data(), long(work.calls.size()));
        else first.run(first.arguments, 0, 1);
      });
    });
    emulator::run_in_some_order(*graph);
    return int(graph->items.size());
  }
  void one_after_the_other() {
    for (const Call& call : calls)
      if (!call.unless || !*call.unless)
        for (long i = 0; i < call.arguments.n; ++i) {
          float& to = memory[std::size_t(call.to)][std::size_t(i)];
          to = float(call.factor) * to + memory[std::size_t(call.from)][std::size_t(i)];
        }
  }
};
}  // namespace

TEST_CASE("random calls: fewer launches, the results of one after the other") {
  long calls = 0, launches = 0, differs = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Calls expected(seed, 40), merged(seed, 40), wrong(seed, 40);
    expected.one_after_the_other();
    calls += long(merged.calls.size());
    launches += merged.replay(merged.works(order_of_calls(merged, merged.calls)));
    CHECK(merged.memory == expected.memory);
    wrong.replay(wrong.works(Order(int(wrong.calls.size()), [](int, int) { return false; })));
    differs += wrong.memory != expected.memory;
  }
  CHECK(launches < calls * 9 / 10);
  CHECK(differs > 50);  // a control: calls that wait for each other, merged
}

TEST_CASE("more parts than a launch has room for, and parts of no elements") {
  Calls all(1, 0);
  std::vector<float> target(1000), source(1000, 1.5f);
  constexpr long count = 1000;
  for (long i = 0; i < count; ++i) {
    Calls::Call call{run<2>, {}, nullptr, 2, 0, 0};
    call.arguments.n = i % 3 == 1 ? 0 : 1;
    call.arguments.buffer[1] = &target[std::size_t(i)], call.arguments.buffer[2] = &source[std::size_t(i)];
    all.calls.push_back(call);
  }
  constexpr long most = most_parts<Doubled>;
  CHECK(all.replay(all.works(order_of_calls(all, all.calls))) == (count + most - 1) / most);
  for (long i = 0; i < count; ++i) CHECK(target[std::size_t(i)] == (i % 3 == 1 ? 0.0f : 1.5f));
}

TEST_CASE("every call of CUDA fails once while a step is recorded: nothing leaks, and the next recording works") {
  Calls all(3, 40);
  const Works works = all.works(order_of_calls(all, all.calls));
  const long before = emulator::calls, alive = emulator::alive;
  all.replay(works);
  const long calls = emulator::calls - before;
  CHECK(emulator::alive == alive);
  long failed = 0;
  for (long after = 0; after < calls; ++after) {
    emulator::calls_until_failure = after;
    try {
      all.replay(works);
    } catch (const Error&) {
      ++failed;
    }
    emulator::calls_until_failure = -1;
    all.replay(works);
  }
  CHECK(failed > 40);
  // a stream, an event, or a graph that could not be given back, one each
  CHECK(emulator::alive - alive <= calls - failed);
}
#endif
