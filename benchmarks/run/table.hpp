// Works of a table of operators: harness/table.py writes a line of C++ for each row of groups/operators.py, which calls
// add_operator().
#pragma once
#include <map>
#include <vector>

#include <tenon/more.hpp>

#include "operators.hpp"

namespace benchmark {
using namespace tenon;

using Works = std::map<std::string, std::function<Work()>>;

/// One operand: its type, and how the numbers u in [0, 1) become its elements: (low + u * width) / 8, rounded down if
/// they are integers. `wanted`: "train" computes its gradient.
template <class T, class S, int low = 0, int width = 8, bool wanted = std::is_floating_point_v<T>>
struct Filled {
  static constexpr bool has_gradient = wanted;
  static Tensor<T, S> make(long n, std::size_t first) {
    auto x = Tensor<T, S>::empty(n);
    const auto values = numbers(static_cast<std::size_t>(x.count()), first);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float value = float(low) / 8 + values[i] * (float(width) / 8);
      x.data()[i] = std::is_same_v<T, bool> ? T(value >= 0.5f) : T(value);
    }
    return x;
  }
};

/// All results of a call, one or a tuple.
template <class Result, class F>
void each_result(const Result& result, F f) {
  if constexpr (requires { result.storage(); }) f(result);
  else std::apply([&](const auto&... one) { (f(one), ...); }, result);
}

template <class Result>
constexpr auto first_result(const Result& result) {
  if constexpr (requires { std::get<0>(result); }) return std::get<0>(result);
  else return result;
}
/// The operands of f after numbers in the shape of its first result.
template <class F, class... X>
auto with_seed(F f, const std::tuple<X...>& x) {
  const auto y = first_result(std::apply(f, x));
  return std::tuple_cat(std::tuple(operand<std::remove_const_t<decltype(y)>>(y.n(), third_operand)), x);
}

/// One call of an operator, timed as in operation(), with any number of results.
template <class F, class... X>
Work forward_of(F f, std::tuple<X...> operands) {
  const auto x = std::make_shared<std::tuple<X...>>(std::move(operands));
  const auto call = [=] {
    return std::apply([&](const auto&... one) { return (hide(one.storage().data()), ...), f(one...); }, *x);
  };
  return {[=] {
            std::vector<double> some;
            each_result(call(), [&](const auto& one) { add_some(some, one); });
            return some;
          },
          [=](long calls) {
            const eager::NoGrad no_grad;
            const FlushDenormals flush;
            const double start = tenon::detail::now();
            for (long i = 0; i < calls; ++i) each_result(call(), [](const auto& one) { hide(one.storage().data()); });
            return tenon::detail::now() - start;
          }};
}

/// The same, recorded on a tape, and the gradients of the first result's elements times numbers.
template <class... Operand, class F, class... X>
Work train_of(F f, std::tuple<X...> operands) {
  const auto x = std::make_shared<std::tuple<X...>>(std::move(operands));
  const auto value = [=](const auto&... one) { return first_result(f(one...)); };
  const auto dy = std::get<0>(with_seed(f, *x));
  const auto run = [=](const auto& then) {
    std::apply(
        [&](const auto&... one) {
          eager::Tape tape;
          ((Operand::has_gradient ? tape.watch(one) : void()), ...);
          const auto result = value(one...);
          tape.backward(result, dy);
          then(tape, result, one...);
        },
        *x);
  };
  return {[=] {
            std::vector<double> some;
            run([&](const auto& tape, const auto& result, const auto&... one) {
              add_some(some, result);
              ((Operand::has_gradient ? add_some(some, tape.gradient(one)) : void()), ...);
            });
            return some;
          },
          [=](long calls) {
            const FlushDenormals flush;
            const double start = tenon::detail::now();
            for (long i = 0; i < calls; ++i)
              run([](const auto&, const auto& result, const auto&...) { hide(result.storage().data()); });
            return tenon::detail::now() - start;
          }};
}

/// F and the gradients of its first result's elements times dy, as one graph.
template <class F, bool... wanted>
struct WithGradients {
  constexpr auto operator()(const auto& dy, const auto&... x) const {
    const auto value = first_result(F{}(x...));
    if constexpr (is_broken<decltype(value)>) return value;
    else {
      Builder& b = *value.builder;
      std::vector<int> mark(b.nodes.size(), 0);
      ((wanted ? void(mark[std::size_t(x.id)] = 2) : void()), ...);
      const std::vector<int> gradient = tenon::backward(b, value.id, dy.id, mark);
      return std::tuple_cat(std::tuple(value), gradient_of<wanted>(b, gradient, x)...);
    }
  }

 private:
  template <bool yes, class V>
  static constexpr auto gradient_of(Builder& b, const std::vector<int>& gradient, const V& x) {
    if constexpr (yes) return std::tuple(V(&b, gradient[std::size_t(x.id)]));
    else return std::tuple();
  }
};
/// A function without captures as a graph. What is timed is a run without copies of its results, as in a step.
template <class F, class... X>
Work graph_of(F, std::tuple<X...> operands) {
  using Graph = Compiled<tenon::detail::FunctionGraph<F, typename tenon::detail::KeyFor<X>::type...>>;
  const auto x = std::make_shared<std::tuple<X...>>(std::move(operands));
  const long n = std::apply([](const auto&... one) { return tenon::detail::common_batch_size("graph", one...); }, *x);
  const auto run = [=] {
    Executor& executor = executor_here<Graph>();
    std::apply(
        [&](const auto&... one) {
          const void* inputs[]{one.data()...};
          (hide(one.data()), ...);
          executor.run(inputs, n);
        },
        *x);
    return &executor;
  };
  return {[=] {
            constexpr auto all = std::make_integer_sequence<int, Graph::graph.outputs>();
            std::vector<double> some;
            each_result(tenon::detail::results_of<Graph>(*run(), n, all),
                        [&](const auto& one) { add_some(some, one); });
            return some;
          },
          [=](long calls) {
            const FlushDenormals flush;
            return seconds_of(calls, [&] { return run()->output(0); });
          }};
}

struct Size {
  const char* name;
  long n;
};

/// name/forward/SIZE and, if it has a derivative, name/train/SIZE, for each size, operator by operator or as a graph.
template <bool train, bool graph, class... Operand, class F>
void add_operator(Works& works, const std::string& name, std::initializer_list<Size> sizes, F f) {
  for (const Size size : sizes) {
    const auto operands = [n = size.n] {
      std::size_t k = 0;
      return std::tuple{Operand::make(n, second_operand * k++)...};
    };
    works[name + "/forward/" + size.name] = [=] {
      if constexpr (graph) return graph_of(f, operands());
      else return forward_of(f, operands());
    };
    if constexpr (train)
      works[name + "/train/" + size.name] = [=] {
        if constexpr (!graph) return train_of<Operand...>(f, operands());
        else return graph_of(WithGradients<F, Operand::has_gradient...>{}, with_seed(f, operands()));
      };
  }
}

}  // namespace benchmark
