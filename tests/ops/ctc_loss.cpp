// Connectionist temporal classification: against the sum over all paths one by one, gradients, targets without a path,
// lengths, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/nn/jit.hpp>
#include <tenon/ops/ctc_loss.hpp>
#include <tenon/ops/log_softmax.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {
using Numbers = std::vector<int>;
using Lengths = Tensor<std::int32_t, Shape<dyn>>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What a path, a class per frame, says: equal neighbours joined, blanks left out.
Numbers said_by(const Numbers& path, int blank) {
  Numbers labels;
  for (std::size_t t = 0; t < path.size(); ++t)
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  return labels;
}
/// -ln of the probability of a target: every path there is, classes^frames of them.
double all_paths(const double* log_probs, int classes, std::size_t frames, const Numbers& target, int blank) {
  double probability = 0;
  Numbers path(frames, 0);
  for (;;) {
    if (said_by(path, blank) == target) {
      double log = 0;
      for (std::size_t t = 0; t < frames; ++t) log += log_probs[t * std::size_t(classes) + std::size_t(path[t])];
      probability += std::exp(log);
    }
    std::size_t t = 0;
    while (t < frames && ++path[t] == classes) path[t++] = 0;
    if (t == frames) return -std::log(probability);
  }
}

template <int blank, int zero_infinity = 0>
constexpr auto loss = [](const auto& x, const auto& targets, const auto& frames, const auto& labels) {
  return ops::ctc_loss<ops::CtcAttributes{blank, zero_infinity}>(x, targets, frames, labels);
};
// Of logits: the gradient is right behind log_softmax.
template <int blank>
constexpr auto of_logits = [](const auto& x, const auto& targets, const auto& frames, const auto& labels) {
  return loss<blank>(log_softmax(x), targets, frames, labels);
};

/// Samples with equal neighbours, no label, one frame, no frame, as many labels as frames.
struct Samples {
  Tensor<double, Shape<dyn, 5, 4>> logits = random_tensor<double, Shape<dyn, 5, 4>>(1, -2, 2, 8);
  Tensor<std::int32_t, Shape<dyn, 3>> targets =
      tensor_of<std::int32_t, Shape<dyn, 3>>({1, 2, 1, 1, 1, 0, 3, 3, 1, 2, 0, 0, 1, 1, 1, 3, 1, 2, 2, 0, 0, 3, 2, 1});
  Lengths frames = tensor_of<std::int32_t, Shape<dyn>>({5, 5, 4, 3, 5, 5, 1, 3});
  Lengths lengths = tensor_of<std::int32_t, Shape<dyn>>({3, 2, 2, 0, 3, 1, 1, 3});
};
Numbers target_of(const Samples& s, std::size_t row) {
  const auto first = s.targets.values().begin() + std::ptrdiff_t(row * 3);
  return Numbers(first, first + s.lengths.values()[row]);
}
}  // namespace

TEST_CASE("the loss is that of all paths one by one") {
  const Samples s;
  const auto x = log_softmax(s.logits);
  const auto y = both_modes(loss<0>, x, s.targets, s.frames, s.lengths).result;
  for (std::size_t row = 0; row < 8; ++row)
    CHECK(y.values()[row] == doctest::Approx(all_paths(&x.values()[row * 20], 4, std::size_t(s.frames.values()[row]),
                                                       target_of(s, row), 0))
                                 .epsilon(1e-12));
}

TEST_CASE("another blank, int64, float") {
  const Samples s;
  const auto targets = tensor_of<std::int64_t, Shape<dyn, 2>>({0, 0, 1, 2});
  const auto frames = tensor_of<std::int64_t, Shape<dyn>>({5, 3});
  const auto lengths = tensor_of<std::int32_t, Shape<dyn>>({2, 2});
  const auto x = log_softmax(random_tensor<float, Shape<dyn, 5, 4>>(4, -3, 3, 2));
  std::vector<double> wide(x.values().begin(), x.values().end());
  const auto y = both_modes(loss<3>, x, targets, frames, lengths).result;
  CHECK(y.values()[0] == doctest::Approx(all_paths(wide.data(), 4, 5, {0, 0}, 3)).epsilon(1e-6));
  CHECK(y.values()[1] == doctest::Approx(all_paths(&wide[20], 4, 3, {1, 2}, 3)).epsilon(1e-6));
}

