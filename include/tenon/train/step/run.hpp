// Run: the argument of callbacks in a run of a Model, the steps of the run, and its checks.
#pragma once
#include <optional>

#include <tenon/core/function_ref.hpp>
#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/dataset/stage/column.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/eval_result.hpp>
#include <tenon/train/file/progress.hpp>
#include <tenon/train/step/clock.hpp>
#include <tenon/train/step/model_options.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {
template <class M>
struct LossOf;
template <template <class, class, class, ModelOptions, class...> class M, class Net, class Loss, class Optimizer,
          ModelOptions options, class... Parts>
struct LossOf<M<Net, Loss, Optimizer, options, Parts...>> {
  using type = Loss;
};
}  // namespace detail

/// RunInfo and the model itself, to evaluate or save it, to read or change its optimizer. The methods are what
/// MindSpore's cb_params call network, optimizer, and loss_fn; train_network and eval_network are the network, too.
template <class M>
struct Run : RunInfo {
  M& model;
  auto& network() const { return model.network(); }
  auto& optimizer() const { return model.optimizer(); }
  /// The learning rate of this step's update, also if a callback has changed it since; between steps the rate of the
  /// last step. It is the optimizer's; learning_rates() also has those of its groups.
  float learning_rate() const requires requires(M& m) { m.optimizer().learning_rate.at(0L); }
  {
    return rate_of(-1);
  }
  /// The optimizer's, then one for each of its groups.
  std::vector<float> learning_rates() const requires requires(M& m) { m.optimizer().learning_rate.at(0L); }
  {
    std::vector<float> all;
    for (long g = -1; g < long(model.optimizer().groups.size()); ++g) all.push_back(rate_of(g));
    return all;
  }
  /// Calls f while the network has the weights of this epoch's evaluation: averages, if a callback has some. Afterwards
  /// the network has its own weights again.
  template <class F>
  void with_eval_weights(F f) {
    detail::Progress& progress = model.progress_;
    if (!eval_results || !progress.give_weights) return f();
    const detail::OwnWeights own(ParameterList(network()), progress.own);
    progress.give_weights(progress.callbacks);
    f();
  }
  /// The number of this process among those that share the training of a Model with dist::DataParallel.
  int rank() const requires(M::shares_training)
  {
    return model.runner_.parallel().rank();
  }
  /// A stop that one rank requests ends the training on all, in the same step: else the others wait for it.
  void agree_to_stop() requires(M::has_ranks)
  {
    bool& stop = this->stop_requested;
    if constexpr (M::shares_training) stop = model.runner_.parallel().any_rank(stop);
    if constexpr (M::has_slices) stop = model.runner_.slices().any_rank(stop);
  }
  /// At the end of an epoch: a rank that has one more batch is a RuntimeError on all.
  void agree_on_end() requires(M::has_ranks)
  {
    if constexpr (M::shares_training) model.runner_.parallel().agree_on_end(model.runner_);
    if constexpr (M::has_slices) model.runner_.slices().agree_on_end(model.runner_);
  }
  /// After the hooks of the end: until then a rank may ask the others for their moments.
  void leave() requires(M::shares_training)
  {
    model.runner_.parallel().leave_run();
  }
  const auto& loss_fn() const { return prototype<typename detail::LossOf<M>::type>; }
  Run(M& m, Mode how, long batches, std::vector<AnyTensor> (*columns)(const void* row)) : model(m) {
    mode = how, batch_num = batches, columns_of = columns;
    monitored_names = &names_to_monitor;
  }

 private:
  [[gnu::cold]] static bool names_to_monitor(const RunInfo& run, MonitoredNames& names) {
    return static_cast<const Run&>(run).model.add_metric_names(names);
  }
  // -1: the optimizer's, else that of a group
  float rate_of(long group) const {
    const auto& o = model.optimizer();
    const bool in_step = training && cur_step_num > model.progress_.run_steps;
    if (!in_step)
      if (const float* const used = model.runner_.used_rates()) return used[group + 1];
    const long step = in_step ? model.global_step() : math::max(model.global_step() - 1, 0L);
    const auto& own = group < 0 ? std::optional<nn::LearningRate>() : o.groups[std::size_t(group)].learning_rate;
    const long batches = nn::detail::batches_of(o), update = step / batches - model.runner_.loss_scale().skipped();
    return (own ? *own : o.learning_rate).at(math::max(update, 0L), (step + 1) % batches == 0);
  }
};

