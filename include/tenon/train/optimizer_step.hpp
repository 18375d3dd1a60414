// Custom loops: an optimizer step on gradients, and whole training steps compiled to a graph.
#pragma once
#include <tenon/nn/parameter_gradients.hpp>
#include <tenon/run/executor_here.hpp>
#include <tenon/train/step/checked.hpp>
#include <tenon/train/step/step_runner.hpp>

namespace tenon::inline TENON_ABI {

template <class F, class Net, class Optimizer>
class JitStep;

/// An optimizer with its state for one network, for loops without a Model:
///
///     OptimizerStep optimizer(net, nn::Adam{.learning_rate = 1e-3f});
///     const auto [loss, gradients] = value_and_grad([&] { return loss_fn(net(x), y); }, net)();
///     optimizer(gradients);
///
/// All optimizers, groups, clipping, accumulation, and flags of requires_grad(), as in a Model; several may share a
/// network, or parts of one. The network must outlive it. Not for several threads.
/// throws   ValueError, KeyError, RuntimeError for the optimizer's numbers and groups, as a Model does
/// Source: MindSpore's `optimizer(grads)`.
template <class Net, nn::Optimizer Optimizer>
class OptimizerStep {
 public:
  using optimizer_type = Optimizer;

  /// Steps under jit draw their random numbers, such as the masks of a dropout, from `seed`.
  OptimizerStep(const Net& net, Optimizer optimizer, std::uint64_t seed = get_context().seed)
      : net_(&net),
        optimizer_(std::move(optimizer)),
        state_(detail::check_training_memory(ParameterList(net), StateLayout<Net, Optimizer>::table.numbers,
                                             StateLayout<Net, Optimizer>::table.bytes),
               seed),
        rules_(optimizer_, Structure<Net>::table.entry, Structure<Net>::count) {
    check_exact_rounding();
    detail::fill_state<Net>(state_, optimizer_);
    ParameterList(net).bind();
  }
  OptimizerStep(const Net&&, Optimizer, std::uint64_t = 0) = delete;  // it would be gone at the first step

  /// Updates the parameters with these gradients.
  void operator()(const ParameterGradients<Net>& gradients) {
    const ParameterList parameters(*net_);
    parameters.bind();
    if (ParameterArena* const arena = parameters.arena()) arena->change();
    detail::write_numbers<Net, false>(state_, parameters, rules_, optimizer_);
    const void* address[Structure<Net>::count]{};
    for (int e = 0; e < Structure<Net>::count; ++e)
      if (Structure<Net>::table.entry[e].trainable) address[e] = gradients.data(e);
    using Update = Compiled<detail::UpdateStep<Net, Optimizer>>;
    detail::run_updates<Net>(bound(program_here<Update>(), parameters), parameters, address);
    state_.advance();
  }

  /// The optimizer; its numbers may be changed between steps, its groups, and the batches of an AccumulateGradients,
  /// may not.
  Optimizer& optimizer() { return optimizer_; }
  const Net& network() const { return *net_; }
  /// Steps so far.
  long global_step() const { return state_.step(); }
  /// The optimizer's moments, named as in MindSpore's checkpoints: "moments.conv1.weight". The views are valid as long
  /// as this object.
  std::vector<io::NamedTensor> optimizer_state() const { return detail::named_state<Net, Optimizer>(state_); }

 private:
  template <class F, class N, class O>
  friend class JitStep;

  Executor& bound(const Program& program, const ParameterList& parameters) {
    Executor& executor = executors_.get(program);
    executor.bind(parameters.base(), state_.address(), parameters.values());
    freeze_as_flagged(executor, parameters);
    return executor;
  }

  const Net* net_;
  Optimizer optimizer_;
  TrainState state_;
  nn::UpdateRules rules_;
  detail::ExecutorCache executors_;
};

namespace detail {
/// Represents an OptimizerStep while a step is traced.
template <class Net, class Optimizer>
class TracedOptimizerStep {
 public:
  constexpr void operator()(const TracedGradients<Net>& gradients) {
    Builder& b = gradients.builder();
    if (called_) return b.fail(Sentence{} << "the step calls its optimizer twice: one step is one update");
    called_ = true;
    EntryGradients<Net> all = gradients_of<Net>(b, gradients.nodes());
    if (all.count == 0) return b.fail(Sentence{} << "the loss depends on no parameter that the optimizer trains");
    append_updates<Net, Optimizer, false>(b, all);
  }
  constexpr void operator()(const BrokenGradients&) {}

 private:
  bool called_ = false;
};

/// The graph of a user's training step.
template <class F, class Net, class Optimizer, class... Keys>
struct UserStep {
  static constexpr const Entry* entries = Structure<Net>::table.entry;
  static constexpr Builder trace(int cells = all_cells) {
    Builder b = builder_for<Net>(true, cells);
    trace_arguments(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  template <std::size_t... I>
  static constexpr void trace_arguments(Builder& b, std::index_sequence<I...>) {
    TracedOptimizerStep<Net, Optimizer> optimizer;
    add_outputs(
        b, F{}(prototype<Net>, optimizer,
               Traced<typename Keys::type, typename Keys::shape>(&b, b.leaf(&info<ops::Input>, Keys::value, I))...));
  }
};
}  // namespace detail

/// A training step of the user's, compiled. Made by jit(step, net, optimizer).
template <class F, class Net, class Optimizer>
class JitStep {
 public:
  explicit JitStep(OptimizerStep<Net, Optimizer>& optimizer) : optimizer_(&optimizer) {}

