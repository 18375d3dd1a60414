// The graphs that a Model runs: the training step, the evaluation step, and the optimizer alone for PyNative mode.
#pragma once
#include <tuple>

#include <tenon/core/spread.hpp>
#include <tenon/nn/parameter_gradients.hpp>
#include <tenon/train/amp.hpp>
#include <tenon/train/step/state.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// In place of a loss: the network of the Model returns the loss itself.
struct NoLoss {};
/// In place of an optimizer: the Model only evaluates.
struct NoOptimizer {
  static constexpr int slots = 0;
};

namespace detail {

/// How many columns of a row are labels, the last ones: as many as the loss says (nn::MultiLoss), else one.
template <class Loss>
inline constexpr int label_columns = 1;
template <class Loss>
requires(Loss::labels > 0)
inline constexpr int label_columns<Loss> = Loss::labels;
template <>
inline constexpr int label_columns<NoLoss> = 0;

/// The column of the label of an output, for metrics. With a loss for each output the last columns belong to them, in
/// their order.
template <int labels, int outputs>
constexpr int label_column(int output, int columns) {
  return labels == outputs ? columns - labels + output : columns - 1;
}

/// f of the first arguments, whose number is given, or of all but these.
template <int count, class F, class First, class... More>
constexpr auto of_first(const F& f, const First& first, const More&... more) {
  if constexpr (count == 1) return f(first);
  else if constexpr (count == 1 + int(sizeof...(More))) return f(first, more...);
  else return of_first<count - 1>([&](const auto&... next) { return f(first, next...); }, more...);
}
template <int count, class F, class First, class... More>
constexpr auto of_others(const F& f, const First&, const More&... more) {
  if constexpr (count == 1) return f(more...);
  else return of_others<count - 1>(f, more...);
}

/// What a model computes from a row: the prediction from the columns that are no labels, and the loss or losses.
template <class Net, class Loss, MixedPrecision precision = MixedPrecision{}, class... X>
constexpr auto predicted(const Net& net, const X&... x) {
  return of_first<int(sizeof...(X)) - label_columns<Loss>>(
      [&](const auto&... input) {
        if constexpr (is_half_dtype(precision.values)) return leaving<precision>(net(entering<precision>(input)...));
        else return net(input...);
      },
      x...);
}
template <class Loss, class P, class... X>
constexpr auto loss_of(const P& prediction, const X&... x) {
  if constexpr (std::is_same_v<Loss, NoLoss>) return prediction;
  else {
    [[maybe_unused]] const eager::InLoss scope;
    return of_others<int(sizeof...(X)) - label_columns<Loss>>(
        [&](const auto&... labels) { return prototype<Loss>(prediction, labels...); }, x...);
  }
}
/// Whether a loss has parameters or settings of its own, which a Model would not keep.
template <class Loss>
constexpr bool has_parameters() {
  if constexpr (!std::is_empty_v<Loss> && AnyCell<Loss>) return Structure<Loss>::table.parameters > 0;
  else return false;
}
/// The same in a trace, whose errors name the loss then.
template <class Loss, class P, class... X>
constexpr auto traced_loss(Builder& b, const P& prediction, const X&... x) {
  b.in_loss = true;
  if constexpr (has_parameters<Loss>()) {
    b.fail(Sentence{} << class_name<Loss>()
                      << " has parameters or settings: make the loss a member of the network, whose construct then "
                         "takes the label, too, and returns the loss, and give the Model NoLoss{}");
    b.in_loss = false;
    return Broken(&b);
  } else {
    const auto loss = loss_of<Loss>(prediction, x...);
    b.in_loss = false;
    return loss;
  }
}

template <class L>
constexpr void output_losses(Builder& b, const L& loss) {
  if constexpr (is_tuple<L>) detail::spread([&](const auto&... v) { (output_losses(b, v), ...); }, loss);
  else if constexpr (!is_broken<L>) {
    if (int(b.outputs.size()) < max_outputs) {  // a parameter that is an output is copied: the step changes it
      b.outputs.push_back(b.nodes[std::size_t(loss.id)].op->leaf ? b.template call<ops::Identity>(NoConfig{}, loss.id)
                                                                 : loss.id);
    } else {
      b.fail(Sentence{} << "a model has at most " << max_outputs
                        << " outputs, losses and predictions together: return fewer");
    }
  }
}

/// On a second target: a look at losses that are too many to be sent home in each step.
constexpr void append_loss_checks(Builder& b) {
  long bytes = 0;
  for (const int loss : b.outputs) {
    const TensorType& type = b.nodes[std::size_t(loss)].type;
    bytes += type.batched() ? sent_bytes + 1 : (type.bytes(1) + 7) / 8 * 8;
  }
  if (bytes <= sent_bytes) return;
  int flag = b.leaf(&info<ops::StateLeaf>, type_of<std::int32_t, Shape<>>, std::uint64_t(losses_state));
  for (const int loss : b.outputs) flag = b.template call<ops::OverflowCheck>(NoConfig{}, flag, loss);
}

/// Whether the forward pass of a step, which is all that b has, can run once more: it has bodies, and no effects.
constexpr bool is_repeatable(const Builder& b) {
  if (!b.has_bodies || b.inner_gradient) return false;
  for (const Node& node : b.nodes)
    if (node.op->effect) return false;
  return true;
}

template <class Net>
constexpr Builder builder_for(bool training, int cells = all_cells) {
  Builder b;
  b.cells = cells;
  b.entries = Structure<Net>::table.entry;
  b.entry_count = Structure<Net>::count;
  b.training = training;
  return b;
}

/// What is wrong with the number of columns of a data set: a network of one input is MindSpore's case.
template <class Net, class Loss, class First, class... X>
constexpr Sentence wrong_column_count() {
  const int labels = label_columns<Loss>, taken = argument_count<Net, First>(), inputs = taken > 1 ? taken : 1;
  Sentence s;
  s << "the data set has " << 1 + int(sizeof...(X)) << " columns, a model with a loss ";
  if (labels == 1) s << "function ";
  else s << "for each of " << labels << " outputs ";
  if (inputs > 1) s << "and a network of " << inputs << " inputs ";
  s << "needs " << inputs + labels << ": ";
  if (inputs > 1) s << "the inputs of construct, ";
  else s << "data" << (labels == 1 ? "" : ", ");
  return s << (labels > 1 ? "and a label for each output" : inputs > 1 ? "then the label" : " and label");
}

/// Whether construct takes as many arguments as there are columns before the labels.
template <class Net, class Loss, class First, class... More>
constexpr bool takes_inputs() {
  constexpr int inputs = 1 + int(sizeof...(More)) - label_columns<Loss>;
  if constexpr (std::is_same_v<Loss, NoLoss>) return true;
  else if constexpr (inputs == 1) return argument_count<Net, First>() < 2;  // else the call says what is wrong
  else if constexpr (inputs < 1) return false;
  else
    return of_first<inputs>(
        []<class... X>(std::type_identity<X>...) {
          return requires(const Net& net, const X&... x) { net.construct(x...); };
        },
        std::type_identity<First>(), std::type_identity<More>()...);
}

// Traces Step on the columns of a row: the inputs of the network, then with a loss function a label, or as many as it
// says.
template <class Step, class Net, class Loss, class... Keys, std::size_t... I>
constexpr void trace_row(Builder& b, std::index_sequence<I...>) {
  if constexpr (takes_inputs<Net, Loss, Traced<typename Keys::type, typename Keys::shape>...>())
    Step::trace_step(
        b, Traced<typename Keys::type, typename Keys::shape>(&b, b.leaf(&info<ops::Input>, Keys::value, I))...);
  else b.fail(wrong_column_count<Net, Loss, Traced<typename Keys::type, typename Keys::shape>...>());
}

/// A network of a 16-bit precision in which nothing has 16 bits is a mistake.
template <MixedPrecision precision>
constexpr void check_precision(Builder& b) {
  if constexpr (is_half_dtype(precision.values)) {
    for (const Node& node : b.nodes)
      if (node.type.dtype == precision.values) return;
    b.fail(Sentence{} << "the amp level has no effect: the network has no floating-point input, and no embedding that "
                         "it looks up by an integer one: cast<"
                      << tenon::name(precision.values) << "> in construct what it shall compute with");
  }
}

/// The whole training step: forward, loss, backward, updates.
template <class Net, class Loss, class Optimizer, MixedPrecision precision, class... Keys>
struct TrainStepIn {
  static constexpr const Entry* entries = Structure<Net>::table.entry;

