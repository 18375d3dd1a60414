// Rows that are alike.
#include <cmath>

#include <tenon/nn/metric/cosine_similarity.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

namespace {
std::vector<double> similarity(Floats rows, nn::CosineSimilarityOptions options = {}) {
  nn::CosineSimilarity metric{options};
  metric.update(rows.view());
  return metric.eval();
}
}  // namespace

TEST_CASE("cosine similarity: MindSpore's numbers, and their sums and means") {
  const Floats rows{{3, 4}, {1, 3, 4, 7, 2, 4, 2, 5, 3, 1, 5, 8}};
  const double a = 0.94025615, b = 0.95162452, c = 0.86146098;
  check_near(similarity(rows), {0, a, b, a, 0, c, b, c, 0}, 1e-8);
  check_near(similarity(rows, {.zero_diagonal = false}), {1, a, b, a, 1, c, b, c, 1}, 1e-8);
  check_near(similarity(rows, {.reduction = nn::Reduction::sum}), {a + b, a + c, b + c}, 1e-7);
  check_near(similarity(rows, {.reduction = nn::Reduction::mean}), {(a + b) / 3, (a + c) / 3, (b + c) / 3}, 1e-7);
  check_near(similarity({{2, 2}, {1, 2, 3, 4}}, {.similarity = nn::Similarity::dot, .zero_diagonal = false}),
             {5, 11, 11, 25});
}

TEST_CASE("cosine similarity: a row of zeros has no direction, and rows are a matrix") {
  CHECK(std::isnan(similarity({{2, 2}, {0, 0, 1, 1}})[1]));
  nn::CosineSimilarity metric;
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
  Floats vector{{2}, {1, 2}}, none{{0, 2}, {}};
  CHECK_THROWS_WITH_AS(metric.update(vector.view()), "CosineSimilarity needs rows [n,d], got [2].", ValueError);
  metric.update(none.view());
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
}
