// Model: a network, a loss, and an optimizer, trained and evaluated on data sets.
#pragma once
#include <array>

#include <tenon/core/spread.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/eval_result.hpp>
#include <tenon/train/step/busy.hpp>
#include <tenon/train/step/checked.hpp>
#include <tenon/train/step/clock.hpp>
#include <tenon/train/step/parts.hpp>
#include <tenon/train/step/predict_data.hpp>
#include <tenon/train/step/run.hpp>
#include <tenon/train/step/step_runner.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// A network with its loss, optimizer, and metrics.
///
/// net        a cell; the Model refers to it, so it must live as long. The Model binds and initialises its parameters
/// loss       a cell of (prediction, label): the last column of a row is the label, the others are the inputs of the
///            network. Or NoLoss when the network returns the loss itself from all columns. Both may return a
///            std::tuple of losses: training uses their sum, and RunInfo::net_outputs has each loss
/// optimizer  nn::Momentum, ..., or NoOptimizer. Throws ValueError, KeyError, RuntimeError for its numbers and groups
/// parts      metrics for eval(), and, for mixed precision, amp<AmpLevel::O2> and a loss scale manager (train/amp.hpp),
///            in any order
///
/// The mode of the context at construction decides how steps run, for the life of the Model: as one compiled graph, or
/// operator by operator. Both give the same bits. Errors in shapes are compile errors at train(), eval(), and
/// predict().
///
/// Several threads may call predict() of one Model, also with different inputs and batch sizes; each thread gets the
/// same bits as alone. train(), eval(), and everything that writes parameters (loading a checkpoint, set_data(),
/// replacing a part) need exclusive access to the Model and its network: no prediction of another thread may run at the
/// same time. Several Models may share a network under the same rules.
template <class Net, class Loss, class Optimizer, ModelOptions options, class... Parts>
class Model {
  static constexpr bool has_loss = !std::is_same_v<Loss, NoLoss>;
  static constexpr bool trains = !std::is_same_v<Optimizer, NoOptimizer>;
  static constexpr bool are_metrics =
                            ((nn::Metric<Parts> || detail::is_no_metric<Parts> || std::is_same_v<Parts, AmpLevel>) &&
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
  static_assert(detail::is_sound_cell<std::remove_const_t<Net>>);
  static_assert(no_bare_level, "an amp level is a template argument: Model model{net, ..., amp<AmpLevel::O2>}");
  static_assert(
      is_level,
      "amp<AmpLevel::automatic> is for devices with a choice of their own, the CPU has none: write amp<AmpLevel::O2>");
  static_assert(scale_has_optimizer, "a loss scale manager of a Model needs an optimizer before it: Model "
                                     "model{net, loss, optimizer, DynamicLossScaleManager{}}");
  static_assert(one_of_each, "a Model takes one amp level and one loss scale manager");
  static_assert(
      is_loss,
      "the second argument of a Model is a loss, such as nn::MSELoss{}; use NoLoss{} if the network returns it");
  static_assert(are_metrics, "a metric of a Model needs name, clear(), update(prediction, label) or update(loss), and "
                             "eval(), which returns a number");
  static_assert(is_optimizer || !scale_has_optimizer || !is_loss,
                "the third argument of a Model is an optimizer, such as nn::Momentum{...}, or NoOptimizer{} for a "
                "Model that only evaluates; nn/optim/optimizer.hpp says what one has");

  // Else nothing more is said of its calls.
  static constexpr bool is_right = [] {
    if constexpr (!is_network) return false;
    else
      return detail::CheckedCell<std::remove_const_t<Net>>::ok && no_bare_level && is_level && scale_has_optimizer &&
             one_of_each && is_loss && are_metrics && is_optimizer;
  }();

  static constexpr MixedPrecision precision = detail::precision_of<Parts...>(trains);
  using Parallel = typename detail::ParallelAmong<Parts...>::type;
  using Runner = detail::StepRunner<Net, Loss, Optimizer, options, precision, Parallel>;
  using Metrics = detail::MetricsAmong<Parts...>;
  template <class Data>
  using FirstColumn = detail::FirstColumn<Data, precision>;
  template <class Data, class... C>
  using CheckedTrain = detail::CheckedTrain<Runner, Run<Model>, Data, std::remove_reference_t<C>...>;
  template <class Data, class... C>
  using CheckedEval = detail::CheckedEval<Runner, Metrics, Run<Model>, Data, std::remove_reference_t<C>...>;
  template <class... X>
  using PredictGraph = typename Runner::template PredictGraph<X...>;
  template <class... X>
  using CheckedPredict = detail::CheckedGraph<PredictGraph<X...>, options>;
  template <class X>
  using LookedAtInput = detail::TracedAs<std::enable_if_t<is_right && !std::is_void_v<X>, X>, precision>;
  template <class Data>
  using LookedAt = detail::LookedAt<has_loss, std::conditional_t<is_right, Data, void>, precision>;

 public:
  using network_type = Net;
  using runner_type = Runner;
  static constexpr bool shares_training = !std::is_same_v<Parallel, detail::OneProcess>;
  static constexpr bool has_slices = tenon::has_slices<Net>, has_ranks = shares_training || has_slices;

  explicit Model(Net& net) : Model(net, Loss{}, Optimizer{}) {}
  Model(Net& net, Loss loss) : Model(net, std::move(loss), Optimizer{}) {}
  [[gnu::noinline]] Model(Net& net, Loss loss, Optimizer optimizer, Parts... parts)
      : net_(&net),
        optimizer_(std::move(optimizer)),
        runner_(net, optimizer_, get_context().mode, detail::loss_scale_of<precision>(optimizer_, parts...),
                detail::parallel_among(parts...)),
        metrics_(detail::metrics_among<Parts...>(std::move(parts)...)) {
    detail::check_loss(loss);
    if constexpr (!detail::has_products<precision>) detail::tell_of_slow_products(precision.values);
  }
  template <ModelOptions o, class... More>
  Model(WithOptions<o>, Net& net, More... parts) : Model(net, std::move(parts)...) {}

  /// Trains for a number of epochs. Events reach the callbacks in MindSpore's order: begin, (epoch_begin, (step_begin,
  /// step, step_end)*, epoch_end)*, end. The optimizer's state, the step, and the order of a shuffled data set continue
  /// where the last train() of this Model ended.
  ///
  /// data       batched; with a loss function its columns are the inputs of construct, then the label
  /// callbacks  objects with hooks, ranges of AnyCallback, observers. TrainOptions may be anywhere among them, or, as
  ///            {.dataset_sink_mode = true}, before them
  /// throws     ValueError for epochs < 1, empty data, a network of which requires_grad(false) has frozen every
  ///            parameter, a changed number among its members, a class number out of range or a batch too small for a
  ///            BatchNorm (before the step runs), an index outside of a table (before it is used), and, after the hooks
  ///            of the end, a loss that is not finite unless a loss scale skipped the update (the message states which
  ///            weights the network has); RuntimeError after 1000 skipped updates in a row, if a callback of train()
  ///            calls train(), or while another thread trains or evaluates this Model. An exception of a hook ends the
  ///            run, without end()
  // `auto`, though it is void: to find that out, an editor looks into the call and shows what is wrong (clangd).
  template <dataset::Dataset Data, class... Callbacks, class = void, bool = true, class = void>
  auto train(long epochs, const Data& data, Callbacks&&... callbacks) {
    using Checked = CheckedTrain<Data, Callbacks...>;
    if constexpr (!is_right) return;
    else if constexpr (!Checked::ok) {
      using Wrong = Mistake<Checked>;
      if constexpr (has_loss && detail::stops<Net, FirstColumn<Data>>(Checked::sentence)) [[maybe_unused]]
        constexpr bool here = detail::stops_here<Net, FirstColumn<Data>>(static_cast<Wrong*>(nullptr));
      static_cast<void>(Wrong::corrected);
    } else {
      if (!check_run("Model.train", epochs, data)) return;
      auto rows = detail::opened(gathers_on(), data, callbacks...);
      run_epochs<typename Data::columns>(
          epochs, data.size(), [&](std::uint64_t epoch, long row) { detail::start_rows(rows, epoch, row); },
          [&](const auto*& row) { row = rows.next(); }, {}, callbacks...);
    }
  }
  // Calls with a mistake, declared only, as in nn::Cell.
  template <dataset::Dataset Data, class... Callbacks, class N = Net,
            bool = requires(const N& net, const typename LookedAt<Data>::first& x) { net.construct(x); } ||
                   detail::TakesAll<N, precision, typename LookedAt<Data>::all>::value,
            class Wrong = typename LookedAt<Data>::template Refusal<N, CheckedTrain<Data, Callbacks...>>>
  requires(!std::is_void_v<Wrong>)
  auto train(long epochs, const Data& data, Callbacks&&... callbacks);
  template <dataset::Dataset Data, class... Callbacks>
  auto train(long epochs, const Data& data, TrainOptions, Callbacks&&... callbacks) {
    train(epochs, data, std::forward<Callbacks>(callbacks)...);
  }

  /// Runs all batches in evaluation and returns the metrics, which are cleared first. Events: begin, (step_begin, step,
  /// step_end, the metrics' update)*, end. Callbacks of a training may call it; this does not change the training.
  ///
  /// A metric of predictions gets the output and the last column of the row, a metric of the loss the loss. If the
  /// network returns several outputs, nn::for_output says which one a metric is for; with NoLoss it gets the last. A
  /// metric with more than one number is not among the results; model.metric<M>() returns it.
  /// throws     ValueError for empty data, or a class number or index as in train(); RuntimeError if a callback of
  ///            eval() calls eval(), or while another thread trains or evaluates this Model
  template <dataset::Dataset Data, class... Callbacks, class = void, bool = true, class = void>
  auto eval(const Data& data, Callbacks&&... callbacks) {
    using Checked = CheckedEval<Data, Callbacks...>;
    EvalResult result;
    if constexpr (!is_right) return result;
    else if constexpr (!Checked::ok) {
      using Wrong = Mistake<Checked>;
      if constexpr (has_loss && detail::stops<Net, FirstColumn<Data>>(Checked::sentence)) [[maybe_unused]]
        constexpr bool here = detail::stops_here<Net, FirstColumn<Data>>(static_cast<Wrong*>(nullptr));
      static_cast<void>(Wrong::corrected);
    } else {
      detail::check_size("Model.eval", data.size());
      auto rows = detail::opened(gathers_on(), data, callbacks...);
      rows.start(0);
      run_evaluation<typename Data::columns>(
          result, data.size(), [&](const auto*& row) { row = rows.next(); }, nullptr, {}, callbacks...);
    }
    return result;
  }
  template <dataset::Dataset Data, class... Callbacks, class N = Net,
            bool = requires(const N& net, const typename LookedAt<Data>::first& x) { net.construct(x); } ||
                   detail::TakesAll<N, precision, typename LookedAt<Data>::all>::value,
            class Wrong = typename LookedAt<Data>::template Refusal<N, CheckedEval<Data, Callbacks...>>>
  requires(!std::is_void_v<Wrong>)
  auto eval(const Data& data, Callbacks&&... callbacks);
  template <dataset::Dataset Data, class... Callbacks>
  auto eval(const Data& data, TrainOptions, Callbacks&&... callbacks) {
    return eval(data, std::forward<Callbacks>(callbacks)...);
  }

  /// Trains like train(), and evaluates like eval() after the steps of an epoch: after every epoch, or after the epochs
  /// of `{.valid_frequency = 2}` or `{.valid_frequency = {1, 5, 10}}`, given before the callbacks. In the epoch_end of
  /// that epoch, run.eval_results has the results, with the mean loss under "eval_loss". MindSpore's Model.fit; only
  /// on_eval_* hooks are called for the evaluations, while MindSpore refuses callbacks with other hooks.
  /// throws     as train() and eval(); ValueError for a frequency or an epoch below 1, and for two metrics of one name
  template <dataset::Dataset Data, dataset::Dataset Valid, class... Callbacks>
  auto fit(long epochs, const Data& data, const Valid& valid, FitOptions how, Callbacks&&... callbacks) {
    using Trains = CheckedTrain<Data, Callbacks...>;
    using Evaluates = CheckedEval<Valid, Callbacks...>;
    if constexpr (!Trains::ok) {
      using Wrong = Mistake<Trains>;
      static_cast<void>(Wrong::corrected);
    } else if constexpr (!Evaluates::ok) {
      using Wrong = Mistake<Evaluates>;
      static_cast<void>(Wrong::corrected);
    } else {
      if (!check_run("Model.fit", epochs, data)) return;
      detail::check_size("Model.fit", valid.size());
      MonitoredNames names{{"eval_loss", "loss"}};
      add_metric_names(names);
      detail::check_names(names);
      auto rows = detail::opened(gathers_on(), data, callbacks...);
      auto valid_rows = detail::opened(gathers_on(), valid);
      EvalResult result;
      run_epochs<typename Data::columns>(
          epochs, data.size(), [&](std::uint64_t epoch, long row) { detail::start_rows(rows, epoch, row); },
          [&](const auto*& row) { row = rows.next(); },
          [&](RunInfo& run) {
            if (!how.valid_frequency.includes(run.cur_epoch_num)) return;
            result = EvalResult();
            valid_rows.start(0);
            run_evaluation<typename Valid::columns>(
                result, valid.size(), [&](const auto*& row) { row = valid_rows.next(); }, &run, how.eval_loss,
                callbacks...);
            run.eval_results = &result;
          },
          callbacks...);
    }
  }
  template <dataset::Dataset Data, dataset::Dataset Valid, class... Callbacks>
  auto fit(long epochs, const Data& data, const Valid& valid, Callbacks&&... callbacks) {
    fit(epochs, data, valid, FitOptions{}, std::forward<Callbacks>(callbacks)...);
  }

  /// The network's output for inputs, in evaluation: a tensor, or a tuple if construct returns one. Several threads may
  /// call it at the same time. Throws ValueError if the inputs' batch sizes differ, for an index out of range, and for
  /// a changed number among the network's members; RuntimeError if another thread trains this Model.
  template <class... X, class = void, bool = true, class = void>
  requires detail::Tensors<X...>
  auto predict(const X&... x) const {
    using Graph = PredictGraph<X...>;
    if constexpr (!is_right) return Broken{};
    else if constexpr (!CheckedPredict<X...>::ok) {
      using Wrong = Mistake<Graph>;
      if constexpr (detail::stops<Net, detail::TracedAs<X, precision>...>(Graph::sentence)) [[maybe_unused]]
        constexpr bool here = detail::stops_here<Net, detail::TracedAs<X, precision>...>(static_cast<Wrong*>(nullptr));
      return Wrong::corrected;
    } else {
      auto result = detail::empty_results<Graph>(detail::batch_size_of(x...));
      predict_into(result, x...);
      return result;
    }
  }
  template <class... X, class N = Net,
            bool = requires(const N& net, const LookedAtInput<X>&... x) { net.construct(x...); },
            class Wrong = typename detail::PredictRefusal<is_right, Runner, N, precision, X...>::type>
  requires(detail::Tensors<X...> && !std::is_void_v<Wrong>)
  auto predict(const X&... x) const;
  /// The same for all rows of a batched data set; construct receives as many of the first columns as it has parameters.
  template <dataset::Dataset Data>
  auto predict(const Data& data) const {
    detail::check_size("Model.predict", data.size());
    using Columns = typename Data::columns;
    return detail::predicted_rows<detail::taken_columns<Net, precision, Columns::count>(Columns())>(
        data, [&](const auto&... x) { return predict(x...); });
  }
  /// The same, written directly into tensors of the caller: `predict_into(result, x)`, or std::tie(a, b) for several.
  /// Throws ValueError if a result has another batch size than the inputs.
  template <class Result, class... X>
  void predict_into(Result&& result, const X&... x) const {
    using Graph = PredictGraph<X...>;
    if constexpr (!CheckedPredict<X...>::ok) {
      using Wrong = Mistake<Graph>;
      static_cast<void>(Wrong::corrected);
    } else if constexpr (detail::is_tensor<std::remove_cvref_t<Result>>) write_results<Graph>(std::tie(result), x...);
    else detail::spread([&](auto&... one) { write_results<Graph>(std::tie(one...), x...); }, result);
  }

  // Calls with other arguments than there are, declared only, as above. nvcc's front end needs a body.
#if defined(__CUDACC__)
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
  template <class... A>
  requires(!detail::is_fit_call<A...>)
  auto fit(A&&...) {
    using Wrong = Mistake<detail::WrongFitCall<A...>>;
    static_cast<void>(Wrong::corrected);
  }
  template <class... A>
  requires(!detail::is_eval_call<A...>)
  auto eval(A&&...) {
    using Wrong = Mistake<detail::WrongEvalCall<A...>>;
    static_cast<void>(Wrong::corrected);
    return EvalResult{};
  }
  template <class... X>
  requires(sizeof...(X) == 0 || !((detail::is_tensor<X> || dataset::Dataset<X>) && ...))
  auto predict(const X&...) const {
    using Wrong = Mistake<detail::WrongPredictCall<X...>>;
    return Wrong::corrected;
  }
#else
  template <dataset::Dataset Data, class Wrong = Mistake<detail::CallbacksInList<Data>>>
  auto train(long, const Data&, detail::ListedCallbacks);
  template <class... A, class Wrong = Mistake<detail::WrongTrainCall<A...>>>
  requires(!detail::is_train_call<A...>)
  auto train(A&&...);
  template <class... A, class Wrong = Mistake<detail::WrongFitCall<A...>>>
  requires(!detail::is_fit_call<A...>)
  auto fit(A&&...);
  template <class... A, class Wrong = Mistake<detail::WrongEvalCall<A...>>>
  requires(!detail::is_eval_call<A...>)
  auto eval(A&&...);
  template <class... X, class Wrong = Mistake<detail::WrongPredictCall<X...>>>
  requires(sizeof...(X) == 0 || !((detail::is_tensor<X> || dataset::Dataset<X>) && ...))
  auto predict(const X&...) const;
#endif

  Mode mode() const { return runner_.mode(); }
  Net& network() { return *net_; }
  /// The optimizer; its numbers may be changed between steps, its groups, and the batches of an AccumulateGradients,
  /// may not.
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
    if constexpr (shares_training) runner_.parallel().fetch_state(runner_);
    return own_state(detail::Look::change);
  }

