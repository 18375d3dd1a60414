// Elements in order, running sums and products, elements by number: values, ties, NaN, gradients, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr float none = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
/// The places of a row in order, by the standard library.
template <class T>
std::vector<std::int32_t> places_of(const T* row, long count, bool descending) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(count));
  std::iota(place.begin(), place.end(), 0);
  std::stable_sort(place.begin(), place.end(),
                   [&](std::int32_t a, std::int32_t b) { return descending ? row[b] < row[a] : row[a] < row[b]; });
  return place;
}
template <class T, int count, bool descending>
void check_rows(double low, double high) {
  CAPTURE(name(dtype_of<T>));
  CAPTURE(count);
  const auto x = random_tensor<T, Shape<dyn, count>>(7, low, high, 3);
  const auto sorted = both_modes([](const auto& v) { return std::get<0>(sort<-1, descending>(v)); }, x).result;
  const auto places = both_modes([](const auto& v) { return argsort<-1, descending>(v); }, x).result;
  for (long row = 0; row < 3; ++row) {
    const auto expected = places_of(x.data() + row * count, count, descending);
    bool right = true;
    for (long k = 0; k < count; ++k) {
      right &= places.data()[row * count + k] == expected[std::size_t(k)];
      right &= sorted.data()[row * count + k] == x.data()[row * count + expected[std::size_t(k)]];
    }
    CHECK(right);
  }
}
}  // namespace

TEST_CASE("rows of every length and dtype, with many equal elements, as std::stable_sort") {
  check_rows<float, 1, false>(-1, 1);
  check_rows<float, 48, true>(-9, 9);
  check_rows<float, 700, false>(-1, 1);
  check_rows<float16, 700, true>(-4, 4);
  check_rows<double, 1100, true>(-1, 1);
  check_rows<std::int8_t, 300, false>(-100, 100);
  check_rows<std::int64_t, 70, true>(-9, 9);
  check_rows<std::uint16_t, 49, false>(0, 9);
  check_rows<bool, 60, true>(0, 1);
}

TEST_CASE("NaN is larger than infinity; zeros of both signs are equal; equal elements keep their order") {
  const auto x = tensor_of<float, Shape<7>>({none, 1, -0.0f, infinity, 0.0f, -infinity, none});
  const auto up = both_modes<SameNumbers>([](const auto& v) { return argsort(v); }, x).result;
  CHECK(same_bits(up, tensor_of<std::int32_t, Shape<7>>({5, 2, 4, 1, 3, 0, 6})));
  const auto down = both_modes<SameNumbers>([](const auto& v) { return argsort<0, true>(v); }, x).result;
  CHECK(same_bits(down, tensor_of<std::int32_t, Shape<7>>({0, 6, 3, 1, 2, 4, 5})));
  const auto best = both_modes<SameNumbers>([](const auto& v) { return std::get<1>(topk<3>(v)); }, x).result;
  CHECK(same_bits(best, tensor_of<std::int32_t, Shape<3>>({0, 6, 3})));
}

TEST_CASE("topk: few and many of a row, along other axes, the smallest") {
  const auto x = random_tensor<float, Shape<dyn, 500>>(3, -1, 1, 4);
  const auto all = std::get<0>(sort<-1, true>(x));
  const auto few = both_modes([](const auto& v) { return std::get<0>(topk<5>(v)); }, x).result;
  const auto many = both_modes([](const auto& v) { return std::get<0>(topk<99>(v)); }, x).result;
  for (long row = 0; row < 4; ++row)
    for (long k = 0; k < 5; ++k) {
      CHECK(few.data()[row * 5 + k] == all.data()[row * 500 + k]);
      CHECK(many.data()[row * 99 + k * 20] == all.data()[row * 500 + k * 20]);
    }
  const auto columns = tensor_of<std::int32_t, Shape<3, 2>>({4, 1, 6, 3, 5, 2});
  const auto least = both_modes([](const auto& v) { return std::get<0>(topk<2, 0, false>(v)); }, columns).result;
  CHECK(same_bits(least, tensor_of<std::int32_t, Shape<2, 2>>({4, 1, 5, 2})));
}

