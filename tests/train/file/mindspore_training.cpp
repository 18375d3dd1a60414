// Trainings of MindSpore go on here, and Tenon's there: names, numbers, and the same bits behind a file that has
// MindSpore's names alone.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <algorithm>
#include <cmath>

#include <tenon/nn/nn.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#include <tenon/train/ckpt.hpp>

#include "../../support/logged.hpp"
#include "../../support/npz.hpp"
#include "../small.hpp"

using namespace small;
using support::have_shared, support::shared_folder, support::Folder, support::message, support::has;

namespace {
/// As in golden/ckpt.
struct Mlp : nn::Cell<Mlp> {
  nn::Dense<5, 6> fc1;
  nn::BatchNorm1d<6> bn;
  nn::Dense<6, 3> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(bn(fc1(x)))); }
};
auto batches() { return samples(24) | dataset::batch(4); }  // 6 steps an epoch
/// A copy of a checkpoint without what only Tenon reads, and with each name as `renamed` has it.
template <class Renamed>
void strip(const std::string& from, const std::string& to, Renamed renamed) {
  const io::Ckpt file(from);
  std::vector<io::NamedTensor> kept;
  for (io::NamedTensor named : file.tensors())
    if (!named.name.starts_with("tenon.")) named.name = renamed(named.name), kept.push_back(named);
  io::save_ckpt(to, kept);
}
void strip(const std::string& from, const std::string& to) {
  strip(from, to, [](const std::string& name) { return name; });
}
/// Trains for two epochs, and for one that a stripped file continues: the same weights.
template <class Optimizer, class Renamed>
void continues(const Optimizer& optimizer, Renamed renamed) {
  const Folder folder;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    CAPTURE(mode);
    const ContextScope scope({.mode = mode, .seed = 5});
    std::string expected;
    {
      Net net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
      model.train(1, batches());
      save_training(model, folder / "ours.ckpt");
      model.train(1, batches());
      expected = bits(net);
    }
    strip(folder / "ours.ckpt", folder / "theirs.ckpt", renamed);
    Optimizer other = optimizer;
    if (other.learning_rate.is_number()) other.learning_rate = 0.5;  // the file's counts
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, other};
    load_training(folder / "theirs.ckpt", model);
    CHECK(model.global_step() == 6);
    model.train(1, batches());
    CHECK(model.global_step() == 12);
    CHECK(bits(net) == expected);
  }
}
std::string same_name(const std::string& name) { return name; }
}  // namespace

TEST_CASE("golden/ckpt: a training of MindSpore is one here, to the bit, and goes on") {
  if (!have_shared("golden/ckpt")) return;
  const std::string folder = shared_folder() + "/golden/ckpt/";
  const auto check = [&](const std::string& name, auto model_of, long step, double rate) {
    CAPTURE(name);
    Mlp net;
    auto model = model_of(net);
    load_training(folder + name + ".ckpt", model);
    CHECK(model.global_step() == step);
    CHECK(model.optimizer().learning_rate.at(0) == doctest::Approx(rate));
    const support::Npz arrays = support::load_npz(folder + name + ".npz");
    for (const std::vector<io::NamedTensor>& tensors : {named_parameters(net), model.optimizer_state()})
      for (const io::NamedTensor& named : tensors) {
        CAPTURE(named.name);
        CHECK(std::string(static_cast<const char*>(named.tensor.data), named.tensor.bytes()) ==
              arrays[named.name].bytes);
      }
    // it says the same numbers as MindSpore's file
    const Folder out;
    save_training(model, out / "again.ckpt");
    const io::Ckpt theirs(folder + name + ".ckpt"), ours(out / "again.ckpt");
    for (const char* number : {"global_step", "learning_rate", "momentum", "beta1_power", "beta2_power"}) {
      CAPTURE(std::string(number));
      REQUIRE((theirs.find(number) == nullptr) == (ours.find(number) == nullptr));
      if (!ours.find(number)) continue;
      CHECK(ours.find(number)->dtype == theirs.find(number)->dtype);
      CHECK(std::ranges::equal(ours.find(number)->shape(), theirs.find(number)->shape()));
      if (ours.find(number)->dtype == Dtype::float32)
        CHECK(ours.find(number)->as<float>()[0] == doctest::Approx(theirs.find(number)->as<float>()[0]).epsilon(1e-5));
      else CHECK(ours.find(number)->as<std::int32_t>()[0] == step);
    }
  };
  check(
      "mlp_adam_train_cell",
      [](Mlp& net) { return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.5}}; }, 3,
      0.001);
  check(
      "mlp_momentum_append",
      [](Mlp& net) {
        return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.5f, .momentum = 0.9f}};
      },
      1, 0.1);
}

