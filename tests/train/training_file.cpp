// A training that is saved, loaded, and gone on with: the same bits as one that was never stopped.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/amp.hpp>
#include <tenon/train/callback/history.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#include <tenon/train/callback/stop_at_loss.hpp>

#include "small.hpp"

using namespace small;
namespace fs = std::filesystem;

namespace {
/// A folder that is gone with the scope.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("tenon_training_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
};
/// Random numbers in each step, and moments.
struct Dropped : nn::Cell<Dropped> {
  nn::Dense<3, 16> fc1;
  nn::Dropout<nn::DropoutConfig{.p = 0.3f}> dropout;
  nn::Dense<16, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(dropout(relu(fc1(x)))); }
};
using Trained = Model<Dropped, nn::SoftmaxCrossEntropyWithLogits<>, nn::Adam, ModelOptions{}>;
auto data() { return samples(24) | dataset::shuffle(24) | dataset::batch(4); }  // 6 steps an epoch
nn::Adam adam() { return {.learning_rate = 0.01}; }

std::string whole(long epochs) {
  Dropped net;
  Trained model(net, {}, adam());
  model.train(epochs, data());
  return bits(net);
}
struct StopAt {
  long step;
  void on_train_step_end(RunInfo& run) {
    if (run.cur_step_num == step) run.request_stop();
  }
};
/// Saves in the hook of a step.
struct SaveAt {
  long step;
  std::string path;
  void on_train_step_end(auto& run) {
    if (run.cur_step_num == step) save_training(run.model, path), run.request_stop();
  }
};
/// Saves in the hook of the end of an epoch, and in that of the begin.
struct SaveAtEpoch {
  std::string path;
  void on_train_epoch_end(auto& run) {
    if (run.cur_epoch_num != 2) return;
    save_training(run.model, path);
    run.request_stop();
  }
};
struct SaveFirst {
  std::string path;
  void on_train_begin(auto& run) { save_training(run.model, path); }
};
struct FirstLoss {
  double value = 0;
  void on_train_epoch_begin(RunInfo& run) {
    if (value == 0) value = run.loss();
  }
};
struct Refuses {
  void on_train_begin(RunInfo&) { throw ValueError("not with me"); }
};
struct LoadsInHook {
  std::string path;
  void on_train_step_end(auto& run) { load_training(path, run.model); }
};
}  // namespace

TEST_CASE("a run that was saved in any step goes on with the same bits") {
  const Folder folder;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 11});
    const std::string expected = whole(3);
    for (long step = 1; step <= 18; ++step) {
      CAPTURE(step);
      {
        Dropped net;
        Trained model(net, {}, adam());
        model.train(3, data(), SaveAt{step, folder / "run.safetensors"});
      }
      Dropped net;
      Trained model(net, {}, adam());
      load_training(folder / "run.safetensors", model);
      CHECK(model.global_step() == step);
      Recorder events;
      model.train(3, data(), events);
      CHECK(bits(net) == expected);
      CHECK(model.global_step() == 18);
      if (step == 7) CHECK(events.events.starts_with("begin epoch_begin2 step_begin8 step_end8"));
    }
  }
}

TEST_CASE("saved in a hook of an epoch's end: callbacks before and after it count the epoch once") {
  const Folder folder;
  set_context({.mode = Mode::graph, .seed = 11});
  const std::string expected = whole(3);
  {
    Dropped net;
    Trained model(net, {}, adam());
    History before, after;
    SaveAtEpoch saver{folder / "run.safetensors"};
    model.train(3, data(), before, saver, after);
  }
  Dropped net;
  Trained model(net, {}, adam());
  load_training(folder / "run.safetensors", model);
  History before, after;
  model.train(3, data(), before, StopAt{-1}, after);
  CHECK(bits(net) == expected);
  CHECK(before.epoch == std::vector<long>{1, 2, 3});
  CHECK(after.epoch == std::vector<long>{1, 2, 3});
}

