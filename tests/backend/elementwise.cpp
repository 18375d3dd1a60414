// Broadcasting of the element-wise loop, against index arithmetic written out.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <tuple>
#include <vector>

#include <tenon/ops/add.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/elementwise.hpp>

using namespace tenon;

namespace {

// a + 3 b, and a + 3 b - 5 c: no two operands can be exchanged.
struct Two : ops::Elementwise<Two, "TestTwo"> {
  static constexpr None derivative{};
  template <class V>
  static constexpr V eval(V a, V b) {
    return a + V(3) * b;
  }
};
struct Three : ops::Elementwise<Three, "TestThree"> {
  static constexpr None derivative{};
  template <class V>
  static constexpr V eval(V a, V b, V c) {
    return a + V(3) * b - V(5) * c;
  }
};

// Element of t at the place `index` of the result, right-aligned; extents of 1 repeat.
template <class T, class S>
double at(const Tensor<T, S>& t, const TensorType& result, long index, long n) {
  long offset = 0, stride = 1;
  for (int axis = result.rank - 1; axis >= 0; --axis) {
    const long here = index % result.size(axis, n);
    index /= result.size(axis, n);
    const int own = axis - (result.rank - S::rank);
    if (own < 0) continue;
    const long extent = Tensor<T, S>::dims.size(own, n);
    if (Tensor<T, S>::dims.extent[own] != 1) offset += here * stride;
    stride *= extent;
  }
  return double(t.values()[std::size_t(offset)]);
}

// Small whole numbers: their sums are exact in every dtype.
template <class T, class S>
Tensor<T, S> whole_numbers(std::uint64_t seed, long n) {
  auto t = Tensor<T, S>::empty(n);
  Random random(seed);
  for (T& element : t.values()) element = static_cast<T>(static_cast<float>(random.below(9)));
  return t;
}

// Calls the kernel on several ranges of items, as threads do.
template <class Op, class T, class... S>
void check_batch(long n) {
  using Call = tenon::detail::Inference<Op, NoConfig{}, typename tenon::detail::KeyFor<Tensor<T, S>>::type...>;
  static_assert(Call::ok);
  constexpr TensorType type = Call::result_type;
  const std::tuple<Tensor<T, S>...> operands{whole_numbers<T, S>(std::uint64_t(17 + S::rank + S::dims.count(1)), n)...};
  std::vector<T> result(std::size_t(type.count(n)) + 1, T(77));
  Arguments a;
  a.n = n;
  a.buffer[0] = result.data();
  std::apply([&, k = 1](const auto&... x) mutable { ((a.buffer[k++] = const_cast<T*>(x.data())), ...); }, operands);
  const KernelEntry& kernel = kernel_entry<CallOf<Call>>;
  const long items = kernel.work(n).items;
  for (long begin = 0, step = 1; begin < items; begin += step, step = step * 2 + 1)
    kernel.run(a, begin, begin + step < items ? begin + step : items);
  for (long i = 0; i < type.count(n); ++i) {
    const double factor[]{1, 3, -5};
    double expected = 0;
    int k = 0;
    std::apply([&](const auto&... x) { ((expected += factor[k++] * at(x, type, i, n)), ...); }, operands);
    CAPTURE(i);
    CAPTURE(n);
    REQUIRE(double(result[std::size_t(i)]) == expected);
  }
  CHECK(double(result.back()) == 77);
}
template <class Op, class T, class... S>
void check() {
  const bool batched = (S::dims.batched() || ...);
  for (long n : {1, 3, 0})
    if (batched || n == 1) check_batch<Op, T, S...>(n);
}
}  // namespace

