// The founding documents' tools in C++: dump, log levels of modules, profiles, saved graphs, SummaryCollector.
// flags: -DTENON_OBSERVE
// link: json protozero png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/debug/debug.hpp>

#include <tenon/train/callback/loss_monitor.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/io/event_file.hpp>
#include <tenon/train/callback/summary_collector.hpp>
#endif

#include "../support/logged.hpp"
#include "../support/printed.hpp"
#include "../support/skip.hpp"
#include "../train/small.hpp"

using small::Net, small::samples;
using namespace tenon;
namespace fs = std::filesystem;

namespace {
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}>;
nn::Momentum momentum() { return {.learning_rate = 0.1f, .momentum = 0.9f}; }
auto four_steps() { return samples(12) | dataset::batch(3); }
void train() {
  Net net;
  Trained model(net, {}, momentum());
  model.train(1, four_steps());
}

/// A folder of this test, empty.
struct Folder {
  fs::path path;
  explicit Folder(const char* name) : path(fs::absolute(name)) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return path / name; }
  /// The names of the files in it and below it, in the order of the alphabet.
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) all.push_back(fs::relative(entry.path(), path));
    std::sort(all.begin(), all.end());
    return all;
  }
  long count(std::string_view part) const {
    const std::vector<std::string> all = files();
    return std::count_if(all.begin(), all.end(),
                         [part](const std::string& name) { return name.find(part) != name.npos; });
  }
};

/// Document 002's data_dump.json, with a path that is there.
std::string data_dump(const std::string& path) {
  const std::string document = R"({
    "common_dump_settings": {
        "dump_mode": 0,
        "path": "/absolute_path",
        "net_name": "ResNet50",
        "iteration": 0,
        "input_output": 0,
        "kernels": ["Default/Conv-op12"],
        "support_device": [0,1,2,3,4,5,6,7]
    },
    "e2e_dump_settings": {
        "enable": true,
        "trans_flag": false
    }
}
)",
                    theirs = "/absolute_path";
  std::string json = document;
  return json.replace(json.find(theirs), theirs.size(), path);
}
}  // namespace

// The environment is read at the first line of a process: here each time in a child of one that has written none.
TEST_CASE("all parts that document 002 lists have a level of their own, and lines of others keep the common one") {
  const auto lines = [] {
    logging::info("of the program");
    logging::warning("of the program");
  };
  CHECK(support::messages(support::logged({{"GLOG_v", "1"}, {"MS_SUBMODULE_LOG_v", "{PARSER:2,ANALYZER:2}"}}, lines)) ==
        "INFO ME] of the program\nWARNING ME] of the program\n");
  const std::string parts = "{KERNEL:0,PRE_ACT:0,SESSION:0,COMMON:0,DEBUG:0,ANALYZER:0,OPTIMIZER:0,PARALLEL:0,MD:0,"
                            "PIPELINE:0,PARSER:0,PYNATIVE:0,PROFILER:0,DEVICE:0,GE_ADPT:0,EXPRESS:0,UTILS:0,VM:0,"
                            "CORE:0,ME:3}";
  CHECK(support::messages(support::logged({{"MS_SUBMODULE_LOG_v", parts}}, [&] {
          lines();
          logging::error("of the program");
        })) == "ERROR ME] of the program\n");  // and no word about a part that is not known
}

TEST_CASE("dump: the document's file, named by MINDSPORE_DUMP_CONFIG, writes operands and results of all operators") {
#if __has_include(<nlohmann/json.hpp>)
  if (const char* const asked = std::getenv("TENON_TEST_NAMES")) {  // the process that is dumped
    const bool classes = std::string_view(asked) == "long";
    set_context({.mode = classes ? Mode::graph : Mode::pynative, .reserve_class_name_in_scope = classes});
    train();
    return;
  }
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  for (const std::string names : {"long", "short"}) {
    const Folder folder("dump");
    io::write_file(folder / "data_dump.json", data_dump(folder / "out"));
    CHECK(std::system(text("MINDSPORE_DUMP_CONFIG=", folder / "data_dump.json", " TENON_TEST_NAMES=", names, " ", self,
                           " --test-case='dump: the document*' >/dev/null")
                          .c_str()) == 0);
    const std::string scope =
        names == "long" ? "Default_network-Net_fc1-Dense_MatMul-op0" : "Default_network_fc1_MatMul-op0";
    for (const char* iteration : {"1", "2", "3", "4"})
      for (const char* side : {"input.0", "input.1", "output.0"}) {
        CAPTURE(iteration);
        CAPTURE(side);
        const fs::path step = fs::path(folder / "out/rank_0/ResNet50/0") / iteration;
        const auto matches = [&](const fs::directory_entry& entry) {
          const std::string name = entry.path().filename();
          return name.starts_with("MatMul." + scope + ".0.0.") &&
                 name.ends_with(text(".", side, ".DefaultFormat.Float32.npy"));
        };
        CHECK(std::count_if(fs::directory_iterator(step), {}, matches) == 1);
      }
    CHECK(folder.count("out/rank_0/ResNet50/0/5/") == 0);
  }
#else
  support::say_skipped("nlohmann_json is not installed, the dump was not tested");
#endif
}

