// The errors of a call of Model's train(), eval(), and predict(): detected first, and reported in one sentence.
#pragma once
#include <tenon/core/text/report.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/step/step_runner.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A column of a data set in a trace, and as construct sees it.
template <class C>
using TracedColumn = Traced<typename C::type, typename C::shape>;
template <class X, MixedPrecision precision>
using Entering = std::remove_cvref_t<decltype(entering<precision>(std::declval<const X&>()))>;
template <class X, MixedPrecision precision>
using TracedAs = Entering<Traced<typename KeyFor<X>::type::type, typename KeyFor<X>::type::shape>, precision>;
template <class Data, MixedPrecision precision>
using FirstColumn = Entering<TracedColumn<dataset::ColumnAt<typename Data::columns, 0>>, precision>;

/// Whether construct takes all columns, as it must without a loss function.
template <class Net, MixedPrecision precision, class List>
struct TakesAll;
template <class Net, MixedPrecision precision, class... C>
struct TakesAll<Net, precision, dataset::Columns<C...>> {
  static constexpr bool value =
      requires(const Net& net, const Entering<TracedColumn<C>, precision>&... x) { net.construct(x...); };
};
/// How many of the first columns construct takes, at most `count`; 1 also if it takes none.
template <class Net, MixedPrecision precision, int count, class... C>
constexpr int taken_columns(dataset::Columns<C...> columns) {
  if constexpr (count == 1) return 1;
  else {
    constexpr bool takes = of_first<count>(
        []<class... First>(std::type_identity<First>...) {
          return TakesAll<Net, precision, dataset::Columns<First...>>::value;
        },
        std::type_identity<C>()...);
    if constexpr (takes) return count;
    else return taken_columns<Net, precision, count - 1>(columns);
  }
}

template <class Net, MixedPrecision precision, class First, class... More>
struct TakesAll<Net, precision, dataset::BucketColumns<First, More...>> : TakesAll<Net, precision, First> {};
template <class Net, MixedPrecision precision, int count, class First, class... More>
constexpr int taken_columns(dataset::BucketColumns<First, More...>) {
  return taken_columns<Net, precision, count>(First());
}

/// A graph that a Model is going to run. A Model without graph mode may look at values.
template <class Graph, ModelOptions options>
struct CheckedGraph {
  static constexpr const Sentence& sentence = Graph::sentence;
  static constexpr bool ok = Graph::ok || (!options.graph && Graph::asks_values);
};

/// The graphs of several buckets.
template <class... G>
struct CheckedGraphs {
  static constexpr bool ok = (G::ok && ...);
  static constexpr Sentence first_wrong() {
    Sentence s;
    ((s.empty() && !G::ok ? void(s = G::sentence) : void()), ...);
    return s;
  }
  static constexpr Sentence sentence = first_wrong();
};

/// The type of the last tensor among what construct returns: the prediction that metrics judge.
template <class V>
struct LastOutput {
  static constexpr bool known = false;
};
template <class T, class S>
struct LastOutput<Traced<T, S>> {
  static constexpr bool known = true;
  static constexpr TensorType type = type_of<T, S>;
};
template <class A, class... V>
struct LastOutput<std::tuple<A, V...>> : LastOutput<std::tuple_element_t<sizeof...(V), std::tuple<A, V...>>> {};

/// The same of output k.
template <int k, class V>
struct OutputAt : LastOutput<V> {};
template <int k, class... V>
requires(k < int(sizeof...(V)))
struct OutputAt<k, std::tuple<V...>> : LastOutput<std::tuple_element_t<std::size_t(k), std::tuple<V...>>> {};

