// SummaryCollector: tags, steps, lineage, the graph, both formats and both modes; the training keeps its bits.
// link: protozero png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "../../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/io/event_file.hpp>
#include <tenon/ops/summary.hpp>
#include <tenon/train/callback/any_callback.hpp>
#include <tenon/train/callback/lambda_callback.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#include <tenon/train/callback/summary_collector.hpp>

#include "../../support/printed.hpp"
#include "../small.hpp"

using namespace small;
using namespace support;
namespace fs = std::filesystem;

namespace {
/// A file of the folder whose name has this part.
std::string path_of(const std::string& folder, std::string_view part, std::size_t number = 0) {
  std::vector<std::string> paths;
  for (const auto& file : fs::directory_iterator(folder))
    if (file.path().filename().string().find(part) != std::string::npos) paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  REQUIRE(number < paths.size());
  return paths[number];
}
std::vector<std::string> tags(const io::EventFile& file) {
  std::vector<std::string> result;
  for (const io::Event& event : file.events())
    for (const io::EventValue& value : event.values) result.push_back(text(event.step, " ", value.tag));
  return result;
}
const io::Event* find(const io::EventFile& file, io::EventContent content) {
  for (const io::Event& event : file.events())
    if (event.content == content) return &event;
  return nullptr;
}
/// What is in a message of lineage, as texts: numbers of fields, and their values.
std::string shown(std::string_view message) {
  std::string result;
  io::MessageField field;
  for (io::Message fields(message); fields.next(field);) {
    result += text(" ", field.number, ":");
    switch (field.kind) {
      case io::MessageField::Kind::varint: result += text(field.whole); break;
      case io::MessageField::Kind::fixed32: result += text(field.single("")); break;
      case io::MessageField::Kind::fixed64: result += text(field.real("")); break;
      default:
        result += field.content.find_first_of(std::string_view("\0\x08\x0a\x10\x12", 5)) == std::string_view::npos
                      ? std::string(field.content)
                      : "{" + shown(field.content) + "}";
    }
  }
  return result;
}
auto make_model(auto& net) {
  return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.125f, .momentum = 0.9f},
               nn::Accuracy{}};
}
}  // namespace

TEST_CASE("summary collector: steps, tags, graph, and lineage of a training and an evaluation, in both modes") {
  std::string graphs[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const Folder folder;
    Net net;
    auto model = make_model(net);
    const auto data = samples(16) | dataset::shuffle(8) | dataset::batch(4);  // 4 steps
    SummaryCollector collector(
        folder.path, {.collect_freq = 3, .custom_lineage_data = {{"layers", 2}, {"name", "first"}, {"rate", 0.5}}});
    model.train(2, data, collector);
    const io::EventFile file(path_of(folder.path, "_MS"));
    std::vector<std::string> expected;
    for (const int step : {1, 3, 6})
      for (const char* tag : {"loss/auto", "fc1.weight/auto", "fc1.bias/auto", "fc2.weight/auto", "fc2.bias/auto"})
        expected.push_back(text(step, " ", tag));
    CHECK(tags(file) == expected);
    const io::Event* const graph = find(file, io::EventContent::graph);
    REQUIRE(graph);
    graphs[mode == Mode::graph] = graph->message;
    CHECK(has(graph->message, "Default/network-Net/fc1-Dense/MatMul-op0"));
    CHECK(has(graph->message, "fc2.weight"));

    const io::EventFile lineage(path_of(folder.path, "_lineage"));
    CHECK(lineage.is_lineage());
    REQUIRE(lineage.events().size() == 3);
    CHECK(
        shown(lineage.events()[0].message) ==
        " 1:{ 1:{ 2:{ 1:{ 1:op_type 2:Arrays} 4:{ 1:num_samples 2:16}}} 2:{ 1:{ 1:op_type 2:Shuffle} 4:{ 1:buffer_size "
        "2:8}}} 2:{ 1:{ 1:op_type 2:Batch} 3:{ 1:drop_remainder 2:0} 4:{ 1:batch_size 2:4}}");
    CHECK(shown(lineage.events()[1].message) ==
          " 1:{ 3:{ 1:layers 2:2}} 1:{ 4:{ 1:name 2:first}} 1:{ 5:{ 1:rate 2:0.5}}");
    CHECK(has(
        shown(lineage.events()[2].message),
        " 1:{ 1:Momentum 2:0.125 3:SoftmaxCrossEntropyWithLogits 4:2 5:stand_alone 6:1 8:4} 2:{ 2:16} 3:{ 1:Net 2:"));
    CHECK(has(shown(lineage.events()[2].message), R"( 4:{ 3:{"ckpt": null} 4:0})"));

    model.eval(data, collector);
    const io::EventFile evaluation(path_of(folder.path, "_lineage", 1));
    REQUIRE(evaluation.events().size() == 1);
    CHECK(evaluation.events()[0].content == io::EventContent::eval_lineage);
    CHECK(has(evaluation.events()[0].message, R"({"accuracy": )"));
  }
  CHECK(graphs[0] == graphs[1]);
}

