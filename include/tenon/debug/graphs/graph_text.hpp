// graph_text: a graph as text, in the form of MindSpore's .ir files.
#pragma once
#include <string>
#include <string_view>

#include <tenon/debug/graphs/step_graph.hpp>
#if TENON_DEFINES
#include <map>
#endif

namespace tenon::inline TENON_ABI::debug {

/// How much of the source stands in a text of a graph (MindSpore's ENV_DUMP_IR_LINE_LEVEL: 0 is none).
enum class SourceLines : signed char { none, innermost };

/// The graph as one of its passes has left it: parameters and inputs, then a line per operation with its operands and
/// settings, its types, its name (which a dump's `kernels` takes), and the line of the user's source. The pass "final"
/// is what runs, and says where each value is in memory: its region, offset, and bytes, between which operations it is
/// alive, and which kernel computes it. `n` in shapes and bytes is the batch size.
///
/// throws      ValueError if there is no such pass, or it was the same as the one before it
/// source      the .ir files of MindSpore 2: header, `%k(name) = Operator(operands) {instance name: ...}
///             primitive_attrs: {...}`, types, `# Scope:`, `# In file`. Names of variables, which C++ does not tell,
///             are CNode_k; constants stand where they are used
std::string graph_text(const StepGraph& step, std::string_view pass = "final",
                       SourceLines lines = SourceLines::innermost);
std::string graph_text(const NamedGraph& graph, SourceLines lines = SourceLines::innermost);

#if TENON_DEFINES
namespace detail {

class GraphText {
 public:
  GraphText(const NamedGraph& graph, SourceLines lines) : graph_(graph), lines_(lines) {}

  [[gnu::cold, gnu::noinline]] std::string write() {
    if (graph_.is_final()) find_kernels();
    write_header();
    write_parameters();
    out_ += text("\nNode counting information:\nTotal number of nodes: ", graph_.nodes(),
                 "\nTotal number of cnodes: ", graph_.operations(), "\n\nsubgraph attr:\n");
    if (graph_.is_final())
      out_ += text("scratch_memory: ", graph_.program().bytes(graph_.n(), get_context().num_threads), "\n");
    out_ += text("subgraph instance: ", graph_.step_name(), "\n\nsubgraph @", graph_.step_name(), "() {\n");
    for (int id = 0; id < graph_.nodes(); ++id)
      if (graph_.is_operation(id)) write_operation(id);
    write_return();
    return std::move(out_);
  }

 private:
  void write_header() {
    out_ += text("# IR entry: @", graph_.step_name(), "\n# Total subgraphs: 1\n\n# Attrs:\npass: ", graph_.graph().pass,
                 "\nbatch_size: ", graph_.n(), "\ndevice_target: ", get_context().device_target, "\n");
  }
  static bool is_parameter(const Node& node) { return node.op->leaf && !is<ops::Constant>(node); }
  void write_parameters() {
    int count = 0;
    for (int id = 0; id < graph_.nodes(); ++id) count += is_parameter(graph_.node(id));
    out_ += text("\n# Total params: ", count, "\n# Params:\n");
    for (int id = 0; id < graph_.nodes(); ++id) {
      const Node& leaf = graph_.node(id);
      if (!is_parameter(leaf)) continue;
      const bool weight = is<ops::ParameterLeaf>(leaf);
      out_ += text(value(id), ": ", type(id), weight ? "  :  has_default" : "",
                   "  :  IsWeight: ", weight ? "true" : "false");
      if (graph_.is_final()) out_ += text("  :  ", place(id));
      out_ += "\n";
    }
  }

  /// An operand where it is used.
  std::string value(int id) const {
    const Node& node = graph_.node(id);
    if (!node.op->leaf) return text("%", graph_.number(id));
    if (is<ops::Constant>(node)) return text(short_title(node.type.dtype), "(", graph_.name(id), ")");
    return text("%para", graph_.number(id), "_", graph_.name(id));
  }
  /// "F32" for Float32, as MindSpore writes numbers: F32(0.5), I64(1).
  static std::string short_title(Dtype dtype) {
    const std::string_view whole = title(dtype), letters = "BFIU";
    if (dtype == Dtype::bool_) return "Bool";
    std::string made;
    for (const char c : whole)
      if ((c >= '0' && c <= '9') || letters.find(c) != letters.npos) made += c;
    return made;
  }
  std::string type(int id) const {
    const Node& node = graph_.node(id);
    std::string shape = shape_of(node.type);
    shape.front() = '(', shape.back() = ')';
    const std::string tensor = text("Tensor[", title(node.type.dtype), "]");
    if (is<ops::ParameterLeaf>(node))
      return text("<Ref[", tensor, "], ", shape, ", ref_key=", graph_.name(id), ", is_parameter>");
    if (is<ops::StateLeaf>(node)) return text("<Ref[", tensor, "], ", shape, ", ref_key=", graph_.name(id), ">");
    return text("<", tensor, ", ", shape, ">");
  }
  template <class F>
  std::string operands(const Node& node, F f) const {
    std::string made;
    for (int k = 0; k < node.operands; ++k) made += (k ? ", " : "") + f(node.operand[k]);
    return made;
  }

