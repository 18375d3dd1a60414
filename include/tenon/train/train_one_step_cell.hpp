// TrainOneStepCell: the usual training step of a network that returns its loss, or of a part of one, for loops without
// a Model.
#pragma once
#include <tenon/core/memory/owned.hpp>
#include <tenon/nn/share_parameters.hpp>
#include <tenon/train/optimizer_step.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// The step: gradients of the loss, an update.
struct LossStep {
  template <class Net, class Optimizer, class... X>
  constexpr auto operator()(const Net& net, Optimizer& optimizer, const X&... x) const {
    const auto [loss, gradients] = value_and_grad([&] { return net(x...); }, net)();
    optimizer(gradients);
    return loss;
  }
};

/// A network of which training changes the parameters of `Part` alone.
template <class Net, class Part>
struct TrainedInPart : nn::Cell<TrainedInPart<Net, Part>> {
  /// The type_number of the part, 0: the whole.
  static constexpr std::uint64_t trained = std::is_same_v<Net, Part> ? 0 : type_number<Part>;
  Net cell;
};
template <class Net, class Part>
inline constexpr Children children_of<TrainedInPart<Net, Part>> = Children::stands_for_inner;

/// The loss function of a network that returns its loss.
struct LossOfNetwork {
  template <class Net, class... X>
  constexpr auto operator()(const Net& net, const X&... x) const {
    return net(x...);
  }
};

/// The step of one, with a function that returns the loss.
template <class Loss>
struct LossOfPartStep {
  template <class Net, class Optimizer, class... X>
  constexpr auto operator()(const Net& net, Optimizer& optimizer, const X&... x) const {
    const auto [loss, gradients] = value_and_grad([&] { return Loss{}(net.cell, x...); }, net)();
    optimizer(gradients);
    return loss;
  }
};

/// How many cells of type Part are in a network.
template <class Net, class Part>
constexpr int count_cells() {
  int count = 0;
  for (const Entry& e : Structure<Net>::table.entry) count += e.type == type_number<Part>;
  return count;
}

/// What is wrong with the arguments of a TrainOneStepCell for a loss function.
template <class Net, class Part, class Loss>
struct LossOfPartGiven {
  static constexpr Sentence find() {
    Sentence s;
    if constexpr (!std::is_empty_v<Loss> || !std::is_default_constructible_v<Loss>)
      s << "TrainOneStepCell needs a loss function without state: a lambda that captures nothing; it is called with "
           "the network and the arguments of a step";
    else if constexpr (const int parts = count_cells<Net, Part>(); parts != 1) {
      s << class_name<Net>() << " has ";
      if (parts) s << parts << " parts";
      else s << "no part";
      s << " of type " << class_name<Part>()
        << ": TrainOneStepCell(network, part, optimizer, loss) finds the part by its type; "
        << (parts ? "make a cell of what is trained together, struct Generators : nn::Cell<Generators>, and a member "
                    "of it"
                  : "a loss comes last, as a lambda: [](const auto& net, const auto& x, const auto& y) { return "
                    "nn::MSELoss{}(net(x), y); }");
    }
    return s;
  }
  static constexpr Sentence sentence = find();
  static constexpr bool ok = sentence.empty();
};

/// What is wrong with a call of its step.
template <class Net, class Loss, class... X>
struct LossOfPartCall {
  static constexpr Sentence find() {
    Sentence s;
    if constexpr (!std::is_invocable_v<Loss, const Net&, const SeenInGraph<X>&...>)
      s << "the loss function of this TrainOneStepCell does not take the network and " << int(sizeof...(X))
        << (sizeof...(X) == 1 ? " argument" : " arguments") << ", with which the step was called";
    else if constexpr (std::is_void_v<std::invoke_result_t<Loss, const Net&, const SeenInGraph<X>&...>>)
      s << "the loss function of this TrainOneStepCell returns nothing: return the loss";
    return s;
  }
  static constexpr Sentence sentence = find();
  static constexpr bool ok = sentence.empty();
};

/// The entry of the part; throws ValueError if it is that of another network.
template <class Net, class Part>
const Entry& entry_of_part(const Net& net, const Part& part) {
  const Entry* found = Structure<Net>::table.entry;
  while (found->type != type_number<Part>) ++found;
  const std::ptrdiff_t place =
      static_cast<const std::byte*>(found->address) - reinterpret_cast<const std::byte*>(&prototype<Net>);
  if (static_cast<const void*>(&part) != reinterpret_cast<const std::byte*>(&net) + place)
    throw_error<ValueError>("TrainOneStepCell: this ", class_name<Part>(), " is no part of this ", class_name<Net>(),
                            ", but of another one: pass a member of the network.");
  return *found;
}
/// The seed of its steps. Each part has its own: the two sides of a GAN get different noise.
template <class Net, class Part>
std::uint64_t seed_of_part(const Net& net, const Part& part) {
  const std::uint64_t seed = get_context().seed;
  if constexpr (std::is_same_v<Net, Part>) return seed;
  else return hash_number(entry_of_part(net, part).path, seed);
}
}  // namespace detail

