// Model: a network, a loss, and an optimizer, trained and evaluated on data sets.
#pragma once
#include <array>
#include <cmath>

#include <tenon/core/spread.hpp>
#include <tenon/io/safetensors.hpp>
#include <tenon/nn/metric/metric.hpp>
#include <tenon/train/busy.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/checked.hpp>
#include <tenon/train/clock.hpp>
#include <tenon/train/eval_result.hpp>
#include <tenon/train/parts.hpp>
#include <tenon/train/step_runner.hpp>

namespace tenon::inline TENON_ABI {

/// What callbacks get: RunInfo and the model itself, to evaluate or save it.
template <class M>
struct Run : RunInfo {
  M& model;
  explicit Run(M& m) : model(m) {}
};

/// A network with what trains and judges it.
///
/// net        a cell; the Model refers to it, so it must live as long. Its parameters are bound and initialised here
/// loss       a cell of (prediction, label), or NoLoss when the network returns the loss itself from all columns of a
///            row. Either may return a std::tuple of losses: their sum is trained, RunInfo::net_outputs has each of
///            them
/// optimizer  nn::Momentum, ..., or NoOptimizer. Throws ValueError, KeyError, RuntimeError for its numbers and groups
/// parts      metrics for eval(), and, for mixed precision, amp<AmpLevel::O2> and a loss scale manager (train/amp.hpp),
///            in any order
///
/// The mode of the context at construction decides how steps run, for the life of the Model: as one compiled graph, or
/// operator by operator. Both give the same bits. Errors in shapes are compile errors at train(), eval(), and
/// predict().
///
/// Threads may share a Model to predict(), also with different inputs and batch sizes; each gets the bits that it would
/// get alone. train(), eval(), and all that writes parameters (loading a checkpoint, set_data(), replacing a part) want
/// the Model and its network for themselves: begin after the predictions of other threads, let them go on after the
/// end. A network serves several Models in that way, too.
template <class Net, class Loss, class Optimizer, ModelOptions options, class... Parts>
class Model {
  static constexpr bool has_loss = !std::is_same_v<Loss, NoLoss>;
  static constexpr bool trains = !std::is_same_v<Optimizer, NoOptimizer>;
  static constexpr bool are_metrics =
                            ((nn::Metric<Parts> || detail::is_precision<Parts> || std::is_same_v<Parts, AmpLevel>) &&
                             ...),
                        is_optimizer = !trains || nn::Optimizer<Optimizer>;
  static constexpr bool is_loss =
      !has_loss || !(nn::Optimizer<Loss> || nn::Metric<Loss> || std::is_same_v<Loss, NoOptimizer>);
  static constexpr int scales = (int(detail::is_loss_scale<Parts>) + ... + int(detail::is_loss_scale<Optimizer>)),
                       levels = (int(detail::is_precision<Parts>) + ... + 0) - scales;
  static constexpr bool scale_has_optimizer = scales == 0 || (trains && !detail::is_loss_scale<Optimizer>),
                        one_of_each = scales < 2 && levels < 2;
  static constexpr bool is_level = !(detail::PartOfPrecision<Parts>::automatic || ...);
  static constexpr bool is_network = std::is_base_of_v<nn::Cell<std::remove_const_t<Net>>, Net>,
                        no_bare_level = !(std::is_same_v<Parts, AmpLevel> || ...);
  static_assert(is_network, "the first argument of a Model is a network: struct Net : nn::Cell<Net>, with its own name "
                            "as the base's argument");
  static_assert(no_bare_level, "an amp level is a template argument: Model model{net, ..., amp<AmpLevel::O2>}");
  static_assert(
      is_level,
      "amp<AmpLevel::automatic> is for devices with a choice of their own, the CPU has none: write amp<AmpLevel::O2>");
  static_assert(scale_has_optimizer, "a loss scale manager of a Model needs an optimizer in front of it: Model "
                                     "model{net, loss, optimizer, DynamicLossScaleManager{}}");
  static_assert(one_of_each, "a Model takes one amp level and one loss scale manager");
  static_assert(
      is_loss,
      "the second argument of a Model is a loss, such as nn::MSELoss{}; use NoLoss{} if the network returns it");
  static_assert(are_metrics, "a metric of a Model needs name, clear(), update(prediction, label) or update(loss), and "
                             "eval(), which returns a number");
  static_assert(is_optimizer || !scale_has_optimizer,
                "the third argument of a Model is an optimizer, such as nn::Momentum{...}, or NoOptimizer{} for a "
                "Model that only evaluates; nn/optim/optimizer.hpp says what one has");

