// What the founding documents say of checkpoints, in C++: what they are for, which files stay, how many parameters
// there are, and those of PyTorch.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include <tenon/core/tensor/compare.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#include <tenon/train/convert_checkpoint.hpp>
#include <tenon/train/load_param_into_net.hpp>
#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/train/ckpt.hpp>
#endif

#include "../support/console.hpp"
#include "../support/models.hpp"
#include "../support/printed.hpp"
#include "../train/small.hpp"
#include "../train/steering_torch.hpp"

using small::Net, small::samples;
using namespace tenon;
namespace fs = std::filesystem;

namespace {
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}>;
nn::Momentum momentum() { return {.learning_rate = 0.1f, .momentum = 0.9f}; }
auto four_steps() { return samples(12) | dataset::batch(3); }

// The documents' files are MindSpore's, for which protozero is needed.
#if __has_include(<protozero/pbf_reader.hpp>)
constexpr CheckpointFormat format = CheckpointFormat::ckpt;
const std::string suffix = ".ckpt";
#else
constexpr CheckpointFormat format = CheckpointFormat::safetensors;
const std::string suffix = ".safetensors";
#endif

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

/// The checkpoints that a script of golden/console found at its end, with the suffix of those here.
std::vector<std::string> files_there(const std::string& name) {
  std::istringstream lines(support::console(name, "stdout"));
  std::vector<std::string> files;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("FILE ") && line.find(".ckpt ") != std::string::npos)
      files.push_back(line.substr(5, line.find(".ckpt ") - 5) + suffix);
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
  long all = 0;
  const io::Safetensors file = load_checkpoint("counted.safetensors");
  for (const io::NamedTensor& parameter : file.tensors()) all += parameter.tensor.count();
  CHECK(count_params(net) == 3 * 8 + 8 + 8 * 2 + 2);
  CHECK(parameter_count("counted.safetensors") == count_params(net));
  CHECK(all > 2 * count_params(net));
}

TEST_CASE("a checkpoint serves to go on with a training, and to predict") {
  fs::remove_all("again");
  const auto x = Tensor<float, Shape<dyn, 3>>::from({1, 2, 3, -1, -2, -3});
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 1});
    Net whole, first, second, loaded;
    Trained(whole, {}, momentum()).train(3, four_steps());

    ModelCheckpoint ckpt_cb("CKP", "again", {.save_checkpoint_steps = 4, .format = format});
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
  run("kept/every", "CKP", 2, {.save_checkpoint_steps = 1, .keep_checkpoint_max = 3, .format = format});
  CHECK(files_here("kept/every") == files_there("checkpoint_every_step.graph"));
  run("kept/third", "m", 2, {.save_checkpoint_steps = 3, .keep_checkpoint_max = 10, .format = format});
  CHECK(files_here("kept/third") == files_there("checkpoint_n_steps.pynative"));
  for (int i = 0; i < 3; ++i)
    run("kept/runs", "m", 1, {.save_checkpoint_steps = 4, .keep_checkpoint_max = 2, .format = format});
  CHECK(files_here("kept/runs") == files_there("checkpoint_second_run.pynative"));
}

namespace {
/// Names and arrays, as one has them of another framework.
struct Arrays {
  std::vector<std::vector<float>> values;
  std::vector<io::NamedTensor> named;

  void add(const std::string& name, std::vector<std::int64_t> shape, std::span<const float> elements) {
    std::vector<float>& copy = values.emplace_back(elements.begin(), elements.end());
    named.push_back({name, AnyTensor(Dtype::float32, shape, copy.data())});
  }
};
Arrays torch_parameters() {
  Arrays all;
  all.add("fc1.weight", {8, 3}, torch_numbers::mlp_fc1_weight);
  all.add("fc1.bias", {8}, torch_numbers::mlp_fc1_bias);
  all.add("fc2.weight", {2, 8}, torch_numbers::mlp_fc2_weight);
  all.add("fc2.bias", {2}, torch_numbers::mlp_fc2_bias);
  return all;
}
/// All samples of tests/train/steering_numbers.py.
Tensor<float, Shape<dyn, 3>> torch_input() {
  return Tensor<float, Shape<dyn, 3>>::from(
      {2, -1, 0.5f, 1, 3, -2, -1.5f, 0.5f, 4, 0.25f, -2, 1, 3, 1, 1, -2, -3, 0.5f, 1, 0, -1, 0.5f, 2.5f, 1.5f});
}
void check_predicts_as_torch(const Net& net) {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const auto y = Model{net}.predict(torch_input());
    REQUIRE(y.values().size() == std::size(torch_numbers::mlp_output));
    for (std::size_t i = 0; i < y.values().size(); ++i)
      CHECK(std::fabs(y.values()[i] - torch_numbers::mlp_output[i]) <= 1e-6f);
  }
}
}  // namespace

TEST_CASE("a model of PyTorch: its names and arrays are saved, loaded, and predict the same numbers") {
  const Arrays parameter_dict = torch_parameters();
  save_checkpoint(parameter_dict.named, "torch" + suffix);
  Net net;
  load_checkpoint("torch" + suffix, net);
  check_predicts_as_torch(net);
  CHECK(parameter_count("torch" + suffix) == 50);

  io::save_npz("torch.npz", parameter_dict.named);  // what numpy.savez writes
  convert_checkpoint("torch.npz", "converted" + suffix);
  Net converted;
  load_checkpoint("converted" + suffix, converted);
  CHECK(small::bits(converted) == small::bits(net));
}

TEST_CASE("names of another framework that do not match are told with the nearest ones") {
  Arrays parameter_dict = torch_parameters();
  parameter_dict.named[2].name = "fc2.weights";
  Net net;
  io::LoadReport left;
  const std::string told = support::printed_to(stderr, [&] { left = load_param_into_net(net, parameter_dict.named); });
  CHECK(left.missing == std::vector<std::string>{"fc2.weight"});
  CHECK(left.unexpected == std::vector<std::string>{"fc2.weights"});
  CHECK(told.find("[WARNING]") == 0);
  CHECK(told.find("1 parameters in the net are not loaded.") != told.npos);
  CHECK(told.find("Parameter 'fc2.weight' is not in the file. Did you mean 'fc2.weights'?") != told.npos);
  for (io::NamedTensor& parameter : parameter_dict.named) parameter.name = "module." + parameter.name;
  parameter_dict.named[2].name = "module.fc2.weight";  // as torch.nn.DataParallel names them
  CHECK(load_param_into_net(net, parameter_dict.named).missing.empty());
  check_predicts_as_torch(net);
}