TEST_CASE("dump: a variable that is set while the program runs changes nothing") {
  const Folder folder("dump_later");
  io::write_file(folder / "data_dump.json", data_dump(folder / "out"));
  ::setenv("MINDSPORE_DUMP_CONFIG", (folder / "data_dump.json").c_str(), 1);
  train();
  ::unsetenv("MINDSPORE_DUMP_CONFIG");
  CHECK(folder.files() == std::vector<std::string>{"data_dump.json"});
}

TEST_CASE("profiles: the document's options write a training trace into result_path") {
  const Folder folder("output");
  const std::string table = support::printed_to(stderr, [&] {
    const ContextScope scope(
        {.enable_profiling = true,
         .profiling_options = text(R"({"result_path":")", folder.path.string(), R"(","training_trace":"on"})")});
    train();
  });
  CHECK(table.starts_with("Net, training in graph mode, batch size 3"));
  const std::string trace = io::read_file(folder / "profiler/step_trace_raw_0_detail_time.csv");
  CHECK(trace.starts_with("step_num,"));
  CHECK(std::count(trace.begin(), trace.end(), '\n') >= 5);  // the head, and a line for each step
}

TEST_CASE("saved graphs: True writes each stage as text, and level 3 as pictures, too") {
  const Folder folder("graphs");
  {
    const ContextScope scope({.save_graphs = true, .save_graphs_path = folder.path.string()});
    train();
  }
  const long texts = folder.count(".ir");
  CHECK(folder.count("00_captured_Net_train_") == 1);
  CHECK(folder.count("_final_Net_train_") == 1);
  CHECK(texts > 2);
  CHECK(texts == long(folder.files().size()));
  const Folder pictures("pictures");
  {
    const ContextScope scope({.save_graphs = 3, .save_graphs_path = pictures.path.string()});
    train();
  }
  CHECK(pictures.count(".ir") == texts);
  CHECK(pictures.count(".dot") == texts);
}

TEST_CASE("a list of three callbacks: checkpoints, losses, and a summary in its folder") {
#if __has_include(<protozero/pbf_reader.hpp>)
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const Folder folder("summary_dir");
    Net net;
    Trained model(net, {}, momentum());
    ModelCheckpoint ckpt_cb("CKP", folder / "list");
    LossMonitor loss_cb;
    SummaryCollector summary_cb(folder / "summary_dir");
    const std::string lines =
        support::printed_to(stdout, [&] { model.train(2, four_steps(), ckpt_cb, loss_cb, summary_cb); });
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 8);  // LossMonitor's
    CHECK(fs::exists(ckpt_cb.latest_ckpt_file_name()));
    std::string summary;
    for (const std::string& name : folder.files())
      if (name.starts_with("summary_dir/") && name.ends_with("_MS")) summary = folder / name;
    REQUIRE(!summary.empty());
    const io::EventFile file(summary);
    std::vector<std::string> tags;
    for (const io::Event& event : file.events())
      for (const io::EventValue& value : event.values) tags.push_back(text(event.step, " ", value.tag));
    CHECK(std::count(tags.begin(), tags.end(), "1 loss/auto") == 1);
    CHECK(std::count(tags.begin(), tags.end(), "1 fc1.weight/auto") == 1);
  }
#else
  support::say_skipped("protozero is not installed, SummaryCollector was not tested");
#endif
}