 private:
  friend struct detail::TrainingFile;
  friend struct Run<Model>;

  // False if this process has no steps to do in the run.
  template <class Data>
  bool check_run(std::string_view what, long epochs, const Data& data) {
    bool runs = true;
    if constexpr (shares_training)
      runs = runner_.parallel().agree_on_run(runner_, what, epochs, data, optimizer_, progress_);
    if constexpr (has_slices)
      if (runs) runner_.slices().agree_on_run(runner_, what, epochs, data);
    detail::check_run(what, ParameterList(*net_), epochs, data.size());
    return runs;
  }

  // The moments that this process has.
  std::vector<io::NamedTensor> own_state(detail::Look look) const {
    return detail::named_state<Net, Optimizer>(runner_.state(), look);
  }

  [[gnu::cold]] bool add_metric_names(MonitoredNames& names) const {
    return detail::spread([&](const auto&... m) { return (detail::add_names(names, m) & ... & 1); }, metrics_);
  }

  // A run, with hands on the data set instead of its type: compiled once for all data sets with these columns.
  // `evaluate` comes at the end of an epoch of fit().
  template <class Columns, class... Callbacks>
  [[gnu::noinline]] void run_epochs(long epochs, long batches, FunctionRef<std::uint64_t, long> start_rows,
                                    detail::NextRow<Columns> next_row, FunctionRef<RunInfo&> evaluate,
                                    Callbacks&... callbacks) {
    evaluating_.refuse_others("Model.train");  // asked before, so as not to disturb it, and behind: it may begin now
    const detail::Busy busy(training_);
    evaluating_.refuse_others("Model.train");
    runner_.bind();
    train_outputs_.begin_run();
    Run<Model> run(*this, mode(), batches, &detail::views_of<Columns>);
    run.in_fit = bool(evaluate), run.epoch_num = epochs, run.program = runner_.train_program(Columns{});
    detail::CallbackList<Run<Model>, Callbacks...> list(run, callbacks...);
    detail::Running running(progress_, list);
    const bool over = !detail::tell_begin(run, list, progress_, running);
    while (progress_.epochs < run.epoch_num && !(over && progress_.steps == 0)) {
      const double start = detail::tell_epoch_begin(run, list, progress_);
      start_rows(std::uint64_t(progress_.dataset_epoch), progress_.steps);
      if (!over)
        detail::each_step<Columns>(run, next_row, list, [&](const auto& row) {
          runner_.train(row, Columns{}, optimizer_, run, train_outputs_);
          progress_.step();
          return train_outputs_.views();
        });
      if (run.diverged) break;
      run.epoch_seconds = detail::now() - start;
      const bool whole = !run.stop_requested;  // else an epoch that is left: it continues if the training is resumed
      if (evaluate) evaluate(run);
      {
        const detail::EpochEndHooks hooks(progress_);
        list.template tell<detail::EpochEnd>();
      }
      run.eval_results = nullptr;
      if (whole) progress_.end_epoch();
      if constexpr (has_ranks) run.agree_to_stop();
      if (run.stop_requested) break;
    }
    if constexpr (shares_training) runner_.parallel().end_run(runner_);
    detail::tell_end(run, list, running, ParameterList(*net_));
  }
  // `in` is the training by fit() that the evaluation belongs to, or null.
  template <class Columns, class... Callbacks>
  [[gnu::noinline]] void run_evaluation(EvalResult& result, long batches, detail::NextRow<Columns> next_row,
                                        const RunInfo* in, nn::MeanOver over, Callbacks&... callbacks) {
    training_.refuse_others("Model.eval");  // twice, as in run_epochs
    const detail::Busy busy(evaluating_);
    training_.refuse_others("Model.eval");
    runner_.bind();
    eval_outputs_.begin_run();
    Run<Model> run(*this, mode(), batches, &detail::views_of<Columns>);
    run.training = false;
    if (in) run.in_fit = true, run.epoch_num = in->epoch_num, run.cur_epoch_num = in->cur_epoch_num;
    detail::CallbackList<Run<Model>, Callbacks...> list(run, callbacks...);
    const detail::EvalWeights<decltype(list)> weights(list, ParameterList(*net_), progress_.own);
    detail::spread([](auto&... m) { (m.clear(), ...); }, metrics_);
    double losses = 0, counted = 0;
    const double start = detail::now();
    list.template tell<detail::Begin>();
    list.template tell<detail::EpochBegin>();
    detail::each_step<Columns>(
        run, next_row, list,
        [&](const auto& row) {
          runner_.eval(row, Columns{}, run, eval_outputs_);
          return eval_outputs_.views();
        },
        [&](const auto& row) {
          constexpr int columns = dataset::Row<Columns>::count, labels = Runner::label_count;
          constexpr int outputs = detail::judged_outputs<Runner, Columns>;
          detail::spread(
              [&](auto&... m) { (detail::update_metric<labels, outputs>(m, run.net_outputs, row, columns), ...); },
              metrics_);
          const double weight = over == nn::MeanOver::samples ? double(row[columns - 1].extent[0]) : 1;
          if (in) losses += weight * run.loss(), counted += weight;
        });
    run.epoch_seconds = detail::now() - start;
    detail::spread([&](auto&... m) { (detail::add_metric(result, m), ...); }, metrics_);
    run.metrics = &result;
    list.template tell<detail::EpochEnd>();
    list.template tell<detail::End>();
    if (in) result.add("eval_loss", losses / counted);
  }

  // The target that may gather the rows of a data set. Ranks look at them on the host.
  TargetId gathers_on() const { return has_ranks ? TargetId::cpu : runner_.target(); }
  // `results` is a tuple of references to tensors, one per output.
  template <class Graph, class... R, class... X>
  void write_results(const std::tuple<R&...>& results, const X&... x) const {
    constexpr bool fits = detail::takes_results<Graph, R...>;
    static_assert(fits, "predict_into: the results must have the types that predict returns: auto result = "
                        "model.predict(x); model.predict_into(result, x);");
    if constexpr (fits) {
      training_.refuse_others("Model.predict");
      const long n = detail::batch_size_of(x...);
      const detail::StepTarget scope(runner_.target());
      const auto into = detail::addresses_of(results, n);
      runner_.predict(into.data(), n, x...);
    }
  }

  Net* net_;
  Optimizer optimizer_;
  Runner runner_;
  Metrics metrics_;
  detail::StepOutputs train_outputs_, eval_outputs_;
  detail::Progress progress_;
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
TENON_INT_SIZES_END
