// Shapes as types and as values: extents for a batch size, counts, text, axes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string_view>

#include <tenon/core/shape.hpp>

using namespace tenon;

namespace {
constexpr bool prints(const TensorType& t, std::string_view expected) {
  Sentence s;
  s << t;
  return s.view() == expected;
}
constexpr TensorType images = type_of<float, Shape<dyn, 3, 28, 28>>, pairs = type_of<float16, Shape<times<2>, 5>>,
                     fixed = type_of<double, Shape<2, 3>>, scalar = type_of<int, Shape<>>;
}  // namespace

TEST_CASE("extents and counts for a batch size") {
  static_assert(images.size(0, 32) == 32 && images.size(1, 32) == 3 && images.count(32) == 32L * 3 * 28 * 28 &&
                images.count(1) == 3 * 28 * 28);
  static_assert(pairs.size(0, 4) == 8 && pairs.count(4) == 40 && pairs.bytes(4) == 80);
  static_assert(fixed.count(7) == 6 && fixed.bytes(7) == 48 && scalar.count(9) == 1);
  static_assert(images.batched() && pairs.batched() && !fixed.batched() && !scalar.batched());
  static_assert(images.span(1, 3) == 84 && images.span(0, 1) == 1 && images.span(2, 2) == 1 && images.last() == 28 &&
                images[1] == 3);
  CHECK(type_of<float, Shape<dyn, 1 << 20>>.count(1 << 20) == 1L << 40);  // beyond 32 bits
}

TEST_CASE("shapes compare with and without the dtype") {
  static_assert(fixed == fixed && !(fixed == fixed.with(Dtype::float32)) && fixed.same_shape(fixed.with(Dtype::int8)));
  static_assert(!fixed.same_shape(type_of<double, Shape<3, 2>>) && !fixed.same_shape(type_of<double, Shape<2>>) &&
                !images.same_shape(scalar));
  static_assert(detail::only_first_is_dynamic(images) && detail::only_first_is_dynamic(scalar) &&
                !detail::only_first_is_dynamic(Shape<2, dyn>::dims));
  CHECK(Shape<dyn, 2>::rank == 2);
}

TEST_CASE("text as in messages") {
  static_assert(prints(images, "[n,3,28,28]") && prints(pairs, "[2n,5]") && prints(fixed, "[2,3]") &&
                prints(scalar, "[]"));
  CHECK(prints(Shape<0, 1>::dims, "[0,1]"));
}

TEST_CASE("axes that count from the end") {
  for (int rank = 0; rank <= max_rank; ++rank)
    for (int axis = -8; axis <= 8; ++axis) {
      const bool legal = axis >= -rank && axis < rank;
      CHECK(normalized_axis(axis, rank) == (legal ? (axis + rank) % rank : -1));
    }
}
