// flags: -DTENON_OBSERVE
// link: json
// The dump of networks: names and files as MindSpore's (golden/dump), alike in both modes, and no weight of a training
// changes by it.
#include <tenon/debug/debug.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <sys/wait.h>

#include <tenon/debug/dump/compare_dumps.hpp>
#include <tenon/nn/layer/activation.hpp>

#include "../support/json.hpp"
#include "../support/shared.hpp"

using namespace tenon;
using namespace tenon::debug;
namespace fs = std::filesystem;

namespace {
struct Given {
  static constexpr float value[]{0.5f, -1.0f, 2.0f};
  void fill(float* data, const TensorType&, std::uint64_t) const { std::copy_n(value, 3, data); }
};
/// That of golden/dump/tiny_all.
struct Tiny : nn::Cell<Tiny> {
  Parameter<float, Shape<3>, Given{}> b;
  nn::ReLU relu;
  constexpr auto construct(auto x) const { return relu(x + b) * 2.0f; }
};
struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 2, 3> conv1;
  nn::Dense<72, 3> fc1;
  constexpr auto construct(auto x) const { return fc1(flatten(relu(conv1(x)))); }
};
using Images = Tensor<float, Shape<dyn, 1, 6, 6>>;
auto data() {
  std::vector<float> x;
  Random random(3);
  for (int i = 0; i < 6 * 36; ++i) x.push_back(static_cast<float>(random.word() * 0x1p-31 - 1));
  return dataset::from_arrays(dataset::column<Shape<1, 6, 6>>(std::move(x)),
                              dataset::column<Shape<>>(std::vector<std::int32_t>{0, 1, 2, 0, 1, 2})) |
         dataset::batch(2);
}
auto model_of(Net& net) {
  return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
}
std::string bits(const Net& net) {
  const ParameterList list(net);
  return std::string(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
}

struct Folder {
  fs::path path;
  explicit Folder(const char* name) : path(fs::absolute(name)) { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::string string() const { return path.string(); }
  std::string read(const std::string& name) const { return io::read_file((path / name).string()); }
  /// The files, with # for times.
  std::set<std::string> names(const std::string& below = "") const {
    std::set<std::string> all;
    if (!fs::exists(path / below)) return all;
    for (const auto& entry : fs::recursive_directory_iterator(path / below)) {
      if (!entry.is_regular_file()) continue;
      std::string name = fs::relative(entry.path(), path).string();
      if (const std::size_t at = name.find(".0.0."); at != name.npos)
        name.replace(at + 5, name.find('.', at + 5) - at - 5, "#");
      CHECK(all.insert(name).second);
      CHECK(entry.status().permissions() == fs::perms::owner_read);
    }
    return all;
  }
};
DumpConfig into(const Folder& folder) {
  DumpConfig config = dump_everything(folder.string());
  config.net_name = "Net";
  return config;
}
/// Predicts once under a dump.
std::set<std::string> dumped(const Folder& folder, DumpConfig config, const Net& net) {
  auto dump = mindspore_dump(std::move(config));
  const Watching scope(dump);
  Model{const_cast<Net&>(net)}.predict(Images::full(1, 2));
  dump.finish();
  return folder.names("rank_0/Net");
}
}  // namespace

TEST_CASE("the files of MindSpore's Tiny have its bytes, in both modes") {
  if (!support::have_shared("golden/dump/index.json")) return;
  const std::string golden = support::shared_folder() + "/golden/dump";
  const support::Json index = support::load_json(golden + "/index.json");
  const support::Json& kept = index["cases"]["tiny_all"]["kept"];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope context({.mode = mode});
    const Folder folder("tiny_all");
    {
      DumpConfig config = into(folder);
      config.net_name = "LeNet";  // as MindSpore's configuration has it
      auto dump = mindspore_dump(std::move(config));
      const Watching scope(dump);
      Tiny tiny;
      Model model(tiny);
      for (int i = 0; i < 3; ++i) {
        auto x = Tensor<float, Shape<dyn, 3>>::full(0, 2);
        for (int k = 0; k < 6; ++k) x.values()[std::size_t(k)] = float(k - 3 + i);
        model.predict(x);
      }
    }
    const std::vector<DumpFile> ours = dump_files(folder.string());
    int compared = 0;
    for (std::size_t k = 0; k < kept.names.size(); ++k) {
      const std::string from = kept.items[k]["from"].string();
      std::string theirs;
      std::int64_t time = 0;
      if (!debug::detail::take_apart(from.substr(from.rfind('/') + 1), theirs, time)) continue;
      if (theirs.starts_with("Parameter.x.")) continue;  // inputs of the network are those of its operators here
      CAPTURE(theirs);
      const std::string type = theirs.substr(0, theirs.find('.')),
                        slot = theirs.substr(theirs.rfind('.', theirs.rfind('.') - 1)),
                        iteration = from.substr(0, from.rfind('/') + 1);
      const DumpFile* found = nullptr;
      for (const DumpFile& file : ours)
        if (file.tensor.starts_with(iteration + type + ".") && file.tensor.ends_with(slot)) found = &file;
      REQUIRE(found);
      CHECK(io::read_file(found->path) == io::read_file(golden + "/" + kept.names[k]));
      ++compared;
    }
    CHECK(compared == 27);
    CHECK(folder.read("rank_0/execution_order/ms_global_execution_order_graph_0.csv") == "0\n1\n2\n");
    CHECK(
        folder.read("rank_0/execution_order/ms_execution_order_graph_0.csv") ==
        "NodeExecutionOrder-FullNameWithScope\nDefault/network-Tiny/Add-op0\nDefault/network-Tiny/relu-ReLU/ReLU-op0\n"
        "Default/network-Tiny/Mul-op0\n");
    CHECK(folder.read("rank_0/.dump_metadata/config.json").starts_with("{\"device_target\":\"CPU\",\"ms_version\":"));
    CHECK(folder.read("rank_0/.dump_metadata/data_dump.json").starts_with("{\"common_dump_settings\": "));
  }
}

