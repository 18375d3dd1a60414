// What can be wrong with a call of Model's train(), eval(), and predict(): found first, and said in one sentence.
#pragma once
#include <tenon/core/report.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/step_runner.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A column of a data set as construct sees it in a trace.
template <class C> using TracedColumn = Traced<typename C::type, typename C::shape>;
template <class X> using TracedAs = Traced<typename KeyFor<X>::type::type, typename KeyFor<X>::type::shape>;
template <class Data> using FirstColumn = TracedColumn<dataset::ColumnAt<typename Data::columns, 0>>;

/// Whether construct takes all columns, as it must without a loss function.
template <class Net, class List> struct TakesAll;
template <class Net, class... C>
struct TakesAll<Net, dataset::Columns<C...>> {
  static constexpr bool value = requires(const Net& net, const TracedColumn<C>&... x) { net.construct(x...); };
};

/// A graph that a Model is going to run. A Model without graph mode may look at values.
template <class Graph, ModelOptions options>
struct CheckedGraph {
  static constexpr const Sentence& sentence = Graph::sentence;
  static constexpr bool ok = Graph::ok || (!options.graph && Graph::asks_values);
};

/// The data set and the callbacks of a run.
template <class Run, class Data, class... Callbacks>
constexpr Sentence wrong_run() {
  Sentence s;
  if (!Data::batched) return s << "this data set has no batches: append | dataset::batch(32)";
  ((s.empty() ? void(s << wrong_callback<Callbacks, Run>()) : void()), ...);
  return s;
}

/// A call of train().
template <class Runner, class Run, class Data, class... Callbacks>
struct CheckedTrain {
  template <class... C> static CheckedGraph<typename Runner::template TrainGraph<C...>, Runner::model_options> graph(dataset::Columns<C...>);
  static constexpr Sentence find() {
    constexpr Sentence wrong = wrong_run<Run, Data, Callbacks...>();
    if constexpr (!Runner::trains) return Sentence{} << "this Model has no optimizer: give it one to train it";
    else if constexpr (!wrong.empty()) return wrong;
    else if constexpr (!decltype(graph(typename Data::columns{}))::ok) return decltype(graph(typename Data::columns{}))::sentence;
    else return {};
  }
  static constexpr Sentence sentence = find();
  static constexpr bool ok = sentence.empty();
};

/// A call of eval().
template <class Runner, bool has_metrics, class Run, class Data, class... Callbacks>
struct CheckedEval {
  template <class... C> static CheckedGraph<typename Runner::template EvalGraph<C...>, Runner::model_options> graph(dataset::Columns<C...>);
  static constexpr Sentence find() {
    constexpr Sentence wrong = wrong_run<Run, Data, Callbacks...>();
    if constexpr (!has_metrics) return Sentence{} << "this Model has no metrics: give it some, such as nn::Accuracy{}, to evaluate it";
    else if constexpr (!wrong.empty()) return wrong;
    else if constexpr (!decltype(graph(typename Data::columns{}))::ok) return decltype(graph(typename Data::columns{}))::sentence;
    else return {};
  }
  static constexpr Sentence sentence = find();
  static constexpr bool ok = sentence.empty();
};

}  // namespace tenon::detail
