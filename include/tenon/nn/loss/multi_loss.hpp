// A loss for each output of a network that has several.
#pragma once
#include <tuple>

#include <tenon/nn/cell.hpp>
#include <tenon/nn/total_loss.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A loss times a number: a part of MultiLoss that counts more or less than the others.
///
/// prediction, target  as the loss takes them
/// result      weight × loss
template <float weight, class Loss>
struct WeightedLoss : Cell<WeightedLoss<weight, Loss>> {
  static_assert(std::is_empty_v<Loss>, "a weighted loss has its numbers in its type, not in members");
  constexpr auto construct(const auto& prediction, const auto& target) const {
    return ops::mul(prototype<Loss>(prediction, target), weight);
  }
};
/// `nn::weighted_loss<0.5f>(nn::MSELoss{})`
template <float weight, class Loss>
constexpr auto weighted_loss(const Loss&) {
  return WeightedLoss<weight, Loss>{};
}

/// The loss of a network whose construct returns a std::tuple: a loss for each output, which has a label column of its
/// own. `nn::MultiLoss{nn::SoftmaxCrossEntropyWithLogits{}, nn::weighted_loss<0.5f>(nn::MSELoss{})}` needs rows of
/// three columns: data, the classes of output 0, the targets of output 1.
///
/// predictions, targets  as the losses take them, in the order of the outputs
/// result      the sum of the losses, which is trained and which LossMonitor shows, then each loss, weighted:
///             RunInfo::net_outputs has them in this order
/// source      Keras' `compile(loss=[...], loss_weights=[...])`. MindSpore has a cell around network and losses instead
template <class... Loss>
struct MultiLoss {
  static constexpr int labels = int(sizeof...(Loss));
  static_assert(labels > 1, "MultiLoss is for a network with several outputs: give a Model one loss as it is");
  static_assert((std::is_empty_v<Loss> && ...), "a loss of MultiLoss has its numbers in its type, not in members");

  constexpr MultiLoss() = default;
  constexpr explicit MultiLoss(const Loss&...) {}

  template <class Predictions, class First, class... Target>
  constexpr auto operator()(const Predictions& predictions, const First& first, const Target&... targets) const {
    if constexpr (is_broken<Predictions>) return predictions;
    else if constexpr (outputs_of<Predictions>() == labels)
      return tenon::detail::spread(
          [&](const auto&... output) {
            return
                [&](const auto&... label) { return with_total(prototype<Loss>(output, label)...); }(first, targets...);
          },
          predictions);
    else {
      constexpr Sentence wrong = Sentence{} << "MultiLoss has " << labels << " losses, the network returns "
                                            << outputs_of<Predictions>()
                                            << (outputs_of<Predictions>() == 1 ? " output" : " outputs")
                                            << ": return a std::tuple with one for each loss";
      first.builder->fail(wrong);  // a Model traces in PyNative mode, too, before it calls
      return Broken(first.builder);
    }
  }

 private:
  template <class P>
  static constexpr int outputs_of() {
    if constexpr (tenon::detail::is_tuple<P>) return int(std::tuple_size_v<P>);
    else return 1;
  }
  // The parts are only shown: a gradient flows from the sum alone.
  static constexpr auto with_total(const auto&... loss) {
    return std::tuple(tenon::detail::total_of(tenon::detail::total_loss(loss)...), ops::stop_gradient(loss)...);
  }
};

}  // namespace tenon::nn
