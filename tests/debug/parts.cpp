// flags: -DTENON_OBSERVE
// Observers see all results of an operator: dumps, and saved graphs.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/debug/debug.hpp>
#include <tenon/io/file.hpp>

#include "../support/sum_difference.hpp"

using namespace tenon;

namespace {
namespace fs = std::filesystem;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 3> fc;
  constexpr auto construct(auto x) const {
    const auto [sum, difference] = mine::sum_difference(fc(x), x);
    return sum * difference;
  }
};

/// A folder of this process that goes with it.
struct Folder {
  fs::path path;
  explicit Folder(const std::string& name) : path(fs::absolute("parts_" + name)) { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  /// The contents of the files whose name has this text.
  std::vector<std::string> read(const std::string& part) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file() && entry.path().filename().string().find(part) != std::string::npos)
        all.push_back(io::read_file(entry.path().string()));
    return all;
  }
};
const auto x = Tensor<float, Shape<dyn, 3>>::from({1, 2, 3, 4, 5, 6});

/// The dumped results of the operator.
std::vector<std::string> dumped(Mode mode) {
  const ContextScope scope({.mode = mode, .seed = 3});
  const Folder folder(mode == Mode::graph ? "graph" : "pynative");
  debug::DumpConfig config = debug::dump_everything(folder.path.string());
  config.net_name = "Net";
  auto dump = debug::mindspore_dump(std::move(config));
  {
    const Watching watching(dump);
    Net net;
    Model{net}.predict(x);
  }
  dump.finish();
  std::vector<std::string> results;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("SumDifference.")) continue;
    for (const char* const slot : {".output.0.", ".output.1.", ".output.2."})
      if (name.find(slot) != std::string::npos) results.push_back(slot + io::read_file(entry.path().string()));
  }
  std::sort(results.begin(), results.end());
  return results;
}
}  // namespace

TEST_CASE("parts: a dump has each result, with the same bits in both modes") {
  const std::vector<std::string> graph = dumped(Mode::graph);
  REQUIRE(graph.size() == 2);
  CHECK(graph[0].substr(graph[0].size() - 24) != graph[1].substr(graph[1].size() - 24));
  CHECK(graph == dumped(Mode::pynative));
}

TEST_CASE("parts: a saved graph names the result that a part is") {
  const Folder folder("saved");
  const ContextScope scope(
      {.mode = Mode::graph, .seed = 3, .save_graphs = 3, .save_graphs_path = folder.path.string()});
  Net net;
  Model{net}.predict(x);
  const std::vector<std::string> graphs = folder.read(".ir");
  REQUIRE(!graphs.empty());
  for (const std::string& graph : graphs) {
    CHECK(graph.find(" = SumDifference(") != std::string::npos);
    CHECK(graph.find(" = Part(") != std::string::npos);
    CHECK(graph.find("result: I64(1)") != std::string::npos);
  }
}