TEST_CASE("summary collector: the training has the same bits, in fit, too") {
  std::string parameters[2];
  for (const bool collects : {false, true}) {
    const ContextScope scope({.seed = 3});
    const Folder folder;
    Net net;
    auto model = make_model(net);
    std::vector<AnyCallbackOf<decltype(model)>> list;
    if (collects)
      list.push_back(SummaryCollector(folder.path, {.collect_freq = 1, .format = SummaryFormat::tensorboard}));
    model.fit(3, ten(), ten(), list);
    parameters[collects] = bits(net);
    if (!collects) continue;
    const io::EventFile file(path_of(folder.path, "tfevents"));
    CHECK(std::ranges::count(tags(file), "9 loss/auto") == 1);
    CHECK(std::ranges::count(tags(file), "0 eval_lineage") == 3);
    CHECK(std::ranges::count(tags(file), "0 train_lineage") == 1);
  }
  CHECK(parameters[0] == parameters[1]);
}

TEST_CASE("summary collector: in a list chosen at run time it knows the data set as well") {
  std::string graph[3];
  for (const int how : {0, 1, 2}) {
    const Folder folder;
    Net net;
    auto model = make_model(net);
    using Any = AnyCallbackOf<decltype(model)>;
    const SummaryCollector collector(folder.path);
    std::vector<SummaryCollector> range{collector};
    std::vector<Any> list{collector};
    SummaryCollector itself(collector);
    if (how == 0) model.train(1, ten(), itself);
    else if (how == 1) model.train(1, ten(), list);
    else model.train(1, ten(), range);
    const io::EventFile lineage(path_of(folder.path, "_lineage"));
    REQUIRE(lineage.events().size() == 2);
    graph[how] = lineage.events()[0].message;
  }
  CHECK(has(shown(graph[0]), "1:op_type 2:Batch"));
  CHECK(graph[1] == graph[0]);
  CHECK(graph[2] == graph[0]);
}

TEST_CASE("summary collector: what is collected can be chosen") {
  const Folder folder;
  Net net;
  auto model = make_model(net);
  const auto collect = [&](std::string_view name, const SummaryCollectorConfig& config) {
    model.train(1, ten(), SummaryCollector(folder / name, config));
    return folder / name;
  };
  const std::string chosen = collect(
      "chosen", {.collect_specified_data = {
                     .collect_metric = false, .collect_graph = false, .histogram_regular = "fc\\d\\.b|weight"}});
  CHECK(tags(io::EventFile(path_of(chosen, "_MS"))) == std::vector<std::string>{"1 fc1.bias/auto", "1 fc2.bias/auto"});
  const std::string only =
      collect("only", {.collect_specified_data = {.collect_metric = true}, .keep_default_action = false});
  CHECK(tags(io::EventFile(path_of(only, "_MS"))) == std::vector<std::string>{"1 loss/auto"});
  CHECK(std::distance(fs::directory_iterator(only), {}) == 1);
  CHECK(std::distance(fs::directory_iterator(collect("none", {.keep_default_action = false})), {}) == 0);

  CHECK(
      has(message<ValueError>([&] { SummaryCollector(folder.path, {.collect_freq = 0}); }), "collect_freq must be 1"));
  CHECK(has(message<ValueError>(
                [&] { SummaryCollector(folder.path, {.collect_specified_data = {.histogram_regular = "(a"}}); }),
            "no regular expression"));
  SummaryCollector one(folder / "one"), two(folder / "two");
  CHECK(has(message<ValueError>([&] { model.train(1, ten(), one, two); }), "more than one SummaryCollector"));
}