 public:
  using network_type = Net;
  using runner_type = detail::StepRunner<Net, Loss, Optimizer, options, detail::precision_of<Parts...>(trains)>;

  explicit Model(Net& net) : Model(net, Loss{}, Optimizer{}) {}
  Model(Net& net, Loss loss) : Model(net, std::move(loss), Optimizer{}) {}
  [[gnu::noinline]] Model(Net& net, Loss loss, Optimizer optimizer, Parts... parts)
      : net_(&net),
        optimizer_(std::move(optimizer)),
        runner_(net, optimizer_, get_context().mode, detail::loss_scale_of<precision>(optimizer_, parts...)),
        metrics_(detail::metrics_among<Parts...>(std::move(parts)...)) {
    detail::check_loss(loss);
  }
  template <ModelOptions o, class... More>
  Model(WithOptions<o>, Net& net, More... parts) : Model(net, std::move(parts)...) {}

  /// Trains for a number of epochs. Events reach the callbacks in MindSpore's order: begin, (epoch_begin, (step_begin,
  /// step, step_end)*, epoch_end)*, end. The optimizer's state, the step, and the order of a shuffled data set go on
  /// where the last train() of this Model ended.
  ///
  /// data       batched, with two columns (data and label) if there is a loss function
  /// callbacks  objects with hooks, ranges of AnyCallback, observers. TrainOptions may stand anywhere among them, or,
  ///            as {.dataset_sink_mode = true}, in front of them
  /// throws     ValueError for epochs < 1, empty data, a number among the network's members that was changed, a class
  ///            number that the prediction does not have and a batch too small for a BatchNorm (before the step runs),
  ///            an index that a table does not have (before it is used); RuntimeError with epoch and step when a loss
  ///            is not finite (the update of that step is done by then), unless a loss scale skipped the update, and
  ///            after 1000 skipped ones in a row; RuntimeError if a callback of train() calls train(), or while another
  ///            thread trains or evaluates this Model; what a hook throws ends the run, without end()
  // `auto`, though it is void: to find that out, an editor looks into the call and shows what is wrong (clangd).
  template <dataset::Dataset Data, class... Callbacks>
  auto train(long epochs, const Data& data, Callbacks&&... callbacks) {
    // Asked before all else, and here, not in a function: so a compiler goes from the user's call to construct in one
    // step, and prints few lines for an ordinary error in there (7 with g++; from a function it takes 20).
    if constexpr (!has_loss) static_cast<void>(detail::TakesAll<Net, precision, typename Data::columns>::value);
    else
      static_cast<void>(requires(const Net& net, const detail::FirstColumn<Data, precision>& x) { net.construct(x); });
    using Checked = CheckedTrain<Data, Callbacks...>;
    if constexpr (!Checked::ok) {
      using Wrong = Mistake<Checked>;
      static_cast<void>(Wrong::corrected);
    } else {
      if (epochs < 1) throw_error<ValueError>("Model.train: epoch must be 1 or more, got ", epochs, ".");
      check_size("Model.train", data.size());
      auto rows = data.open();
      run_epochs<typename Data::columns>(
          epochs, data.size(), [&](std::uint64_t epoch) { rows.start(epoch); },
          [&](const auto*& row) { row = rows.next(); }, callbacks...);
    }
  }
  template <dataset::Dataset Data, class... Callbacks>
  auto train(long epochs, const Data& data, TrainOptions, Callbacks&&... callbacks) {
    train(epochs, data, std::forward<Callbacks>(callbacks)...);
  }
  template <dataset::Dataset Data>
  auto train(long, const Data&, detail::ListedCallbacks) {
    return report<detail::CallbacksInList<Data>>();
  }
  template <class... A>
  requires(!detail::is_train_call<A...>)
  auto train(A&&...) {
    using Wrong = Mistake<detail::WrongTrainCall<A...>>;
    static_cast<void>(Wrong::corrected);
  }

