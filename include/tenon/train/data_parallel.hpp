// DataParallel: a Model whose batches are cut into shards, which several ranks share.
#pragma once
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <tenon/core/math/min_max.hpp>
#include <tenon/dist/shard_sum.hpp>
#include <tenon/dist/world.hpp>
#include <tenon/train/model.hpp>
#include <tenon/train/shards/agreement.hpp>
#include <tenon/train/shards/buckets_ready.hpp>
#include <tenon/train/shards/parallel_context.hpp>
#include <tenon/train/shards/shard_steps.hpp>
#include <tenon/train/shards/sliced_ranks.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace dist {
namespace detail {
/// All ranks, or this process alone; then init comes too late.
inline Communicator group_of_training() {
  if (is_initialized()) return communicator();
  for (const char* const variable : launch_variables)
    if (const char* const ranks = std::getenv(variable); ranks && std::atoi(ranks) > 1)
      throw_error<RuntimeError>("DataParallel: mpirun has started ", ranks, " processes ($", variable,
                                "), and each of "
                                "them would train alone: call dist::init before you make a Model, or give it "
                                ".group = dist::Communicator{}.");
  process_world().trains_alone = true;
  return {};
}
}  // namespace detail

/// A bool. A program that does not set it does without the code for it.
class ParallelOptimizer {
 public:
  ParallelOptimizer(bool yes) : divide_(yes ? tenon::detail::divide_state : nullptr) {}
  constexpr ParallelOptimizer() = default;
  tenon::detail::DivideState divide() const { return divide_; }

 private:
  tenon::detail::DivideState divide_ = nullptr;
};

/// A part of a Model whose training several ranks share:
///
///     Model model{net, loss, optimizer, nn::Accuracy{}, dist::DataParallel{.shards = 8}};
///
/// Each rank gives train() the same batches. A batch is cut into shards, runs of samples of which the first are one
/// longer if they must; a rank computes the gradients of its shards, and all ranks make the same update, with the sum.
///
/// shards  sums are added along one binary tree over them, so that weights, moments, and losses have the same bits on
///         any number of ranks, in both modes. 0: one per rank, with the bits of that number of ranks
/// group   the ranks, by default all of the program (dist::init), or this process alone
/// parallel_optimizer
///         each rank has the moments of some parameters alone, makes the updates of these, and sends the others the
///         weights (ZeRO-1). The bits are the same
///
/// gradient       that of the mean over the batch: a loss that is a mean over samples counts by their number. A loss
///                per sample, or one that ends with reduce_sum, is a sum
/// BatchNorm      uses the statistics of a shard; moving statistics become the mean over the samples of the batch
/// random         numbers belong to (step, shard)
/// losses         are those of the whole batch; loss scale, overflow, and clipping see the sum
/// evaluation     takes place in each rank, all of it
/// throws         ValueError for less than 0 shards, for parallel_optimizer on a GPU, and as Model does; BatchNorm
///                needs two samples in each shard
/// Source: MindSpore's ParallelMode.DATA_PARALLEL with gradients_mean, and its enable_parallel_optimizer; Rajbhandari
/// and others, arXiv 1910.02054 (ZeRO)
struct DataParallel {
  int shards = 0;
  Communicator group = detail::group_of_training();
  ParallelOptimizer parallel_optimizer{};
};
}  // namespace dist

