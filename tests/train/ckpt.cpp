// MindSpore's checkpoints of networks and trainings: by the suffix alone, in both modes, and those of MindSpore itself.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <algorithm>

#include <tenon/nn/nn.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#include <tenon/train/callback/save_best.hpp>
#include <tenon/train/ckpt.hpp>
#include <tenon/train/file/optimizer_state.hpp>

#include "../support/npz.hpp"
#include "small.hpp"

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
auto batches() { return samples(24) | dataset::shuffle(24) | dataset::batch(4); }  // 6 steps an epoch
std::string trained(Net& net, long epochs) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}};
  model.train(epochs, batches());
  return bits(net);
}
std::vector<std::string> files_of(const Folder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}
struct StopAt {
  long step;
  void on_train_step_end(RunInfo& run) {
    if (run.cur_step_num == step) run.request_stop();
  }
};
}  // namespace

TEST_CASE("the suffix decides: parameters go to a .ckpt and come back bit by bit") {
  const Folder folder;
  Net net;
  trained(net, 1);
  save_checkpoint(net, folder / "net.ckpt");
  const io::Ckpt file(folder / "net.ckpt");
  CHECK(file.tensors().size() == 4);
  CHECK(file.tensors()[0].name == "fc1.weight");  // in the order of the network
  const ContextScope scope({.seed = 5});
  Net fresh;
  load_checkpoint(folder / "net.ckpt", fresh);
  CHECK(bits(fresh) == bits(net));
  CHECK(has(message<ValueError>([&] { load_checkpoint(folder / "net.ckpt"); }), "io::Ckpt(path)"));
  CHECK(has(message<RuntimeError>([&] { load_checkpoint("there is no.ckpt", net); }), "No such file"));
  io::save_ckpt(folder / "other.ckpt", std::vector{file.tensors()[0]});
  CHECK(has(message<KeyError>([&] { load_checkpoint(folder / "other.ckpt", net); }), "Parameter 'fc1.bias' is not in"));
}

TEST_CASE("a training goes on from a .ckpt with the same bits, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const Folder folder;
    const ContextScope scope({.mode = mode, .seed = 11});
    Net whole;
    const std::string expected = trained(whole, 3);
    {
      Net net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}};
      model.train(3, batches(),
                  ModelCheckpoint("m", folder.path, {.save_checkpoint_steps = 4, .format = CheckpointFormat::ckpt}),
                  StopAt{9});
    }
    CHECK(files_of(folder) == std::vector<std::string>{"m-1_4.ckpt", "m-2_2.ckpt", "m-2_3.ckpt"});
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}};
    load_training(*latest_checkpoint("m", folder.path), model);
    model.train(3, batches());
    CHECK(bits(net) == expected);
  }
}

TEST_CASE("ModelCheckpoint: append_info counts on, the oldest files go, and a new run has a prefix of its own") {
  const Folder folder;
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  CheckpointConfig config{.keep_checkpoint_max = 2,
                          .format = CheckpointFormat::ckpt,
                          .append_info = {{"epoch_num"}, {"step_num", 100}, {"flag", true}, {"note", "first try"}}};
  model.train(1, batches(), ModelCheckpoint("m", folder.path, config));
  config.format = CheckpointFormat::safetensors;
  model.train(1, batches(), ModelCheckpoint("m", folder.path, config));
  CHECK(files_of(folder) ==
        std::vector<std::string>{"m-1_5.ckpt", "m-1_6.ckpt", "m_1-1_5.safetensors", "m_1-1_6.safetensors"});
  const io::Ckpt file(folder / "m-1_6.ckpt");
  CHECK(file.find("epoch_num")->as<std::int64_t>()[0] == 1);
  CHECK(file.find("step_num")->as<std::int64_t>()[0] == 106);
  CHECK(file.find("flag")->as<bool>()[0]);
  CHECK(file.find("moments.fc1.weight") != nullptr);
  CHECK(file.texts()[0].second == "first try");
  const io::Safetensors other = load_checkpoint(folder / "m_1-1_6.safetensors");
  CHECK(std::ranges::count(other.metadata(), std::pair<std::string, std::string>("flag", "true")) == 1);
  load_training(folder / "m-1_6.ckpt", model);
  load_training(folder / "m_1-1_6.safetensors", model);
  CHECK(has(message<KeyError>([&] { load_checkpoint(folder / "m-1_6.ckpt", net); }),
            "Tensor 'flag' is not among the parameters"));  // a number of the user's is none of the training's
  CHECK(load_checkpoint(folder / "m_1-1_6.safetensors", net).unexpected.empty());
  CHECK(load_checkpoint(folder / "m-1_6.ckpt", net, false).unexpected == std::vector<std::string>{"flag"});
}

