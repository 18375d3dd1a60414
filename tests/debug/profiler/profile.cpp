// flags: -DTENON_OBSERVE
// What a profiler makes of steps and operations, with moments that are made up, so that all numbers are exact.
#include <doctest/doctest.h>

#include <thread>

#include <tenon/debug/profiler/csv.hpp>
#include <tenon/debug/profiler/options.hpp>
#include <tenon/debug/profiler/table.hpp>
#include <tenon/debug/profiler/timeline.hpp>

#include "../../support/json.hpp"

using namespace tenon;
using debug::Ticks, debug::detail::ThreadRecorder;

namespace {

/// A convolution of 1000 floating-point operations for each sample, and an operator that counts none.
const OperatorInfo convolution = [] {
  OperatorInfo info;
  info.name = "Conv2D";
  info.flops = [](const OperandTypes&, const TensorType&, const Attributes&, long n) { return 1000. * double(n); };
  return info;
}();
const OperatorInfo other = [] {
  OperatorInfo info;
  info.name = "ReLU";
  return info;
}();
Operation operation(std::string_view name, const OperatorInfo& op, StepPart part, long n) {
  Operation made;
  made.name = name;
  made.type = op.name;
  made.op = &op;
  made.part = part;
  made.n = n;
  made.location.file = "/source/net.cpp";
  made.location.line = 12;
  made.result = TensorType{{-1, 25}, 2, Dtype::float32};
  made.operands.type[0] = made.result;
  made.operands.count = 1;
  return made;
}
NetworkStep step(StepKind kind, long number, long n, double waited = 0) {
  NetworkStep made;
  made.network = "Net";
  made.kind = kind;
  made.number = number;
  made.n = n;
  made.waited = waited;
  return made;
}
constexpr std::string_view conv = "Default/network-Net/conv1-Conv2d/Conv2D-op0", relu = "Default/network-Net/ReLU-op1",
                           conv_gradient = "Gradients/Default/network-Net/conv1-Conv2d/Grad_Conv2D/Conv2D-op0",
                           update = "Default/optimizer/conv1.weight/ReLU-op0";

void run(ThreadRecorder& recorder, const Operation& operation, Ticks begin, Ticks end) {
  recorder.before(operation, begin);
  recorder.after(operation, end);
}
/// A step of 450 us from `begin` on: two tiles of a convolution, a relu, the gradient, an update; 32 samples.
void train(ThreadRecorder& recorder, long number, Ticks begin, double waited) {
  const NetworkStep now = step(StepKind::train, number, 32, waited);
  recorder.begin_step(now, begin);
  run(recorder, operation(conv, convolution, StepPart::forward, 16), begin + 10, begin + 60);
  run(recorder, operation(conv, convolution, StepPart::forward, 16), begin + 60, begin + 110);
  run(recorder, operation(relu, other, StepPart::forward, 32), begin + 110, begin + 130);
  run(recorder, operation(conv_gradient, convolution, StepPart::gradient, 32), begin + 130, begin + 330);
  run(recorder, operation(update, other, StepPart::optimizer, 1), begin + 340, begin + 440);
  recorder.end_step(now, begin + 450);
}
/// Two steps of training with 50 us between, 30 of them for data, and one of prediction 100 us later.
void record(ThreadRecorder& recorder) {
  train(recorder, 7, 1000, 0);
  train(recorder, 8, 1500, 30e-6);
  recorder.begin_step(step(StepKind::predict, 0, 4), 2050);
  run(recorder, operation(conv, convolution, StepPart::forward, 4), 2060, 2080);
  recorder.end_step(step(StepKind::predict, 0, 4), 2100);
}
debug::Profile profile_of(const ThreadRecorder& recorder) {
  debug::detail::ProfileSum sum(1000, 1e-6);
  sum.add(recorder);
  return sum.finish();
}
debug::Profile example() {
  const ContextScope one_thread({.num_threads = 1});
  ThreadRecorder recorder({});
  record(recorder);
  return profile_of(recorder);
}
const debug::PeakRates peak{
    "AVX-512", 1e9, {{"L1", 4096, 10e9}, {"L2", 1 << 20, 5e9}, {"L3", 1 << 24, 2e9}, {"memory", 0, 1e9}}};
}  // namespace

