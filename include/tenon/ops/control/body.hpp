// Bodies of nodes: graphs of their own, which the kernel of the node runs. A body is traced where its node is, and then
// cut out of the trace.
#pragma once
#include <tenon/graph/ir/derivative.hpp>
#include <tenon/ops/accumulate.hpp>
#include <tenon/ops/reshape.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// A body as the builder has it. Its first nodes are the inputs: the values that the node hands it, then the values
/// from outside that it uses, the captured ones. All operands are numbers of its own nodes.
struct Body {
  const Node* node = nullptr;
  int count = 0, given = 0, captured = 0;
  int random = -1;  // the input that is the random state, -1: none
  const int* output = nullptr;
  int outputs = 0;

  constexpr int inputs() const { return given + captured; }
};

/// The body with this number.
constexpr Body body_of(const Builder& builder, int number) {
  const int* const word = builder.body_words.data() + number;
  return {builder.body_nodes.data() + word[0], word[1], word[2], word[3], word[4], word + 6, word[5]};
}

/// Traces a body: first its inputs, then whatever is called until end().
class BodyTrace {
 public:
  constexpr explicit BodyTrace(Builder& builder) : builder_(builder), first_(int(builder.nodes.size())) {}

  std::vector<int> captured;  // the nodes outside whose values are the body's further inputs

  /// The node of the next value that is handed to the body.
  constexpr int input(const TensorType& type) {
    return builder_.leaf(&info<ops::Input>, type, std::uint64_t(given_++));
  }
  /// Cuts the body out of the trace; its parameters and states stay there. `outputs` are nodes. Returns its number.
  constexpr int end(const std::vector<int>& outputs) {
    const int count = int(builder_.nodes.size()) - first_;
    outside_.assign(std::size_t(count), -1), inside_.assign(std::size_t(count), -1);
    std::vector<Node> cut(builder_.nodes.begin() + first_, builder_.nodes.end());
    builder_.nodes.resize(std::size_t(first_));
    for (int i = given_; i < count; ++i)
      if (stays(cut[std::size_t(i)])) {
        outside_[std::size_t(i)] = int(builder_.nodes.size());
        builder_.nodes.push_back(cut[std::size_t(i)]);
      }
    builder_.moved(first_, outside_);
    for (int i = given_; i < count; ++i)
      if (!stays(cut[std::size_t(i)]))
        for (int k = 0; k < cut[std::size_t(i)].operands; ++k) capture(cut[std::size_t(i)].operand[k]);
    for (const int id : outputs) capture(id);
    return store(cut, outputs);
  }

 private:
  static constexpr bool stays(const Node& node) { return is<ops::ParameterLeaf>(node) || is<ops::StateLeaf>(node); }
  // The node outside, or -1 for one of the body.
  constexpr int outside(int id) const { return id < first_ ? id : outside_[std::size_t(id - first_)]; }
  constexpr int place_among_captured(int id) const {
    for (int k = 0; k < int(captured.size()); ++k)
      if (captured[std::size_t(k)] == id) return k;
    return -1;
  }
  constexpr void capture(int id) {
    const int from = outside(id);
    if (from >= 0 && place_among_captured(from) < 0) captured.push_back(from);
  }
  constexpr int here(int id) const {
    const int from = outside(id);
    return from >= 0 ? given_ + place_among_captured(from) : inside_[std::size_t(id - first_)];
  }
  constexpr int store(const std::vector<Node>& cut, const std::vector<int>& outputs) {
    const int begin = int(builder_.body_nodes.size()), number = int(builder_.body_words.size());
    int random = -1, count = 0;
    for (int i = 0; i < given_; ++i, ++count) {
      inside_[std::size_t(i)] = i;
      builder_.body_nodes.push_back(cut[std::size_t(i)]);
    }
    for (const int id : captured) {
      const Node& from = builder_.nodes[std::size_t(id)];
      if (is<ops::StateLeaf>(from) && from.immediate == 0) random = count;
      Node leaf;
      leaf.op = &info<ops::Input>;
      leaf.type = from.type, leaf.scope = builder_.scope, leaf.immediate = std::uint64_t(count++);
      builder_.body_nodes.push_back(leaf);
    }
    for (int i = given_; i < int(cut.size()); ++i) {
      if (stays(cut[std::size_t(i)])) continue;
      Node node = cut[std::size_t(i)];
      for (int k = 0; k < node.operands; ++k) node.operand[k] = here(node.operand[k]);
      inside_[std::size_t(i)] = count++;
      builder_.body_nodes.push_back(node);
    }
    for (const int word : {begin, count, given_, int(captured.size()), random, int(outputs.size())})
      builder_.body_words.push_back(word);
    for (const int id : outputs) builder_.body_words.push_back(here(id));
    return number;
  }

