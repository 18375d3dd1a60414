// Averages of a network's weights over a training: exponential moving average (EMA), stochastic weight averaging (SWA).
#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include <tenon/train/callback/callback_state.hpp>
#include <tenon/train/checkpoint.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// Averages of all floating-point parameters, trainable or not, in double; the others are those of the last step.
class WeightAverage {
 public:
  bool empty() const { return values_.empty(); }
  void clear() { values_.clear(), exchanged_ = false; }
  /// average += share · (parameter - average); the first time they are the parameters.
  void add(std::span<const io::NamedTensor> parameters, double share);
  /// Writes the averages to the network and keeps its own parameters, or gives those back.
  void exchange(std::span<const io::NamedTensor> parameters);
  bool exchanged() const { return exchanged_; }
  void state(CallbackState& state) { state(values_); }

 private:
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<std::byte>> own_;
  bool exchanged_ = false;
};

/// Calls f with the parameters of a network, which it changes.
template <class Net, class F>
void with_parameters(const Net& net, F f) {
  const ParameterList list(net);
  const std::vector<io::NamedTensor> parameters = named_parameters_of(list);
  if (ParameterArena* const arena = list.arena()) arena->change();
  f(std::span<const io::NamedTensor>(parameters));
}
}  // namespace detail

/// Keeps an exponential moving average of the weights: after each step average = decay · average + (1 - decay) ·
/// weight, beginning with the weights behind the first step. Evaluations by fit() judge the averages, and the network
/// has them when the training is over: `model.fit(10, data, valid, ExponentialMovingAverage{.decay = 0.999})`.
///
/// Batch norm's statistics are averaged, too, as in PyTorch's AveragedModel with use_buffers. Give it in front of
/// callbacks that save, if they are to save the averages at the end. Throws ValueError when the training begins unless
/// decay is inside (0, 1). Source: Polyak and Juditsky 1992; PyTorch torch.optim.swa_utils.
struct ExponentialMovingAverage {
  double decay = 0.999;
  detail::WeightAverage average{};

  void on_train_begin(auto& run) requires requires { run.model.network(); }
  {
    if (!(decay > 0 && decay < 1))
      throw_error<ValueError>("ExponentialMovingAverage: decay must be between 0 and 1, both excluded, got ", decay,
                              ".");
    average.clear();
  }
  void on_train_step_end(auto& run) requires requires { run.model.network(); }
  {
    average.add(detail::named_parameters_of(ParameterList(run.model.network())), 1 - decay);
  }
  void on_eval_begin(auto& run) requires requires { run.model.network(); }
  {
    exchange(run, false);
  }
  void on_eval_end(auto& run) requires requires { run.model.network(); }
  {
    exchange(run, true);
  }
  void on_train_end(auto& run) requires requires { run.model.network(); }
  {
    exchange(run, false);
  }
  void state(CallbackState& state) { average.state(state); }

 private:
  void exchange(auto& run, bool back) {
    if (average.empty() || average.exchanged() != back) return;
    detail::with_parameters(run.model.network(), [&](auto parameters) { average.exchange(parameters); });
  }
};

/// Stochastic weight averaging: from epoch `first_epoch` on the mean of the weights at the end of each epoch, which the
/// network has when the training is over. With BatchNorm its statistics are those means, too: train for a short while
/// with a learning rate of 0 to count them anew. Throws ValueError when the training begins for a first_epoch below 1.
/// Source: Izmailov et al., arXiv 1803.05407; PyTorch torch.optim.swa_utils.
struct StochasticWeightAverage {
  long first_epoch = 1;
  detail::WeightAverage average{};
  long count = 0;

  void on_train_begin(auto& run) requires requires { run.model.network(); }
  {
    if (first_epoch < 1)
      throw_error<ValueError>("StochasticWeightAverage: first_epoch must be 1 or more, got ", first_epoch, ".");
    average.clear(), count = 0;
  }
  void on_train_epoch_end(auto& run) requires requires { run.model.network(); }
  {
    if (run.cur_epoch_num < first_epoch) return;
    average.add(detail::named_parameters_of(ParameterList(run.model.network())), 1 / double(++count));
  }
  void on_train_end(auto& run) requires requires { run.model.network(); }
  {
    if (count > 0) detail::with_parameters(run.model.network(), [&](auto parameters) { average.exchange(parameters); });
  }
  void state(CallbackState& state) {
    average.state(state);
    state(count);
  }
};

#if TENON_DEFINES
namespace detail {
TENON_INLINE void WeightAverage::add(std::span<const io::NamedTensor> parameters, double share) {
  const bool first = values_.empty();
  values_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const AnyTensor& tensor = parameters[i].tensor;
    if (tensor.dtype != Dtype::float32 && tensor.dtype != Dtype::float64) continue;
    values_[i].resize(std::size_t(tensor.count()));
    for (std::size_t k = 0; k < values_[i].size(); ++k) {
      const double own = tensor.dtype == Dtype::float32 ? double(static_cast<const float*>(tensor.data)[k])
                                                        : static_cast<const double*>(tensor.data)[k];
      values_[i][k] = first ? own : values_[i][k] + share * (own - values_[i][k]);
    }
  }
}
TENON_INLINE void WeightAverage::exchange(std::span<const io::NamedTensor> parameters) {
  own_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size() && i < values_.size(); ++i) {
    const AnyTensor& tensor = parameters[i].tensor;
    if (values_[i].empty()) continue;
    auto* const data = static_cast<std::byte*>(tensor.data);
    if (exchanged_) {
      std::memcpy(data, own_[i].data(), own_[i].size());
      continue;
    }
    own_[i].assign(data, data + tensor.bytes());
    for (std::size_t k = 0; k < values_[i].size(); ++k) {
      if (tensor.dtype == Dtype::float32) static_cast<float*>(tensor.data)[k] = static_cast<float>(values_[i][k]);
      else static_cast<double*>(tensor.data)[k] = values_[i][k];
    }
  }
  exchanged_ = !exchanged_;
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
