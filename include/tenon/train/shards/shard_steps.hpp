// The work of a shard: its gradients, which it adds to a block, and the update from their sum.
#pragma once
#include <tenon/core/function_ref.hpp>
#include <tenon/train/shards/shard_graph.hpp>
#include <tenon/train/shards/shard_numbers.hpp>
#include <tenon/train/shards/state_division.hpp>
#include <tenon/train/step/step_runner.hpp>
#if TENON_DEFINES
#include <cstring>
#endif

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// The samples of a shard, as a row.
template <class List>
dataset::Row<List> part_of_row(const dataset::Row<List>& row, dist::ShardRange samples) {
  dataset::Row<List> result;
  result.n = samples.size();
  for (int i = 0; i < List::count; ++i)
    result.column[i] = static_cast<const std::byte*>(row.column[i]) + List::types[i].bytes(samples.begin);
  return result;
}

/// A shard of a batch. Its gradients count by the weight; it begins the sum in the block, or adds to it.
struct ShardOf {
  long shards;
  int number;
  double weight;
  bool begins;
};

/// What the graphs of shards, or their operators, need between them. A block has a header, in place of a training
/// state, and sums of gradients (SumLayout).
struct ShardSteps {
  ShardNumbers numbers;
  using OutputOf = FunctionRef<int, AnyTensor&>;
  using Take = FunctionRef<OutputOf>;
  using Run = FunctionRef<Executor&, const void* const*, long>;

  /// Runs a shard, in either mode: `run(executor, inputs, n)` starts its graph. Calls take(output) with a function that
  /// gives output k.
  template <class... C, class Runner, class List>
  void compute(Runner& runner, const dataset::Row<List>& row, const ShardOf& shard, std::byte* block, Run run,
               Take take) {
    using Graph = typename Runner::template TrainGraph<C...>;
    float scale = 1;
    if constexpr (Runner::scales_loss) scale = runner.state_.loss_scale();
    begin(runner.state_.random(Look::read), scale, shard, block);
    if constexpr (Runner::by_operators && !Graph::in_one_piece)
      if (runner.mode_here() == Mode::pynative) return run_by_operators<C...>(runner, row, shard.begins, block, take);
    if constexpr (Runner::model_options.graph || Graph::in_one_piece)
      run_graph(runner.executors_.get(program_here<Graph>()), ParameterList(*runner.net_), block, row.column, row.n,
                run, take);
  }
  /// The optimizer's updates from the sums in a block, of the parameters that `reached` says, or those of this rank.
  template <class Runner>
  void update(Runner& runner, const ParameterList& parameters, const bool* reached, std::byte* block,
              const StateDivision& divided = {}) {
    using Net = typename Runner::network_type;
    using Optimizer = typename Runner::optimizer_type;
    using Update = Compiled<UpdateStep<Net, Optimizer, Runner::drops_overflow, true>, Runner::model_options.passes>;
    find_gradients(runner.gradients_, parameters, reached, SumLayout<Net>::table.offset, block);
    Executor& executor = runner.bound(runner.executors_.get(program_here<Update>()));
    if (!divided) prepare_updates<Net>(executor, parameters, runner.gradients_);
    else divided.call(&DivisionCalls::restrict, executor, parameters, runner.gradients_);
    executor.run(runner.gradients_, 1);
  }

 private:
  // Restores the statistics, and writes what the graph of a shard reads in place of a training state.
  void begin(const std::uint64_t* random, float scale, const ShardOf& shard, std::byte* block) const;
  static void run_graph(Executor& executor, const ParameterList& parameters, std::byte* block,
                        const void* const* inputs, long n, Run run, Take take);
  template <class... C, class Runner, class List>
  [[gnu::noinline]] void run_by_operators(Runner& runner, const dataset::Row<List>& row, bool begins, std::byte* block,
                                          Take take) {
    std::byte* const header = home(block);
    runner.template pynative_backward<C...>(
        row, outputs_, reinterpret_cast<std::uint64_t*>(header), scale_in(header), [&] {
          add_gradients(runner.tape_, ParameterList(*runner.net_),
                        SumLayout<typename Runner::network_type>::table.offset, header, begins);
        });
    take_outputs(take);
  }
  static float scale_in(const std::byte* header);
  static void add_gradients(eager::Tape& tape, const ParameterList& parameters, const long* offset, std::byte* header,
                            bool begins);
  void take_outputs(Take take);
  // Where the sums of the gradients are that are used.
  static void find_gradients(const void** gradients, const ParameterList& parameters, const bool* reached,
                             const long* offset, std::byte* block);

  StepOutputs outputs_;
};

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSteps::begin(const std::uint64_t* random, float scale,
                                                                 const ShardOf& shard, std::byte* block) const {
  numbers.restore();
  std::byte* const header = home(block, std::size_t(alignment), Look::change);
  const std::uint64_t own[]{random[0], random[1] * std::uint64_t(shard.shards) + std::uint64_t(shard.number)};
  std::memcpy(header, own, sizeof own);
  scale = static_cast<float>(scale * shard.weight);
  std::memcpy(header + loss_scale_state, &scale, sizeof scale);
  const float first = shard.begins;
  std::memcpy(header + first_gradient_state, &first, sizeof first);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSteps::run_graph(Executor& executor,
                                                                     const ParameterList& parameters, std::byte* block,
                                                                     const void* const* inputs, long n, Run run,
                                                                     Take take) {
  executor.bind(parameters.base(), block, parameters.values());
  freeze_as_flagged(executor, parameters);
  run(executor, inputs, n);
  take([&](int k, AnyTensor& to) { to = AnyTensor(executor.output_type(k), n, executor.output(k)); });
}
TENON_INLINE float ShardSteps::scale_in(const std::byte* header) {
  float scale;
  std::memcpy(&scale, header + loss_scale_state, sizeof scale);
  return scale;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSteps::add_gradients(eager::Tape& tape,
                                                                         const ParameterList& parameters,
                                                                         const long* offset, std::byte* header,
                                                                         bool begins) {
  for (int e = 0; e < parameters.entries(); ++e)
    if (void* const gradient = offset[e] ? tape.gradient_data(parameters.handle(e)) : nullptr)
      add_gradient(header + offset[e],
                   AnyTensor(parameters.table()[e].dims, 1, home(static_cast<std::byte*>(gradient))), begins);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSteps::take_outputs(Take take) {
  const NetOutputs outputs = outputs_.views();
  take([&](int k, AnyTensor& to) {
    to = outputs[std::size_t(k)];
    to.data = home(static_cast<std::byte*>(to.data), to.bytes(), Look::read);
  });
  outputs_.clear();
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSteps::find_gradients(const void** gradients,
                                                                          const ParameterList& parameters,
                                                                          const bool* reached, const long* offset,
                                                                          std::byte* block) {
  for (int e = 0; e < parameters.entries(); ++e)
    gradients[e] = reached[e] && parameters.handle(e).requires_grad() ? block + offset[e] : nullptr;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
TENON_INT_SIZES_END
