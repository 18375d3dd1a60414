// GPT-mini: steps of training and forward passes, for benchmarks/groups/gpt.py.
#include <memory>

#include "../models/gpt.hpp"
#include "classifier.hpp"

using namespace tenon;

namespace {

constexpr int length = 128, vocabulary = 65;
using Net = models::Gpt<4, length, 256, 4, vocabulary>;
using Texts = Tensor<std::int32_t, Shape<dyn, length>>;

/// Letters from place `first` of the sequence of numbers on.
std::vector<std::int32_t> letters(long batch, std::size_t first) {
  std::vector<std::int32_t> result;
  for (const float number : benchmark::numbers(std::size_t(batch * length), first))
    result.push_back(std::int32_t(number * vocabulary));
  return result;
}

template <AmpLevel level>
benchmark::Work training(const std::string& weights, Mode mode, long batch) {
  struct State {
    Net net;
    decltype(benchmark::model_of(net, Mode::graph, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{}, amp<level>)) model;
    State(const std::string& weights, Mode mode)
        : model(benchmark::model_of(net, mode, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 1e-4},
                                    amp<level>)) {
      load_checkpoint(weights, net);
    }
    static auto data_of(long batch, long steps) {
      return dataset::from_arrays(dataset::column<Shape<length>>(letters(batch, 0)),
                                  dataset::column<Shape<length>>(letters(batch, 12345))) |
             dataset::batch(batch) | dataset::repeat(steps);
    }
    benchmark::Steps run(long batch, long steps) {
      benchmark::Steps result;
      result.losses.reserve(std::size_t(steps));
      model.train(1, data_of(batch, steps), result);
      return result;
    }
  };
  auto going = std::make_shared<State>(weights, mode);
  return {[=] { return State(weights, mode).run(batch, 10).losses; },
          [=](long steps) {
            if (!benchmark::is_asynchronous()) return going->run(batch, steps).seconds;
            return benchmark::seconds_there(1, [&] { going->model.train(1, State::data_of(batch, steps)); });
          }};
}

template <class Texts>  // a template: nvcc cannot write the type of a call elsewhere
benchmark::Work forward(const std::string& weights, Mode mode, long batch) {
  struct State {
    Net net;
    decltype(benchmark::model_of(net, Mode::graph)) model;
    Texts x;
    decltype(model.predict(x)) result;
    State(Mode mode, const std::vector<std::int32_t>& text)
        : model(benchmark::model_of(net, mode)), x(Texts::from(text)) {}
  };
  auto state = std::make_shared<State>(mode, letters(batch, 0));
  load_checkpoint(weights, state->net);
  state->result = state->model.predict(state->x);
  const auto call = [state] {
    benchmark::hide(state->x.data());
    state->model.predict_into(state->result, state->x);
    return state->result.data();
  };
  return {[=] {
            call();
            return std::vector<double>(state->result.values().begin(), state->result.values().end());
          },
          [=](long calls) { return benchmark::seconds_of(calls, call); }};
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    return [weights = benchmark::initial_weights<Net>(folder, "gpt")](const std::string& name,
                                                                      const std::string& variant) {
      const long batch = benchmark::last_number(name);
      const Mode mode = benchmark::mode_of(variant);
#if !defined(TENON_TARGET) || defined(BENCHMARK_AMP)  // for a GPU a program of its own: nvcc takes minutes
      if (name.find("/amp/") != name.npos) return training<AmpLevel::O2>(weights, mode, batch);
#endif
#if !defined(BENCHMARK_AMP)
      if (name.find("/train/") != name.npos) return training<AmpLevel::O0>(weights, mode, batch);
      return forward<Texts>(weights, mode, batch);
#endif
      throw ValueError("This program has no work " + name);
    };
  });
}