/// How many outputs metrics can choose from: those of a network whose Model has a loss, else 1.
template <class Runner, class Columns>
inline constexpr int judged_outputs = 1;
template <class Runner, class... C>
inline constexpr int judged_outputs<Runner, dataset::Columns<C...>> = [] {
  using Predicted = typename Runner::template Predicted<TracedColumn<C>...>;
  if constexpr (Runner::label_count > 0 && is_tuple<Predicted>) return int(std::tuple_size_v<Predicted>);
  else return 1;
}();
template <class Runner, class First, class... More>
inline constexpr int judged_outputs<Runner, dataset::BucketColumns<First, More...>> = judged_outputs<Runner, First>;

/// What a metric has against the types that it would get; empty for a metric that does not say, or if a type is not
/// known.
template <class M, class Prediction, class Label>
constexpr Sentence wrong_metric() {
  if constexpr (Prediction::known && requires { M::check(Prediction::type, Label::tensor_type); })
    return M::check(Prediction::type, Label::tensor_type);
  else return {};
}
template <class Runner, class M, class... C>
constexpr Sentence wrong_metric_of(dataset::Columns<C...>) {
  using Predicted = typename Runner::template Predicted<TracedColumn<C>...>;
  constexpr int columns = int(sizeof...(C));
  constexpr int outputs = judged_outputs<Runner, dataset::Columns<C...>>;
  if constexpr (nn::OutputMetric<M>) {
    if constexpr (M::output >= outputs)
      return Sentence{} << "a metric is for output " << M::output << ", counted from 0, and the network returns "
                        << outputs << (outputs == 1 ? " output" : " outputs");
    else
      return wrong_metric<
          M, OutputAt<M::output, Predicted>,
          dataset::ColumnAt<dataset::Columns<C...>, label_column<Runner::label_count, outputs>(M::output, columns)>>();
  } else if constexpr (outputs > 1 && !nn::LossMetric<M> && !requires { requires nn::LossMetric<decltype(M::metric)>; })
    return Sentence{} << "the network returns " << outputs
                      << " outputs: say which one each metric is for, nn::for_output<0>(\"accuracy\", nn::Accuracy{}), "
                         "counted from 0";
  else return wrong_metric<M, LastOutput<Predicted>, dataset::ColumnAt<dataset::Columns<C...>, columns - 1>>();
}
template <class Runner, class... Metrics, class... C>
constexpr Sentence wrong_metrics(std::tuple<Metrics...>*, dataset::Columns<C...> columns) {
  Sentence s;
  ((s.empty() ? void(s << wrong_metric_of<Runner, Metrics>(columns).view()) : void()), ...);
  return s;
}

template <class Runner, class Metrics, class First, class... More>
constexpr Sentence wrong_metrics(Metrics* metrics, dataset::BucketColumns<First, More...>) {
  return wrong_metrics<Runner>(metrics, First{});
}

/// Options may stand among the callbacks, where they have no hook to be called.
template <class C>
inline constexpr bool is_options = std::is_same_v<std::remove_const_t<C>, TrainOptions>;

/// The data set and the callbacks of a run.
template <class Run, class Data, class... Callbacks>
constexpr Sentence wrong_run() {
  Sentence s;
  if (!Data::batched) return s << "this data set has no batches: append | dataset::batch(32)";
  ((s.empty() && !is_options<Callbacks> ? void(s << wrong_callback<Callbacks, Run>()) : void()), ...);
  return s;
}

