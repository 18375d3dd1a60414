// Trains networks in eight shards on the ranks that mpirun has started, in both modes. Each rank prints a line per
// network and mode with a number of all its weights, moments, and losses: tests/dist/networks.sh compares the lines.
//
//     program CPU|GPU [large|slices]     large: ResNet-18, too; slices: a network in two slices, on half as many
//                                        replicas as there are ranks; $BACKEND=nccl: by an emulated NCCL;
//                                        $DIVIDED: ranks divide the moments
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/dist.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../../../benchmarks/models/resnet18.hpp"
#include "../../support/models.hpp"
#include "../../support/outcome.hpp"
#include "../../target/networks.hpp"
#include "../reader.hpp"
#include "../words.hpp"
#if defined(TENON_TARGET)
#include <tenon/backend/cuda/nccl.hpp>

#include "../../support/cuda/emulated_nccl.hpp"
#endif

using namespace tenon;

namespace {

const char* replicas = dist::world_group;

template <class Net>
void train(const char* name, long epochs, const auto& data, const auto& optimizer, const auto&... parts) {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 11});
    Net net;
    const dist::Communicator group = dist::communicator(replicas);
    const bool divided = std::getenv("DIVIDED") != nullptr;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, parts...,
                dist::DataParallel{.shards = 8, .group = group, .parallel_optimizer = divided}};
    std::vector<double> losses;
    support::Losses monitor{losses};
    model.train(epochs, data, monitor);
    std::uint64_t number = hash_bytes(reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double));
    for (const auto& tensors : {named_parameters(net), model.optimizer_state()})
      for (const auto& [name, tensor] : tensors)
        number = hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), number);
    std::printf("%-15s %-8s loss %.4f to %.4f, weights %016llx\n", name, mode == Mode::graph ? "graph" : "pynative",
                losses.front(), losses.back(), static_cast<unsigned long long>(number));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** words) try {
  set_context({.device_target = count > 1 ? words[1] : "CPU", .num_threads = 1});
#if defined(TENON_TARGET)
  if (std::getenv("BACKEND")) emulator::devices = 8;
#endif
  dist::init(std::getenv("BACKEND") ? std::getenv("BACKEND") : "mpi");
  const nn::Momentum momentum{.learning_rate = 0.05f, .momentum = 0.9f};
  const nn::Adam adam{.learning_rate = 0.01f};
  const std::string_view what = count > 2 ? words[2] : "";
  if (what == "slices") {
    dist::create_mesh({{"replicas", dist::get_group_size() / 2}, {"slices", 2}});
    replicas = "replicas";
    train<slices::Words<2>>(text("slice ", dist::get_rank("slices")).c_str(), 4,
                            slices::sentences(46) | dataset::batch(23), nn::ClipByGlobalNorm{adam, 0.1f},
                            FixedLossScaleManager<true>{.loss_scale = 4});
    return 0;
  }
  const auto bands = []<class Image>(Image, long samples, long batch) {
    return support::bands<Image>(samples) | dataset::batch(batch);
  };
  train<support::LeNet>("LeNet", 3, bands(Shape<1, 28, 28>{}, 38, 19), momentum);
  train<support::SmallResNet>("SmallResNet", 4, bands(Shape<3, 8, 8>{}, 46, 23),
                              nn::ClipByGlobalNorm{adam, 1.0f});  // batch norm, dropout, clipping
  train<target_test::LanguageModel>("LanguageModel", 4, target_test::texts(26, 13), adam);
  train<shards::Reader<12>>("LSTM", 4, bands(Shape<6, 12>{}, 26, 13), adam);
  train<support::LeNet>("LeNet, float16", 2, bands(Shape<1, 28, 28>{}, 38, 19), momentum, amp<AmpLevel::O2, float16>,
                        DynamicLossScaleManager{.scale_window = 3});
  if (what == "large") train<models::ResNet18>("ResNet-18", 1, bands(Shape<3, 32, 32>{}, 34, 17), momentum);
  std::fprintf(stderr, "rank %d of %d on %s\n", dist::get_rank(), dist::get_group_size(),
               get_context().device_target.c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