TEST_CASE("summary collector: steps of tensors") {
  const auto steps = [](long all, long freq, std::optional<long> every) {
    std::vector<long> result;
    for (long step = 1; step <= all; ++step)
      if (detail::tensor_steps(all, freq, every).has(step)) result.push_back(step);
    return result;
  };
  CHECK(steps(10, 4, {}) == std::vector<long>{4, 8});
  CHECK(steps(10, 4, 5) == std::vector<long>{5, 10});
  CHECK(steps(600, 10, {}).size() == 19);
  CHECK(steps(600, 10, {})[0] == 31);
  CHECK(steps(30, 1, {}).size() == 20);
}

TEST_CASE("summary collector: the folder vanishes, the training goes on, with one warning") {
  const Folder folder;
  Net net;
  auto model = make_model(net);
  const std::string said = printed_to(stderr, [&] {
    model.train(4, ten(), SummaryCollector(folder / "gone", {.collect_freq = 1}),
                LambdaCallback{.on_train_epoch_end = [&](RunInfo&) { fs::remove_all(folder / "gone"); }});
  });
  CHECK(model.global_step() == 12);
  const auto first = said.find("gets no more records");
  CHECK(first != said.npos);
  CHECK(said.find("gets no more records", first + 1) == said.npos);
}

TEST_CASE("summary collector: an evaluation in a hook has its own file, and the training keeps its file") {
  for (const bool fails : {false, true}) {
    const Folder folder;
    Net net;
    auto model = make_model(net);
    SummaryCollector collector(folder.path, {.collect_freq = 1});
    LambdaCallback crash{.on_eval_step_begin = [](RunInfo&) { throw std::runtime_error("crash"); }};
    LambdaCallback evaluates{.on_train_step_end = [&](RunInfo& run) {
      if (run.cur_step_num != 2) return;
      if (fails) CHECK_THROWS_WITH(model.eval(ten(), collector, crash), "crash");
      else model.eval(ten(), collector);
    }};
    model.train(2, ten(), collector, evaluates);  // 6 steps
    const io::EventFile training(path_of(folder.path, "_MS"));
    const std::vector<std::string> recorded = tags(training);
    for (const char* const tag : {"1 loss/auto", "2 loss/auto", "3 loss/auto", "6 loss/auto"})
      CHECK(std::ranges::count(recorded, tag) == 1);
    CHECK(find(io::EventFile(path_of(folder.path, "_lineage")), io::EventContent::train_lineage));
    if (!fails) CHECK(find(io::EventFile(path_of(folder.path, "_lineage", 1)), io::EventContent::eval_lineage));
    model.eval(ten(), collector);
    CHECK(find(io::EventFile(path_of(folder.path, "_lineage", fails ? 1 : 2)), io::EventContent::eval_lineage));
  }
}

