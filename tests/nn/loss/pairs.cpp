// Losses of pairs and signs: cosine embedding, margin ranking, hinge embedding, soft margin.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>

#include <tenon/nn/loss/cosine_embedding.hpp>
#include <tenon/nn/loss/hinge_embedding.hpp>
#include <tenon/nn/loss/margin_ranking.hpp>
#include <tenon/nn/loss/soft_margin.hpp>

#include "support.hpp"

using namespace losses;

namespace {
using Elements = Tensor<float, Shape<dyn>>;
using Signs = Tensor<std::int32_t, Shape<dyn>>;
using Rows = Shape<dyn, 4>;
const auto a = random_tensor<double, Rows>(1, -2, 2, 4), b = random_tensor<double, Rows>(2, -2, 2, 4);
const Signs signs = values<std::int32_t>({1, -1, 1, -1});
template <Reduction reduction>
using Ranking = nn::MarginRankingLoss<reduction>;
template <Reduction reduction>
using Hinge = nn::HingeEmbeddingLoss<reduction>;
template <Reduction reduction>
using Cosine = nn::CosineEmbeddingLoss<reduction>;
}  // namespace

TEST_CASE("CosineEmbeddingLoss: the example of MindSpore's documentation, margins, vectors of zeros") {
  const auto first_of = tensor_of<double, Shape<2, 2>>({0.3, 0.8, 0.4, 0.3}),
             second_of = tensor_of<double, Shape<2, 2>>({0.4, 1.2, -0.4, -0.9});
  CHECK(nn::CosineEmbeddingLoss{}(first_of, second_of, tensor_of<std::int32_t, Shape<2>>({1, -1})).item() ==
        doctest::Approx(0.000342583).epsilon(1e-5).scale(0));  // 0.0003425479 there, in float
  const auto x = tensor_of<float, Shape<2, 2>>({3, 4, 0, 2}), y = tensor_of<float, Shape<2, 2>>({4, 3, 0, 5});
  const auto first = tensor_of<std::int32_t, Shape<2>>({1, -1}), second = tensor_of<std::int32_t, Shape<2>>({-1, 0});
  const auto near = nn::CosineEmbeddingLoss<Reduction::none>{}(x, y, first);
  CHECK(near.values()[0] == doctest::Approx(0.04));
  CHECK(near.values()[1] == doctest::Approx(1));
  const auto apart = nn::CosineEmbeddingLoss<Reduction::none, 0.5>{}(x, y, second);
  CHECK(apart.values()[0] == doctest::Approx(0.46));
  CHECK(apart.values()[1] == 0);
  const auto zero = Tensor<float, Shape<dyn, 4>>::full(0, 2);
  const auto lost = both_modes(LossCall<nn::CosineEmbeddingLoss<>>{}, zero, zero, values<std::int32_t>({1, -1}));
  CHECK(lost.result.item() == 0.5f);
  for (const float g : std::get<0>(lost.gradient).values()) CHECK(g == 0);
  const auto large = Tensor<float, Shape<dyn, 4>>::full(1e18f, 1);
  CHECK(nn::CosineEmbeddingLoss{}(large, large, values<std::int32_t>({-1})).item() == doctest::Approx(1));
  check_loss<nn::CosineEmbeddingLoss<>>(a, b, signs);
  check_loss<nn::CosineEmbeddingLoss<Reduction::none, -0.9>>(a, b, signs);
  CHECK(std::isnan(nn::CosineEmbeddingLoss{}(Tensor<double, Rows>::full(not_a_number, 4), b, signs).item()));
}

TEST_CASE("what does not fit is one sentence that names both shapes") {
  using Four = Tensor<float, Shape<dyn, 4>>;
  using Two = Tensor<float, Shape<dyn, 2>>;
  const auto refused = [](std::string_view sentence) { return sentence.find("do not broadcast") != sentence.npos; };
  CHECK(refused(sentence<nn::CosineEmbeddingLoss<>, Four, Two, Signs>()));
  CHECK(refused(sentence<nn::CosineEmbeddingLoss<>, Four, Four, Two>()));
  CHECK(refused(sentence<nn::MarginRankingLoss<>, Four, Two, Four>()));
  CHECK(refused(sentence<nn::HingeEmbeddingLoss<>, Four, Two>()));
  CHECK(refused(sentence<nn::SoftMarginLoss<>, Four, Two>()));
}