TEST_CASE("sums of steps and operations, tiles are parts of a call") {
  const debug::Profile p = example();
  REQUIRE(p.groups.size() == 3);
  const debug::StepProfile& training = p.groups[1];
  CHECK(training.kind == StepKind::train);
  CHECK(training.steps == 2);
  CHECK(training.samples == 64);
  CHECK(training.inside == doctest::Approx(900e-6));
  CHECK(training.between == doctest::Approx(50e-6));
  CHECK(training.waited == doctest::Approx(30e-6));
  CHECK(training.part[0] == doctest::Approx(240e-6));
  CHECK(training.part[1] == doctest::Approx(400e-6));
  CHECK(training.part[2] == doctest::Approx(200e-6));
  CHECK(p.groups[2].kind == StepKind::predict);
  CHECK(p.groups[2].between == doctest::Approx(100e-6));
  REQUIRE(p.operators.size() == 5);
  CHECK(p.operators[0].operation.name == conv_gradient);
  const debug::OperatorProfile& forward = p.operators[1];
  CHECK(forward.operation.name == conv);
  CHECK(forward.calls == 2);
  CHECK(forward.runs == 4);
  CHECK(forward.seconds == doctest::Approx(200e-6));
  CHECK(forward.least == doctest::Approx(50e-6));
  CHECK(forward.flops == 64'000);
  CHECK(forward.bytes == 64 * 2 * 25 * 4);
  CHECK(p.operators[4].group == 2);
}

TEST_CASE("tables as files: MindSpore's columns") {
  const debug::Profile p = example();
  CHECK(debug::op_type_csv(p) ==
        "op_type,type_occurrences,execution_frequency(per-step),total_compute_time,avg_time(ms),percent\n"
        "Conv2D,5,3.00,0.620000,0.124000,0.720930\n"
        "ReLU,4,2.00,0.240000,0.060000,0.279070\n");
  const std::string detail = debug::op_detail_csv(p, peak, 42);
  CHECK(detail.find("op_side,op_type,op_name,full_op_name,op_occurrences,op_total_time(ms),op_avg_time(ms),"
                    "total_proportion,subgraph,pid,") == 0);
  // 3 calls of both kinds of steps in 220 us, 68 samples
  CHECK(detail.find("Host,Conv2D,Conv2D-op0,Default/network-Net/conv1-Conv2d/Conv2D-op0,3,0.220000,0.073333,0.255814,"
                    "Default,42,forward,/source/net.cpp:12,5,0.309,0.062,0.3091,FMA\n") != detail.npos);
  CHECK(detail.find(",Gradients,42,gradient,") != detail.npos);
  // in units of 10 ns; the mean is that of the second one, as MindSpore leaves the first one out
  CHECK(debug::step_trace_csv(p) ==
        "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n"
        "8,0,45000,45000,1000,33000,1000,32000,12000\n"
        "9,45000,95000,50000,51000,83000,6000,32000,12000\n"
        "-,45000,95000,50000,51000,83000,6000,32000,12000\n");
  CHECK(debug::pipeline_csv(p).find("0,Dataset of Net train,,,,,,,,,2,0.030000,0.015000,0.031579\n") !=
        std::string::npos);
  CHECK(debug::op_timestamp_text(p).find(text(conv, ";Ops;10.000,50.000 60.000,50.000 510.000,50.000 560.000,50.000 "
                                                    "1060.000,20.000 \n")) != std::string::npos);
  CHECK(io::csv_field("Block<4, 2>\"") == "\"Block<4, 2>\"\"\"");
}

TEST_CASE("the points of the step trace by name") {
  debug::detail::EventLimit limit;
  limit.fp_point = relu;
  limit.bp_point = update;
  ThreadRecorder recorder(limit);
  record(recorder);
  CHECK(debug::step_trace_csv(profile_of(recorder)).find("8,0,45000,45000,11000,44000,11000,33000,1000\n") !=
        std::string::npos);
}

TEST_CASE("the printed table") {
  const std::string table = debug::profile_text(example(), peak);
  const auto has = [&](std::string_view line) {
    CAPTURE(table);
    CHECK(table.find(text("\n", line, "\n")) != table.npos);
  };
  CHECK(table.find("Net, training in graph mode, batch size 32, ") == 0);
  has("  forward                          120.0    25.3 %  ##########");
  has("  gradient                         200.0    42.1 %  #################");
  has("  between operators                 30.0     6.3 %  ###");
  has("  waiting for data                  15.0     3.2 %  #");
  has("  callbacks and the rest            10.0     2.1 %  #");
  has("  all                              475.0   100.0 %  2,105 steps/s, 67,368 samples/s");
  has("  Conv2D                                                   2    300.0  63.2 %     0.21   0.04    21 % FMA");
  has("  conv1             Conv2D                  grad           2    200.0  42.1 %     0.16   0.03    16 % FMA   "
      "net.cpp:12");
  has("                    ReLU-op1                fwd            2     20.0   4.2 %        -   0.32     6 % L2    "
      "net.cpp:12");
  has("it reads, or reads and writes, 10.0 GB/s of L1, 5.00 GB/s of L2, 2.00 GB/s of L3, 1.00 GB/s of memory.");
  CHECK(table.find("Net, prediction in graph mode, batch size 4, ") != table.npos);
  CHECK(debug::profile_text(profile_of(ThreadRecorder({})), peak) == "The profiler has seen no step.\n");
}

TEST_CASE("the timeline: JSON, steps around their operations, at most so many bytes") {
  const debug::Profile p = example();
  const std::string written = debug::timeline_json(p, 42, 1 << 20);
  const support::Json events = support::detail::JsonReader(written).all();
  REQUIRE(events.items.size() == 3 + 3 + 1 + 11);  // names, steps, a wait, operations
  CHECK(events.items[0]["ph"].string() == "M");
  CHECK(events.items[0]["args"]["name"].string() == "Net");
  const support::Json &first = events.items[3], &second = events.items[4];
  CHECK(first["name"].string() == "training step 8");
  CHECK(first["ts"].number() == 0);
  CHECK(first["dur"].number() == 450);
  CHECK(second["name"].string() == "conv1 Conv2D");
  CHECK(second["ph"].string() == "X");
  CHECK(second["cat"].string() == "forward");
  CHECK(second["ts"].number() == 10);
  CHECK(second["dur"].number() == 50);
  CHECK(second["args"]["operands"].array()[0].string() == "float32[16, 25]");
  CHECK(second["args"]["flops"].number() == 16'000);
  CHECK(second["args"]["at"].string() == "/source/net.cpp:12");
  const std::string cut = debug::timeline_json(p, 42, 2000);
  CHECK(cut.size() <= 2000);
  CHECK(support::detail::JsonReader(cut).all().items.size() > 3);
  const support::Json summary = support::detail::JsonReader(debug::timeline_summary_json(p)).all();
  CHECK(summary["total_time"].number() == doctest::Approx(0.86));
  CHECK(summary["num_of_ops"].number() == 5);
  CHECK(summary["op_exe_times"].number() == 11);
}

TEST_CASE("what is kept does not grow with the run: sums go on, events end") {
  debug::detail::EventLimit limit;
  limit.operators = 7, limit.steps = 1;
  ThreadRecorder recorder(limit);
  for (long i = 0; i < 100; ++i) train(recorder, i, 1000 + 500 * i, 0);
  CHECK(recorder.operator_events().size() == 7);
  CHECK(recorder.step_events().size() == 1);
  CHECK(recorder.records().size() == 4);
  CHECK(profile_of(recorder).left_out == 493);
  CHECK(profile_of(recorder).groups[1].steps == 100);
}

TEST_CASE("an observer that is named twice counts once, and steps in steps belong to the outer one") {
  ThreadRecorder recorder({});
  const NetworkStep outer = step(StepKind::train, 0, 1), inner = step(StepKind::call, 0, 1);
  const Operation one = operation(conv, convolution, StepPart::forward, 1);
  recorder.begin_step(outer, 0);
  recorder.begin_step(inner, 10);
  recorder.before(one, 20);
  recorder.before(one, 21);
  recorder.after(one, 31);
  recorder.after(one, 35);
  recorder.end_step(inner, 40);
  recorder.end_step(outer, 50);
  const debug::Profile p = profile_of(recorder);
  REQUIRE(p.groups.size() == 2);
  CHECK(p.groups[1].inside == doctest::Approx(50e-6));
  REQUIRE(p.operators.size() == 1);
  CHECK(p.operators[0].runs == 1);
  CHECK(p.operators[0].seconds == doctest::Approx(10e-6));
}

TEST_CASE("the time of an operation with bodies is without that of their operations") {
  ThreadRecorder recorder({});
  const Operation loop = operation(conv_gradient, convolution, StepPart::forward, 4);
  const Operation inside = operation(conv, convolution, StepPart::forward, 4);
  const NetworkStep now = step(StepKind::train, 0, 4);
  recorder.begin_step(now, 0);
  recorder.before(loop, 0);
  for (const Ticks begin : {10, 30}) recorder.before(inside, begin), recorder.after(inside, begin + 15);
  recorder.after(loop, 50);
  recorder.end_step(now, 60);
  REQUIRE(recorder.records().size() == 2);
  CHECK(recorder.records()[0].total == 30);  // that which ended first
  CHECK(recorder.records()[0].runs == 2);
  CHECK(recorder.records()[1].total == 20);
}

TEST_CASE("tiles of several threads: a call once, the time of the step in sums, rows of their own in the timeline") {
  const ContextScope two_threads({.num_threads = 2});
  ThreadRecorder recorder({});
  const NetworkStep now = step(StepKind::train, 0, 32);
  const auto tile = [](Ticks begin, Ticks end, int worker) {
    OperationRun run;
    run.begin = begin, run.end = end, run.share = (end - begin) / 2, run.n = 16, run.worker = worker;
    return run;
  };
  // from 10 to 110 both threads are busy; then they share a relu
  const OperationRun forward[]{tile(10, 60, 0), tile(20, 80, 1)}, backward[]{tile(60, 110, 0), tile(80, 120, 1)};
  recorder.begin_step(now, 0);
  for (int twice = 0; twice < 2; ++twice) recorder.ran(operation(conv, convolution, StepPart::forward, 32), forward);
  recorder.ran(operation(conv_gradient, convolution, StepPart::gradient, 32), backward);
  run(recorder, operation(relu, other, StepPart::forward, 32), 120, 130);
  recorder.end_step(now, 140);
  const debug::Profile p = profile_of(recorder);
  REQUIRE(p.groups.size() == 2);
  CHECK(p.groups[1].part[0] == doctest::Approx(65e-6));
  CHECK(p.groups[1].part[1] == doctest::Approx(45e-6));
  REQUIRE(p.operators.size() == 3);
  const debug::OperatorProfile& first = p.operators[0];
  CHECK(first.operation.name == conv);
  CHECK(first.calls == 1);
  CHECK(first.runs == 2);
  CHECK(first.alone == 2);
  CHECK(first.seconds == doctest::Approx(55e-6));
  CHECK(first.least == doctest::Approx(50e-6));
  CHECK(first.most == doctest::Approx(60e-6));
  CHECK(first.flops == 32'000);
  CHECK(p.operators[2].alone == 0);
  // what a thread touches: a whole tile, a half of the relu
  CHECK(debug::detail::bytes_of_thread(first, 2) == 16 * 2 * 25 * 4);
  CHECK(debug::detail::bytes_of_thread(p.operators[2], 2) == 32 * 2 * 25 * 4 / 2);
  const debug::detail::StepEvent& event = p.threads[0].steps[0];
  CHECK(event.fp == 10);
  CHECK(event.bp == 120);
  const support::Json events = support::detail::JsonReader(debug::timeline_json(p, 42, 1 << 20)).all();
  REQUIRE(events.items.size() == 3 + 2 + 1 + 5);  // names of two rows, a step, runs
  CHECK(events.items[3]["args"]["name"].string() == "operators, worker 1");
  const auto row_at = [&](double microsecond) {
    for (const support::Json& one : events.items)
      if (one["ph"].string() == "X" && one["cat"].string() != "step" && one["ts"].number() == microsecond - 1000)
        return one["tid"].number();
    return -1.;
  };
  for (const double own : {10, 60, 120}) CHECK(row_at(own) == 0);
  for (const double of_worker : {20, 80}) CHECK(row_at(of_worker) == 1);
  CHECK(support::detail::JsonReader(debug::timeline_summary_json(p)).all()["num_of_streams"].number() == 2);
}

TEST_CASE("threads that end leave their recorder to others") {
  debug::detail::Recorders recorders;
  for (int i = 0; i < 20; ++i)
    std::thread([&] {
      recorders.begin_step(step(StepKind::predict, i, 1));
      const Operation one = operation(conv, convolution, StepPart::forward, 1);
      recorders.before(one);
      recorders.after(one);
      recorders.end_step(step(StepKind::predict, i, 1));
    }).join();
  int count = 0;
  long steps = 0;
  recorders.each([&](const ThreadRecorder& recorder) {
    ++count;
    steps += recorder.groups()[1].steps;
  });
  CHECK(count == 1);
  CHECK(steps == 20);
}

TEST_CASE("paths of cells for people") {
  CHECK(debug::detail::cell_within_network(
            "Default/network-Gpt/blocks-CellList/0-Block/attention-MultiHeadAttention/MatMul-op0") ==
        "blocks.0.attention");
  CHECK(debug::detail::cell_within_network(conv_gradient) == "conv1");
  CHECK(debug::detail::cell_within_network(update) == "conv1.weight");
  CHECK(debug::detail::cell_within_network(relu).empty());
  CHECK(debug::detail::own_name(relu) == "ReLU-op1");
  CHECK(debug::detail::own_name(conv) == "Conv2D");
  CHECK(debug::detail::grouped(1234567) == "1,234,567");
}

TEST_CASE("profiling_options: traces, JSON, and what is neither") {
  CHECK(debug::profiler_options_of("training_trace:task_trace").op_time);
  const auto options = debug::profiler_options_of(
      R"({"result_path":"/data/output","training_trace":"on", "task_trace" : "off","fp_point":"a\/b"})");
  CHECK(options.output_path == "/data/output");
  CHECK(!options.op_time);
  CHECK(options.fp_point == "a/b");
  CHECK(debug::profiler_options_of("{}").op_time);
  const auto refused = [](std::string_view text, const char* why) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(debug::profiler_options_of(text), doctest::Contains(why), ValueError);
  };
  refused(R"({"training_trace":"yes"})", "training_trace must be on or off, got 'yes'");
  refused(R"({"outptu":"x"})", "there is no option 'outptu'. Did you mean 'output'?");
  refused(R"({"output":""})", "must be a folder");
  for (const char* broken :
       {"{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1}", "{\"a\":\"b", "{\"output\":\"b\"", "{\"output\":\"b\",}",
        "{\"output\":\"b\"}}", "{\"output\":\"\\u0041\"}", "{\"output\":\"\\"})
    refused(broken, "it needs ");
}