TEST_CASE("summary collector: after an evaluation that an error has ended the next training is recorded") {
  for (const bool in_training : {false, true}) {
    const Folder folder;
    Net net;
    auto model = make_model(net);
    SummaryCollector collector(folder.path, {.collect_freq = 1});
    LambdaCallback crash{.on_eval_step_begin = [](RunInfo&) { throw std::runtime_error("crash"); }};
    LambdaCallback evaluates{.on_train_step_end = [&](RunInfo&) { model.eval(ten(), collector, crash); }};
    if (in_training) CHECK_THROWS_WITH(model.train(1, ten(), collector, evaluates), "crash");
    else CHECK_THROWS_WITH(model.eval(ten(), collector, crash), "crash");
    model.train(1, ten(), collector);  // 3 steps
    const std::vector<std::string> recorded = tags(io::EventFile(path_of(folder.path, "_MS", in_training ? 1 : 0)));
    for (const char* const tag : {"1 loss/auto", "2 loss/auto", "3 loss/auto"})
      CHECK(std::ranges::count(recorded, tag) == 1);
    bool has_lineage = false;
    for (const auto& file : fs::directory_iterator(folder.path))
      if (const std::string path = file.path(); path.ends_with("_lineage"))
        has_lineage |= find(io::EventFile(path), io::EventContent::train_lineage) != nullptr;
    CHECK(has_lineage);
  }
}

TEST_CASE("summary collector: tensors of a training until it is stopped, of more steps than a long counts") {
  struct Stop {
    void on_train_step_end(RunInfo& run) {
      if (run.cur_step_num == 4) run.request_stop();
    }
  };
  const Folder folder;
  Net net;
  auto model = make_model(net);
  SummaryCollector collector(folder.path, {.collect_freq = 100, .collect_tensor_freq = 2});
  model.train(std::numeric_limits<long>::max(), ten(), collector, Stop{});
  CHECK(detail::tensor_steps(detail::count_steps(std::numeric_limits<long>::max(), 3), 100, 2).has(2));
  CHECK(detail::count_steps(4, 3) == 12);
}

TEST_CASE("summary collector: a checkpoint of the same run is in its lineage") {
  const Folder folder;
  Net net;
  auto model = make_model(net);
  model.train(1, ten(), ModelCheckpoint("net", folder.path), SummaryCollector(folder / "s"));
  const io::EventFile lineage(path_of(folder / "s", "_lineage"));
  const io::Event* const training = find(lineage, io::EventContent::train_lineage);
  REQUIRE(training);
  CHECK(has(training->message, text("{\"ckpt\": \"", fs::canonical(folder.path).string(), "/net-1_3.safetensors\"}")));
}
namespace {
struct Looked : nn::Cell<Looked> {
  nn::Dense<3, 8> fc1;
  nn::Dense<8, 2> fc2;
  constexpr auto construct(auto x) const {
    auto a = relu(fc1(x));
    scalar_summary("mean", reduce_mean(a));
    histogram_summary("fc1.weight", value_in(x, fc1.weight));
    tensor_summary("a", a);
    return fc2(a);
  }
};
}  // namespace

TEST_CASE("summary operators: both modes record the same, and the weights keep their bits") {
  std::string files[2], parameters[3];
  for (const int run : {0, 1, 2}) {
    const ContextScope scope({.mode = run == 1 ? Mode::pynative : Mode::graph, .seed = 5});
    const Folder folder;
    Looked net;
    auto model = make_model(net);
    if (run == 2) model.fit(2, ten(), ten());
    else
      model.fit(2, ten(), ten(),
                SummaryCollector(folder.path, {.collect_freq = 4,
                                               .collect_specified_data = {.collect_metric = true},
                                               .keep_default_action = false,
                                               .collect_tensor_freq = 3}));
    parameters[run] = bits(net);
    if (run == 2) continue;
    const io::EventFile file(path_of(folder.path, "_MS"));
    CHECK(tags(file) == std::vector<std::string>{"1 loss/auto", "1 mean", "1 fc1.weight", "1 a", "3 a", "4 loss/auto",
                                                 "4 mean", "4 fc1.weight", "6 a"});
    for (const io::Event& event : file.events())
      for (const io::EventValue& value : event.values) {
        io::Event one;
        one.step = event.step, one.values = {value};
        files[run] += io::mindspore_event_message(one);
      }
  }
  CHECK(files[0] == files[1]);
  CHECK(parameters[0] == parameters[1]);
  CHECK(parameters[0] == parameters[2]);
}
#else
TEST_CASE("train/callback/summary_collector") { support::say_skipped("protozero is not installed"); }
#endif