namespace detail {
template <>
inline constexpr bool is_parallel<dist::DataParallel> = true;

/// The training step of such a Model.
template <>
class ParallelStep<dist::DataParallel> {
 public:
  template <class Net, class Optimizer>
  using UpdateOf = GradientSums<Net>;
  static constexpr MixedPrecision precision(MixedPrecision of_model) {
    of_model.scales_loss = true;  // by the weight of a shard
    return of_model;
  }
  [[gnu::cold, gnu::noinline]] explicit ParallelStep(const dist::DataParallel& how)
      : shards_(how.shards == 0 ? how.group.size() : how.shards), one_per_rank_(how.shards == 0), sum_(how.group) {
    if (how.shards < 0)
      throw_error<ValueError>("DataParallel: shards must be 1 or more, or 0 for one per rank, got ", how.shards, ".");
    divides_ = how.parallel_optimizer.divide();
    if (divides_) divides_ = checked_division(divides_, "parallel_optimizer", how.group);
    if (!context_) return;
    context_->check(how.group);
    if (const DivideState divide = context_->division())
      divides_ = checked_division(divide, "enable_parallel_optimizer", how.group);
  }
  /// A flag per entry that another rank updates, or null.
  const bool* elsewhere() const { return divided_ ? divided_.call(&DivisionCalls::elsewhere) : nullptr; }
  /// The training state, if the ranks divide it. `check` gets the bytes for which this rank needs memory.
  template <class Optimizer, class Layout>
  std::byte* divided_state(const ParameterList& parameters, FunctionRef<long> check) {
    if (!divides_) return nullptr;
    StatePlaces places{Layout::table.numbers, Layout::table.slot, Optimizer::slots, Optimizer::slots,
                       Layout::table.bytes,   Layout::slot_type,  nullptr};
    if constexpr (nn::detail::accumulates<Optimizer>) --places.moments;  // without the sum
    if constexpr (Optimizer::slots > 0) places.names = &Optimizer::slot_names[0];
    divided_ = divides_(sum_.group(), parameters, places);
    check(divided_.call(&DivisionCalls::own_bytes));
    return divided_.call(&DivisionCalls::reserve);
  }
  int rank() const { return sum_.group().rank(); }
  /// True on all ranks if it is on one.
  bool any_rank(bool yes) const {
    if (divided_) return divided_.call(&DivisionCalls::meet, yes);
    const std::int32_t own = yes;
    for (const std::int32_t one : told(sum_.group(), Agreement::stop, own)) yes |= one != 0;
    return yes;
  }
  /// Before a run: throws RuntimeError, on all ranks, if one has another model, or data of another length.
  template <class Runner, class Data, class Optimizer>
  [[gnu::cold]] bool agree_on_run(const Runner& runner, std::string_view what, long epochs, const Data& data,
                                  const Optimizer&, const Progress&) {
    const AgreedRun own{epochs, data.size(), runner.state_.step()};  // a variable: nvcc loses the braces of an argument
    if (sum_.group().size() > 1)
      agree_on_run(what, own, dataset::DataInfo(data), Runner::optimizer_type::name, ParameterList(*runner.net_));
    return true;
  }
  /// Each rank has the whole state then. Where ranks divide it all call this, or are in a run, between steps.
  void fetch_state(const auto&) const {
    if (divided_) divided_.call(&DivisionCalls::fetch);
  }
  /// What the others call between runs if not all have to have it, or write it in parts.
  void give_state() const { divided_.call(&DivisionCalls::answer); }
  /// Asks the others for parts of a file with their moments. False if there is no such part.
  bool request_parts(const std::string& path, PartFacts& own) const {
    if (divided_) own = divided_.call(&DivisionCalls::request_parts, path);
    return bool(divided_);
  }
  /// Whether this rank has memory for something in the state.
  bool is_here(const void* data) const { return !divided_ || divided_.call(&DivisionCalls::is_here, data); }
  void end_run(const auto&) const {}
  void leave_run() const {
    if (divided_) divided_.call(&DivisionCalls::meet, false);
  }
  /// At the end of an epoch: the same if another rank has one more batch.
  template <class Runner>
  void agree_on_end(const Runner& runner) const {
    if (sum_.group().size() == 1) return;
    agree_on_step({0, runner.state_.step()});
  }
  long smallest(long n) const { return dealt_ ? n : n < shards_ ? 1 : n / shards_; }

  template <class... C, class Runner, class List>
  void train(Runner& runner, const dataset::Row<List>& row, StepOutputs& outputs) {
    using Net = typename Runner::network_type;
    using Facts = ShardFacts<Net, typename Runner::template TrainGraph<C...>>;
    static constexpr auto& facts = Facts::table;
    static constexpr auto& layout = SumLayout<Net>::table;
    const FlushDenormals flush;
    const ParameterList parameters(*runner.net_);
    AgreedStep own{row.n, runner.state_.step()};
    if (sum_.group().size() > 1) {
      own.samples = number_of_samples(row), own.rate = runner.rules_.rates()[0];
      own.outputs = number_of_bits(reinterpret_cast<const std::byte*>(facts.reached), sizeof facts.reached,
                                   number_of_types(facts.output, facts.outputs));
    }
    const DealtBatch batch = meet_before_step(own, parameters, runner.state_, runner.rules_);
    if constexpr (has_slices<Net>) runner.slices_.agree_on_step(runner, row);
    const std::span<const TensorType> output_types(facts.output, std::size_t(facts.outputs));
    steps_.numbers.start(parameters, facts.moving, output_types, facts.all_means, batch.all);
    dist::detail::SumBytes bytes;
    bytes.floats = layout.floats;
    bytes.all = layout.bytes + steps_.numbers.bytes();
    sum_.fit(bytes, std::span<const long>(layout.end, std::size_t(layout.buckets)));
    sum_.run(shards_, math::min(shards_, batch.all), [&](int shard, bool begins) {
      const dist::ShardRange samples =
          dealt_ ? dist::ShardRange{batch.begin, batch.begin + row.n} : dist::part_of(batch.all, shards_, shard);
      const double weight = facts.all_means ? double(samples.size()) / double(batch.all) : 1;
      steps_.compute<C...>(
          runner, dealt_ ? row : part_of_row(row, samples), {shards_, shard, weight, begins}, sum_.block(),
          [&](Executor& executor, const void* const* inputs, long n) {
            run_with_buckets(executor, inputs, n,
                             BucketsReady<Net, typename Runner::template TrainGraph<C...>>::table.after, layout.end,
                             layout.buckets);
          },
          [&](ShardSteps::OutputOf output) { steps_.numbers.take(numbers(layout.bytes), samples, begins, output); });
    });
    finish_outputs(layout.bytes, outputs);
    steps_.update(runner, parameters, facts.reached, sum_.block(), divided_);
    if (divided_) divided_.call(&DivisionCalls::exchange_weights, sum_, layout.offset);
  }

