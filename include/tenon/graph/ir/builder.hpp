// The tracing context: collects nodes while a model's construct runs in constant evaluation.
#pragma once
#include <vector>

#include <tenon/graph/ir/leaf.hpp>
#include <tenon/graph/ir/part.hpp>
#include <tenon/graph/ir/streams.hpp>
#include <tenon/graph/ir/structure.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
/// As a number of cells that a trace enters.
inline constexpr int all_cells = 1 << 30;

/// Whether a call stands outside of Tenon's own files, so that a sentence about it names its line. clang writes whole
/// paths of files in a precompiled header, but for __FILE__.
constexpr bool is_foreign(const Location& at) {
  constexpr std::string_view here = __FILE__, inside = "graph/ir/builder.hpp";
  const std::string_view file = at.file;
  if (file.empty() || file == here) return false;
  if (!here.ends_with(inside)) return true;
  std::string_view folder = here.substr(0, here.size() - inside.size());
  if (file.starts_with(folder)) return false;
  if (folder.starts_with('/') || !file.starts_with('/')) return true;
  while (folder.starts_with("./") || folder.starts_with("../")) folder.remove_prefix(folder.find('/') + 1);
  const std::size_t found = file.find(folder);
  return found == std::string_view::npos || file[found - 1] != '/';
}
}  // namespace detail

/// Nodes begin .. end - 1, which the backward pass computes again (nn/recompute.hpp).
struct RecomputedNodes {
  int begin = 0, end = 0;
  const OperatorInfo* again = nullptr;  // the operator that separates what is read then from what was read before
};

class Builder {
 public:
  std::vector<Node> nodes;
  const Entry* entries = nullptr;
  int entry_count = 0;
  bool training = false;
  Sentence error;                 // the first failed shape rule, with the path of its cell
  bool in_loss = false;           // what is traced is the loss of a Model, which is no cell of its network
  bool asks_values = false;       // construct looks at values: it can run operator by operator, not as a graph
  bool inner_gradient = false;    // construct takes a gradient by grad()
  bool nested_gradient = false;   // construct takes a gradient of one, or calls jvp(): a tape cannot record it
  int gradient_depth = 0;         // enclosing functions whose gradient is being taken
  bool has_bodies = false;        // construct has a loop or a condition
  bool repeatable = false;        // this alone, and nothing changes if the forward pass of a step runs once more
  int scope = 0;                  // entry of the current cell
  int cells = detail::all_cells;  // that may still be entered; the results of others are made up
  std::uint64_t calls = 0;        // hash of the call sites that lead to it
  Streams streams;
  std::vector<Draw> draws;  // the random calls in the order of the trace
  std::vector<int> texts;   // characters of the effects on the host; a vector of ints is there already
  std::vector<int> outputs;
  std::vector<Node> body_nodes;  // of all bodies; body_words says which nodes are whose (ops/control/body.hpp)
  std::vector<int> body_words;
  std::vector<RecomputedNodes> recomputed;
  Location location{};  // of the call being traced; derivatives inherit that of their node

  constexpr int push(Node node) {
    node.scope = scope;
    node.location = location;
#if defined(TENON_OBSERVE)  // no template, which clang would not have instantiated by the time it is evaluated
    name_call(node);
#endif
    nodes.push_back(node);
    return int(nodes.size()) - 1;
  }
  constexpr int leaf(const OperatorInfo* op, const TensorType& type, std::uint64_t immediate) {
    Node node;
    node.op = op;
    node.type = type;
    node.immediate = immediate;
    return push(node);
  }
  constexpr int constant(Dtype dtype, double value) { return push(constant_node(dtype, value)); }

