// print: MindSpore's texts, the order of the source, and the same bits with and without it, in both modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include <tenon/ops/print.hpp>
#include <tenon/tenon.hpp>

#include "../support/printed.hpp"
#include "../support/shared.hpp"

using namespace tenon;

namespace {
template <class F>
std::string printed(F f) {
  return support::printed_to(stdout, f);
}
/// What f(mode) prints, which is the same in both modes.
template <class F>
std::string printed_in_both(F f) {
  std::string text[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    text[mode == Mode::pynative] = printed(f);
  }
  set_context({.mode = Mode::graph});
  CHECK(text[0] == text[1]);
  return text[0];
}
}  // namespace

struct PrintDemo : nn::Cell<PrintDemo> {
  constexpr auto construct(auto x, auto y) const {
    print("print Tensor x and Tensor y:", x, y);
    return x;
  }
};
TEST_CASE("seed 002: PrintDemo") {
  const auto x = Tensor<int, Shape<2, 1>>::full(1);
  const auto y = Tensor<int, Shape<2, 2>>::full(1);
  CHECK(printed_in_both([&] { CHECK(bit_equal(PrintDemo{}(x, y), x)); }) == R"(print Tensor x and Tensor y:
Tensor(shape=[2, 1], dtype=Int32, value=
[[1]
 [1]])
Tensor(shape=[2, 2], dtype=Int32, value=
[[1 1]
 [1 1]])
)");
}

struct PrintValue : nn::Cell<PrintValue> {
  constexpr auto construct(auto x) const {
    print("value:", x);
    return x;
  }
};
namespace {
template <class... X>
void print_each(const X&... x) {
  (static_cast<void>(PrintValue{}(x)), ...);
}
/// The tensors of the session golden/console/print_op, in its order.
void print_session() {
  auto tenths = Tensor<float, Shape<2, 3, 8>>::arange();
  for (float& x : tenths.values()) x *= 0.1f;
  auto thirds = Tensor<float, Shape<13>>::arange();
  for (float& x : thirds.values()) x /= 3;
  const Tensor<float16, Shape<2, 3>> halves{{2.041f, -2.5566f, 0.41821f}, {-0.56787f, -0.45264f, -0.21558f}};
  const Tensor doubles{{{-2.01998613, -0.231932378}, {-0.865213076, 3.32299952}},
                       {{0.225786613, -0.352630794}, {-0.281287418, -0.668046346}}};
  print_each(Tensor({{1}, {1}}), Tensor(3), Tensor(2.5f), Tensor{1.5f, -2.25f, 1e-8f, 1e20f}, Tensor{true, false},
             Tensor(true), halves, doubles, Tensor<std::int64_t, Shape<30>>::arange(),
             Tensor<std::int8_t, Shape<7, 8>>::arange(), Tensor<float, Shape<1001>>::arange(),
             Tensor{NAN, INFINITY, -INFINITY, 0.0f, -0.0f}, Tensor<std::uint8_t, Shape<2>>(0, 255),
             Tensor<std::uint64_t, Shape<2>>(9223372036854775808u, 5u), Tensor<float, Shape<dyn, 3>>::empty(0),
             Tensor<bfloat16, Shape<2>>(1.5f, 2.5f), Tensor({{true, false}, {false, true}}), tenths,
             Tensor{100000.0, 1.0, 0.001}, thirds);
}
void replace(std::string& text, std::string_view line, std::string_view by) {
  const auto at = text.find("\n" + std::string(line) + "\n");
  REQUIRE(at != text.npos);
  text.replace(at + 1, line.size(), by);
}
}  // namespace
TEST_CASE("what MindSpore printed in a graph, but for numbers, nothing, and bfloat16") {
  if (!support::have_shared("golden/console")) return;
  std::ifstream file(support::shared_folder() + "/golden/console/print_op.graph.stdout.txt");
  std::string golden{std::istreambuf_iterator<char>(file), {}};
  replace(golden, "3", "Tensor(shape=[], dtype=Int32, value=3)");
  replace(golden, "2.5", "Tensor(shape=[], dtype=Float32, value=2.5)");
  replace(golden, "1", "Tensor(shape=[], dtype=Bool, value=True)");
  replace(golden, "-9.74457e+13", "Tensor(shape=[0, 3], dtype=Float32, value=\n)");  // it read behind the end
  replace(golden, "ERR BFloat16 RuntimeError ", "Tensor(shape=[2], dtype=BFloat16, value=[1.5 2.5])");
  CHECK(printed_in_both(print_session) == golden);
}

