// Losses as cells, against the results of MindSpore and PyTorch (golden/ops), forward and backward, in both modes.
#include <tenon/core/context.hpp>
#include <tenon/nn/loss/bce.hpp>
#include <tenon/nn/loss/bce_with_logits.hpp>
#include <tenon/nn/loss/cosine_embedding.hpp>
#include <tenon/nn/loss/cross_entropy.hpp>
#include <tenon/nn/loss/ctc.hpp>
#include <tenon/nn/loss/dice.hpp>
#include <tenon/nn/loss/focal.hpp>
#include <tenon/nn/loss/hinge_embedding.hpp>
#include <tenon/nn/loss/huber.hpp>
#include <tenon/nn/loss/kl_div.hpp>
#include <tenon/nn/loss/margin_ranking.hpp>
#include <tenon/nn/loss/nll.hpp>
#include <tenon/nn/loss/smooth_l1.hpp>
#include <tenon/nn/loss/soft_margin.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/ops/transpose.hpp>

#include "../support/both_modes.hpp"
#include "ops.hpp"

using namespace tenon;
using namespace support;
using nn::Reduction;

namespace {

/// The case in PyNative mode, and that a graph has the same bits; both_modes looks at a second target by itself.
template <class F, class... Inputs>
void check_in_both_modes(const std::string& name, F f, const Inputs&... input) {
  check_case(name, {}, f, input...);
  if (get_context().device_target != Cpu::name) return;
  golden_case(name, [&](const Npz& golden) { both_modes(f, input.tensor(golden)...); });
}
template <class Loss, Reduction reduction>
struct Reduced {
  constexpr auto operator()(const auto&... x) const { return Loss{}.template operator()<reduction>(x...); }
};
/// The cases NAME_mean, NAME_sum, and NAME_none of a loss that gets its reduction.
template <class Loss, class... Inputs>
void check_loss(const std::string& name, Loss, const Inputs&... input) {
  check_in_both_modes(name + "_mean", Reduced<Loss, Reduction::mean>{}, input...);
  check_in_both_modes(name + "_sum", Reduced<Loss, Reduction::sum>{}, input...);
  check_in_both_modes(name + "_none", Reduced<Loss, Reduction::none>{}, input...);
}

using Rows = In<float, Shape<6, 5>>;
const Rows x{"x"}, y{"y"}, logits{"logits"};
const In<std::int32_t, Shape<6>> labels{"labels"};

}  // namespace

const Group distances("distances between numbers", [] {
  check_loss("smoothl1", []<Reduction r>(const auto& a, const auto& b) { return nn::SmoothL1Loss<r>{}(a, b); }, x, y);
  check_loss("huber", []<Reduction r>(const auto& a, const auto& b) { return nn::HuberLoss<r>{}(a, b); }, x, y);
});

const Group probabilities("probabilities", [] {
  check_loss("bce", []<Reduction r>(const auto& a, const auto& b) { return nn::BCELoss<r>{}(a, b); }, x, y);
  check_loss(
      "bcelogits", []<Reduction r>(const auto& a, const auto& b) { return nn::BCEWithLogitsLoss<r>{}(a, b); }, x, y);
  check_loss(
      "kldiv", []<Reduction r>(const auto& a, const auto& b) { return nn::KLDivLoss<r>{}(a, b); }, Rows{"logp"},
      Rows{"target"});
  check_in_both_modes("dice", [](const auto& a, const auto& b) { return nn::DiceLoss<>{}(a, b); }, x, y);
});

const Group pairs("pairs and signs", [] {
  using Scores = In<float, Shape<6>>;
  check_loss(
      "cosineembedding",
      []<Reduction r>(const auto& a, const auto& b, const auto& c) { return nn::CosineEmbeddingLoss<r>{}(a, b, c); },
      Rows{"x1"}, Rows{"x2"}, In<std::int32_t, Shape<6>>{"y"});
  check_loss(
      "marginranking",
      []<Reduction r>(const auto& a, const auto& b, const auto& c) { return nn::MarginRankingLoss<r>{}(a, b, c); },
      Scores{"x1"}, Scores{"x2"}, Scores{"y"});
  check_loss(
      "hingeembedding", []<Reduction r>(const auto& a, const auto& b) { return nn::HingeEmbeddingLoss<r>{}(a, b); }, x,
      y);
  check_loss(
      "softmargin", []<Reduction r>(const auto& a, const auto& b) { return nn::SoftMarginLoss<r>{}(a, b); },
      In<float, Shape<5, 4>>{"x"}, In<std::int32_t, Shape<5, 4>>{"y"});
});

const Group classes("classes", [] {
  check_loss(
      "nll", []<Reduction r>(const auto& a, const auto& b) { return nn::NLLLoss<r>{}(a, b); }, Rows{"logp"}, labels);
  check_loss(
      "crossentropy", []<Reduction r>(const auto& a, const auto& b) { return nn::CrossEntropyLoss<r>{}(a, b); }, logits,
      labels);
  check_in_both_modes(
      "focal", [](const auto& a, const auto& b) { return nn::FocalLoss<>{}(a, ops::squeeze<1>(b)); }, logits,
      In<std::int32_t, Shape<6, 1>>{"labels"});
});

const Group sequences("sequences", [] {
  const In<std::int32_t, Shape<3>> frames{"input_lengths"}, lengths{"target_lengths"};
  check_loss(
      "ctc",
      []<Reduction r>(const auto& x, const auto& target, const auto& frames, const auto& lengths) {
        return nn::CTCLoss<r>{}(ops::transpose<1, 0, 2>(x), target, frames, lengths);
      },
      In<float, Shape<8, 3, 5>>{"log_probs"}, In<std::int32_t, Shape<3, 4>>{"targets"}, frames, lengths);
});
