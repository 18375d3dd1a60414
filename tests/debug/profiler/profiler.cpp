// headers: yes
// A profiler around real steps: both modes, all kinds of steps, threads, the switch by settings, disks that fail.
#include <tenon/debug/debug.hpp>
// what it sees of them

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "../../support/json.hpp"
#include "../../support/models.hpp"
#include "../../support/printed.hpp"

using namespace tenon;
namespace fs = std::filesystem;

namespace {

const auto data = [] {
  std::vector<float> pixels(64 * 784);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = float(i * 7 % 23) / 23;
  std::vector<std::int32_t> labels(64);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i % 10);
  return dataset::from_arrays(dataset::column<Shape<1, 28, 28>>(std::move(pixels)),
                              dataset::column<Shape<>>(std::move(labels))) |
         dataset::batch(32);
};
const auto images = [](long n) { return Tensor<float, Shape<dyn, 1, 28, 28>>::full(0.5f, n); };

struct Trained {
  support::LeNet net;
  Model<support::LeNet, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}, nn::Accuracy> model{
      net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f}, nn::Accuracy{}};
  void run() {
    model.train(2, data());
    model.eval(data());
    model.predict(images(3));
  }
  std::string weights() {
    ParameterList list(net);
    return {reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes())};
  }
};

/// A folder of this test, empty.
std::string empty_folder(const std::string& name) {
  const fs::path folder = fs::current_path() / ("profiler_" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}
const std::vector<std::string> files{
    "cpu_op_type_info_0.csv",           "cpu_op_detail_info_0.csv",    "op_execute_timestamp_0.txt",
    "step_trace_raw_0_detail_time.csv", "minddata_pipeline_raw_0.csv", "memory_usage_summary_0.json",
    "memory_usage_details_0.json",      "cpu_timeline_display_0.json", "cpu_timeline_summary_0.json"};
bool has_files(const std::string& folder) {
  for (const std::string& file : files)
    if (!fs::exists(fs::path(folder) / "profiler" / file)) return false;
  return true;
}
}  // namespace

TEST_CASE("both modes: each kind of step, operators within them, weights as without") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope context({.mode = mode, .num_threads = 1, .seed = 5});
    Trained plain, watched;
    plain.run();
    debug::Profiler profiler({.output_path = empty_folder(std::string(name(mode)))});
    watched.run();
    CHECK(plain.weights() == watched.weights());
    Trained fresh;
    ParameterList(fresh.net).bind();
    CHECK(plain.weights() != fresh.weights());
    const debug::Profile p = profiler.profile();
    REQUIRE(p.groups.size() == 4);
    long calls = 0;
    for (const debug::StepProfile& group : p.groups) {
      const long steps = group.network.empty()           ? 0
                         : group.kind == StepKind::train ? 4
                         : group.kind == StepKind::eval  ? 2
                                                         : 1;
      CHECK(group.steps == steps);
      CHECK(group.operators() <= group.inside);
      CHECK((group.program != nullptr) == (steps > 0));
      if (steps == 0) continue;
      CHECK(group.network == "LeNet");
      CHECK(group.operators() > 0);
      CHECK(group.fastest <= group.median);
      CHECK((group.part[int(StepPart::gradient)] > 0) == (group.kind == StepKind::train));
    }
    for (const debug::OperatorProfile& o : p.operators) {
      CHECK(o.calls == p.groups[std::size_t(o.group)].steps);
      CHECK(o.runs >= o.calls);
      CHECK(o.least <= o.most);
      calls += o.calls;
    }
    CHECK(calls > 100);
    const std::string table = support::printed_to(stdout, [&] { profiler.analyse(); });
    CHECK(table.find(text("LeNet, training in ", mode == Mode::graph ? "graph" : "PyNative",
                          " mode, batch size 32, ")) != table.npos);
    CHECK(table.find("LeNet, prediction in ") != table.npos);
    CHECK(table.find("models.hpp:") != table.npos);
    CHECK(has_files(fs::path(profiler.folder()).parent_path().string()));
  }
}