TEST_CASE("texts and tensors in any order, outside of networks too") {
  const Tensor x{1, 2};
  const std::string text = "a text that is no literal";
  const std::string shown = "Tensor(shape=[2], dtype=Int32, value=[1 2])\n";
  CHECK(printed([&] { print(x); }) == shown);
  CHECK(printed([&] { print(x, "behind", "it"); }) == shown + "behind\nit\n");
  CHECK(printed([&] { print("", text, x, "between", x, x, ""); }) ==
        "\n" + text + "\n" + shown + "between\n" + shown + shown + "\n");
  CHECK(printed([&] {
          print("two batches", Tensor<int, Shape<dyn>>::full(1, 1), Tensor<int, Shape<dyn>>::full(2, 2));
        }) == "two batches\nTensor(shape=[1], dtype=Int32, value=[1])\nTensor(shape=[2], dtype=Int32, value=[2 2])\n");
  CHECK(printed([&] { print("denormals are there", Tensor<float, Shape<1>>::full(1e-40f)); }) ==
        "denormals are there\nTensor(shape=[1], dtype=Float32, value=[ 9.99994610e-41])\n");
}

struct Params : nn::Cell<Params> {
  Parameter<float, Shape<1, 2>, nn::Constant{0.5}> weight;
  constexpr auto construct(auto x) const {
    for (const char* name : {"first", "second"}) print(name, weight, x);
    return x + weight;
  }
};
TEST_CASE("parameters, and a loop in construct") {
  const std::string once = "\nTensor(shape=[1, 2], dtype=Float32, value=\n[[ 5.00000000e-01  5.00000000e-01]])\n"
                           "Tensor(shape=[1, 2], dtype=Float32, value=\n[[ 1.00000000e+00  2.00000000e+00]])\n";
  CHECK(printed_in_both([] { Params{}(Tensor({{1.0f, 2.0f}})); }) == "first" + once + "second" + once);
}

