// LeNet-5: steps of training and forward passes, for benchmarks/groups/lenet.py.
#include "../models/lenet.hpp"
#include "classifier.hpp"

using namespace tenon;
using models::LeNet;

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    return [weights = benchmark::initial_weights<LeNet>(folder, "lenet")](const std::string& name,
                                                                          const std::string& variant) {
      const long batch = benchmark::last_number(name);
      const Mode mode = benchmark::mode_of(variant);
      if (name.find("/train/") != name.npos)
        return benchmark::training<LeNet, Shape<1, 28, 28>>(weights, mode, batch, 10);
      return benchmark::forward<LeNet>(weights, mode, batch, Shape<1, 28, 28>{});
    };
  });
}
