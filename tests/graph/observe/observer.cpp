// flags: -DTENON_OBSERVE
// Observers: names, values, places, and times of all operations in both modes.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "../../../benchmarks/models/gpt.hpp"
#include "../../support/models.hpp"
#include "../../support/tensors.hpp"
#include "support.hpp"

using namespace tenon;

namespace {
struct Words : nn::Cell<Words> {
  nn::Embedding<20, 8> embedding;
  nn::LSTM<8, 12> lstm;
  nn::Dense<12, 4> fc;
  constexpr auto construct(auto ids) const {
    auto [output, h, c] = lstm(embedding(ids));
    return fc(ops::reduce_mean<1>(output));
  }
};
/// What views read is read by others, too: gradients are added up behind them.
struct Views : nn::Cell<Views> {
  nn::Dense<4, 4> fc;
  constexpr auto construct(auto x) const {
    const auto y = relu(fc(x));
    return reshape<Shape<dyn, 4>>(reshape<Shape<dyn, 2, 2>>(y)) * 2.0f + flatten(y) + sigmoid(y);
  }
};
struct ViewsToo : support::Values {
  static constexpr bool every_view = true;
};
using TinyGpt = models::Gpt<2, 8, 16, 2, 16>;

/// n rows of data: `below` > 0 asks for integers from 0 to below - 1, else for numbers from -1 to 1.
template <class T, int... E>
auto column_of(Shape<E...>, long n, int below, std::uint64_t seed) {
  std::vector<T> values(std::size_t((n * ... * E)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = hash_number(i, seed) >> 40;
    values[i] = below ? T(bits % std::uint64_t(below)) : T(double(bits) / (1 << 23) - 1);
  }
  return dataset::column<Shape<E...>>(std::move(values));
}

/// Two steps of training and one of evaluation, seen by an observer.
template <class Net, class Loss, class O, class Data>
std::string run(Mode mode, O& observer, const Data& data, int threads = 1) {
  set_context({.mode = mode, .num_threads = threads, .seed = 3});
  Net net;
  Model model{net, Loss{}, nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f}, nn::Loss{}};
  {
    const Observing scope(observer);
    model.train(2, data);
    model.eval(data);
  }
  ParameterList list(net);
  return {reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes())};
}

/// Whether all of these stand in the others in the same order: a graph leaves results out that nothing reads.
bool are_among(const std::vector<std::uint64_t>& results, const std::vector<std::uint64_t>& all) {
  std::size_t found = 0;
  for (const std::uint64_t one : all) found += found < results.size() && results[found] == one;
  return !results.empty() && found == results.size();
}

template <class Net, class Loss, class Data>
void compare_modes(const Data& data) {
  struct Nothing {
    void before(const Operation&) {}
    void after(const Operation&) {}
  } nothing;
  const std::string weights = run<Net, Loss>(Mode::graph, nothing, data);
  support::Values graph, pynative, same_loop;
  CHECK(run<Net, Loss>(Mode::graph, graph, data) == weights);
  CHECK(run<Net, Loss>(Mode::pynative, pynative, data) == weights);
  REQUIRE(!graph.seen.empty());
  CHECK(graph.seen == pynative.seen);
  CHECK(std::size_t(graph.before_count) == graph.seen.size());

  // The step as it runs: the same weights, and the same values where an operation was left alone.
  support::ValuesAsTheyAre as_it_is, tiles;
  CHECK(run<Net, Loss>(Mode::graph, as_it_is, data) == weights);
  support::ValuesAsTheyAre eager;
  CHECK(run<Net, Loss>(Mode::pynative, eager, data) == weights);
  CHECK(eager.seen == pynative.seen);
  CHECK(run<Net, Loss>(Mode::graph, tiles, data, 2) == weights);
  CHECK(tiles.seen == as_it_is.seen);

  std::map<std::string, std::vector<std::vector<std::uint64_t>>> results;
  for (const auto& one : pynative.seen) results[one.name].push_back(one.results);
  std::map<std::string, std::size_t> calls;
  long alone = 0;
  for (const auto& one : as_it_is.seen) {
    const auto found = results.find(one.name);
    if (found == results.end() || one.steps) continue;
    const std::size_t call = calls[one.name]++;
    ++alone;
    CAPTURE(one.name);
    REQUIRE(call < found->second.size());
    CHECK(are_among(one.results, found->second[call]));
  }
  CHECK(alone > 0);
  MESSAGE(graph.seen.size() << " operations of two training steps and an evaluation, " << as_it_is.seen.size()
                            << " as graph mode runs them, " << alone << " of these as they stand in the source");
}
const auto images = [](long n) {
  return dataset::from_arrays(column_of<float>(Shape<1, 28, 28>(), n, 0, 1),
                              column_of<std::int32_t>(Shape<>(), n, 10, 2)) |
         dataset::batch(int(n));
};
}  // namespace

