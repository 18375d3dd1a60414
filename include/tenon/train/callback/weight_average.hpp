// Averages of a network's weights over a training: exponential moving average (EMA), stochastic weight averaging (SWA).
#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <tenon/train/callback/run/callback_state.hpp>
#include <tenon/train/callback/run/callback_turn.hpp>
#include <tenon/train/callback/run/snapshot.hpp>
#include <tenon/train/checkpoint.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// Averages of all floating-point parameters, trainable or not, in double. Other parameters keep the values of the last
/// step.
class WeightAverage {
 public:
  bool empty() const { return values_.empty(); }
  void clear() { values_.clear(); }
  /// average += share · (parameter - average); the first time they are the parameters.
  void add(std::span<const io::NamedTensor> parameters, double share);
  /// Writes the averages to the parameters; parameters without an average do not change.
  void write_to(std::span<const io::NamedTensor> parameters) const;
  /// Throws ValueError if these are not the parameters of the averages, which can happen with averages from a file, or
  /// of another network that the callback was used with.
  void check(std::span<const io::NamedTensor> parameters, std::string_view whose) const;
  void state(CallbackState& state) { state(values_); }

 private:
  std::vector<std::vector<double>> values_;
};

/// Gives a network averages of its weights, if there are some.
template <class Net>
void give_averages(const Net& net, const WeightAverage& average, std::string_view whose) {
  if (average.empty()) return;
  const ParameterList list(net);
  const std::vector<io::NamedTensor> parameters = named_parameters_of(list);
  average.check(parameters, whose);
  if (ParameterArena* const arena = list.arena()) arena->change();
  average.write_to(parameters);
}
}  // namespace detail

/// Keeps an exponential moving average of the weights: after each step average = decay · average + (1 - decay) ·
/// weight, starting from the weights after the first step. Evaluations by fit() use the averages, and the network has
/// them when the training is over: `model.fit(10, data, valid, ExponentialMovingAverage{.decay = 0.999})`.
///
/// Batch norm's statistics are averaged, too, as in PyTorch's AveragedModel with use_buffers. SaveBest and
/// EarlyStopping keep the averages that were evaluated. A saved training contains its own weights, and separately the
/// averages. Throws ValueError when the training begins unless decay is inside (0, 1). Source: Polyak and Juditsky
/// 1992; PyTorch torch.optim.swa_utils.
struct ExponentialMovingAverage {
  static constexpr CallbackTurn turn = CallbackTurn::averages;
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
    average.add(detail::named_parameters_to_read(ParameterList(run.model.network())), 1 - decay);
  }
  void on_eval_weights(auto& run) requires requires { run.model.network(); }
  {
    detail::give_averages(run.model.network(), average, "ExponentialMovingAverage");
  }
  void on_train_resumed(auto& run) requires requires { run.model.network(); }
  {
    average.check(detail::named_parameters_to_read(ParameterList(run.model.network())), "ExponentialMovingAverage");
  }
  void on_train_end(auto& run) requires requires { run.model.network(); }
  {
    detail::give_averages(run.model.network(), average, "ExponentialMovingAverage");
    if (!average.empty()) run.final_weights = "the averages of ExponentialMovingAverage";
  }
  void state(CallbackState& state) { average.state(state); }
};

/// Stochastic weight averaging: the mean of the weights at the end of each epoch from `first_epoch` on. The network has
/// this mean when the training is over. It includes the statistics of batch norms: to compute them for the mean
/// weights, train for a short time with a learning rate of 0. Throws ValueError when the training begins for a
/// first_epoch below 1. Source: Izmailov et al., arXiv 1803.05407; PyTorch torch.optim.swa_utils.
struct StochasticWeightAverage {
  static constexpr CallbackTurn turn = CallbackTurn::averages;
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
    average.add(detail::named_parameters_to_read(ParameterList(run.model.network())), 1 / double(++count));
  }
  void on_train_resumed(auto& run) requires requires { run.model.network(); }
  {
    average.check(detail::named_parameters_to_read(ParameterList(run.model.network())), "StochasticWeightAverage");
  }
  void on_train_end(auto& run) requires requires { run.model.network(); }
  {
    detail::give_averages(run.model.network(), average, "StochasticWeightAverage");
    if (!average.empty()) run.final_weights = "the averages of StochasticWeightAverage";
  }
  void state(CallbackState& state) {
    average.state(state);
    state(count);
  }
};

#if TENON_DEFINES
namespace detail {
/// Calls f with the elements of a floating-point tensor.
inline void with_elements(const AnyTensor& tensor, auto f) {
  switch (tensor.dtype) {
    case Dtype::float16: return f(static_cast<float16*>(tensor.data));
    case Dtype::bfloat16: return f(static_cast<bfloat16*>(tensor.data));
    case Dtype::float64: return f(static_cast<double*>(tensor.data));
    default: return f(static_cast<float*>(tensor.data));
  }
}
TENON_INLINE void WeightAverage::add(std::span<const io::NamedTensor> parameters, double share) {
  const bool first = values_.empty();
  values_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const AnyTensor& tensor = parameters[i].tensor;
    if (!is_floating(tensor.dtype)) continue;
    std::vector<double>& values = values_[i];
    values.resize(std::size_t(tensor.count()));
    with_elements(tensor, [&](const auto* own) {
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = first ? double(own[k]) : values[k] + share * (double(own[k]) - values[k]);
    });
  }
}
[[gnu::cold]] TENON_INLINE void WeightAverage::check(std::span<const io::NamedTensor> parameters,
                                                     std::string_view whose) const {
  if (values_.empty()) return;
  if (values_.size() != parameters.size()) refuse_kept(whose);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const AnyTensor& tensor = parameters[i].tensor;
    if (values_[i].size() != (is_floating(tensor.dtype) ? std::size_t(tensor.count()) : 0)) refuse_kept(whose);
  }
}
TENON_INLINE void WeightAverage::write_to(std::span<const io::NamedTensor> parameters) const {
  for (std::size_t i = 0; i < parameters.size() && i < values_.size(); ++i) {
    const AnyTensor& tensor = parameters[i].tensor;
    const std::vector<double>& values = values_[i];
    if (values.empty()) continue;
    with_elements(tensor, [&]<class T>(T* own) {
      for (std::size_t k = 0; k < values.size(); ++k) own[k] = static_cast<T>(values[k]);
    });
  }
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
