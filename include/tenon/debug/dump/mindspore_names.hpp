// MindSporeNames: MindSpore's names of the operators of a step.
#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/debug/dump/dump_selection.hpp>
#include <tenon/debug/dump/marked_cells.hpp>
#include <tenon/graph/observe/operation.hpp>
#include <tenon/graph/observe/operation_name.hpp>
#include <tenon/graph/observe/watcher.hpp>

namespace tenon::inline TENON_ABI::debug {

struct OperatorName {
  std::string_view type, name;  // "BiasAdd", "Default/network-WithLossCell/_backbone-LeNet/fc1-Dense/BiasAdd-op0"
};

namespace detail {
struct MindSporeType {
  std::string_view own, theirs;
};
/// Updates by optimizers, whose classes are called as Tenon's operators are.
inline constexpr MindSporeType mindspore_updates[]{{"Momentum", "ApplyMomentum"},
                                                   {"Adagrad", "ApplyAdagrad"},
                                                   {"Adadelta", "ApplyAdadelta"},
                                                   {"AdaMax", "ApplyAdaMax"},
                                                   {"FTRL", "ApplyFtrl"},
                                                   {"ProximalAdagrad", "ApplyProximalAdagrad"},
                                                   {"RMSProp", "ApplyRMSProp"},
                                                   {"Adam", "Adam"},
                                                   {"SGD", "SGD"},
                                                   {"AdamWeightDecay", "AdamWeightDecay"}};
/// Types that MindSpore alone has.
inline constexpr std::string_view mindspore_types[]{"BiasAdd", "BiasAddGrad", "Flatten",
                                                    "SparseSoftmaxCrossEntropyWithLogits"};
}  // namespace detail

/// The names of a step's operators as MindSpore's Model has them:
///
/// - the network is network-WithLossCell/_backbone-LeNet in a training, _network-LeNet in an evaluation, and has no
///   scope of its own in a prediction; the loss is _loss_fn-MSELoss beside it
/// - the Add of a bias in a Dense or a convolution is BiasAdd, its gradient BiasAddGrad; a Reshape of [n, ...] to
///   [n, all the rest] is Flatten; a cross entropy of class numbers is SparseSoftmaxCrossEntropyWithLogits
/// - updates are ApplyMomentum-op0 and so on in optimizer-Momentum, op0 that of the last parameter
///
/// Numbers of other operators, and scopes of gradients, are Tenon's: MindSpore's depend on its passes and its release.
///
/// source      execution orders of MindSpore 2.10
class MindSporeNames {
 public:
  [[gnu::cold]] explicit MindSporeNames(const NetworkStep& step);
  /// What is kept of it lives as long as the program.
  [[gnu::cold]] OperatorName of(const Operation& operation) const;

  /// A sentence about names that no operator had, if they are MindSpore's names and Tenon's are required; or "".
  [[gnu::cold]] static std::string hint(const std::vector<std::string>& unused, DumpNames names);

 private:
  static std::string as_class(std::string_view member, std::string_view class_name) {
    return get_context().reserve_class_name_in_scope ? text(member, "-", class_name) : std::string(member);
  }
  static bool has_bias(std::string_view class_name) {
    return class_name == "Dense" || class_name == "Conv1d" || class_name == "Conv2d" || class_name == "Conv3d";
  }
  /// Whether a Reshape is between `whole`, [n, ...], and `flat`, [n, all the rest].
  static bool flattens(const Operation& operation, const TensorType& whole, const TensorType& flat) {
    return operation.type == "Reshape" && whole.rank > 2 && flat.rank == 2 && whole.extent[0] == flat.extent[0];
  }
  OperatorName of_update(const Operation& operation, const detail::MindSporeType& update) const;
  std::string_view type_of(const Operation& operation, bool in_biased_cell) const;