  /// Runs all batches in evaluation and returns the metrics, which are cleared first. Events: begin, (step_begin, step,
  /// step_end, the metrics' update)*, end. Callbacks of a training may call it: nothing of the training changes.
  ///
  /// A metric of predictions gets the last output and the last column of the row, a metric of the loss the first
  /// output. A metric with more than one number is not among the results: model.metric<M>() has it.
  /// throws     ValueError for empty data, or a class number or index as in train(); RuntimeError if a callback of
  ///            eval() calls eval(), or while another thread trains or evaluates this Model
  template <dataset::Dataset Data, class... Callbacks>
  auto eval(const Data& data, Callbacks&&... callbacks) {
    // As in train().
    if constexpr (!has_loss) static_cast<void>(detail::TakesAll<Net, precision, typename Data::columns>::value);
    else
      static_cast<void>(requires(const Net& net, const detail::FirstColumn<Data, precision>& x) { net.construct(x); });
    using Checked = CheckedEval<Data, Callbacks...>;
    EvalResult result;
    if constexpr (!Checked::ok) {
      using Wrong = Mistake<Checked>;
      static_cast<void>(Wrong::corrected);
    } else {
      check_size("Model.eval", data.size());
      auto rows = data.open();
      rows.start(0);
      run_evaluation<typename Data::columns>(
          result, data.size(), [&](const auto*& row) { row = rows.next(); }, callbacks...);
    }
    return result;
  }
  template <dataset::Dataset Data, class... Callbacks>
  auto eval(const Data& data, TrainOptions, Callbacks&&... callbacks) {
    return eval(data, std::forward<Callbacks>(callbacks)...);
  }
  template <class... A>
  requires(!detail::is_eval_call<A...>)
  auto eval(A&&...) {
    using Wrong = Mistake<detail::WrongEvalCall<A...>>;
    static_cast<void>(Wrong::corrected);
    return EvalResult{};
  }

  /// The network's output for inputs, in evaluation: a tensor, or a tuple if construct returns one.
  /// Several threads may call it at the same time. Throws ValueError if the inputs' batch sizes differ, for an index
  /// out of range, and if a number among the network's members was changed; RuntimeError if another thread trains this
  /// Model.
  template <class... X>
  requires(sizeof...(X) == 0 || !(detail::is_tensor<X> && ...))
  auto predict(const X&...) const {
    using Wrong = Mistake<detail::WrongPredictCall<X...>>;
    return Wrong::corrected;
  }
  template <class... X>
  requires(sizeof...(X) > 0 && (detail::is_tensor<X> && ...))
  auto predict(const X&... x) const {
    static_cast<void>(
        requires(const Net& net, const detail::TracedAs<X, precision>&... traced) { net.construct(traced...); });
    using Graph = PredictGraph<X...>;
    if constexpr (!CheckedPredict<X...>::ok) {
      using Wrong = Mistake<Graph>;
      return Wrong::corrected;
    } else {
      typename detail::OutputTensors<Graph>::type result;
      const long n = detail::batch_size_of(x...);
      if constexpr (detail::is_tensor<decltype(result)>) {
        result = decltype(result)::empty(n);
        predict_into(result, x...);
      } else {
        detail::spread([&](auto&... one) { ((one = std::remove_cvref_t<decltype(one)>::empty(n)), ...); }, result);
        detail::spread([&](auto&... one) { predict_into(std::tie(one...), x...); }, result);
      }
      return result;
    }
  }
  /// The same into tensors of the caller, without a copy of its own: `predict_into(result, x)`, or std::tie(a, b) for
  /// several. Throws ValueError if a result has another batch size than the inputs.
  template <class Result, class... X>
  void predict_into(Result&& result, const X&... x) const {
    using Graph = PredictGraph<X...>;
    if constexpr (!CheckedPredict<X...>::ok) {
      using Wrong = Mistake<Graph>;
      static_cast<void>(Wrong::corrected);
    } else if constexpr (detail::is_tensor<std::remove_cvref_t<Result>>) write_results<Graph>(std::tie(result), x...);
    else detail::spread([&](auto&... one) { write_results<Graph>(std::tie(one...), x...); }, result);
  }