TEST_CASE("files are what their readers read") {
  const ContextScope context({.num_threads = 1});
  const std::string folder = empty_folder("files");
  Trained trained;
  debug::Profiler profiler({.output_path = folder});
  trained.run();
  profiler.finish();
  const fs::path in = fs::path(folder) / "profiler";
  const support::Json events = support::load_json(in / "cpu_timeline_display_0.json");
  CHECK(events.array().size() > 100);
  double step_end = -1;
  for (const support::Json& event : events.array()) {
    if (event["ph"].string() != "X") continue;
    if (event["cat"].string() == "step") step_end = event["ts"].number() + event["dur"].number();
    else if (event["cat"].string() != "data") CHECK(event["ts"].number() + event["dur"].number() <= step_end + 0.002);
  }
  const support::Json summary = support::load_json(in / "memory_usage_summary_0.json");
  for (const char* key : {"capacity", "allocations", "deallocations", "peak_mem", "static_mem"})
    CHECK(summary[key].number() > 0);
  CHECK(support::load_json(in / "memory_usage_details_0.json")["graphs"].array().size() == 3);
  if (std::system("command -v python3 > /dev/null 2>&1") == 0)
    CHECK(std::system(
              text("python3 -c \"import json, glob, csv\nfor f in glob.glob('", in.string(),
                   "/*.json'): json.load(open(f))\nfor f in glob.glob('", in.string(),
                   "/*.csv'):\n  rows = list(csv.reader(open(f)))\n  assert len({len(r) for r in rows}) == 1, f\"")
                  .c_str()) == 0);
}

namespace {
/// Whether events of one row are beside or in each other to the nanosecond: Perfetto leaves out others.
bool nest(const std::vector<support::Json>& events) {
  struct Span {
    long begin, end;
  };
  const auto nanoseconds = [](const support::Json& microseconds) { return std::lround(microseconds.number() * 1e3); };
  std::map<double, std::vector<Span>> rows;
  for (const support::Json& event : events) {
    if (event["ph"].string() != "X") continue;
    const long begin = nanoseconds(event["ts"]);
    rows[event["tid"].number()].push_back({begin, begin + nanoseconds(event["dur"])});
  }
  for (auto& [row, spans] : rows) {
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
    std::vector<long> open;
    for (const Span& span : spans) {
      while (!open.empty() && open.back() <= span.begin) open.pop_back();
      if (!open.empty() && span.end > open.back()) return false;
      open.push_back(span.end);
    }
  }
  return true;
}
}  // namespace

TEST_CASE("two threads, each with tiles of its own: operations once in a step, sums within steps, rows that nest") {
  const ContextScope context({.num_threads = 2, .seed = 5});
  const std::string folder = empty_folder("tiles");
  Trained plain, watched;
  plain.run();
  debug::Profiler profiler({.output_path = folder});
  watched.run();
  CHECK(plain.weights() == watched.weights());
  const debug::Profile p = profiler.profile();
  std::size_t of_workers = 0, runs = 0;
  long counted = 0;
  for (const debug::OperatorProfile& o : p.operators) {
    CAPTURE(o.operation.name);
    CHECK(o.calls == p.groups[std::size_t(o.group)].steps);
    CHECK((o.runs == o.calls || o.runs == 2 * o.calls));
    CHECK(o.least <= o.most);
    counted += o.runs;
  }
  for (const debug::StepProfile& group : p.groups) {
    double sum = 0;
    for (const debug::OperatorProfile& o : p.operators)
      if (&p.groups[std::size_t(o.group)] == &group) sum += o.seconds;
    CHECK(sum == doctest::Approx(group.operators()));
    CHECK(group.operators() <= group.inside);
  }
  for (const debug::ThreadProfile& thread : p.threads)
    for (std::size_t i = 0; i < thread.operators.size(); ++i, ++runs) {
      const debug::detail::OperatorEvent& run = thread.operators[i];
      of_workers += run.worker == 1;
      CHECK(run.worker <= 1);
      CHECK(run.begin <= run.end);
      if (i > 0) CHECK(thread.operators[i - 1].begin <= run.begin);
    }
  CHECK(of_workers > 20);
  CHECK(long(runs) == counted);
  for (const debug::ThreadProfile& thread : p.threads)
    for (const debug::detail::StepEvent& one : thread.steps) {
      if (p.groups[std::size_t(one.group)].kind != StepKind::train) continue;
      CHECK(one.begin <= one.fp);
      CHECK(one.fp < one.bp);
      CHECK(one.bp <= one.end);
    }
  profiler.finish();
  const support::Json events = support::load_json(fs::path(folder) / "profiler" / "cpu_timeline_display_0.json");
  CHECK(nest(events.array()));
}

