// StepRunner: one step of training, evaluation, or prediction, in either mode.
#pragma once
#include <tenon/core/float/exact.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/graph/observe/watcher.hpp>
#include <tenon/run/executor_here.hpp>
#include <tenon/run/executor_pool.hpp>
#include <tenon/run/unrolled.hpp>
#include <tenon/train/step/column_key.hpp>
#include <tenon/train/step/executor_cache.hpp>
#include <tenon/train/step/graphs.hpp>
#include <tenon/train/step/labels.hpp>
#include <tenon/train/step/loss_scale.hpp>
#include <tenon/train/step/model_options.hpp>
#include <tenon/train/step/parallel.hpp>
#include <tenon/train/step/parameters_of.hpp>
#include <tenon/train/step/refuse_step.hpp>
#include <tenon/train/step/result_tensors.hpp>
#include <tenon/train/step/step_outputs.hpp>
#include <tenon/train/step/update_numbers.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// What runs the steps of a Model: its training state, its compiled graphs, its tape.
template <class Net, class Loss, class Optimizer, ModelOptions options, MixedPrecision precision = MixedPrecision{},
          class Parallel = OneProcess>
class StepRunner {
 public:
  static constexpr ModelOptions model_options = options;
  static constexpr bool trains = !std::is_same_v<Optimizer, NoOptimizer>;
  static constexpr bool has_loss = !std::is_same_v<Loss, NoLoss>;
  static constexpr int label_count = label_columns<Loss>;
  using network_type = Net;
  using optimizer_type = Optimizer;
  static constexpr bool scales_loss = precision.scales_loss, drops_overflow = precision.drops_overflow;
  /// Whether steps can run operator by operator: an observer of every value wants that of any model.
  static constexpr bool by_operators = options.pynative || observable;
  /// Of the graph of a step; where ranks share it, without the optimizer, and with a loss that has a weight.
  using Updates = typename ParallelStep<Parallel>::template UpdateOf<Net, Optimizer>;
  static constexpr MixedPrecision step_precision = ParallelStep<Parallel>::precision(precision);
  static constexpr bool divides_state = tenon::detail::divides_state<ParallelStep<Parallel>>;
  template <class... C>
  using TrainGraph =
      TriedGraph<TrainStepIn<Net, Loss, Updates, step_precision, typename ColumnKey<C>::type...>, options.passes>;
  template <class... C>
  using EvalGraph = TriedGraph<EvalStepIn<Net, Loss, precision, typename ColumnKey<C>::type...>, options.passes>;
  template <class... X>
  using Predicted = decltype(predicted<Net, Loss, precision>(std::declval<const Net&>(), std::declval<const X&>()...));
  template <class... X>
  using PredictGraph = TriedGraph<EvalStepIn<Net, NoLoss, precision, typename KeyFor<X>::type...>, options.passes>;

  StepRunner(Net& net, const Optimizer& optimizer, Mode mode, ScaleOf<precision> scale = {},
             const Parallel& parallel = {})
      : net_(&net),
        mode_(mode),
        target_(get_context().target()),
        parallel_(parallel),
        state_(training_state<Net, Optimizer>(ParameterList(net), parallel_)),
        scale_(scale),
        rules_(make_rules(optimizer)) {
    if constexpr (!options.graph) mode_ = Mode::pynative;
    if constexpr (!options.pynative) mode_ = Mode::graph;
    check_exact_rounding();
    fill_state<Net>(state_, optimizer, moments_elsewhere(parallel_));
    bind();
  }
  /// Binds the parameters, again if a part of the network was replaced since. Throws ValueError if a number among the
  /// network's members was changed.
  void bind() const {
    check_members(*net_);
    ParameterList(*net_).bind();
  }

  Mode mode() const { return mode_; }
  TargetId target() const { return target_; }
  /// In which mode a step runs now.
  Mode mode_here() const { return every_value_observed() ? Mode::pynative : mode_; }
  TrainState& state() { return state_; }
  const TrainState& state() const { return state_; }
  auto& loss_scale() { return scale_; }
  auto& parallel() { return parallel_; }
  const auto& parallel() const { return parallel_; }
  auto& slices() { return slices_; }
  /// The learning rates of the last update, or of the one that it was skipped for: the optimizer's, then one for each
  /// of its groups. Null if this runner has not made it.
  const float* used_rates() const { return rated_step_ == state_.step() ? rules_.rates() : nullptr; }

