// Times the CPU kernels on one thread: `g++ -std=c++20 -O2 -march=native -Iinclude benchmarks/run/kernels.cpp`.
// Prints time, GFLOP/s and the share of the multiply-add peak that the same run measured. Arguments: words that a row
// must contain.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include <tenon/backend/cpu/conv/conv2d.hpp>
#include <tenon/backend/cpu/gemm/gemm.hpp>
#include <tenon/backend/cpu/pool/pool2d.hpp>
#include <tenon/core/random/philox.hpp>

using namespace tenon;
using kernel::Conv2dSizes;
using kernel::Gemm;

namespace {
/// Seconds of processor time: other programs on the machine do not count.
double now() { return double(std::clock()) / CLOCKS_PER_SEC; }

using Floats = std::vector<float>;
Floats numbers(long count) {
  Random random(7);
  Floats v(static_cast<std::size_t>(count));
  for (float& x : v) x = random.uniform(-1, 1);
  return v;
}

/// GFLOP/s of independent multiply-adds that stay in registers.
double measured_peak(int repeats) {
  using V = Simd<float>;
  constexpr int chains = 12, rounds = 1'000'000;
  double best = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    V sum[chains], a(0.999f), b(0.001f);
    for (V& s : sum) s = V(1.0f);
    const double start = now();
    for (int i = 0; i < rounds; ++i) {
      asm volatile("" : "+x"(a.lanes), "+x"(b.lanes));
#pragma GCC unroll 12
      for (int j = 0; j < chains; ++j) sum[j] = fmadd(sum[j], a, b);
    }
    const double seconds = now() - start;
    float total = 0;
    for (V& s : sum) total += s[0];
    if (total == 12345) std::puts("");
    const double rate = 2.0 * chains * V::width * rounds / seconds / 1e9;
    if (rate > best) best = rate;
  }
  return best;
}

struct Table {
  int count;
  char** words;

  /// Best of several rounds; returns microseconds.
  template <class Body>
  double row(const char* name, double flops, Body&& body) const {
    for (int i = 0; i < count; ++i)
      if (!std::strstr(name, words[i])) return 0;
    body();
    const double peak = measured_peak(3);  // next to the row: the clock of a shared machine wanders
    double start = now();
    body();
    const int calls = int(0.02 / (now() - start + 1e-9)) + 1;
    double best = 1e9;
    for (int round = 0; round < 9; ++round) {
      start = now();
      for (int i = 0; i < calls; ++i) body();
      const double seconds = (now() - start) / calls;
      if (seconds < best) best = seconds;
    }
    std::printf("%-44s %10.1f us", name, best * 1e6);
    if (flops > 0) std::printf(" %8.1f GFLOP/s %5.0f %% of peak", flops / best / 1e9, 100 * flops / best / 1e9 / peak);
    std::puts("");
    return best * 1e6;
  }
};

std::unique_ptr<char, decltype(&std::free)> scratch(std::size_t bytes) {
  return {static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), &std::free};
}

double product(const Table& table, const char* what, long m, long n, long k, bool transposed_a, bool transposed_b) {
  const Floats a = numbers(m * k), b = numbers(k * n);
  Floats c(static_cast<std::size_t>(m * n));
  const Gemm<float> g{m,
                      n,
                      k,
                      a.data(),
                      transposed_a ? 1 : k,
                      transposed_a ? m : 1,
                      b.data(),
                      transposed_b ? 1 : n,
                      transposed_b ? k : 1,
                      c.data(),
                      n};
  const auto workspace = scratch(kernel::gemm_workspace<float>(m, n, k));
  char name[80];
  std::snprintf(name, sizeof name, "%s %ld x %ld x %ld %s%s", what, m, n, k, transposed_a ? "At" : "A",
                transposed_b ? "Bt" : "B");
  return table.row(name, 2.0 * double(m) * double(n) * double(k),
                   [&] { kernel::gemm(g, 0, kernel::gemm_items(g), workspace.get(), [](long, long, long, long) {}); });
}

double dense(const Table& table, long batch, long in, long out) {
  return product(table, "dense forward", batch, out, in, false, true) +
         product(table, "dense dx", batch, in, out, false, false) +
         product(table, "dense dw", out, in, batch, true, false);
}