TEST_CASE("headers have MindSpore's form, byte for byte") {
  if (!support::have_shared("golden/dump/index.json")) return;
  const std::string golden = support::shared_folder() + "/golden/dump";
  const support::Json index = support::load_json(golden + "/index.json");
  int compared = 0;
  for (const support::Json& one : index["cases"].items)
    for (std::size_t k = 0; k < one["kept"].names.size(); ++k) {
      const std::string& name = one["kept"].names[k];
      if (!name.ends_with(".npy")) continue;
      const std::string file = io::read_file(golden + "/" + name);
      const io::NpyHeader header = io::parse_npy_header(file, name);
      CHECK(dump_npy_header(header.dtype, header.shape()) == file.substr(0, header.length));
      ++compared;
    }
  CHECK(compared > 40);
}

TEST_CASE("a dumped training has the same weights, bit for bit, and both modes have the same dump") {
  std::string files[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope context({.mode = mode, .seed = 5});
    Net plain, watched, waited;
    model_of(plain).train(2, data());
    const Folder folder(mode == Mode::graph ? "train_graph" : "train_pynative");
    const Folder second("train_async");
    for (const bool async : {false, true}) {
      DumpConfig config = into(async ? second : folder);
      config.async = async;
      auto dump = mindspore_dump(std::move(config), 2000);
      const Watching scope(dump);
      model_of(async ? waited : watched).train(2, data());
    }
    CHECK(bits(watched) == bits(plain));
    CHECK(bits(waited) == bits(plain));
    CHECK(compare_dumps(folder.string(), second.string()).same());
    const std::set<std::string> names = folder.names(), same = second.names();
    CHECK(names == same);
    CHECK(
        names.contains("rank_0/Net/0/0/Conv2D.Default_network-Net_conv1-Conv2d_Conv2D-op0.0.0.#.input.1.DefaultFormat."
                       "Float32.npy"));
    CHECK(names.contains("rank_0/Net/0/5/Parameter.conv1_weight.0.0.#.output.0.DefaultFormat.Float32.npy"));
    CHECK(!names.contains("rank_0/Net/0/6"));
    // what a file is called depends on no mode
    std::string& all = files[mode == Mode::pynative];
    for (const std::string& name : names) all += name + "\n";
    // a parameter after the last step, in the form that NumPy reads
    for (const DumpFile& file : dump_files((folder.path / "rank_0/Net/0/5").string()))
      if (file.tensor == "Parameter.fc1_bias.output.0") {
        const std::string npy = io::read_file(file.path);
        const std::string_view values(reinterpret_cast<const char*>(plain.fc1.bias.values().data()), 12);
        CHECK(std::string_view(npy).substr(128) == values);
      }
  }
  CHECK(files[0] == files[1]);
}

