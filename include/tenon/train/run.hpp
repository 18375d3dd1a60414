// Run: what callbacks get of a run of a Model; its steps, and what is checked about it.
#pragma once
#include <algorithm>
#include <cmath>

#include <tenon/core/function_ref.hpp>
#include <tenon/dataset/column.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/clock.hpp>
#include <tenon/train/model_options.hpp>
#include <tenon/train/progress.hpp>

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
  /// Of the update of this step, or the next one: the optimizer's, not that of a group.
  float learning_rate() const requires requires(M& m) { m.optimizer().learning_rate.at(0L); }
  {
    const auto& o = model.optimizer();
    const long step = std::max(model.global_step() - 1, 0L);
    return o.learning_rate.at(step / nn::detail::batches_of(o));
  }
  const auto& loss_fn() const { return prototype<typename detail::LossOf<M>::type>; }
  Run(M& m, Mode how, long batches, std::vector<AnyTensor> (*columns)(const void* row)) : model(m) {
    mode = how, batch_num = batches, columns_of = columns;
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
void check_run(std::string_view what, long epochs, long batches);
/// Throws RuntimeError if a loss of the last step is not finite.
void check_finite(const RunInfo& run);

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

/// The steps of an epoch: step(row) runs one and returns its outputs, done(row) comes when the callbacks know.
template <class Columns, class Run, class List, class Step, class Done>
void each_step(Run& run, NextRow<Columns> next_row, List& list, Step step, Done done) {
  while (const dataset::Row<Columns>* const row = awaited_row<Columns>(next_row, run)) {
    ++run.cur_step_num;
    run.row = row;
    list.template tell<StepBegin>();
    const double start = now();
    run.net_outputs = step(*row);
    run.step_seconds = now() - start;
    if (run.training) check_finite(run);
    list.template tell<StepEnd>();
    done(*row);
    run.row = nullptr;
    if (run.stop_requested) return;
  }
}

#if TENON_DEFINES
TENON_INLINE void check_size(std::string_view what, long batches) {
  if (batches == 0) throw_error<ValueError>(what, ": there is no valid data in the data set: it has no batch.");
}
TENON_INLINE void check_run(std::string_view what, long epochs, long batches) {
  if (epochs < 1) throw_error<ValueError>(what, ": epoch must be 1 or more, got ", epochs, ".");
  check_size(what, batches);
}
[[gnu::noinline]] TENON_INLINE void check_finite(const RunInfo& run) {
  if (run.overflow) return;  // nothing came of it, and the loss scale counts how often
  for (const AnyTensor& output : run.net_outputs)
    if (const double loss = mean_of(output); !std::isfinite(loss))
      throw_error<RuntimeError>("Model.train: the loss is ", std::isnan(loss) ? "NaN" : "infinite", " at epoch ",
                                run.cur_epoch_num, ", step ", run.step_in_epoch(), " (global step ", run.cur_step_num,
                                "). Lower the learning rate, or look for bad input.");
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon
