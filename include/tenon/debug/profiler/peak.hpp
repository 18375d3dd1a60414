// PeakRates: the measured peak rates of one core of this machine.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>

#include <unistd.h>

#include <tenon/core/simd/simd.hpp>
#include <tenon/debug/profiler/clock.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A cache, or memory.
struct MemoryLevel {
  const char* name = "";
  double bytes = 0;  // how much it holds
  double rate = 0;   // bytes per second that a core reads of it, or reads and writes, whichever is more
};

/// Of one core, with the instruction set that this program was compiled for. float64 has half the operations.
struct PeakRates {
  const char* instruction_set = "";
  double flops = 0;  // floating-point operations of float32 per second: multiply-adds count two
  MemoryLevel level[4];

  /// The fastest level that holds this many bytes.
  const MemoryLevel& level_for(double bytes) const {
    int i = 0;
    while (i < 3 && bytes > level[i].bytes) ++i;
    return level[i];
  }
};

namespace detail {

using PeakVector = Simd<float>;

/// The compiler must have computed it, and cannot know it afterwards.
[[gnu::always_inline]] inline void keep_in_register(PeakVector& v) {
#if defined(__CUDACC__)
  asm volatile("" : "+m"(v.lanes));
#elif defined(__x86_64__)
  asm volatile("" : "+v"(v.lanes));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(v.lanes));
#else
  asm volatile("" : "+m"(v.lanes));
#endif
}

/// The shortest of some measurements of 1 ms and more, as events per second: f(rounds) makes `events` a round.
template <class F>
double best_rate(double events, F f) {
  constexpr Ticks long_enough = 1'000'000;  // nanoseconds
  long rounds = 1;
  const auto took = [&] {
    const Ticks begin = nanoseconds();
    f(rounds);
    return std::max<Ticks>(nanoseconds() - begin, 1);
  };
  Ticks least = took();
  for (; least < long_enough && rounds < (1L << 40); least = took()) rounds *= 2;
  const Ticks end = nanoseconds() + 10 * long_enough;
  constexpr int repeats = 7;
  for (int i = 0; i < repeats && nanoseconds() < end; ++i) least = std::min(least, took());
  return events * double(rounds) / (double(least) * 1e-9);
}

/// This many sums that depend on themselves alone cover the latency of two multiply-add units.
inline constexpr int peak_sums = 12;
[[gnu::noinline]] inline void add_products(long rounds) {
  PeakVector sum[peak_sums], a(0.999f), b(0.001f);
  for (PeakVector& s : sum) s = PeakVector(1.0f);
  for (long i = 0; i < rounds; ++i) {
    keep_in_register(a);
#pragma GCC unroll 12
    for (int j = 0; j < peak_sums; ++j) sum[j] = fmadd(sum[j], a, b);
  }
  for (PeakVector& s : sum) keep_in_register(s);
}
[[gnu::noinline]] inline void read_all(const float* from, std::size_t count, long rounds) {
  constexpr std::size_t sums = 8, width = std::size_t(PeakVector::width);
  PeakVector sum[sums];
  for (PeakVector& s : sum) s = PeakVector(0.0f);
  for (long i = 0; i < rounds; ++i)
    for (std::size_t at = 0; at + sums * width <= count; at += sums * width)
#pragma GCC unroll 8
      for (std::size_t j = 0; j < sums; ++j) sum[j] = sum[j] + PeakVector::load(from + at + j * width);
  for (PeakVector& s : sum) keep_in_register(s);
}
[[gnu::noinline]] inline void copy_all(const float* from, float* to, std::size_t count, long rounds) {
  constexpr std::size_t width = std::size_t(PeakVector::width);
  for (long i = 0; i < rounds; ++i)
    for (std::size_t at = 0; at + width <= count; at += width) {
      PeakVector moved = PeakVector::load(from + at);
      keep_in_register(moved);
      moved.store(to + at);
    }
}
inline double bandwidth(float* memory, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float), half = count / 2;
  const double reads = best_rate(double(bytes), [&](long rounds) { read_all(memory, count, rounds); });
  const double copies = best_rate(double(bytes), [&](long rounds) { copy_all(memory, memory + half, half, rounds); });
  return std::max(reads, copies);
}
inline double cache_bytes(int level, double usual) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  constexpr int names[]{_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  if (const long bytes = ::sysconf(names[level]); bytes > 0) return double(bytes);
#endif
  return usual;
}

/// What this program was compiled for.
constexpr const char* instruction_set() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__FMA__)
  return "AVX2 with FMA";
#elif defined(__AVX__)
  return "AVX";
#elif defined(__x86_64__)
  return "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "no vectors";
#endif
}
inline PeakRates measure_peak() {
  PeakRates peak;
  peak.instruction_set = instruction_set();
  peak.flops = best_rate(2. * peak_sums * PeakVector::width, [](long rounds) { add_products(rounds); });
  constexpr double kib = 1024, mib = kib * kib, most = 128 * mib;
  peak.level[0] = {"L1", cache_bytes(0, 32 * kib), 0};
  peak.level[1] = {"L2", std::max(cache_bytes(1, mib), 2 * peak.level[0].bytes), 0};
  peak.level[2] = {"L3", std::max(cache_bytes(2, 8 * mib), 2 * peak.level[1].bytes), 0};
  peak.level[3] = {"memory", 0, 0};
  const auto probe = [&](int level) {
    // half of what it holds: others have some of it, too
    const double bytes = level < 3 ? peak.level[level].bytes / 2 : 4 * peak.level[2].bytes;
    return std::size_t(std::min(bytes, most)) / 4096 * 4096;
  };
  struct alignas(64) Line {
    float number[16];
  };
  const auto memory = std::make_unique<Line[]>(probe(3) / sizeof(Line));
  for (int level = 0; level < 4; ++level) peak.level[level].rate = bandwidth(memory[0].number, probe(level));
  return peak;
}

}  // namespace detail

/// Measured at the first call, in less than half a second; on a busy machine the values are too low.
inline const PeakRates& measured_peak() {
  static const PeakRates peak = detail::measure_peak();
  return peak;
}

}  // namespace tenon::debug