TEST_CASE("a dump diff of two trainings that differ in one weight names the first tensor that differs") {
  const ContextScope context({.seed = 5});
  const Folder first("diff_a"), second("diff_b");
  for (const bool changed : {false, true}) {
    Net net;
    net.init_parameters();
    if (changed) net.fc1.weight.values()[7] += 0.25f;
    auto dump = mindspore_dump(into(changed ? second : first));
    const Watching scope(dump);
    model_of(net).train(1, data());
  }
  const DumpComparison found = compare_dumps(first.string(), second.string());
  REQUIRE(!found.different.empty());
  CHECK(found.only_in_first.empty());
  CHECK(found.only_in_second.empty());
  CHECK(found.different[0].tensor == "rank_0/Net/0/0/MatMul.Default_network-Net_fc1-Dense_MatMul-op0.input.1");
  CHECK(found.different[0].different == 1);
  CHECK(found.different[0].max_abs == doctest::Approx(0.25));
  CHECK(found.text().find("The first tensor that differs: rank_0/Net/0/0/MatMul.") != std::string::npos);
}

TEST_CASE("which operators, which sides of them, which steps, which device") {
  Net net;
  const std::string step = "rank_0/Net/0/0/";
  const Folder folder("chosen");
  const auto files_with = [&](auto change) {
    fs::remove_all(folder.path);
    DumpConfig changed = into(folder);
    change(changed);
    return dumped(folder, changed, net);
  };
  const std::string conv = step + "Conv2D.Default_network-Net_conv1-Conv2d_Conv2D-op0.0.0.#.",
                    end = ".DefaultFormat.Float32.npy";
  const std::set<std::string> of_conv{conv + "input.0" + end, conv + "input.1" + end, conv + "output.0" + end};
  const auto kernels = [&](std::vector<std::string> names) {
    return files_with([&](DumpConfig& c) { c.what.mode = DumpMode::kernels, c.what.kernels = names; });
  };
  CHECK(kernels({"conv2d"}) == of_conv);
  CHECK(kernels({"Default/network-Net/conv1-Conv2d/Conv2D-op0"}) == of_conv);
  CHECK(kernels({"Nothing", "Conv2D-op0"}).empty());

  const auto outputs = files_with([](DumpConfig& c) { c.what.slots = DumpedSlots::outputs; });
  const auto inputs = files_with([](DumpConfig& c) { c.what.slots = DumpedSlots::inputs; });
  const auto both = files_with([](DumpConfig&) {});
  CHECK(outputs.size() + inputs.size() == both.size());
  for (const std::string& name : inputs) CHECK(name.find(".input.") != name.npos);
  CHECK(both.contains(step + "Parameter.fc1_bias.0.0.#.output.0" + end));
  CHECK(outputs.contains(step + "Parameter.fc1_bias.0.0.#.output.0" + end));

  CHECK(files_with([](DumpConfig& c) { c.what.mode = DumpMode::cells; }).empty());
  set_dump(net.conv1);
  CHECK(files_with([](DumpConfig& c) { c.what.mode = DumpMode::cells; }) == of_conv);
  set_dump(net.conv1, false);
  CHECK(files_with([](DumpConfig& c) { c.what.mode = DumpMode::cells; }).empty());

  CHECK(files_with([](DumpConfig& c) { c.what.iterations = Iterations(std::string_view("1|3")); }).empty());
  CHECK(files_with([](DumpConfig& c) { c.what.devices = {1, 2}; }).empty());
  CHECK(files_with([](DumpConfig& c) { c.enabled = false; }).empty());
  // 1.1 counts from 1
  CHECK(files_with([](DumpConfig& c) { c.what.iterations = Iterations(1L); }).begin()->starts_with("rank_0/Net/0/1/"));
}