TEST_CASE("a file with MindSpore's names alone continues with the same bits, for each kind of state") {
  continues(nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}, same_name);
  continues(nn::Adam{.learning_rate = 0.01}, same_name);
  continues(nn::SGD{.learning_rate = 0.1f, .momentum = 0.9f}, same_name);
  // a schedule is a function of the step
  continues(nn::Momentum{.learning_rate = nn::exponential_decay_lr(0.1, 0.5, 12, 3, 1), .momentum = 0.9f}, same_name);
  // MindSpore calls Lamb's moments otherwise
  continues(nn::Lamb{.learning_rate = 0.01}, [](const std::string& name) {
    if (name.starts_with("moment1.")) return "lamb_m." + name.substr(8);
    return name.starts_with("moment2.") ? "lamb_v." + name.substr(8) : name;
  });
}

TEST_CASE("MindSpore has no moments of frozen parameters; what is missing otherwise is an error") {
  const Folder folder;
  const ContextScope scope({.seed = 5});
  const auto frozen = [](Net& net) { net.fc1.weight.requires_grad(false), net.fc1.bias.requires_grad(false); };
  const nn::Momentum momentum{.learning_rate = 0.1f, .momentum = 0.9f};
  std::string expected;
  {
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum};
    frozen(net);
    model.train(1, batches());
    save_training(model, folder / "ours.ckpt");
    model.train(1, batches());
    expected = bits(net);
  }
  {
    const io::Ckpt file(folder / "ours.ckpt");
    std::vector<io::NamedTensor> kept;
    for (const io::NamedTensor& named : file.tensors())
      if (!named.name.starts_with("tenon.") && !named.name.starts_with("moments.fc1.")) kept.push_back(named);
    io::save_ckpt(folder / "theirs.ckpt", kept);
  }
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum};
  CHECK(has(message<KeyError>([&] { load_training(folder / "theirs.ckpt", model); }), "moments.fc1.weight"));
  frozen(net);
  load_training(folder / "theirs.ckpt", model);
  model.train(1, batches());
  CHECK(bits(net) == expected);
}

TEST_CASE("a dynamic loss scale of MindSpore's goes on, too") {
  const Folder folder;
  const ContextScope scope({.seed = 5});
  const auto model_of = [](Net& net, float scale = 1024) {
    return Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
                 amp<AmpLevel::O2>, DynamicLossScaleManager{.init_loss_scale = scale, .scale_window = 4});
  };
  std::string expected;
  {
    Net net;
    auto model = model_of(net);
    model.train(1, batches());  // 6 steps: the scale is 2048, and doubles again after 2 more
    save_training(model, folder / "ours.ckpt");
    model.train(1, batches());
    expected = bits(net);
  }
  float scale = 2048;
  std::int32_t steps = 6, overflow = 0;
  const std::int64_t one = 1;
  const io::Ckpt file(folder / "ours.ckpt");
  std::vector<io::NamedTensor> kept;
  for (const io::NamedTensor& named : file.tensors())
    if (!named.name.starts_with("tenon.")) kept.push_back(named);
  kept.push_back({"scale_sense", AnyTensor(Dtype::float32, {&one, 1}, &scale)});
  kept.push_back({"current_iterator_step", AnyTensor(Dtype::int32, {&one, 1}, &steps)});
  kept.push_back({"last_overflow_iterator_step", AnyTensor(Dtype::int32, {&one, 1}, &overflow)});
  io::save_ckpt(folder / "theirs.ckpt", kept);
  Net net;
  auto model = model_of(net);
  load_training(folder / "theirs.ckpt", model);
  save_training(model, folder / "again.ckpt");
  const io::Ckpt ours(folder / "ours.ckpt"), again(folder / "again.ckpt");
  CHECK(std::ranges::equal(ours.find("tenon.numbers")->as<double>().first(3),
                           again.find("tenon.numbers")->as<double>().first(3)));
  model.train(1, batches());
  CHECK(bits(net) == expected);

  Net used;  // by a training that has skipped updates, which the file's steps do not count
  auto skipping = model_of(used, 0x1p127f);
  std::vector<std::int32_t> labels(24);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 4 != 0;
  skipping.train(1, dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>(72, 1000.0f)),
                                         dataset::column<Shape<>>(labels)) |
                        dataset::batch(4));
  save_training(skipping, folder / "used.ckpt");
  const io::Ckpt before(folder / "used.ckpt");
  REQUIRE(before.find("tenon.numbers")->as<double>()[3] > 0);
  load_training(folder / "theirs.ckpt", skipping);
  CHECK(skipping.global_step() == 6);
  save_training(skipping, folder / "used.ckpt");
  const io::Ckpt after(folder / "used.ckpt");
  CHECK(after.find("tenon.numbers")->as<double>()[3] == 0);
  skipping.train(1, batches());
  CHECK(bits(used) == expected);
}

