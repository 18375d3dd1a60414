// Filters of logits: which classes stay, equal logits, and draws from what stays.
#include <limits>

#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/tensors.hpp"

using namespace tenon;

namespace {
constexpr float none = -std::numeric_limits<float>::infinity();
using Rows = Tensor<float, Shape<dyn, 5>>;
const Rows logits = support::tensor_of<float, Shape<dyn, 5>>({1, 3, 2, -4, 2.5f, 0, 7, 0, 7, 0});
template <int hundredths>
struct Share {
  static constexpr float value = hundredths / 100.0f;
};
}  // namespace

TEST_CASE("top_k_filter keeps the k largest, and what is equal to the smallest of them") {
  const auto three = support::both_modes([](const auto& x) { return top_k_filter<3>(x); }, logits).result;
  CHECK(support::same_bits(three, support::tensor_of<float, Shape<dyn, 5>>({none, 3, 2, none, 2.5f, 0, 7, 0, 7, 0})));
  const auto one = support::both_modes([](const auto& x) { return top_k_filter<1>(x); }, logits).result;
  CHECK(support::same_bits(
      one, support::tensor_of<float, Shape<dyn, 5>>({none, 3, none, none, none, none, 7, none, 7, none})));
}

TEST_CASE("top_p_filter keeps the fewest classes whose probabilities reach p") {
  // the probabilities of the first row in descending order: 0.4674 (3), 0.2835 (2.5), 0.1720 (2), 0.0633 (1), 0.0004
  const auto sampled = [](auto p) {
    return support::both_modes([](const auto& x) { return top_p_filter(x, decltype(p)::value); }, logits).result;
  };
  CHECK(support::same_bits(sampled(Share<0>()), support::tensor_of<float, Shape<dyn, 5>>(
                                                    {none, 3, none, none, none, none, 7, none, 7, none})));
  CHECK(support::same_bits(sampled(Share<70>()), support::tensor_of<float, Shape<dyn, 5>>(
                                                     {none, 3, none, none, 2.5f, none, 7, none, 7, none})));
  CHECK(support::same_bits(sampled(Share<80>()),
                           support::tensor_of<float, Shape<dyn, 5>>({none, 3, 2, none, 2.5f, none, 7, none, 7, none})));
  CHECK(support::same_bits(sampled(Share<100>()), logits));
}

TEST_CASE("what is drawn has passed the filters") {
  const auto many = zeros<Shape<dyn, 5>>(Tensor<float, Shape<dyn>>::zeros(200)) +
                    support::tensor_of<float, Shape<5>>({1, 3, 2, -4, 2.5f});
  const auto drawn = random_categorical(top_p_filter(top_k_filter<3>(many), 0.7f));
  long third = 0;
  for (const auto index : drawn.values()) {
    REQUIRE((index == 1 || index == 4));
    third += index == 4;
  }
  CHECK((third > 40 && third < 110));  // 0.378 of 200
}
