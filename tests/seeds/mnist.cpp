// The founding documents' LeNet in C++: the checkpoint of the highest accuracy, and a prediction of one's own image.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>

#include <tenon/tenon.hpp>
#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/train/ckpt.hpp>
#endif

#include "../support/models.hpp"
#include "../support/sanitized.hpp"
#include "../support/shared.hpp"
#include "../train/callback/output.hpp"

using namespace tenon;
using support::LeNet;

namespace {
// The document's file is MindSpore's, for which protozero is needed.
#if __has_include(<protozero/pbf_reader.hpp>)
const std::string suffix = ".ckpt";
#else
const std::string suffix = ".safetensors";
#endif

/// Document 002. There the Model is an argument, too; here the run knows it.
template <class Data>
struct SaveCallback {
  const Data& eval_dataset;
  double acc = 0.5;

  void step_end(auto& run_context) {
    const EvalResult result = run_context.model.eval(eval_dataset);
    if (result["accuracy"] > acc) {
      acc = result["accuracy"];
      const std::string file_name = text(acc, suffix);
      save_checkpoint(run_context.model.network(), file_name);
      std::printf("Save the maximum accuracy checkpoint,the accuracy is %s\n", text(acc).c_str());
    }
  }
};

auto model_of(LeNet& network) {
  return Model{pinned<Mode::graph>, network, nn::SoftmaxCrossEntropyWithLogits{},
               nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}, nn::Accuracy{}};
}

void save_the_best(const auto& train, const auto& test) {
  const ContextScope scope({.mode = Mode::graph, .seed = 1});
  const auto ds_train = train | dataset::take(256 * 32) | dataset::batch(32);
  const auto ds_eval = test | dataset::take(support::sanitized ? 32 : 256) | dataset::batch(32);
  LeNet network;
  auto model = model_of(network);
  const std::string output = printed([&] { model.train(1, ds_train, SaveCallback<decltype(ds_eval)>{ds_eval}); });

  const std::regex line("Save the maximum accuracy checkpoint,the accuracy is (0\\.\\d+|1)\n");
  double best = 0.5;
  std::string rest = output, last;
  for (std::smatch found; std::regex_search(rest, found, line, std::regex_constants::match_continuous);
       rest = found.suffix()) {
    last = found[1];
    CHECK(std::stod(last) > best);
    best = std::stod(last);
    CHECK(std::filesystem::exists(last + suffix));
  }
  CHECK(rest.empty());
  CHECK(best > 0.5);
  LeNet loaded;
  load_checkpoint(last + suffix, loaded);
  CHECK(model_of(loaded).eval(ds_eval)["accuracy"] == doctest::Approx(best).epsilon(1e-5));
}
}  // namespace

TEST_CASE("the checkpoint of the highest accuracy, on drawn digits") {
  save_the_best(dataset::Digits{}, dataset::Digits{.usage = dataset::Usage::test, .size = 10000});
}

TEST_CASE("the checkpoint of the highest accuracy, on MNIST") {
  const std::string folder = support::real_mnist();
  if (folder.empty()) return;
  save_the_best(dataset::Mnist(folder, dataset::Usage::train), dataset::Mnist(folder, dataset::Usage::test));
}

TEST_CASE("an image of 28 x 28 pixels, white on black, is one channel of one sample") {
  const ContextScope scope({.mode = Mode::graph, .seed = 1});
  LeNet network;
  auto model = model_of(network);
  model.train(1, dataset::Digits{.size = 10000} | dataset::batch(32));

  auto colours = Tensor<float, Shape<3, 28, 28>>::zeros();  // a one in white, from a file of three channels
  for (int channel = 0; channel < 3; ++channel)
    for (int row = 5; row < 23; ++row)
      for (const int column : {13, 14}) colours.values()[std::size_t((channel * 28 + row) * 28 + column)] = 1;
  const auto gray = ops::reduce_mean<0>(colours);
  static_assert(std::is_same_v<decltype(gray), const Tensor<float, Shape<28, 28>>>);
  const auto image = ops::expand_dims<0>(ops::expand_dims<0>(gray));
  static_assert(std::is_same_v<decltype(image), const Tensor<float, Shape<1, 1, 28, 28>>>);
  CHECK(model.predict(image).template argmax<-1>().data()[0] == 1);
}