TEST_CASE("LeNet: equal names, places, and values in both modes") {
  compare_modes<support::LeNet, nn::SoftmaxCrossEntropyWithLogits<>>(images(4));
}
TEST_CASE("an observer sees each tile of a batch as a batch of its own, whatever the layout of its images") {
  const auto x = support::random_tensor<float, Shape<dyn, 1, 28, 28>>(4, -1, 1, 41);
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 3});
  support::LeNet net;
  Model model{net};
  const auto seen = [&](long first, long count) {
    support::ValuesAsTheyAre values;
    const auto part = Tensor<float, Shape<dyn, 1, 28, 28>>::from(
        std::vector<float>(x.data() + first * 784, x.data() + (first + count) * 784));
    const Observing observing(values);
    model.predict(part);
    return values.seen;
  };
  for (const long n : {16, 17, 24, 25, 26, 33, 41}) {
    CAPTURE(n);
    auto tiles = seen(0, 16);
    for (long first = 16; first < n; first += 16) {
      const auto next = seen(first, std::min(16L, n - first));
      tiles.insert(tiles.end(), next.begin(), next.end());
    }
    CHECK(seen(0, n) == tiles);
  }
}
TEST_CASE("batch norm, dropout, a sum of two ways") {
  compare_modes<support::SmallResNet, nn::SoftmaxCrossEntropyWithLogits<>>(
      dataset::from_arrays(column_of<float>(Shape<3, 8, 8>(), 6, 0, 1), column_of<std::int32_t>(Shape<>(), 6, 5, 2)) |
      dataset::batch(6));
}
TEST_CASE("views have their place in names of gradients, and are shown to who asks for them") {
  const auto data = dataset::from_arrays(column_of<float>(Shape<4>(), 3, 0, 1), column_of<float>(Shape<4>(), 3, 0, 2)) |
                    dataset::batch(3);
  compare_modes<Views, nn::MSELoss<>>(data);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 3});
    const auto names = [&](auto observer) {
      Views net;
      Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.1f}};
      {
        const Observing scope(observer);
        model.train(1, data);
      }
      std::vector<std::string> all;
      for (const auto& one : observer.seen) all.push_back(one.name);
      return all;
    };
    const std::vector<std::string> plain = names(support::Values()), with_views = names(ViewsToo());
    const std::set<std::string> unique(plain.begin(), plain.end());
    CHECK(unique.size() == plain.size());
    CHECK(unique.count("Gradients/Default/network-Views/Sum_Reshape/Add-op0") == 1);
    CHECK(unique.count("Default/network-Views/Reshape-op0") == 0);
    CHECK(std::count(with_views.begin(), with_views.end(), "Default/network-Views/Reshape-op2") == 1);
    std::vector<std::string> without;
    for (const std::string& name : with_views)
      if (name.find("/Reshape-op") == name.npos) without.push_back(name);
    CHECK(without == plain);
  }
}
TEST_CASE("LSTM") {
  compare_modes<Words, nn::SoftmaxCrossEntropyWithLogits<>>(
      dataset::from_arrays(column_of<std::int32_t>(Shape<9>(), 3, 20, 1), column_of<std::int32_t>(Shape<>(), 3, 4, 2)) |
      dataset::batch(3));
}
TEST_CASE("GPT") {
  compare_modes<TinyGpt, nn::SoftmaxCrossEntropyWithLogits<>>(
      dataset::from_arrays(column_of<std::int32_t>(Shape<8>(), 2, 16, 1),
                           column_of<std::int32_t>(Shape<8>(), 2, 16, 2)) |
      dataset::batch(2));
}

