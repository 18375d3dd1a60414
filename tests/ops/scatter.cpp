// Parts of tensors by number: gather_nd, scatter_nd, other parts in their place, sums and means of segments.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("gather_nd: parts and elements, numbers from the end, gradients") {
  const auto x = tensor_of<float, Shape<2, 3>>({1, 2, 3, 4, 5, 6});
  constexpr auto parts = [](const auto& v, const auto& i) { return gather_nd(v, i); };
  CHECK(same_bits(both_modes(parts, x, tensor_of<std::int32_t, Shape<3, 1>>({1, 0, -1})).result,
                  tensor_of<float, Shape<3, 3>>({4, 5, 6, 1, 2, 3, 4, 5, 6})));
  CHECK(same_bits(both_modes(parts, x, tensor_of<std::int64_t, Shape<dyn, 2>>({1, -1, 0, 1})).result,
                  tensor_of<float, Shape<dyn>>({6, 2})));
  CHECK(both_modes(parts, x, tensor_of<std::int32_t, Shape<2>>({1, 1})).result.item() == 5);
  both_modes(parts, random_tensor<float, Shape<5, 4, 3>>(1),
             random_tensor<std::int32_t, Shape<dyn, 7, 2>>(2, -4, 4, 9));
  check_gradients(
      [](const auto& v) { return gather_nd(v, tensor_of<std::int32_t, Shape<4, 2>>({0, 1, 1, 1, 0, 1, 1, 0})); },
      random_tensor<double, Shape<2, 2, 3>>(3));
}

TEST_CASE("a number outside of its axis is refused, even where the place is inside of the tensor") {
  const auto x = Tensor<float, Shape<2, 3>>::full(1.0f);
  const auto numbers = tensor_of<std::int32_t, Shape<2, 2>>({0, 1, 0, 3});
  CHECK_THROWS_WITH_AS((void)gather_nd(x, numbers),
                       "FlatNumber: index 3 at [1] is outside of -3 .. 2, the 3 places along axis 1 that are named by "
                       "[2]. Correct the index, or give the tensor a larger extent.",
                       ValueError);
  const auto parts = Tensor<float, Shape<2>>::full(1.0f);
  CHECK_THROWS_AS(((void)scatter_nd<Shape<2, 3>>(numbers, parts)), ValueError);
  CHECK_THROWS_WITH_AS((void)unsorted_segment_sum<3>(x, tensor_of<std::int32_t, Shape<2>>({0, -1})),
                       "UnsortedSegmentSum: number -1 at [1] is outside of 0 .. 2, the 3 rows of the result [3,3]. "
                       "Correct the number, or ask for more of them.",
                       ValueError);
}

TEST_CASE("scatter_nd and tensor_scatter_add: parts of one place are added; their gradients") {
  const auto numbers = tensor_of<std::int32_t, Shape<3, 1>>({1, -1, 1});
  const auto parts = tensor_of<float, Shape<3, 2>>({1, 2, 3, 4, 5, 6});
  CHECK(same_bits(
      both_modes([](const auto& i, const auto& v) { return scatter_nd<Shape<3, 2>>(i, v); }, numbers, parts).result,
      tensor_of<float, Shape<3, 2>>({0, 0, 6, 8, 3, 4})));
  const auto x = tensor_of<float, Shape<3, 2>>({1, 1, 1, 1, 1, 1});
  CHECK(same_bits(both_modes([](const auto& t, const auto& i, const auto& v) { return tensor_scatter_add(t, i, v); }, x,
                             numbers, parts)
                      .result,
                  tensor_of<float, Shape<3, 2>>({1, 1, 7, 9, 4, 5})));
  CHECK(same_bits(tensor_scatter_sub(x, numbers, parts), tensor_of<float, Shape<3, 2>>({1, 1, -5, -7, -2, -3})));
  const auto places = tensor_of<std::int64_t, Shape<4, 2>>({0, 1, 1, 1, 0, 1, 1, 0});
  CHECK(same_bits(scatter_nd<Shape<2, 2>>(places, tensor_of<std::int32_t, Shape<4>>({1, 2, 3, 4})),
                  tensor_of<std::int32_t, Shape<2, 2>>({0, 4, 4, 2})));
}

