// Model: a network, a loss, and an optimizer, trained and evaluated on data sets.
#pragma once
#include <chrono>
#include <cmath>
#include <string>

#include <tenon/dataset/stage.hpp>
#include <tenon/nn/metric/metric.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/graphs.hpp>

namespace tenon::inline TENON_ABI {

/// Which modes a Model carries, and which passes its graphs run. A Model that is pinned to one mode contains no code of
/// the other: `Model model{pinned<Mode::graph>, net, ...}`.
struct ModelOptions {
  bool graph = true, pynative = true;
  Passes passes{};
};
template <ModelOptions options> struct WithOptions {};
/// Tag for a Model that knows one mode only.
template <Mode mode> inline constexpr WithOptions<ModelOptions{mode == Mode::graph, mode == Mode::pynative, {}}> pinned{};
/// Tag for a Model with other passes; none of them changes a bit.
template <Passes passes> inline constexpr WithOptions<ModelOptions{true, true, passes}> with_passes{};

/// Results of an evaluation by metric name: `result["accuracy"]`.
class EvalResult {
 public:
  /// Throws KeyError naming the metrics that there are.
  double operator[](std::string_view name) const {
    std::vector<std::string> names;
    for (const auto& [known, value] : values_) {
      if (known == name) return value;
      names.push_back(known);
    }
    throw KeyError(text("There is no metric '", name, "', the model has ", quoted_list(names), ".", did_you_mean(name, names)));
  }
  void add(std::string_view name, double value) { values_.emplace_back(name, value); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::vector<std::pair<std::string, double>> values_;
};

template <class Net, class Loss, class Optimizer, ModelOptions options, class... Metrics>
class Model;

/// What callbacks get: RunInfo and the model itself, to evaluate or save it.
template <class M>
struct Run : RunInfo {
  M& model;
  explicit Run(M& m) : model(m) {}
};

namespace detail {

template <class List> struct KeysOf;
template <class C> struct ColumnKey;
template <class T, int... E> struct ColumnKey<dataset::Column<T, Shape<E...>>> { using type = TypeKey<dtype_of<T>, E...>; };

/// An executor per compiled graph, made at first use.
class ExecutorCache {
 public:
  Executor& get(const Program& program) {
    for (auto& e : executors_)
      if (&e->program() == &program) return *e;
    return *executors_.emplace_back(std::make_unique<Executor>(program));
  }
  auto begin() { return executors_.begin(); }
  auto end() { return executors_.end(); }

 private:
  std::vector<std::unique_ptr<Executor>> executors_;
};

/// Calls f<Keys...>() for the columns of a data set.
template <class... C, class F>
auto with_keys(dataset::Columns<C...>, F&& f) {
  return f.template operator()<typename ColumnKey<C>::type...>();
}

inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace detail

/// A network with what trains and judges it.
///
/// net        a cell; the Model refers to it, so it must live as long. Its parameters are bound and initialised here
/// loss       a cell of (prediction, label), or NoLoss when the network returns the loss (or losses) itself
/// optimizer  nn::Momentum, ..., or NoOptimizer
/// metrics    for eval()
///
/// The mode of the context at construction decides how steps run: as one compiled graph, or operator by operator. Both
/// give the same bits. Errors in shapes are compile errors here, at train(), eval(), and predict().
template <class Net, class Loss, class Optimizer, ModelOptions options, class... Metrics>
class Model {
  static_assert((nn::Metric<Metrics> && ...), "a metric of a Model needs `name`, `clear()`, `update(prediction, label)` or `update(loss)`, and `eval()`");
  static constexpr bool trains = !std::is_same_v<Optimizer, NoOptimizer>;

 public:
  using network_type = Net;

  explicit Model(Net& net) : Model(net, Loss{}, Optimizer{}) {}
  Model(Net& net, Loss loss) : Model(net, std::move(loss), Optimizer{}) {}
  Model(Net& net, Loss loss, Optimizer optimizer, Metrics... metrics)
      : net_(&net), loss_(std::move(loss)), optimizer_(std::move(optimizer)), metrics_(std::move(metrics)...), mode_(get_context().mode),
        state_(StateLayout<Net, Optimizer>::table.bytes, get_context().seed) {
    if constexpr (!options.graph) mode_ = Mode::pynative;
    if constexpr (!options.pynative) mode_ = Mode::graph;
    ParameterList(net).bind();
  }
  template <ModelOptions o>
  Model(WithOptions<o>, Net& net, Loss loss, Optimizer optimizer, Metrics... metrics) : Model(net, std::move(loss), std::move(optimizer), std::move(metrics)...) {}
  template <ModelOptions o>
  Model(WithOptions<o>, Net& net) : Model(net) {}

  /// Trains for a number of epochs. Events reach the callbacks in MindSpore's order: begin, (epoch_begin, (step_begin,
  /// step, step_end)*, epoch_end)*, end. Throws RuntimeError with epoch and step when the loss is not finite.
  template <dataset::Dataset Data, class... Callbacks>
  void train(long epochs, const Data& data, Callbacks&&... callbacks) {
    static_assert(trains, "this Model has no optimizer: give it one to train it");
    static_assert((Callback<Callbacks, Run<Model>> && ...),
                  "a callback has at least one of begin, epoch_begin, step_begin, step_end, epoch_end, end, each with one parameter for the run; check their spelling");
    static_assert(Data::batched, "this data set has no batches: append | dataset::batch(32)");
    if (epochs < 1) throw ValueError(text("Model.train: epoch must be 1 or more, got ", epochs, "."));
    if (data.size() == 0) throw ValueError("Model.train: there is no valid data in the data set: it has no batch.");
    using Keys = typename Data::columns;
    if constexpr (!checked_train(Keys{})) return;
    else {
      Run<Model> run(*this);
      run.mode = mode_;
      run.epoch_num = epochs;
      run.batch_num = data.size();
      detail::CallbackList<Run<Model>, std::remove_reference_t<Callbacks>...> list{run, {callbacks...}};
      auto rows = data.open();
      list.begin();
      for (long epoch = 1; epoch <= epochs && !run.stop_requested; ++epoch) {
        run.cur_epoch_num = epoch;
        const double start = detail::now();
        list.epoch_begin();
        rows.start(std::uint64_t(epoch - 1));
        while (const auto* row = rows.next()) {
          ++run.cur_step_num;
          list.step_begin();
          const double step_start = detail::now();
          train_step(*row, Keys{});
          run.net_outputs = {outputs_, std::size_t(output_count_)};
          run.step_seconds = detail::now() - step_start;
          check_finite(run);
          list.step_end();
          if (run.stop_requested) break;
        }
        run.epoch_seconds = detail::now() - start;
        list.epoch_end();
      }
      list.end();
    }
  }

  /// Runs all batches in evaluation and returns the metrics. Metrics are cleared first.
  template <dataset::Dataset Data>
  EvalResult eval(const Data& data) {
    static_assert(sizeof...(Metrics) > 0, "this Model has no metrics: give it some, such as nn::Accuracy{}, to evaluate it");
    static_assert(Data::batched, "this data set has no batches: append | dataset::batch(32)");
    if (data.size() == 0) throw ValueError("Model.eval: there is no valid data in the data set: it has no batch.");
    EvalResult result;
    if constexpr (checked_eval(typename Data::columns{})) {
      std::apply([](auto&... m) { (m.clear(), ...); }, metrics_);
      auto rows = data.open();
      rows.start(0);
      while (const auto* row = rows.next()) {
        eval_step(*row, typename Data::columns{});
        std::apply([&](auto&... m) { (update_metric(m, *row), ...); }, metrics_);
      }
      std::apply([&](auto&... m) { (result.add(m.name, m.eval()), ...); }, metrics_);
    }
    return result;
  }