  Mode mode() const { return runner_.mode(); }
  Net& network() { return *net_; }
  /// The optimizer; its numbers may be changed between steps, its groups may not.
  Optimizer& optimizer() { return optimizer_; }
  /// A metric as the last eval() left it, for results that are more than one number.
  template <class M>
  const M& metric() const {
    return std::get<M>(metrics_);
  }
  /// Steps trained so far.
  long global_step() const { return runner_.state().step(); }
  /// The optimizer's moments, named as in MindSpore's checkpoints: "moments.conv1.weight". The views are valid as long
  /// as the Model.
  std::vector<io::NamedTensor> optimizer_state() const {
    using Layout = StateLayout<Net, Optimizer>;
    std::vector<io::NamedTensor> result;
    if constexpr (trains)
      for (int s = 0; s < Optimizer::slots; ++s)
        for (int e = 0; e < Layout::entries; ++e) {
          if (!Layout::table.numbers[e]) continue;
          const Entry* table = Structure<Net>::table.entry;
          result.push_back({text(Optimizer::slot_names[s], ".", parameter_name(table, e)),
                            AnyTensor(table[e].dims, 1, runner_.state().data() + Layout::table.slot[e][s])});
        }
    return result;
  }

 private:
  static constexpr Precision precision = detail::precision_of<Parts...>(trains);
  using Runner = runner_type;
  using Metrics = detail::MetricsAmong<Parts...>;

  template <class Data, class... C>
  using CheckedTrain = detail::CheckedTrain<Runner, Run<Model>, Data, std::remove_reference_t<C>...>;
  template <class Data, class... C>
  using CheckedEval = detail::CheckedEval<Runner, Metrics, Run<Model>, Data, std::remove_reference_t<C>...>;
  template <class... X>
  using PredictGraph = typename Runner::template PredictGraph<X...>;
  template <class... X>
  using CheckedPredict = detail::CheckedGraph<PredictGraph<X...>, options>;

  static void check_size(const char* what, long batches) {
    if (batches == 0) throw_error<ValueError>(what, ": there is no valid data in the data set: it has no batch.");
  }
  // A run, with hands on the data set instead of its type: compiled once for all data sets with these columns.
  template <class Columns>
  using NextRow = FunctionRef<const dataset::Row<Columns>*&>;
  template <class Columns, class... Callbacks>
  [[gnu::noinline]] void run_epochs(long epochs, long batches, FunctionRef<std::uint64_t> start_rows,
                                    NextRow<Columns> next_row, Callbacks&... callbacks) {
    evaluating_.refuse_others("Model.train");  // asked before, so as not to disturb it, and behind: it may begin now
    const detail::Busy busy(training_);
    evaluating_.refuse_others("Model.train");
    runner_.bind();
    Run<Model> run(*this);
    run.mode = mode();
    run.epoch_num = epochs;
    run.batch_num = batches;
    detail::CallbackList<Run<Model>, Callbacks...> list(run, callbacks...);
    const dataset::Row<Columns>* row;
    list.begin();
    for (long epoch = 1; epoch <= run.epoch_num; ++epoch) {
      run.cur_epoch_num = epoch;
      const double start = detail::now();
      list.epoch_begin();
      start_rows(std::uint64_t(epochs_++));
      while (next_row(row), row) {
        ++run.cur_step_num;
        list.step_begin();
        const double step_start = detail::now();
        runner_.train(*row, Columns{}, optimizer_, run, train_outputs_);
        run.net_outputs = train_outputs_.views();
        run.step_seconds = detail::now() - step_start;
        check_finite(run);
        list.step_end();
        if (run.stop_requested) break;
      }
      run.epoch_seconds = detail::now() - start;
      list.epoch_end();
      if (run.stop_requested) break;
    }
    list.end();
  }
  template <class Columns, class... Callbacks>
  [[gnu::noinline]] void run_evaluation(EvalResult& result, long batches, NextRow<Columns> next_row,
                                        Callbacks&... callbacks) {
    training_.refuse_others("Model.eval");  // twice, as in run_epochs
    const detail::Busy busy(evaluating_);
    training_.refuse_others("Model.eval");
    runner_.bind();
    Run<Model> run(*this);
    run.mode = mode();
    run.training = false;
    run.batch_num = batches;
    detail::CallbackList<Run<Model>, Callbacks...> list(run, callbacks...);
    detail::spread([](auto&... m) { (m.clear(), ...); }, metrics_);
    const dataset::Row<Columns>* row;
    list.begin();
    while (next_row(row), row) {
      ++run.cur_step_num;
      list.step_begin();
      const double step_start = detail::now();
      runner_.eval(*row, Columns{}, run, eval_outputs_);
      run.net_outputs = eval_outputs_.views();
      run.step_seconds = detail::now() - step_start;
      list.step_end();
      const AnyTensor label = (*row)[dataset::Row<Columns>::count - 1];
      detail::spread([&](auto&... m) { (detail::update_metric(m, eval_outputs_.views(), label), ...); }, metrics_);
      if (run.stop_requested) break;
    }
    detail::spread([&](auto&... m) { (detail::add_metric(result, m), ...); }, metrics_);
    run.metrics = &result;
    list.end();
  }