TEST_CASE("unsorted_segment_sum and mean: empty segments, 16 bits, integers, many places") {
  const auto x = tensor_of<float, Shape<dyn, 2>>({1, 2, 3, 4, 5, 6});
  const auto numbers = tensor_of<std::int32_t, Shape<dyn>>({2, 0, 2});
  CHECK(same_bits(
      both_modes([](const auto& v, const auto& i) { return unsorted_segment_sum<4>(v, i); }, x, numbers).result,
      tensor_of<float, Shape<4, 2>>({3, 4, 0, 0, 6, 8, 0, 0})));
  CHECK(same_bits(
      both_modes([](const auto& v, const auto& i) { return unsorted_segment_mean<4>(v, i); }, x, numbers).result,
      tensor_of<float, Shape<4, 2>>({3, 4, 0, 0, 3, 4, 0, 0})));
  both_modes([](const auto& v, const auto& i) { return unsorted_segment_sum<3>(v, i); },
             random_tensor<float16, Shape<dyn, 9, 5>>(1, -1, 1, 60),
             random_tensor<std::int64_t, Shape<dyn, 9>>(2, 0, 3, 60));
  CHECK(unsorted_segment_sum<2>(Tensor<std::int32_t, Shape<5>>::full(7), Tensor<std::int32_t, Shape<5>>::full(1))
            .data()[1] == 35);
}

TEST_CASE("rows are replaced by the last one given, or by the larger or smaller one") {
  const auto x = tensor_of<float, Shape<3, 2>>({1, 2, 3, 4, 5, 6});
  const auto numbers = tensor_of<std::int32_t, Shape<dyn, 1>>({2, 0, 2});
  const auto rows = tensor_of<float, Shape<dyn, 2>>({9, 0, 0, 9, 7, 7});
  CHECK(same_bits(both_modes([](const auto& t, const auto& i, const auto& v) { return tensor_scatter_update(t, i, v); },
                             x, numbers, rows)
                      .result,
                  tensor_of<float, Shape<3, 2>>({0, 9, 3, 4, 7, 7})));
  CHECK(same_bits(both_modes([](const auto& t, const auto& i, const auto& v) { return tensor_scatter_max(t, i, v); }, x,
                             numbers, rows)
                      .result,
                  tensor_of<float, Shape<3, 2>>({1, 9, 3, 4, 9, 7})));
  CHECK(same_bits(both_modes([](const auto& t, const auto& i, const auto& v) { return tensor_scatter_min(t, i, v); }, x,
                             numbers, rows)
                      .result,
                  tensor_of<float, Shape<3, 2>>({0, 2, 3, 4, 5, 0})));
  both_modes([](const auto& t, const auto& i, const auto& v) { return tensor_scatter_max(t, i, v); },
             random_tensor<bfloat16, Shape<5, 40>>(1), random_tensor<std::int32_t, Shape<dyn, 900, 1>>(2, -5, 5, 2),
             random_tensor<bfloat16, Shape<dyn, 900, 40>>(3, -2, 2, 2));
  const float none = std::numeric_limits<float>::quiet_NaN();
  const auto largest =
      tensor_scatter_max(tensor_of<float, Shape<2>>({none, 1}), tensor_of<std::int32_t, Shape<2, 1>>({0, 1}),
                         tensor_of<float, Shape<2>>({1, none}));
  CHECK((largest.data()[0] != largest.data()[0] && largest.data()[1] != largest.data()[1]));
}

TEST_CASE("gradients of tensor_scatter_update, max, min, and elements against central differences") {
  const auto x = random_tensor<double, Shape<4, 3>>(1);
  const auto rows = random_tensor<double, Shape<2, 3>>(2);
  check_gradients(
      [](const auto& t, const auto& v) {
        return tensor_scatter_update(t, tensor_of<std::int32_t, Shape<2, 1>>({2, 0}), v);
      },
      x, rows);
  check_gradients([](const auto& t,
                     const auto& v) { return tensor_scatter_max(t, tensor_of<std::int32_t, Shape<2, 1>>({2, 2}), v); },
                  x, rows);
  check_gradients([](const auto& t,
                     const auto& v) { return tensor_scatter_min(t, tensor_of<std::int32_t, Shape<2, 1>>({-1, 1}), v); },
                  x, rows);
  constexpr auto elements = [](const auto& t, const auto& v) {
    return tensor_scatter_elements<0>(t, tensor_of<std::int32_t, Shape<2, 3>>({2, 0, 1, 3, 1, 0}), v);
  };
  check_gradients(elements, x, rows);
  check_gradients(
      [](const auto& t, const auto& v) {
        return tensor_scatter_elements<0, ops::ScatterReduction::add>(
            t, tensor_of<std::int32_t, Shape<2, 3>>({2, 0, 1, 2, 1, 0}), v);
      },
      x, rows);
}