  template <class List, class... C>
  [[gnu::noinline]] void train(const dataset::Row<List>& row, dataset::Columns<C...>, const Optimizer& optimizer,
                               RunInfo& run, StepOutputs& outputs) {
    const StepTarget scope(target_);
    const StepWatch watch(
        step<TrainGraph<C...>>(StepKind::train, state_.step(), row.n).after_waiting(run.data_seconds));
    check_members(*net_);  // a callback may have changed one
    check_batch<TrainGraph<C...>>(parallel_.smallest(row.n), run);
    check_labels<TrainGraph<C...>>(row, run);
    if (ParameterArena* const arena = ParameterList(*net_).arena()) arena->change();
    write_numbers(optimizer);
    if constexpr (has_slices<Net> && std::is_same_v<Parallel, OneProcess>) slices_.agree_on_step(*this, row);
    // A tape has no derivatives of derivatives, and adds up what turns of a loop give in another order: then the step
    // is compiled in both modes, whose bits are equal. With a loop it first runs forward, for a debugger.
    constexpr bool in_one_piece = TrainGraph<C...>::in_one_piece;
    if constexpr (by_operators && TrainGraph<C...>::repeatable)
      if (mode_ == Mode::pynative) run_forward<C...>(row);
    if constexpr (!std::is_same_v<Parallel, OneProcess>) parallel_.template train<C...>(*this, row, outputs);
    else {
      if constexpr (by_operators && !in_one_piece)
        if (mode_here() == Mode::pynative) pynative_train<C...>(row, outputs);
      if constexpr (options.graph || in_one_piece)
        if (in_one_piece || mode_here() == Mode::graph) run_graph<TrainGraph<C...>>(row, outputs, train_scratch_);
    }
    state_.advance();
    rated_step_ = state_.step();
    if constexpr (precision.scales_loss) {
      run.loss_scale = double(state_.loss_scale());
      run.overflow = state_.overflow() == 1;
      run.overflow_text = LossScale::overflow_text;
      if (state_.step() % nn::detail::batches_of(optimizer) == 0) run.diverged = !scale_.update(run.overflow);
    }
  }
  template <class List, class... C>
  [[gnu::noinline]] void eval(const dataset::Row<List>& row, dataset::Columns<C...>, const RunInfo& run,
                              StepOutputs& outputs) {
    const StepTarget scope(target_);
    const StepWatch watch(
        step<EvalGraph<C...>>(StepKind::eval, counts_.next(StepKind::eval), row.n).after_waiting(run.data_seconds));
    check_members(*net_);
    check_labels<EvalGraph<C...>>(row, run);
    constexpr bool compiled = EvalGraph<C...>::nested_gradient;
    if constexpr (by_operators && !compiled)
      if (mode_here() == Mode::pynative) pynative_eval<C...>(row, outputs);
    if constexpr (options.graph || compiled)
      if (compiled || mode_here() == Mode::graph) run_graph<EvalGraph<C...>>(row, outputs, eval_scratch_);
  }
  /// The same for a row of several buckets, each of which has its own graph; parameters, state, and on the CPU scratch
  /// memory are shared.
  template <class... L>
  void train(const dataset::Row<dataset::BucketColumns<L...>>& row, dataset::BucketColumns<L...>,
             const Optimizer& optimizer, RunInfo& run, StepOutputs& outputs) {
    row.visit([&]<class List>(const dataset::Row<List>& one) {
      if (mode_here() == Mode::graph) executors_.give_scratch(train_program(List{}), {train_program(L{})...});
      train(one, List{}, optimizer, run, outputs);
    });
  }
  template <class... L>
  void eval(const dataset::Row<dataset::BucketColumns<L...>>& row, dataset::BucketColumns<L...>, const RunInfo& run,
            StepOutputs& outputs) {
    row.visit([&]<class List>(const dataset::Row<List>& one) {
      if (mode_here() == Mode::graph) executors_.give_scratch(eval_program(List{}), {eval_program(L{})...});
      eval(one, List{}, run, outputs);
    });
  }
  /// The compiled step for rows of such columns, of the last bucket if there are several; null where steps run operator
  /// by operator alone.
  template <class... C>
  const Program* train_program(dataset::Columns<C...>) const {
    const StepTarget scope(target_);
    if constexpr (options.graph) return &program_here<TrainGraph<C...>>();
    else return nullptr;
  }
  template <class... L>
  const Program* train_program(dataset::BucketColumns<L...>) const {
    return train_program(typename dataset::BucketColumns<L...>::last{});
  }
  template <class... C>
  const Program* eval_program(dataset::Columns<C...>) const {
    const StepTarget scope(target_);
    if constexpr (options.graph) return &program_here<EvalGraph<C...>>();
    else return nullptr;
  }
  /// Writes output k of the network on x to results[k], in evaluation. n is the inputs' batch size. Several threads may
  /// do that at the same time.
  template <class... X>
  void predict(void* const* results, long n, const X&... x) const {
    using Graph = PredictGraph<X...>;
    const StepTarget scope(target_);
    const StepWatch watch(step<Graph>(StepKind::predict, counts_.next(StepKind::predict), n));
    if constexpr (options.graph && Unrolled<Graph>::possible)
      if (mode_here() == Mode::graph && n == 1 && !computes_there() && (!Unrolled<Graph>::changes || none_frozen())) {
        check_members(*net_);
        std::byte* const parameters = home(find_parameters());
        const void* inputs[]{x.data()...};
        const FlushDenormals flush;
        return Unrolled<Graph>::run_into(results, parameters, state_.data(), inputs);
      }
    predict_by_kernels(results, n, x...);
  }

