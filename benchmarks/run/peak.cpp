// The multiply-add peak of one core, for benchmarks/compare.py: independent sums that stay in registers.
// `check` answers the floating-point operations of one call.
#include <tenon/core/simd.hpp>

#include "serve.hpp"

using V = tenon::Simd<float>;
constexpr int chains = 12, rounds = 20'000;  // twelve sums cover the latency of two multiply-add units

double seconds(long calls) {
  V sum[chains], a(0.999f), b(0.001f);
  for (V& s : sum) s = V(1.0f);
  const double start = tenon::detail::now();
  for (long i = 0; i < calls * rounds; ++i) {
    asm volatile("" : "+x"(a.lanes), "+x"(b.lanes));
#pragma GCC unroll 12
    for (int j = 0; j < chains; ++j) sum[j] = fmadd(sum[j], a, b);
  }
  const double end = tenon::detail::now();
  benchmark::hide(sum);
  return end - start;
}

int main() {
  benchmark::serve([](const std::string&, const std::string&) {
    return benchmark::Work{[] { return std::vector<double>{2.0 * chains * V::width * rounds}; }, seconds};
  });
}
