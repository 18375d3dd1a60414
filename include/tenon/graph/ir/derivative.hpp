// Reverse mode: what a derivative rule sees, and the walk that applies the rules from the loss to the leaves.
#pragma once
#include <tenon/graph/ir/builder.hpp>
#include <tenon/graph/ir/post_order.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Add;
struct FullLike;
struct Reshape;
struct StopGradient;
struct SumTo;
}  // namespace ops

/// A node for each result of a call; -1: none.
struct ResultNodes {
  int node[max_results];
  constexpr ResultNodes() {
    for (int& n : node) n = -1;
  }
  constexpr int& operator[](int k) { return node[k]; }
  constexpr int operator[](int k) const { return node[k]; }
  constexpr bool any() const {
    for (int n : node)
      if (n >= 0) return true;
    return false;
  }
};

/// One application of a derivative rule. Node numbers are those of the builder.
class Derivative {
 public:
  /// A result that is not among `results` is asked of the builder.
  constexpr Derivative(Builder& builder, const Node& node, const ResultNodes& results, const ResultNodes& gradients)
      : builder_(builder), node_(node), results_(results), gradients_(gradients) {}

  constexpr int operand(int k) const { return node_.operand[checked(k)]; }
  constexpr int operands() const { return node_.operands; }
  constexpr int result() const { return results_[0]; }
  /// Of an operator with several results.
  constexpr int result(int k) { return results_[k] < 0 ? builder_.result(results_[0], k) : results_[k]; }
  /// The gradient of the loss with respect to the result, of an operator with several the first one; -1 where the loss
  /// depends on other results only.
  constexpr int gradient() const { return gradients_[0]; }
  /// Of an operator with several results: true if the loss depends on result k. Of an operator with one always.
  constexpr bool has_gradient(int k) const { return gradients_[k] >= 0; }
  /// The gradient of the loss with respect to result k; zeros if the loss does not depend on it.
  template <class Zeros = ops::FullLike>
  constexpr int gradient(int k) {
    return has_gradient(k) ? gradients_[k] : builder_.template call<Zeros>(NoConfig{}, result(k));
  }
  constexpr TensorType type(int k) const { return builder_.nodes[std::size_t(operand(k))].type; }
  constexpr const TensorType& result_type() const { return node_.type; }
  template <class Op>
  constexpr typename Op::Config config() const {
    return unpack<typename Op::Config>(node_.attributes);
  }
  constexpr Builder& builder() { return builder_; }

  /// Appends a call; the same operators serve forward and backward.
  template <class Op, class... Ids>
  constexpr int call(Ids... ids) {
    return builder_.template call<Op>(typename Op::Config{}, ids...);
  }
  template <class Op, class... Ids>
  constexpr int call_with(const typename Op::Config& config, Ids... ids) {
    return builder_.template call<Op>(config, ids...);
  }
  /// Appends a call of which it depends on this node how many operands it has.
  template <class Op>
  constexpr int call_list(const typename Op::Config& config, const std::vector<int>& ids) {
    return builder_.template call_list<Op>(config, ids.data(), int(ids.size()));
  }
  /// Result k of a call that this rule has appended, of an operator with several.
  constexpr int result_of(int call, int k) { return builder_.result(call, k); }
  /// Appends a call that draws from the same random stream as this node.
  template <class Op, class... Ids>
  constexpr int call_same_stream(const typename Op::Config& config, Ids... ids) {
    const int id = builder_.template call<Op>(config, ids...);
    Node& node = builder_.nodes[std::size_t(id)];
    node.immediate = node_.immediate;
    node.same_stream = true;
    return id;
  }
  /// A constant of the dtype of operand k.
  constexpr int constant(double value, int k = 0) { return builder_.constant(type(k).dtype, value); }

  /// Adds `contribution`, which has the dtype of operand k, to its gradient. Where the operand was broadcast, it is
  /// summed to the operand's shape.
  template <class Plus = ops::Add, class Sum = ops::SumTo>
  constexpr void flows_to(int k, int contribution) {
    k = checked(k);
    const TensorType wanted = type(k), given = builder_.nodes[std::size_t(contribution)].type;
    if (given.dtype != wanted.dtype)
      builder_.fail(Sentence{} << "the derivative of " << node_.op->name << " gives operand " << k
                               << " a gradient of dtype " << name(given.dtype) << ", the operand is "
                               << name(wanted.dtype) << ": cast it");
    if (!given.same_shape(wanted)) contribution = builder_.template call<Sum>(Sum::to(wanted), contribution);
    sum_[k] = sum_[k] < 0 ? contribution : builder_.template call<Plus>(NoConfig{}, sum_[k], contribution);
  }
  /// Declares that no gradient flows to these operands, or to none at all: the result does not depend on them, or only
  /// in steps, or what they contribute is part of what another operand gets.
  template <class... K>
  constexpr void no_gradient(K... k) {
    if constexpr (sizeof...(K) == 0) none_ = ~0u;
    else ((none_ |= 1u << checked(int(k))), ...);
  }
  /// What this call contributes to the gradient of operand k, or -1.
  constexpr int contribution(int k) const { return sum_[k]; }
  /// True if operand k could have a gradient, but the rule neither gave it one nor declared that it has none.
  constexpr bool forgets(int k) const {
    return sum_[k] < 0 && !(none_ >> k & 1) && is_floating(type(k).dtype) && (gets_all() || !gives_any());
  }