namespace own {
TENON_EXACT_BEGIN
/// A mean of gradients, and how many steps it has seen: moments with names of their own.
struct ApplyMean : ops::MomentUpdate<ApplyMean, "Mean"> {
  template <auto config, class C>
  static void step(ops::UpdateNumbers<C> n, auto each) {
    each([=]<class V>(V g, V& p, V& mean, V& steps) __attribute__((always_inline)) {
      steps = steps + V(C(1));
      mean = mean + (g * n.scale - mean) / steps;
      p = p - n.rate * mean;
    });
  }
};
TENON_EXACT_END
struct Mean {
  nn::LearningRate learning_rate = 0.01;
  float weight_decay = 0, loss_scale = 1;
  std::vector<nn::ParameterGroup> groups{};
  static constexpr std::string_view name = "Mean";
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"mean", "steps"};
  void check() const {}
  void numbers(long, nn::Numbers&) const {}
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ApplyMean>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
  }
};
}  // namespace own

TEST_CASE("moments of an optimizer of one's own are told from parameters, in both formats") {
  const Folder folder;
  for (const std::string file : {"run.safetensors", "run.ckpt"}) {
    Net net, twice;
    const auto model_of = [](Net& of) { return Model{of, nn::SoftmaxCrossEntropyWithLogits{}, own::Mean{}}; };
    auto model = model_of(net);
    model.train(1, batches());
    save_training(model, folder / file);
    const std::string after_one = bits(net);
    model.train(1, batches());
    Net loaded;
    CHECK(load_checkpoint(folder / file, loaded).unexpected.empty());
    CHECK(bits(loaded) == after_one);
    auto resumed = model_of(twice);
    load_training(folder / file, resumed);
    resumed.train(1, batches());
    CHECK(bits(twice) == bits(net));
  }
}

TEST_CASE("the state of every optimizer is told from parameters") {
  const auto is_state = [&](const std::string& name, const io::SortedNames& names, bool several = false) {
    static float two[2];
    const std::int64_t extent = 2;
    return detail::is_optimizer_state({name, AnyTensor(Dtype::float32, {&extent, several ? 1u : 0u}, two)}, names);
  };
  const std::vector<std::string> held{"fc.weight", "head.fc.weight"};
  const io::SortedNames names(held);
  const auto each_slot = [&]<class... Optimizers>(std::type_identity<Optimizers>...) {
    const auto check = [&]<class O>(std::type_identity<O>) {
      if constexpr (O::slots > 0)
        for (const std::string_view slot : O::slot_names) {
          CAPTURE(slot);
          CHECK(is_state(text(slot, ".fc.weight"), names, true));
          CHECK_FALSE(is_state(text(slot, ".other.weight"), names, true));
        }
    };
    (check(std::type_identity<Optimizers>()), ...);
  };
  each_slot(std::type_identity<nn::SGD>(), std::type_identity<nn::Momentum>(), std::type_identity<nn::Adam>(),
            std::type_identity<nn::AdamWith<nn::AdamConfig{.use_amsgrad = true}>>(),
            std::type_identity<nn::AdamWeightDecay>(), std::type_identity<nn::AdaMax>(),
            std::type_identity<nn::LazyAdam>(), std::type_identity<nn::RMSProp>(),
            std::type_identity<nn::CenteredRMSProp>(), std::type_identity<nn::Adagrad>(),
            std::type_identity<nn::ProximalAdagrad>(), std::type_identity<nn::Adadelta>(),
            std::type_identity<nn::ASGD>(), std::type_identity<nn::Rprop>(), std::type_identity<nn::FTRL>(),
            std::type_identity<nn::Lamb>(), std::type_identity<nn::AdaFactor>());
  CHECK(is_state("global_step", names));
  CHECK(is_state("tenon.training", names, true));
  CHECK_FALSE(is_state("global_step", names, true));
  CHECK_FALSE(is_state("head.fc.weight", names, true));
  CHECK_FALSE(is_state("fc.weight", names, true));
  CHECK_FALSE(is_state("moment", names));
  CHECK_FALSE(is_state(" ", names));
}

TEST_CASE(
    "golden/ckpt: trainings that MindSpore saved give a network its parameters, and the optimizer's state stays") {
  if (!have_shared("golden/ckpt")) return;
  for (const std::string name : {"mlp_adam_train_cell", "mlp_momentum_append"}) {
    const std::string path = shared_folder() + "/golden/ckpt/" + name;
    Mlp net;
    if (name == "mlp_momentum_append")
      CHECK(has(message<KeyError>([&] { load_checkpoint(path + ".ckpt", net); }), "'flag' is not among"));
    const io::LoadReport left = load_checkpoint(path + ".ckpt", net, name == "mlp_adam_train_cell");
    CHECK(left.missing.empty());
    CHECK(left.mismatched.empty());
    const support::Npz arrays = support::load_npz(path + ".npz");
    for (const io::NamedTensor& parameter : named_parameters(net)) {
      CAPTURE(parameter.name);
      CHECK(std::string(static_cast<const char*>(parameter.tensor.data), parameter.tensor.bytes()) ==
            arrays[parameter.name].bytes);
    }
  }
}
#else
TEST_CASE("protozero") { support::say_skipped("protozero is not installed, checkpoints of MindSpore were not tested"); }
#endif
