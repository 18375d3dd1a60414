// A step that does not fit into memory: the error's numbers are those of the plan, the batch that it names trains.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "small.hpp"

#include <tenon/core/tensor/compare.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/ops.hpp>
#include <tenon/train/plan_of.hpp>

using namespace tenon;

namespace {

struct Net : nn::Cell<Net> {
  nn::Dense<16, 256> wide;
  nn::Dense<256, 128> middle;
  nn::Dense<128, 2> head;
  constexpr auto construct(auto x) const {
    const auto a = tanh(wide(x));
    return head(tanh(middle(a)));
  }
};
// the line of wide(x) above
constexpr const char* wide_line = "(out_of_memory.cpp:27)";

auto samples(long count) {
  std::vector<float> x(std::size_t(count) * 16);
  std::vector<std::int32_t> y(std::size_t(count), 0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i * 7 % 13) / 13 - 0.5f;
  for (std::size_t i = 0; i < y.size(); i += 2) y[i] = 1;
  return dataset::from_arrays(dataset::column<Shape<16>>(std::move(x)), dataset::column<Shape<>>(std::move(y)));
}
auto batch_of(long n) { return samples(n) | dataset::batch(n); }

/// Leaves so many bytes to each step.
struct Room {
  long bytes;
  void step_begin(RunInfo&) const {
    Storage::give_back_kept();
    detail::memory_limit() = detail::memory_in_use() + bytes;
  }
};

template <class F>
std::string told(F f) {
  try {
    f();
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "nothing was thrown";
}
/// Trains for an epoch of one batch.
template <class M>
std::string trained(M& model, long n, long room) {
  const ContextScope scope({});
  return told([&] { model.train(1, batch_of(n), Room{room}); });
}
bool has(const std::string& message, const std::string& part) {
  INFO(message);
  CHECK(message.find(part) != message.npos);
  return message.find(part) != message.npos;
}
/// The batch size that a message names, 0 for none.
long named_batch(const std::string& message) {
  const std::string begin = " A batch size of ";
  const std::size_t at = message.find(begin);
  return at == message.npos ? 0 : std::atol(message.c_str() + at + begin.size());
}

auto model_of(Net& net) {
  return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
               nn::Accuracy{}};
}

/// What is left to a step on a batch of n = 600, and how it goes on.
void check_training(Mode mode, long room) {
  const ContextScope scope({.mode = mode, .num_threads = 2});
  Net net, same;
  Model model = model_of(net), twin = model_of(same);
  const std::string before = small::bits(net);
  const std::string message = trained(model, 600, room);
  CHECK(small::bits(net) == before);
  const long fits = named_batch(message);
  REQUIRE(fits >= 1);
  REQUIRE(fits < 600);
  has(message, " are free (max_device_memory allows ");
  // The process goes on: the batch trains, as it does in a process that never failed.
  CHECK(told([&] { model.train(3, batch_of(fits), Room{room}); }) == "nothing was thrown");
  detail::memory_limit() = detail::no_memory_limit;
  twin.train(3, batch_of(fits));
  CHECK(small::bits(net) == small::bits(same));
  CHECK(small::bits(net) != before);
}

}  // namespace

TEST_CASE("graph mode: request and owners are those of the plan, the batch is the largest that fits") {
  Net net;
  Model model = model_of(net);
  const auto data = batch_of(600);
  static_assert(plan_of(model, data).bytes(600, 2) > plan_of(model, data).bytes(300, 2));
  const StepPlan plan = plan_of(model, data);
  const long room = plan.bytes(300, 2);
  check_training(Mode::graph, room);

  const ContextScope scope({.mode = Mode::graph, .num_threads = 2});
  const std::string message = trained(model, 600, room);
  has(message, text("Out of memory: ", detail::memory_text(double(plan.bytes(600, 2))),
                    " were asked for the values between the operators of a graph for a batch of 600, ",
                    detail::memory_text(double(room)), " are free ("));
  has(message, text(detail::memory_text(600 * 256 * 4.), " "));
  has(message, " in network.wide float32 [n,256] (out_of_memory.cpp:");
  has(message, "parameter middle.weight float32 [128,256]");
  const long fits = named_batch(message);
  CHECK(plan.bytes(fits, 2) <= room);
  CHECK(plan.bytes(fits + 1, 2) > room);
  Net one_more;
  Model larger = model_of(one_more);
  CHECK(named_batch(trained(larger, fits + 1, room)) == fits);
  const std::string little = trained(larger, 20, 1000);
  has(little, "; 131 KB optimizer state of middle.weight float32 [128,256]; ");
  const std::string none = trained(larger, 600, 1000);
  has(none, text(" Not even a batch size of 1 fits, which takes ", detail::memory_text(double(plan.bytes(1, 2))), "."));
}

