// What the ranks of a network in slices must have alike before a run and before a step, and when they stop.
#pragma once
#include <string_view>
#include <utility>

#include <tenon/dist/world.hpp>
#include <tenon/train/shards/agreement.hpp>
#include <tenon/train/step/parallel.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Of one rank. `weights`: a number for the bits of the parameters that are not in slices, before the first step of a
/// run. A batch of 0 samples: this rank has none left in its epoch.
struct AgreedSlices {
  std::int64_t batch = 0, step = 0;
  std::uint64_t samples = 0, weights = 0, seed = 0;
  double rate = 0;                          // of learning
  std::uint64_t numbers = 0, settings = 0;  // as in AgreedStep
};
/// Throws RuntimeError, on all ranks of the group, unless they have the same.
void agree_on_slices(std::string_view group, const AgreedSlices& own);
/// The same before a run.
[[gnu::cold]] void agree_on_run_in_slices(std::string_view group, std::string_view what, AgreedRun own,
                                          const std::vector<std::string>& model);
/// True on all ranks of the group if it is on one.
bool any_slice(std::string_view group, bool yes);
/// A line for the optimizer, and one for each parameter, with where it is cut.
[[gnu::cold]] std::vector<std::string> lines_in_slices(std::string_view optimizer, const ParameterList& parameters,
                                                       SliceEntry (*slice)(int entry));

template <class Net>
class SlicedRanks<Net, true> {
 public:
  template <class Runner, class Data>
  [[gnu::cold]] void agree_on_run(const Runner& runner, std::string_view what, long epochs, const Data& data) {
    compared_ = false;
    agree_on_run_in_slices(group(), what, {epochs, data.size(), runner.state_.step()},
                           lines_in_slices(Runner::optimizer_type::name, ParameterList(*runner.net_),
                                           [](int entry) { return Structure<Net>::slice(entry); }));
  }
  template <class Runner, class List>
  void agree_on_step(const Runner& runner, const dataset::Row<List>& row) {
    agree_on_slices(group(),
                    {row.n, runner.state_.step(), number_of_samples(row),
                     std::exchange(compared_, true) ? 0 : weights_not_in_slices(ParameterList(*runner.net_)),
                     runner.state_.random(Look::read)[0], runner.rules_.rates()[0],
                     number_of_updates(runner.state_.data(0, std::size_t(alignment), Look::read), runner.rules_),
                     number_of_settings(ParameterList(*runner.net_))});
  }
  template <class Runner>
  void agree_on_end(const Runner& runner) const {
    agree_on_slices(group(), {0, runner.state_.step()});
  }
  bool any_rank(bool yes) const { return any_slice(group(), yes); }

 private:
  static constexpr std::string_view group() {
    for (int e = 0; e < Structure<Net>::count; ++e)
      if (const SliceEntry slice = Structure<Net>::slice(e); slice.slices > 1) return slice.group;
    return {};
  }
  static std::uint64_t weights_not_in_slices(const ParameterList& parameters) {
    std::uint64_t number = 0;
    for (int e = 0; e < parameters.entries(); ++e)
      if (const Entry& entry = parameters.table()[e];
          entry.parameter && !entry.setting && Structure<Net>::slice(e).slices == 1) {
        const long bytes = entry.dims.bytes(1);
        number = number_of_bits(parameters.handle(e).values_at(bytes, Look::read), std::size_t(bytes), number);
      }
    return number;
  }

  bool compared_ = false;  // are the weights, in this run
};

#if TENON_DEFINES
/// Throws RuntimeError: what a rank has that rank 0 does not, or otherwise.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_slice(std::string_view when, std::size_t rank,
                                                                std::string_view group, const char* what,
                                                                const char* advice) {
  throw_error<RuntimeError>(when, " rank ", rank, " of the group '", group, "' has ", what,
                            " than rank 0: the ranks of a network in slices ", advice, ".");
}
inline constexpr const char* same_batches =
    "need the same batches. If replicas have shards of the data, take the number and the rank of the group of replicas "
    "as num_shards and shard_id";

[[gnu::noinline]] TENON_INLINE void agree_on_slices(std::string_view group, const AgreedSlices& own) {
  const FromRanks<AgreedSlices> all = told(dist::communicator(group), Agreement::step, own);
  const auto refuse = [&](std::size_t rank, const char* what, const char* advice) {
    refuse_slice(text("Model.train: in step ", own.step + 1), rank, group, what, advice);
  };
  std::size_t other;
  if ((other = first_other(all, &AgreedSlices::step)))
    refuse(other, "another number of steps before it", "load files of one moment");
  if ((other = first_other(all, &AgreedSlices::batch)) || (other = first_other(all, &AgreedSlices::samples)))
    refuse(other, "other samples", same_batches);
  if ((other = first_other(all, &AgreedSlices::seed)))
    refuse(other, "another seed of random numbers", "need the same one");
  if ((other = first_other(all, &AgreedSlices::weights)))
    refuse(other, "other weights where they are not in slices", "need the same seed, or files of one moment");
  if ((other = first_other(all, &AgreedSlices::rate))) refuse(other, "another learning rate", "need the same one");
  if ((other = first_other(all, &AgreedSlices::numbers)))
    refuse(other, "other numbers of the optimizer or the loss scale", "need the same ones");
  if ((other = first_other(all, &AgreedSlices::settings)))
    refuse(other, "other frozen parameters, or settings of cells,", "need the same ones");
}
[[gnu::noinline]] TENON_INLINE void agree_on_run_in_slices(std::string_view group, std::string_view what, AgreedRun own,
                                                           const std::vector<std::string>& model) {
  const dist::Communicator ranks = dist::communicator(group);
  own.model = number_of_lines(model);
  const FromRanks<AgreedRun> all = told(ranks, Agreement::run, own);
  std::size_t other;
  if ((other = first_other(all, &AgreedRun::model))) refuse_models(ranks, other, what, model);
  const auto refuse = [&](const char* has, const char* advice) {
    refuse_slice(text(what, ":"), other, group, has, advice);
  };
  if ((other = first_other(all, &AgreedRun::batches))) refuse("another number of batches", same_batches);
  if ((other = first_other(all, &AgreedRun::epochs))) refuse("another number of epochs", "need the same one");
  if ((other = first_other(all, &AgreedRun::step)))
    refuse("another number of steps before it", "load files of one moment");
}
[[gnu::noinline]] TENON_INLINE bool any_slice(std::string_view group, bool yes) {
  const std::int32_t own = yes;
  const FromRanks<std::int32_t> all = told(dist::communicator(group), Agreement::stop, own);
  for (const std::int32_t one : all) yes |= one != 0;
  return yes;
}
[[gnu::noinline]] TENON_INLINE std::vector<std::string> lines_in_slices(std::string_view optimizer,
                                                                        const ParameterList& parameters,
                                                                        SliceEntry (*slice)(int entry)) {
  std::vector<std::string> lines = model_lines(optimizer, 1, parameters);
  lines[0] = text("the optimizer ", optimizer);
  std::size_t line = 0;
  for (int e = 0; e < parameters.entries(); ++e) {
    if (!parameters.table()[e].parameter) continue;
    ++line;
    if (const SliceEntry cut = slice(e); cut.slices > 1)
      lines[line] += text(", one of ", cut.slices, " slices of axis ", cut.axis);
  }
  return lines;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