  /// The network's output for inputs, in evaluation.
  template <class... X>
  auto predict(const X&... x) {
    using Graph = Compiled<detail::EvalStep<Net, NoLoss, typename detail::KeyFor<X>::type...>, options.passes>;
    if constexpr (!Graph::ok) return report<Graph>();
    else {
      using Result = Tensor<detail::ResultElement<Graph>, detail::ResultShape<Graph>>;
      if constexpr (options.pynative) {
        if (mode_ == Mode::pynative) {
          const FlushDenormals flush;
          const eager::NoGrad no_grad;
          const eager::RootScope root(*net_, false, state_.random());
          return Result(net_->construct(x...));
        }
      }
      if constexpr (options.graph) {
        long n = 1;
        ((n = X::dims.batched() ? x.n() : n), ...);
        const void* inputs[]{x.data()...};
        Executor& executor = bound(Graph::program);
        executor.run(inputs, n);
        Result result = Result::empty(n);
        std::memcpy(result.data(), executor.output(0), std::size_t(Result::dims.bytes(n)));
        return result;
      }
    }
  }

  Mode mode() const { return mode_; }
  Net& network() { return *net_; }
  Optimizer& optimizer() { return optimizer_; }
  /// Steps trained so far.
  long global_step() const { return state_.step(); }

 private:
  struct Nothing {};

  template <class... C>
  static constexpr bool checked_train(dataset::Columns<C...>) {
    using Graph = Compiled<detail::TrainStep<Net, Loss, Optimizer, typename detail::ColumnKey<C>::type...>, options.passes>;
    if constexpr (!Graph::ok) report<Graph>();
    return Graph::ok;
  }
  template <class... C>
  static constexpr bool checked_eval(dataset::Columns<C...>) {
    using Graph = Compiled<detail::EvalStep<Net, Loss, typename detail::ColumnKey<C>::type...>, options.passes>;
    if constexpr (!Graph::ok) report<Graph>();
    return Graph::ok;
  }

  Executor& bound(const Program& program) {
    Executor& executor = executors_.get(program);
    const ParameterArena* arena = ParameterList(*net_).arena();
    executor.bind(arena ? arena->data : nullptr, state_.data());
    return executor;
  }
  void set_outputs(const Executor& executor) {
    output_count_ = executor.program().outputs;
    for (int k = 0; k < output_count_; ++k) outputs_[k] = executor.output_view(k);
  }

  // Writes the numbers of this step where the update kernels read them.
  void write_numbers() {
    using Layout = StateLayout<Net, Optimizer>;
    nn::Numbers numbers;
    numbers.learning_rate() = optimizer_.learning_rate.at(state_.step());
    numbers.weight_decay() = optimizer_.weight_decay;
    numbers.gradient_scale() = 1 / optimizer_.loss_scale;
    optimizer_.numbers(state_.step(), numbers);
    for (int e = 0; e < Layout::entries; ++e)
      if (Layout::table.numbers[e]) std::memcpy(state_.data() + Layout::table.numbers[e], &numbers, sizeof numbers);
  }

  template <class List, class... C>
  void train_step(const dataset::Row<List>& row, dataset::Columns<C...>) {
    write_numbers();
    if constexpr (options.pynative)
      if (mode_ == Mode::pynative) pynative_train_step<C...>(row);
    if constexpr (options.graph)
      if (mode_ == Mode::graph) {
        Executor& executor = bound(Compiled<detail::TrainStep<Net, Loss, Optimizer, typename detail::ColumnKey<C>::type...>, options.passes>::program);
        executor.run(row.column, row.n);
        set_outputs(executor);
      }
    state_.advance();
  }
  template <class List, class... C>
  void eval_step(const dataset::Row<List>& row, dataset::Columns<C...>) {
    if constexpr (options.pynative)
      if (mode_ == Mode::pynative) pynative_eval_step<C...>(row);
    if constexpr (options.graph)
      if (mode_ == Mode::graph) {
        Executor& executor = bound(Compiled<detail::EvalStep<Net, Loss, typename detail::ColumnKey<C>::type...>, options.passes>::program);
        executor.run(row.column, row.n);
        set_outputs(executor);
      }
  }