namespace nn {

/// Training steps of a network that returns its loss, or a std::tuple of losses, from all arguments:
///
///     nn::TrainOneStepCell train(net, nn::Adam{.learning_rate = 1e-3f});
///     for (const auto& [x, y] : rows) std::printf("%g\n", train(x, y).item());
///
/// of any network with a function that returns the loss, and captures nothing:
///
///     nn::TrainOneStepCell train(net, nn::Adam{.learning_rate = 1e-3f},
///                                [](const auto& n, const auto& x, const auto& y) { return nn::MSELoss{}(n(x), y); });
///
/// or of one part of a network, such as a side of a GAN, or a new head:
///
///     nn::TrainOneStepCell train_critic(gan, gan.critic, nn::Adam{.learning_rate = 1e-3f},
///                                       [](const auto& gan, const auto& real) { ... });
///     nn::TrainOneStepCell train_head(net, net.head, nn::Adam{.learning_rate = 1e-3f});  // net returns its loss
///
/// A call is what jit(step, net, optimizer) makes of value_and_grad and an OptimizerStep, with the bits of a Model with
/// NoLoss: one graph in graph mode, operator by operator in PyNative mode. It returns the loss before the update. The
/// rest of the network trains, too, where it is no nn::Frozen: it drops out, and its batch norms take the statistics of
/// the batch, as in PyTorch; only its parameters stay. Steps of different parts draw different random numbers. Several
/// may share a network, which must outlive them. Not for several threads.
/// throws   as OptimizerStep; ValueError for a part of another network
/// Source: MindSpore's TrainOneStepCell, which wants set_train() first; here a step always trains.
template <class Net, Optimizer Opt, class Loss = void, class Part = Net>
class TrainOneStepCell {
  using Trained = tenon::detail::TrainedInPart<Net, Part>;
  using Given = tenon::detail::LossOfPartGiven<Net, Part, Loss>;

 public:
  TrainOneStepCell(const Net& net, Opt optimizer, Loss loss) requires std::is_same_v<Net, Part>
      : TrainOneStepCell(net, net, std::move(optimizer), loss) {}
  TrainOneStepCell(const Net& net, const Part& part, Opt optimizer, Loss)
      : net_(&net), trained_(sharing(net)), optimizer_(*trained_, std::move(optimizer), seed(net, part)) {}
  TrainOneStepCell(const Net& net, const Part& part, Opt optimizer)
      requires std::is_same_v<Loss, tenon::detail::LossOfNetwork>
      : TrainOneStepCell(net, part, std::move(optimizer), {}) {}
  TrainOneStepCell(const Net&&, Opt, Loss) = delete;
  TrainOneStepCell(const Net&&, const Part&, Opt, Loss) = delete;

  template <class... X>
  auto operator()(const X&... x) {
    using Call = std::conditional_t<Given::ok, tenon::detail::LossOfPartCall<Net, Loss, X...>, Given>;
    if constexpr (!Call::ok) {
      using Wrong = Mistake<Call>;
      return Wrong::corrected;
    } else {
      check_members(*net_);
      follow();
      return JitStep<tenon::detail::LossOfPartStep<Loss>, Trained, Opt>(optimizer_)(x...);
    }
  }
  /// As of a TrainOneStepCell without a loss function.
  OptimizerStep<Trained, Opt>& optimizer() { return optimizer_; }

 private:
  static tenon::detail::Owned<Trained> sharing(const Net& net) {
    if constexpr (!Given::ok) {
      using Wrong = Mistake<Given>;
      static_cast<void>(Wrong::corrected);
      return {};
    } else {
      tenon::detail::Owned<Trained> trained(new Trained);
      share_parameters(net, *trained);
      return trained;
    }
  }
  static std::uint64_t seed(const Net& net, const Part& part) {
    if constexpr (Given::ok) return tenon::detail::seed_of_part(net, part);
    else return 0;
  }
  // The network's flags of requires_grad() hold for the step, and its parameters, if it was assigned to.
  void follow() {
    const ParameterList from(*net_), own(*trained_);
    from.bind();
    if (from.arena() != own.arena()) share_parameters(*net_, *trained_);
    if (!from.arena() || from.arena()->freeze_version == flags_) return;
    for (int e = 0; e < own.entries(); ++e)
      if (own.table()[e].parameter)
        own.handle(e).requires_grad(!own.table()[e].outside && from.handle(e).requires_grad());
    flags_ = from.arena()->freeze_version;
  }

  const Net* net_;
  tenon::detail::Owned<Trained> trained_;
  OptimizerStep<Trained, Opt> optimizer_;
  unsigned flags_ = ~0u;  // the version that was followed
};

template <class Net, Optimizer Opt>
class TrainOneStepCell<Net, Opt> {
 public:
  TrainOneStepCell(const Net& net, Opt optimizer) : optimizer_(net, std::move(optimizer)) {}
  TrainOneStepCell(const Net&&, Opt) = delete;

  template <class... X>
  auto operator()(const X&... x) {
    return JitStep<tenon::detail::LossStep, Net, Opt>(optimizer_)(x...);
  }
  /// The step's optimizer: `train.optimizer().optimizer().learning_rate = 1e-4f`, `train.optimizer().global_step()`.
  OptimizerStep<Net, Opt>& optimizer() { return optimizer_; }

 private:
  OptimizerStep<Net, Opt> optimizer_;
};

template <class Net, Optimizer Opt>
TrainOneStepCell(const Net&, Opt) -> TrainOneStepCell<Net, Opt>;
template <class Net, Optimizer Opt, class Loss>
TrainOneStepCell(const Net&, Opt, Loss) -> TrainOneStepCell<Net, Opt, Loss>;
template <class Net, class Part, Optimizer Opt>
TrainOneStepCell(const Net&, const Part&, Opt) -> TrainOneStepCell<Net, Opt, tenon::detail::LossOfNetwork, Part>;
template <class Net, class Part, Optimizer Opt, class Loss>
TrainOneStepCell(const Net&, const Part&, Opt, Loss) -> TrainOneStepCell<Net, Opt, Loss, Part>;

}  // namespace nn

}  // namespace tenon
