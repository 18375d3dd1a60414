// A GPU gathers the rows of a data set that it keeps: trainings are the CPU's, bit for bit, whatever moves the samples,
// and who looks at a row on the host sees what the CPU has.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operations.hpp>
#include <tenon/dataset/source/tensor_columns.hpp>

#include "../../dataset/support.hpp"
#include "trained.hpp"

using namespace tenon;
using namespace tenon::dataset;

namespace {
/// A network for samples of a shape, and one more for samples in two columns.
template <int In>
struct Small : nn::Cell<Small<In>> {
  nn::Dense<In, 8> fc1;
  nn::Dense<8, 3> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(flatten(x)))); }
};
struct TwoInputs : nn::Cell<TwoInputs> {
  nn::Dense<5, 8> fc1;
  nn::Dense<8, 3> fc2;
  constexpr auto construct(auto x, auto small) const { return fc2(relu(fc1(x)) * cast<float>(small)); }
};
template <class T>
std::vector<T> numbers(long count, int below, int step) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (long i = 0; i < count; ++i) values[std::size_t(i)] = T(i * step % below);
  return values;
}
template <int... E>
auto samples(long count) {
  return from_arrays(column<Shape<E...>>(numbers<float>(count * Shape<E...>::dims.count(1), 11, 7)),
                     column<Shape<>>(numbers<std::int32_t>(count, 3, 2)));
}
const nn::Momentum momentum{.learning_rate = 0.02f, .momentum = 0.9f};

#if defined(TENON_CUDA_EMULATOR)
/// How many kernels gathered rows. Whoever watches the emulator beside it is told, too.
int gathers = 0;
struct Count {
  static inline auto* const other = emulator::watch;
  Count() {
    gathers = 0;
    emulator::watch = [](const emulator::Launch& launch, bool done) {
      if (other) other(launch, done);
      gathers += done && launch.body && std::string_view(launch.body).find("GatherRows") != std::string_view::npos;
    };
  }
  ~Count() { emulator::watch = other; }
};
void check_gathers(int expected) { CHECK(gathers == expected); }
#else
struct Count {};
void check_gathers(int) {}
#endif
}  // namespace

TEST_CASE("whatever moves samples: shuffles, samplers, parts, repetitions, batches over their seams, short ones") {
  const auto check = [](const auto& data, std::size_t steps) {
    CAPTURE(type_name<decltype(data)>());
    const Count count;
    cuda_test::check_trained<Small<5>>(2, steps, data, momentum);
    check_gathers(2 * int(steps));  // one for each step of the two modes
  };
  const auto data = samples<5>(30);
  check(data | batch(8), 8);
  check(data | shuffle(30) | batch(8), 8);
  check(data | skip(3) | shuffle(7) | take(20) | repeat(2) | batch(6), 14);
  check(data | batch(7) | shuffle(5) | take(3), 6);
  check(data | sample(RandomSampler{.replacement = true, .num_samples = 20}) | rename<0, "x">() | batch<10>(), 4);
  check(split(data, {20, 10})[0] | batch(8, {.drop_remainder = true}), 4);
}

TEST_CASE("samples of any number of bytes, several columns, more samples in a batch than fit one kernel") {
  const Count count;
  cuda_test::check_trained<Small<5>>(3, 3, samples<5>(1650) | batch(1650), momentum);
  check_gathers(2 * 3 * 3);
  cuda_test::check_trained<Small<12>>(3, 3, samples<3, 4>(20) | batch(20), momentum);
  const auto two =
      from_arrays(column<Shape<5>>(numbers<float>(100, 11, 7)), column<Shape<8>>(numbers<std::uint8_t>(160, 5, 3)),
                  column<Shape<>>(numbers<std::int32_t>(20, 3, 2)));
  cuda_test::check_trained<TwoInputs>(3, 3, two | shuffle(20) | batch(20), nn::SGD{.learning_rate = 0.001f});
}

TEST_CASE("columns of a file of tensors") {
  const std::vector<float> x = numbers<float>(100, 11, 7);
  const std::vector<std::int32_t> y = numbers<std::int32_t>(20, 3, 2);
  const AnyTensor tensors[]{
      AnyTensor(Dtype::float32, std::vector<std::int64_t>{20, 5}, const_cast<float*>(x.data())),
      AnyTensor(Dtype::int32, std::vector<std::int64_t>{20}, const_cast<std::int32_t*>(y.data()))};
  const TensorColumns<Column<float, Shape<5>, "x">, Column<std::int32_t, Shape<>, "y">> data(
      nullptr, "file", [&](std::string_view name) { return &tensors[name == "y"]; });
  const Count count;
  cuda_test::check_trained<Small<5>>(3, 3, data | shuffle(20) | batch(20), momentum);
  check_gathers(6);
}

TEST_CASE("MNIST's bytes become floats on the GPU") {
  const support::Folder folder;
  std::string pixels(20 * 784, '\0'), labels(20, '\0');
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = char(i / 784 % 3 * 100 + i * 37 % 56);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = char(i % 3);
  io::write_file(folder / "train-images-idx3-ubyte", support::idx_file({20, 28, 28}, pixels));
  io::write_file(folder / "train-labels-idx1-ubyte", support::idx_file({20}, labels));
  const Count count;
  cuda_test::check_trained<Small<784>>(2, 6, Mnist(folder.path, Usage::train) | shuffle(20) | batch(8), momentum);
  check_gathers(12);
}