 private:
  friend ParallelStep<Parallel>;
  friend SlicedRanks<Net>;
  friend struct ShardSteps;

  // What watchers are told.
  template <class Graph>
  NetworkStep step(StepKind kind, long number, long n) const {
    if constexpr (!observable) return {};
    else if constexpr (options.graph) {
      return {class_name<Net>(),   &state_, kind,           mode_, number, n, &program_here<Graph>(),
              NetworkParts(*net_), 0,       loss_name(kind)};
    } else
      return {class_name<Net>(), &state_, kind, mode_, number, n, nullptr, NetworkParts(*net_), 0, loss_name(kind)};
  }
  static constexpr std::string_view loss_name(StepKind kind) {
    if constexpr (std::is_same_v<Loss, NoLoss>) return {};
    else return kind == StepKind::train || kind == StepKind::eval ? class_name<Loss>() : std::string_view();
  }
  static auto make_rules(const Optimizer& optimizer) {
    if constexpr (std::is_same_v<Optimizer, NoOptimizer>) return NoOptimizer{};
    else return nn::UpdateRules(optimizer, Structure<Net>::table.entry, Structure<Net>::count);
  }
  static auto make_tape() {
    if constexpr (by_operators) return eager::Tape::paused;
    else return NoOptimizer{};
  }