TEST_CASE("reserve_class_name_in_scope = false leaves the classes of cells out of the names, in both modes") {
  const auto data = images(2);
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const bool classes : {true, false, true}) {
      const ContextScope scope({.reserve_class_name_in_scope = classes});
      support::Values values;
      run<support::LeNet, nn::SoftmaxCrossEntropyWithLogits<>>(mode, values, data);
      std::set<std::string> names;
      for (const auto& seen : values.seen) names.insert(seen.name);
      CHECK(names.count("Default/network-LeNet/conv1-Conv2d/Conv2D-op0") == classes);
      CHECK(names.count("Default/network/conv1/Conv2D-op0") == !classes);
    }
}
TEST_CASE("names are unique in a step, have the user's line, and are those of MindSpore's form") {
  support::Values values;
  const auto data = images(2);
  run<support::LeNet, nn::SoftmaxCrossEntropyWithLogits<>>(Mode::pynative, values, data);
  std::set<std::string> names;
  std::size_t step = values.seen.size();
  for (std::size_t i = 0; i < values.seen.size() && step == values.seen.size(); ++i)
    if (!names.insert(values.seen[i].name).second) step = i;
  REQUIRE(step < values.seen.size());
  CHECK(values.seen[step].name == values.seen[0].name);
  CHECK(names.count("Default/network-LeNet/conv1-Conv2d/Conv2D-op0"));
  CHECK(names.count("Default/network-LeNet/ReLU-op3"));
  CHECK(names.count("Default/loss/SoftmaxCrossEntropyWithLogits-op0"));
  CHECK(names.count("Gradients/Default/network-LeNet/conv1-Conv2d/Grad_Conv2D/Conv2DBackpropFilter-op0"));
  CHECK(names.count("Default/optimizer/fc3.bias/Momentum-op0"));
  const std::string& place = values.seen[0].place;
  CHECK(place.find("models.hpp:30") != place.npos);
}

namespace {
struct Twice : nn::Cell<Twice> {
  nn::Dense<3, 3> fc;
  constexpr auto construct(auto x) const { return relu(fc(relu(fc(x)) + x)); }
};
}  // namespace

TEST_CASE("a cell that is called twice, a direct call, a function, a prediction of unrolled code") {
  const auto x = Tensor<float, Shape<dyn, 3>>::full(0.5f, 1);
  for (const bool every_value : {false, true}) {
    std::vector<std::vector<support::Values::Seen>> all;
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      set_context({.mode = mode, .seed = 3});
      Twice net;
      Model model{net};
      static constexpr auto f = jit([](auto a) { return a * a + 1; });
      support::Values values;
      support::ValuesAsTheyAre as_it_is;
      const auto look = [&](auto& observer) {
        const Observing scope(observer);
        const auto direct = net(x);
        CHECK(direct.data()[0] == model.predict(x).data()[0]);
        f(x);
        all.push_back(observer.seen);
      };
      every_value ? look(values) : look(as_it_is);
    }
    if (every_value) {
      CHECK(all[0] == all[1]);
      CHECK(all[0][1].name == "Default/network-Twice/fc-Dense/Add-op0");
      CHECK(all[0][5].name == "Default/network-Twice/fc-Dense/Add-op1");
    }
    CHECK(!all[0].empty());
  }
}

