// Rows of a table: repeated ones, numbers outside of it, threads, 16-bit sums, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/core/context.hpp>
#include <tenon/nn/grad.hpp>
#include <tenon/nn/jit.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/sub.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"
#include "../support/sum_order.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr auto look_up = [](const auto& table, const auto& numbers) { return gather(table, numbers); };
}

TEST_CASE("negative numbers count from the end; rows that are not named take no gradient") {
  const auto table = tensor_of<float, Shape<3, 2>>({1, 2, 3, 4, 5, 6});
  const auto numbers = tensor_of<std::int64_t, Shape<4>>({2, -1, -3, 0});
  const auto all = both_modes(look_up, table, numbers);
  CHECK(same_bits(all.result, tensor_of<float, Shape<4, 2>>({5, 6, 5, 6, 1, 2, 1, 2})));
  const auto dy = random_tensor<float, Shape<4, 2>>(815, -1, 1);
  const auto& gradient = std::get<0>(all.gradient);
  CHECK(gradient.data()[4] == dy.data()[0] + dy.data()[2]);
  CHECK(gradient.data()[0] == dy.data()[4] + dy.data()[6]);
  CHECK(gradient.data()[2] == 0);
}

TEST_CASE("a number outside of the table is refused with its place, in both modes, also one that the graph computes") {
  const auto table = tensor_of<float, Shape<3, 2>>({1, 2, 3, 4, 5, 6});
  const auto compiled = jit(look_up);
  constexpr auto shifted = [](const auto& t, const auto& numbers) { return gather(t, ops::sub(numbers, 1)); };
  for (const std::int64_t wrong : {std::int64_t{3}, std::int64_t{-4}, std::int64_t{1} << 40}) {
    const auto numbers = tensor_of<std::int64_t, Shape<dyn, 2>>({0, 1, 2, wrong, -1, -3});
    const std::string said = text("Gather: index ", wrong,
                                  " at [1,1] is outside of -3 .. 2, the 3 rows of the table "
                                  "[3,2]. Correct the index, or give the table more rows.");
    CHECK_THROWS_WITH_AS((void)gather(table, numbers), said.c_str(), ValueError);
    CHECK_THROWS_WITH_AS((void)compiled(table, numbers), said.c_str(), ValueError);
    CHECK_THROWS_WITH_AS((void)shifted(table, numbers + 1), said.c_str(), ValueError);
    CHECK_THROWS_WITH_AS((void)jit(shifted)(table, numbers + 1), said.c_str(), ValueError);
  }
  // one index: also the short way of small graphs
  CHECK_THROWS_AS((void)jit(shifted)(table, tensor_of<std::int32_t, Shape<1>>({-3})), ValueError);
  CHECK_THROWS_WITH_AS((void)gather(table, tensor_of<std::int32_t, Shape<>>({3})),
                       doctest::Contains("Gather: index 3 is outside of -3 .. 2"), ValueError);
}

TEST_CASE("a number outside of the table is refused by the gradient alone, from whose graph the look-up is gone") {
  const auto table = tensor_of<float, Shape<3, 2>>({1, 2, 3, 4, 5, 6});
  const auto numbers = tensor_of<std::int64_t, Shape<2>>({0, 9});
  constexpr auto sum = [](const auto& t, const auto& i) { return reduce_sum(gather(t, i)); };
  CHECK_THROWS_AS((void)grad(sum)(table, numbers), ValueError);
  CHECK_THROWS_WITH_AS((void)jit(grad(sum))(table, numbers), doctest::Contains("index 9 at [1] is outside of -3 .. 2"),
                       ValueError);
}