TEST_CASE("MarginRankingLoss: only pairs in the wrong order, or not far enough apart") {
  const auto x = values({1, 2, 3}), y = values({2, 1, 1}), right = values({1, 1, 1}), wrong = values({-1, -1, -1});
  CHECK(bit_equal(nn::MarginRankingLoss<Reduction::none>{}(x, y, right), values({1, 0, 0})));
  CHECK(bit_equal(nn::MarginRankingLoss<Reduction::none>{}(x, y, wrong), values({0, 1, 2})));
  CHECK(bit_equal(nn::MarginRankingLoss<Reduction::none, 1.5f>{}(x, y, right), values({2.5f, 0.5f, 0})));
  CHECK(bit_equal(nn::MarginRankingLoss<Reduction::none>{}(x, y, values<std::int32_t>({1, 1, -1})), values({1, 0, 2})));
  CHECK(std::isnan(nn::MarginRankingLoss{}(values({not_a_number}), values({0}), values({1})).item()));
  const auto first = ops::reduce_sum<1>(a), second = ops::reduce_sum<1>(b);
  check_loss<nn::MarginRankingLoss<>>(first, second, signs);
  check_loss<nn::MarginRankingLoss<Reduction::none, 1.5>>(first, second, signs);
  const auto none = Elements::empty(0);
  CHECK(std::isnan(nn::MarginRankingLoss{}(none, none, none).item()));
  CHECK(nn::MarginRankingLoss<Reduction::sum>{}(none, none, none).item() == 0);
}

TEST_CASE("HingeEmbeddingLoss: the distance of what belongs together, the missing margin of what does not") {
  const auto x = values({0.25f, 0.25f, 3, -2}), y = values({1, -1, -1, -1});
  CHECK(bit_equal(nn::HingeEmbeddingLoss<Reduction::none>{}(x, y), values({0.25f, 0.75f, 0, 3})));
  CHECK(bit_equal(nn::HingeEmbeddingLoss<Reduction::none, 4>{}(x, y), values({0.25f, 3.75f, 1, 6})));
  CHECK(nn::HingeEmbeddingLoss{}(x, values<std::int32_t>({1, -1, -1, -1})).item() == 1);
  CHECK(std::isnan(nn::HingeEmbeddingLoss{}(values({not_a_number}), values({-1})).item()));
  check_loss<nn::HingeEmbeddingLoss<>>(ops::reduce_sum<1>(a), signs);
  check_loss<nn::HingeEmbeddingLoss<Reduction::none, 0.3>>(ops::reduce_sum<1>(b), signs);
  check_empty<Hinge, Elements, Signs>();
}

TEST_CASE("SoftMarginLoss: the logarithm, without its overflow") {
  using Loss = nn::SoftMarginLoss<Reduction::sum>;
  CHECK(at<Loss>(0, 1.0f).loss == doctest::Approx(std::log(2.0)));
  CHECK(at<Loss>(0, -1.0f).gradient == doctest::Approx(0.5));
  CHECK(at<Loss>(2, std::int32_t(-1)).loss == doctest::Approx(std::log1p(std::exp(2.0))));
  CHECK(at<Loss>(-1000, 1.0f).loss == 1000);
  CHECK(at<Loss>(30, 1.0f).loss == doctest::Approx(std::exp(-30.0)).epsilon(1e-5).scale(0));
  CHECK(std::isnan(at<Loss>(not_a_number, 1.0f).loss));
  check_loss<nn::SoftMarginLoss<>>(ops::reduce_sum<1>(a), signs);
  check_empty<nn::SoftMarginLoss, Elements, Signs>();
}