  Builder& builder_;
  int first_, given_ = 0;
  std::vector<int> outside_, inside_;
};

/// A body with its derivative: nodes from `forward` on compute the gradients of the inputs from those of the outputs.
struct BodyGradient {
  Builder builder;
  int inputs = 0, forward = 0;
  std::vector<int> seed;      // of each output the node of its gradient; -1: it is no floating-point number
  std::vector<int> gradient;  // of each input the node of its gradient, or -1
  std::vector<int> read;      // of each node: whether the derivative reads it

  /// A flag for each node that the gradients `roots` need, up to what the forward pass keeps. A view is made again of
  /// what it shows.
  constexpr std::vector<int> needed_by(const std::vector<int>& roots) const {
    std::vector<int> needed(builder.nodes.size(), 0);
    for (const int id : roots)
      if (id >= 0) needed[std::size_t(id)] = 1;
    for (int id = int(builder.nodes.size()); id-- > 0;) {
      const Node& node = builder.nodes[std::size_t(id)];
      const bool is_made_again = id >= forward ? !is_late(id) : node.op->view;
      for (int k = 0; needed[std::size_t(id)] && is_made_again && k < node.operands; ++k)
        needed[std::size_t(node.operand[k])] = 1;
    }
    return needed;
  }
  /// True for a further result of a call of the forward pass for which only the derivative has asked.
  constexpr bool is_late(int id) const {
    const Node& node = builder.nodes[std::size_t(id)];
    return id >= forward && node.op->part && node.operand[0] < forward;
  }
  /// True if the derivative reads the value, which the forward pass has computed and kept.
  constexpr bool is_kept(int id) const {
    const Node& node = builder.nodes[std::size_t(id)];
    if (!read[std::size_t(id)] || id < inputs) return false;
    return id < forward ? !node.op->view && !is<ops::Constant>(node) : is_late(id);
  }
  /// The values that are kept, in order.
  constexpr std::vector<int> kept() const {
    std::vector<int> all;
    for (int id = 0; id < int(read.size()); ++id)
      if (is_kept(id)) all.push_back(id);
    return all;
  }
};
constexpr BodyGradient differentiate(const Builder& outer, int number) {
  const Body body = body_of(outer, number);
  BodyGradient d;
  Builder& b = d.builder;
  b.entries = outer.entries, b.entry_count = outer.entry_count;
  b.training = outer.training;
  b.body_nodes = outer.body_nodes, b.body_words = outer.body_words;
  for (int id = 0; id < body.count; ++id) b.nodes.push_back(body.node[id]);
  d.inputs = body.inputs(), d.forward = body.count;
  std::vector<int> roots, seeds;
  for (int k = 0; k < body.outputs; ++k) {
    const TensorType type = b.nodes[std::size_t(body.output[k])].type;
    d.seed.push_back(is_floating(type.dtype) ? b.leaf(&info<ops::Input>, type, 0) : -1);
  }
  for (int k = body.outputs; k-- > 0;)
    if (d.seed[std::size_t(k)] >= 0) roots.push_back(body.output[k]), seeds.push_back(d.seed[std::size_t(k)]);
  d.gradient.assign(std::size_t(d.inputs), -1);
  if (!roots.empty()) {
    std::vector<int> wanted(b.nodes.size(), 0);
    for (int i = 0; i < d.inputs; ++i) wanted[std::size_t(i)] = is_floating(b.nodes[std::size_t(i)].type.dtype);
    const std::vector<int> all = backward(b, roots, seeds, wanted);
    for (int i = 0; i < d.inputs && i < int(all.size()); ++i)
      if (wanted[std::size_t(i)]) d.gradient[std::size_t(i)] = all[std::size_t(i)];
  }
  d.read = d.needed_by(d.gradient);
  return d;
}