 private:
  constexpr int checked(int k) const {
    if (k >= 0 && k < node_.operands) return k;
    builder_.fail(Sentence{} << "the derivative of " << node_.op->name << " names operand " << k
                             << ", counted from 0, and the call has " << node_.operands);
    return 0;
  }
  // Which operands have a gradient may depend on the results that have one.
  constexpr bool gets_all() const {
    for (int k = 0; k < node_.op->returns; ++k)
      if (gradients_[k] < 0) return false;
    return true;
  }
  constexpr bool gives_any() const {
    for (int k = 0; k < node_.operands; ++k)
      if (sum_[k] >= 0) return true;
    return false;
  }

  Builder& builder_;
  Node node_;
  ResultNodes results_, gradients_;
  OperandNodes sum_;
  unsigned none_ = 0;  // operands (bits)
};

namespace detail {
// For observers: the nodes from `first` on are the derivative of a call.
constexpr void name_rule([[maybe_unused]] std::vector<Node>& nodes, [[maybe_unused]] int first,
                         [[maybe_unused]] const Node& forward) {
#if defined(TENON_OBSERVE)
  const int end = int(nodes.size());
  for (int id = first; id < end; ++id)
    nodes[std::size_t(id)].origin =
        origin_in_rule(forward.origin, rules_of(forward.op).run_time, place_in_rule(nodes.data(), first, end, id));
#endif
}
// The last node adds the gradient of operand k of a call to others.
constexpr void name_sum([[maybe_unused]] std::vector<Node>& nodes, [[maybe_unused]] const Node& forward,
                        [[maybe_unused]] int k) {
#if defined(TENON_OBSERVE)
  nodes.back().origin = origin_of_sum(forward.origin, rules_of(forward.op).run_time, forward.operands, k);
#endif
}
}  // namespace detail

constexpr std::vector<int> post_order(const Builder& builder, const std::vector<int>& roots, std::size_t size) {
  const auto operands = [&](int id) { return builder.nodes[std::size_t(id)].operands; };
  const auto operand = [&](int id, int k) { return builder.nodes[std::size_t(id)].operand[k]; };
  PostOrder walk;
  std::vector<int> order = walk.from(roots[0], size, operands, operand);
  for (std::size_t k = 1; k < roots.size(); ++k) order = walk.and_from(roots[k], operands, operand);
  return order;
}

namespace detail {
// The gradients of the results of a call, as far as they are floating-point numbers: none flows through integers.
constexpr ResultNodes result_gradients(const Builder& builder, const std::vector<int>& gradients, int call) {
  ResultNodes found;
  const auto take = [&](int id, int k) {
    if (std::size_t(id) < gradients.size() && is_floating(builder.nodes[std::size_t(id)].type.dtype))
      found[k] = gradients[std::size_t(id)];
  };
  take(call, 0);
  each_part(builder.nodes.data(), call, take);
  return found;
}
}  // namespace detail

namespace detail {
constexpr void refuse_forgotten(Builder& builder, const Node& node, int k) {
  builder.fail(Sentence{} << "the derivative of " << node.op->name << " gives operand " << k
                          << " no gradient: call d.flows_to(" << k << ", ...) in it, or d.no_gradient(" << k
                          << ") if it has none; users detach the operand with stop_gradient");
}

/// The second values of nodes that are computed again, made when a backward pass first asks for one of them.
class SecondValues {
 public:
  constexpr explicit SecondValues(Builder& builder) : builder_(builder) {}
  /// The node whose value is read in the place of that of `id`.
  constexpr int of(int id) {
    for (const RecomputedNodes& range : builder_.recomputed)
      if (id >= range.begin && id < range.end) {
        second_.resize(builder_.nodes.size(), -1);
        if (second_[std::size_t(id)] < 0) compute(range);
        return second_[std::size_t(id)];
      }
    return id;
  }

