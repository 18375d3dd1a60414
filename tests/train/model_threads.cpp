// What threads may share: a Model that predicts, a network at its first call, tensors that are read. Meant for the
// thread sanitizer, too.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

using Images = Tensor<float, Shape<dyn, 1, 8, 8>>;
using Rows = Tensor<float, Shape<dyn, 3>>;
constexpr int callers = 4;

struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 4, 3, nn::Conv2dConfig{.pad_mode = PadMode::same, .has_bias = true}> conv;
  nn::BatchNorm2d<4> norm;
  nn::Dense<64, 96> hidden;
  nn::Dense<96, 10> out;
  constexpr auto construct(auto x) const { return out(relu(hidden(flatten(max_pool2d<2>(relu(norm(conv(x)))))))); }
};

// Small enough for straight code.
struct Small : nn::Cell<Small> {
  nn::Dense<3, 8> fc1;
  nn::Dense<8, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};

template <class T>
T filled(long n, int salt) {
  T t = T::empty(n);
  long i = 0;
  for (float& v : t.values()) v = float((i++ * 37 + salt * 11) % 101) / 50 - 1;
  return t;
}

// Runs f(thread) in several threads that begin together.
template <class F>
void together(F f) {
  std::barrier start(callers);
  std::vector<std::thread> threads;
  for (int t = 0; t < callers; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      f(t);
    });
  for (std::thread& thread : threads) thread.join();
}

// How many of the predictions of several threads differ from those of one, asked before.
template <class X, class N>
long wrong_predictions(const Model<N, NoLoss, NoOptimizer, ModelOptions{}>& model, int rounds) {
  const long sizes[]{1, 7, 16, 33};
  std::vector<X> inputs;
  std::vector<decltype(model.predict(X{}))> expected;
  for (int i = 0; i < callers; ++i) {
    inputs.push_back(filled<X>(sizes[i], i));
    expected.push_back(model.predict(inputs.back()));
  }
  std::atomic<long> wrong{0};
  together([&](int t) {
    auto into = expected[std::size_t(t)].copy();
    for (int round = 0; round < rounds; ++round) {
      const std::size_t i = std::size_t(t + (round % 3 ? 0 : round)) % callers;
      if (i == std::size_t(t)) model.predict_into(into, inputs[i]);
      wrong += !bit_equal(i == std::size_t(t) ? into : model.predict(inputs[i]), expected[i]);
    }
  });
  return wrong;
}

auto numbers() {
  static const std::vector<float> x(30, 0.5f);
  static const std::vector<std::int32_t> y(10, 1);
  return dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<>>(y)) | dataset::batch(5);
}
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "none";
}
}  // namespace

TEST_CASE("threads: one Model predicts for all of them, with the bits of one") {
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const int workers : {1, 2}) {
      CAPTURE(tenon::name(mode));
      CAPTURE(workers);
      const ContextScope scope({.mode = mode, .num_threads = workers});
      Net net;
      CHECK(wrong_predictions<Images>(Model{net}, 150) == 0);
      Small small;
      const Model model{small};
      CHECK(wrong_predictions<Rows>(model, 300) == 0);
    }
}

TEST_CASE("threads: the first calls of a Model whose network got a new part may come from several") {
  const auto x = filled<Rows>(1, 3);
  for (int round = 0; round < 20; ++round) {
    Small net, other;
    Model model{net};
    other.init_parameters();
    for (float& v : other.fc1.weight.values()) v += float(round);
    net.fc1 = std::move(other.fc1);
    const auto expected = net.clone()(x);
    std::atomic<int> wrong{0};
    together([&](int) { wrong += !bit_equal(model.predict(x), expected); });
    CHECK(wrong == 0);
  }
}

TEST_CASE("threads: a network may be called for the first time by several") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const auto x = filled<Rows>(5, 1);
    for (int round = 0; round < 40; ++round) {
      const Small net, alone;
      if (round % 2) net.fc2.init_parameters(), alone.fc2.init_parameters();  // a part has memory before the whole
      const auto expected = alone(x);
      std::atomic<int> wrong{0};
      together([&](int) { wrong += !bit_equal(net(x), expected); });
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("threads: no second one trains, evaluates, or predicts while one trains a Model") {
  Small net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01, .momentum = 0.9f},
              nn::Loss{}};
  const auto x = filled<Rows>(2, 0);
  std::vector<std::string> errors;
  struct Ask {
    std::function<void()> ask;
    void step_end(RunInfo& run) {
      if (run.cur_step_num == 1) std::thread(ask).join();
    }
  };
  const auto refused = [](std::string_view asked, std::string_view running) {
    return text(
        asked, " was called while another thread is in ", running,
        " of the same Model: wait for its end, or give each thread a network (clone()) and a Model of its own.");
  };
  const auto ask = [&] {
    errors.push_back(error_of([&] { model.train(1, numbers()); }));
    errors.push_back(error_of([&] { model.eval(numbers()); }));
    errors.push_back(error_of([&] { model.predict(x); }));
  };
  model.train(1, numbers(), Ask{ask});
  CHECK(errors == std::vector<std::string>{refused("Model.train", "Model.train"), refused("Model.eval", "Model.train"),
                                           refused("Model.predict", "Model.train")});
  errors.clear();
  model.eval(numbers(), Ask{ask});  // reads the parameters, as predict does
  CHECK(errors ==
        std::vector<std::string>{refused("Model.train", "Model.eval"), refused("Model.eval", "Model.eval"), "none"});
  model.train(1, numbers());  // what was refused left nothing behind
  CHECK(model.global_step() == 4);
}