  void write_operation(int id) {
    const Node& node = graph_.node(id);
    const auto show = [this](int operand) { return value(operand); };
    out_ += text("  %", graph_.number(id), "(CNode_", graph_.number(id), ") = ", node.op->name, "(",
                 operands(node, show), ") {instance name: ", graph_.cell(id), "}");
    write_attributes(node);
    write_steps(id);
    out_ += text("\n      : (", operands(node, [this](int operand) { return type(operand); }), ") -> (", type(id),
                 ")\n      # Scope: (", graph_.name(id), ")\n");
    if (graph_.is_final()) out_ += text("      # Plan: {", place(id), life(id), kernel(id), "}\n");
    if (node.location.line > 0 && lines_ != SourceLines::none)
      out_ += text("      # In file ", node.location.file, ":", node.location.line, "\n");
  }
  void write_attributes(const Node& node) {
    const auto attributes = attributes_of(node);
    if (attributes.empty()) return;
    out_ += " primitive_attrs: {";
    for (std::size_t i = 0; i < attributes.size(); ++i)
      out_ += text(i ? ", " : "", attributes[i].name, ": ", attributes[i].value);
    out_ += "}";
  }
  void write_steps(int id) {
    const Node& node = graph_.node(id);
    const auto steps = graph_.fused_steps(id, [&](int k) { return value(node.operand[k]); });
    if (steps.empty()) return;
    out_ += " fused_steps: {";
    for (std::size_t i = 0; i < steps.size(); ++i)
      out_ += text(i ? ", s" : "s", i, " = ", steps[i].op, "(", steps[i].operands, ")");
    out_ += "}";
  }
  void write_return() {
    const PassGraph& graph = graph_.graph();
    std::string values, types;
    for (int k = 0; k < graph.outputs; ++k) {
      values += (k ? ", " : "") + value(graph.output[k]);
      types += (k ? ", " : "") + type(graph.output[k]);
    }
    out_ += text("  Return(", values, ")\n      : (", types, ")\n}\n");
  }

  // ---- the plan
  static std::string_view name_of(Region region) {
    constexpr std::string_view names[]{"none", "sample", "fixed", "tile", "parameters", "state", "input", "constant"};
    return names[int(region) + 1];
  }
  std::string place(int id) const {
    const BufferPlace& at = graph_.program().place[id];
    const TensorType& type = graph_.node(id).type;
    if (at.region == Region::none) return "region: none";
    if (at.region == Region::input) return text("region: input ", at.offset, ", bytes: ", bytes(type));
    const bool per_sample = at.region == Region::sample || at.region == Region::tile;
    return text("region: ", name_of(at.region), ", offset: ", at.offset, per_sample ? " n" : "",
                at.lift ? text(" + ", at.lift, " n") : "", ", bytes: ", bytes(type));
  }
  static std::string bytes(const TensorType& type) { return text(type.bytes(1), type.batched() ? " n" : ""); }
  /// Of the memory: from the operation that writes it first to the last that reads it.
  std::string life([[maybe_unused]] int id) const {
#if defined(TENON_OBSERVE)
    const PassGraphs& passes = *graph_.program().passes;
    const int owner = passes.owner[id];
    if (graph_.node(owner).op->leaf) return "";
    const int last = passes.last[owner];
    return text(", first: ", value(passes.first[owner]), ", last: ", last < graph_.nodes() ? value(last) : "Return");
#else
    return "";
#endif
  }
  void find_kernels() {
    const Program& program = graph_.program();
    std::map<const KernelEntry*, int> numbers;
    std::map<std::string_view, int> of_operator;
    instruction_.assign(std::size_t(program.nodes), nullptr);
    kernel_.assign(std::size_t(program.nodes), 0);
    for (int i = 0; i < program.instructions; ++i) {
      const Instruction& one = program.instruction[i];
      const auto [found, is_new] = numbers.try_emplace(one.kernel, 0);
      if (is_new) found->second = of_operator[program.node[one.node].op->name]++;
      instruction_[std::size_t(one.node)] = &one;
      kernel_[std::size_t(one.node)] = found->second;
    }
  }
  /// Operations with one kernel have one number; a view has none.
  std::string kernel(int id) const {
    const Instruction* const one = instruction_[std::size_t(id)];
    if (!one) return ", kernel: none";
    return text(", kernel: ", graph_.node(id).op->name, "#", kernel_[std::size_t(id)], one->nchw16n ? " NCHW16n" : "",
                one->group ? text(", tiles of group ", one->group) : "", one->sums ? ", sums of tiles" : "");
  }

  const NamedGraph& graph_;
  SourceLines lines_;
  std::string out_;
  std::vector<const Instruction*> instruction_;
  std::vector<int> kernel_;
};

}  // namespace detail

[[gnu::noinline]] TENON_INLINE std::string graph_text(const NamedGraph& graph, SourceLines lines) {
  return detail::GraphText(graph, lines).write();
}
[[gnu::noinline]] TENON_INLINE std::string graph_text(const StepGraph& step, std::string_view pass, SourceLines lines) {
  return graph_text(NamedGraph(step, pass), lines);
}
#endif  // TENON_DEFINES

}  // namespace tenon::debug