TEST_CASE("each Model and kind of step is a graph of its own; a Model that begins anew gets another number") {
  const Folder folder("graphs");
  auto dump = mindspore_dump(into(folder));
  const Watching scope(dump);
  for (int time = 0; time < 2; ++time) {
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{}, nn::Loss{}};
    model.train(1, data());
    model.eval(data());
    net(Images::full(1, 2));
  }
  std::set<std::string> graphs;
  for (const std::string& name : folder.names("rank_0/Net")) {
    const std::size_t at = name.find('/', 11);
    graphs.insert(name.substr(11, name.find('/', at + 1) - 11));
  }
  CHECK(graphs.contains("0/2"));
  CHECK(graphs.contains("1/2"));
  CHECK(graphs.contains("2/0"));
  CHECK(graphs.contains("3/2"));
  CHECK(graphs.contains("4/2"));
}

namespace {
/// An observer that predicts with another network in the middle of each step that it sees.
template <class M>
struct Predicts {
  M& model;
  int operations = 0;
  void step_begin(RunInfo&) { operations = 0; }
  void before(const Operation&) {}
  void after(const Operation&) {
    if (++operations == 2) model.predict(Tensor<float, Shape<dyn, 3>>::full(1, 2));
  }
};
}  // namespace

TEST_CASE("a step inside another one is a step of its own, dumped or not; the outer one is whole") {
  const ContextScope context({.seed = 5});
  const auto files = [&](const char* iterations, bool nested) {
    const Folder folder("nested");
    Net net;
    Tiny tiny;
    Model inner(tiny);
    if (nested) inner.predict(Tensor<float, Shape<dyn, 3>>::full(1, 2));  // it is one step ahead
    {
      DumpConfig config = dump_everything(folder.string());
      config.what.iterations = Iterations(std::string_view(iterations));
      auto dump = mindspore_dump(std::move(config));
      const Watching scope(dump);
      if (nested) model_of(net).train(1, data(), Predicts<decltype(inner)>{inner});
      else model_of(net).train(1, data());
    }
    return std::pair(folder.names("rank_0/Net"), folder.names("rank_0/Tiny"));
  };
  const auto plain = files("0", false), refused = files("0", true), both = files("0|1", true);
  CHECK(plain.first.size() > 20);
  CHECK(refused.first == plain.first);
  CHECK(refused.second.empty());
  CHECK(both.first == files("0|1", false).first);
  CHECK(both.second.size() == 9);  // Add and Mul have two operands, ReLU one, each a result; a parameter
}