/// With a data set of two columns, the first of which looks like a label: whether the network and the loss fit them in
/// the other order. (Nothing else is tried: what construct asserts of its argument would be one more error.)
template <class Runner, bool training, class A, class B>
constexpr bool fits_swapped() {
  constexpr TensorType a = A::tensor_type, b = B::tensor_type;
  if constexpr (a.rank >= b.rank && (a.rank > b.rank || is_floating(a.dtype) || !is_floating(b.dtype))) return false;
  else if constexpr (training) return Runner::template TrainGraph<B, A>::ok;
  else return Runner::template EvalGraph<B, A>::ok;
}
/// What is wrong with the columns of a data set whose graph cannot be traced; else what the trace said.
template <class Runner, bool training, class First, class... C>
constexpr Sentence wrong_columns(const Sentence& traced, dataset::Columns<First, C...>) {
  constexpr int columns = 1 + int(sizeof...(C));
  Sentence s;
  if constexpr (!Runner::has_loss) {
    using Net = typename Runner::network_type;
    constexpr int taken = argument_count<Net, TracedColumn<First>>();
    if (taken > 0 && taken != columns)
      return s
             << "without a loss (NoLoss) the network gets all " << columns << " columns of the data set, but "
             << class_name<Net>() << "::construct takes " << taken
             << ": give the Model a loss, such as nn::SoftmaxCrossEntropyWithLogits{}, or let construct take them all";
  } else if constexpr (columns == 2) {
    if (fits_swapped<Runner, training, First, C...>())
      return s << "the columns of the data set are swapped: the first, " << name(First::tensor_type.dtype) << " "
               << First::tensor_type
               << ", is the label; a Model takes data, then label: give from_arrays the data first, "
               << "or append | dataset::project<1, 0>() of <tenon/dataset/operation/project.hpp>";
  }
  return traced;
}

template <class Runner, bool training, class... L>
constexpr Sentence wrong_columns(const Sentence& traced, dataset::BucketColumns<L...>) {
  return traced;
}

/// A call of train().
template <class Runner, class Run, class Data, class... Callbacks>
struct CheckedTrain {
  template <class... C>
  static CheckedGraph<typename Runner::template TrainGraph<C...>, Runner::model_options> graph(dataset::Columns<C...>);
  template <class... L>
  static CheckedGraphs<decltype(graph(L{}))...> graph(dataset::BucketColumns<L...>);
  static constexpr Sentence find() {
    constexpr Sentence wrong = wrong_run<Run, Data, Callbacks...>();
    if constexpr (!Runner::trains) return Sentence{} << "this Model has no optimizer: give it one to train it";
    else if constexpr (!wrong.empty()) return wrong;
    else if constexpr (!decltype(graph(typename Data::columns{}))::ok)
      return wrong_columns<Runner, true>(decltype(graph(typename Data::columns{}))::sentence, typename Data::columns{});
    else return {};
  }
  static constexpr Sentence sentence = find();
  static constexpr bool ok = sentence.empty();
};

/// A call of eval().
template <class Runner, class Metrics, class Run, class Data, class... Callbacks>
struct CheckedEval {
  template <class... C>
  static CheckedGraph<typename Runner::template EvalGraph<C...>, Runner::model_options> graph(dataset::Columns<C...>);
  template <class... L>
  static CheckedGraphs<decltype(graph(L{}))...> graph(dataset::BucketColumns<L...>);
  static constexpr Sentence find() {
    constexpr Sentence wrong = wrong_run<Run, Data, Callbacks...>();
    if constexpr (std::tuple_size_v<Metrics> == 0)
      return Sentence{} << "this Model has no metrics: give it some, such as nn::Accuracy{}, to evaluate it";
    else if constexpr (!wrong.empty()) return wrong;
    else if constexpr (!decltype(graph(typename Data::columns{}))::ok)
      return wrong_columns<Runner, false>(decltype(graph(typename Data::columns{}))::sentence,
                                          typename Data::columns{});
    else return wrong_metrics<Runner>(static_cast<Metrics*>(nullptr), typename Data::columns{});
  }
  static constexpr Sentence sentence = find();
  static constexpr bool ok = sentence.empty();
};

/// A loss is traced by its type alone, so numbers given to an object would be lost without a word.
template <class Loss>
void check_loss(const Loss& loss) {
  if constexpr (!std::is_empty_v<Loss>) {
    static_assert(AnyCell<Loss>, "a loss function with members is a cell: struct MyLoss : nn::Cell<MyLoss> { ... }");
    if constexpr (!has_parameters<Loss>()) check_members(loss, "loss");
  }
}