  // The columns of a row as tensors of their own.
  template <class... C, class List, class F>
  void with_tensors(const dataset::Row<List>& row, F&& f) {
    int next = 0;
    const auto tensor = [&]<class T, class S>(dataset::Column<T, S>) {
      Tensor<T, S> t = Tensor<T, S>::empty(row.n);
      std::memcpy(t.data(), row.column[next++], std::size_t(Tensor<T, S>::dims.bytes(row.n)));
      return t;
    };
    std::tuple<Tensor<typename C::type, typename C::shape>...> tensors{tensor(C{})...};
    std::apply(f, tensors);
  }
  template <class... C, class List>
  void pynative_train_step(const dataset::Row<List>& row) {
    const FlushDenormals flush;
    const eager::RootScope root(*net_, true, state_.random());
    tape_.clear();
    with_tensors<C...>(row, [&](const auto&... x) {
      tape_.resume();
      const auto loss = detail::loss_of<Loss>(detail::predicted<Net, Loss>(*net_, x...), x...);
      const auto total = detail::total_loss(loss);
      tape_.pause();
      tape_.backward(total);
      keep(loss);
    });
    using Update = Compiled<detail::UpdateStep<Net, Optimizer>, options.passes>;
    gradients_.resize(std::size_t(Structure<Net>::count));
    for (int e = 0; e < Structure<Net>::count; ++e) gradients_[std::size_t(e)] = tape_.gradient_data(e);
    bound(Update::program).run(gradients_.data(), 1);
  }
  template <class... C, class List>
  void pynative_eval_step(const dataset::Row<List>& row) {
    const FlushDenormals flush;
    const eager::NoGrad no_grad;
    const eager::RootScope root(*net_, false, state_.random());
    with_tensors<C...>(row, [&](const auto&... x) {
      const auto prediction = detail::predicted<Net, Loss>(*net_, x...);
      if constexpr (std::is_same_v<Loss, NoLoss>) keep(prediction);
      else keep(std::tuple(detail::loss_of<Loss>(prediction, x...), prediction));
    });
  }
  // Keeps the outputs of an eager step alive until the next one.
  template <class T, class S>
  void keep(const Tensor<T, S>& t) { output_count_ = 0, keep_one(t); }
  template <class... T>
  void keep(const std::tuple<T...>& t) {
    output_count_ = 0;
    std::apply([&](const auto&... v) { (keep_one(v), ...); }, t);
  }
  template <class T, class S>
  void keep_one(const Tensor<T, S>& t) {
    kept_[output_count_] = t.storage();
    outputs_[output_count_++] = t.view();
  }

  void check_finite(const RunInfo& run) const {
    if (!std::isfinite(run.loss()))
      throw RuntimeError(text("Model.train: the loss is ", std::isnan(run.loss()) ? "NaN" : "infinite", " at epoch ", run.cur_epoch_num, ", step ", run.step_in_epoch(), " (global step ", run.cur_step_num,
                              "). Lower the learning rate, or look for bad input."));
  }
  template <class M, class Row>
  void update_metric(M& metric, const Row& row) {
    if constexpr (nn::LossMetric<M>) metric.update(outputs_[0]);
    else metric.update(outputs_[output_count_ - 1], row[Row::count - 1]);
  }

  Net* net_;
  [[no_unique_address]] Loss loss_;
  Optimizer optimizer_;
  std::tuple<Metrics...> metrics_;
  Mode mode_;
  TrainState state_;
  detail::ExecutorCache executors_;
  std::conditional_t<options.pynative, eager::Tape, Nothing> tape_{make_tape()};
  std::vector<const void*> gradients_;
  AnyTensor outputs_[max_outputs];
  Storage kept_[max_outputs];
  int output_count_ = 0;

  static auto make_tape() {
    if constexpr (options.pynative) return eager::Tape::paused;
    else return Nothing{};
  }
};

template <class Net>
Model(Net&) -> Model<Net, NoLoss, NoOptimizer, ModelOptions{}>;
template <class Net, class Loss>
Model(Net&, Loss) -> Model<Net, Loss, NoOptimizer, ModelOptions{}>;
template <class Net, class Loss, class Optimizer, class... Metrics>
Model(Net&, Loss, Optimizer, Metrics...) -> Model<Net, Loss, Optimizer, ModelOptions{}, Metrics...>;
template <ModelOptions o, class Net>
Model(WithOptions<o>, Net&) -> Model<Net, NoLoss, NoOptimizer, o>;
template <ModelOptions o, class Net, class Loss, class Optimizer, class... Metrics>
Model(WithOptions<o>, Net&, Loss, Optimizer, Metrics...) -> Model<Net, Loss, Optimizer, o, Metrics...>;

}  // namespace tenon
