// ResNet-18 on 32 x 32 images: steps of training and forward passes, for benchmarks/groups/resnet.py.
#include "../models/resnet18.hpp"
#include "classifier.hpp"

using namespace tenon;
using Image = Shape<3, 32, 32>;
using WinogradResNet18 = models::ResNet18By<ConvAlgorithm::winograd>;

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    const auto make = []<class Net>(std::type_identity<Net>, const std::string& weights, const std::string& name,
                                    Mode mode) {
      const long batch = benchmark::last_number(name);
      return name.find("/train/") != name.npos ? benchmark::training<Net, Image>(weights, mode, batch, 10)
                                               : benchmark::forward<Net>(weights, mode, batch, Image{});
    };
    const std::string weights = benchmark::initial_weights<models::ResNet18>(folder, "resnet18");
#if defined(BENCHMARK_AMP)  // for a GPU a program of its own: nvcc takes minutes
    return [=](const std::string& name, const std::string& variant) {
      return benchmark::training<models::ResNet18, Image, Amp<AmpLevel::O2>>(weights, benchmark::mode_of(variant),
                                                                             benchmark::last_number(name), 10);
    };
#elif defined(TENON_TARGET)  // nvcc takes minutes for the others, which benchmarks/cuda.py does not ask for
    return [=](const std::string& name, const std::string& variant) {
      return make(std::type_identity<models::ResNet18>(), weights, name, benchmark::mode_of(variant));
    };
#else
    return [=, winograd_weights = benchmark::initial_weights<WinogradResNet18>(folder, "resnet18-winograd")](
               const std::string& name, const std::string& variant) {
      const Mode mode = benchmark::mode_of(variant);
      if (name.starts_with("resnet18-winograd/"))
        return make(std::type_identity<WinogradResNet18>(), winograd_weights, name, mode);
      if (name.find("/amp/") != name.npos)
        return benchmark::training<models::ResNet18, Image, Amp<AmpLevel::O2>>(weights, mode,
                                                                               benchmark::last_number(name), 10);
      return make(std::type_identity<models::ResNet18>(), weights, name, mode);
    };
#endif
  });
}