TEST_CASE("statistics beside the tensors, or instead of them") {
  Net net;
  net.init_parameters();
  const Folder folder("statistics");
  DumpConfig config = into(folder);
  config.saved = SavedData::statistic;
  CHECK(dumped(folder, config, net) == std::set<std::string>{"rank_0/Net/0/0/statistic.csv"});
  const std::string csv = folder.read("rank_0/Net/0/0/statistic.csv");
  CHECK(
      csv.starts_with("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min "
                      "Value,Avg Value,Count,Negative Zero Count,Positive Zero Count,NaN Count,Negative Inf "
                      "Count,Positive Inf Count,Zero Count\nConv2D,Default_network-Net_conv1-Conv2d_Conv2D-op0,0,0,"));
  CHECK(csv.find(",input,0,288,float32,\"(2,1,6,6)\",1,1,1,72,0,72,0,0,0,0\n") != csv.npos);
  config.saved = SavedData::full;
  fs::remove_all(folder.path);
  CHECK(dumped(folder, config, net).size() > 10);

  float values[]{-0.0f, 0, 1.5f, -2, -3, INFINITY, -INFINITY, NAN};
  const std::int64_t shape[]{8}, none[]{0};
  const TensorStatistics s(AnyTensor(Dtype::float32, shape, values));
  CHECK(s.zero == 2);
  CHECK(s.positive == 1);
  CHECK(s.negative == 2);
  CHECK(s.mean == -0.7);
  const DumpedTensor what{"Op", "a/b-op0", true, 0, 5};
  CHECK(statistic_line(what, AnyTensor(Dtype::float32, shape, values)) ==
        "Op,a_b-op0,0,0,5,output,0,32,float32,\"(8)\",1.5,-3,-0.7,8,2,1,1,1,1,2\n");
  CHECK(statistic_line(what, AnyTensor(Dtype::int32, none, values)) ==
        "Op,a_b-op0,0,0,5,output,0,0,int32,\"(0)\",null,null,null,0,0,0,0,0,0,0\n");
}

namespace {
struct ACellWithANameThatIsLongerThanNamesOfCellsAreWhoseAuthorsThinkOfThoseWhoReadThem
    : nn::Cell<ACellWithANameThatIsLongerThanNamesOfCellsAreWhoseAuthorsThinkOfThoseWhoReadThem> {
  nn::Dense<2, 2>
      a_layer_with_a_name_that_is_longer_than_names_of_layers_are_whose_authors_think_of_those_who_read_them;
  constexpr auto construct(auto x) const {
    return a_layer_with_a_name_that_is_longer_than_names_of_layers_are_whose_authors_think_of_those_who_read_them(x);
  }
};
struct Long : nn::Cell<Long> {
  ACellWithANameThatIsLongerThanNamesOfCellsAreWhoseAuthorsThinkOfThoseWhoReadThem a_cell_with_a_name_as_long_as_that;
  constexpr auto construct(auto x) const { return a_cell_with_a_name_as_long_as_that(x); }
};
}  // namespace

TEST_CASE("names that no file can have stand in mapping.csv; a short name is a number") {
  const Folder folder("long");
  auto dump = mindspore_dump(into(folder));
  const Watching scope(dump);
  Long net;
  net(Tensor<float, Shape<dyn, 2>>::full(1, 2));
  const std::string mapping = folder.read("rank_0/Net/0/0/mapping.csv");
  CHECK(mapping.find(".npy,MatMul.Default_network-Long_a_cell_with") < 30);
  CHECK(fs::exists(folder.path / "rank_0/Net/0/0" / mapping.substr(0, mapping.find(','))));
  bool found = false;
  for (const DumpFile& file : dump_files(folder.string()))
    found |= file.tensor.starts_with("rank_0/Net/0/0/MatMul.Default_network-Long_a_cell_with") &&
             file.tensor.ends_with("MatMul-op0.output.0");
  CHECK(found);
}

TEST_CASE("bfloat16, which NumPy lacks, is written as float32") {
  bfloat16 values[]{bfloat16(1.5f), bfloat16(-2)};
  const std::int64_t shape[]{2};
  std::vector<float> widened;
  CHECK(dump_npy_elements(AnyTensor(Dtype::bfloat16, shape, values), widened).size() == 8);
  CHECK(widened == std::vector<float>{1.5f, -2});
  CHECK(dump_npy_header(Dtype::bfloat16, shape).find("'<f4'") == 20);
  CHECK(DumpedTensor{"Cast", "a.b/c", false, 1, 7}.file_name(Dtype::bfloat16) ==
        "Cast.a_b_c.0.0.7.input.1.DefaultFormat.BFloat16.npy");
}