  std::string own_network_, network_, loss_;         // scopes, with a slash before each part
  std::set<std::string, std::less<>> biased_cells_;  // own scopes
  std::vector<std::string> trained_;                 // names of parameters
};

inline MindSporeNames::MindSporeNames(const NetworkStep& step) {
  const NetworkParts& parts = step.parts;
  own_network_ = detail::scope_of(parts.entry, 0);
  const std::string loss_cell = "/" + as_class("network", "WithLossCell");
  const bool has_loss = !step.loss.empty();
  if (step.kind == StepKind::train)
    network_ = has_loss ? loss_cell + "/" + as_class("_backbone", step.network) : own_network_;
  if (step.kind == StepKind::eval && has_loss) network_ = "/" + as_class("_network", step.network);
  loss_ = (step.kind == StepKind::train ? loss_cell : std::string()) + "/" + as_class("_loss_fn", step.loss);
  for (int i = 0; i < parts.count; ++i) {
    const Entry& entry = parts.entry[i];
    if (!entry.parameter && has_bias(entry.class_name)) biased_cells_.insert(detail::scope_of(parts.entry, i));
    if (entry.parameter && entry.trainable &&
        reinterpret_cast<const ParameterHandle*>(parts.address(i))->requires_grad())
      trained_.push_back(parameter_name(parts.entry, i));
  }
}

inline std::string_view MindSporeNames::type_of(const Operation& operation, bool in_biased_cell) const {
  if (operation.type == "Add" && in_biased_cell && operation.part == StepPart::forward) return "BiasAdd";
  if (operation.type == "SumTo" && in_biased_cell) return "BiasAddGrad";
  if (operation.part == StepPart::forward && flattens(operation, operation.operands[0], operation.result))
    return "Flatten";
  const bool of_classes =
      operation.type.starts_with("SoftmaxCrossEntropy") && !is_floating(operation.operands[1].dtype);
  return of_classes ? "SparseSoftmaxCrossEntropyWithLogits" : operation.type;
}
inline OperatorName MindSporeNames::of_update(const Operation& operation, const detail::MindSporeType& update) const {
  constexpr std::string_view before = "Default/optimizer/";
  const std::string_view parameter = operation.name.substr(before.size(), operation.name.rfind('/') - before.size());
  const auto at = std::find(trained_.begin(), trained_.end(), parameter);
  const auto number = trained_.end() - at - 1;
  if (number < 0) return {operation.type, operation.name};
  const std::string name = text("Default/", as_class("optimizer", update.own), "/", update.theirs, "-op", number);
  return {update.theirs, tenon::detail::interned(name)};
}
inline OperatorName MindSporeNames::of(const Operation& operation) const {
  const std::string_view name = operation.name;
  if (operation.part == StepPart::optimizer) {
    for (const detail::MindSporeType& update : detail::mindspore_updates)
      if (update.own == operation.type) return of_update(operation, update);
    return {operation.type, name};
  }
  // [Gradients/]Default, the scope with a slash before each part, [/Grad_Add], /Add-op0
  const std::size_t begin = name.find("Default") + std::string_view("Default").size();
  std::size_t end = name.rfind('/');
  std::string own_call;
  if (operation.part == StepPart::gradient) {
    const std::size_t call = name.rfind('/', end - 1);
    own_call = name.substr(call, end - call);
    end = call;
  }
  std::string scope(name.substr(begin, end - begin));
  const bool in_biased_cell = biased_cells_.contains(scope);
  if (in_biased_cell && own_call == "/Grad_Add") own_call = "/Grad_BiasAdd";
  if (own_call == "/Grad_Reshape" && flattens(operation, operation.result, operation.operands[0]))
    own_call = "/Grad_Flatten";
  const std::string_view type = type_of(operation, in_biased_cell && (own_call.empty() || own_call == "/Grad_BiasAdd"));
  if (scope.starts_with(own_network_)) scope.replace(0, own_network_.size(), network_);
  else if (scope == "/loss") scope = loss_;
  const std::string_view number = name.substr(name.rfind("-op"));
  return {type, tenon::detail::interned(text(name.substr(0, begin), scope, own_call, "/", type, number))};
}

inline std::string MindSporeNames::hint(const std::vector<std::string>& unused, DumpNames names) {
  if (names == DumpNames::mindspore) return {};
  const auto is_theirs = [](const std::string& name) {
    const auto ends = [&](std::string_view type) { return name.find(type) != name.npos; };
    return ends("WithLossCell") || std::ranges::any_of(detail::mindspore_types, ends) ||
           std::ranges::any_of(detail::mindspore_updates,
                               [&](const auto& u) { return u.own != u.theirs && ends(u.theirs); });
  };
  const auto one = std::ranges::find_if(unused, is_theirs);
  if (one == unused.end()) return {};
  return text(" '", *one,
              "' is a name of MindSpore's: \"operator_names\": \"mindspore\" in common_dump_settings, or "
              "DumpNames::mindspore, dumps under those.");
}

}  // namespace tenon::debug
