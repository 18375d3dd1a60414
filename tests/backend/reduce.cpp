// Reductions over every set of axes: exact sums of integers, and the order of additions that the page promises.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <tenon/ops/reduce_sum.hpp>

#include "../support/sum_order.hpp"
#include "../support/tensors.hpp"

using namespace tenon;
using support::long_sum;
using support::random_tensor;

namespace {

// The sum of one result, written from the description of the order: elements in row-major order, in chains of 32; where
// the last axis is reduced, the i-th element of each contiguous run goes to lane i mod 16, whose chains have 8 rows of
// lanes, and lanes are added in a tree.
float promised_sum(const std::vector<float>& elements, long run) {
  if (run == 0) return long_sum(elements, 32);  // the last axis is kept
  std::vector<float> of_lane[16];
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (long(i) % run % 16 == 0)
      for (auto& terms : of_lane) terms.push_back(0);
    of_lane[long(i) % run % 16].back() = elements[i];
  }
  float lane[16];
  for (int i = 0; i < 16; ++i) lane[i] = long_sum(of_lane[i], 8);
  for (int half = 8; half; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

// The kernel `straight`, if there is one, is the same as a part of straight code. No template, of which 200 would take
// long to compile.
[[gnu::noinline]] void check_kernel(TensorType in, int mask, long n, const float* x, long kept,
                                    const KernelEntry& kernel, void (*straight)(const Arguments&, long, long)) {
  std::vector<std::vector<float>> elements(std::size_t(kept ? kept : 1));
  for (long i = 0; i < in.count(n); ++i) {
    long at = 0, rest = i, stride = 1;
    for (int axis = in.rank - 1; axis >= 0; --axis) {
      const long here = rest % in.size(axis, n);
      rest /= in.size(axis, n);
      if (!(mask >> axis & 1)) at += here * stride, stride *= in.size(axis, n);
    }
    elements[std::size_t(at)].push_back(x[i]);
  }
  long run = in.rank && mask >> (in.rank ? in.rank - 1 : 0) & 1 ? 1 : 0;
  for (int axis = in.rank - 1; axis >= 0 && mask >> axis & 1; --axis) run *= in.size(axis, n);

  std::vector<float> result(std::size_t(kept) + 1, 77);
  Arguments a;
  a.n = n;
  a.buffer[0] = result.data();
  a.buffer[1] = const_cast<float*>(x);
  const long items = kernel.work(n).items;
  for (long begin = 0, step = 1; begin < items; begin += step, step = step * 2 + 1)
    kernel.run(a, begin, begin + step < items ? begin + step : items);
  for (long i = 0; i < kept; ++i) {
    CAPTURE(mask);
    CAPTURE(n);
    CAPTURE(i);
    REQUIRE(result[std::size_t(i)] == promised_sum(elements[std::size_t(i)], run));
  }
  CHECK(result.back() == 77);
  if (!straight) return;
  std::vector<float> alone(result.size(), 77);
  a.buffer[0] = alone.data();
  straight(a, 0, items);
  CHECK(alone == result);
}

template <class S, int mask>
void check_mask(long n, double low, double high) {
  constexpr ops::ReduceAxes axes{mask, 0, 0};
  using Call = tenon::detail::Inference<ops::ReduceSum, axes, typename tenon::detail::KeyFor<Tensor<float, S>>::type>;
  if constexpr (Call::ok) {
    const auto x = random_tensor<float, S>(5, low, high, n);
    check_kernel(S::dims, mask, n, x.data(), Call::result_type.count(n), kernel_entry<CallOf<Call>>,
                 n == 1 ? &Kernel<Cpu, ops::ReduceSum>::run<UnrolledCall<CallOf<Call>>> : nullptr);
  }
}
template <class S, int... masks>
void check_all(std::integer_sequence<int, masks...>) {
  for (long n : {1, 3})
    if (S::dims.batched() || n == 1) {
      (check_mask<S, masks>(n, -8, 9), ...);
      (check_mask<S, masks>(n, -1e3, 1e3), ...);
    }
}
template <class S>
void check() {
  check_all<S>(std::make_integer_sequence<int, 1 << S::rank>{});
}
}  // namespace

TEST_CASE("every set of axes of every kind of shape") {
  check<Shape<>>();
  check<Shape<1>>();
  check<Shape<1300>>();
  check<Shape<3, 70>>();
  check<Shape<70, 3>>();
  check<Shape<dyn, 5>>();
  check<Shape<dyn, 3, 4>>();
  check<Shape<2, 70, 1>>();
  check<Shape<dyn, 2, 5, 33>>();
  check<Shape<2, 3, 2, 130>>();
  check<Shape<37, 45, 3>>();  // rows and columns of few elements, many at once
  check<Shape<37, 77, 7>>();
  check<Shape<33, 3, 16>>();
  check<Shape<50, 2>>();
  check<Shape<35, 4>>();
  check<Shape<101, 11>>();
  check<Shape<35, 40>>();
  check<Shape<6, 13, 25>>();  // blocks filled up with neighbours
  check<Shape<9, 700>>();
}

TEST_CASE("reductions of so few elements that they are straight code") {
  check<Shape<2>>();
  check<Shape<7>>();
  check<Shape<16>>();
  check<Shape<5, 3>>();
  check<Shape<2, 1, 4, 2>>();
  check<Shape<dyn, 17>>();
  check<Shape<dyn, 3, 20>>();
  check<Shape<dyn, 2, 2, 16>>();
}

TEST_CASE("16-bit floats add up in float, integers in 64 bits") {
  const auto ones = Tensor<float16, Shape<5000>>::full(float16(1));
  CHECK(float(reduce_sum(ones).item()) == 5000);  // in float16 itself the sum stops at 2048
  const auto bytes = Tensor<std::int8_t, Shape<3>>::full(100);
  CHECK(int(reduce_sum(bytes).item()) == static_cast<std::int8_t>(300));
}

TEST_CASE("a million equal numbers keep their digits, in lanes and side by side") {
  const auto tenths = Tensor<float, Shape<1000000>>::full(0.1f);
  CHECK(std::fabs(double(reduce_sum(tenths).item()) / 1e6 - double(0.1f)) < 1e-8);
  const auto columns = reduce_sum<0>(ops::reshape<Shape<100000, 10>>(tenths));
  for (const float sum : columns.values()) CHECK(std::fabs(double(sum) / 1e5 - double(0.1f)) < 1e-7);
}