TEST_CASE("two operands of every kind of shape") {
  check<Two, float, Shape<>, Shape<>>();
  check<Two, float, Shape<7>, Shape<>>();
  check<Two, float, Shape<>, Shape<2, 3>>();
  check<Two, float, Shape<1>, Shape<4>>();
  check<Two, float, Shape<1, 1>, Shape<1>>();
  check<Two, float, Shape<5, 1>, Shape<1, 6>>();
  check<Two, float, Shape<2, 3, 4>, Shape<3, 4>>();
  check<Two, float, Shape<2, 3, 4>, Shape<3, 1>>();
  check<Two, float, Shape<2, 1, 4>, Shape<2, 3, 1>>();
  check<Two, float, Shape<1, 3, 1, 5>, Shape<2, 1, 4, 1>>();
  check<Two, float, Shape<2, 1, 2, 1, 2, 1>, Shape<1, 2, 1, 2, 1, 2>>();
}

TEST_CASE("a dynamic leading axis") {
  check<Two, float, Shape<dyn>, Shape<dyn>>();
  check<Two, float, Shape<dyn>, Shape<>>();
  check<Two, float, Shape<dyn, 6>, Shape<6>>();
  check<Two, float, Shape<dyn, 6>, Shape<dyn, 1>>();
  check<Two, float, Shape<dyn, 1>, Shape<1, 6>>();
  check<Two, float, Shape<dyn, 3, 4, 4>, Shape<3, 1, 1>>();
  check<Two, float, Shape<dyn, 3, 4, 4>, Shape<dyn, 3, 1, 1>>();
  check<Two, float, Shape<dyn, 1, 4>, Shape<3, 1>>();
  check<Two, float, Shape<times<2>, 5>, Shape<5>>();
  check<Two, float, Shape<times<2>, 1>, Shape<times<2>, 5>>();
}

TEST_CASE("three operands, and other dtypes") {
  check<Three, float, Shape<dyn, 3, 4>, Shape<4>, Shape<3, 1>>();
  check<Three, float, Shape<>, Shape<dyn, 1>, Shape<5>>();
  check<Three, double, Shape<2, 3>, Shape<3>, Shape<2, 1>>();
  check<Three, std::int32_t, Shape<dyn, 3>, Shape<3>, Shape<>>();
  check<Two, std::int64_t, Shape<dyn, 3>, Shape<3>>();
  check<Two, float16, Shape<dyn, 3>, Shape<3>>();
  check<Two, bfloat16, Shape<dyn, 3>, Shape<dyn, 1>>();
}

namespace {
template <class Half, int length>
void check_half(bool flat) {
  Tensor<Half, Shape<length>> a = Tensor<Half, Shape<length>>::empty(1), b = Tensor<Half, Shape<length>>::empty(1);
  for (int i = 0; i < length; ++i)
    a.data()[i] = Half(0.37f * float(i) - 5), b.data()[i] = Half(1.7f - 0.01f * float(i * i));
  a.data()[length / 2] = Half(std::numeric_limits<float>::infinity()),
                    a.data()[length / 3] = Half(std::numeric_limits<float>::quiet_NaN());
  b.data()[0].bits = 5, a.data()[0].bits = 9;  // denormal
  const Half one = b.data()[1];
  const auto sum = flat ? a + b : a + Tensor<Half, Shape<1>>::full(one);
  const auto widened = cast<float>(a);
  for (int i = 0; i < length; ++i) {
    const FlushDenormals flush;
    CHECK(sum.data()[i].bits == Half(float(a.data()[i]) + float(flat ? b.data()[i] : one)).bits);
    CHECK(std::bit_cast<std::uint32_t>(widened.data()[i]) == std::bit_cast<std::uint32_t>(float(a.data()[i])));
    CHECK(cast<Half>(widened).data()[i].bits == Half(widened.data()[i]).bits);
  }
}
}  // namespace

TEST_CASE_TEMPLATE("16-bit floats: elements of whole blocks and those after them are rounded alike", Half, float16,
                   bfloat16) {
  for (const bool flat : {true, false}) {
    check_half<Half, 7>(flat);
    check_half<Half, 16>(flat);
    check_half<Half, 53>(flat);
  }
}