TEST_CASE("what changes samples, data that are too large, and rows that are read ahead come from the host") {
  const Count count;
  const auto data = samples<5>(20);
  cuda_test::check_trained<Small<5>>(1, 2, data | map<0>([](float x) { return x - 1; }) | batch(10), momentum);
  cuda_test::check_trained<Small<5>>(1, 2, data | batch(10) | prefetch(1), momentum);
#if defined(TENON_CUDA_EMULATOR)
  emulator::free_bytes = 8 * (20 * 5 * 4 + 20 * 4) - 1;
  cuda_test::check_trained<Small<5>>(1, 2, data | batch(10), momentum);
  check_gathers(0);
  emulator::free_bytes = 1 << 20;
  cuda_test::check_trained<Small<5>>(1, 2, data | batch(10), momentum);
  check_gathers(4);
#endif
}

namespace {
/// Looks at the rows: their elements, and a tensor of each that stays.
struct Look {
  std::vector<float>& seen;
  void step_end(RunInfo& run) {
    for (const AnyTensor& column : run.dataset_element())
      for (long i = 0; i < long(column.count()); ++i)
        seen.push_back(column.dtype == Dtype::float32 ? static_cast<const float*>(column.data)[i]
                                                      : float(static_cast<const std::int32_t*>(column.data)[i]));
  }
};
std::vector<float> looked_at(std::string_view target, Mode mode) {
  const ContextScope scope({.mode = mode, .device_target = target, .seed = 7});
  Small<20> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum};
  std::vector<float> seen;
  Look look{seen};
  model.train(2, samples<20>(20) | shuffle(20) | batch(8), look);
  return seen;
}
}  // namespace

TEST_CASE("callbacks see the rows") {
  const std::vector<float> expected = looked_at("CPU", Mode::graph);
  CHECK(expected.size() == 2 * 20 * 21);
  for (const Mode mode : {Mode::graph, Mode::pynative}) CHECK(looked_at("GPU", mode) == expected);
}

TEST_CASE("a callback that changes the rows changes the training") {
  struct Change {
    std::vector<double>& losses;
    void step_begin(RunInfo& run) {
      auto* const pixels = static_cast<float*>(run.dataset_element()[0].data);
      for (int i = 0; i < 20; ++i) pixels[i] *= float(run.cur_step_num);
    }
    void step_end(RunInfo& run) {
      losses.push_back(run.loss());
      static_cast<std::int32_t*>(run.dataset_element()[1].data)[0] = 99;  // too late
    }
  };
  const auto losses = [](std::string_view target, Mode mode, bool changed) {
    const ContextScope scope({.mode = mode, .device_target = target, .seed = 7});
    Small<20> net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum};
    std::vector<double> all;
    Change change{all};
    cuda_test::Losses only{all};
    if (changed) model.train(2, samples<20>(20) | shuffle(20) | batch(8), change);
    else model.train(2, samples<20>(20) | shuffle(20) | batch(8), only);
    return all;
  };
  const std::vector<double> expected = losses("CPU", Mode::graph, true);
  CHECK(expected != losses("CPU", Mode::graph, false));
  for (const Mode mode : {Mode::graph, Mode::pynative}) CHECK(losses("GPU", mode, true) == expected);
}

TEST_CASE("evaluations: targets that are floats, and fit() with both data sets there") {
  const auto data =
      from_arrays(column<Shape<5>>(numbers<float>(100, 11, 7)), column<Shape<20>>(numbers<float>(400, 13, 5)));
  const auto measured = [&](std::string_view target, Mode mode) {
    const ContextScope scope({.mode = mode, .device_target = target, .seed = 7});
    nn::Dense<5, 20> net;
    Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.001f}, nn::MAE{}};
    model.fit(2, data | shuffle(20) | batch(8), data | take(12) | batch(5));
    return std::vector<double>{model.eval(data | batch(6))["mae"], model.eval(data | batch(20))["mae"]};
  };
  const std::vector<double> expected = measured("CPU", Mode::graph);
  CHECK(expected[0] > 0);
  for (const Mode mode : {Mode::graph, Mode::pynative}) CHECK(measured("GPU", mode) == expected);
}

TEST_CASE("a class number out of range is refused before the step") {
  const ContextScope scope({.device_target = "GPU"});
  Small<5> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum};
  const auto data =
      from_arrays(column<Shape<5>>(numbers<float>(50, 11, 7)), column<Shape<>>(numbers<std::int32_t>(10, 5, 1)));
  CHECK_THROWS_AS(model.train(1, data | batch(10)), ValueError);
}

TEST_CASE("two networks train with the same data set in turn, and it may go before they do") {
  const ContextScope scope({.mode = Mode::graph, .device_target = "GPU", .seed = 7});
  Small<5> one, other;
  Model first{one, nn::SoftmaxCrossEntropyWithLogits{}, momentum},
      second{other, nn::SoftmaxCrossEntropyWithLogits{}, momentum};
  for (int turn = 0; turn < 2; ++turn) {
    const auto data = samples<5>(20 + 10 * turn);
    first.train(1, data | batch(10));
    second.train(1, data | batch(10));
  }
  const auto hashes = [](const auto& net) {
    std::vector<std::uint64_t> all;
    for (const auto& [name, tensor] : named_parameters(net))
      all.push_back(hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), 0));
    return all;
  };
  CHECK(hashes(one) == hashes(other));
}