TEST_CASE("callbacks that observe, two observers, what observers compute, and exceptions") {
  struct Counting {
    long operations = 0, steps = 0;
    void before(const Operation&) {}
    void after(const Operation& operation) {
      ++operations;
      // nobody sees this
      Tensor<float, Shape<2>>::full(float(operation.n)) + 1;
    }
    void step_end(const RunInfo&) { ++steps; }
  } outer, inner;
  set_context({.mode = Mode::graph, .seed = 3});
  support::LeNet net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits<>{}, nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f}};
  const auto data = images(3);
  {
    const Observing scope(outer);
    model.train(2, data, inner);
  }
  CHECK(inner.steps == 2);
  CHECK(outer.steps == 0);
  CHECK(inner.operations > 20);
  CHECK(inner.operations == outer.operations);
  struct Throwing {
    void before(const Operation& operation) {
      if (operation.type == "MatMul") throw ValueError("stop here");
    }
    void after(const Operation&) {}
  } throwing;
  CHECK_THROWS_AS(model.train(1, data, throwing), ValueError);
  const long seen = inner.operations;
  model.train(1, data);
  CHECK(inner.operations == seen);
}

namespace {
/// Wants no values, and hears of tiles when they are over.
struct Runs {
  std::map<std::string, long> calls;
  std::map<int, std::vector<OperationRun>> of_worker;
  std::int64_t shares = 0;
  long runs = 0, tiled = 0, samples = 0;
  bool are_whole = true;

  static std::int64_t nanoseconds() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  static constexpr ObserverClock clock = nanoseconds;
  void before(const Operation&) {}
  void after(const Operation& operation) { ++calls[std::string(operation.name)]; }
  void ran(const Operation& operation, std::span<const OperationRun> all) {
    ++calls[std::string(operation.name)];
    ++tiled;
    long n = 0;
    for (const OperationRun& run : all) {
      n += run.n;
      shares += run.share;
      of_worker[run.worker].push_back(run);
      are_whole &= run.begin <= run.end && run.n <= 16;
    }
    runs += long(all.size());
    are_whole &= n == operation.n;
  }
  /// Whether the runs of each thread come one behind the other.
  bool is_in_order() {
    for (auto& [worker, all] : of_worker) {
      std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
      for (std::size_t i = 1; i < all.size(); ++i)
        if (all[i].begin < all[i - 1].end) return false;
    }
    return true;
  }
  std::int64_t busiest() const {
    std::int64_t most = 0;
    for (const auto& [worker, all] : of_worker) {
      std::int64_t busy = 0;
      for (const OperationRun& run : all) busy += run.end - run.begin;
      most = std::max(most, busy);
    }
    return most;
  }
};
struct Tiles {
  std::map<std::string, long> calls;
  void before(const Operation&) {}
  void after(const Operation& operation) { ++calls[std::string(operation.name)]; }
};
}  // namespace

TEST_CASE("an observer of runs: threads share the tiles, it hears of each operation once, and of all its tiles") {
  using Loss = nn::SoftmaxCrossEntropyWithLogits<>;
  for (const long n : {48L, 64L, 71L}) {
    const auto data = images(n);
    Tiles serial;
    const std::string weights = run<support::LeNet, Loss>(Mode::graph, serial, data);
    const long tiles = (n + 15) / 16;
    for (const int threads : {1, 2, 3}) {
      CAPTURE(n);
      CAPTURE(threads);
      Runs runs;
      const std::int64_t begin = Runs::nanoseconds();
      CHECK(run<support::LeNet, Loss>(Mode::graph, runs, data, threads) == weights);
      const std::int64_t took = Runs::nanoseconds() - begin;
      CHECK(runs.are_whole);
      CHECK(runs.tiled > 10);
      CHECK(runs.runs == runs.tiled * tiles);
      CHECK(runs.calls.size() == serial.calls.size());
      for (const auto& [name, calls] : runs.calls) {
        const auto in_tiles = serial.calls.find(name);
        REQUIRE(in_tiles != serial.calls.end());
        CHECK((in_tiles->second == calls || in_tiles->second == calls * tiles));
      }
      CHECK(int(runs.of_worker.size()) == threads);
      CHECK(runs.is_in_order());
      // what threads did at one time is shared between the operations: no less than one thread's, no more than all time
      CHECK(runs.shares + runs.runs >= runs.busiest());
      CHECK(runs.shares <= took + runs.runs);
    }
  }
}
TEST_CASE("an observer of runs beside others: all take runs, or all see tiles") {
  using Loss = nn::SoftmaxCrossEntropyWithLogits<>;
  const auto data = images(64);
  Runs outer, inner, beside;
  Tiles tiles;
  {
    const Observing scope(outer);
    run<support::LeNet, Loss>(Mode::graph, inner, data, 2);
  }
  CHECK(outer.tiled == inner.tiled);
  CHECK(outer.calls == inner.calls);
  {
    const Observing scope(tiles);
    run<support::LeNet, Loss>(Mode::graph, beside, data, 2);
  }
  CHECK(beside.tiled == 0);
  CHECK(beside.calls == tiles.calls);
}