// What a graph fuses, tiles, lays out in blocks, and updates early; printed late and out of the order of computation.
template <bool prints>
struct ConvNet : nn::Cell<ConvNet<prints>> {
  nn::Conv2d<1, 8, 3> conv1;
  nn::BatchNorm2d<8> norm;
  nn::Conv2d<8, 8, 3> conv2;
  nn::Dense<8 * 4 * 4, 4> fc;
  constexpr auto construct(auto x) const {
    auto a = conv1(x);
    auto b = relu(norm(a));
    auto c = max_pool2d<2>(relu(conv2(b)));
    auto d = fc(flatten(c));
    if constexpr (prints) {
      print("scores", d);
      print("second convolution, pooled", c, "first convolution", a);
      print("input", x);
      print("statistics before the step", norm.moving_mean, d);
      print("activated", b, "weight", fc.weight);
      print("label-like", argmax(d), exp(d) * 2.0f);
    }
    return d;
  }
};
namespace {
auto images() {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Random random(3);
  for (int sample = 0; sample < 96; ++sample) {
    for (int k = 0; k < 64; ++k) x.push_back(static_cast<float>(random.word() * 0x1p-31 - 1));
    y.push_back(sample % 4);
  }
  return dataset::from_arrays(dataset::column<Shape<1, 8, 8>>(std::move(x)), dataset::column<Shape<>>(std::move(y))) |
         dataset::batch(48);
}
struct Trained {
  std::string weights, printed;
  std::vector<double> losses;
};
struct Losses {
  std::vector<double>& all;
  void step_end(RunInfo& run) { all.push_back(run.loss()); }
};
template <bool prints>
Trained train(Mode mode, int threads) {
  set_context({.mode = mode, .num_threads = threads});
  Trained result;
  ConvNet<prints> net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  result.printed = printed([&] { model.train(2, images(), Losses{result.losses}); });
  const ParameterList list(net);
  result.weights.assign(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
  set_context({.mode = Mode::graph, .num_threads = 1});
  return result;
}
long lines_with(const std::string& text, std::string_view wanted) {
  long count = 0;
  for (auto at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) ++count;
  return count;
}
}  // namespace
TEST_CASE("training: the same texts in both modes, the weights of a network that does not print") {
  const Trained plain = train<false>(Mode::graph, 1), graph = train<true>(Mode::graph, 1),
                pynative = train<true>(Mode::pynative, 1), threads = train<true>(Mode::graph, 3);
  CHECK(plain.printed.empty());
  CHECK(graph.losses.back() < graph.losses.front());
  CHECK(graph.weights == plain.weights);
  CHECK(graph.weights == pynative.weights);
  CHECK(graph.weights == threads.weights);
  CHECK(graph.losses == plain.losses);
  CHECK(graph.printed == pynative.printed);
  CHECK(graph.printed == threads.printed);
  // whole batches, each once per step, in the order of the source
  CHECK(lines_with(graph.printed, "Tensor(shape=[48, 8, 8, 8], dtype=Float32, value=\n") == 4 * 2);
  std::size_t at = 0;
  for (int step = 0; step < 4; ++step)
    for (const char* text : {"scores\n", "second convolution, pooled\n", "first convolution\n", "input\n",
                             "statistics before the step\n", "activated\n", "weight\n", "label-like\n"}) {
      at = graph.printed.find(text, at);
      REQUIRE(at != graph.printed.npos);
    }
}
TEST_CASE("frozen layers are printed, too; a batch of one; evaluation") {
  ConvNet<true> net;
  net.conv1.requires_grad(false);
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
  CHECK(lines_with(printed([&] { model.train(1, images()); }), "first convolution") == 2);
  CHECK(lines_with(printed([&] { model.predict(Tensor<float, Shape<dyn, 1, 8, 8>>::full(1, 1)); }), "scores") == 1);
}

struct Tiles : nn::Cell<Tiles> {
  nn::Conv2d<1, 8, 3> conv1;
  nn::Conv2d<8, 8, 3> conv2;
  nn::Conv2d<8, 8, 3> conv3;
  constexpr auto construct(auto x) const {
    auto a = max_pool2d<2>(relu(conv3(relu(conv2(relu(conv1(x)))))));
    print("pooled", a);
    print("input", x);
    return relu(a * 2.0f);
  }
};
TEST_CASE("a graph that runs tile by tile prints whole batches in the order of the source") {
  using Graph = Compiled<detail::Forward<Tiles, TypeKey<Dtype::float32, dyn, 1, 8, 8>>>;
  static_assert(Graph::group_choice.count > 0);
  const auto x = Tensor<float, Shape<dyn, 1, 8, 8>>::full(1, 48);
  const std::string text = printed_in_both([&] { Tiles{}(x); });
  CHECK(text.starts_with("pooled\nTensor(shape=[48, 8, 4, 4], dtype=Float32, value=\n"));
  CHECK(text.find("\ninput\nTensor(shape=[48, 1, 8, 8], dtype=Float32, value=\n[[[[ 1.0") != text.npos);
}

TEST_CASE("gradients pass by") {
  const auto f = [](auto x) {
    auto y = x * x;
    print("square", y);
    return y;
  };
  const Tensor x = Tensor<double, Shape<>>::full(3.0);
  const std::string once = "square\nTensor(shape=[], dtype=Float64, value=9)\n";
  CHECK(printed([&] { CHECK(grad(f)(x).item() == 6); }) == once);
  CHECK(printed([&] { CHECK(jit(grad(f))(x).item() == 6); }) == once);
}
