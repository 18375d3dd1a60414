// What the founding documents say of checkpoints, in C++: what they are for, which files stay, and how many parameters
// there are.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <tenon/core/tensor/compare.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>

#include "../support/console.hpp"
#include "../support/models.hpp"
#include "../train/small.hpp"

using small::Net, small::samples;
using namespace tenon;
namespace fs = std::filesystem;

namespace {
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}>;
nn::Momentum momentum() { return {.learning_rate = 0.1f, .momentum = 0.9f}; }
auto four_steps() { return samples(12) | dataset::batch(3); }

/// Document 001.
template <class Network>
long count_params(const Network& net) {
  long total_params = 0;
  for (const ParameterRef& param : net.trainable_params()) {
    long product = 1;
    const AnyTensor view = param.view();
    for (const auto extent : view.shape()) product *= extent;
    total_params += product;
  }
  return total_params;
}

/// The checkpoints that a script of golden/console found at its end, with the suffix of Tenon's.
std::vector<std::string> files_there(const std::string& name) {
  std::istringstream lines(support::console(name, "stdout"));
  std::vector<std::string> files;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("FILE ") && line.find(".ckpt ") != std::string::npos)
      files.push_back(line.substr(5, line.find(".ckpt ") - 5) + ".safetensors");
  return files;
}
std::vector<std::string> files_here(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  return files;
}
}  // namespace

TEST_CASE("how many parameters: of the network, and of a file without what the optimizer keeps") {
  const support::LeNet lenet;
  CHECK(count_params(lenet) == 61706);  // 5 5 6 + 6 + 5 5 6 16 + 16 + 400 120 + 120 + 120 84 + 84 + 84 10 + 10
  Net net;
  Trained model(net, {}, momentum());
  model.train(1, four_steps());
  save_training(model, "counted.safetensors");
  long all = 0, trained = 0;
  const io::Safetensors file = load_checkpoint("counted.safetensors");
  for (const io::NamedTensor& parameter : file.tensors()) {
    all += parameter.tensor.count();
    if (!parameter.name.starts_with("moments.") && !parameter.name.starts_with("tenon."))
      trained += parameter.tensor.count();
  }
  CHECK(count_params(net) == 3 * 8 + 8 + 8 * 2 + 2);
  CHECK(trained == count_params(net));
  CHECK(all > 2 * trained);
}

TEST_CASE("a checkpoint serves to go on with a training, and to predict") {
  fs::remove_all("again");
  const auto x = Tensor<float, Shape<dyn, 3>>::from({1, 2, 3, -1, -2, -3});
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 1});
    Net whole, first, second, loaded;
    Trained(whole, {}, momentum()).train(3, four_steps());

    ModelCheckpoint ckpt_cb("CKP", "again", {.save_checkpoint_steps = 4});
    Trained before(first, {}, momentum());
    before.train(2, four_steps(), ckpt_cb);
    load_checkpoint(ckpt_cb.latest_ckpt_file_name(), loaded, false);
    CHECK(bit_equal(Model{loaded}.predict(x), before.predict(x)));

    Trained after(second, {}, momentum());
    load_training(ckpt_cb.latest_ckpt_file_name(), after);
    after.train(3, four_steps());  // to the end of the third epoch
    CHECK(small::bits(second) == small::bits(whole));
  }
}

TEST_CASE("ModelCheckpoint leaves the files that MindSpore's leaves") {
  if (!support::have_shared("golden/console")) return;
  fs::remove_all("kept");
  const auto run = [](const std::string& folder, std::string_view prefix, long epochs, const CheckpointConfig& config) {
    Net net;
    Trained(net, {}, momentum()).train(epochs, four_steps(), ModelCheckpoint(prefix, folder, config));
  };
  run("kept/every", "CKP", 2, {.save_checkpoint_steps = 1, .keep_checkpoint_max = 3});
  CHECK(files_here("kept/every") == files_there("checkpoint_every_step.graph"));
  run("kept/third", "m", 2, {.save_checkpoint_steps = 3, .keep_checkpoint_max = 10});
  CHECK(files_here("kept/third") == files_there("checkpoint_n_steps.pynative"));
  for (int i = 0; i < 3; ++i) run("kept/runs", "m", 1, {.save_checkpoint_steps = 4, .keep_checkpoint_max = 2});
  CHECK(files_here("kept/runs") == files_there("checkpoint_second_run.pynative"));
}