TEST_CASE("equal shares of the gradient go to all that are the largest") {
  const auto x = tensor_of<float, Shape<2>>({3, 1});
  const auto rows = tensor_of<float, Shape<2>>({3, 3});
  eager::Tape tape;
  tape.watch(x), tape.watch(rows);
  tape.backward(tensor_scatter_max(x, tensor_of<std::int32_t, Shape<2, 1>>({0, 0}), rows),
                tensor_of<float, Shape<2>>({6, 5}));
  CHECK(same_bits(tape.gradient(x), tensor_of<float, Shape<2>>({2, 5})));
  CHECK(same_bits(tape.gradient(rows), tensor_of<float, Shape<2>>({2, 2})));
}

TEST_CASE("tensor_scatter_elements: in place of others, or added, along every axis") {
  const auto x = tensor_of<float, Shape<dyn, 3>>({1, 2, 3, 4, 5, 6});
  const auto numbers = tensor_of<std::int32_t, Shape<dyn, 2>>({0, 0, -1, 1});
  const auto elements = tensor_of<float, Shape<dyn, 2>>({7, 8, 9, 10});
  CHECK(same_bits(
      both_modes([](const auto& t, const auto& i, const auto& v) { return tensor_scatter_elements<1>(t, i, v); }, x,
                 numbers, elements)
          .result,
      tensor_of<float, Shape<dyn, 3>>({8, 2, 3, 4, 10, 9})));
  CHECK(same_bits(
      both_modes([](const auto& t, const auto& i,
                    const auto& v) { return tensor_scatter_elements<-1, ops::ScatterReduction::add>(t, i, v); },
                 x, numbers, elements)
          .result,
      tensor_of<float, Shape<dyn, 3>>({16, 2, 3, 4, 15, 15})));
  both_modes([](const auto& t, const auto& i, const auto& v) { return tensor_scatter_elements<0>(t, i, v); },
             random_tensor<float16, Shape<5, 4>>(1), random_tensor<std::int64_t, Shape<9, 4>>(2, -5, 5),
             random_tensor<float16, Shape<9, 4>>(3));
}

TEST_CASE("what does not fit is said in one sentence") {
  const TensorType numbers = type<std::int32_t, 4>(), x = type<float, 4, 3>();
  CHECK(refusal<ops::UnsortedSegmentSum>({3}, {numbers, type<float, 5, 3>()}) ==
        "UnsortedSegmentSum of [5,3] by [4]: it needs a number for each row");
  CHECK(refusal<ops::UnsortedSegmentSum>({3}, {x, x}) ==
        "UnsortedSegmentSum needs numbers of int32 or int64, got float32 [4,3]");
  CHECK(refusal<ops::UpdateRows>({}, {numbers, x, type<float, 7, 2>()}) ==
        "TensorScatterUpdate of float32 [7,2] by rows float32 [4,3]: dtypes and rows must agree");
  CHECK(refusal<ops::FlatNumber>({0, 0, ops::FlatNumber::too_many_columns, 3, 2}, {type<std::int32_t, 4, 3>()}) ==
        "gather_nd or scatter_nd got numbers [4,3], one for each of 3 axes, for a tensor of rank 2");
  CHECK(refusal<ops::FlatNumber>({0, 0, ops::FlatNumber::depends_on_n, 1, 2}, {type<std::int32_t, 4, 1>()}) ==
        "gather_nd or scatter_nd by [4,1]: the leading extent of the tensor depends on n, it needs a fixed one");
  CHECK(refusal<ops::UpdateElements>({1}, {type<std::int32_t, 4, 2>(), x, x}) ==
        "TensorScatterElements of float32 [4,3] by numbers [4,2] got elements float32 [4,3]");
}
