// xtensor and back: views of the same elements, moved containers, copies, and shapes that do not fit.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// clang 19 takes Debian's xtensor 0.24 only with -fno-relaxed-template-template-args, which leaves this macro
// undefined.
#if __has_include(<xtensor/xadapt.hpp>) && \
    (!defined(__clang__) || __clang_major__ < 19 || !defined(__cpp_template_template_args))
#define TENON_TEST_XTENSOR 1
#elif __has_include(<xtensor/containers/xadapt.hpp>)
#define TENON_TEST_XTENSOR 1
#endif

#if defined(TENON_TEST_XTENSOR)
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/tensor/compare.hpp>
#include <tenon/core/xtensor.hpp>

using namespace tenon;

TEST_CASE("a tensor as an expression: no copy, both ways") {
  Tensor x({{1, 2, 3}, {4, 5, 6}});
  auto view = as_xtensor(x);
  static_assert(std::is_same_v<typename decltype(view)::value_type, int>);
  CHECK(view.dimension() == 2);
  CHECK(view.shape()[1] == 3);
  CHECK(&view(0, 0) == x.data());
  view(1, 2) = 60;
  CHECK(x(1, 2) == 60);
  view *= 2;
  CHECK(x(0, 0) == 2);
  const Tensor constant{1.5f, 2.5f};
  CHECK(as_xtensor(constant)(1) == 2.5f);
  auto batch = Tensor<double, Shape<dyn, 2>>::zeros(3);
  CHECK(as_xtensor(batch).shape()[0] == 3);
  Tensor scalar(4);
  CHECK(as_xtensor(scalar)() == 4);
}

TEST_CASE("a view of any tensor") {
  Tensor x({{1, 2}, {3, 4}});
  auto any = as_xtensor<int>(x.view());
  any(0, 1) = 20;
  CHECK(x(0, 1) == 20);
  CHECK_THROWS_AS(as_xtensor<float>(x.view()), TypeError);
}

TEST_CASE("a container that is moved in gives its elements away") {
  xt::xarray<float> a{{1, 2, 3}, {4, 5, 6}};
  const float* const elements = a.data();
  auto x = from_xtensor<float, Shape<dyn, 3>>(std::move(a));
  CHECK(x.data() == elements);
  CHECK(x.n() == 2);
  auto row = x[1];
  x = {};
  CHECK(bit_equal(row, Tensor{4.0f, 5.0f, 6.0f}));
  xt::xtensor<int, 2> fixed{{1, 2}, {3, 4}};
  const int* const numbers = fixed.data();
  CHECK(from_xtensor<int, Shape<2, 2>>(std::move(fixed)).data() == numbers);
}

TEST_CASE("everything else is copied, converted, and put in row-major order") {
  const xt::xarray<float> a{{1, 2, 3}, {4, 5, 6}};
  auto x = from_xtensor<float, Shape<2, 3>>(a);
  CHECK(x.data() != a.data());
  CHECK(bit_equal(x, Tensor({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}})));
  CHECK(bit_equal(from_xtensor<int, Shape<2, 3>>(xt::xarray<float>(a)), Tensor({{1, 2, 3}, {4, 5, 6}})));
  CHECK(bit_equal(from_xtensor<float, Shape<2, 3>>(a + a), Tensor({{2.0f, 4.0f, 6.0f}, {8.0f, 10.0f, 12.0f}})));
  xt::xarray<float, xt::layout_type::column_major> columns = a;
  CHECK(bit_equal(from_xtensor<float, Shape<2, 3>>(std::move(columns)), x));
  xt::xarray<float, xt::layout_type::dynamic> dynamic(std::vector<std::size_t>{2, 3}, xt::layout_type::column_major);
  dynamic = a;
  CHECK(bit_equal(from_xtensor<float, Shape<2, 3>>(std::move(dynamic)), x));
  Tensor source{7.0f, 8.0f};
  auto adapted = from_xtensor<float, Shape<2>>(as_xtensor(source));  // a view has nothing to give away
  CHECK(adapted.data() != source.data());
  CHECK(bit_equal(adapted, source));
  CHECK(from_xtensor<float, Shape<dyn, 3>>(xt::xarray<float>(std::vector<std::size_t>{0, 3})).n() == 0);
}

TEST_CASE("another shape is refused") {
  const xt::xarray<float> a{{1, 2, 3}, {4, 5, 6}};
  CHECK_THROWS_WITH_AS((from_xtensor<float, Shape<dyn, 4>>(a)),
                       "A tensor float32 [n,4] cannot be made from the shape [2, 3] on CPU.", ValueError);
  CHECK_THROWS_AS((from_xtensor<float, Shape<6>>(a)), ValueError);
  CHECK_THROWS_WITH_AS((from_xtensor<float, Shape<1>>(xt::xarray<float>(std::vector<std::size_t>(9, 1)))),
                       "A tensor float32 [1] cannot be made from an xtensor with 9 axes.", ValueError);
}
#else
#include "../support/skip.hpp"

TEST_CASE("xtensor is not here, or this compiler does not take it") {
  support::say_skipped("xtensor: install libxtensor-dev, or pass -fno-relaxed-template-template-args");
}
#endif