TEST_CASE("set_context switches it on and off") {
  const Folder folder("by_context");
  Net net;
  Model model(net);
  fs::create_directories(folder.path);
  CHECK(tenon::detail::watches() == 0);
  {
    const ContextScope context({.enable_dump = true, .save_dump_path = folder.string()});
    CHECK(tenon::detail::watches() == 1);
    model.predict(Images::full(1, 2));
  }
  CHECK(tenon::detail::watches() == 0);
  model.predict(Images::full(1, 2));
  CHECK(fs::exists(folder.path / "rank_0/Net/0/0"));
  CHECK(!fs::exists(folder.path / "rank_0/Net/0/1"));
}

namespace {
/// This program again, with a configuration: its exit status and what it wrote on the error stream.
std::pair<int, std::string> run_again(const Folder& folder, const std::string& json, const std::string& act) {
  fs::create_directories(folder.path);
  const std::string config = (folder.path / "data_dump.json").string(), said = (folder.path / "said").string();
  io::write_file(config, json);
  const std::string command =
      text("MINDSPORE_DUMP_CONFIG=", config, " TENON_TEST_ACT=", act, " ", fs::read_symlink("/proc/self/exe").string(),
           " -tc='(in a process of its own)' >/dev/null 2>", said);
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, io::read_file(said)};
}
}  // namespace

namespace {
/// Removes a folder in the middle of the second step.
struct Remove {
  std::string folder;
  long step = 0, operations = 0;
  void step_begin(RunInfo& run) { step = run.cur_step_num, operations = 0; }
  void before(const Operation&) {
    if (step == 2 && ++operations == 3 && !folder.empty()) fs::remove_all(folder);
  }
  void after(const Operation&) {}
};
}  // namespace

TEST_CASE("(in a process of its own)") {
  const char* const asked = std::getenv("TENON_TEST_ACT");
  if (!asked) return;
  const std::string_view act = asked;
  const ContextScope context({.seed = 5});
  Net net;
  if (act == "refused") {
    CHECK_THROWS_AS(model_of(net).train(1, data()), RuntimeError);
    CHECK_THROWS_AS(model_of(net).train(1, data()), RuntimeError);
    return;
  }
  model_of(net).train(1, data(), Remove{act == "trains" ? "" : std::string(act)});
  CHECK(std::isfinite(net.fc1.bias.values()[0]));
}

TEST_CASE("the variable of the environment: no line of the program's source") {
  const auto json = [](const Folder& folder, const char* more) {
    return text("{\"common_dump_settings\": {\"dump_mode\": 1, \"path\": \"", folder.string(), "/out",
                "\", \"net_name\": \"Mine\", \"input_output\": 2, \"support_device\": [0], ", more);
  };
  const Folder folder("by_environment");
  const auto [status, said] = run_again(
      folder,
      json(folder,
           R"("iteration": "0|2", "kernels": ["Conv2D", "NeverThere"]}, "async_dump_settings": {"enable": true}})"),
      "trains");
  CHECK(status == 0);
  CHECK(folder.names("out/rank_0/Mine").size() == 4);  // Conv2D, and what its weight's gradient is made by, twice
  CHECK(said.find("[DataDump] Unused Kernel in json: 'NeverThere'") != said.npos);
  CHECK(said.find("Unused Kernel in json: 'Conv2D'") == said.npos);

  const Folder wrong("wrong");
  CHECK(run_again(wrong, json(wrong, R"("iteration": "x", "kernels": []}})"), "refused").first == 0);
  CHECK(run_again(wrong, "{", "refused").first == 0);

  const Folder off("off");
  const auto [ended, told] = run_again(
      off, json(off, R"("iteration": "all", "kernels": []}, "e2e_dump_settings": {"enable": false}})"), "trains");
  CHECK(ended == 0);
  CHECK(told.find("so nothing is dumped") != told.npos);
  CHECK(off.names("out").empty());

  const Folder gone("gone");
  const auto [gone_status, gone_said] =
      run_again(gone, json(gone, R"("iteration": "all", "kernels": ["Conv2D"]}})"), gone.string() + "/out");
  CHECK(gone_status == 0);
  CHECK(gone_said.find("The dump ends here, the program goes on without it: Cannot write") != gone_said.npos);
}