TEST_CASE("threads: a pool makes as many executors as there are processors, and who finds none waits") {
  using Graph = Compiled<detail::Forward<Small, TypeKey<Dtype::float32, dyn, 3>>>;
  ExecutorPool pool;
  std::set<const void*> seen;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::atomic<int> served{0};
  {
    std::vector<std::unique_ptr<ExecutorPool::Lease>> all;
    for (int i = 0; i < ExecutorPool::most(); ++i) {
      all.push_back(std::make_unique<ExecutorPool::Lease>(pool, Graph::program));
      CHECK(seen.insert(&**all.back()).second);
    }
    for (int t = 0; t < callers; ++t)
      threads.emplace_back([&] {
        for (int round = 0; round < 50; ++round) {
          const ExecutorPool::Lease lease(pool, Graph::program);
          ++served;
          const std::lock_guard lock(mutex);
          seen.insert(&*lease);
        }
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most of them sleep by now
    CHECK(served == 0);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(served == 50 * callers);
  CHECK(int(seen.size()) == ExecutorPool::most());
}

TEST_CASE("threads: a forked child predicts, though other threads of its parent had all executors") {
  Small net;
  const Model model{net, NoLoss{}};
  const auto x = filled<Tensor<float, Shape<dyn, 3>>>(5, 1);
  const auto expected = model.predict(x);
  using Graph = Compiled<detail::Forward<Small, TypeKey<Dtype::float32, dyn, 3>>>;
  ExecutorPool pool;
  std::vector<std::unique_ptr<ExecutorPool::Lease>> all;
  for (int i = 0; i < ExecutorPool::most(); ++i)
    all.push_back(std::make_unique<ExecutorPool::Lease>(pool, Graph::program));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // a child that waits for what never comes back
    const ExecutorPool::Lease lease(pool, Graph::program);
    ::_exit(bit_equal(model.predict(x), expected) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("threads: the result of an operator may be read, copied, and computed with by several") {
  const ContextScope scope({.mode = Mode::pynative});
  const nn::Conv2d<1, 4, 3, nn::Conv2dConfig{.pad_mode = PadMode::same}> conv;
  const auto x = filled<Images>(33, 2);
  const auto y = conv(x);
  REQUIRE(y.storage().in_nchw16n());  // else there is nothing to see here
  const auto first = y.copy(), doubled = y + y;
  const std::vector<float> expected(first.values().begin(), first.values().end()),
      sums(doubled.values().begin(), doubled.values().end());
  for (int round = 0; round < 20; ++round) {
    const auto image = conv(x);
    REQUIRE(image.storage().in_nchw16n());
    std::atomic<int> wrong{0};
    together([&](int t) {
      const auto mine = image;
      if (t == 0) wrong += !std::equal(expected.begin(), expected.end(), mine.data());
      if (t == 1) wrong += mine(32, 3, 7, 7) != expected.back();
      const auto twice = mine + image;
      wrong += !std::equal(sums.begin(), sums.end(), twice.data());
      wrong += mine[1].values()[0] != expected[4 * 64];
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("threads: what is written into the result of an operator counts for all who share it") {
  const ContextScope scope({.mode = Mode::pynative});
  const nn::Conv2d<1, 4, 3, nn::Conv2dConfig{.pad_mode = PadMode::same}> conv;
  auto y = conv(filled<Images>(33, 2));
  auto shared = y;
  const auto part = y[0];
  y.data()[5] = 1000;
  CHECK(shared.values()[5] == 1000);
  CHECK(part.values()[5] == 1000);
  CHECK(relu(shared).values()[5] == 1000);
  CHECK(flatten(shared).values()[5] == 1000);
  CHECK(shared.copy().values()[5] == 1000);
  shared.values()[6] = 2000;
  CHECK((y + y).values()[6] == 4000);
}