/// What a Model with a loss looks at first when it gets a data set: its `first` column, in construct; without a loss
/// `all` of them. And what is said of the call at the user's line, void for nothing (core/text/report.hpp).
template <bool has_loss, class Data, MixedPrecision precision>
struct LookedAt {
  using all = dataset::Columns<>;
  template <class Net, class Checked>
  using Refusal = void;
};
template <dataset::Dataset Data, MixedPrecision precision>
struct LookedAt<true, Data, precision> {
  using first = FirstColumn<Data, precision>;
  using all = dataset::Columns<>;
  template <class Net, class Checked>
  using Refusal = typename RefusalOf<Checked, is_refused<Checked, Net, first>()>::type;
};
template <dataset::Dataset Data, MixedPrecision precision>
struct LookedAt<false, Data, precision> {
  using all = typename Data::columns;
  template <class Net, class Checked>
  using Refusal = typename RefusalOf<Checked>::type;
};
template <class... X>
concept Tensors = sizeof...(X) > 0 && (is_tensor<X> && ...);
/// The same of a call of predict().
template <bool is_right, class Runner, class Net, MixedPrecision precision, class... X>
struct PredictRefusal {
  using type = void;
};
template <class Runner, class Net, MixedPrecision precision, class... X>
requires Tensors<X...>
struct PredictRefusal<true, Runner, Net, precision, X...> {
  using Checked = CheckedGraph<typename Runner::template PredictGraph<X...>, Runner::model_options>;
  using type = typename RefusalOf<Checked, is_refused<Checked, Net, TracedAs<X, precision>...>()>::type;
};

/// What stands where a data set is needed, as a sentence continues: "a tensor is no data set: ...".
template <class X>
constexpr std::string_view no_dataset() {
  if constexpr (std::is_convertible_v<X, std::string>)
    return "a text is no data set: write dataset::Mnist{\"mnist\", dataset::Usage::train} | dataset::batch(32)";
  else
    return "this is no data set: write dataset::from_arrays(dataset::column<Shape<28, 28>>(images), "
           "dataset::column<Shape<>>(labels)) | dataset::batch(32)";
}

/// A call of train() that has other arguments than it takes.
template <class... A>
struct WrongTrainCall {
  static constexpr Sentence sentence = Sentence{} << "Model.train takes epochs and data: model.train(2, data)";
};
template <class First, class Data, class... A>
requires(std::is_convertible_v<First, long> && !dataset::Dataset<std::remove_cvref_t<Data>>)
struct WrongTrainCall<First, Data, A...> {
  static constexpr Sentence sentence = Sentence{} << "Model.train: " << no_dataset<Data>();
};
template <class... A>
inline constexpr bool is_train_call = false;
template <class First, class Data, class... A>
inline constexpr bool is_train_call<First, Data, A...> =
    std::is_convertible_v<First, long> && dataset::Dataset<std::remove_cvref_t<Data>>;

/// A call of fit() that does not begin with a number and two data sets.
template <class... A>
struct WrongFitCall {
  static constexpr Sentence sentence = Sentence{} << "Model.fit takes epochs, data, valid: model.fit(2, data, valid)";
};
template <class... A>
inline constexpr bool is_fit_call = false;
template <class F, class D, class V, class... A>
inline constexpr bool is_fit_call<F, D, V, A...> = is_train_call<F, D> && dataset::Dataset<std::remove_cvref_t<V>>;

/// A call of eval() whose first argument is no data set.
template <class... A>
struct WrongEvalCall {
  static constexpr Sentence sentence = Sentence{} << "Model.eval takes data: model.eval(data)";
};
template <class First, class... A>
requires(!std::is_arithmetic_v<std::remove_cvref_t<First>>)
struct WrongEvalCall<First, A...> {
  static constexpr Sentence sentence = Sentence{} << "Model.eval: " << no_dataset<First>();
};
template <class... A>
inline constexpr bool is_eval_call = false;
template <class First, class... A>
inline constexpr bool is_eval_call<First, A...> = dataset::Dataset<std::remove_cvref_t<First>>;