TEST_CASE("a train() that a callback refuses leaves what is to be resumed to the next") {
  const Folder folder;
  set_context({.mode = Mode::graph, .seed = 11});
  const std::string expected = whole(3);
  {
    Dropped net;
    Trained model(net, {}, adam());
    SaveAt saver{8, folder / "run.safetensors"};
    model.train(3, data(), saver);
  }
  Dropped net;
  Trained model(net, {}, adam());
  load_training(folder / "run.safetensors", model);
  CHECK_THROWS_AS(model.train(3, data(), ModelCheckpoint("a/b", folder / "checkpoints")), ValueError);
  CHECK_THROWS_AS(model.train(3, data(), Refuses{}), ValueError);
  model.train(3, data());
  CHECK(bits(net) == expected);
  CHECK(model.global_step() == 18);
}

TEST_CASE("a training that was loaded and saved again is resumed from the second file, as from the first") {
  const Folder folder;
  set_context({.mode = Mode::graph, .seed = 11});
  const std::string expected = whole(3);
  {
    Dropped net;
    Trained model(net, {}, adam());
    model.train(3, data(), History{}, SaveAt{8, folder / "first.safetensors"});
  }
  {
    Dropped net;
    Trained model(net, {}, adam());
    model.train(1, data());  // another one, whose last loss is none of the file's
    load_training(folder / "first.safetensors", model);
    save_training(model, folder / "again.safetensors");
    History history;
    model.train(3, data(), SaveFirst{folder / "begun.safetensors"}, history);
    CHECK(history.epoch == std::vector<long>{1, 2, 3});
    save_training(model, folder / "over.safetensors");
  }
  double first_loss = 0;
  for (const char* const name : {"first.safetensors", "again.safetensors", "begun.safetensors"}) {
    CAPTURE(name);
    Dropped net;
    Trained model(net, {}, adam());
    load_training(folder / name, model);
    History history;
    FirstLoss loss;
    model.train(3, data(), loss, history);
    CHECK(model.global_step() == 18);
    CHECK(bits(net) == expected);
    CHECK(history.epoch == std::vector<long>{1, 2, 3});
    if (first_loss == 0) first_loss = loss.value;
    CHECK(loss.value == first_loss);
  }
  Dropped net;
  Trained model(net, {}, adam());
  load_training(folder / "over.safetensors", model);
  model.train(1, data());
  CHECK(model.global_step() == 24);
}

TEST_CASE("a run that was resumed saves nothing of the callbacks that it does not have") {
  const Folder folder;
  {
    Dropped net;
    Trained model(net, {}, adam());
    model.train(3, data(), History{}, SaveAt{8, folder / "first.safetensors"});
  }
  {
    Dropped net;
    Trained model(net, {}, adam());
    load_training(folder / "first.safetensors", model);
    model.train(3, data(), SaveAt{14, folder / "second.safetensors"});
  }
  Dropped net;
  Trained model(net, {}, adam());
  load_training(folder / "second.safetensors", model);
  History history;
  model.train(3, data(), history);
  CHECK(history.epoch == std::vector<long>{3});
}

TEST_CASE("a file is not loaded in a hook of a training") {
  const Folder folder;
  Dropped net;
  Trained model(net, {}, adam());
  save_training(model, folder / "run.safetensors");
  LoadsInHook loads{folder / "run.safetensors"};
  CHECK_THROWS_WITH_AS(model.train(1, data(), loads), doctest::Contains("cannot be loaded in a hook of a training"),
                       RuntimeError);
  CHECK(model.global_step() == 1);
}

