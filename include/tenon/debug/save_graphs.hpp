// save_graphs: writes the graphs of a program's steps, switched on by set_context or the environment.
#pragma once
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include <sys/stat.h>

#include <tenon/core/context/tools.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/debug/graphs/graph_dot.hpp>
#include <tenon/debug/graphs/graph_svg.hpp>
#include <tenon/debug/graphs/graph_text.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/own_path.hpp>

#if defined(TENON_OBSERVE)  // a program that cannot be observed keeps no graphs: begin with <tenon/debug/debug.hpp>

namespace tenon::inline TENON_ABI::debug {

/// The largest number of nodes for which Graphviz draws a picture while the program waits.
inline constexpr int max_drawn_nodes = 700;

/// Writes the graph of a step as it is before and after each pass, in a folder:
///
///     00_captured_LeNet_train_0000.ir   what the source says; its names are those that a dump's `kernels` takes
///     01_prune_LeNet_train_0001.ir      what a pass has made of it; one that changes nothing has no file
///     12_final_LeNet_train_0006.ir      what runs, with the plan of its memory
///
/// Level 1 writes the first and the last graph, level 2 all graphs, level 3 also a picture of each as .dot, and of the
/// last graph as .svg if Graphviz's `dot` is in PATH. The four digits count the graphs of the process. Only the owner
/// can read a file (0400), and a file replaces an older file of its name. If a file cannot be written, the log has an
/// error, once per folder, and the run continues.
///
/// Source: MindSpore's save_graphs, which has one list of passes for each of its compilers, and no name of a network.
class GraphSaver {
 public:
  /// Saves the graph of a step with the settings of the context, once per graph. It does not observe operations.
  bool begin_step(const NetworkStep& step);
  void end_step(const NetworkStep&) {}
  /// Whether it was the first time for this graph, level, and folder.
  bool save(const NetworkStep& step, int level, const std::string& folder);

 private:
  void write_pass(const StepGraph& step, int pass, int level, const std::string& folder);
  bool write(const std::string& path, const std::string& content);
  void draw(const std::string& stem, int nodes);

  std::mutex mutex_;
  std::set<std::tuple<const Program*, std::string, int, std::string>> seen_;
  std::set<std::string> told_;  // folders in which a file could not be written
  int count_ = 0;
};

namespace detail {
/// What a file's name can have of a class's name.
[[gnu::cold]] inline std::string file_part(std::string_view name) {
  std::string made(name.substr(0, 120));
  for (char& c : made)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) c = '_';
  return made;
}
[[gnu::cold]] inline SourceLines lines_of_environment() {
  const char* const asked = std::getenv("ENV_DUMP_IR_LINE_LEVEL");
  return asked && std::string_view(asked) == "0" ? SourceLines::none : SourceLines::innermost;
}
[[gnu::cold]] inline std::string digits(int number, std::size_t width) {
  std::string made = std::to_string(number);
  return made.size() < width ? std::string(width - made.size(), '0') + made : made;
}
}  // namespace detail

[[gnu::cold]] inline bool GraphSaver::begin_step(const NetworkStep& step) try {
  const Context& context = get_context();
  if (context.save_graphs > 0) save(step, context.save_graphs, context.save_graphs_path);
  return false;
} catch (const std::exception& error) {
  logging::error("save_graphs: a graph of ", step.network, " is left out: ", error.what());
  return false;
}
[[gnu::cold]] inline bool GraphSaver::save(const NetworkStep& step, int level, const std::string& folder) {
  const std::lock_guard lock(mutex_);
  const StepGraph graph = graph_of(step);
  if (!seen_.emplace(graph.program, graph.name, level, folder).second) return false;
  if (!graph.program) {
    logging::warning("save_graphs: the ", name(step.kind), " step of ", step.network,
                     " has no graph to save: ", "it is only there in PyNative mode, or asks for values of tensors.");
    return true;
  }
  const std::string own = io::directory_exists(folder) ? io::own_folder(folder) : folder;
  const int last = graph.program->passes->count - 1;
  for (int pass = 0; pass <= last; ++pass) {
    const bool basic = pass == 0 || pass == last;
    if ((basic || level >= 2) && graph.program->passes->graph[pass].node) write_pass(graph, pass, level, own);
  }
  return true;
}
[[gnu::cold]] inline void GraphSaver::write_pass(const StepGraph& step, int pass, int level,
                                                 const std::string& folder) {
  const PassGraph& graph = step.program->passes->graph[pass];
  const NamedGraph named(step, graph);
  const std::string stem = io::join_path(folder, text(detail::digits(pass, 2), "_", graph.pass, "_",
                                                      detail::file_part(step.name), "_", detail::digits(count_++, 4)));
  write(stem + ".ir", graph_text(named, detail::lines_of_environment()));
  if (level < 3 || !write(stem + ".dot", graph_dot(named)) || !named.is_final()) return;
  draw(stem, graph.nodes);
}
[[gnu::cold]] inline bool GraphSaver::write(const std::string& path, const std::string& content) {
  try {
    io::write_file(path, content);
    ::chmod(path.c_str(), 0400);
    return true;
  } catch (const Error& error) {
    if (told_.insert(io::directory_of(path)).second)
      logging::error("save_graphs: ", error.what(), " It is left out, as all that cannot be written in this folder.");
    return false;
  }
}
[[gnu::cold]] inline void GraphSaver::draw(const std::string& stem, int nodes) {
  const std::string svg = stem + ".svg";
  if (nodes > max_drawn_nodes) {
    logging::info("save_graphs: ", svg, " is not drawn: ", nodes, " nodes are more than ", max_drawn_nodes, ".");
    return;
  }
  const Drawn drawn = draw_svg(stem + ".dot", svg);
  if (drawn == Drawn::done) ::chmod(svg.c_str(), 0400);
  else if (drawn == Drawn::no_graphviz)
    logging::info("save_graphs: there is no `dot` in PATH, so ", svg, " is not drawn; on Debian: apt-get install ",
                  "graphviz.");
  else
    logging::warning("save_graphs: ", svg, " is not drawn: `dot` ",
                     drawn == Drawn::too_slow ? "took too long" : "has failed", ".");
}

/// What follows set_context({.save_graphs = 2, .save_graphs_path = "graphs"}) and MS_DEV_SAVE_GRAPHS=2,
/// MS_DEV_SAVE_GRAPHS_PATH=graphs: the graph of each network and kind of step is written when the first such step
/// begins, in both modes. While the setting is off no watcher is active, and a step takes the same time as without this
/// header.
class GraphsTool {
 public:
  /// Before main(), when the context cannot be read yet.
  [[gnu::cold]] static void look_at_environment() {
    if (const char* const asked = std::getenv("MS_DEV_SAVE_GRAPHS"); asked && *asked) watch(true);
  }
  /// After set_context.
  [[gnu::cold]] static void look_at_settings() { watch(get_context().save_graphs > 0); }

 private:
  [[gnu::cold]] static void watch(bool wanted) {
    static auto* const saver = new GraphSaver;  // networks may outlive statics
    static std::unique_ptr<Watching<GraphSaver>> watching;
    if (wanted == bool(watching)) return;
    if (wanted) watching = std::make_unique<Watching<GraphSaver>>(*saver);
    else watching.reset();
  }
};

inline const tenon::detail::HasTool has_saved_graphs = [] {
  GraphsTool::look_at_environment();
  return tenon::detail::HasTool(tenon::detail::Tool::saved_graphs, &GraphsTool::look_at_settings);
}();

}  // namespace tenon::debug

#endif
