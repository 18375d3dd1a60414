// The founding documents' settings in C++: modes, the switch between them, devices, an operator in graph mode, several
// processes, and looking into a program.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include <tenon/core/context/parallel.hpp>
#include <tenon/core/tensor/compare.hpp>
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/ops/reshape.hpp>

#include "../support/printed.hpp"
#include "../train/small.hpp"

using namespace tenon;

namespace {
/// Writes down what a user who looks into construct sees.
struct Looked : nn::Cell<Looked> {
  nn::Dense<2, 2> fc;
  static inline std::vector<float> seen{};
  constexpr auto construct(auto x) const {
    const auto y = fc(x);
    if (!std::is_constant_evaluated())
      if constexpr (requires { y.values(); }) seen.push_back(y.values()[0]);
    return y * 2;
  }
};
struct Expand : nn::Cell<Expand> {
  constexpr auto construct(auto x) const { return ops::expand_dims<0>(x); }
};
std::string refused(const ContextChange& change) {
  try {
    set_context(change);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("the mode is selected; without a selection it is graph mode") {
  CHECK(get_context().mode == Mode::graph);
  const ContextScope scope({});
  set_context({.mode = Mode::pynative});
  CHECK(get_context("mode") == "pynative");
  set_context({.mode = Mode::graph});
  CHECK(get_context("mode") == "graph");
}

TEST_CASE("a convolution runs in graph mode, the mode is switched, it runs again") {
  const ContextScope scope({});
  set_context({.mode = Mode::graph, .device_target = "CPU"});
  const nn::Conv2d<3, 4, 3, nn::Conv2dConfig{}, nn::default_weight, nn::Zero{}> conv;
  const auto input_data = Tensor<float, Shape<1, 3, 5, 5>>::full(1);
  const auto graph = conv(input_data);
  set_context({.mode = Mode::pynative});
  const auto pynative = conv(input_data);
  set_context({.mode = Mode::graph});
  CHECK(bit_equal(graph, pynative));
  CHECK(bit_equal(graph, conv(input_data)));
  CHECK(shape_text(graph.view().shape()) == "[1, 4, 5, 5]");
  double sum = 0;  // an inner pixel of ones is the sum of its channel's weights
  for (const float w : conv.weight.values().first(27)) sum += double(w);
  CHECK(graph.data()[12] == doctest::Approx(sum));
}

TEST_CASE("a device that is not there is refused by its name, and nothing has changed") {
  const ContextScope scope({});
  const std::string ascend = refused({.device_target = "Ascend", .device_id = 6});
  CHECK(has(ascend, "'Ascend'"));
  CHECK(has(ascend, "'CPU'"));
  CHECK(get_context().device_target == "CPU");
  CHECK(get_context().device_id == 0);
  CHECK(has(refused({.device_target = "GPU"}), "'GPU'"));
  CHECK(has(refused({.device_target = "NPU"}), "'CPU', 'GPU', 'Ascend'"));
}

TEST_CASE("a device id is 0 to 4095, and has no effect on the CPU") {
  const ContextScope scope({});
  Expand expand;
  const Tensor x{{2, 2}, {2, 2}};
  const auto before = expand(x);
  for (const int id : {0, 6, 4095}) {
    set_context({.device_id = id});
    CHECK(get_context().device_id == id);
    CHECK(bit_equal(expand(x), before));
  }
  for (const int id : {-1, 4096}) CHECK(has(refused({.device_id = id}), "0 .. 4095"));
}

TEST_CASE("expand_dims in graph mode: what was wrong is the device's name, not the mode") {
  const ContextScope scope({});
  const std::string error = refused({.mode = Mode::pynative, .device_target = "ascend"});
  CHECK(has(error, "'ascend'"));
  CHECK(has(error, "Did you mean 'Ascend'?"));
  CHECK(get_context().mode == Mode::graph);
  const Tensor input_tensor({{2.0f, 2.0f}, {2.0f, 2.0f}});
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    for (const auto& output : {ops::expand_dims<0>(input_tensor), Expand{}(input_tensor)}) {
      CHECK(shape_text(output.view().shape()) == "[1, 2, 2]");
      for (const float element : output.values()) CHECK(element == 2);
    }
  }
}

TEST_CASE("both modes train the same weights, and so have the same accuracy") {
  std::string weights[2];
  double accuracy[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 3});
    const auto data = small::samples(64) | dataset::batch(8);
    small::Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
                nn::Accuracy{}};
    model.train(5, data);
    weights[int(mode)] = small::bits(net);
    accuracy[int(mode)] = model.eval(data)["accuracy"];
  }
  CHECK(weights[0] == weights[1]);
  CHECK(accuracy[0] == accuracy[1]);
  CHECK(accuracy[0] > 0.8);
}

