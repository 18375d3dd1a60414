// Softmax and cross entropy in one, against MindSpore's results (golden/ops).
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>
#include <tenon/ops/structural.hpp>

#include "ops.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr auto rows = [](const auto& x, const auto& labels) { return softmax_cross_entropy(x, labels); };
constexpr auto mean = [](const auto& x, const auto& labels) { return reduce_mean(softmax_cross_entropy(x, labels)); };
constexpr auto sum = [](const auto& x, const auto& labels) { return reduce_sum(softmax_cross_entropy(x, labels)); };
}  // namespace

const Group class_numbers("SoftmaxCrossEntropyWithLogits with class numbers", [] {
  const In<float, Shape<6, 5>> logits{"logits"};
  const In<std::int32_t, Shape<6>> labels{"labels"};
  check_case("softmax_ce_sparse_none", {}, rows, logits, labels);
  check_case("softmax_ce_sparse_mean", {}, mean, logits, labels);
  check_case("softmax_ce_sparse_sum", {}, sum, logits, labels);
});

const Group distributions("SoftmaxCrossEntropyWithLogits with distributions", [] {
  const In<float, Shape<6, 5>> logits{"logits"}, labels{"labels"};
  check_case("softmax_ce_dense_none", {}, rows, logits, labels);
  check_case("softmax_ce_dense_mean", {}, mean, logits, labels);
  check_case("softmax_ce_dense_sum", {}, sum, logits, labels);
});
