// BLEU.
#include <cmath>

#include <tenon/nn/metric/bleu_score.hpp>

#include "support.hpp"

using namespace tenon;

namespace {
const nn::Words pen{"i", "have", "a", "pen", "on", "my", "desk"};
const std::vector<nn::Words> people{{"i", "have", "a", "pen", "in", "my", "desk"},
                                    {"there", "is", "a", "pen", "on", "the", "desk"}};
double score(int n_gram, bool smooth, const std::vector<nn::Words>& candidates,
             const std::vector<std::vector<nn::Words>>& references) {
  nn::BleuScore bleu{n_gram, smooth};
  bleu.update(candidates, references);
  return bleu.eval();
}
}  // namespace

TEST_CASE("BLEU: MindSpore's numbers") {
  CHECK(std::fabs(score(4, false, {pen}, {people}) - 0.5946035575) < 1e-9);
  CHECK(std::fabs(score(4, true, {pen}, {people}) - 0.69144) < 1e-5);
}

TEST_CASE("BLEU: short sentences are punished, repeated words counted once, none in common is 0") {
  CHECK(score(4, false, {pen}, {{pen}}) == 1);
  CHECK(score(1, false, {{"a", "b"}}, {{{"a", "b", "c", "d"}}}) == doctest::Approx(std::exp(-1)));
  CHECK(score(1, false, {{"a", "a", "a", "a"}}, {{{"a", "b", "c"}}}) == doctest::Approx(0.25));
  // of two references that are equally near the first one's length counts
  CHECK(score(1, false, {{"a", "b", "c"}}, {{{"a", "b"}, {"a", "b", "c", "d"}}}) == 1);
  CHECK(score(1, false, {{"a", "b", "c"}}, {{{"a", "b", "c", "d"}, {"a", "b"}}}) ==
        doctest::Approx(std::exp(-1.0 / 3)));
  CHECK(score(1, true, {{"a"}}, {{{"b"}}}) == 0);
  CHECK(score(4, false, {{"a", "b"}}, {{{"a", "b"}}}) == 0);  // it has no 4 words in a row
  CHECK(score(1, false, {{}}, {{{"a"}}}) == 0);
}

TEST_CASE("BLEU: two updates are one text") {
  nn::BleuScore bleu{2};
  CHECK_THROWS_AS(bleu.eval(), RuntimeError);
  bleu.update({pen}, {people});
  bleu.update({{"a", "pen"}}, {{{"a", "pencil"}}});
  CHECK(bleu.eval() == score(2, false, {pen, {"a", "pen"}}, {people, {{"a", "pencil"}}}));
  bleu.clear();
  CHECK_THROWS_AS(bleu.eval(), RuntimeError);
}

TEST_CASE("BLEU: what it refuses") {
  CHECK_THROWS_AS(nn::BleuScore{0}, ValueError);
  CHECK_THROWS_WITH_AS(nn::BleuScore{5}, "BleuScore takes an n_gram of 1 to 4, got 5.", ValueError);
  nn::BleuScore bleu;
  CHECK_THROWS_AS(bleu.update({pen, pen}, {people}), ValueError);
  CHECK_THROWS_WITH_AS(bleu.update({pen, pen}, {people, {}}), "BleuScore got no reference for sentence 1.", ValueError);
  CHECK_THROWS_AS(bleu.eval(), RuntimeError);
}