 private:
  constexpr void compute(const RecomputedNodes& range) {
    std::vector<int> before(std::size_t(range.begin), -1);  // of values from before the range
    for (int id = range.begin; id < range.end; ++id) {
      Node node = builder_.nodes[std::size_t(id)];
      int& second = second_[std::size_t(id)] = id;
      if (node.op->leaf || node.op->effect) continue;
      for (int k = 0; k < node.operands; ++k)
        node.operand[k] = node.operand[k] < range.begin ? given(range, node.operand[k], before)
                                                        : second_[std::size_t(node.operand[k])];
      node.parts = 0;
      if (node.op->part) builder_.nodes[std::size_t(node.operand[0])].parts |= 1 << part_number(node);
      builder_.scope = node.scope, builder_.location = node.location;
      second = builder_.push(node);
    }
  }
  // Seen through a node of its own, so that no pass takes the first values for the second ones.
  constexpr int given(const RecomputedNodes& range, int id, std::vector<int>& before) {
    const Node& node = builder_.nodes[std::size_t(id)];
    if (is<ops::ParameterLeaf>(node) || is<ops::StateLeaf>(node) || is<ops::Constant>(node)) return id;
    int& seen = before[std::size_t(id)];
    const int operand[]{id};
    return seen < 0 ? seen = builder_.call(range.again, operand, 1, {}, node.type, std::uint64_t(range.begin)) : seen;
  }

  Builder& builder_;
  std::vector<int> second_;
};
}  // namespace detail

/// Appends the backward pass of `roots`, at least one, whose own gradients are the nodes `seeds`. Returns the gradient
/// node of each node up to the last root, or -1. `wanted[i]` marks the nodes whose gradient is asked for; with 2 also
/// those that it does not go beyond.
template <class Plus = ops::Add, class View = ops::Reshape>
constexpr std::vector<int> backward(Builder& builder, const std::vector<int>& roots, const std::vector<int>& seeds,
                                    const std::vector<int>& wanted) {
  std::size_t size = 0;
  for (const int root : roots) size = std::size_t(root) < size ? size : std::size_t(root) + 1;
  std::vector<int> gradients(size, -1);
  std::vector<int> needed(size, 0);
  for (int id = 0; id < int(size); ++id) {
    const Node& node = builder.nodes[std::size_t(id)];
    needed[std::size_t(id)] = std::size_t(id) < wanted.size() && wanted[std::size_t(id)];
    if (is<ops::StopGradient>(node)) continue;
    for (int k = 0; k < node.operands; ++k) needed[std::size_t(id)] |= needed[std::size_t(node.operand[k])];
  }
  for (std::size_t k = 0; k < roots.size(); ++k) {
    int& sum = gradients[std::size_t(roots[k])];
    sum = sum < 0 ? seeds[k] : builder.template call<Plus>(NoConfig{}, sum, seeds[k]);
  }
  const std::vector<int> order = post_order(builder, roots, size);
  const int outer_scope = builder.scope;
  detail::SecondValues second(builder);
  for (std::size_t at = order.size(); at-- > 0;) {
    const int id = order[at];
    const Node node = builder.nodes[std::size_t(id)];
    if (node.op->leaf || node.op->part || !needed[std::size_t(id)] ||
        (std::size_t(id) < wanted.size() && wanted[std::size_t(id)] == 2))
      continue;
    const ResultNodes own = detail::result_gradients(builder, gradients, id);
    if (!own.any()) continue;
    builder.scope = node.scope;
    builder.location = node.location;
    if (!node.op->has_derivative) {
      builder.fail(Sentence{} << node.op->name
                              << " has no derivative, but a gradient must pass through it: detach its operand with "
                                 "stop_gradient, or declare a derivative");
      continue;
    }
    ResultNodes results;
    results[0] = second.of(id);
    builder.scope = node.scope, builder.location = node.location;
    Derivative d(builder, Node(builder.nodes[std::size_t(results[0])]), results, own);
    const int first = int(builder.nodes.size());
    rules_of(node.op).derivative(d);
    detail::name_rule(builder.nodes, first, node);
    // the contributions of one call are added up before they meet others, as on the tape
    for (int k = 0; k < node.operands; ++k) {
      if (needed[std::size_t(node.operand[k])] && d.forgets(k)) detail::refuse_forgotten(builder, node, k);
      if (d.contribution(k) < 0) continue;
      int target = node.operand[k], contribution = d.contribution(k);
      const Node& operand = builder.nodes[std::size_t(target)];
      // a parameter in another shape: the tape knows the parameter only
      if (operand.parameter_view) {
        target = operand.operand[0];
        contribution = builder.template call<View>(View::to(builder.nodes[std::size_t(target)].type), contribution);
      }
      int& sum = gradients[std::size_t(target)];
      const bool first_of_all = sum < 0;
      sum = first_of_all ? contribution : builder.template call<Plus>(NoConfig{}, sum, contribution);
      if (!first_of_all) detail::name_sum(builder.nodes, node, k);
    }
  }
  builder.scope = outer_scope;
  return gradients;
}
/// The same of one root.
template <class Plus = ops::Add, class View = ops::Reshape>
constexpr std::vector<int> backward(Builder& builder, int root, int seed, const std::vector<int>& wanted) {
  return backward<Plus, View>(builder, std::vector<int>(1, root), std::vector<int>(1, seed), wanted);
}

}  // namespace tenon