namespace detail {
/// The columns of a row of a data set.
template <class Columns>
std::vector<AnyTensor> views_of(const void* row) {
  std::vector<AnyTensor> views(static_cast<std::size_t>(Columns::count));
  for (int i = 0; i < Columns::count; ++i) views[std::size_t(i)] = (*static_cast<const dataset::Row<Columns>*>(row))[i];
  return views;
}

void check_size(std::string_view what, long batches);
void check_run(std::string_view what, const ParameterList& parameters, long epochs, long batches);
/// Throws ValueError for two numbers of an evaluation that have one name: before a training, not after its first epoch.
[[gnu::cold]] void check_names(const MonitoredNames& names);
/// Whether the losses of the last step are finite, or nothing came of them.
bool is_finite(RunInfo& run);
#if defined(TENON_TARGET)
/// The same for the losses of the steps so far that have come from a second target, with `all` after a wait for those
/// that have not. At the first loss that is not finite `run` goes back to its step.
bool late_losses_finite(RunInfo& run, bool all);
#endif
/// Throws ValueError, or RuntimeError for overflows, that says what the network has now. `also`: what a hook of the end
/// threw.
[[noreturn]] void refuse_run(const RunInfo& run, std::string_view also);
/// Tells of the end; throws as refuse_run() then if the run diverged, else what a hook throws.
[[gnu::cold]] void end_run(const RunInfo& run, FunctionRef<> tell);
/// Tells of the begin of a training, and gives callbacks the states that a file had. False if the run is over.
template <class List>
bool tell_begin(RunInfo& run, List& list, const Progress& progress, Running<List>& running) {
  run.cur_epoch_num = progress.epochs, run.cur_step_num = run.steps_before = progress.run_steps;
  run.resumed_loss = progress.loss;
  list.template tell<Begin>();
  const bool goes_on = list.load_states(progress.states);
  running.begin();
  return goes_on;
}
/// Returns the time.
template <class List>
double tell_epoch_begin(RunInfo& run, List& list, const Progress& progress) {
  run.cur_epoch_num = progress.epochs + 1, run.steps_before = progress.run_steps - progress.steps;
  const double start = now();
  list.template tell<EpochBegin>();
  return start;
}
/// Tells of the end, also of a run that diverged, and then throws.
template <class Run, class List>
void tell_end(Run& run, List& list, Running<List>& running, const ParameterList& parameters) {
  if constexpr (List::any_turn)
    if (list.ends_with_others()) running.keep_own(parameters);
  end_run(run, [&] {
    list.template tell<End>();
    if constexpr (requires { run.leave(); }) run.leave();
  });
}

/// For a scope the network has the weights that an evaluation judges, if a callback has others than its own.
template <class List, bool any = List::any_weights>
struct EvalWeights {
  EvalWeights(const List&, const ParameterList&, const Snapshot*&) {}
};
template <class List>
struct EvalWeights<List, true> {
  EvalWeights(const List& list, const ParameterList& parameters, const Snapshot*& shown) {
    if (!list.have_weights()) return;
    own.emplace(parameters, shown);
    list.give_weights();
  }
  std::optional<OwnWeights> own;
};

/// Warns of a loss with more axes than that of the samples: nobody has reduced it, and its sum is trained.
void warn_of_elements(const RunInfo& run);

/// Sets its argument to the next row of a data set, or to null.
template <class Columns>
using NextRow = FunctionRef<const dataset::Row<Columns>*&>;
template <class Columns>
const dataset::Row<Columns>* awaited_row(NextRow<Columns> next_row, RunInfo& run) {
  const dataset::Row<Columns>* row;
  const double asked = now();
  next_row(row);
  run.data_seconds = now() - asked;
  return row;
}
/// Begins an epoch at a row. An iterator that can only begin at its first row hands out the others before.
template <class Rows>
void start_rows(Rows& rows, std::uint64_t epoch, long position) {
  if constexpr (requires { rows.start(epoch, position); }) rows.start(epoch, position);
  else {
    rows.start(epoch);
    while (position-- > 0 && rows.next()) continue;
  }
}
struct TrainingFile;  // train/training_file.hpp

struct Nothing {
  void operator()(const auto&) const {}
};
/// The steps of an epoch: step(row) runs one and returns its outputs, done(row) comes when the callbacks know.
template <class Columns, class Run, class List, class Step, class Done = Nothing>
void each_step(Run& run, NextRow<Columns> next_row, List& list, Step step, Done done = {}) {
  const dataset::Row<Columns>* row;
  while ((row = awaited_row<Columns>(next_row, run))) {
    ++run.cur_step_num;
    run.row = row;
    list.template tell<StepBegin>();
    const double start = now();
    run.net_outputs = step(*row);
    run.step_seconds = now() - start;
    if (run.training && run.cur_step_num == 1) warn_of_elements(run);
    if (run.training && (run.diverged || !is_finite(run))) return static_cast<void>(run.diverged = true);
    list.template tell<StepEnd>();
    done(*row);
    run.row = nullptr;
    if constexpr (requires { run.agree_to_stop(); })
      if (run.training) run.agree_to_stop();
    if (run.stop_requested) break;
  }
  if constexpr (requires { run.agree_on_end(); })
    if (run.training && !row) run.agree_on_end();
#if defined(TENON_TARGET)
  if (ArrivingOutputs* const arriving = run.net_outputs.arriving()) arriving->check_indices(true);
  if (run.training && !late_losses_finite(run, true)) run.diverged = true;
#endif
}

#if TENON_DEFINES
TENON_INLINE void check_size(std::string_view what, long batches) {
  if (batches == 0) throw_error<ValueError>(what, ": there is no valid data in the data set: it has no batch.");
}
TENON_INLINE void check_run(std::string_view what, const ParameterList& parameters, long epochs, long batches) {
  if (epochs < 1) throw_error<ValueError>(what, ": epoch must be 1 or more, got ", epochs, ".");
  check_size(what, batches);
  check_trains(what, parameters);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void check_names(const MonitoredNames& names) {
  EvalResult once;
  for (const auto& [name, kind] : names) once.add(name, 0);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void warn_of_elements(const RunInfo& run) {
  for (const AnyTensor& loss : run.net_outputs)
    if (loss.rank > 1)
      logging::warning("Model.train: the loss is ", shape_text(loss.shape()),
                       ", not a number or one per sample: training takes the sum of its elements. Reduce it, as "
                       "nn::Reduction::mean does.");
}
#if defined(TENON_TARGET)
[[gnu::noinline]] TENON_INLINE bool late_losses_finite(RunInfo& run, bool all) {
  ArrivingOutputs* const arriving = run.net_outputs.arriving();
  while (ArrivingStep* const step = arriving ? arriving->unchecked() : nullptr) {
    if (all) step->wait();
    else if (arriving->is_full()) step->wait_for_them();
    else if (!step->is_here()) return true;
    step->unchecked = false;
    bool finite = !step->arrived->not_finite;
    for (const AnyTensor& loss : step->view)
      if (step->holds(loss)) finite &= tenon::detail::libm::finite(mean_of(loss));
    if (finite) continue;
    run.net_outputs = NetOutputs({step->view.begin(), step->view.size()}, arriving, step);
    run.cur_epoch_num = step->epoch, run.cur_step_num = step->number, run.steps_before = step->steps_before;
    arriving->forget();
    return false;
  }
  return true;
}
#endif
[[gnu::noinline]] TENON_INLINE bool is_finite(RunInfo& run) {
#if defined(TENON_TARGET)
  if (ArrivingOutputs* const arriving = run.net_outputs.arriving()) {
    arriving->take_flag();
    arriving->check_indices(false);
    ArrivingStep& last = arriving->last();
    last.unchecked = !run.overflow;
    if (run.overflow) last.reset_flag();  // the loss scale counts how often
    last.epoch = run.cur_epoch_num, last.number = run.cur_step_num, last.steps_before = run.steps_before;
    return late_losses_finite(run, false);
  }
#endif
  if (run.overflow) return true;  // the loss scale counts how often
  for (const AnyTensor& output : run.net_outputs)
    if (!tenon::detail::libm::finite(mean_of(output))) return false;
  return true;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void refuse_run(const RunInfo& run, std::string_view also) {
  double loss = 0;
  for (const AnyTensor& output : run.net_outputs)
    if (tenon::detail::libm::finite(loss)) loss = mean_of(output);
  std::string_view what = tenon::detail::libm::nan(loss) ? "NaN" : "infinite";
#if defined(TENON_TARGET)
  if (run.net_outputs.are_of_later_step()) what = "NaN or infinite";
#endif
  const std::string* const file = run.find<std::string>("latest_ckpt_file");
  const std::string cause =
      run.overflow ? run.overflow_text(run)
                   : text("the loss is ", what, " at epoch ", run.cur_epoch_num, ", step ", run.step_in_epoch(),
                          " (global step ", run.cur_step_num, "). Lower the learning rate, or look for bad input");
  const std::string_view weights =
      run.final_weights.empty() ? std::string_view("the weights after the last update") : run.final_weights;
  const std::string message =
      text("Model.train: ", cause, ". The network has ", weights, ".", file ? " '" : "",
           file ? std::string_view(*file) : "", file ? "' has the training before it." : "",
           run.overflow ? "" : " The optimizer's state has this update: train on with a new Model.",
           also.empty() ? "" : " A hook of the end threw, too: ", also);
  if (run.overflow) throw RuntimeError(message);
  throw ValueError(message);
}
[[gnu::noinline]] TENON_INLINE void end_run(const RunInfo& run, FunctionRef<> tell) {
  if (!run.diverged) return tell();
  try {
    tell();
  } catch (const std::exception& error) {
    refuse_run(run, error.what());
  }
  refuse_run(run, {});
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon
TENON_INT_SIZES_END