namespace detail {
constexpr Builder builder_of_body(const Builder& outer) {
  Builder b;
  b.entries = outer.entries, b.entry_count = outer.entry_count;
  b.body_nodes = outer.body_nodes, b.body_words = outer.body_words;
  b.texts = outer.texts;
  return b;
}
}  // namespace detail

/// The graph of a body. Outputs: those of the body, then, if wanted, what its derivative reads.
constexpr Builder forward_of_body(const Builder& outer, int number, bool keeps) {
  const Body body = body_of(outer, number);
  Builder b = detail::builder_of_body(outer);
  for (int id = 0; id < body.count; ++id) b.nodes.push_back(body.node[id]);
  for (int k = 0; k < body.outputs; ++k) b.outputs.push_back(body.output[k]);
  if (!keeps) return b;
  const BodyGradient d = differentiate(outer, number);
  for (const int id : d.kept())
    if (id < body.count) b.outputs.push_back(id);
    else {
      const Node& part = d.builder.nodes[std::size_t(id)];
      b.nodes[std::size_t(part.operand[0])].parts |= 1 << part_number(part);
      b.outputs.push_back(int(b.nodes.size()));
      b.nodes.push_back(part);
    }
  return b;
}
/// The graph of the gradients of some inputs of a body. Its inputs: those of the body, what was kept, then the
/// gradients of the outputs.
constexpr Builder backward_of_body(const Builder& outer, int number, const std::vector<int>& wanted) {
  const BodyGradient d = differentiate(outer, number);
  Builder b = detail::builder_of_body(outer);
  std::vector<int> roots, to(d.builder.nodes.size(), -1);
  for (const int i : wanted) roots.push_back(d.gradient[std::size_t(i)]);
  const std::vector<int> needed = d.needed_by(roots);
  int inputs = d.inputs;
  std::vector<int> input(d.builder.nodes.size(), -1);
  for (int i = 0; i < d.inputs; ++i) input[std::size_t(i)] = i;
  for (const int id : d.kept()) input[std::size_t(id)] = inputs++;
  for (const int id : d.seed) {
    if (id >= 0) input[std::size_t(id)] = inputs;
    ++inputs;
  }
  for (int id = 0; id < int(d.builder.nodes.size()); ++id) {
    if (!needed[std::size_t(id)]) continue;
    Node node = d.builder.nodes[std::size_t(id)];
    if (const int number_of_input = input[std::size_t(id)]; number_of_input >= 0) {
      Node leaf;
      leaf.op = &info<ops::Input>;
      leaf.type = node.type, leaf.scope = node.scope, leaf.location = node.location;
      leaf.immediate = std::uint64_t(number_of_input);
      node = leaf;
    }
    node.parts = 0;
    for (int k = 0; k < node.operands; ++k) node.operand[k] = to[std::size_t(node.operand[k])];
    if (node.op->part) b.nodes[std::size_t(node.operand[0])].parts |= 1 << part_number(node);
    to[std::size_t(id)] = int(b.nodes.size());
    b.nodes.push_back(node);
  }
  for (const int root : roots) b.outputs.push_back(to[std::size_t(root)]);
  return b;
}

}  // namespace tenon
TENON_INT_SIZES_END