  static constexpr Builder trace(int cells = all_cells) {
    Builder b = builder_for<Net>(true, cells);
    trace_row<TrainStepIn, Net, Loss, Keys...>(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  template <class... X>
  static constexpr void trace_step(Builder& b, const X&... x) {
    const auto loss = traced_loss<Loss>(b, predicted<Net, Loss, precision>(prototype<Net>, x...), x...);
    const auto total = total_loss(loss);
    check_precision<precision>(b);
    if constexpr (!is_broken<decltype(total)>) {
      output_losses(b, loss);
      b.repeatable = is_repeatable(b);
      if (b.error.empty() && b.enters_all()) {
        if constexpr (several_targets) append_loss_checks(b);
        append_training(b, total.id);
      }
    } else b.fail(Sentence{} << "construct returned no value");  // kept only if nothing has failed before
  }
  static constexpr void append_training(Builder& b, int loss) {
    if (Structure<Net>::table.trainable == 0)
      return b.fail(
          Sentence{}
          << "the optimizer got an empty parameter list: every parameter of the network is frozen, or it has none");
    const int seed = seed_of(b, b.nodes[std::size_t(loss)].type.dtype);
    EntryGradients<Net> gradients = gradients_of<Net>(b, traced_parameter_gradients<Net>(b, loss, seed));
    if (gradients.count == 0)
      return b.fail(Sentence{} << "no gradient reaches a parameter: the loss depends on none, or only through "
                                  "operators without a gradient, such as argmax, round, comparisons, and casts to "
                                  "integers");
    if constexpr (requires { Optimizer::append(b, gradients); }) Optimizer::append(b, gradients);
    else append_updates<Net, Optimizer, precision.drops_overflow>(b, gradients);
  }
  // The gradient of the loss with respect to itself: 1, or the loss scale.
  static constexpr int seed_of(Builder& b, Dtype loss) {
    if constexpr (!precision.scales_loss) return b.constant(loss, 1);
    else {
      const int scale = b.leaf(&info<ops::StateLeaf>, type_of<float, Shape<>>, std::uint64_t(loss_scale_state));
      return loss == Dtype::float32 ? scale : b.template call<ops::Cast>(ops::Cast::Config{loss}, scale);
    }
  }
};
template <class Net, class Loss, class Optimizer, class... Keys>
using TrainStep = TrainStepIn<Net, Loss, Optimizer, MixedPrecision{}, Keys...>;

/// Forward and loss in evaluation. Outputs: the losses (not with NoLoss), then the prediction.
template <class Net, class Loss, MixedPrecision precision, class... Keys>
struct EvalStepIn {
  static constexpr const Entry* entries = Structure<Net>::table.entry;

  static constexpr Builder trace(int cells = all_cells) {
    Builder b = builder_for<Net>(false, cells);
    trace_row<EvalStepIn, Net, Loss, Keys...>(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  template <class... X>
  static constexpr void trace_step(Builder& b, const X&... x) {
    const auto prediction = predicted<Net, Loss, precision>(prototype<Net>, x...);
    check_precision<precision>(b);
    if constexpr (!std::is_same_v<Loss, NoLoss>) output_losses(b, traced_loss<Loss>(b, prediction, x...));
    output_losses(b, prediction);
  }
};
template <class Net, class Loss, class... Keys>
using EvalStep = EvalStepIn<Net, Loss, MixedPrecision{}, Keys...>;

/// The updates alone, with gradients as inputs (input e: gradient of entry e), for PyNative mode; or with sums of
/// gradients (`of_sums`), for shards.
template <class Net, class Optimizer, bool drops_overflow = false, bool of_sums = false>
struct UpdateStep {
  static constexpr const Entry* entries = Structure<Net>::table.entry;

  static constexpr Builder trace() {
    Builder b = builder_for<Net>(true);
    EntryGradients<Net> gradients;
    for (int e = 0; e < b.entry_count; ++e)
      if (entries[e].trainable)
        gradients.add({e, b.leaf(&info<ops::ParameterLeaf>, entries[e].dims, std::uint64_t(e)),
                       b.leaf(&info<ops::Input>, of_sums ? nn::detail::sum_type(entries[e].dims) : entries[e].dims,
                              std::uint64_t(e))});
    append_updates<Net, Optimizer, drops_overflow>(b, gradients);
    return b;
  }
};

}  // namespace detail
}  // namespace tenon
TENON_INT_SIZES_END
