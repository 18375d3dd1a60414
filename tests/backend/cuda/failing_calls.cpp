// Each call of CUDA that a training makes fails once: the training ends with one sentence, nothing leaks, and the next
// training has the CPU's weights. A list from the sources says that no function was left out.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include <tenon/dataset/map/map.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../../target/networks.hpp"

using namespace tenon;

#if defined(TENON_CUDA_EMULATOR)  // hardware does not fail when it is told to
namespace {

template <int kind>  // each is another program
struct Net : nn::Cell<Net<kind>> {
  nn::Dense<230, 3> fc;
  constexpr auto construct(auto x) const { return relu(fc(x)); }
};

/// The weights after a training in which steps are recorded and replayed.
template <int kind = 0>
std::vector<float> trained(std::string_view target) {
  const ContextScope scope({.device_target = target, .seed = 3});
  Net<kind> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  const auto data = target_test::images<230>(20, 4, 3);  // whose rows the GPU gathers
  model.train(1, data | dataset::take(3));
  model.train(1, data | dataset::map<0>([](float x) { return x; }));  // copies of rows beside kernels
  static_cast<void>(model.predict(Tensor<float, Shape<dyn, 230>>::zeros(1)).data());
  std::vector<float> weights;
  for (const auto& [name, tensor] : named_parameters(net))
    weights.insert(weights.end(), static_cast<const float*>(tensor.data),
                   static_cast<const float*>(tensor.data) + tensor.count());
  return weights;
}
/// A sum on the GPU.
void add() {
  const ContextScope scope({.device_target = "GPU"});
  const auto x = Tensor<float, Shape<4>>::full(4);
  static_cast<void>((x + x).data());
}

/// Lets each call of run() fail, one after the other. recovered() says whether the next run is right.
template <class Run, class Recovered>
void fail_each(Run run, Recovered recovered) {
  int unreached = 0;  // some runs have a few calls less than others
  for (long after = 0; unreached < 8; ++after) {
    emulator::calls_until_failure = after;
    std::string message;
    try {
      run();
    } catch (const Error& e) {
      message = e.what();
    }
    const bool reached = emulator::calls_until_failure < 0;
    emulator::calls_until_failure = -1;
    if (!reached) {
      ++unreached;
      continue;
    }
    if (!message.empty()) {
      CAPTURE(message);
      CHECK(message.find("GPU") != message.npos);
      CHECK(message.find('\n') == message.npos);
    }
    CAPTURE(after);
    CHECK(recovered());
  }
}

/// The functions of CUDA's runtime that the target calls on the host.
std::set<std::string> called_functions() {
  const auto root = std::filesystem::path(std::source_location::current().file_name()).parent_path() / "../../..";
  const std::set<std::string> others{"cudaGetLastError",
                                     "cudaGetErrorName",
                                     "cudaGetErrorString",  // cannot fail
                                     "cudaGetDeviceCount",
                                     "cudaMemGetInfo",                       // in setup.cpp
                                     "cudaStreamQuery",                      // in few_bytes.cpp
                                     "cudaFuncSetAttribute",                 // the emulator has no such limit
                                     "cudaOccupancyMaxActiveClusters",       // of large layers
                                     "cudaThreadExchangeStreamCaptureMode",  // of Math::tf32
                                     "cudaTriggerProgrammaticLaunchCompletion",
                                     "cudaGridDependencySynchronize"};  // in kernels
  std::set<std::string> names;
  const std::regex call(R"(\b(cuda[A-Z]\w*)\()");
  for (const auto& file : std::filesystem::recursive_directory_iterator(root / "include/tenon/backend/cuda")) {
    if (file.path().extension() != ".hpp" || file.path().parent_path().filename() == "nccl") continue;  // dist/nccl.sh
    std::ifstream stream(file.path());
    REQUIRE(stream);
    for (std::string line; std::getline(stream, line);)
      for (std::sregex_iterator at(line.begin(), line.end(), call), end; at != end; ++at)
        if (const std::string name = (*at)[1]; !others.contains(name)) names.insert(name);
  }
  return names;
}

}  // namespace

TEST_CASE("every call of the first use of a GPU fails once: nothing stays") {
  const auto nothing_left = [] { return kernel::cuda::used || emulator::alive == emulator::failed_frees; };
  fail_each(add, nothing_left);
  CHECK(kernel::cuda::used);
}

TEST_CASE("every call of a training fails once") {
  kernel::cuda::most_recorded() = 64;
  const std::vector<float> expected = trained("CPU");
  const auto right = [&] { return trained("GPU") == expected; };
  fail_each([] { trained("GPU"); }, right);
  const long alive = emulator::alive, frees = emulator::failed_frees;
  fail_each([] { trained("GPU"); }, right);  // as many recordings as are kept are there by now
  // what could not be given back, because a test said so, is still there
  CHECK(emulator::alive - alive <= emulator::failed_frees - frees);
  CHECK(emulator::executables <= 64);
  // A training whose blocks have the addresses of an earlier one replays what that recorded. One of another program
  // records anew, until a recording is complete.
  for (const std::string& name : called_functions()) {
    CAPTURE(name);
    if (emulator::failed_calls.contains(name)) continue;
    emulator::failing_function = name;
    try {
      trained<1>("GPU");
    } catch (const Error& e) {
      CHECK(std::string(e.what()).find("GPU") != std::string::npos);
    }
    CHECK(emulator::failed_calls.contains(name));
    emulator::failing_function.clear();
  }
  CHECK(right());
}
#endif