  // What the optimizer and the loss scale have for this step.
  void write_numbers(const Optimizer& optimizer) {
    if constexpr (precision.scales_loss) state_.loss_scale(scale_.value());
    const float factor = precision.drops_overflow ? state_.loss_scale() : 1;
    detail::write_numbers<Net, precision.scales_loss>(state_, ParameterList(*net_), rules_, optimizer, factor,
                                                      scale_.skipped());
  }
  // A function of its own, for its registers would be saved before unrolled code, too.
  template <class... X>
  [[gnu::noinline]] void predict_by_kernels(void* const* results, long n, const X&... x) const {
    constexpr bool compiled = PredictGraph<X...>::nested_gradient;
    if constexpr (by_operators && !compiled)
      if (mode_here() == Mode::pynative) {
        bind();
        pynative_predict(results, n, x...);
      }
    if constexpr (options.graph || compiled)
      if (compiled || mode_here() == Mode::graph) {
        const void* inputs[]{address_here(x)...};
        check_members(*net_);
        find_parameters();
        const ExecutorPool::Lease lease(*predictors_, program_here<PredictGraph<X...>>());
        Executor& executor = bound(*lease);
        executor.run(inputs, n);
        for (int k = 0; k < executor.program().outputs; ++k)
          copy_result(results[k], executor.output_view(k).data, std::size_t(executor.output_type(k).bytes(n)));
      }
  }
  Executor& bound(Executor& executor) const {
    const ParameterList parameters(*net_);
    executor.bind(parameters.base(), state_.address(), parameters.values());
    freeze_as_flagged(executor, parameters);
    return executor;
  }
  template <class Graph, class Memory, int... K>
  static void view_outputs(StepOutputs& outputs, const Memory& memory, std::integer_sequence<int, K...>) {
    outputs.clear();  // one by one: nvcc loses the pack of a braced list
    (outputs.add(AnyTensor(Graph::graph[Graph::graph.output[K]].type, 1, Unrolled<Graph>::template output<K>(memory))),
     ...);
  }
  std::byte* find_parameters() const {
    std::byte* const base = parameters_of(*net_);
    return base ? base : find_again();
  }
  [[gnu::noinline]] std::byte* find_again() const {
    const ParameterList parameters(*net_);
    parameters.bind();
    return parameters.base();
  }
  bool none_frozen() const {
    const ParameterArena* const arena = ParameterList(*net_).arena();
    return !arena || arena->freeze_version == 0;
  }

  // `scratch` keeps the outputs until the next step of the same kind.
  template <class Graph, class Row>
  void run_graph(const Row& row, StepOutputs& outputs, [[maybe_unused]] Storage& scratch) {
    if constexpr (Unrolled<Graph>::possible)
      if (row.n == 1 && !computes_there() && none_frozen()) {
        std::byte* const parameters = home(find_parameters());
        if (!scratch) scratch = Storage(unrolled_bytes);
        const FlushDenormals flush;
        const typename Unrolled<Graph>::Memory memory{scratch.data(), parameters, state_.data(), row.column};
        Unrolled<Graph>::run(memory);
        return view_outputs<Graph>(outputs, memory, std::make_integer_sequence<int, Graph::graph.outputs>());
      }
    Executor& executor = bound(executors_.get(program_here<Graph>()));
#if defined(TENON_TARGET)
    executor.look_late();
#endif
    executor.run(row.column, row.n);
    outputs.take(executor);
  }

