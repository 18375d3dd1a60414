// Perplexity.
#include <cmath>

#include <tenon/nn/metric/perplexity.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("perplexity: MindSpore's numbers") {
  nn::Perplexity all, ignoring{0};
  CHECK_THROWS_AS(all.eval(), RuntimeError);
  update(all, two_classes(), two_labels());
  update(ignoring, two_classes(), two_labels());
  CHECK(all.eval() == doctest::Approx(2.2314431669));
  CHECK(ignoring.eval() == doctest::Approx(1.82574));
}

TEST_CASE("perplexity: sequences, impossible words, and nothing left to count") {
  nn::Perplexity perplexity{-1};
  update(perplexity, Floats{{1, 3, 2}, {0.2f, 0.5f, 0.3f, 0.1f, 0.9f, 0.6f}}, Ints{{1, 3}, {1, 0, 1}});
  CHECK(perplexity.eval() == doctest::Approx(2.2314431669));
  perplexity.clear();
  update(perplexity, Floats{{1, 2}, {0, 1}}, Ints{{1}, {0}});
  CHECK(perplexity.eval() == doctest::Approx(1e10));
  update(perplexity, Floats{{1, 2}, {NAN, 1}}, Ints{{1}, {0}});
  CHECK(std::isnan(perplexity.eval()));
  perplexity.clear();
  update(perplexity, Floats{{1, 2}, {0.5f, 0.5f}}, Ints{{1}, {-1}});
  CHECK_THROWS_AS(perplexity.eval(), RuntimeError);
}

TEST_CASE("perplexity: what it refuses counts nothing") {
  nn::Perplexity perplexity;
  CHECK_THROWS_WITH_AS(update(perplexity, two_classes(), Ints{{3}, {1, 0, 2}}),
                       "Perplexity got the label 2 at place 2, the classes are 0 to 1.", ValueError);
  CHECK_THROWS_AS(update(perplexity, two_classes(), Ints{{3}, {1, 0, -1}}), ValueError);
  CHECK_THROWS_AS(update(perplexity, two_classes(), Floats{{3}, {1, 0, 0.5f}}), ValueError);
  CHECK_THROWS_AS(update(perplexity, two_classes(), Ints{{2}, {1, 0}}), ValueError);
  CHECK_THROWS_AS(update(perplexity, Ints{{1, 2}, {0, 1}}, Ints{{1}, {1}}), ValueError);
  CHECK_THROWS_AS(perplexity.eval(), RuntimeError);
}

TEST_CASE("perplexity: logits are refused, and nothing of them is counted") {
  nn::Perplexity perplexity;
  CHECK_THROWS_WITH_AS(update(perplexity, Floats{{2, 2}, {0.2f, 0.8f, 3, -1}}, Ints{{2}, {1, 0}}),
                       doctest::Contains("for logits use nn::Perplexity::of_logits()"), ValueError);
  CHECK_THROWS_AS(perplexity.eval(), RuntimeError);
}

TEST_CASE("perplexity of logits: that of their softmax, also where it underflows") {
  nn::Perplexity of_logits = nn::Perplexity::of_logits(), of_shares;
  const Ints labels{{2}, {1, 0}};
  update(of_logits, Floats{{2, 2}, {std::log(0.25f) + 9, std::log(0.75f) + 9, std::log(0.4f), std::log(0.6f)}}, labels);
  update(of_shares, Floats{{2, 2}, {0.25f, 0.75f, 0.4f, 0.6f}}, labels);
  CHECK(of_logits.eval() == doctest::Approx(of_shares.eval()).epsilon(1e-6));
  of_logits.clear();
  update(of_logits, Floats{{1, 2}, {500, 0}}, Ints{{1}, {1}});
  CHECK(of_logits.eval() == doctest::Approx(std::exp(500.0)));
  update(of_logits, Floats{{1, 2}, {NAN, 0}}, Ints{{1}, {1}});
  CHECK(std::isnan(of_logits.eval()));
}
