// TrainOneStepCell: the usual training step of a network that returns its loss, for loops without a Model.
#pragma once
#include <tenon/train/optimizer_step.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// The step: gradients of the loss, an update.
struct LossStep {
  template <class Net, class Optimizer, class... X>
  constexpr auto operator()(const Net& net, Optimizer& optimizer, const X&... x) const {
    const auto [loss, gradients] = value_and_grad([&] { return net(x...); }, net)();
    optimizer(gradients);
    return loss;
  }
};
}  // namespace detail

namespace nn {

/// Training steps of a network that returns its loss, or a std::tuple of losses, from all arguments:
///
///     nn::TrainOneStepCell train(net, nn::Adam{.learning_rate = 1e-3f});
///     for (const auto& [x, y] : rows) std::printf("%g\n", train(x, y).item());
///
/// A call is what jit(step, net, optimizer) makes of value_and_grad and an OptimizerStep, with the bits of a Model with
/// NoLoss, in both modes; in graph mode it is one graph. It returns the loss before the update. The network must
/// outlive it. Not for several threads.
/// throws   as OptimizerStep
/// Source: MindSpore's TrainOneStepCell, which wants set_train() first; here a step always trains.
template <class Net, Optimizer Opt>
class TrainOneStepCell {
 public:
  TrainOneStepCell(const Net& net, Opt optimizer) : optimizer_(net, std::move(optimizer)) {}
  TrainOneStepCell(const Net&&, Opt) = delete;

  template <class... X>
  auto operator()(const X&... x) {
    return JitStep<tenon::detail::LossStep, Net, Opt>(optimizer_)(x...);
  }
  /// The step's optimizer: `train.optimizer().optimizer().learning_rate = 1e-4f`, `train.optimizer().global_step()`.
  OptimizerStep<Net, Opt>& optimizer() { return optimizer_; }

 private:
  OptimizerStep<Net, Opt> optimizer_;
};

}  // namespace nn

}  // namespace tenon