TEST_CASE("gradients of sort and topk go to where the elements came from") {
  const auto x = tensor_of<double, Shape<2, 4>>({4, 1, 3, 2, -1, 5, 0, 7});
  check_gradients([](const auto& v) { return std::get<0>(sort<-1, true>(v)); }, x);
  check_gradients([](const auto& v) { return std::get<0>(topk<2, 0>(v)); }, x);
  both_modes([](const auto& v) { return std::get<0>(topk<3, 1>(v)); },
             random_tensor<float16, Shape<dyn, 300, 2>>(3, -1, 1, 2));
}

TEST_CASE("cumsum: both directions, with and without the element, against sums in double") {
  const auto x = tensor_of<float, Shape<2, 3>>({1, 2, 3, 4, 5, 6});
  CHECK(same_bits(both_modes([](const auto& v) { return cumsum<1>(v); }, x).result,
                  tensor_of<float, Shape<2, 3>>({1, 3, 6, 4, 9, 15})));
  CHECK(same_bits(both_modes([](const auto& v) { return cumsum<0, true>(v); }, x).result,
                  tensor_of<float, Shape<2, 3>>({0, 0, 0, 1, 2, 3})));
  CHECK(same_bits(both_modes([](const auto& v) { return cumsum<-1, true, true>(v); }, x).result,
                  tensor_of<float, Shape<2, 3>>({5, 3, 0, 11, 6, 0})));
  const auto bytes = tensor_of<std::int8_t, Shape<3>>({100, 100, 100});
  CHECK(same_bits(both_modes([](const auto& v) { return cumsum<0>(v); }, bytes).result,
                  tensor_of<std::int8_t, Shape<3>>({100, -56, 44})));
  const auto check_long = [](const auto& v, const auto& y, long rows, long count, long step) {
    bool near = true;
    for (long row = 0; row < rows; ++row) {
      double sum = 0;
      for (long k = 0; k < count; ++k) {
        const long at = row / step * count * step + row % step + k * step;
        sum += double(v.data()[at]);
        near &= std::fabs(double(y.data()[at]) - sum) <= 1e-4 * (1 + std::fabs(sum));
      }
    }
    CHECK(near);
  };
  const auto line = random_tensor<float, Shape<5000>>(1, 0, 1);
  check_long(line, both_modes([](const auto& v) { return cumsum<0>(v); }, line).result, 1, 5000, 1);
  const auto rows = random_tensor<float, Shape<dyn, 700>>(2, 0, 1, 19);
  check_long(rows, both_modes([](const auto& v) { return cumsum<1>(v); }, rows).result, 19, 700, 1);
  const auto columns = random_tensor<float, Shape<dyn, 300, 21>>(3, 0, 1, 2);
  check_long(columns, both_modes([](const auto& v) { return cumsum<1>(v); }, columns).result, 42, 300, 21);
  both_modes([](const auto& v) { return cumsum<0>(v); }, random_tensor<bfloat16, Shape<dyn, 5>>(3, -1, 1, 400));
}

TEST_CASE("running sums and products: a row has the same bits alone and beside others") {
  auto rows = random_tensor<float, Shape<dyn, 700>>(4, -2, 2, 21);
  rows.data()[3 * 700 + 5] = none, rows.data()[6 * 700 + 300] = infinity;
  for (long i = 0; i < 700; ++i) rows.data()[8 * 700 + i] = -0.0f;
  const auto check = [&](auto f) {
    const auto all = f(rows);
    for (long row = 0; row < rows.n(); ++row) {
      auto one = Tensor<float, Shape<dyn, 700>>::empty(1);
      std::copy_n(rows.data() + row * 700, 700, one.data());
      const auto alone = f(one);
      CHECK(std::memcmp(alone.data(), all.data() + row * 700, 700 * sizeof(float)) == 0);
    }
  };
  check([](const auto& v) { return cumsum<1>(v); });
  check([](const auto& v) { return cumsum<1, true>(v); });
  check([](const auto& v) { return cumsum<1, false, true>(v); });
  check([](const auto& v) { return cumsum<1, true, true>(v); });
  check([](const auto& v) { return cumprod<1>(v); });
}

