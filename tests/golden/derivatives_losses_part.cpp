// flags: -O0
// Derivatives of losses, against PyTorch.
#include "derivatives.hpp"

using namespace derivatives;

namespace {
/// A loss of a prediction and a target.
template <class Loss, class X = D<dyn, 3>, class Y = D<dyn, 3>>
void pair(const std::string& name) {
  check<X, Y>(name, [](const auto& x, const auto& y) { return Loss{}.construct(x, y); });
}
/// The same, where the target is a label without a gradient.
template <class Loss, class X = D<dyn, 3>, class Y = D<dyn, 3>>
void labelled(const std::string& name) {
  check<X, Y>(name, [](const auto& x, const auto& y) { return Loss{}.construct(x, stop_gradient(y)); });
}
/// 1 or -1.
constexpr auto sign_of(const auto& truth) { return 2 * ops::cast<std::int32_t>(truth) - 1; }
using enum nn::Reduction;
}  // namespace

const Group losses([] {
  check<D<dyn, 4>, I<dyn>>("softmax_cross_entropy",
                           [](const auto& x, const auto& t) { return softmax_cross_entropy(x, t); });
  check<D<2, 1, 3>, D<2, 1, 3>>("softmax_cross_entropy.shares",
                                [](const auto& x, const auto& t) { return softmax_cross_entropy(x, t); });
  check_to<1, D<dyn, 5, 4>, I<dyn, 2>, I<dyn>, I<dyn>>(
      "ctc_loss", [](const auto& x, const auto& targets, const auto& lengths, const auto& labels) {
        return ctc_loss(log_softmax(x), targets, lengths, labels);
      });
  check_to<1, D<dyn, 5, 4>, I<dyn, 2>, I<dyn>, I<dyn>>(
      "CTCLoss", [](const auto& x, const auto& targets, const auto& lengths, const auto& labels) {
        return nn::CTCLoss<>{}.construct(log_softmax(x), targets, lengths, labels);
      });
  pair<nn::MSELoss<>>("MSELoss");
  pair<nn::L1Loss<none>>("L1Loss");
  pair<nn::RMSELoss>("RMSELoss");
  pair<nn::HuberLoss<none, 0.5f>>("HuberLoss");
  pair<nn::SmoothL1Loss<sum, 0.5f>>("SmoothL1Loss");
  labelled<nn::BCELoss<none>>("BCELoss");
  labelled<nn::BCEWithLogitsLoss<>>("BCEWithLogitsLoss");
  labelled<nn::KLDivLoss<none>>("KLDivLoss");
  labelled<nn::DiceLoss<0.5f>>("DiceLoss");
  labelled<nn::NLLLoss<>, D<dyn, 4>, I<dyn>>("NLLLoss");
  labelled<nn::CrossEntropyLoss<none, nn::CrossEntropyConfig{.label_smoothing = 0.25f}>, D<dyn, 4>, I<dyn>>(
      "CrossEntropyLoss");
  labelled<nn::CrossEntropyLoss<sum, nn::CrossEntropyConfig{.ignore_index = 1}>, D<dyn, 4>, I<dyn>>(
      "CrossEntropyLoss.ignored");
  labelled<nn::FocalLoss<none>, D<dyn, 4>, I<dyn>>("FocalLoss");
  check<D<dyn, 3>, B<dyn, 3>>("SoftMarginLoss", [](const auto& x, const auto& y) {
    return nn::SoftMarginLoss<none>{}.construct(x, sign_of(y));
  });
  check<D<dyn, 3>, B<dyn, 3>>("HingeEmbeddingLoss", [](const auto& x, const auto& y) {
    return nn::HingeEmbeddingLoss<>{}.construct(x, sign_of(y));
  });
  check<D<dyn, 3>, D<dyn, 3>, B<dyn>>("CosineEmbeddingLoss", [](const auto& a, const auto& b, const auto& y) {
    return nn::CosineEmbeddingLoss<none, 0.25f>{}.construct(a, b, sign_of(y));
  });
  check<D<dyn, 3>, D<dyn, 3>, B<dyn, 3>>("MarginRankingLoss", [](const auto& a, const auto& b, const auto& y) {
    return nn::MarginRankingLoss<none, 0.5f>{}.construct(a, b, sign_of(y));
  });
});