namespace {
struct Costs {
  std::map<std::string, double> flops, bytes;
  void before(const Operation&) {}
  void after(const Operation& operation) {
    flops[std::string(operation.name)] = operation.flops();
    bytes[std::string(operation.name)] = operation.bytes();
  }
  static constexpr bool every_value = true;
};
}  // namespace

TEST_CASE("floating-point operations and bytes") {
  Costs costs;
  const auto data = images(4);
  run<support::LeNet, nn::SoftmaxCrossEntropyWithLogits<>>(Mode::graph, costs, data);
  CHECK(costs.flops["Default/network-LeNet/conv1-Conv2d/Conv2D-op0"] == 2. * 4 * 6 * 28 * 28 * 25);
  CHECK(costs.flops["Default/network-LeNet/fc1-Dense/MatMul-op0"] == 2. * 4 * 400 * 120);
  CHECK(costs.flops["Gradients/Default/network-LeNet/conv2-Conv2d/Grad_Conv2D/Conv2DBackpropInput-op0"] ==
        2. * 4 * 16 * 10 * 10 * 6 * 25);
  CHECK(costs.flops["Default/network-LeNet/ReLU-op3"] == 4 * 84);
  CHECK(costs.bytes["Default/network-LeNet/fc1-Dense/MatMul-op0"] == 4. * (4 * 400 + 400 * 120 + 4 * 120));
}

namespace {
struct Slope : nn::Cell<Slope> {
  nn::Dense<3, 5> fc1;
  nn::Dense<5, 3> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
// Calls the network that it observes, and a function under jit, on values of its own.
struct Calls {
  const Slope& net;
  Tensor<float, Shape<dyn, 3>> other;
  void before(const Operation&) {
    net(other);
    jit([](auto x) { return relu(x * 2.0f) + x; })(other);
  }
  void after(const Operation&) {}
};
struct CallsAtExit {
  const Slope* net = nullptr;
  std::vector<float> expected;
  ~CallsAtExit() {
    if (!net) return;
    // takes what the thread has freed, so that a use of it shows
    std::vector<std::vector<int>> blocks;
    for (std::size_t size = 1; size < 4000; ++size) blocks.emplace_back(size, -1);
    const auto x = support::random_tensor<float, Shape<dyn, 3>>(1, -1, 1, 4);
    const auto y = (*net)(x);
    if (!std::equal(expected.begin(), expected.end(), y.data())) std::_Exit(3);
    delete net;
  }
};
CallsAtExit at_exit;
}  // namespace

TEST_CASE("an observer may call the network that it observes, and a function that is under way") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const Slope net;
    const auto x = support::random_tensor<float, Shape<dyn, 3>>(1, -1, 1, 4);
    const auto f = jit([](auto v) { return relu(v * 2.0f) + v; });
    const auto expected = net(x), expected_f = f(x);
    Calls calls{net, support::random_tensor<float, Shape<dyn, 3>>(2, -1, 1, 7)};
    const Observing observing(calls);
    CHECK(support::same_bits(net(x), expected));
    CHECK(support::same_bits(f(x), expected_f));
  }
}

TEST_CASE("the destructor of a static may call a network: the program ends with 0") {
  const ContextScope scope({.mode = Mode::graph});
  const auto x = support::random_tensor<float, Shape<dyn, 3>>(1, -1, 1, 4);
  at_exit.net = new Slope;
  const auto y = (*at_exit.net)(x);
  at_exit.expected.assign(y.data(), y.data() + y.count());
}