TEST_CASE("ours continue from a .ckpt as before, in the middle of a run, and a safetensors file has no such numbers") {
  const Folder folder;
  const ContextScope scope({.seed = 5});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01}};
  model.train(1, batches(),
              ModelCheckpoint("m", folder.path, {.save_checkpoint_steps = 4, .format = CheckpointFormat::ckpt}));
  save_training(model, folder / "run.safetensors");
  const io::Ckpt file(folder / "m-1_4.ckpt");
  CHECK(file.find("global_step")->as<std::int32_t>()[0] == 4);
  CHECK(file.find("beta1_power")->as<float>()[0] == doctest::Approx(std::pow(0.9, 4)));
  CHECK(load_checkpoint(folder / "run.safetensors").find("global_step") == nullptr);
  const std::string expected = bits(net);
  Net again;
  Model other{again, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01}};
  load_training(folder / "m-1_4.ckpt", other);
  other.train(1, batches());
  CHECK(bits(again) == expected);
}

TEST_CASE("values that a user appends go before the training's own") {
  const Folder folder;
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01}};
  model.train(1, batches());
  save_training(model, folder / "run.ckpt", {{"learning_rate", 0.25}, {"epoch_num", 7}});
  const io::Ckpt file(folder / "run.ckpt");
  CHECK(file.find("learning_rate")->as<float>()[0] == 0.25f);
  CHECK(std::ranges::count(file.tensors(), "learning_rate", &io::NamedTensor::name) == 1);
  load_training(folder / "run.ckpt", model);
  CHECK(model.optimizer().learning_rate.at(0) == 0.01f);  // Tenon's own number
}

TEST_CASE("what is no training of this model is refused in a sentence, and nothing has changed") {
  const Folder folder;
  const ContextScope scope({.seed = 5});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  model.train(1, batches());
  save_training(model, folder / "ours.ckpt");
  strip(folder / "ours.ckpt", folder / "momentum.ckpt");
  strip(folder / "ours.ckpt", folder / "no_step.ckpt",
        [](const std::string& name) { return name == "global_step" ? std::string("step") : name; });
  {
    const io::Ckpt file(folder / "momentum.ckpt");
    std::vector<io::NamedTensor> tensors(file.tensors().begin(), file.tensors().end());
    std::int32_t step = -7;
    for (io::NamedTensor& named : tensors)
      if (named.name == "global_step") named.tensor.data = &step;
    io::save_ckpt(folder / "damaged.ckpt", tensors);
  }
  Net fresh;
  Model adam{fresh, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01}};
  const std::string before = bits(fresh);
  CHECK(has(message<KeyError>([&] { load_training(folder / "momentum.ckpt", adam); }),
            "holds a training of another network or optimizer"));
  CHECK(has(message<KeyError>([&] { load_training(folder / "momentum.ckpt", adam); }), "moment1.fc1.weight"));
  CHECK(
      has(message<KeyError>([&] { load_training(folder / "no_step.ckpt", adam); }), "no 'global_step' of MindSpore's"));
  CHECK(has(message<ValueError>([&] { load_training(folder / "damaged.ckpt", model); }), "the global_step of its"));
  CHECK(bits(fresh) == before);
  CHECK(adam.global_step() == 0);
  // another momentum is a warning, not an error: it may be meant
  const std::string said = support::logged({}, [&] {
    Net other;
    Model with_less{other, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.5f}};
    load_training(folder / "momentum.ckpt", with_less);
  });
  CHECK(has(said, "was trained with another optimizer: its momentum is 0.9, and 0.5 here"));
}
#else
TEST_CASE("protozero") { support::say_skipped("protozero is not installed, checkpoints of MindSpore were not tested"); }
#endif