TEST_CASE("cumsum: a million equal numbers lose no digit") {
  const auto y = cumsum<0>(Tensor<float, Shape<1000000>>::full(0.1f));
  CHECK(y.data()[999999] == doctest::Approx(100000.0).epsilon(1e-5));
}

TEST_CASE("cumprod: values, integers, gradients with zeros") {
  const auto x = tensor_of<float, Shape<2, 3>>({1, 2, 3, 4, 5, 6});
  CHECK(same_bits(both_modes([](const auto& v) { return cumprod<1>(v); }, x).result,
                  tensor_of<float, Shape<2, 3>>({1, 2, 6, 4, 20, 120})));
  CHECK(same_bits(both_modes([](const auto& v) { return cumprod<-1, true, true>(v); }, x).result,
                  tensor_of<float, Shape<2, 3>>({6, 3, 1, 30, 6, 1})));
  const auto numbers = tensor_of<std::int32_t, Shape<3>>({65536, 65536, 3});
  CHECK(same_bits(both_modes([](const auto& v) { return cumprod<0>(v); }, numbers).result,
                  tensor_of<std::int32_t, Shape<3>>({65536, 0, 0})));
  const auto zeros = tensor_of<double, Shape<4, 2>>({2, 0, 0, 3, -1, 0, 0.5, 4});
  check_gradients([](const auto& v) { return cumprod<0>(v); }, zeros);
  check_gradients([](const auto& v) { return cumprod<0, true>(v); }, zeros);
  check_gradients([](const auto& v) { return cumprod<1, true, true>(v); }, zeros);
  both_modes([](const auto& v) { return cumprod<1, false, true>(v); },
             random_tensor<float, Shape<dyn, 19, 3>>(3, -1, 1, 3));
  check_gradients([](const auto& v) { return cumsum<0, true, true>(v); }, zeros);
}

TEST_CASE("gather_elements: rows and columns, numbers from the end, gradients of repeated numbers") {
  const auto x = tensor_of<float, Shape<2, 3>>({1, 2, 3, 4, 5, 6});
  const auto numbers = tensor_of<std::int32_t, Shape<2, 4>>({0, 0, -1, 1, 2, 2, 2, -3});
  const auto all = both_modes([](const auto& v, const auto& i) { return gather_elements<1>(v, i); }, x, numbers);
  CHECK(same_bits(all.result, tensor_of<float, Shape<2, 4>>({1, 1, 3, 2, 6, 6, 6, 4})));
  const auto dy = random_tensor<float, Shape<2, 4>>(815, -1, 1);
  CHECK(std::get<0>(all.gradient).data()[0] == dy.data()[0] + dy.data()[1]);
  CHECK(std::get<0>(all.gradient).data()[4] == 0);
  const auto columns = both_modes([](const auto& v, const auto& i) { return gather_elements<0>(v, i); }, x,
                                  tensor_of<std::int64_t, Shape<1, 3>>({1, 0, -1}));
  CHECK(same_bits(columns.result, tensor_of<float, Shape<1, 3>>({4, 2, 6})));
  both_modes([](const auto& v, const auto& i) { return gather_elements<1>(v, i); },
             random_tensor<float, Shape<dyn, 5, 3>>(1, -1, 1, 2),
             random_tensor<std::int32_t, Shape<dyn, 900, 3>>(2, -5, 5, 2));
  both_modes([](const auto& v, const auto& i) { return gather_elements<1>(v, i); },
             random_tensor<bfloat16, Shape<dyn, 5>>(1, -1, 1, 2),
             random_tensor<std::int32_t, Shape<dyn, 600>>(2, 0, 5, 2));
  CHECK_THROWS_WITH_AS((void)gather_elements<1>(x, tensor_of<std::int32_t, Shape<2, 1>>({0, 3})),
                       "GatherD: index 3 at [1,0] is outside of -3 .. 2, the 3 places along the axis of [2,3]. Correct "
                       "the index, or give that axis more elements.",
                       ValueError);
}

TEST_CASE("gather_elements: a place that is named 65,536 times") {
  const auto x = Tensor<float, Shape<3>>::full(1.0f);
  eager::Tape tape;
  tape.watch(x);
  tape.backward(gather_elements<0>(x, Tensor<std::int32_t, Shape<65536>>::full(1)),
                Tensor<float, Shape<65536>>::full(0.1f));
  CHECK(tape.gradient(x).data()[1] == doctest::Approx(6553.6).epsilon(1e-5));
}