  template <class... X>
  auto operator()(const X&... x) const {
    constexpr bool on_tensors = (detail::is_tensor<X> && ...);
    static_assert(on_tensors, "a training step is called with tensors");
    using Graph = detail::TriedGraph<detail::UserStep<F, Net, Optimizer, typename detail::KeyFor<X>::type...>>;
    if constexpr (!Graph::ok) {
      using Wrong = Mistake<Graph>;
      return Wrong::corrected;
    } else {
      const Net& net = *optimizer_->net_;
      check_members(net);
      const ParameterList parameters(net);
      parameters.bind();
      const detail::StepWatch watch(step<Graph>(x...));
      // A tape has no derivatives of derivatives, and adds up what turns of a loop give in another order.
      if constexpr (!Graph::in_one_piece)
        if (get_context().mode == Mode::pynative || detail::every_value_observed()) return plain<Graph>(x...);
      return run<Graph>(parameters, x...);
    }
  }

 private:
  template <class Graph>
  using Outputs = std::make_integer_sequence<int, Graph::graph.outputs>;
  // What watchers are told.
  template <class Graph, class... X>
  NetworkStep step(const X&... x) const {
    if constexpr (!observable) return {};
    else {
      return {Structure<Net>::table.entry[0].class_name,
              optimizer_,
              StepKind::train,
              get_context().mode,
              optimizer_->state_.step(),
              detail::common_batch_size("jit", x...),
              &program_here<Graph>(),
              NetworkParts(*optimizer_->net_)};
    }
  }
  template <class Graph, class... X>
  auto run(const ParameterList& parameters, const X&... x) const {
    OptimizerStep<Net, Optimizer>& o = *optimizer_;
    if (ParameterArena* const arena = parameters.arena()) arena->change();
    detail::write_numbers<Net, false>(o.state_, parameters, o.rules_, o.optimizer_);
    Executor& executor = o.bound(program_here<Graph>(), parameters);
    const long n = detail::common_batch_size("jit", x...);
    const void* inputs[]{x.data()..., nullptr};
    executor.run(inputs, n);
    o.state_.advance();
    return detail::results_of<Graph>(executor, n, Outputs<Graph>());
  }
  // Operator by operator, with the random numbers of the graph.
  template <class Graph, class... X>
  auto plain(const X&... x) const {
    using Result = decltype(detail::results_of<Graph>(std::declval<const Executor&>(), 1, Outputs<Graph>()));
    const FlushDenormals flush;
    const eager::RootScope root(*optimizer_->net_, true, optimizer_->state_.random(), detail::draws_of<Graph>());
    const Net& net = *optimizer_->net_;
    return Result(detail::flat(detail::outer(F{}(net, *optimizer_, detail::inner(x)...))));
  }

  OptimizerStep<Net, Optimizer>* optimizer_;
};

/// A whole training step as one graph:
///
///     const auto step = jit(
///         [](const auto& net, auto& optimizer, const auto& x, const auto& y) {
///           const auto [loss, gradients] = value_and_grad([&] { return nn::MSELoss{}(net(x), y); }, net)();
///           optimizer(gradients);
///           return loss;
///         },
///         net, optimizer);
///     const auto loss = step(x, y);
///
/// The function captures nothing; it is called with the network, the OptimizerStep, and the arguments of the call, and
/// returns a tensor or a std::tuple of them. In graph mode it is one graph, in PyNative mode it runs operator by
/// operator, or as one graph if it calls grad or a loop; both give the same bits as a Model. The network trains
/// (dropout, batch statistics), whatever value set_train() has set.
template <class F, class Net, class Optimizer>
auto jit(F, Net& net, OptimizerStep<std::remove_const_t<Net>, Optimizer>& optimizer) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "jit needs a function without state: a lambda that captures nothing; pass what it needs as arguments");
  if (&net != &optimizer.network())
    throw_error<ValueError>("jit: the optimizer belongs to another network of the same type.");
  return JitStep<F, std::remove_const_t<Net>, Optimizer>(optimizer);
}

namespace detail {
template <class F, class Net, class... More>
struct WrongJitStep {
  static constexpr bool no_optimizer = sizeof...(More) == 0 && AnyCell<Net>;
  static constexpr Sentence sentence =
      no_optimizer
          ? Sentence{} << "jit(step, net, optimizer) needs an optimizer: OptimizerStep optimizer{net, "
                          "nn::SGD{.learning_rate = 0.1f}}; without one call the network, net(x), or model.predict(x), "
                          "which graph mode compiles"
          : Sentence{} << "jit(step, net, optimizer) takes one network and an OptimizerStep of the whole of it; to "
                          "train a part, "
                          "nn::TrainOneStepCell(network, network.part, optimizer, loss) takes a function that returns "
                          "the loss (examples/11_gan.cpp)";
};
}  // namespace detail
/// Says what jit takes.
template <class F, class A, class... More>
auto jit(F, A&&, More&&...) {
  using Wrong = Mistake<detail::WrongJitStep<F, std::remove_cvref_t<A>, std::remove_cvref_t<More>...>>;
  return Wrong::corrected;
}

}  // namespace tenon