  // `results` is a tuple of references to tensors, one per output.
  template <class Graph, class... R, class... X>
  void write_results(const std::tuple<R&...>& results, const X&... x) const {
    using Wanted = typename detail::OutputTensors<Graph>::type;
    constexpr bool fits =
        std::is_same_v<Wanted, std::tuple<R...>> || std::is_same_v<std::tuple<Wanted>, std::tuple<R...>>;
    static_assert(fits, "predict_into: the results must have the types that predict returns: auto result = "
                        "model.predict(x); model.predict_into(result, x);");
    if constexpr (fits) {
      training_.refuse_others("Model.predict");
      const long n = detail::batch_size_of(x...);
      const auto check = [&](const auto& one) {
        if (one.count() != std::remove_cvref_t<decltype(one)>::dims.count(n))
          throw_error<ValueError>("Model.predict_into: a result has the shape ", shape_text(one.view().shape()),
                                  ", the inputs' batch size is ", n, ": make it with empty(n).");
      };
      detail::spread([&](const auto&... one) { (check(one), ...); }, results);
      const auto into =
          detail::spread([](auto&... one) { return std::array<void*, sizeof...(R)>{one.data()...}; }, results);
      runner_.predict(into.data(), n, x...);
    }
  }

  [[gnu::noinline]] static void check_finite(const RunInfo& run) {
    if (run.overflow) return;  // nothing came of it, and the loss scale counts how often
    for (const AnyTensor& output : run.net_outputs)
      if (const double loss = mean_of(output); !std::isfinite(loss))
        throw_error<RuntimeError>("Model.train: the loss is ", std::isnan(loss) ? "NaN" : "infinite", " at epoch ",
                                  run.cur_epoch_num, ", step ", run.step_in_epoch(), " (global step ", run.cur_step_num,
                                  "). Lower the learning rate, or look for bad input.");
  }
  Net* net_;
  Optimizer optimizer_;
  Runner runner_;
  Metrics metrics_;
  detail::StepOutputs train_outputs_, eval_outputs_;
  long epochs_ = 0;  // since construction: shuffled data goes on with new orders
  detail::RunningThread training_{"Model.train"}, evaluating_{"Model.eval"};
};

template <class Net>
Model(Net&) -> Model<Net, NoLoss, NoOptimizer, ModelOptions{}>;
template <class Net, class Loss>
Model(Net&, Loss) -> Model<Net, Loss, NoOptimizer, ModelOptions{}>;
template <class Net, class Loss, class Optimizer, class... Metrics>
Model(Net&, Loss, Optimizer, Metrics...) -> Model<Net, Loss, Optimizer, ModelOptions{}, Metrics...>;
template <ModelOptions o, class Net>
Model(WithOptions<o>, Net&) -> Model<Net, NoLoss, NoOptimizer, o>;
template <ModelOptions o, class Net, class Loss>
Model(WithOptions<o>, Net&, Loss) -> Model<Net, Loss, NoOptimizer, o>;
template <ModelOptions o, class Net, class Loss, class Optimizer, class... Metrics>
Model(WithOptions<o>, Net&, Loss, Optimizer, Metrics...) -> Model<Net, Loss, Optimizer, o, Metrics...>;

}  // namespace tenon
