// What benchmarks/compare.py asks of a program, one line each on stdin and one answer each on stdout.
//
//   check WORK VARIANT                 the numbers that all sides must agree on, computed from the initial state
//   isa - -                            the instruction set that it uses, as one line
//   facts WORK VARIANT                 what is no time: arena bytes and heap allocations of a call, or nothing
//   time WORK VARIANT BLOCKS CALLS     the median and the least time of a call over so many blocks of calls, in
//   microseconds
//
// Between two answers a program does nothing: it waits for its next line.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#if defined(__CUDACC__) && __has_include(<cublasLt.h>)
#include <tenon/backend/cuda/fast.hpp>
#endif
#include <tenon/debug/profiler/peak.hpp>
#include <tenon/train/step/clock.hpp>

namespace benchmark {

/// Something that is checked and timed.
struct Work {
  std::function<std::vector<double>()> check;
  std::function<double(long)> seconds;  // of so many calls
  std::function<std::vector<double>()> facts = [] { return std::vector<double>{}; };
};

/// Makes a work of a name and a variant, such as "lenet/train/32" and "graph".
using Maker = std::function<Work(const std::string& name, const std::string& variant)>;

/// The compiler must assume that all memory is read and written here: inputs are unknown after it, outputs are needed
/// before it.
inline void hide(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

/// Seconds of so many calls of f, which returns the address of what it computed.
template <class F>
double seconds_of(long calls, F&& f) {
  const double start = tenon::detail::now();
  for (long i = 0; i < calls; ++i) hide(f());
  return tenon::detail::now() - start;
}

/// Waits for another target than the CPU, where that is the device.
inline void wait_for_device() {
#if defined(TENON_TARGET)
  if (const tenon::TargetId target = tenon::get_context().target(); target != tenon::TargetId::cpu)
    tenon::with_target(target, []<class Target>(std::type_identity<Target>) { Target::wait(); });
#endif
}
/// Whether calls return before they are done.
inline bool is_asynchronous() { return tenon::get_context().target() != tenon::TargetId::cpu; }

/// Numbers in [0, 1) that any language can repeat; `first` begins at another place of the sequence.
inline std::vector<float> numbers(std::size_t count, std::size_t first = 0) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(std::uint32_t(first + i) * 2654435761u >> 16) / 65536.0f;
  return values;
}

/// Whole number at the end of "lenet/train/32".
inline long last_number(const std::string& name) { return std::atol(name.substr(name.rfind('/') + 1).c_str()); }

/// `isa` is asked for, not computed before: what a library reports.
inline void serve(const Maker& make, const std::function<std::string()>& isa = tenon::debug::detail::instruction_set) {
  std::map<std::string, Work> works;
  std::printf("ready\n");
  std::fflush(stdout);
  char order[16], name[128], variant[32];
  while (std::scanf("%15s %127s %31s", order, name, variant) == 3) {
    if (order == std::string("isa")) {
      std::printf("%s\n", isa().c_str());
      std::fflush(stdout);
      continue;
    }
    const auto key = std::string(name) + ' ' + variant;
    if (!works.contains(key)) works.emplace(key, make(name, variant));
    const Work& work = works.at(key);
    if (const std::string asked = order; asked == "check" || asked == "facts") {
      for (const double value : asked == "check" ? work.check() : work.facts()) std::printf("%.17g ", value);
    } else {
      long blocks = 1, calls = 1;
      if (std::scanf("%ld %ld", &blocks, &calls) != 2) break;
      std::vector<double> times;
      for (long b = 0; b < blocks; ++b) times.push_back(work.seconds(calls) / double(calls) * 1e6);
      std::sort(times.begin(), times.end());
      std::printf("%.6g %.6g", times[times.size() / 2], times[0]);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

/// main of a program: `PROGRAM THREADS FOLDER`, where the folder takes the files that the other sides read. The
/// variable BENCHMARK_DEVICE is a device_target; BENCHMARK_MATH=tf32 allows tensor cores.
template <class Set>
int main_of(int argc, char** argv, Set&& set) try {
  if (argc != 3) return std::fprintf(stderr, "usage: %s THREADS FOLDER\n", argv[0]), 2;
  if (const char* const device = std::getenv("BENCHMARK_DEVICE")) tenon::set_context({.device_target = device});
  if (const char* const math = std::getenv("BENCHMARK_MATH"); math && std::string(math) == "tf32")
    tenon::set_context({.math = tenon::Math::tf32});
  serve(set(std::atoi(argv[1]), std::string(argv[2])));
  return 0;
} catch (const tenon::Error& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}

}  // namespace benchmark