  /// Adds a call whose result type is known.
  constexpr int call(const OperatorInfo* op, const int* operand, int operands, const Attributes& attributes,
                     const TensorType& type, std::uint64_t immediate = 0) {
    Node node;
    node.op = op;
    node.operands = operands;
    for (int k = 0; k < operands; ++k) node.operand[k] = operand[k];
    node.attributes = attributes;
    node.type = type;
    node.immediate = immediate;
    return push(node);
  }
  /// Adds a call from inside a derivative or an optimizer, where shapes fit by construction.
  template <class Op, class... Ids>
  constexpr int call(const typename Op::Config& config, Ids... ids) {
    const int operand[sizeof...(Ids) + 1]{ids...};
    return call_list<Op>(config, operand, int(sizeof...(Ids)));
  }
  template <class Op>
  constexpr int call_list(const typename Op::Config& config, const int* operand, int operands) {
    if (operands > max_operands) return refuse_operands(Op::name, operands, operand[0]);
    OperandTypes types;
    types.count = operands;
    for (int k = 0; k < operands; ++k) types.type[k] = nodes[std::size_t(operand[k])].type;
    Sentence unexpected;
    const auto type = Op::shape(types, config, unexpected);
    if (!unexpected.empty()) fail(unexpected);
    if (operands + count_of(type) > max_buffers) return refuse_operands(Op::name, operands, operand[0]);
    return call(&info<Op>, operand, operands, pack(config), first_of(type));
  }
  /// The node of result k of a call; it is added at the first use.
  constexpr int result(int call, int k) {
    if (k == 0) return call;
    const Node& node = nodes[std::size_t(call)];
    int found = -1;
    if (node.parts >> k & 1)
      each_part(nodes.data(), call, [&](int id, int number) { found = number == k ? id : found; });
    if (found >= 0) return found;
    OperandTypes types;
    types.count = node.operands;
    for (int i = 0; i < types.count; ++i) types.type[i] = nodes[std::size_t(node.operand[i])].type;
    const TensorType type = rules_of(node.op).results(types, node.attributes)[k];
    nodes[std::size_t(call)].parts |= 1 << k;
    const int operand[]{call};
    return this->call(&info<ops::ResultPart>, operand, 1, pack(ops::ResultPart::Config{k}), type);
  }

  /// The node of a parameter; the same for all its uses.
  constexpr int parameter(const void* address, std::uint64_t type) {
    const int entry = find_entry(entries, entry_count, address, type, scope);
    if (entry < 0) {
      fail(Sentence{}
           << "a parameter is used that is not a member of the network: pass it in, or make its cell a member");
      return leaf(&info<ops::ParameterLeaf>, TensorType{}, 0);
    }
    if (parameter_nodes_.empty()) parameter_nodes_.assign(std::size_t(entry_count), -1);
    int& node = parameter_nodes_[std::size_t(entry)];
    if (node < 0) node = leaf(&info<ops::ParameterLeaf>, entries[entry].dims, std::uint64_t(entry));
    return node;
  }
  constexpr int parameter_node(int entry) const {
    return parameter_nodes_.empty() ? -1 : parameter_nodes_[std::size_t(entry)];
  }

  constexpr void fail(const Sentence& what) {
    if (!error.empty()) return;
    if (in_loss) error << "loss: ";
    else if (entry_count) {  // not `entries`: UBSan refuses to compare it with null in constant evaluation
      write_path(error, entries, scope, ".", true);
      error << ": ";
    }
    error << what.view();
    write_place(error, place());
  }
  // Returns a node that is there, for what follows the error.
  [[gnu::cold]] constexpr int refuse_operands(std::string_view op, int operands, int any) {
    fail(Sentence{} << "a derivative calls " << op << " with " << operands << " operands: at most " << max_operands
                    << ", and " << max_buffers << " together with its results");
    return any;
  }

  /// " (net.cpp:12)"
  static constexpr void write_place(Sentence& s, const Location& at) {
    const std::string_view file = at.file;
    if (at.line) s << " (" << file.substr(file.rfind('/') + 1) << ":" << at.line << ")";
  }