TEST_CASE("several threads train at one time with two threads each: each step is whole") {
  const ContextScope context({.num_threads = 2, .seed = 5});
  Trained alone;
  alone.run();
  const std::string folder = empty_folder("crowd");
  debug::Profiler profiler({.output_path = folder});
  constexpr int trainings = 3;
  Trained trained[trainings];
  std::vector<std::thread> threads;
  for (Trained& one : trained) threads.emplace_back([&] { one.run(); });
  for (int i = 0; i < 5; ++i) profiler.profile();
  for (std::thread& thread : threads) thread.join();
  for (Trained& one : trained) CHECK(one.weights() == alone.weights());
  const debug::Profile p = profiler.profile();
  for (const debug::OperatorProfile& o : p.operators) CHECK(o.calls == p.groups[std::size_t(o.group)].steps);
  for (const debug::StepProfile& group : p.groups) {
    if (group.kind == StepKind::train) CHECK(group.steps == 4 * trainings);
    CHECK(group.operators() <= group.inside);
  }
  profiler.finish();
  CHECK(nest(support::load_json(fs::path(folder) / "profiler" / "cpu_timeline_display_0.json").array()));
}

TEST_CASE("the map of memory: values that live at one time do not share a byte, and all are inside") {
  Trained trained;
  const ContextScope context({.num_threads = 2});
  debug::Profiler profiler({.output_path = empty_folder("memory")});
  trained.run();
  trained.model.predict(images(40));
  for (const debug::StepProfile& group : profiler.profile().groups) {
    if (!group.program) continue;
    const debug::MemoryMap map = debug::memory_map(*group.program, group.n, group.threads);
    CHECK(map.buffers.size() > 3);
    CHECK(map.peak() <= map.arena);
    CHECK(map.peak() > map.arena / 4);
    CHECK(map.parameters <= ParameterList(trained.net).bytes());
    for (const debug::BufferLife& one : map.buffers) {
      CAPTURE(one.name);
      CHECK(one.first <= one.last);
      CHECK(one.offset + one.bytes <= map.arena);
      for (const debug::BufferLife& other : map.buffers) {
        const bool meet = &one != &other && one.first <= other.last && other.first <= one.last;
        CAPTURE(other.name);
        if (meet) CHECK((one.offset + one.bytes <= other.offset || other.offset + other.bytes <= one.offset));
      }
    }
  }
}

TEST_CASE("one at a time; start and stop; nothing is measured in between") {
  const std::string folder = empty_folder("twice");
  CHECK_THROWS_AS(debug::Profiler({.output_path = ""}), ValueError);
  CHECK_THROWS_AS(debug::Profiler({.output_path = folder, .timeline_limit = -1}), ValueError);
  CHECK_THROWS_AS(debug::Profiler({.output_path = folder, .timeline_limit = 1000000}), ValueError);
  Trained trained;
  debug::Profiler profiler({.output_path = folder, .start_profile = false});
  CHECK_THROWS_WITH_AS(debug::Profiler(), "Do not init twice in the profiler.", RuntimeError);
  CHECK_THROWS_WITH_AS(profiler.stop(), doctest::Contains("has not started"), RuntimeError);
  const auto steps = [&] {
    const debug::Profile p = profiler.profile();
    long sum = 0;
    for (const debug::StepProfile& group : p.groups) sum += group.steps;
    return sum;
  };
  trained.model.predict(images(1));
  CHECK(steps() == 0);
  profiler.start();
  CHECK_THROWS_WITH_AS(profiler.start(), doctest::Contains("has already started"), RuntimeError);
  trained.model.predict(images(1));
  trained.model.predict(images(17));
  profiler.stop();
  trained.model.predict(images(1));
  CHECK(steps() == 2);
  profiler.finish();
  debug::Profiler next({.output_path = folder});
  CHECK_THROWS_AS(profiler.start(), RuntimeError);
}

TEST_CASE("only steps; operators outside of steps") {
  Trained trained;
  {
    debug::Profiler profiler({.output_path = empty_folder("steps"), .op_time = false});
    trained.model.predict(images(1));
    CHECK(profiler.profile().operators.empty());
    CHECK(profiler.profile().groups[1].steps == 1);
  }
  debug::Profiler profiler({.output_path = empty_folder("outside")});
  {
    const Observing scope(profiler);
    relu(Tensor{-1.0f, 2.0f});
    trained.model.predict(images(1));
  }
  const debug::Profile p = profiler.profile();
  REQUIRE(p.groups.size() == 2);
  long outside = 0;
  for (const debug::OperatorProfile& o : p.operators) {
    outside += o.group == 0 ? o.calls : 0;
    CHECK(o.runs == 1);
  }
  CHECK(outside == 1);
}

TEST_CASE("several threads predict") {
  Trained trained;
  const auto expected = trained.model.predict(images(2));
  debug::Profiler profiler({.output_path = empty_folder("threads")});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) trained.model.predict(images(2));
    });
  for (int i = 0; i < 5; ++i) profiler.profile();
  for (std::thread& thread : threads) thread.join();
  const debug::Profile p = profiler.profile();
  CHECK(p.groups[1].steps == 100);
  for (const debug::OperatorProfile& o : p.operators) CHECK(o.calls == 100);
}

