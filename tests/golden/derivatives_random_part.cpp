// flags: -O0
// Derivatives of random operators: none through what is drawn, and those of sums and products around it.
#include "derivatives.hpp"

using namespace derivatives;

TEST_CASE("random operators: no gradient flows through numbers that are drawn") {
  const auto drawn = [](const auto& x) {
    using Four = Shape<4>;
    const auto p = sigmoid(x);
    return reduce_sum(square(x)) +
           reduce_sum(uniform<Four, double>(x) + standard_normal<Four, double>(x) + normal<Four, double>(x, 0.5, 2.0) +
                      truncated_normal<Four, double>(x) + rand_like(x) + randn_like(x) + bernoulli(p) +
                      ops::cast<double>(randint<Four, 0, 9>(x)) + ops::cast<double>(randperm<4>(x))) +
           ops::cast<double>(reduce_sum(multinomial<2>(p)) + reduce_sum(random_categorical<2>(x)));
  };
  const auto x = support::tensor_of<double, Shape<4>>({-1, 0.5, 2, 0.25});
  for (const auto& slope : {std::get<1>(value_and_grad(drawn)(x)), std::get<1>(jit(value_and_grad(drawn))(x))})
    for (std::size_t i = 0; i < 4; ++i) CHECK(slope.values()[i] == 2 * x.values()[i]);
}

TEST_CASE("random operators: gradients flow to the mean and the deviation, and to the limits") {
  const auto number = [](double value) { return support::tensor_of<double, Shape<1>>({value}); };
  // of y² / 2 the derivative to y is y
  const auto normal_of = [](const auto& mean, const auto& deviation) {
    return reduce_sum(square(normal<Shape<1>, double>(mean, mean, deviation))) * 0.5;
  };
  const auto check_normal = [](const auto& value, const auto& of_mean, const auto& of_deviation) {
    const double y = of_mean.item();
    CHECK(y * y == doctest::Approx(2 * value.item()));
    CHECK(of_deviation.item() == doctest::Approx(y * (y - 3) / 0.5));
  };
  const auto [value, slopes] = value_and_grad<0, 1>(normal_of)(number(3), number(0.5));
  std::apply([&](const auto&... slope) { check_normal(value, slope...); }, slopes);
  std::apply(check_normal, jit(value_and_grad<0, 1>(normal_of))(number(3), number(0.5)));
  const auto uniform_of = [](const auto& low, const auto& high) {
    return reduce_sum(square(uniform<Shape<1>, double>(low, low, high))) * 0.5;
  };
  const auto check_uniform = [](const auto& value, const auto& low, const auto& high) {
    const double y = low.item() + high.item();
    CHECK(y * y == doctest::Approx(2 * value.item()));
    CHECK(2 + 3 * high.item() / y == doctest::Approx(y));
  };
  const auto [other, limits] = value_and_grad<0, 1>(uniform_of)(number(2), number(5));
  std::apply([&](const auto&... slope) { check_uniform(other, slope...); }, limits);
  std::apply(check_uniform, jit(value_and_grad<0, 1>(uniform_of))(number(2), number(5)));
}

TEST_CASE("dropout: the gradient goes where the elements went") {
  const auto x = Tensor<double, Shape<64>>::full(3);
  const auto rate = Tensor<float, Shape<>>::full(0.25f);
  const auto dropped = [](const auto& v, const auto& r) { return reduce_sum(square(dropout(v, r))) * 0.5; };
  for (const auto& slope :
       {std::get<1>(value_and_grad(dropped)(x, rate)), std::get<1>(jit(value_and_grad(dropped))(x, rate))}) {
    int kept = 0;
    for (const double d : slope.values()) {
      CHECK((d == 0 || d == doctest::Approx(3 / 0.75 / 0.75)));
      kept += d != 0;
    }
    CHECK((kept > 32 && kept < 64));
  }
}