TEST_CASE("gradients behind log_softmax, against central differences; none behind the length of a sample") {
  const Samples s;
  check_gradients(of_logits<0>, s.logits, s.targets, s.frames, s.lengths);
  const auto outcome = both_modes(of_logits<0>, s.logits, s.targets, s.frames, s.lengths);
  for (std::size_t i = 3 * 20 + 3 * 4; i < 4 * 20; ++i) CHECK(std::get<0>(outcome.gradient).values()[i] == 0);
}

TEST_CASE("a target without a path costs infinitely much, or nothing with zero_infinity") {
  // equal neighbours need a blank between them; more labels than frames; labels without a frame; a class of share 0
  auto x = log_softmax(random_tensor<double, Shape<dyn, 3, 3>>(2, -1, 1, 5));
  for (std::size_t t = 0; t < 3; ++t) x.values()[3 * 9 + t * 3 + 2] = -infinity;
  const auto targets = tensor_of<std::int32_t, Shape<dyn, 3>>({1, 1, 0, 1, 2, 1, 1, 0, 0, 2, 0, 0, 2, 1, 0});
  const auto frames = tensor_of<std::int32_t, Shape<dyn>>({2, 2, 0, 3, 3});
  const auto lengths = tensor_of<std::int32_t, Shape<dyn>>({2, 3, 1, 1, 2});
  const auto hard = both_modes<SameNumbers>(loss<0>, x, targets, frames, lengths);
  const auto mild = both_modes(loss<0, 1>, x, targets, frames, lengths);
  for (std::size_t row = 0; row < 4; ++row) {
    CHECK(hard.result.values()[row] == infinity);
    CHECK(mild.result.values()[row] == 0);
    for (std::size_t i = row * 9; i < row * 9 + 9; ++i) {
      const bool read = long(i - row * 9) / 3 < frames.values()[row];
      CHECK(std::isnan(std::get<0>(hard.gradient).values()[i]) == read);
      CHECK(std::get<0>(mild.gradient).values()[i] == 0);
    }
  }
  CHECK(hard.result.values()[4] == mild.result.values()[4]);
  CHECK(std::isfinite(hard.result.values()[4]));
}

TEST_CASE("no label, no frame: nothing to say, nothing wrong") {
  const auto x = Tensor<double, Shape<dyn, 2, 3>>::full(std::log(1.0 / 3), 2);
  const auto targets = Tensor<std::int32_t, Shape<dyn, 1>>::full(1, 2);
  const auto lengths = Lengths::full(0, 2);
  const auto y = both_modes(loss<0>, x, targets, tensor_of<std::int32_t, Shape<dyn>>({0, 2}), lengths).result;
  CHECK((y.values()[0] == 0 && !std::signbit(y.values()[0])));
  CHECK(y.values()[1] == doctest::Approx(2 * std::log(3.0)));
  CHECK(both_modes(loss<0>, decltype(x)::empty(0), decltype(targets)::empty(0), Lengths::empty(0), Lengths::empty(0))
            .result.count() == 0);
}