TEST_CASE("sums are chains of 32 places in their order and a tree of these, whatever the number of threads") {
  const auto table = random_tensor<float, Shape<50, 96>>(1);
  const auto numbers = random_tensor<std::int32_t, Shape<dyn, 64>>(2, -50, 50, 40);
  const auto gradient = [&](int threads) {
    const ContextScope scope({.num_threads = threads});
    eager::Tape tape;
    tape.watch(table);
    const auto y = gather(table, numbers);
    tape.backward(y, random_tensor<float, Shape<dyn, 64, 96>>(3, -1, 1, 40));
    return tape.gradient(table);
  };
  const auto one = gradient(1);
  CHECK(same_bits(one, gradient(2)));
  CHECK(same_bits(one, gradient(5)));
  const auto dy = random_tensor<float, Shape<dyn, 64, 96>>(3, -1, 1, 40);
  for (long row = 0; row < 50; ++row)
    for (long column : {0, 5, 64, 95}) {
      std::vector<float> terms;
      for (long i = 0; i < numbers.count(); ++i)
        if ((numbers.data()[i] + 50) % 50 == row) terms.push_back(dy.data()[i * 96 + column]);
      CHECK(one.data()[row * 96 + column] == support::long_sum(terms, 32));
    }
}

TEST_CASE("a row that is named a million times: no digit is lost") {
  const auto table = Tensor<float, Shape<3, 5>>::full(1.0f);
  const auto numbers = Tensor<std::int32_t, Shape<1000000>>::full(1);
  eager::Tape tape;
  tape.watch(table);
  tape.backward(gather(table, numbers), Tensor<float, Shape<1000000, 5>>::full(0.1f));
  CHECK(tape.gradient(table).data()[7] == doctest::Approx(100000.0).epsilon(1e-6));
}

TEST_CASE("16-bit sums are carried in float: 4096 ones are 4096, which float16 alone cannot count") {
  const auto table = Tensor<float16, Shape<2, 3>>::full(float16(1.0f));
  const auto numbers = Tensor<std::int32_t, Shape<4096>>::full(1);
  eager::Tape tape;
  tape.watch(table);
  const auto y = gather(table, numbers);
  tape.backward(y, Tensor<float16, Shape<4096, 3>>::full(float16(1.0f)));
  CHECK(float(tape.gradient(table).data()[4]) == 4096.0f);
  CHECK(float(tape.gradient(table).data()[0]) == 0.0f);
  both_modes(look_up, random_tensor<bfloat16, Shape<9, 5>>(1), random_tensor<std::int32_t, Shape<dyn, 20>>(2, 0, 9));
}

TEST_CASE("long rows of 16 bits") {
  const auto table = random_tensor<float16, Shape<40, 1000>>(1);
  const auto numbers = random_tensor<std::int32_t, Shape<dyn, 8>>(2, 0, 40, 8);
  eager::Tape tape;
  tape.watch(table);
  const auto dy = random_tensor<float16, Shape<dyn, 8, 1000>>(3, -1, 1, 8);
  tape.backward(gather(table, numbers), dy);
  const auto gradient = tape.gradient(table);
  bool right = true;
  for (long row = 0; row < 40; ++row) {
    float sum = 0;
    for (long i = 0; i < 64; ++i)
      if (numbers.data()[i] == row) sum += float(dy.data()[i * 1000 + 999]);
    right &= gradient.data()[row * 1000 + 999].bits == float16(sum).bits;
  }
  CHECK(right);
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::Gather;
  const TensorType table = type_of<float, Shape<10, 4>>, numbers = type_of<std::int32_t, Shape<dyn, 7>>;
  CHECK(result_type<Gather>({}, {table, numbers}) == "float32 [n,7,4]");
  CHECK(refusal<Gather>({}, {table, type_of<float, Shape<7>>}) ==
        "Gather needs numbers of int32 or int64, got float32 [7]");
  CHECK(refusal<Gather>({}, {type_of<float, Shape<dyn, 4>>, numbers}) ==
        "Gather needs a table [V,...] of a fixed number of rows, got [n,4]");
  CHECK(refusal<Gather>({}, {type_of<float, Shape<2, 1, 1, 1, 1, 1>>, numbers}) ==
        "Gather of [2,1,1,1,1,1] by [n,7]: a tensor has at most 6 axes");
}