/// A call of predict() with something else than tensors.
template <class... X>
struct WrongPredictCall {
  static constexpr Sentence sentence = Sentence{} << "Model.predict takes the network's inputs: model.predict(x)";
};
template <class First, class... X>
struct WrongPredictCall<First, X...> {
  static constexpr Sentence sentence = Sentence{} << "Model.predict takes tensors, not "
                                                  << (std::is_arithmetic_v<First> ? "a number" : class_name<First>())
                                                  << ": write Tensor<float, Shape<dyn, 784>>::from(values), with the "
                                                     "shape that the network takes";
};

/// What a list of callbacks, `{LossMonitor{10}, watch}`, is converted to.
struct ListedCallbacks {
  template <class First, class... More>
  requires(std::is_class_v<First> && !is_options<First>)
  ListedCallbacks(const First&, const More&...);
};
template <class Data>
struct CallbacksInList {
  static constexpr Sentence sentence =
      Sentence{} << "callbacks follow each other without braces: model.train(2, data, LossMonitor{10}, TimeMonitor{})";
};

/// What metrics with names, or names of metrics, are converted to: `{"accuracy", nn::Accuracy{}}`, also as a map.
struct ListedMetrics {
  template <class... More>
  ListedMetrics(const char*, const More&...);
  ListedMetrics(std::initializer_list<ListedMetrics>);
};

/// The type of what is given to a Model in place of a network, or ListedMetrics.
template <class First>
struct NotANetwork {
  static constexpr Sentence say() {
    if constexpr (std::is_pointer_v<First>)
      return Sentence{} << "a Model takes the network itself, not its address: Model model{net, loss, optimizer}";
    else if constexpr (std::is_same_v<First, ListedMetrics>)
      return Sentence{} << "metrics follow each other without braces: Model model{net, loss, optimizer, "
                           "nn::Accuracy{}, nn::Named{\"hits\", nn::Accuracy{}}}";
    else if constexpr (AnyCell<First>)
      return Sentence{} << "a Model refers to its network, which must live as long: Net net; Model model{net, ...}";
    else return Sentence{} << "the first argument of a Model is a network, struct Net : nn::Cell<Net>, as a variable";
  }
  static constexpr Sentence sentence = say();
};

}  // namespace tenon::detail

namespace tenon::inline TENON_ABI {
template <class Net, class Loss, class Optimizer, ModelOptions options, class... Parts>
class Model;

/// Represents a Model whose first argument is no network, or a temporary network.
template <class First, class... Parts>
class Model<detail::NotANetwork<First>, NoLoss, NoOptimizer, ModelOptions{}, Parts...> {
  using Wrong = Mistake<detail::NotANetwork<First>>;
  static_assert(sizeof(Wrong::corrected) != 0);
#if defined(__CUDACC__)  // for the program behind it, see core/text/report.hpp
 public:
  template <class... A>
  Model(A&&...) {}
  template <class Net, class Loss, class Optimizer>
  Model(Net&, Loss, Optimizer, detail::ListedMetrics) {}
  void train(auto&&...) {}
  Broken eval(auto&&...) { return {}; }
  Broken predict(auto&&...) { return {}; }
#endif
};
template <class First, class... Parts>
requires(!std::is_lvalue_reference_v<First> && !detail::is_with_options<First>)
Model(First&&, Parts...) -> Model<detail::NotANetwork<First>, NoLoss, NoOptimizer, ModelOptions{}, Parts...>;
template <class Net, class Loss, class Optimizer>
Model(Net&, Loss, Optimizer, detail::ListedMetrics)
    -> Model<detail::NotANetwork<detail::ListedMetrics>, NoLoss, NoOptimizer, ModelOptions{}>;
}  // namespace tenon