TEST_CASE("PyNative mode: the operator, its cell and line, the largest owners, a batch that is sure to fit") {
  check_training(Mode::pynative, 3 << 20);
  const ContextScope scope({.mode = Mode::pynative, .num_threads = 2});
  Net net;
  Model model = model_of(net);
  const std::string message = trained(model, 600, 500000);
  has(message, text("Out of memory: ", detail::memory_text(600 * 256 * 4.),
                    " were asked for a tensor float32 [n,256] of batch size 600, 500 KB are free ("));
  has(message, text(" The operator is MatMul in network.wide ", wide_line, "."));
  has(message, " Largest owners: 131 KB parameter middle.weight float32 [128,256]; ");
  const std::string later = trained(model, 600, 2000000);
  has(later, text(detail::memory_text(600 * 256 * 4.),
                  " tensor float32 [n,256], the result of Tanh, which the derivative of "));
  const std::string backward = trained(model, 600, 3000000);
  has(backward, " It is a part of the gradient of ");
}

TEST_CASE("eval and predict say the same, in both modes") {
  const auto x = Tensor<float, Shape<dyn, 16>>::full(0.5f, 600), few = Tensor<float, Shape<dyn, 16>>::full(0.5f, 20);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .num_threads = 1});
    Net net;
    Model model = model_of(net);
    const auto result = model.predict(few);
    const long room = 300000;
    const auto evaluates = [&](long n) {
      const ContextScope limited({});
      return told([&] { model.eval(batch_of(n), Room{room}); });
    };
    const std::string evaluated = evaluates(600);
    const long fits = named_batch(evaluated);
    has(evaluated, "Largest owners: ");
    REQUIRE(fits > 0);
    CHECK(evaluates(fits) == "nothing was thrown");
    const std::string predicted = told([&] {
      detail::memory_limit() = detail::memory_in_use() + room;
      static_cast<void>(model.predict(x));
    });
    CHECK(named_batch(predicted) > 0);
    CHECK(named_batch(predicted) < 600);
    CHECK(bit_equal(model.predict(few), result));
  }
}

namespace {
/// The seed's: more than 15 GB.
struct Huge : nn::Cell<Huge> {
  Parameter<float, Shape<640, 1024, 80, 81>, nn::Zero{}> weight;
  constexpr auto construct(auto x) const { return x; }
};
constexpr const char* asked = "Out of memory: 34 GB were asked for the parameters of a network and the state of its "
                              "optimizer, ";
constexpr const char* owners = " Largest owners: 17 GB optimizer state of weight; 17 GB parameter weight float32 "
                               "[640,1024,80,81]. Take a smaller batch or network, ";
}  // namespace

TEST_CASE("a parameter that no machine has room for gets a sentence, not a crash") {
  const long before = detail::memory_in_use();
  Huge net;
  const auto make = [&] { Model model{net, NoLoss{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}}; };
  {
    const ContextScope scope({.max_device_memory = "8GB"});
    has(told(make), asked);
    has(told(make), "8.59 GB are free (max_device_memory allows 8.59 GB, ");
    has(told(make), owners);
    has(told([&] { net.init_parameters(); }),
        "17 GB were asked for the parameters of a network, 8.59 GB are free (max_device_memory allows 8.59 GB, ");
    has(told([&] { net.init_parameters(); }), " Largest owners: 17 GB parameter weight float32 [640,1024,80,81]. Take");
  }
  // Without a limit, on a machine of 4 GB: malloc would promise them, none of it is touched.
  const std::string root = (std::filesystem::current_path() / "machine/").string();
  std::filesystem::create_directories(root + "proc");
  std::ofstream(root + "proc/meminfo") << "MemAvailable:    4000000 kB\n";
  detail::system_root() = root.c_str();
  has(told(make), asked);
  has(told(make), "4.1 GB are free (all that this machine has, ");
  has(told(make), owners);
  has(told([&] { net.init_parameters(); }), "17 GB were asked for the parameters of a network, 4.1 GB are free (all");
  CHECK(detail::memory_in_use() == before);
  Net next;
  Model model = model_of(next);
  CHECK_NOTHROW(model.train(1, batch_of(20)));
  detail::system_root() = "/";
}