double convolution(const Table& table, const char* what, const Conv2dSizes& s, bool with_input) {
  const Floats x = numbers(s.n * s.c * s.h * s.w), weight = numbers(s.o * s.group_inputs() * s.taps()),
               dy = numbers(s.n * s.o * s.oh * s.ow);
  Floats y(dy.size()), dx(x.size()), dw(weight.size());
  const double flops = 2.0 * double(dy.size()) * double(s.group_inputs() * s.taps());
  char name[80];
  std::snprintf(name, sizeof name, "%s forward", what);
  auto workspace = scratch(kernel::conv2d_workspace<float>(s));
  double sum = table.row(name, flops, [&] {
    kernel::conv2d(s, x.data(), weight.data(), y.data(), 0, kernel::conv2d_items(s), workspace.get(),
                   [](long, long, long) {});
  });
  std::snprintf(name, sizeof name, "%s dx", what);
  workspace = scratch(kernel::conv2d_workspace<float>(s.for_input()));
  if (with_input)
    sum += table.row(name, flops, [&] {
      kernel::conv2d(s.for_input(), dy.data(), weight.data(), dx.data(), 0, kernel::conv2d_items(s.for_input()),
                     workspace.get(), [](long, long, long) {});
    });
  std::snprintf(name, sizeof name, "%s dw", what);
  workspace = scratch(kernel::conv2d_backward_weight_workspace<float>(s));
  return sum + table.row(name, flops, [&] {
    kernel::conv2d_backward_weight(s, x.data(), dy.data(), dw.data(), 0, kernel::conv2d_backward_weight_items(s),
                                   workspace.get());
  });
}

double pool(const Table& table, const char* what, const kernel::Pool2dSizes& s) {
  const Floats x = numbers(s.planes * s.h * s.w), dy = numbers(s.planes * s.oh * s.ow);
  Floats y(dy.size()), dx(x.size());
  std::vector<std::uint8_t> places(dy.size());
  char name[80];
  std::snprintf(name, sizeof name, "%s max", what);
  double sum = table.row(name, 0, [&] { kernel::max_pool2d(s, x.data(), y.data(), kernel::no_places, 0, s.planes); });
  std::snprintf(name, sizeof name, "%s max with places", what);
  sum += table.row(name, 0, [&] { kernel::max_pool2d(s, x.data(), y.data(), places.data(), 0, s.planes); });
  std::snprintf(name, sizeof name, "%s max backward", what);
  return sum + table.row(name, 0, [&] {
    kernel::max_pool2d_backward(s, places.data(), dy.data(), dx.data(), 0, s.planes, nullptr);
  });
}

/// Stride and "same" padding for an odd kernel.
Conv2dSizes same(long n, long c, long size, long o, int k, int stride, int groups = 1) {
  const long out = (size + stride - 1) / stride;
  return {n, c, size, size, o, out, out, k, k, stride, stride, k / 2, k / 2, 1, 1, groups};
}
}  // namespace

int main(int count, char** words) {
  const Table table{count - 1, words + 1};
  std::printf("peak %.1f GFLOP/s, %d bits\n", measured_peak(9), simd_bytes * 8);
  for (long n : {64, 128, 256, 512, 1024})
    for (int form = 0; form < (n > 128 ? 4 : 1); ++form) product(table, "sgemm", n, n, n, form & 1, form >> 1);
  product(table, "matrix-vector", 1, 512, 784, false, true);
  product(table, "matrix-vector", 1, 512, 784, false, false);
  product(table, "matrix-vector", 512, 1, 784, false, false);
  product(table, "narrow", 1024, 10, 1024, false, true);
  double step = convolution(table, "LeNet conv1 n=32", same(32, 1, 28, 6, 5, 1), false);
  step += convolution(table, "LeNet conv2 n=32", {32, 6, 14, 14, 16, 10, 10, 5, 5, 1, 1, 0, 0, 1, 1, 1}, true);
  step += dense(table, 32, 400, 120) + dense(table, 32, 120, 84) + dense(table, 32, 84, 10);
  std::printf("%-44s %10.1f us\n", "LeNet products of one step, n=32", step);
  pool(table, "LeNet pool1 n=32", {32 * 6, 28, 28, 14, 14, 2, 2, 2, 2, 0, 0});
  pool(table, "LeNet pool2 n=32", {32 * 16, 10, 10, 5, 5, 2, 2, 2, 2, 0, 0});
  pool(table, "ResNet pool n=1", {64, 112, 112, 56, 56, 3, 3, 2, 2, 1, 1});
  convolution(table, "ResNet 3->64 7x7/2 at 224 n=1", same(1, 3, 224, 64, 7, 2), true);
  convolution(table, "ResNet 64->64 3x3 at 56 n=1", same(1, 64, 56, 64, 3, 1), true);
  convolution(table, "ResNet 64->128 3x3/2 at 56 n=1", same(1, 64, 56, 128, 3, 2), true);
  convolution(table, "ResNet 256->256 3x3 at 14 n=2", same(2, 256, 14, 256, 3, 1), true);
  convolution(table, "ResNet 64->256 1x1 at 56 n=1", same(1, 64, 56, 256, 1, 1), true);
  convolution(table, "depthwise 64 3x3 at 56 n=1", same(1, 64, 56, 64, 3, 1, 64), true);
  std::printf("peak %.1f GFLOP/s at the end\n", measured_peak(9));
}