TEST_CASE("unique: values, places, how many; fewer and more than the bound; NaN") {
  const auto x = tensor_of<std::int32_t, Shape<2, 3>>({7, -1, 7, 3, 3, 7});
  CHECK(same_bits(both_modes([](const auto& v) { return std::get<0>(unique<5>(v)); }, x).result,
                  tensor_of<std::int32_t, Shape<5>>({-1, 3, 7, 7, 7})));
  CHECK(same_bits(both_modes([](const auto& v) { return std::get<1>(unique<5>(v)); }, x).result,
                  tensor_of<std::int32_t, Shape<2, 3>>({2, 0, 2, 1, 1, 2})));
  CHECK(both_modes([](const auto& v) { return std::get<2>(unique<5>(v)); }, x).result.item() == 3);
  CHECK(same_bits(std::get<0>(unique<2>(x)), tensor_of<std::int32_t, Shape<2>>({-1, 3})));
  CHECK(std::get<2>(unique<2>(x)).item() == 3);
  CHECK(std::get<2>(unique<9>(tensor_of<float, Shape<4>>({none, 1, none, 1}))).item() == 3);
}

TEST_CASE("empty batches") {
  CHECK(std::get<0>(sort(Tensor<float, Shape<dyn, 9>>::empty(0))).count() == 0);
  CHECK(cumsum<0>(Tensor<float, Shape<dyn, 9>>::empty(0)).count() == 0);
}

TEST_CASE("what does not fit is said in one sentence") {
  const TensorType x = type<float, dyn, 4>();
  const auto said = [&](const ops::Sort::Config& c) {
    Sentence error;
    ops::Sort::shape(operand_types({x}), c, error);
    return std::string(error.view());
  };
  CHECK(said({2, 0, 0}) == "Sort got the axis 2 for [n,4] of rank 2");
  CHECK(said({0, 0, 0}) == "Sort of [n,4] along axis 0, which depends on n: it needs a fixed extent");
  CHECK(said({1, 1, 5}) == "TopK got k = 5 for the 4 elements along axis 1 of [n,4]");
  CHECK(refusal<ops::CumSum>({2}, {x}) == "CumSum got the axis 2 for [n,4] of rank 2");
  CHECK(refusal<ops::CumProd>({1}, {x.with(Dtype::bool_)}) == "CumProd needs numbers, got bool [n,4]: cast it");
  CHECK(refusal<ops::GatherElements>({1}, {x, type<float, dyn, 2>()}) ==
        "GatherElements needs numbers of int32 or int64, got float32 [n,2]");
  CHECK(refusal<ops::GatherElements>({1}, {x, type<std::int32_t, 2, 2>()}) ==
        "GatherElements of [n,4] by [2,2]: they need the same extents on all axes but axis 1");
  CHECK(refusal<ops::GatherElements>({0}, {x, type<std::int32_t, 2, 4>()}) ==
        "GatherElements of [n,4] along axis 0, which depends on n: it needs a fixed extent");
}

TEST_CASE("gather_elements of long lines: numbers from the end, and the first one that is outside") {
  const auto x = random_tensor<float, Shape<dyn, 50>>(1, -1, 1, 3);
  auto numbers = Tensor<std::int32_t, Shape<dyn, 41>>::empty(3);
  for (long i = 0; i < numbers.count(); ++i)
    numbers.data()[i] = std::int32_t(i * 37 % 50) - (i == 20 || i / 41 == 1 ? 50 : 0);
  const auto y = gather_elements<1>(x, numbers);
  for (long i = 0; i < y.count(); ++i) CHECK(y.data()[i] == x.data()[i / 41 * 50 + i * 37 % 50]);
  for (const long at : {0, 63, 122})
    for (const std::int32_t wrong : {50, -51}) {
      auto others = numbers.copy();
      others.data()[at] = wrong;
      CHECK_THROWS_WITH(
          (void)gather_elements<1>(x, others),
          doctest::Contains(("[" + std::to_string(at / 41) + "," + std::to_string(at % 41) + "]").c_str()));
    }
}