 private:
  [[gnu::cold, gnu::noinline]] void agree_on_run(std::string_view what, AgreedRun own, const dataset::DataInfo& data,
                                                 std::string_view optimizer, const ParameterList& parameters) {
    compared_ = false;
    find_shard(data, own);
    dealt_ =
        detail::agree_on_run(sum_.group(), what, own, model_lines(optimizer, shards_, parameters, divides_ != nullptr));
    if (dealt_ && !one_per_rank_)
      throw_error<ValueError>(what, ": each rank has another shard of the data, so that a batch depends on the number "
                                    "of ranks: use DataParallel without .shards, or give all ranks the same data set.");
  }
  DealtBatch agree_on_step(const AgreedStep& own) const {
    return divided_ ? divided_.call(&DivisionCalls::agree_on_step, own, dealt_)
                    : detail::agree_on_step(sum_.group(), own, dealt_);
  }
  std::uint64_t weights_to_compare(const ParameterList& parameters, const TrainState& state) {
    if (std::exchange(compared_, true) || !parameters.arena()) return 0;
    const std::size_t bytes = std::size_t(parameters.arena()->bytes);
    if (context_) {
      context_->broadcast(sum_.group(), parameters.arena()->data, bytes);
      context_->broadcast(sum_.group(), state.address(), sizeof(std::uint64_t));  // the seed
    }
    return number_of_bits(home(parameters.arena()->data), bytes);
  }
  // Before a step: which batch it is that the ranks share, and which samples of it are this rank's.
  [[gnu::cold, gnu::noinline]] DealtBatch meet_before_step(AgreedStep& own, const ParameterList& parameters,
                                                           const TrainState& state, const nn::UpdateRules& rules) {
    if (divided_ && !compared_) divided_.call(&DivisionCalls::meet, false);  // before a broadcast of weights
    if (sum_.group().size() == 1) return {own.batch, 0};
    own.weights = weights_to_compare(parameters, state);
    own.seed = state.random(Look::read)[0], own.settings = number_of_settings(parameters);
    own.numbers = number_of_updates(state.data(0, std::size_t(alignment), Look::read), rules);
    return agree_on_step(own);
  }
  double* numbers(long begin) const { return reinterpret_cast<double*>(sum_.values(begin)); }
  // `begin`: the byte of the sum at which what is no gradient begins.
  [[gnu::cold, gnu::noinline]] void finish_outputs(long begin, StepOutputs& outputs) {
    steps_.numbers.finish(numbers(begin));
    outputs.clear();
    steps_.numbers.each_output([&](const AnyTensor& output) { outputs.add(output); });
  }
  // On another target, and in an observed program, all buckets are complete at the end.
  [[gnu::noinline]] void run_with_buckets(Executor& executor, const void* const* inputs, long n, const int* ready,
                                          const long* end, int buckets) {
    if (sum_.group().size() == 1 || executor.program().target != TargetId::cpu || (observable && observation()))
      return executor.run(inputs, n);
    int next = 0;
    executor.run_in_steps(inputs, n, [&](long instructions) {
      while (next < buckets && ready[next] <= instructions) ++next;
      if (next > 0) sum_.complete(end[next - 1]);
    });
  }

  long shards_;
  bool one_per_rank_, dealt_ = false;  // is the data: each rank's batch is its shard
  bool compared_ = false;              // are the weights of the ranks, in this run
  dist::detail::ShardSum sum_;
  ShardSteps steps_;
  const ParallelContext* context_ = parallel_context();
  DivideState divides_ = nullptr;  // how: the moments
  StateDivision divided_;          // null: each rank has the whole training state
};
}  // namespace detail

}  // namespace tenon
TENON_INT_SIZES_END
