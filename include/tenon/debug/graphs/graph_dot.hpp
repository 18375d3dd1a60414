// graph_dot: a graph as a picture, in the language of Graphviz.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include <tenon/debug/graphs/step_graph.hpp>
#if TENON_DEFINES
#include <tenon/core/float/real_text.hpp>
#endif

namespace tenon::inline TENON_ABI::debug {

/// The seconds that an operation takes, by its name; 0 if that is not known. An empty function: no times.
using SecondsOf = std::function<double(std::string_view operation)>;

/// The largest number of nodes in a picture: a larger picture is unreadable, and Graphviz takes minutes to draw it.
inline constexpr int max_picture_nodes = 1200;

/// The graph as one of its passes has left it, for `dot -Tsvg`. An operation is a box in the frame of its cell: its
/// operator and what is fused into it, its parameters, its result's shape, bytes, and, if they are known, its seconds
/// with their share of all. Blue is forward, red the gradient, green the optimizer. What the gradient reads of the
/// forward pass hangs on dashed lines. A graph beyond max_picture_nodes is a box that says so.
///
/// throws      ValueError if there is no such pass, or it was the same as the one before it
std::string graph_dot(const StepGraph& step, std::string_view pass = "final", const SecondsOf& seconds = {});
std::string graph_dot(const NamedGraph& graph, const SecondsOf& seconds = {});

#if TENON_DEFINES
namespace detail {

/// A text inside of a label of HTML.
[[gnu::cold]] inline std::string escaped_html(std::string_view s) {
  std::string made;
  for (const char c : s) {
    if (c == '&') made += "&amp;";
    else if (c == '<') made += "&lt;";
    else if (c == '>') made += "&gt;";
    else if (c == '"') made += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20) made += c;
  }
  return made;
}
/// A text between quotation marks.
[[gnu::cold]] inline std::string quoted_dot(std::string_view s) {
  std::string made = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') made += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) made += c;
  }
  return made + "\"";
}
/// "4.6 KiB", "12.3 us".
[[gnu::cold]] inline std::string short_bytes(double bytes) {
  constexpr const char* units[]{"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return text(tenon::detail::in_fixed_digits(bytes, unit ? 1 : 0), " ", units[unit]);
}
[[gnu::cold]] inline std::string short_seconds(double seconds) {
  if (seconds < 1e-3) return tenon::detail::in_fixed_digits(1e6 * seconds, 1) + " us";
  if (seconds < 1) return tenon::detail::in_fixed_digits(1e3 * seconds, 2) + " ms";
  return tenon::detail::in_fixed_digits(seconds, 2) + " s";
}

class GraphDot {
 public:
  GraphDot(const NamedGraph& graph, const SecondsOf& seconds) : graph_(graph), seconds_(seconds) {}

  [[gnu::cold, gnu::noinline]] std::string write() {
    write_head();
    if (graph_.nodes() > max_picture_nodes) {
      out_ += text("too_large [shape=box, label=",
                   quoted_dot(text(graph_.nodes(), " nodes: too many for a picture (at most ", max_picture_nodes,
                                   "). The .ir file of this pass has them as text.")),
                   "]\n}\n");
      return std::move(out_);
    }
    find_what_is_drawn();
    write_cells(StepPart::forward);
    write_cells(StepPart::gradient);
    for (int id = 0; id < graph_.nodes(); ++id)
      if (graph_.is_operation(id) && graph_.part(id) == StepPart::optimizer) write_operation(id);
    for (int id = 0; id < graph_.nodes(); ++id)
      if (is<ops::Input>(graph_.node(id))) write_input(id);
    write_edges();
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  struct Colours {
    const char *title, *body, *frame;
  };
  static constexpr Colours colours[]{{"#cfe2f7", "#f4f9ff", "#7aa7d6"},   // forward
                                     {"#f7d4cf", "#fff6f4", "#d68a7a"},   // gradient
                                     {"#cfeed4", "#f4fff6", "#6fb57c"}};  // optimizer
  const Colours& colours_of(int id) const { return colours[int(graph_.part(id))]; }

  void write_head() {
    out_ += text("digraph mindspore {\ncompound=true\nrankdir=TB\nnodesep=0.25\nranksep=0.35\nfontname=\"Helvetica\"\n",
                 "label=<<b>", escaped_html(graph_.step_name()), "</b>, ", graph_.graph().pass, ": ",
                 graph_.operations(), " operations, batch size n = ", graph_.n(),
                 "<br/><font color=\"#3a6ea5\">forward</font>, <font color=\"#a5463a\">gradient</font>, "
                 "<font color=\"#2f7d3f\">optimizer</font>>\nlabelloc=t\n"
                 "node [fontname=\"Helvetica\", fontsize=10, shape=plaintext, margin=0]\n"
                 "edge [arrowhead=vee, arrowsize=0.6, color=\"#606060\"]\n");
  }
  /// Which cells have operations, and the time of all.
  void find_what_is_drawn() {
    for (int part = 0; part < 2; ++part) children_[part].clear();
    for (int id = 0; id < graph_.nodes(); ++id) {
      if (!graph_.is_operation(id)) continue;
      if (seconds_) all_seconds_ += seconds_(graph_.name(id));
      if (graph_.part(id) == StepPart::optimizer || !graph_.entries() || graph_.origin(id).in_loss) continue;
      auto& cells = children_[int(graph_.part(id))];
      for (int cell = graph_.node(id).scope; cell >= 0; cell = graph_.entries()[cell].parent) {
        if (std::size_t(cell) >= cells.size()) cells.resize(std::size_t(cell) + 1, false);
        cells[std::size_t(cell)] = true;
      }
    }
  }
  void write_cells(StepPart part) {
    write_cell(part, 0);
    bool any = false;
    for (int id = 0; id < graph_.nodes() && !any; ++id)
      any = graph_.is_operation(id) && graph_.part(id) == part && graph_.origin(id).in_loss;
    if (!any) return;
    open_frame(part, "loss", "loss");
    write_operations(part, -1);
    out_ += "}\n";
  }
  void open_frame(StepPart part, const std::string& id, const std::string& label) {
    out_ += text("subgraph ", quoted_dot(text("cluster_", name(part), "_", id)), " {\nlabel=", quoted_dot(label),
                 "\nstyle=rounded\nfontsize=11\nlabeljust=l\ncolor=\"", colours[int(part)].frame, "\"\nfontcolor=\"",
                 colours[int(part)].frame, "\"\n");
  }
  // The frame of a cell and, in it, those of the cells below it. The network itself has none.
  void write_cell(StepPart part, int cell) {
    const auto& drawn = children_[int(part)];
    if (cell > 0) {
      const Entry& entry = graph_.entries()[cell];
      const std::string own = entry.index >= 0 ? std::to_string(entry.index) : std::string(entry.name);
      open_frame(part, parameter_name(graph_.entries(), cell),
                 text(part == StepPart::gradient ? "gradient of " : "", own, " (", entry.class_name, ")"));
    }
    write_operations(part, cell);
    for (std::size_t child = std::size_t(cell) + 1; child < drawn.size(); ++child)
      if (drawn[child] && graph_.entries()[child].parent == cell) write_cell(part, int(child));
    if (cell > 0) out_ += "}\n";
  }
  // Those that stand in the cell itself; -1: in the loss.
  void write_operations(StepPart part, int cell) {
    for (int id = 0; id < graph_.nodes(); ++id)
      if (graph_.is_operation(id) && graph_.part(id) == part &&
          (graph_.origin(id).in_loss ? -1 : graph_.node(id).scope) == cell)
        write_operation(id);
  }

  /// What stands in the box of its reader.
  bool is_written_inside(int id) const { return graph_.node(id).op->leaf && !is<ops::Input>(graph_.node(id)); }
  static std::string row(const char* colour, const std::string& content) {
    return text("<tr><td bgcolor=\"", colour, "\">&#160;", content, "&#160;</td></tr>");
  }
  void write_operation(int id) {
    const Node& node = graph_.node(id);
    const Colours& colour = colours_of(id);
    std::string label = escaped_html(node.op->name);  // one piece: fonts differ in width, pieces would overlap
    const auto steps = graph_.fused_steps(id, [&](int) { return std::string(); });
    for (std::size_t i = 0; i < steps.size(); ++i)
      label += text(i % 4 == 3 ? "<br/>" : "", "&#160;+ ", escaped_html(steps[i].op));
    std::string rows = row(colour.title, "<b>" + label + "</b>");
    for (int k = 0; k < node.operands; ++k)
      if (const int leaf = node.operand[k]; is_written_inside(leaf)) rows += row(colour.body, leaf_label(leaf));
    if (!node.op->effect)
      rows += row(colour.body, text(escaped_html(shape_of(node.type)), " ", tenon::name(node.type.dtype), ", ",
                                    short_bytes(double(node.type.bytes(graph_.n())))));
    if (seconds_)
      if (const double seconds = seconds_(graph_.name(id)); seconds > 0)
        rows += row(heat(seconds), time_label(seconds));
    out_ += text("n", id, " [tooltip=", quoted_dot(tooltip(id)), ", label=<<table border=\"0\" cellborder=\"1\" ",
                 "cellspacing=\"0\" cellpadding=\"3\" color=\"", colour.frame, "\">", rows, "</table>>]\n");
  }
  std::string leaf_label(int id) const {
    const Node& leaf = graph_.node(id);
    if (is<ops::Constant>(leaf)) return escaped_html(graph_.name(id));
    return text("<font color=\"#2a7f86\">", escaped_html(graph_.name(id)), "&#160;", escaped_html(shape_of(leaf.type)),
                "</font>");
  }
  std::string tooltip(int id) const {
    const Location& at = graph_.node(id).location;
    return at.line > 0 ? text(graph_.name(id), "  ", at.file, ":", at.line) : std::string(graph_.name(id));
  }
  std::string time_label(double seconds) const {
    return text(short_seconds(seconds), " (", tenon::detail::in_fixed_digits(100 * seconds / all_seconds_, 0), " %)");
  }
  /// From white to orange by the share of the step.
  const char* heat(double seconds) const {
    const double share = seconds / all_seconds_;
    return share > 0.2 ? "#ffb55c" : share > 0.1 ? "#ffd08f" : share > 0.03 ? "#ffe7c2" : "#fffaf2";
  }
  void write_input(int id) {
    out_ +=
        text("n", id, " [shape=ellipse, style=filled, fillcolor=\"#f3f0d6\", color=\"#b0a860\", margin=0.05, label=",
             quoted_dot(text(graph_.name(id), " ", shape_of(graph_.node(id).type), " ",
                             tenon::name(graph_.node(id).type.dtype))),
             "]\n");
  }
  void write_edges() {
    for (int id = 0; id < graph_.nodes(); ++id) {
      const Node& node = graph_.node(id);
      for (int k = 0; k < node.operands; ++k) {
        const int from = node.operand[k];
        if (is_written_inside(from)) continue;
        // the gradient goes back up, beside the operations that it is of
        const bool forward = graph_.part(id) == StepPart::forward, kept = graph_.part(from) == StepPart::forward;
        if (forward) out_ += text("n", from, " -> n", id, " [weight=4]\n");
        else if (kept) out_ += text("n", from, " -> n", id, " [style=dashed, color=\"#b8b8b8\", constraint=false]\n");
        else out_ += text("n", id, " -> n", from, " [dir=back, arrowtail=vee, weight=4]\n");
      }
    }
    const PassGraph& graph = graph_.graph();
    for (int k = 0; k < graph.outputs; ++k)
      out_ += text("out", k, " [shape=ellipse, style=filled, fillcolor=\"#f3f0d6\", color=\"#b0a860\", margin=0.05, ",
                   "label=\"output ", k, "\"]\nn", graph.output[k], " -> out", k, "\n");
  }

  const NamedGraph& graph_;
  const SecondsOf& seconds_;
  std::string out_;
  double all_seconds_ = 0;
  std::vector<bool> children_[2];
};

}  // namespace detail

[[gnu::noinline]] TENON_INLINE std::string graph_dot(const NamedGraph& graph, const SecondsOf& seconds) {
  return detail::GraphDot(graph, seconds).write();
}
[[gnu::noinline]] TENON_INLINE std::string graph_dot(const StepGraph& step, std::string_view pass,
                                                     const SecondsOf& seconds) {
  return graph_dot(NamedGraph(step, pass), seconds);
}
#endif  // TENON_DEFINES

}  // namespace tenon::debug
