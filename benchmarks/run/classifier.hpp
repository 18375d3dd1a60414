// Training and forward pass of a network of classes on one batch, for serve(): softmax cross entropy, Momentum 0.01 and
// 0.9.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

#include "allocations.hpp"
#include "serve.hpp"

namespace benchmark {

/// The batch: Sample is the shape of one sample.
template <class Sample>
auto samples(long batch, int classes) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batch));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i) % classes;
  auto pixels = numbers(static_cast<std::size_t>(batch * Sample::dims.count(1)));
  return tenon::dataset::from_arrays(tenon::dataset::column<Sample>(std::move(pixels)),
                                     tenon::dataset::column<tenon::Shape<>>(std::move(labels)));
}

/// Seconds of calls on another target, from the first to the end of the last one.
template <class F>
double seconds_there(long calls, F f) {
  wait_for_device();
  const double start = tenon::detail::now();
  for (long i = 0; i < calls; ++i) f();
  wait_for_device();
  return tenon::detail::now() - start;
}

struct Steps {
  double seconds = 0;
  long allocated = 0, last_allocated = 0;  // since the program began, at the end of the last step; in the last step
  std::vector<double> losses;
  void step_end(tenon::RunInfo& run) {
    seconds += run.step_seconds;
    last_allocated = allocations - allocated;
    allocated = allocations;
    losses.push_back(run.loss());
  }
};

/// Bytes of the arena in which a graph on a batch of n computes; PyNative mode has none.
template <class Graph>
double arena_bytes(tenon::Mode mode, long n) {
  return mode == tenon::Mode::graph ? static_cast<double>(Graph::program.bytes(n, tenon::get_context().num_threads))
                                    : 0;
}
/// The graphs that a Model compiles for images or rows with this shape of a sample, and for labels of classes. Parts:
/// what stands behind the optimizer.
template <class Net, class Sample, class... Parts>
struct Graphs;
template <class Net, int... E, class... Parts>
struct Graphs<Net, tenon::Shape<E...>, Parts...> {
  using Images = tenon::TypeKey<tenon::Dtype::float32, tenon::dyn, E...>;
  using Loss = tenon::nn::SoftmaxCrossEntropyWithLogits<>;
  using Training = tenon::detail::TriedGraph<
      tenon::detail::TrainStepIn<Net, Loss, tenon::nn::Momentum, tenon::detail::precision_of<Parts...>(), Images,
                                 tenon::TypeKey<tenon::Dtype::int32, tenon::dyn>>>;
  using Forward = tenon::detail::TriedGraph<tenon::detail::EvalStep<Net, tenon::NoLoss, Images>>;
};

inline auto model_of(auto& net, tenon::Mode mode, auto... parts) {
  const tenon::ContextScope scope({.mode = mode});
  return tenon::Model{net, parts...};
}
inline tenon::Mode mode_of(const std::string& variant) {
  return variant == "graph" ? tenon::Mode::graph : tenon::Mode::pynative;
}

/// Steps of training; what is timed is the step, as in RunInfo::step_seconds.
template <class Net, class Sample, class... Parts>
class Training {
 public:
  Training(const std::string& weights, tenon::Mode mode, long batch, int classes)
      : batch_(batch), data_(samples<Sample>(batch, classes)), model_(make(net_, mode)) {
    tenon::load_checkpoint(weights, net_);
  }
  Steps run(long steps) {
    Steps result;
    result.losses.reserve(static_cast<std::size_t>(steps));
    model_.train(1, data_ | tenon::dataset::batch(batch_) | tenon::dataset::repeat(steps), result);
    hide(&result);
    return result;
  }
  /// Seconds of training steps without callbacks, so that no loss is read.
  double seconds(long steps) {
    return seconds_there(
        1, [&] { model_.train(1, data_ | tenon::dataset::batch(batch_) | tenon::dataset::repeat(steps)); });
  }

 private:
  static auto make(Net& net, tenon::Mode mode) {
    return model_of(net, mode, tenon::nn::SoftmaxCrossEntropyWithLogits{},
                    tenon::nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}, Parts{}...);
  }

  long batch_;
  decltype(samples<Sample>(1, 1)) data_;
  Net net_;
  decltype(make(std::declval<Net&>(), tenon::Mode::graph)) model_;
};

template <class Net, class Sample, class... Parts>
Work training(const std::string& weights, tenon::Mode mode, long batch, int classes) {
  auto going = std::make_shared<Training<Net, Sample, Parts...>>(weights, mode, batch, classes);
  return {[=] { return Training<Net, Sample, Parts...>(weights, mode, batch, classes).run(10).losses; },
          [going](long steps) { return is_asynchronous() ? going->seconds(steps) : going->run(steps).seconds; },
          [=] {
            return std::vector<double>{arena_bytes<typename Graphs<Net, Sample, Parts...>::Training>(mode, batch),
                                       double(going->run(4).last_allocated)};
          }};
}

template <class Net, int... E>
Work forward(const std::string& weights, tenon::Mode mode, long batch, tenon::Shape<E...>) {
  struct State {
    Net net;
    decltype(model_of(net, tenon::Mode::graph)) model;
    tenon::Tensor<float, tenon::Shape<tenon::dyn, E...>> x;
    decltype(model.predict(x)) result;
    State(tenon::Mode mode, const std::vector<float>& input)
        : model(model_of(net, mode)), x(decltype(x)::from(input)) {}
  };
  auto state =
      std::make_shared<State>(mode, numbers(static_cast<std::size_t>(batch * tenon::Shape<E...>::dims.count(1))));
  tenon::load_checkpoint(weights, state->net);
  if (is_asynchronous()) state->x = state->x * 1;  // which that target has, as the rivals' target has theirs
  state->result = state->model.predict(state->x);
  const auto call = [state] {
    hide(state->x.data());
    state->model.predict_into(state->result, state->x);
    return state->result.data();
  };
  return {[=] {
            call();
            return std::vector<double>(state->result.values().begin(), state->result.values().end());
          },
          [=](long calls) {
            const tenon::FlushDenormals flush;  // as its comment advises around a loop of tiny calls
            if (!is_asynchronous()) return seconds_of(calls, call);
            return seconds_there(calls, [&] { state->model.predict_into(state->result, state->x); });
          },
          [=] {
            call();
            const long before = allocations;
            call();
            return std::vector<double>{arena_bytes<typename Graphs<Net, tenon::Shape<E...>>::Forward>(mode, batch),
                                       double(allocations - before)};
          }};
}

/// The initial weights of a network as a file that all sides read.
template <class Net>
std::string initial_weights(const std::string& folder, const char* name) {
  Net net;
  net.init_parameters();
  const std::string path = folder + "/" + name + ".safetensors";
  tenon::save_checkpoint(net, path);
  return path;
}

}  // namespace benchmark
