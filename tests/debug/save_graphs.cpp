// flags: -DTENON_OBSERVE
// save_graphs: which files each level has, their form beside MindSpore's, their names beside those of observers, in
// both modes; and what becomes of a run whose folder is gone.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include <tenon/debug/debug.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../support/printed.hpp"
#include "../support/shared.hpp"

using namespace tenon;
namespace fs = std::filesystem;

namespace {
struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 2, 3, nn::Conv2dConfig{.pad_mode = PadMode::same, .has_bias = true}> conv;
  nn::Dense<32, 3> fc;
  constexpr auto construct(auto x) const {
    return fc(flatten(relu(conv(x))));  // line_of_relu
  }
};
constexpr int line_of_relu = __LINE__ - 3;

const auto data = [] {
  std::vector<float> x(64), y(12, 0.5f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 7) - 3;
  return dataset::from_arrays(dataset::column<Shape<1, 4, 4>>(x), dataset::column<Shape<3>>(y)) | dataset::batch(2);
};

/// A folder of this process that goes with it.
struct Folder {
  fs::path path;
  explicit Folder(const std::string& name)
      : path(fs::temp_directory_path() / ("tenon_graphs_" + std::to_string(::getpid()) + "_" + name)) {
    fs::remove_all(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(path)) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  long count(const std::string& ending) const {
    const auto all = names();
    return std::count_if(all.begin(), all.end(), [&](const std::string& name) { return name.ends_with(ending); });
  }
  /// The content of the file whose name begins so.
  std::string read(const std::string& begin, const std::string& end = ".ir") const {
    for (const std::string& name : names())
      if (name.starts_with(begin) && name.ends_with(end)) {
        std::ifstream file(path / name);
        return {std::istreambuf_iterator<char>(file), {}};
      }
    return "";
  }
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// The weights after two steps, with the graphs of them saved at this level in the folder.
std::vector<float> trained(Mode mode, int level, const Folder& folder) {
  const ContextScope context({.mode = mode, .seed = 7, .save_graphs = level, .save_graphs_path = folder.path.string()});
  Net net;
  Model model{net, nn::MSELoss{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  model.train(2, data());
  std::vector<float> all;
  for (const auto& [name, tensor] : named_parameters(net)) {
    const auto values = tensor.template as<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// The names in the lines `# Scope: (name)`, without those of views, which run nothing.
std::set<std::string> scopes(const std::string& ir) {
  std::set<std::string> found;
  constexpr std::string_view before = "# Scope: (";
  for (std::size_t at = 0; (at = ir.find(before, at)) != ir.npos; ++at) {
    const std::size_t begin = at + before.size();
    const std::string name = ir.substr(begin, ir.find(")\n", begin) - begin);
    if (!has(name, "/Reshape-op")) found.insert(name);
  }
  return found;
}

struct Names {
  static constexpr bool every_value = true;
  std::set<std::string> seen;
  void before(const Operation&) {}
  void after(const Operation& operation) {
    if (operation.type != "Reshape") seen.emplace(operation.name);
  }
};

/// Looks for the parts of the form.
void check_form(const std::string& ir) {
  const std::vector<std::string> parts{"# IR entry: @",
                                       "# Total subgraphs: 1\n\n# Attrs:\n",
                                       "\n\n# Total params: ",
                                       "\n# Params:\n%para1_",
                                       ": <Ref[Tensor[Float32]], (",
                                       ", is_parameter>  :  has_default  :  ",
                                       "\n\nNode counting information:\nTotal number of nodes: ",
                                       "\nTotal number of cnodes: ",
                                       "\n\nsubgraph attr:\n",
                                       "\nsubgraph instance: ",
                                       "\n\nsubgraph @",
                                       "() {\n  %0(CNode_",
                                       "\n      : (<",
                                       ">) -> (<Tensor[Float32], (",
                                       "\n      # Scope: (Default",
                                       " {instance name: ",
                                       "} primitive_attrs: {",
                                       ": I64(1)",
                                       "\n      # In file ",
                                       "\n  Return(%",
                                       ">)\n"};
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(has(ir, part));
  }
}
}  // namespace

TEST_CASE("each level has its files; nobody may write them; the weights are the same bits") {
  Folder none("none");
  const auto weights = trained(Mode::graph, 0, none);
  CHECK(none.names().empty());
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    Folder basic(text("1", int(mode))), all(text("2", int(mode))), pictures(text("3", int(mode)));
    CHECK(trained(mode, 1, basic) == weights);
    CHECK(trained(mode, 2, all) == weights);
    CHECK(trained(mode, 3, pictures) == weights);
    const auto names = basic.names();
    REQUIRE(names.size() == 2);  // one kind of step, however many there were
    CHECK(names[0].starts_with("00_captured_Net_train_0"));
    CHECK(names[1].starts_with("12_final_Net_train_0"));
    CHECK((fs::status(basic.path / names[0]).permissions() & fs::perms::mask) == fs::perms::owner_read);
    CHECK(all.names().size() > 3);
    CHECK(all.count(".ir") == long(all.names().size()));
    CHECK(!all.read("06_fuse_Net_train").empty());
    CHECK(pictures.count(".ir") == all.count(".ir"));
    CHECK(pictures.count(".dot") == pictures.count(".ir"));
    CHECK(pictures.count(".tmp") == 0);
    CHECK(all.read("12_final") == basic.read("12_final"));
    Names observed;
    {
      const ContextScope context({.mode = mode, .seed = 7});
      Net net;
      Model model{net, nn::MSELoss{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
      model.train(1, data(), observed);
    }
    const auto saved = scopes(basic.read("00_captured"));
    for (const std::string& name : observed.seen) {  // what a dump's `kernels` can name stands in the file
      CAPTURE(name);
      CHECK(saved.contains(name));
    }
    CHECK(saved.contains("Default/network-Net/conv-Conv2d/Conv2D-op0"));
  }
}

TEST_CASE("the text has the form of MindSpore's, the user's line, the settings, and at last the plan") {
  Folder folder("form");
  trained(Mode::graph, 2, folder);
  const std::string captured = folder.read("00_captured"), final = folder.read("12_final");
  check_form(captured);
  if (support::have_shared("golden/save_graphs/level_1"))
    for (const auto& entry : fs::directory_iterator(support::shared_folder() + "/golden/save_graphs/level_1"))
      if (has(entry.path().string(), "hwopt_common_after_graph_0")) {
        std::ifstream file(entry.path());
        std::string golden{std::istreambuf_iterator<char>(file), {}};
        check_form(golden);  // the same parts
      }
  CHECK(has(captured, "{instance name: conv} primitive_attrs: {stride_h: I64(1), stride_w: I64(1), top: I64(1)"));
  CHECK(has(captured, text("# Scope: (Default/network-Net/ReLU-op0)\n      # In file ", __FILE__, ":", line_of_relu)));
  CHECK(has(captured, "%para1_input0: <Tensor[Float32], (n, 1, 4, 4)>"));
  CHECK(has(captured, "ref_key=state.fc.weight.2>"));
  CHECK(has(captured, "Gradients/Default/network-Net/fc-Dense/Grad_MatMul/MatMul-op"));
  CHECK_FALSE(has(captured, "# Plan:"));
  CHECK(has(final, "# Plan: {region: "));
  CHECK(has(final, ", first: %"));
  CHECK(has(final, "fused_steps: {s0 = "));
  CHECK(has(final, "region: parameters, offset: 0, bytes: 72"));
  CHECK(has(final, "kernel: "));
}

TEST_CASE("the lines of the source can be left out") {
  Folder folder("lines");
  ::setenv("ENV_DUMP_IR_LINE_LEVEL", "0", 1);
  trained(Mode::graph, 1, folder);
  ::unsetenv("ENV_DUMP_IR_LINE_LEVEL");
  CHECK_FALSE(has(folder.read("00_captured"), "# In file"));
}

TEST_CASE("a folder that goes away: one error, and the training ends as ever") {
  Folder none("none2"), folder("gone");
  const auto weights = trained(Mode::graph, 0, none);
  const ContextScope context(
      {.mode = Mode::graph, .seed = 7, .save_graphs = 3, .save_graphs_path = folder.path.string()});
  fs::remove_all(folder.path);
  Net net;
  Model model{net, nn::MSELoss{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  const std::string said = support::printed_to(stderr, [&] { model.train(2, data()); });
  CHECK(has(said, "[ERROR]"));
  CHECK(has(said, "save_graphs: Cannot create a file beside"));
  CHECK(said.find("[ERROR]") == said.rfind("[ERROR]"));
  CHECK(!fs::exists(folder.path));
  CHECK(net.conv.weight.values()[0] == weights[0]);
}

TEST_CASE("a picture: frames of cells, escaped texts, times; drawn by Graphviz if there is one") {
  Folder folder("picture");
  trained(Mode::graph, 3, folder);
  const std::string dot = folder.read("00_captured", ".dot");
  CHECK(dot.starts_with("digraph mindspore {\ncompound=true\n"));
  CHECK(has(dot, "label=\"conv (Conv2d)\""));
  CHECK(has(dot, "label=\"gradient of fc (Dense)\""));
  CHECK(has(dot, "<b>Conv2D</b>"));
  CHECK(has(dot, "style=dashed"));
  if (std::system("dot -V 2>/dev/null") == 0) {
    CHECK(has(folder.read("12_final", ".svg"), "</svg>"));
    CHECK(folder.count(".svg") == 1);
  }
  CHECK(debug::detail::escaped_html("a<b> & \"c\"\n") == "a&lt;b&gt; &amp; &quot;c&quot;");
  CHECK(debug::detail::quoted_dot("a\"\\\n") == "\"a\\\"\\\\\"");
  Net net;
  const auto step = debug::graph_of(net, Tensor<float, Shape<dyn, 1, 4, 4>>::full(1, 2));
  CHECK(step.name == "Net_call");
  CHECK(step.n == 2);
  const std::string timed = debug::graph_dot(
      step, "captured", [](std::string_view name) { return name.ends_with("ReLU-op0") ? 3e-6 : 1e-6; });
  CHECK(has(timed, "3.0 us (33 %)"));
  CHECK_THROWS_AS(debug::graph_text(step, "captred"), ValueError);
}

TEST_CASE("a graph that is too large for a picture says so in the file") {
  std::vector<Node> nodes(5000);
  nodes[0].op = &run_time_info<ops::Input>;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    nodes[i].op = &run_time_info<ops::Relu>;
    nodes[i].operand[0] = int(i) - 1;
    nodes[i].operands = 1;
    nodes[i].origin.number = int(i);
  }
  const Program program;
  const debug::NamedGraph graph({&program, "Deep_train", 1}, PassGraph{"captured", nodes.data(), int(nodes.size())});
  const std::string dot = debug::graph_dot(graph);
  CHECK(has(dot, "5000 nodes: too many for a picture"));
  CHECK(dot.size() < 1000);
  CHECK(has(debug::graph_text(graph), "  %4998(CNode_4998) = ReLU(%4997)"));
}

TEST_CASE("Graphviz that is not there, fails, or takes too long") {
  Folder folder("tools");
  fs::create_directories(folder.path);
  const std::string path = std::getenv("PATH"), svg = folder.path / "x.svg";
  const auto drawn_by = [&](const std::string& script) {
    const fs::path program = folder.path / "dot";
    fs::remove(program);
    if (!script.empty()) {
      std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
      fs::permissions(program, fs::perms::owner_all);
    }
    ::setenv("PATH", folder.path.c_str(), 1);
    const debug::Drawn drawn = debug::draw_svg(folder.path / "x.dot", svg, 0.2);
    ::setenv("PATH", path.c_str(), 1);
    return drawn;
  };
  CHECK(drawn_by("") == debug::Drawn::no_graphviz);
  CHECK(drawn_by("exit 3") == debug::Drawn::failed);
  CHECK(drawn_by("exit 0") == debug::Drawn::failed);  // without a file
  CHECK(drawn_by("while :; do :; done") == debug::Drawn::too_slow);
  CHECK(!fs::exists(svg));
  CHECK(drawn_by("echo drawn > \"$3\"") == debug::Drawn::done);
  CHECK(fs::exists(svg));
}
