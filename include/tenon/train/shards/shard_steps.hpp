// The work of a shard: its gradients, which it adds to a block, and the update from their sum.
#pragma once
#include <cstring>

#include <tenon/train/shards/shard_graph.hpp>
#include <tenon/train/shards/shard_numbers.hpp>
#include <tenon/train/shards/state_division.hpp>
#include <tenon/train/step/step_runner.hpp>

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

  /// Runs a shard, in either mode: `run(executor, inputs, n)` starts its graph. Calls take(output) with a function that
  /// gives output k.
  template <class... C, class Runner, class List, class Run, class Take>
  void compute(Runner& runner, const dataset::Row<List>& row, const ShardOf& shard, std::byte* block, Run run,
               Take take) {
    using Graph = typename Runner::template TrainGraph<C...>;
    numbers.restore();
    write_header(runner, shard, block);
    if constexpr (Runner::by_operators && !Graph::in_one_piece)
      if (runner.mode_here() == Mode::pynative) return run_by_operators<C...>(runner, row, shard.begins, block, take);
    if constexpr (Runner::model_options.graph || Graph::in_one_piece) {
      const ParameterList parameters(*runner.net_);
      Executor& executor = runner.executors_.get(program_here<Graph>());
      executor.bind(parameters.base(), block, parameters.values());
      freeze_as_flagged(executor, parameters);
      run(executor, row.column, row.n);
      take([&](int k) { return AnyTensor(executor.output_type(k), row.n, executor.output(k)); });
    }
  }
  /// The optimizer's updates from the sums in a block, of the parameters that `reached` says, or those of this rank.
  template <class Runner>
  void update(Runner& runner, const ParameterList& parameters, const bool* reached, std::byte* block,
              const StateDivision& divided = {}) {
    using Net = typename Runner::network_type;
    using Optimizer = typename Runner::optimizer_type;
    using Update = Compiled<UpdateStep<Net, Optimizer, Runner::drops_overflow, true>, Runner::model_options.passes>;
    for (int e = 0; e < parameters.entries(); ++e)
      runner.gradients_[e] =
          reached[e] && parameters.handle(e).requires_grad() ? block + SumLayout<Net>::table.offset[e] : nullptr;
    Executor& executor = runner.bound(runner.executors_.get(program_here<Update>()));
    if (!divided) prepare_updates<Net, Optimizer>(executor, parameters, runner.gradients_);
    else {
      const void* const* const gradients = nn::detail::accumulates<Optimizer> ? runner.gradients_ : nullptr;
      divided.call(&DivisionCalls::restrict, executor, parameters, gradients);
    }
    executor.run(runner.gradients_, 1);
  }

 private:
  // What the graph of a shard reads in place of a training state.
  template <class Runner>
  void write_header(Runner& runner, const ShardOf& shard, std::byte* block) {
    std::byte* const header = home(block, std::size_t(alignment), Look::change);
    const std::uint64_t* const random = runner.state_.random(Look::read);
    const std::uint64_t own[]{random[0], random[1] * std::uint64_t(shard.shards) + std::uint64_t(shard.number)};
    std::memcpy(header, own, sizeof own);
    float scale = 1;
    if constexpr (Runner::scales_loss) scale = runner.state_.loss_scale();
    scale = static_cast<float>(scale * shard.weight);
    std::memcpy(header + loss_scale_state, &scale, sizeof scale);
    const float first = shard.begins;
    std::memcpy(header + first_gradient_state, &first, sizeof first);
  }
  template <class... C, class Runner, class List, class Take>
  void run_by_operators(Runner& runner, const dataset::Row<List>& row, bool begins, std::byte* block, Take take) {
    static constexpr auto& layout = SumLayout<typename Runner::network_type>::table;
    std::byte* const header = home(block);
    float scale;
    std::memcpy(&scale, header + loss_scale_state, sizeof scale);
    runner.template pynative_backward<C...>(row, outputs_, reinterpret_cast<std::uint64_t*>(header), scale, [&] {
      const ParameterList parameters(*runner.net_);
      for (int e = 0; e < parameters.entries(); ++e)
        if (void* const gradient = layout.offset[e] ? runner.tape_.gradient_data(parameters.handle(e)) : nullptr)
          add_gradient(header + layout.offset[e],
                       AnyTensor(parameters.table()[e].dims, 1, home(static_cast<std::byte*>(gradient))), begins);
    });
    const NetOutputs outputs = outputs_.views();
    take([&](int k) {
      AnyTensor output = outputs[std::size_t(k)];
      output.data = home(static_cast<std::byte*>(output.data), output.bytes(), Look::read);
      return output;
    });
    outputs_.clear();
  }

  StepOutputs outputs_;
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