TEST_CASE("NaN where a length is out of its range, and where a class of the target is NaN") {
  const auto x = log_softmax(random_tensor<double, Shape<dyn, 3, 3>>(3, -1, 1, 5));
  const auto targets = Tensor<std::int32_t, Shape<dyn, 2>>::full(1, 5);
  const auto outcome =
      both_modes<SameNumbers>(loss<0>, x, targets, tensor_of<std::int32_t, Shape<dyn>>({4, -1, 3, 3, 3}),
                              tensor_of<std::int32_t, Shape<dyn>>({1, 1, 3, -1, 2}));
  for (std::size_t row = 0; row < 5; ++row) {
    CHECK(std::isnan(outcome.result.values()[row]) == (row < 4));
    for (std::size_t i = row * 9; i < row * 9 + 9; ++i)
      CHECK(std::isnan(std::get<0>(outcome.gradient).values()[i]) == (row < 4));
  }
  auto spoilt = x.copy();
  for (const std::size_t row : {0u, 1u}) spoilt.values()[row * 9 + 3 + 1 + row] = std::nan("");  // class 1, class 2
  const auto y = both_modes<SameNumbers>(loss<0>, spoilt, targets, Lengths::full(3, 5), Lengths::full(1, 5));
  CHECK(std::isnan(y.result.values()[0]));
  CHECK(std::isfinite(y.result.values()[1]));
}

TEST_CASE("long sequences keep their digits in float: uniform classes, of which the paths can be counted") {
  // 2000 frames, one label of 2 classes: 1 + 2 + ... + 2000 paths of probability 2^-2000
  const auto x = Tensor<float, Shape<dyn, 2000, 2>>::full(-0.5f, 1);
  const auto y = both_modes(loss<0>, x, Tensor<std::int32_t, Shape<dyn, 1>>::full(1, 1), Lengths::full(2000, 1),
                            Lengths::full(1, 1));
  CHECK(double(y.result.values()[0]) == doctest::Approx(1000 - std::log(2000 * 2001 / 2.0)).epsilon(1e-7));
}

TEST_CASE("classes out of range are refused with their place, in both modes") {
  const auto x = Tensor<float, Shape<dyn, 2, 3>>::full(-1, 2);
  const auto lengths = Lengths::full(1, 2);
  for (const std::int32_t wrong : {3, -1}) {
    const auto targets = tensor_of<std::int32_t, Shape<dyn, 1>>({1, wrong});
    const std::string said = text("CTCLoss: label ", wrong,
                                  " at [1,0] is outside of 0 .. 2, the 3 classes of the log-probabilities [n,2,3]. "
                                  "Correct the label, or give the last layer more outputs.");
    CHECK_THROWS_WITH_AS((void)loss<0>(x, targets, lengths, lengths), said.c_str(), ValueError);
    CHECK_THROWS_WITH_AS((void)jit(loss<0>)(x, targets, lengths, lengths), said.c_str(), ValueError);
  }
}

TEST_CASE("what does not fit is said in one sentence") {
  const auto said = [](TensorType x, TensorType targets, TensorType frames, TensorType lengths, int blank = 0) {
    return refusal<ops::CtcLoss>({blank, 0}, {x, targets, frames, lengths});
  };
  constexpr auto x = type_of<float, Shape<dyn, 5, 4>>, flat = type_of<float, Shape<dyn, 4>>;
  constexpr auto targets = type_of<std::int32_t, Shape<dyn, 3>>, lengths = type_of<std::int32_t, Shape<dyn>>;
  CHECK(said(x, targets, lengths, lengths).empty());
  CHECK(said(flat, targets, lengths, lengths) ==
        "CTCLoss needs floating-point log-probabilities [n,frames,classes], got float32 [n,4]");
  CHECK(said(x, lengths, lengths, lengths) ==
        "CTCLoss got log-probabilities [n,5,4] and targets [n], which must be [n,labels] with the same n");
  CHECK(said(x, targets, lengths, lengths, 4) ==
        "CTCLoss got the blank 4, log-probabilities [n,5,4] have classes 0 .. 3");
  CHECK(said(x, targets, type<float, dyn>(), lengths) ==
        "CTCLoss needs targets and lengths of int32 or int64, got float32 [n]");
  CHECK(said(x, targets, lengths, targets) ==
        "CTCLoss got log-probabilities [n,5,4] and lengths [n,3], which must be [n]");
}
