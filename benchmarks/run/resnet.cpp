// ResNet-18 on 32 x 32 images: steps of training and forward passes, for benchmarks/groups/resnet.py.
#include "../models/resnet18.hpp"
#include "classifier.hpp"

using namespace tenon;
using Image = Shape<3, 32, 32>;

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    return [weights = benchmark::initial_weights<models::ResNet18>(folder, "resnet18")](const std::string& name, const std::string& variant) {
      const long batch = benchmark::last_number(name);
      const Mode mode = benchmark::mode_of(variant);
      if (name.find("/train/") != name.npos) return benchmark::training<models::ResNet18, Image>(weights, mode, batch, 10);
      if (name.find("/amp/") != name.npos) return benchmark::training<models::ResNet18, Image, Amp<AmpLevel::O2>>(weights, mode, batch, 10);
      return benchmark::forward<models::ResNet18>(weights, mode, batch, Image{});
    };
  });
}