  /// For code that looks at the values of a tensor while there are none. Returns something that makes loops end: 0 four
  /// times, then twice 1, then twice a large number.
  constexpr int fail_for_value(std::string_view who) {
    asks_values |= error.empty();
    fail(Sentence{} << who
                    << " asks for the value of a tensor while a graph is traced, which has none: use select(condition, "
                       "a, b), or cond, scan, or while_loop of <tenon/more.hpp>, or pin the model "
                    << "to PyNative mode: Model model{pinned<Mode::pynative>, net, ...}");
    constexpr int assumed[]{0, 0, 0, 0, 1, 1, 1 << 30, 1 << 30};
    return assumed[values_asked_++ % 8];
  }

  /// A call of a cell, and what is to be restored after it.
  struct Frame {
    Location at{};
    int scope = 0;
    std::uint64_t calls = 0;
    const Frame* outer = nullptr;
  };
  /// Enters a cell; `frame` lives until leave().
  constexpr void enter(Frame& frame, const void* address, std::uint64_t type, const Location& at) {
    frame = {at, scope, calls, frame_};
    frame_ = &frame;
    location = at;
    const int entry = entry_count ? find_entry(entries, entry_count, address, type, scope) : -1;
    if (entry >= 0) scope = entry;
    calls = hash_number(site_number(at), calls);
  }
  constexpr void leave(const Frame& frame) {
    scope = frame.scope;
    calls = frame.calls;
    location = frame.at;
    frame_ = frame.outer;
  }
  constexpr bool enters_all() const { return cells > detail::all_cells / 2; }
  /// Whether the cell just entered is left out; the first such is remembered.
  constexpr bool skips() {
    if (cells-- > 0) return false;
    if (skipped_ < 0) skipped_ = scope, location_of_skipped_ = place();
    return true;
  }
  /// Path and class of the first cell that was left out, and the line of its call: "network.block (net.cpp:7): Block".
  constexpr void write_skipped(Sentence& s) const {
    const int entry = skipped_ < 0 ? 0 : skipped_;
    write_path(s, entries, entry, ".", true);
    write_place(s, location_of_skipped_);
    s << ": " << entries[entry].class_name;
  }
  /// The random stream of a call in the current cell.
  constexpr std::uint64_t stream(const Location& at) {
    draws.push_back(streams.traced(hash_number(site_number(at), calls), entry_count ? entries[scope].path : 0));
    return draws.back().stream;
  }
  /// Says that the nodes from `first` on have other numbers, or, where `to` has -1, are gone.
  constexpr void moved(int first, const std::vector<int>& to) {
    const auto move = [&](int& node) { node = node >= first ? to[std::size_t(node - first)] : node; };
    for (int& node : parameter_nodes_) move(node);
    move(random_state_);
    while (!recomputed.empty() && recomputed.back().begin >= first) recomputed.pop_back();  // not in a body
  }
  /// The random state [2] of uint64: seed and step.
  constexpr int random_state() {
    if (random_state_ < 0) random_state_ = leaf(&info<ops::StateLeaf>, type_of<std::uint64_t, Shape<2>>, 0);
    return random_state_;
  }

 private:
#if defined(TENON_OBSERVE)
  // What observers are told of a call: its line, and its number among those of the operator in the current cell.
  constexpr void name_call(Node& node) const {
    if (node.op->leaf) return;
    node.location = place();
    node.origin.in_loss = in_loss;
    for (const Node& other : nodes)
      node.origin.number += other.op->id == node.op->id && other.scope == scope && other.origin.in_loss == in_loss &&
                            !other.origin.gradient;
  }
#endif
  // The innermost of the calls under way that the user wrote.
  constexpr Location place() const {
    if (detail::is_foreign(location)) return location;
    for (const Frame* frame = frame_; frame; frame = frame->outer)
      if (detail::is_foreign(frame->at)) return frame->at;
    return {};
  }

  std::vector<int> parameter_nodes_;
  const Frame* frame_ = nullptr;
  Location location_of_skipped_{};
  int random_state_ = -1, values_asked_ = 0, skipped_ = -1;
};

}  // namespace tenon
