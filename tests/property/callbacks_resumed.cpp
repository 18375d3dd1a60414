// The law of docs/training.md, "What a saved training is": each ordered pair of the callbacks that come with Tenon and
// steer a training or have a state, in both modes, with the checkpoint in front of them or after them, killed at every
// hook and resumed, ends as the undisturbed run does, bit for bit. Where a pair stands in the list changes nothing.
// StopAtTime is not among them: when it stops is up to the machine.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/loss/mse.hpp>
#include <tenon/nn/metric/loss.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/train/callbacks.hpp>

#include "../support/printed.hpp"

using namespace tenon;
namespace fs = std::filesystem;

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<2, 1> d;
  constexpr auto construct(auto x) const { return d(x); }
};
using Trained = Model<Net, nn::MSELoss<>, nn::Momentum, ModelOptions{}, nn::Loss>;
using List = std::vector<AnyCallbackOf<Trained>>;

/// In memory, where there is such a place: a file of a disk waits for the disk.
struct Folder {
  fs::path path = (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
                  ("tenon_pairs_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};
std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
auto samples(long count, int seed) {
  std::vector<float> x, y;
  Random random(static_cast<std::uint64_t>(seed));
  for (long i = 0; i < count; ++i) {
    const float a = random.uniform(-1, 1), b = random.uniform(-1, 1);
    x.insert(x.end(), {a, b}), y.push_back(3 * a - b);
  }
  return dataset::from_arrays(dataset::column<Shape<2>>(std::move(x)), dataset::column<Shape<1>>(std::move(y)));
}

struct Killed {};
/// Throws in the hook of this number among all that it hears.
struct Killer {
  long at = 0, heard = 0;
  void hear() {
    if (++heard == at) throw Killed();
  }
  void on_train_begin(RunInfo&) { hear(); }
  void on_train_epoch_begin(RunInfo&) { hear(); }
  void on_train_step_begin(RunInfo&) { hear(); }
  void on_train_step_end(RunInfo&) { hear(); }
  void on_train_epoch_end(RunInfo&) { hear(); }
  void on_train_end(RunInfo&) { hear(); }
  void on_eval_begin(RunInfo&) { hear(); }
  void on_eval_epoch_begin(RunInfo&) { hear(); }
  void on_eval_step_begin(RunInfo&) { hear(); }
  void on_eval_step_end(RunInfo&) { hear(); }
  void on_eval_epoch_end(RunInfo&) { hear(); }
  void on_eval_end(RunInfo&) { hear(); }
};

constexpr const char* kinds[]{"LearningRateScheduler",
                              "ReduceLROnPlateau",
                              "ExponentialMovingAverage",
                              "StochasticWeightAverage",
                              "EarlyStopping",
                              "SaveBest",
                              "History",
                              "ModelCheckpoint",
                              "StopAtLoss"};
constexpr int kind_count = int(std::size(kinds));
constexpr int exponential = 2, stochastic = 3, best = 5, history = 6;
/// A callback of a kind; `second`: that of the same kind in a pair, with other numbers.
AnyCallbackOf<Trained> make(int kind, bool second, const fs::path& folder) {
  switch (kind) {
    case 0:
      return LearningRateScheduler(
          [second](float rate, long step) { return step % (second ? 2 : 3) ? rate : rate / 2; });
    case 1: return ReduceLROnPlateau{.factor = second ? 0.9f : 0.5f, .patience = 1, .min_delta = 0.3, .cooldown = 1};
    case exponential: return ExponentialMovingAverage{.decay = second ? 0.5 : 0.8};
    case stochastic: return StochasticWeightAverage{.first_epoch = second ? 1 : 2};
    case 4:  // the loss falls, so that the first epoch is the best one
      return EarlyStopping{
          .monitor = "loss", .patience = second ? 2 : 1, .mode = MonitorMode::max, .restore_best_weights = true};
    case best: return SaveBest{.path = (folder / (second ? "best2.safetensors" : "best.safetensors")).string()};
    case history: return History{};
    case 7:
      return ModelCheckpoint(second ? "third" : "other", folder.string(),
                             {.save_checkpoint_steps = second ? 4 : 3, .keep_checkpoint_max = 2, .async_save = second});
    default: return StopAtLoss{.loss = second ? 0.02 : 0.3};
  }
}

/// What a run leaves behind.
struct Outcome {
  std::string weights, moments, best;
  std::vector<double> numbers;  // rates, the step, what callbacks found
  bool operator==(const Outcome&) const = default;
};
struct Order {
  int first, second;
  bool checkpoint_in_front;
};
/// One process: it begins, or goes on, and is killed at a hook. Returns the hooks that it heard.
long process(const Order& order, const fs::path& folder, long kill_at, Outcome& outcome, long epochs = 4) {
  Net net;
  Trained model(net, {},
                nn::Momentum{.learning_rate = 0.4f,
                             .momentum = 0.6f,
                             .groups = {{.params = {"d.bias"}, .learning_rate = 0.2}, {.params = {"d.weight"}}}},
                nn::Loss{});
  const bool twice = order.first == order.second;
  List list{make(order.first, false, folder), make(order.second, twice, folder)};
  const auto at = order.checkpoint_in_front ? list.begin() : list.end();
  list.insert(at,
              ModelCheckpoint("run", folder.string(), {.save_checkpoint_steps = order.checkpoint_in_front ? 1 : 4}));
  list.insert(order.checkpoint_in_front ? list.end() : list.begin(), Killer{.at = kill_at});
  if (const auto file = latest_checkpoint("run", folder.string())) load_training(*file, model);
  const auto killer = [&] { return list[order.checkpoint_in_front ? 3 : 0].get<Killer>()->heard; };
  try {
    model.fit(epochs, samples(12, 1) | dataset::shuffle(12) | dataset::batch(4), samples(4, 2) | dataset::batch(4),
              list);
  } catch (const Killed&) {
    return killer();
  }
  outcome = {};
  const ParameterList parameters(net);
  outcome.weights.assign(reinterpret_cast<const char*>(parameters.arena()->data), std::size_t(parameters.bytes()));
  for (const io::NamedTensor& one : model.optimizer_state())
    outcome.moments.append(static_cast<const char*>(one.tensor.data), one.tensor.bytes());
  outcome.numbers = {double(model.optimizer().learning_rate.at(0)),
                     double(model.optimizer().groups[0].learning_rate->at(0)), double(model.global_step())};
  for (AnyCallbackOf<Trained>& one : list) {
    if (const auto* stop = one.get<EarlyStopping>()) {
      outcome.numbers.push_back(double(stop->stopped_epoch)), outcome.numbers.push_back(double(stop->best_epoch));
      outcome.numbers.push_back(stop->watched.best());
    }
    if (auto* history = one.get<History>())
      for (const double loss : history->history["net_output"]) outcome.numbers.push_back(loss);
    if (const auto* stop = one.get<StopAtLoss>()) outcome.numbers.push_back(double(stop->stopped_step));
    if (const auto* best = one.get<SaveBest>()) outcome.numbers.push_back(double(best->best_epoch));
  }
  outcome.best = bytes_of(folder / "best.safetensors") + bytes_of(folder / "best2.safetensors");
  return killer();
}
/// A pair in one mode: the undisturbed run, then one that is killed at each of its hooks in turn, and resumed.
Outcome check_pair(const Order& order, long& resumed, long& wrong) {
  Outcome expected;
  long hooks = 0;
  {
    const Folder folder;
    hooks = process(order, folder.path, 0, expected);
  }
  // 0: two epochs are over, and the training is resumed for four
  for (long at = 0; at <= hooks; ++at, ++resumed) {
    const Folder folder;
    Outcome found;
    process(order, folder.path, at, found, at > 0 ? 4 : 2);
    process(order, folder.path, 0, found);
    if (found == expected) continue;
    ++wrong;
    MESSAGE(std::string(kinds[order.first])
            << ", " << std::string(kinds[order.second]) << ", checkpoint in front " << order.checkpoint_in_front
            << ", killed at hook " << at << " of " << hooks << ": weights " << (found.weights == expected.weights)
            << ", moments " << (found.moments == expected.moments) << ", best file " << (found.best == expected.best)
            << ", numbers " << (found.numbers == expected.numbers));
  }
  return expected;
}
}  // namespace

TEST_CASE("each ordered pair, killed at every hook and resumed: the bits of the undisturbed run") {
  long resumed = 0, wrong = 0, of_place = 0, of_order = 0, of_mode = 0;
  std::vector<Outcome> outcomes[2];
  const std::string printed = support::printed_to(stdout, [&] {
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      const ContextScope scope({.mode = mode, .seed = 3});
      for (int first = 0; first < kind_count; ++first)
        for (int second = 0; second < kind_count; ++second) {
          const Outcome in_front = check_pair({first, second, true}, resumed, wrong);
          const Outcome after = check_pair({first, second, false}, resumed, wrong);
          of_place += !(in_front == after);
          outcomes[mode == Mode::graph].push_back(after);
        }
    }
  });
  const std::vector<Outcome>& all = outcomes[1];
  for (int first = 0; first < kind_count; ++first)
    for (int second = 0; second < first; ++second) {
      if (first == stochastic && second == exponential) continue;  // of two averages the last one is the network's
      const Outcome &one = all[std::size_t(first * kind_count + second)],
                    &other = all[std::size_t(second * kind_count + first)];
      of_order += one.weights != other.weights || one.moments != other.moments || one.best != other.best;
    }
  of_mode = !(outcomes[0] == outcomes[1]);
  // each of them does something here
  const auto beside_history = [&](int kind) -> const Outcome& { return all[std::size_t(kind * kind_count + history)]; };
  for (int kind = 0; kind < history; ++kind) {
    CAPTURE(kind);
    CHECK((kind == best ? !beside_history(kind).best.empty()
                        : beside_history(kind).weights != beside_history(history).weights));
  }
  CHECK(beside_history(kind_count - 1).weights != beside_history(history).weights);
  MESSAGE((kind_count * kind_count) << " ordered pairs, 2 modes, 2 places of the checkpoint: " << resumed
                                    << " runs killed and resumed, " << wrong << " of them with other bits");
  if (wrong > 0) MESSAGE(printed);
  CHECK(resumed > 10000);
  CHECK(wrong == 0);
  CHECK(of_place == 0);
  CHECK(of_order == 0);
  CHECK(of_mode == 0);
}