  // An OutOfMemory of a step operator by operator says which batch would fit, where there is a plan.
  template <class Graph>
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse_by_operators(const OutOfMemory& error, long n) {
    if constexpr (options.graph && Graph::ok) refuse_step(error, program_here<Graph>(), values_of_step<Graph>(), n);
    else throw;
  }
  template <class... C, class List>
  void pynative_train(const dataset::Row<List>& row, StepOutputs& outputs) {
    pynative_backward<C...>(row, outputs, state_.random(), precision.scales_loss ? state_.loss_scale() : 1,
                            [this] { update_by_tape(); });
  }
  [[gnu::noinline]] void update_by_tape() {
    using Update = Compiled<UpdateStep<Net, Optimizer, precision.drops_overflow>, options.passes>;
    const ParameterList parameters(*net_);
    for (int e = 0; e < Structure<Net>::count; ++e)
      gradients_[e] = Structure<Net>::table.entry[e].trainable ? tape_.gradient_data(parameters.handle(e)) : nullptr;
    run_updates<Net>(bound(executors_.get(program_here<Update>())), parameters, gradients_);
  }
  // Calls `with_gradients` when the tape has them. `scale` is what the loss is multiplied by, if it is.
  template <class... C, class List, class Then>
  void pynative_backward(const dataset::Row<List>& row, StepOutputs& outputs, std::uint64_t* random, float scale,
                         const Then& with_gradients) {
    const auto total = [&](const auto&... x) {
      const auto loss = loss_of<Loss>(predicted<Net, Loss, precision>(*net_, x...), x...);
      outputs.keep(loss);
      return total_loss(loss);
    };
    using Total = decltype(with_columns<sizeof...(C)>(row, total));
    const auto record = [&](Total& made) { made = with_columns<sizeof...(C)>(row, total); };
    backward_of<Total>(record, with_gradients, random, draws_of<TrainGraph<C...>>(), scale,
                       {&refuse_by_operators<TrainGraph<C...>>, row.n});
  }
  // A function for all buckets, whose losses have one type.
  template <class Total>
  [[gnu::noinline]] void backward_of(FunctionRef<Total&> record, FunctionRef<> with_gradients, std::uint64_t* random,
                                     std::span<const Draw> draws, [[maybe_unused]] float scale,
                                     StepRefusal refusal) try {
    const FlushDenormals flush;
    const eager::RootScope root(*net_, true, random, draws);
    tape_.clear();
    {
      eager::Recording recording(tape_);
      Total total;
      record(total);
      tape_.pause();
      if constexpr (step_precision.scales_loss) tape_.backward(total, Total::full(typename Total::type(scale)));
      else tape_.backward(total);
    }
    with_gradients();
  } catch (const OutOfMemory& error) {
    tape_.clear();
    refusal.refuse(error, refusal.n);
  }
  // The same for calls that need no gradients.
  [[gnu::noinline]] void call_operators(FunctionRef<> calls, bool training, std::span<const Draw> draws,
                                        StepRefusal refusal) const try {
    const FlushDenormals flush;
    const eager::NoGrad no_grad;
    const eager::RootScope root(*net_, training, state_.random(), draws);
    calls();
  } catch (const OutOfMemory& error) {
    refusal.refuse(error, refusal.n);
  }
  // Operator by operator; the step that follows computes the same again.
  template <class... C, class List>
  void run_forward(const dataset::Row<List>& row) {
    const Unobserved unobserved;
    const auto forward = [&](const auto&... x) {
      static_cast<void>(loss_of<Loss>(predicted<Net, Loss, precision>(*net_, x...), x...));
    };
    call_operators([&] { with_columns<sizeof...(C)>(row, forward); }, true, draws_of<TrainGraph<C...>>(),
                   {&refuse_by_operators<TrainGraph<C...>>, row.n});
  }
  template <class... C, class List>
  void pynative_eval(const dataset::Row<List>& row, StepOutputs& outputs) {
    const auto forward = [&](const auto&... x) {
      const auto prediction = predicted<Net, Loss, precision>(*net_, x...);
      if constexpr (std::is_same_v<Loss, NoLoss>) outputs.keep(prediction);
      else outputs.keep(loss_of<Loss>(prediction, x...), prediction);
    };
    call_operators([&] { with_columns<sizeof...(C)>(row, forward); }, false, draws_of<EvalGraph<C...>>(),
                   {&refuse_by_operators<EvalGraph<C...>>, row.n});
  }
  template <class... X>
  void pynative_predict(void* const* results, long n, const X&... x) const {
    call_operators([&] { copy_results(results, predicted<Net, NoLoss, precision>(*net_, inner(x)...)); }, false,
                   draws_of<PredictGraph<X...>>(), {&refuse_by_operators<PredictGraph<X...>>, n});
  }

  Net* net_;
  Mode mode_;
  TargetId target_;
  [[no_unique_address]] ParallelStep<Parallel> parallel_;
  [[no_unique_address]] SlicedRanks<Net> slices_{};
  TrainState state_;
  [[no_unique_address]] ScaleOf<precision> scale_;
  ExecutorCache executors_;
  tenon::detail::Owned<ExecutorPool> predictors_{new ExecutorPool};
  std::conditional_t<by_operators, eager::Tape, NoOptimizer> tape_{make_tape()};
  decltype(make_rules(std::declval<const Optimizer&>())) rules_;
  const void* gradients_[Structure<Net>::count]{};
  long rated_step_ = -1;                  // the step after which the rates of rules_ are those of the last update
  Storage train_scratch_, eval_scratch_;  // of unrolled code
  [[no_unique_address]] CountedSteps counts_{};
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