TEST_CASE("a run that was saved before its first step, resumed with StopAtLoss, takes its steps") {
  const Folder folder;
  set_context({.mode = Mode::graph, .seed = 11});
  {
    Dropped net;
    Trained model(net, {}, adam());
    SaveFirst saver{folder / "run.safetensors"};
    model.train(1, data(), saver);
  }
  Dropped net;
  Trained model(net, {}, adam());
  load_training(folder / "run.safetensors", model);
  model.train(2, data(), StopAtLoss{.loss = 1e-6});
  CHECK(model.global_step() == 12);
}

TEST_CASE("a second run that was saved before its first step has no loss of the run before") {
  const Folder folder;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 11});
    {
      Dropped net;
      Trained model(net, {}, adam());
      model.train(1, data());
      SaveFirst saver{folder / "run.safetensors"};
      model.train(1, data(), saver, StopAtLoss{.loss = 0});
    }
    Dropped net;
    Trained model(net, {}, adam());
    load_training(folder / "run.safetensors", model);
    model.train(2, data(), StopAtLoss{.loss = 100});
    CHECK(model.global_step() == 7);
  }
}

TEST_CASE("between runs: the next run is a new one, with the next order of the data") {
  const Folder folder;
  set_context({.mode = Mode::graph, .seed = 11});
  std::string expected;
  {
    Dropped net;
    Trained model(net, {}, adam());
    model.train(1, data(), StopAt{4});
    save_training(model, folder / "run.safetensors");
    model.train(2, data());
    expected = bits(net);
  }
  Dropped net;
  Trained model(net, {}, adam());
  load_training(folder / "run.safetensors", model);
  model.train(2, data());
  CHECK(bits(net) == expected);
}

TEST_CASE("loss scale and learning rate are saved, too") {
  const Folder folder;
  set_context({.mode = Mode::graph, .seed = 11});
  const auto make = [](auto& net) {
    return Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
                 amp<AmpLevel::O2>, DynamicLossScaleManager{.init_loss_scale = 65536, .scale_window = 3});
  };
  std::string expected;
  {
    Dropped net;
    auto model = make(net);
    model.train(1, data());
    model.optimizer().learning_rate = 0.05;
    save_training(model, folder / "run.safetensors");
    model.train(2, data());
    expected = bits(net);
  }
  Dropped net;
  auto model = make(net);
  load_training(folder / "run.safetensors", model);
  CHECK(model.optimizer().learning_rate.at(0) == 0.05f);
  model.train(2, data());
  CHECK(bits(net) == expected);
}

TEST_CASE("what is no training of this model is refused, and nothing has changed") {
  const Folder folder;
  Dropped net;
  Trained model(net, {}, adam());
  const std::string before = bits(net);
  CHECK_THROWS_AS(load_training(folder / "none.safetensors", model), RuntimeError);
  CHECK_THROWS_AS(save_training(model, folder / "run.ckpt"), ValueError);
  save_checkpoint(net, folder / "net.safetensors");
  CHECK_THROWS_WITH_AS(load_training(folder / "net.safetensors", model), doctest::Contains("holds no training"),
                       KeyError);
  Net other;
  Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}> another(
      other, {}, {.learning_rate = 0.1f, .momentum = 0.9f});
  another.train(1, ten());
  save_training(another, folder / "other.safetensors");
  CHECK_THROWS_AS(load_training(folder / "other.safetensors", model), Error);
  save_training(model, folder / "run.safetensors");
  std::string file;
  {
    std::ifstream in(folder / "run.safetensors", std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
  }
  {
    Dropped own;
    Model momentum(own, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
    save_training(momentum, folder / "momentum.safetensors");
    CHECK_THROWS_WITH_AS(load_training(folder / "momentum.safetensors", model),
                         doctest::Contains("holds a training of another network or optimizer"), KeyError);
  }
  std::ofstream(folder / "cut.safetensors", std::ios::binary) << file.substr(0, file.size() - 100);
  CHECK_THROWS_AS(load_training(folder / "cut.safetensors", model), RuntimeError);
  CHECK(bits(net) == before);
  CHECK(model.global_step() == 0);
}
