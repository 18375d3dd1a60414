// Works of optimizers: one parameter and its gradient, a step each call.
#pragma once
#include "table.hpp"

namespace benchmark {

/// A network of one parameter.
template <long count>
struct Block : nn::Cell<Block<count>> {
  Parameter<float, Shape<count / 64, 64>, nn::Zero{}> weight;
};

/// An optimizer beside its block, whose gradient are numbers in [-1/2, 1/2).
template <long count, class Optimizer>
struct OptimizerRun {
  Block<count> net;
  ParameterGradients<Block<count>> gradients;
  OptimizerStep<Block<count>, Optimizer> step;

  explicit OptimizerRun(const Optimizer& optimizer)
      : gradients(std::get<1>(value_and_grad(
            [this] {
              auto g = Tensor<float, Shape<count / 64, 64>>::empty();
              const auto values = numbers(std::size_t(count), second_operand);
              for (std::size_t i = 0; i < values.size(); ++i) g.data()[i] = values[i] - 0.5f;
              return ops::reduce_sum(net.weight * g);
            },
            net)())),
        step(net, optimizer) {
    const auto values = numbers(std::size_t(count));
    std::copy(values.begin(), values.end(), net.weight.values().begin());
  }
};

/// op/NAME/step/COUNT for each count of elements.
template <long... counts, class F>
void add_optimizer(Works& works, const std::string& name, F make) {
  const auto add = [&]<long count>(std::integral_constant<long, count>) {
    works[name + "/step/" + std::to_string(count)] = [=] {
      using Run = OptimizerRun<count, decltype(make())>;
      const auto timed = std::make_shared<Run>(make());
      return Work{[=] {
                    Run run(make());
                    for (int i = 0; i < 3; ++i) run.step(run.gradients);
                    std::vector<double> some;
                    for (long i = 0; i < count; i += count / 1024 + 1)
                      some.push_back(run.net.weight.values()[std::size_t(i)]);
                    return some;
                  },
                  [=](long calls) {
                    const FlushDenormals flush;
                    const float* const weight = timed->net.weight.values().data();
                    return seconds_of(calls, [&] { return timed->step(timed->gradients), weight; });
                  }};
    };
  };
  (add(std::integral_constant<long, counts>()), ...);
}

}  // namespace benchmark