TEST_CASE("a folder that goes, or cannot be made: one warning, the rest as always") {
  const ContextScope context({.num_threads = 1, .seed = 5});
  Trained plain, watched;
  plain.run();
  const std::string folder = empty_folder("gone");
  std::string warning = support::printed_to(stderr, [&] {
    debug::Profiler profiler({.output_path = folder});
    watched.run();
    fs::remove_all(folder);
    std::ofstream(folder) << "no folder any more";
    CHECK(profiler.finish().find("where a step's time goes") != std::string::npos);
  });
  CHECK(warning.find("The profiler writes no files into '") != warning.npos);
  CHECK(warning.find("[WARNING]", warning.find("[WARNING]") + 1) == warning.npos);
  CHECK(plain.weights() == watched.weights());
  warning = support::printed_to(stderr, [&] {
    debug::Profiler profiler({.output_path = folder + "/below/a/file"});
    watched.model.predict(images(1));
    profiler.finish();
  });
  CHECK(warning.find("the folder cannot be made") != warning.npos);
  CHECK(warning.find("[WARNING]", warning.find("[WARNING]") + 1) == warning.npos);
}

TEST_CASE("switched on and off by settings, without a line for it in the model's code") {
  CHECK(detail::is_here(detail::Tool::profiler));
  CHECK(detail::watches() == 0);
  const std::string folder = empty_folder("setting");
  Trained trained;
  const std::string table = support::printed_to(stderr, [&] {
    const ContextScope scope(
        {.enable_profiling = true,
         .profiling_options = text("{\"result_path\":\"", folder, "\",\"training_trace\":\"on\"}")});
    CHECK(detail::watches() == 1);
    trained.run();
  });
  CHECK(detail::watches() == 0);
  CHECK(table.find("LeNet, training in graph mode") != table.npos);  // the slowest kind of step is first
  CHECK(has_files(folder));
  // with a profiler of the program's own
  const std::string other = empty_folder("own"),
                    said = support::printed_to(stderr, [&] {
                      const ContextScope scope(
                          {.enable_profiling = true, .profiling_options = text("{\"result_path\":\"", other, "\"}")});
                      debug::Profiler own({.output_path = folder});
                      trained.run();
                      CHECK(own.profile().groups.size() == 4);
                    });
  CHECK(said.find("takes the place") != said.npos);
  CHECK(!has_files(other));
}

TEST_CASE("switched on by the environment, until the program ends") {
  if (std::getenv("PROFILING_MODE")) {  // the child
    Trained().run();
    return;
  }
  const std::string folder = empty_folder("environment");
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const int end =
      std::system(text("PROFILING_MODE=true PROFILING_OPTIONS='{\"output\":\"", folder, "\"}' ", self,
                       " --test-case='switched on by the environment*' > ", folder, "/out 2> ", folder, "/err")
                      .c_str());
  CHECK(end == 0);
  CHECK(has_files(folder));
  CHECK(io::read_file(folder + "/err").find("LeNet, training in graph mode") != std::string::npos);
  const int wrong = std::system(text("PROFILING_MODE=true PROFILING_OPTIONS='{\"output\":1}' ", self,
                                     " --test-case='switched on by the environment*' > ", folder, "/out 2> ", folder,
                                     "/err; rm -rf data")
                                    .c_str());
  CHECK(wrong == 0);
  CHECK(io::read_file(folder + "/err").find("The profiler measures without its options: ") != std::string::npos);
}

namespace {
/// Ends the program in the middle of a step.
struct Leaving {
  void before(const Operation&) {}
  void after(const Operation&) { std::exit(3); }
};
}  // namespace

TEST_CASE("exit() in a step while the environment has switched it on") {
  if (std::getenv("PROFILING_MODE")) {  // the child
    Trained trained;
    Leaving leaving;
    const Observing scope(leaving);
    trained.model.predict(images(1));
    return;
  }
  const std::string folder = empty_folder("left");
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const int end = std::system(text("PROFILING_MODE=true PROFILING_OPTIONS='{\"output\":\"", folder, "\"}' timeout 60 ",
                                   self, " --test-case='exit() in a step*' > ", folder, "/out 2> ", folder, "/err")
                                  .c_str());
  CHECK(WEXITSTATUS(end) == 3);
  CHECK(WIFEXITED(end));
  CHECK(io::read_file(folder + "/err").find("The profiler has no result: ") != std::string::npos);
}