TEST_CASE("construct shows its values in PyNative mode; in graph mode there is the result") {
  const ContextScope scope({});
  Looked net;
  const auto x = Tensor<float, Shape<dyn, 2>>::full(1, 1);
  set_context({.mode = Mode::graph});
  const auto graph = net(x);
  CHECK(Looked::seen.empty());
  set_context({.mode = Mode::pynative});
  const auto pynative = net(x);
  REQUIRE(Looked::seen.size() == 1);
  CHECK(Looked::seen[0] * 2 == pynative.data()[0]);
  CHECK(bit_equal(graph, pynative));
}

namespace {
constexpr int id_seen = 42, id_ignored = 43;
/// How a program ends that has the variable DEVICE_ID: this one, once more, with the case below alone.
int run_with_device_id(const char* id) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("DEVICE_ID", id, 1);
    ::execl("/proc/self/exe", "context", "--no-skip", "--test-case=what a program sees of DEVICE_ID", nullptr);
    ::_exit(127);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
/// What is told when something is kept that does nothing here.
template <class F>
std::string told(F f) {
  return support::printed_to(stderr, f);
}
}  // namespace

TEST_CASE("what a program sees of DEVICE_ID" * doctest::skip()) {
  const char* const id = std::getenv("DEVICE_ID");
  if (!id) return;
  const bool by_environment = get_context("device_id") == id;
  set_context({.device_id = 5});  // a call counts more
  std::_Exit(get_context().device_id != 5 ? 1 : by_environment ? id_seen : id_ignored);
}

TEST_CASE("DEVICE_ID in the environment is the device_id of a program that does not set it") {
  for (const char* id : {"0", "2", "4095"}) CHECK(run_with_device_id(id) == id_seen);
  CHECK(run_with_device_id("4096") == id_ignored);
}

TEST_CASE("set_auto_parallel_context and set_ps_context come before the network, and are told to do nothing here") {
  CHECK(has(told([] { set_ps_context("enable_ps", "True"); }), "'enable_ps' is kept and does nothing"));
  CHECK(has(told([] { set_auto_parallel_context("parallel_mode", "data_parallel"); }),
            "several processes train with dist::DataParallel"));
  CHECK(get_ps_context("enable_ps") == "True");
  CHECK(get_auto_parallel_context("parallel_mode") == "data_parallel");
  small::Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  model.train(1, small::ten());  // in one process
  reset_auto_parallel_context();
  reset_ps_context();
  CHECK(get_ps_context("enable_ps") == "False");
}

TEST_CASE("profiles and saved graphs are asked for in the document's words, and told how a program gets the tools") {
  const ContextScope scope({});
  const std::string options = R"({"result_path":"output","training_trace":"on"})";
  const std::string profiling = told([&] { set_context({.enable_profiling = true, .profiling_options = options}); });
  const std::string how = "does nothing in this program, which is built without the tool for it: include "
                          "<tenon/debug/debug.hpp> before all other headers of Tenon";
  CHECK(has(profiling, "'enable_profiling' " + how));
  CHECK(!has(profiling, "profiling_options"));  // one warning for a tool
  CHECK(get_context("enable_profiling") == "True");
  CHECK(get_context("profiling_options") == options);
  CHECK(has(told([] { set_context({.save_graphs = true}); }), "'save_graphs' " + how));
  CHECK(told([] { set_context({.save_graphs = 3}); }).empty());
  CHECK(get_context("save_graphs") == "3");
}
